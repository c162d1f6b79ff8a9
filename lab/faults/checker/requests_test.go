package checker_test

import (
	"time"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

func idCases() []testCase {
	return []testCase{
		{"an occurrence has two ids", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.received(120, 121, 200).ID = "other"
			return s
		}, []string{checker.OneID}},
		{"a manual run is due in the same second as an occurrence", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(record.ManualRun, 120.1, 120.2, 200)
			s.received(120, 120.3, 200).ID = "other"
			s.counted()
			s.entry(120.15, 120.3, "Completed", 0, 7)
			return s
		}, nil},
		{"a one-time job that is created after its start runs at once", func() *scenario {
			d := minutely()
			d.Once, d.Start = true, at(-60)
			s := newScenario(d)
			s.received(-30, -29.5, 200)
			s.counted()
			s.entry(-30, -29.5, "Completed", 0, 1)
			s.Reads[0].State, s.Reads[0].ListedState = "completed", "completed"
			return s
		}, nil},
		{"two due times share an id", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Requests[3].ID = s.Requests[2].ID
			return s
		}, []string{checker.OneID, checker.Duplicates, checker.Counts}},
	}
}

// repeated adds an execution due at 120 s that succeeds at once and again at a time. first is what the history says of
// the first attempt.
func (s *scenario) repeated(first string, again float64) *scenario {
	s.received(120, 120.002, 200)
	s.received(120, again, 200)
	s.counted()
	s.entry(120, 120, first, 0, 6)
	s.entry(120, again, "Completed", 1, 6)
	return s
}

func repeatCases() []testCase {
	return []testCase{
		{"a request without retries is sent twice, after its worker was killed", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 120.001, 124, record.Worker)
			s.received(120, 124, 200)
			return s
		}, []string{checker.Duplicates, checker.Counts}},
		{"a request is sent twice, since its worker was killed before it recorded the outcome", func() *scenario {
			s := newScenario(retrying(2)).ran(0, 60, 180, 240, 300).fault("kill", 120.015, 124, record.Worker)
			return s.repeated("Failed", 140)
		}, nil},
		{"a single process that was killed sends again what it had recorded in its journal", func() *scenario {
			s := newScenario(retrying(2)).ran(0, 60, 180, 240, 300).fault("kill", 122, 126, record.Worker)
			s.Run.Form = "one"
			return s.repeated("Failed", 140)
		}, []string{checker.Duplicates}},
		{"a single process that was killed as it was answered sends again", func() *scenario {
			s := newScenario(retrying(2)).ran(0, 60, 180, 240, 300).fault("kill", 120.5, 126, record.Worker)
			s.Run.Form = "one"
			return s.repeated("Failed", 140)
		}, nil},
		{"a worker of a herd of 3,000 is killed a minute after it was answered", func() *scenario {
			s := newScenario(retrying(2)).ran(0, 60, 240, 300).fault("kill", 180, 184, record.Worker)
			s.Run.Herd = 3000
			s.received(120, 120.002, 200)
			s.received(120, 200, 200)
			s.counted()
			s.entry(120, 120, "Failed", 0, 5)
			s.entry(120, 200, "Completed", 1, 5)
			s.received(180, 200.5, 200)
			s.counted()
			s.entry(180, 200.5, "Completed", 0, 6)
			return s
		}, nil},
		{"a request is sent twice without a fault", func() *scenario {
			s := newScenario(retrying(2)).ran(0, 60, 180, 240, 300)
			return s.repeated("Completed", 140)
		}, []string{checker.Duplicates}},
		{"a lost attempt is repeated too soon", func() *scenario {
			s := newScenario(retrying(2)).ran(0, 60, 180, 240, 300).fault("kill", 120.015, 124, record.Worker)
			return s.repeated("Failed", 124)
		}, []string{checker.Retries}},
	}
}

