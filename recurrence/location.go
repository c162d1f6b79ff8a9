package recurrence

import (
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // machines without time zone files, such as minimal containers
)

// Locations returns the names of the IANA database that [LoadLocation] takes, sorted.
func Locations() []string { return slices.Clone(ianaZones[:]) }

// LoadLocation returns the time zone of that name: a name of the IANA database,
// such as Europe/Stockholm, or of Windows, such as W. Europe Standard Time, which
// stands for the IANA zone that Unicode's CLDR gives it for the world. Names
// compare exactly, case included.
//
// The zone's rules come from where package time finds them: the machine, or else
// the program itself.
func LoadLocation(name string) (*time.Location, error) {
	// Package time takes whatever file lies in its directories, and on some
	// systems in any case. So the name has to be known first.
	iana := name
	if _, ok := slices.BinarySearch(ianaZones[:], name); !ok {
		if iana, ok = windowsZones[name]; !ok {
			return nil, fmt.Errorf("unknown time zone %q, want an IANA name such as Europe/Stockholm or a Windows name such as W. Europe Standard Time", name)
		}
	}
	loc, err := time.LoadLocation(iana)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", name, err)
	}
	return loc, nil
}
