package recurrence_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"almanac/recurrence"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	rule := recurrence.Rule{
		Frequency: recurrence.Month, Interval: 2, Count: 10, End: at("2027-01-01T00:00:00Z"), Location: load(t, "Europe/Stockholm"),
		Minutes: []int{15}, Hours: []int{17}, MonthDays: []int{1, -1}, Months: []int{3},
		MonthlyOccurrences: []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: -1}, {Day: time.Monday}},
	}
	const want = `{"frequency":"month","interval":2,"count":10,"endTime":"2027-01-01T00:00:00Z","timeZone":"Europe/Stockholm",` +
		`"schedule":{"minutes":[15],"hours":[17],"monthDays":[1,-1],"monthlyOccurrences":[{"day":"friday","occurrence":-1},{"day":"monday"}],"months":[3]}}`
	got, err := json.Marshal(rule)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestJSONOfAnyRuleReadsBackTheSame(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	for range 500 {
		rule, _ := randomSample(t, r).rule(t)
		rule.End = time.Unix(r.Int64N(1<<34), 0).UTC()
		rule.Count = r.IntN(2) * r.IntN(1000)
		text, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		var back recurrence.Rule
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// Locations are equal by name, and empty lists may be nil.
		if back.Location.String() != rule.Location.String() {
			t.Fatalf("%s: got %s", text, back.Location)
		}
		back.Location = rule.Location
		if !reflect.DeepEqual(back, rule) {
			t.Fatalf("%s\ngot  %s\nwant %s", text, describe(back, time.Time{}), describe(rule, time.Time{}))
		}
	}
}

func TestJSONReadsNamesInAnyCase(t *testing.T) {
	t.Parallel()
	var rule recurrence.Rule
	err := json.Unmarshal([]byte(`{"Frequency":"WEEK","timeZone":"W. Europe Standard Time","endTime":"2026-07-01T02:00","schedule":{"weekDays":["Monday","FRIDAY"]}}`), &rule)
	if err != nil || rule.String() != "every week on Monday and Friday, until 2026-07-01 02:00, Europe/Berlin" {
		t.Errorf("got %v, %v", rule, err)
	}
	if !rule.End.Equal(at("2026-07-01T00:00:00Z")) {
		t.Errorf("the end is %v", rule.End)
	}
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[]`, `{}x`, `{"frequency":"dai"}`, `{"frequency":1}`, `{"frequency":"day","intervall":2}`, `{"frequency":"day","schedule":{"hour":[1]}}`,
		`{"frequency":"day","timeZone":"Mars/Phobos"}`, `{"frequency":"day","endTime":"soon"}`, `{"frequency":"week","schedule":{"weekDays":["fryday"]}}`,
		`{"frequency":"day","schedule":{"hours":[1.5]}}`,
	} {
		var rule recurrence.Rule
		if err := json.Unmarshal([]byte(text), &rule); err == nil {
			t.Errorf("%s: got %v", text, rule)
		}
	}
	for _, rule := range []recurrence.Rule{
		{}, {Frequency: recurrence.Day, Location: time.FixedZone("CEST", 7200)}, {Frequency: recurrence.Week, WeekDays: []time.Weekday{8}},
	} {
		if text, err := json.Marshal(rule); err == nil {
			t.Errorf("%v: got %s", rule, text)
		}
	}
}
