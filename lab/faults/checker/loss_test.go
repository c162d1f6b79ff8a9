package checker_test

import (
	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

func lossCases() []testCase {
	return []testCase{
		{"every occurrence runs on time",
			func() *scenario { return newScenario(minutely()).ran(0, 60, 120, 180, 240, 300) }, nil},
		{"an occurrence is lost", func() *scenario { return newScenario(minutely()).ran(0, 60, 180, 240, 300) },
			[]string{checker.NoLoss}},
		{"an occurrence is missed while the one before runs", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 240, 300)
			s.received(180, 185, 200)
			s.counted()
			s.entry(180, 185, "Completed", 0, 5)
			s.Requests[1].Answered = at(184)
			s.Reads[0].Entries[1].End = at(184)
			s.entry(120, 184, "Missed", 0, 0)
			return s
		}, nil},
		{"an occurrence is missed without need", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300)
			s.entry(120, 121, "Missed", 0, 0)
			return s
		}, []string{checker.NoLoss}},
		{"an occurrence is skipped although the overlap policy is not skip", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300)
			s.Requests[1].Answered = at(125)
			s.entry(120, 125, "Skipped", 0, 0)
			return s
		}, []string{checker.NoLoss}},
		{"an occurrence is lost while the action is changed", func() *scenario {
			s := newScenario(minutely()).ran(0, 60)
			next := minutely()
			next.Version = 2
			s.change(record.ChangeAction, 119, 122, 200).Definition = &next
			s.ran(180, 240, 300)
			for i := range s.Requests[2:] {
				s.Requests[2+i].Version = 2
			}
			s.Reads[0].Version = 2
			return s
		}, []string{checker.NoLoss}},
		{"nothing is due while the job is disabled", func() *scenario {
			s := newScenario(minutely()).ran(0, 60)
			s.change(record.Disable, 100, 101, 200)
			s.change(record.Enable, 200, 201, 200)
			return s.ran(240, 300)
		}, nil},
		{"nothing is due after count is reached", func() *scenario {
			d := minutely()
			d.Count = 2
			s := newScenario(d).ran(0, 60)
			s.Reads[0].State, s.Reads[0].ListedState = "completed", "completed"
			return s
		}, nil},
	}
}

func neverArrivedCases() []testCase {
	return []testCase{
		{"an attempt never arrives, without a fault", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300)
			s.counted()
			s.entry(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s.fault("kill", 100, 105, record.Worker)
		}, []string{checker.NoLoss}},
		{"an attempt never arrives, since its worker was killed", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300)
			s.counted()
			s.entry(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s.fault("kill", 119.9, 125, record.Worker)
		}, nil},
		{"an occurrence is lost that was due right before the job was deleted", func() *scenario {
			s := newScenario(minutely()).ran(0, 60)
			s.change(record.Delete, 121, 122, 200)
			s.Reads[0].Final = false
			s.Reads[0].Issued = at(119)
			return s
		}, nil},
		{"an occurrence is lost that was due long before the job was deleted", func() *scenario {
			s := newScenario(minutely()).ran(0, 60)
			s.change(record.Delete, 150, 151, 200)
			s.Reads[0].Final = false
			s.Reads[0].Issued = at(149)
			return s
		}, []string{checker.NoLoss}},
	}
}

func manualRunCases() []testCase {
	return []testCase{
		{"a manual run is lost", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(record.ManualRun, 130.1, 130.2, 200)
			return s
		}, []string{checker.NoLoss}},
		{"a manual run is sent", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(record.ManualRun, 130.1, 130.2, 200)
			s.received(130, 130.2, 200)
			s.counted()
			s.entry(130.15, 130.2, "Completed", 0, 7)
			return s
		}, nil},
		{"one of two manual runs is lost", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(record.ManualRun, 130.1, 130.2, 200)
			s.change(record.ManualRun, 130.1, 130.3, 200)
			s.received(130, 130.2, 200)
			s.counted()
			s.entry(130.15, 130.2, "Completed", 0, 7)
			return s
		}, []string{checker.NoLoss}},
		{"two manual runs are sent", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(record.ManualRun, 130.1, 131.2, 200)
			s.change(record.ManualRun, 130.1, 130.3, 200)
			s.received(130, 130.2, 200)
			s.received(131, 131.1, 200)
			s.counted()
			s.counted()
			s.entry(130.15, 130.2, "Completed", 0, 7)
			s.entry(131.05, 131.1, "Completed", 0, 8)
			return s
		}, nil},
	}
}
