// Package engines compares package recurrence with the engines that Go programs
// use for the same purpose: cron expressions and RFC 5545 recurrence rules.
package engines

import (
	"flag"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // zones with daylight saving

	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"

	"almanac/lab/report"
	"almanac/recurrence"
	almanacrrule "almanac/recurrence/rrule"
)

// The engines' names.
const (
	Almanac = "almanac"
	Cron    = "robfig/cron"
	RRule   = "rrule-go"
)

// start is a Thursday, at a full hour, so that cron, which knows no start, has the
// same phase as the others.
const start = "20260101T090000"

// A Schedule is the same in two languages: ours and rrule-go read the rule.
type Schedule struct {
	Name string
	cron string // empty: cron cannot express it
	rule string // of RFC 5545
}

// Schedules are what is compared.
var Schedules = []Schedule{
	{"every 15 minutes", "*/15 * * * *", "FREQ=MINUTELY;INTERVAL=15"},
	{"daily", "0 9 * * *", "FREQ=DAILY"},
	{"office days", "0,30 9,17 * * MON-FRI", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,17;BYMINUTE=0,30;BYSECOND=0"},
	{"every 10 weeks", "", "FREQ=WEEKLY;INTERVAL=10"}, // cron counts no weeks
	{"first and fifteenth", "0 9 1,15 * *", "FREQ=MONTHLY;BYMONTHDAY=1,15"},
	{"last Friday", "", "FREQ=MONTHLY;BYDAY=-1FR"},                 // cron does not count from the end
	{"Friday the 13th", "", "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR"}, // to cron that is every Friday and every 13th
	{"29 February", "0 9 29 2 *", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29"},
}

// In returns the engines that can express the schedule in a zone, by name. Each
// answers with the first instant after another.
func (s Schedule) In(zone string) (map[string]func(time.Time) time.Time, error) {
	text := fmt.Sprintf("DTSTART;TZID=%s:%s\nRRULE:%s", zone, start, s.rule)
	rule, from, err := almanacrrule.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	schedule, err := recurrence.New(rule, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	theirs, err := rrule.StrToRRule(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	all := map[string]func(time.Time) time.Time{
		Almanac: func(after time.Time) time.Time { next, _ := schedule.Next(after); return next },
		RRule:   func(after time.Time) time.Time { return theirs.After(after, false) },
	}
	if s.cron != "" {
		parsed, err := cron.ParseStandard("CRON_TZ=" + zone + " " + s.cron)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		all[Cron] = parsed.Next
	}
	return all, nil
}

// zone is where the engines are measured: one whose clock changes.
const zone = "Europe/Stockholm"

// distances are how far from the start of a schedule an engine is asked.
var distances = []struct {
	name  string
	after time.Time
}{
	{"near", time.Date(2026, time.January, 2, 12, 34, 56, 0, time.UTC)},
	{"20 years on", time.Date(2046, time.May, 6, 12, 34, 56, 0, time.UTC)},
}

// Measure asks every engine that can express it for the next occurrence of each schedule, each for a time. add gets
// the rows of a table.
func Measure(each time.Duration, add func(row []string)) error {
	testing.Init()
	if err := flag.Set("test.benchtime", each.String()); err != nil {
		return err
	}
	for _, s := range Schedules {
		all, err := s.In(zone)
		if err != nil {
			return err
		}
		for _, d := range distances {
			row := []string{s.Name, d.name}
			for _, name := range []string{Almanac, Cron, RRule} {
				cell := "–"
				if next, ok := all[name]; ok {
					cell = measure(next, d.after)
				}
				row = append(row, cell)
			}
			add(row)
		}
	}
	return nil
}

// measure returns what it costs to ask an engine once.
func measure(next func(time.Time) time.Time, after time.Time) string {
	r := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			next(after)
		}
	})
	return fmt.Sprintf("%s ns, %d allocs", report.Count(float64(r.T.Nanoseconds())/float64(r.N)), r.AllocsPerOp())
}
