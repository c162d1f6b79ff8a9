package recurrence_test

import (
	"errors"
	"testing"
	"time"

	"almanac/recurrence"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, zone, want string }{
		{"a date", "2026-01-12", "UTC", "2026-01-12T00:00:00Z"},
		{"a date is a local midnight", "2026-07-12", "Europe/Stockholm", "2026-07-11T22:00:00Z"},
		{"minutes", "2026-01-12T06:07", "UTC", "2026-01-12T06:07:00Z"},
		{"seconds", "2026-01-12T06:07:08", "UTC", "2026-01-12T06:07:08Z"},
		{"Z wins over the zone", "2026-01-12T06:07Z", "Europe/Stockholm", "2026-01-12T06:07:00Z"},
		{"an offset wins over the zone", "2026-01-12T06:07:08-08:30", "Europe/Stockholm", "2026-01-12T14:37:08Z"},
		{"the largest offset", "2026-01-12T06:07:08+23:59", "UTC", "2026-01-11T06:08:08Z"},
		{"a fraction is dropped, not rounded", "2026-01-12T06:07:08.99999999999999999999999Z", "UTC", "2026-01-12T06:07:08Z"},
		{"a fraction is dropped before 1970 too", "1969-12-31T23:59:58.9Z", "UTC", "1969-12-31T23:59:58Z"},
		{"a leap day", "2000-02-29", "UTC", "2000-02-29T00:00:00Z"},
		{"the year 0", "0000-02-29T00:00:00Z", "UTC", "0000-02-29T00:00:00Z"},
		{"the last second", "9999-12-31T23:59:59Z", "UTC", "9999-12-31T23:59:59Z"},

		{"winter", "2026-03-29T01:59:59", "Europe/Stockholm", "2026-03-29T00:59:59Z"},
		{"the start of a gap", "2026-03-29T02:00", "Europe/Stockholm", "2026-03-29T01:00:00Z"},
		{"within a gap", "2026-03-29T02:30", "Europe/Stockholm", "2026-03-29T01:30:00Z"},
		{"the end of a gap", "2026-03-29T03:00", "Europe/Stockholm", "2026-03-29T01:00:00Z"},
		{"before a repeat", "2026-10-25T01:59:59", "Europe/Stockholm", "2026-10-24T23:59:59Z"},
		{"the start of a repeat", "2026-10-25T02:00", "Europe/Stockholm", "2026-10-25T00:00:00Z"},
		{"within a repeat", "2026-10-25T02:30", "Europe/Stockholm", "2026-10-25T00:30:00Z"},
		{"the end of a repeat", "2026-10-25T03:00", "Europe/Stockholm", "2026-10-25T02:00:00Z"},
		{"a gap far ahead", "2126-03-31T02:30", "Europe/Stockholm", "2126-03-31T01:30:00Z"},
		{"a repeat far ahead", "2126-10-27T02:30", "Europe/Stockholm", "2126-10-27T00:30:00Z"},
		{"a gap west of Greenwich", "2026-03-08T02:30", "America/New_York", "2026-03-08T07:30:00Z"},
		{"a repeat west of Greenwich", "2026-11-01T01:30", "America/New_York", "2026-11-01T05:30:00Z"},
		{"a midnight that is skipped", "2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00Z"},
		{"a midnight that comes twice", "2026-11-01", "America/Havana", "2026-11-01T04:00:00Z"},
		{"a gap of half an hour", "2026-10-04T02:15", "Australia/Lord_Howe", "2026-10-03T15:45:00Z"},
		{"a repeat of half an hour", "2026-04-05T01:45", "Australia/Lord_Howe", "2026-04-04T14:45:00Z"},
		{"winter time as negative daylight saving", "2026-10-25T01:30", "Europe/Dublin", "2026-10-25T00:30:00Z"},
		{"a gap of two hours", "2026-03-29T01:30", "Antarctica/Troll", "2026-03-29T01:30:00Z"},
		{"a date that is skipped", "2011-12-30", "Pacific/Apia", "2011-12-30T10:00:00Z"},
		{"late on a date that is skipped", "2011-12-30T23:59:59", "Pacific/Apia", "2011-12-31T09:59:59Z"},
		{"the date after", "2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00Z"},
		{"a date that comes twice", "1969-09-30T12:00", "Pacific/Kwajalein", "1969-09-30T01:00:00Z"},
		{"a date that came twice as Alaska changed hands", "1867-10-18T12:00", "America/Juneau", "1867-10-17T20:57:41Z"},
		{"an offset with seconds", "1850-01-01T12:00", "Europe/Stockholm", "1850-01-01T10:47:48Z"},
		{"the last day of a leap year", "2040-12-31T23:30", "America/New_York", "2041-01-01T04:30:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := recurrence.ParseTime(tt.in, load(t, tt.zone))
			if err != nil || !got.Equal(at(tt.want)) || got.Location() != time.UTC {
				t.Errorf("ParseTime(%q) in %s = %v, %v; want %s", tt.in, tt.zone, got, err, tt.want)
			}
		})
	}
}

func TestParseTimeRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "tomorrow", "2026", "2026-01", "2026-1-12", "20260112", "26-01-12", "+2026-01-12", "2026-01-12 ", " 2026-01-12",
		"2026-00-12", "2026-13-12", "2026-01-00", "2026-01-32", "2026-02-29", "1900-02-29", "2026-04-31",
		"2026-01-12Z", "2026-01-12+01:00", "2026-01-12T", "2026-01-12T06", "2026-01-12T6:07", "2026-01-12 06:07", "2026-01-12t06:07",
		"2026-01-12T06:07z", "2026-01-12T06:07:08.", "2026-01-12T06:07:08,5", "2026-01-12T06:07.5", "2026-01-12T06:07:8",
		"2026-01-12T24:00", "2026-01-12T24:00:00Z", "2026-01-12T23:60", "2026-01-12T23:59:60Z",
		"2026-01-12T06:07+1:00", "2026-01-12T06:07+0100", "2026-01-12T06:07+01", "2026-01-12T06:07+24:00", "2026-01-12T06:07+01:60",
		"2026-01-12T06:07Z+01:00", "2026-01-12T06:07:08Z\n", "٢٠٢٦-01-12", "2026-01-12T06:07:08 +01:00", "2026-W03-1", "2026-012",
	} {
		got, err := recurrence.ParseTime(in, nil)
		if bad, ok := errors.AsType[*recurrence.FieldError](err); !ok || bad.Value != in {
			t.Errorf("ParseTime(%q) = %v, %v, want a FieldError", in, got, err)
		}
	}
}

// The zero Time means no time, so ParseTime must not return it for a real one.
func TestParseTimeIsNeverZero(t *testing.T) {
	t.Parallel()
	end, err := recurrence.ParseTime("0001-01-01T00:00:00Z", nil)
	if err != nil || end.IsZero() {
		t.Fatalf("got %v, %v", end, err)
	}
	for due := range compile(t, recurrence.Rule{Frequency: recurrence.Day, End: end}, "2026-01-01T00:00:00Z").All() {
		t.Fatalf("fires at %v, long after its end", due)
	}
}
