package engines

import (
	"testing"
	"time"
)

// zones to compare in. The times of day above are never skipped or repeated:
// there the engines differ, by their own rules.
var zones = []string{"UTC", "Europe/Stockholm"}

func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	for _, s := range Schedules {
		for _, zone := range zones {
			t.Run(s.Name+"/"+zone, func(t *testing.T) {
				t.Parallel()
				engines, err := s.In(zone)
				if err != nil {
					t.Fatal(err)
				}
				if len(engines) < 2 {
					t.Fatal("nothing to compare with")
				}
				// Two weeks of the daily ones take in a change of the clock. The minutes
				// stay clear of it: rrule steps over a repeated hour.
				for _, after := range []string{"2026-01-01T12:00:00Z", "2026-03-22T22:00:00Z", "2026-10-18T22:00:00Z",
					"2031-02-03T04:05:06Z"} {
					from, err := time.Parse(time.RFC3339, after)
					if err != nil {
						t.Fatal(err)
					}
					for range 12 {
						want := engines[Almanac](from)
						for name, next := range engines {
							if got := next(from); !got.Equal(want) {
								t.Fatalf("after %v: %s says %v, %s %v", from, Almanac, want, name, got.UTC())
							}
						}
						from = want
					}
				}
			})
		}
	}
}
