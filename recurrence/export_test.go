package recurrence

// Tables of names for tests.
var (
	IANAZones    = ianaZones[:]
	WindowsZones = windowsZones
)
