package recurrence_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"almanac/recurrence"
)

// A vector is a job; Take is how many of its occurrences are wanted.
type vector struct {
	Now        string
	Take       int
	Properties struct {
		StartTime  string
		Recurrence json.RawMessage
	}
}

// An answer is what the second implementation says of a vector.
type answer struct {
	ID          string
	Occurrences []string
	Error       bool
}

// TestVectors compares with instants that a second implementation computed. The
// vectors are jobs of a scheduler, so it takes those whose occurrences are just
// the instants of their rule from now on; package job tests all of them.
func TestVectors(t *testing.T) {
	t.Parallel()
	inputs := lines(t, "testdata/recurrence-input.jsonl")
	answers := lines(t, "testdata/recurrence-expected.jsonl")
	if len(inputs) == 0 || len(inputs) != len(answers) {
		t.Fatalf("%d inputs, %d answers", len(inputs), len(answers))
	}
	taken := 0
	for i, line := range inputs {
		var question vector
		var want answer
		if err := json.Unmarshal(line, &question); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(answers[i], &want); err != nil {
			t.Fatal(err)
		}
		properties := question.Properties
		if want.Error || properties.StartTime == "" || properties.Recurrence == nil {
			continue
		}
		taken++
		t.Run(want.ID, func(t *testing.T) {
			t.Parallel()
			var rule recurrence.Rule
			if err := json.Unmarshal(properties.Recurrence, &rule); err != nil {
				t.Fatal(err)
			}
			count := rule.Count
			rule.Count = 0 // it counts from now on
			anchor, err := recurrence.ParseTime(properties.StartTime, rule.Location)
			if err != nil {
				t.Fatal(err)
			}
			now, err := recurrence.ParseTime(question.Now, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := recurrence.New(rule, anchor)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for due := range s.Between(now, time.Unix(1<<40, 0)) {
				if len(got) == question.Take || count > 0 && len(got) == count {
					break
				}
				got = append(got, due.Format(time.RFC3339))
			}
			if !slices.Equal(got, want.Occurrences) {
				t.Errorf("got %v\nwant %v", got, want.Occurrences)
			}
		})
	}
	if taken < len(inputs)/2 {
		t.Errorf("only %d of %d vectors are about a rule alone", taken, len(inputs))
	}
}

func lines(t *testing.T, name string) (all [][]byte) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		all = append(all, bytes.Clone(s.Bytes()))
	}
	return all
}
