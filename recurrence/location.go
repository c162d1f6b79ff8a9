package recurrence

import (
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // machines without time zone files, such as minimal containers
)

// Locations returns the IANA names that [LoadLocation] accepts, sorted.
func Locations() []string { return slices.Clone(ianaZones[:]) }

// LoadLocation returns the time zone with that name: an IANA name, such as Europe/Stockholm, or a Windows
// name, such as W. Europe Standard Time, for which Unicode's CLDR gives the IANA zone (territory 001).
// Names are case-sensitive.
//
// The zone's rules come from package time: from the machine, or if it has none, from the program itself.
func LoadLocation(name string) (*time.Location, error) {
	// Package time accepts any file in its directories, on some systems in any case. So only known names
	// are passed to it.
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
