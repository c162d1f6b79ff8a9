package recurrence_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
)

// A recipe of docs/cookbook.md says the same in JSON, as a cron line and as an RRULE, if it has one.
func TestTheCookbookSaysTheSameInEachLanguage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	recipe := regexp.MustCompile("(?s)^(.*?)\n.*?```json\n(.*?)```(.*)$")
	cron, rrule := regexp.MustCompile("(?m)^- cron: `(.*)`$"), regexp.MustCompile("(?m)^- RRULE: `(.*)`$")
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
		if line := cron.FindStringSubmatch(m[3]); line != nil {
			crons++
			rule, err := recurrence.ParseCron(line[1])
			compare(line[1], rule, anchor, err)
		}
		if line := rrule.FindStringSubmatch(m[3]); line != nil {
			rrules++
			text := "DTSTART:" + at(want[0]).Format("20060102T150405Z") + "\nRRULE:" + line[1]
			rule, start, err := recurrence.ParseRRule(text)
			compare(text, rule, start, err)
		}
	}
	if crons < 20 || rrules < 40 {
		t.Errorf("only %d cron lines and %d RRULEs were found", crons, rrules)
	}
}
