package recurrence

import _ "time/tzdata" // the tests depend on no machine's time zone files

// The tables of names, for the tests.
var (
	IANAZones    = ianaZones
	WindowsZones = windowsZones
)
