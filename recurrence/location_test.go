package recurrence_test

import (
	"errors"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/tzdata"
)

func TestLoadLocation(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"UTC":                        "UTC",
		"Europe/Stockholm":           "Europe/Stockholm",
		"America/Argentina/Ushuaia":  "America/Argentina/Ushuaia",
		"US/Pacific":                 "US/Pacific",
		"Etc/GMT+5":                  "Etc/GMT+5",
		"W. Europe Standard Time":    "Europe/Berlin",
		"Pacific Standard Time":      "America/Los_Angeles",
		"Line Islands Standard Time": "Pacific/Kiritimati",
		"UTC-11":                     "Etc/GMT+11",
	} {
		loc, err := recurrence.LoadLocation(name)
		if err != nil || loc.String() != want {
			t.Errorf("LoadLocation(%q) = %v, %v; want %s", name, loc, err, want)
		}
	}
}

func TestLoadLocationRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "Local", "local", "utc", "europe/stockholm", "EUROPE/STOCKHOLM", "Europe/Stockholm ", "Europe", "Mars/Phobos", "CET+1",
		"w. europe standard time", "W. Europe Daylight Time", "+01:00", "/etc/localtime", "../zoneinfo/UTC", "Europe/../UTC",
		"posix/UTC", "right/UTC", "posixrules", "localtime", "zone.tab", `Europe\Stockholm`, "UTC\x00",
	} {
		loc, err := recurrence.LoadLocation(name)
		if bad, ok := errors.AsType[*recurrence.FieldError](err); !ok || bad.Value != name {
			t.Errorf("LoadLocation(%q) = %v, %v, want a FieldError", name, loc, err)
		}
	}
}

func TestEveryKnownZoneLoads(t *testing.T) {
	t.Parallel()
	if len(recurrence.IANAZones) < 500 || len(recurrence.WindowsZones) < 130 {
		t.Fatalf("%d IANA zones, %d Windows zones", len(recurrence.IANAZones), len(recurrence.WindowsZones))
	}
	for _, name := range recurrence.IANAZones {
		load(t, name)
	}
	for name, iana := range recurrence.WindowsZones {
		if got := load(t, name); got.String() != iana && name != "UTC" { // UTC is an IANA name too
			t.Errorf("%s is %v, want %s", name, got, iana)
		}
	}
}

// A program without the data takes that of the machine for these names.
func TestZoneNamesAreThoseOfTheRelease(t *testing.T) {
	t.Parallel()
	if !slices.Equal(recurrence.IANAZones, tzdata.Zones().Names()) {
		t.Error("ianazones.txt has not the names of the release: run go generate ./recurrence")
	}
}

// It is not parallel, since it changes what all use.
func TestNamesThatTheReleaseInUseLacks(t *testing.T) {
	few, err := recurrence.ReadZones(fstest.MapFS{"+VERSION": {Data: []byte("2020a")}, "UTC": {Data: []byte("TZif")}})
	if err != nil {
		t.Fatal(err)
	}
	before := recurrence.UseZones(few)
	t.Cleanup(func() { recurrence.UseZones(before) })
	for _, name := range []string{"Europe/Stockholm", "W. Europe Standard Time"} {
		_, err := recurrence.LoadLocation(name)
		if bad, ok := errors.AsType[*recurrence.FieldError](err); !ok || bad.Value != name {
			t.Errorf("LoadLocation(%q): %v, want a FieldError", name, err)
		}
		if !recurrence.IsKnown(name) || slices.Contains(recurrence.ZoneNames(), name) {
			t.Errorf("%q is not a known name that the release lacks", name)
		}
	}
	if lacking := recurrence.Lacking(); !slices.Contains(lacking, "Europe/Stockholm") || slices.Contains(lacking, "UTC") {
		t.Errorf("it lacks %v", lacking)
	}
	if recurrence.IsKnown("Mars/Phobos") {
		t.Error("Mars/Phobos is known")
	}
}

func TestWindowsZonesStandForIANAZones(t *testing.T) {
	t.Parallel()
	for name, iana := range recurrence.WindowsZones {
		if _, known := slices.BinarySearch(recurrence.IANAZones, iana); !known {
			t.Errorf("%s stands for %q: run go generate ./recurrence", name, iana)
		}
	}
}

// In every zone, an offset lasts longer than the clock is ever set back or forward. The search for local
// times relies on that.
func TestNoZoneChangesTwiceWithinAShift(t *testing.T) {
	t.Parallel()
	for _, name := range recurrence.IANAZones {
		loc := load(t, name)
		last := time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC).In(loc)
		for change := last; change.Year() < 2100; {
			_, next := change.ZoneBounds()
			if next.IsZero() {
				break
			}
			if !next.After(change) { // on the last day of a leap year
				next = change.AddDate(0, 0, 1)
			}
			_, before := change.Zone()
			if _, after := next.Zone(); after != before {
				if next.Sub(last) < 72*time.Hour && last.Year() > 1800 {
					t.Errorf("%s changes on %v and %v", name, last, next)
				}
				last = next
			}
			change = next
		}
	}
}
