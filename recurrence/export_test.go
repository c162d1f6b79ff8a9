package recurrence

// The tables of names, for the tests.
var (
	IANAZones    = ianaZones
	WindowsZones = windowsZones
)
