package checker_test

import (
	"fmt"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

// contended is a job beside a collection with a quota of two, in which jobs are created at these times.
func contended(created ...float64) *scenario {
	s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
	s.Run.Quota = 2
	for i, t := range created {
		one := record.Job{Collection: record.QuotaCollection, Name: fmt.Sprintf("q%d", i), Incarnation: 1}
		d := minutely()
		d.Once, d.Start = true, at(100_000)
		s.Changes = append(s.Changes, record.Change{Job: one, Kind: record.Create, Definition: &d,
			Tries: []record.Try{{Issued: at(t), Answered: at(t + 0.5), Status: 201}}})
		s.Reads = append([]record.Read{{Job: one, Issued: at(401), Status: 200, State: "enabled", Version: 1,
			Final: true, HasStatus: true, ListedState: "enabled", ListedCount: -1}}, s.Reads...)
	}
	return s
}

// deleted deletes the first of these jobs.
func (s *scenario) deleted(t float64) *scenario {
	s.change(record.Delete, t, t+0.5, 200).Job = s.Changes[1].Job
	s.Reads = append(s.Reads[:len(s.Reads)-2], s.Reads[len(s.Reads)-1])
	return s
}

// refused has another one refused.
func (s *scenario) refused(t float64) *scenario {
	c := s.change(record.Create, t, t+0.5, 409)
	d := minutely()
	c.Job, c.Definition = record.Job{Collection: record.QuotaCollection, Name: "other", Incarnation: 1}, &d
	c.Tries[0].Error = "it has reached its quota of 2 jobs (quota maxJobCount)"
	return s
}

func (s *scenario) listed(t float64, names ...string) *scenario {
	s.Lists = append(s.Lists, record.List{Collection: record.QuotaCollection, Issued: at(t), Answered: at(t + 0.1),
		Names: names})
	return s
}

func quotaCases() []testCase {
	return []testCase{
		{"a collection has as many jobs as it may", func() *scenario { return contended(10, 20).refused(30) }, nil},
		{"a collection has one job too many", func() *scenario { return contended(10, 20, 30) }, []string{checker.Quotas}},
		{"another job takes the place of one that is deleted", func() *scenario { return contended(10, 20, 31).deleted(30) },
			nil},
		{"another job takes the place of one that is deleted later",
			func() *scenario { return contended(10, 20, 31).deleted(32) }, []string{checker.Quotas}},
		{"a job is refused while there is a place", func() *scenario { return contended(10).refused(30) },
			[]string{checker.Quotas}},
		{"a job is refused while one is deleted", func() *scenario { return contended(10, 20).deleted(30).refused(30.2) }, nil},
		{"a job is refused long after one was deleted",
			func() *scenario { return contended(10, 20).deleted(30).refused(40) }, []string{checker.Quotas}},
		{"a job is refused long after one was deleted, and soon after a fault", func() *scenario {
			return contended(10, 20).deleted(30).refused(50).fault("kill", 31, 45, everything...)
		}, nil},
		{"a list has too many jobs", func() *scenario { return contended(10, 20).listed(60, "q0", "q1", "q2") },
			[]string{checker.Quotas}},
	}
}

// threeTimes is a job with a backfill that is to run three times, and ends in a state.
func threeTimes(state string, ran ...float64) *scenario {
	s := newPromises().ran(ran...)
	s.Changes[0].Definition.Count = 3
	s.Reads[0].State, s.Reads[0].ListedState = state, state
	b := record.Backfill{Name: "b1", From: at(-600), Until: at(-540)}
	s.change(record.BeginBackfill, 90, 91, 200).Backfill = &b
	s.received(-600, 92, 200)
	s.counted()
	s.entry(-600, 92, "Completed", 0, s.Reads[0].ExecutionCount).Backfill = "b1"
	return s
}

func countedCases() []testCase {
	listed := func(state string, count int) *scenario {
		s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
		s.Reads[0].ListedState, s.Reads[0].ListedCount = state, count
		return s
	}
	return []testCase{
		{"a list has the name alone of a job", func() *scenario { return listed("", 0) }, nil},
		{"a list lacks a job", func() *scenario { return listed("", -1) }, []string{checker.Reads}},
		{"a list has another count", func() *scenario { return listed("enabled", 5) }, []string{checker.Reads}},
		{"a job with a backfill runs as often as count says", func() *scenario { return threeTimes("completed", 0, 60, 120) }, nil},
		{"and once more", func() *scenario { return threeTimes("completed", 0, 60, 120, 180) }, []string{checker.Counts}},
		{"and stays enabled", func() *scenario { return threeTimes("enabled", 0, 60, 120) }, []string{checker.Counts}},
		{"and stays enabled, since a change ended the last execution", func() *scenario {
			s := threeTimes("enabled", 0, 60, 120)
			s.change(record.DisableCollection, 125, 126, 200)
			return s
		}, nil},
		{"it is completed too soon", func() *scenario { return threeTimes("completed", 0, 60) },
			[]string{checker.NoLoss, checker.Counts}},
		{"what is missed does not count", func() *scenario {
			s := threeTimes("completed", 0, 60, 180)
			s.Requests[1].Answered, s.Reads[0].Entries[1].End = at(125), at(125)
			return s.dropped(120, 125, "Missed", "It was not run: nothing could run it when it was due.")
		}, nil},
	}
}
