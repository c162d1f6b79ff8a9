package bench

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"

	"almanac/recurrence"
)

// start is a Thursday, at a full hour, so that cron, which knows no start, has the
// same phase as the others.
const start = "2026-01-01T09:00:00"

// A schedule is the same in up to three languages. An engine that cannot express
// it is left out.
type schedule struct {
	name  string
	rule  recurrence.Rule
	cron  string
	rrule *rrule.ROption
}

var schedules = []schedule{
	{
		"every 15 minutes",
		recurrence.Rule{Frequency: recurrence.Minute, Interval: 15},
		"*/15 * * * *",
		&rrule.ROption{Freq: rrule.MINUTELY, Interval: 15},
	},
	{
		"daily",
		recurrence.Rule{Frequency: recurrence.Day},
		"0 9 * * *",
		&rrule.ROption{Freq: rrule.DAILY},
	},
	{
		"office days",
		recurrence.Rule{
			Frequency: recurrence.Week, Hours: []int{9, 17}, Minutes: []int{0, 30},
			WeekDays: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
		},
		"0,30 9,17 * * MON-FRI",
		&rrule.ROption{
			Freq: rrule.WEEKLY, Byhour: []int{9, 17}, Byminute: []int{0, 30}, Bysecond: []int{0},
			Byweekday: []rrule.Weekday{rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR},
		},
	},
	{
		"every 10 weeks",
		recurrence.Rule{Frequency: recurrence.Week, Interval: 10},
		"", // cron counts no weeks
		&rrule.ROption{Freq: rrule.WEEKLY, Interval: 10},
	},
	{
		"first and fifteenth",
		recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{1, 15}},
		"0 9 1,15 * *",
		&rrule.ROption{Freq: rrule.MONTHLY, Bymonthday: []int{1, 15}},
	},
	{
		"last Friday",
		recurrence.Rule{Frequency: recurrence.Month, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: -1}}},
		"", // cron does not count from the end
		&rrule.ROption{Freq: rrule.MONTHLY, Byweekday: []rrule.Weekday{rrule.FR.Nth(-1)}},
	},
	{
		"Friday the 13th",
		recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{13}, MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday}}},
		"", // to cron that is every Friday and every 13th
		&rrule.ROption{Freq: rrule.MONTHLY, Bymonthday: []int{13}, Byweekday: []rrule.Weekday{rrule.FR}},
	},
	{
		"29 February",
		recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2}},
		"0 9 29 2 *",
		&rrule.ROption{Freq: rrule.YEARLY, Bymonth: []int{2}, Bymonthday: []int{29}},
	},
}

// An engine answers with the first instant after another.
type engine struct {
	name string
	next func(time.Time) time.Time
}

// engines returns those that can express the schedule, ours first.
func (s schedule) engines(t testing.TB, zone string) []engine {
	t.Helper()
	loc, err := recurrence.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	from, err := recurrence.ParseTime(start, loc)
	if err != nil {
		t.Fatal(err)
	}
	s.rule.Location = loc
	plan, err := recurrence.Compile(recurrence.Spec{Created: from, Start: from, Rule: &s.rule})
	if err != nil {
		t.Fatal(err)
	}
	all := []engine{{"almanac", func(after time.Time) time.Time {
		next, _ := plan.After(after)
		return next
	}}}
	if s.cron != "" {
		parsed, err := cron.ParseStandard("CRON_TZ=" + zone + " " + s.cron)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, engine{"cron", parsed.Next})
	}
	if s.rrule != nil {
		option := *s.rrule
		option.Dtstart = from.In(loc)
		rule, err := rrule.NewRRule(option)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, engine{"rrule", func(after time.Time) time.Time { return rule.After(after, false) }})
	}
	return all
}

// zones to compare in. The times of day above are never skipped or repeated:
// there the engines differ, by their own rules.
var zones = []string{"UTC", "Europe/Stockholm"}

func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	for _, s := range schedules {
		for _, zone := range zones {
			t.Run(s.name+"/"+zone, func(t *testing.T) {
				t.Parallel()
				engines := s.engines(t, zone)
				if len(engines) < 2 {
					t.Fatal("nothing to compare with")
				}
				// Two weeks of the daily ones take in a change of the clock. The minutes
				// stay clear of it: rrule steps over a repeated hour.
				for _, after := range []string{"2026-01-01T12:00:00Z", "2026-03-22T22:00:00Z", "2026-10-18T22:00:00Z", "2031-02-03T04:05:06Z"} {
					from, err := time.Parse(time.RFC3339, after)
					if err != nil {
						t.Fatal(err)
					}
					for range 12 {
						want := engines[0].next(from)
						for _, e := range engines[1:] {
							if got := e.next(from); !got.Equal(want) {
								t.Fatalf("after %v: %s says %v, %s %v", from, engines[0].name, want, e.name, got.UTC())
							}
						}
						from = want
					}
				}
			})
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, s := range schedules {
		for _, distance := range []struct {
			name  string
			after time.Time
		}{
			{"near", time.Date(2026, time.January, 2, 12, 34, 56, 0, time.UTC)},
			{"20 years on", time.Date(2046, time.May, 6, 12, 34, 56, 0, time.UTC)},
		} {
			for _, e := range s.engines(b, "Europe/Stockholm") {
				b.Run(s.name+"/"+distance.name+"/"+e.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						e.next(distance.after)
					}
				})
			}
		}
	}
}
