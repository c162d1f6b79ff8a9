package recurrence_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/english"
)

var englishRules = flag.Int("english", 5_000, "how many random rules are written in English and read back")

// readsBack fails unless the text of a rule is read as a rule with the same text and the same instants.
func readsBack(t *testing.T, rule recurrence.Rule, anchor time.Time) {
	t.Helper()
	text := rule.Describe(anchor)
	r, err := english.Parse(text)
	if err != nil {
		t.Fatalf("%s\n%#v\n%v", text, rule, err)
	}
	if got := r.String(); got != text {
		t.Fatalf("read  %s\nas    %s\n%#v", text, got, rule)
	}
	if anchor.IsZero() {
		anchor = at("2026-01-31T09:00:20Z")
	} else if !r.Start.Equal(anchor) && mentions(anchor) {
		t.Fatalf("%s: the start is %s, and was %s", text, r.Start, anchor)
	}
	want, err := recurrence.New(rule, anchor)
	if err != nil {
		return
	}
	got, err := recurrence.New(r.Rule, anchor)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if a, b := first(got, 15), first(want, 15); !slices.Equal(a, b) {
		t.Fatalf("%s\nread  %v\nis    %v\n%#v", text, a, b, rule)
	}
}

// mentions reports whether the text of a rule has the start: not to the second in zones whose offset has seconds.
func mentions(anchor time.Time) bool {
	return anchor.Nanosecond() == 0
}

// randomRule returns a rule as jobs, cron expressions and RRULEs have it, and its anchor.
func randomRule(t *testing.T, r *rand.Rand) (recurrence.Rule, time.Time) {
	t.Helper()
	rule, anchor := randomSample(t, r).rule(t)
	if r.IntN(4) == 0 {
		rule.Location = nil
	}
	some := func(n int, from func() int) (all []int) {
		for range r.IntN(n) {
			all = append(all, from())
		}
		return all
	}
	day := func() int {
		if d := r.IntN(62) - 31; d < 0 {
			return d
		}
		return r.IntN(31) + 1
	}
	if rule.Frequency == recurrence.Month && r.IntN(3) == 0 {
		rule.NearestWeekdays = some(3, day)
		rule.EitherDay = r.IntN(2) == 0
	}
	if rule.Frequency == recurrence.Month && r.IntN(3) == 0 && len(rule.MonthDays)+len(rule.MonthlyOccurrences) > 0 {
		rule.Positions = some(3, day)
	}
	if rule.Frequency > recurrence.Hour && len(rule.Hours)+len(rule.Minutes) > 0 && r.IntN(4) == 0 {
		rule.EveryPass = true
	}
	if r.IntN(8) == 0 {
		rule.Years = some(4, func() int { return 2020 + r.IntN(20) })
	}
	if r.IntN(8) == 0 {
		rule.Count = 1 + r.IntN(30)
	}
	if r.IntN(8) == 0 {
		rule.End = anchor.Add(time.Duration(r.Int64N(1e17)))
	}
	if rule.Count > 0 || !rule.End.IsZero() {
		rule.End = rule.End.Truncate(time.Second)
	}
	return rule, anchor
}

// Every sentence is read back as the same rule, with an anchor and without one.
func TestEnglishIsReadBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2026, 11))
	for range *englishRules {
		rule, anchor := randomRule(t, r)
		if secondPass(rule, anchor) {
			continue // package english says so
		}
		readsBack(t, rule, anchor)
		readsBack(t, rule, time.Time{})
	}
}

// secondPass reports whether the anchor is the second instant of a local time, and the rule has times of day.
func secondPass(rule recurrence.Rule, anchor time.Time) bool {
	if rule.Location == nil || len(rule.Hours)+len(rule.Minutes) == 0 || rule.Frequency < recurrence.Day {
		return false
	}
	local := anchor.In(rule.Location)
	first, err := recurrence.ParseTime(local.Format("2006-01-02T15:04:05"), rule.Location)
	return err == nil && !first.Equal(anchor)
}

func TestTheEnglishOfAllVectorsIsReadBack(t *testing.T) {
	t.Parallel()
	for _, line := range lines(t, "testdata/recurrence-input.jsonl") {
		var question vector
		if err := json.Unmarshal(line, &question); err != nil {
			t.Fatal(err)
		}
		var rule recurrence.Rule
		if question.Properties.Recurrence == nil || json.Unmarshal(question.Properties.Recurrence, &rule) != nil || rule.Frequency == 0 {
			continue
		}
		anchor, err := recurrence.ParseTime(question.Properties.StartTime, rule.Location)
		if err != nil {
			anchor = at("2026-01-31T09:00:20Z")
		}
		if _, err := recurrence.New(rule, anchor); err != nil {
			continue
		}
		readsBack(t, rule, anchor)
		readsBack(t, rule, time.Time{})
	}
}