func retryCases() []testCase {
	return []testCase{
		{"a request is sent too early", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Requests[3].Arrived = at(179.999)
			return s
		}, []string{checker.Early}},
		{"a retry after its interval", func() *scenario {
			s := newScenario(retrying(1)).ran(0, 60, 180, 240, 300)
			s.received(120, 120.002, 500)
			s.received(120, 135.02, 200)
			s.counted()
			s.entry(120, 120, "Failed", 0, 6)
			s.entry(120, 135, "Completed", 1, 6)
			return s
		}, nil},
		{"a retry before its interval", func() *scenario {
			s := newScenario(retrying(1)).ran(0, 60, 180, 240, 300)
			s.received(120, 120.002, 500)
			s.received(120, 130, 200)
			s.counted()
			s.entry(120, 120, "Failed", 0, 6)
			s.entry(120, 130, "Completed", 1, 6)
			return s
		}, []string{checker.Retries}},
		{"one retry too many", func() *scenario {
			s := newScenario(retrying(1)).ran(0, 60, 180, 240, 300)
			for i, arrived := range []float64{120.002, 136, 152} {
				s.received(120, arrived, 500)
				s.entry(120, arrived, "Failed", i, 6)
			}
			s.counted()
			s.Reads[0].FailureCount = 1
			return s
		}, []string{checker.Retries, checker.Counts}},
	}
}

func errorActionCases() []testCase {
	return []testCase{
		{"an error action after the last failure", func() *scenario { return failing(true, 500) }, nil},
		{"an error action after an attempt that never arrived", func() *scenario { return unsent(0) },
			[]string{checker.Retries}},
		{"an error action after an attempt whose worker was lost before it was sent", func() *scenario {
			return unsent(1).fault("pause", 119.9, 150, record.Worker)
		}, nil},
		{"an error action whose worker was killed when it was about to send it", func() *scenario {
			s := failing(false, 500)
			lost := s.entry(120, 160, "Failed", 0, 6) // 40 s after the action, since the machine was busy
			lost.Action, lost.End = record.ErrorAction, at(190)
			return s.fault("kill", 161, 180, record.Worker)
		}, nil},
		{"an error action that is missing", func() *scenario { return failing(false, 500) }, []string{checker.Retries}},
		{"an error action after a success", func() *scenario { return failing(true, 200) },
			[]string{checker.Retries, checker.Counts}},
	}
}

func cutCases() []testCase {
	return []testCase{
		{"a request is cut off without a fault", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300)
			r := s.received(120, 120.002, 0)
			r.Answered, r.Cut = time.Time{}, at(125)
			s.counted()
			s.entry(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s
		}, []string{checker.CutOff}},
		{"a request is cut off by a kill", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300).fault("kill", 124.9, 130, record.Worker)
			r := s.received(120, 120.002, 0)
			r.Answered, r.Cut = time.Time{}, at(125)
			s.counted()
			s.entry(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s
		}, nil},
	}
}

// failing is a job with an error action. The history has its execution at 120 s as
// failed; the receiver answers it with a status, and gets the error action or not.
func failing(errorAction bool, status int) *scenario {
	d := minutely()
	d.ErrorAction = true
	s := newScenario(d).ran(0, 60, 180, 240, 300)
	s.received(120, 120.002, status)
	s.counted()
	s.entry(120, 120, "Failed", 0, 6)
	s.Reads[0].FailureCount = 1
	if errorAction {
		s.received(120, 120.1, 200).Action = record.ErrorAction
		s.entry(120, 120.1, "Completed", 0, 6).Action = record.ErrorAction
	}
	return s
}

// unsent is a job with a retry whose first attempt, due at 120 s, never arrives. Its
// history has a number of failed attempts besides the one that arrived.
func unsent(lost int) *scenario {
	d := retrying(1)
	d.ErrorAction = true
	s := newScenario(d).ran(0, 60, 180, 240, 300)
	s.received(120, 160, 500)
	s.received(120, 160.1, 200).Action = record.ErrorAction
	s.counted()
	for i := range lost + 1 {
		s.entry(120, 160-20*float64(lost-i), "Failed", i, 6)
	}
	s.entry(120, 160.1, "Completed", 0, 6).Action = record.ErrorAction
	s.Reads[0].FailureCount = 1
	return s
}
