package checker_test

import (
	"slices"
	"time"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

func countCases() []testCase {
	return []testCase{
		{"the history has more attempts than are allowed", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 119.9, 125, record.Worker)
			s.entry(120, 124, "Failed", 1, 3)
			s.Reads[0].FailureCount = 1
			return s
		}, []string{checker.Counts}},
		{"the history says that an answered request failed", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].Entries[2].Status = "Failed"
			s.Reads[0].FailureCount = 1
			return s
		}, []string{checker.Counts}},
		{"the history says that an answered request failed, since its worker was killed", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 120.011, 125, record.Worker)
			s.Reads[0].Entries[2].Status = "Failed"
			s.Reads[0].FailureCount = 1
			return s
		}, nil},
		{"executionCount is wrong", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.counted()
			return s
		}, []string{checker.Counts}},
		{"failureCount is wrong", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].FailureCount = 1
			return s
		}, []string{checker.Counts}},
		{"more occurrences run than count allows", func() *scenario {
			d := minutely()
			d.Count = 2
			s := newScenario(d).ran(0, 60, 120)
			s.Reads[0].State, s.Reads[0].ListedState = "completed", "completed"
			return s
		}, []string{checker.Counts}},
		{"a request that is not in the history", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].Entries = slices.Delete(s.Reads[0].Entries, 2, 3)
			s.Reads[0].ExecutionCount--
			return s
		}, []string{checker.Counts}},
		{"a request that was cut off, and is not in the history when the job is deleted soon after", func() *scenario {
			s := newScenario(minutely()).ran(0).fault("kill", 108, 112, record.Worker)
			r := s.received(60, 60.002, 0)
			r.Answered, r.Cut = time.Time{}, at(108.1)
			s.counted()
			s.change(record.Delete, 122, 123, 200)
			s.Reads[0].Final, s.Reads[0].Issued = false, at(121.5)
			return s
		}, nil},
	}
}
