package recurrence_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/cron"
	"almanac/recurrence/rrule"
)

// A recipe of docs/cookbook.md: its title, its JSON and the lines after it.
var (
	recipe    = regexp.MustCompile("(?s)^(.*?)\n.*?```json\n(.*?)```(.*)$")
	cronLine  = regexp.MustCompile("(?m)^- cron: `(.*)`$")
	rruleLine = regexp.MustCompile("(?m)^- RRULE: `(.*)`$")
)

// A recipe of docs/cookbook.md says the same in JSON, as a cron line and as an RRULE, if it has one.
func TestTheCookbookSaysTheSameInEachLanguage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	crons, rrules := 0, 0
	for _, section := range strings.Split(string(text), "\n### ")[1:] {
		m := recipe.FindStringSubmatch(section)
		if m == nil {
			continue
		}
		var job struct {
			StartTime  string
			Recurrence *recurrence.Rule
		}
		if err := json.Unmarshal([]byte(m[2]), &job); err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		if job.Recurrence == nil {
			continue
		}
		anchor, err := recurrence.ParseTime(job.StartTime, job.Recurrence.Location)
		if err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		s, err := recurrence.New(*job.Recurrence, anchor)
		if err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		want := first(s, 40)
		compare := func(text string, rule recurrence.Rule, anchor time.Time, err error) {
			if err != nil {
				t.Errorf("%s: %s: %v", m[1], text, err)
				return
			}
			rule.Location = job.Recurrence.Location
			s, err := recurrence.New(rule, anchor)
			if err != nil {
				t.Errorf("%s: %s: %v", m[1], text, err)
			} else if got := first(s, 40); !slices.Equal(got, want) {
				t.Errorf("%s: %s is %s\ngot  %v\nwant %v", m[1], text, rule, got, want)
			}
		}
		if line := cronLine.FindStringSubmatch(m[3]); line != nil {
			crons++
			rule, err := cron.Parse(line[1])
			compare(line[1], rule, anchor, err)
		}
		if line := rruleLine.FindStringSubmatch(m[3]); line != nil {
			rrules++
			text := "DTSTART:" + at(want[0]).Format("20060102T150405Z") + "\nRRULE:" + line[1]
			rule, start, err := rrule.Parse(text)
			compare(text, rule, start, err)
		}
	}
	if crons < 20 || rrules < 40 {
		t.Errorf("only %d cron lines and %d RRULEs were found", crons, rrules)
	}
}

func TestAScheduleReadsBackAsTheSameInstants(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	written := 0
	for range 600 {
		rule, anchor := randomSample(t, r).rule(t)
		if anchor.Year() < 1900 { // with offsets of odd seconds
			continue
		}
		if len(rule.Minutes) > 0 {
			anchor = anchor.Truncate(time.Minute)
		}
		rule.Count = r.IntN(3) * r.IntN(50)
		if r.IntN(4) == 0 {
			rule.End = anchor.AddDate(r.IntN(20), 0, 0)
		}
		s, err := recurrence.New(rule, anchor)
		if err != nil {
			continue
		}
		text, err := rrule.Format(s)
		if err != nil {
			continue
		}
		written++
		back, start, err := rrule.Parse(text)
		if err != nil {
			t.Fatalf("%s\n%s\n%v", describe(rule, anchor), text, err)
		}
		again, err := recurrence.New(back, start)
		if err != nil {
			t.Fatalf("%s\n%s\n%v", describe(rule, anchor), text, err)
		}
		if got, want := first(again, 40), first(s, 40); !slices.Equal(got, want) {
			t.Fatalf("%s\n%s\n%s\ngot  %v\nwant %v", describe(rule, anchor), text, describe(back, start), got, want)
		}
	}
	if written < 200 {
		t.Errorf("only %d rules could be written", written)
	}
}

// first returns some instants of a schedule.
func first(s *recurrence.Schedule, n int) (all []string) {
	for due := range s.All() {
		if len(all) == n {
			break
		}
		all = append(all, due.Format(time.RFC3339))
	}
	return all
}
