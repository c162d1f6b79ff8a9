package recurrence

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

//go:generate go run ./internal/zones

// ianaZones are the names in the IANA time zone database, including links, sorted.
var ianaZones = strings.Fields(ianaText)

// windowsZones maps Windows time zone names to IANA names.
var windowsZones = parseWindowsZones(windowsText)

//go:embed ianazones.txt
var ianaText string

//go:embed windowszones.txt
var windowsText string

// parseWindowsZones reads lines of a Windows name, a tab and an IANA name.
func parseWindowsZones(text string) map[string]string {
	zones := map[string]string{}
	for line := range strings.Lines(text) {
		windows, iana, _ := strings.Cut(strings.TrimSpace(line), "\t")
		zones[windows] = iana
	}
	return zones
}

const allowedZones = "an IANA name such as Europe/Stockholm or a Windows name such as W. Europe Standard Time"

// Locations returns the IANA names that [LoadLocation] accepts, sorted. It accepts the names of Windows besides.
func Locations() []string {
	if z := CurrentZones(); z != nil {
		return z.Names()
	}
	return slices.Clone(ianaZones)
}

// ZoneNames returns all names that [LoadLocation] accepts: those of IANA, and then those of Windows, each sorted.
func ZoneNames() []string {
	names, windows := Locations(), slices.Sorted(maps.Keys(windowsZones))
	return append(slices.Clone(names), slices.DeleteFunc(windows, func(name string) bool {
		_, ok := slices.BinarySearch(names, windowsZones[name])
		return !ok
	})...)
}

// Lacking returns the known IANA names that the release in use lacks, sorted: see [IsKnown].
func Lacking() []string {
	names := Locations()
	return slices.DeleteFunc(slices.Clone(ianaZones), func(name string) bool {
		_, ok := slices.BinarySearch(names, name)
		return ok
	})
}

// IsKnown reports whether a name is one that [LoadLocation] accepts with the release that this package was made with. The
// release in use may lack it: see [UseZones].
func IsKnown(name string) bool {
	_, ok := slices.BinarySearch(ianaZones, name)
	return ok || windowsZones[name] != ""
}

// LoadLocation returns the time zone with that name: an IANA name, such as Europe/Stockholm, or a Windows
// name, such as W. Europe Standard Time, for which Unicode's CLDR gives the IANA zone (territory 001).
// Names are case-sensitive. An unknown name is a [*FieldError].
//
// The zone's rules are those of the release that [UseZones] was given: of [almanac/recurrence/tzdata] in a program that
// imports it. Without one they come from package time, which takes those of the machine, zone by zone, and else its own
// copy.
func LoadLocation(name string) (*time.Location, error) {
	if z := CurrentZones(); z != nil {
		return z.Location(name)
	}
	// Package time accepts any file in its directories, on some systems in any case. So only known names
	// are passed to it.
	iana := name
	if _, ok := slices.BinarySearch(ianaZones, name); !ok {
		if iana, ok = windowsZones[name]; !ok {
			return nil, &FieldError{Field: "time zone", Value: name, Allowed: allowedZones}
		}
	}
	loc, err := time.LoadLocation(iana)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", name, err)
	}
	return loc, nil
}
