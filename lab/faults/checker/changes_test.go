package checker_test

import (
	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

func changeCases() []testCase {
	return []testCase{
		{"a request right after the answer to disable", func() *scenario { return disabled(60.5) }, nil},
		{"a request long after the answer to disable", func() *scenario { return disabled(61) },
			[]string{checker.Disabled}},
		{"a request of a collection that is disabled", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120)
			s.change(record.DisableCollection, 59, 60.4, 200).Collection = "c"
			s.Requests = s.Requests[:2]
			s.Requests[1].Arrived, s.Requests[1].Answered = at(61), at(61.1)
			s.Reads[0].Entries, s.Reads[0].ExecutionCount = s.Reads[0].Entries[:2], 2
			return s
		}, []string{checker.Disabled}},
		{"a manual run of a disabled job", func() *scenario {
			s := newScenario(minutely()).ran(0, 60)
			s.change(record.Disable, 100, 101, 200)
			s.change(record.ManualRun, 130, 130.1, 200)
			s.received(130, 130.2, 200)
			s.counted()
			s.entry(130.05, 130.2, "Completed", 0, 3)
			s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
			return s
		}, nil},
		{"the old version after an update", func() *scenario { return updated(1) }, []string{checker.Updated}},
		{"the new version after an update", func() *scenario { return updated(2) }, nil},
		{"the old schedule after a change", func() *scenario { return rescheduled(120) }, []string{checker.Updated}},
		{"the new schedule after a change", func() *scenario { return rescheduled() }, nil},
		{"GET shows another version", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].Version = 2
			return s
		}, []string{checker.Updated}},
		{"a request of a deleted job", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120)
			s.change(record.Delete, 118, 119, 200)
			s.Reads[0].Final, s.Reads[0].Issued, s.Reads[0].Entries = false, at(117), s.Reads[0].Entries[:2]
			s.Reads[0].ExecutionCount = 2
			return s
		}, []string{checker.Deleted}},
	}
}

func answerCases() []testCase {
	return []testCase{
		{"a change without an answer", func() *scenario { return unanswered(record.Worker) },
			[]string{checker.Unanswered}},
		{"a change without an answer in an outage", func() *scenario { return unanswered(record.Server) }, nil},
		{"a change without an answer may be applied or not", func() *scenario {
			s := newScenario(minutely()).ran(0, 60).fault("kill", 99, 110, record.Server)
			c := s.change(record.Disable, 100, 105, 503)
			c.Tries = append(c.Tries, record.Try{Issued: at(200), Answered: at(201), Status: 200})
			s.received(120, 120.002, 200) // and not at 180
			s.counted()
			s.entry(120, 120, "Completed", 0, 3)
			s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
			return s
		}, nil},
	}
}

// disabled is a job that is disabled at 60.4 s and whose last request arrives later.
func disabled(arrived float64) *scenario {
	s := newScenario(minutely()).ran(0)
	s.change(record.Disable, 59, 60.4, 200)
	s.received(60, arrived, 200)
	s.counted()
	s.entry(60, arrived, "Completed", 0, 2)
	s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
	return s
}

// updated is a job whose action is changed at 101 s. Its next request is sent by a version.
func updated(version int) *scenario {
	next := minutely()
	next.Version = 2
	s := newScenario(minutely()).ran(0, 60)
	s.change(record.ChangeAction, 100, 101, 200).Definition = &next
	s.ran(120, 180, 240, 300)
	for i := range s.Requests[2:] {
		s.Requests[2+i].Version = 2
	}
	s.Requests[2].Version = version
	s.Reads[0].Version = 2
	return s
}

// rescheduled is a job that is moved to second 30 of the minute at 101 s and is still sent
// at some old due times.
func rescheduled(old ...float64) *scenario {
	next := minutely()
	next.Start = at(30)
	s := newScenario(minutely()).ran(0, 60)
	s.change(record.ChangeRecurrence, 100, 101, 200).Definition = &next
	return s.ran(150, 210, 270).ran(old...)
}

// unanswered is a job with a change that is answered 503 after a fault stopped something.
func unanswered(what string) *scenario {
	s := newScenario(minutely()).ran(0, 60).fault("kill", 95, 100, what)
	c := s.change(record.Disable, 99, 109, 503)
	c.Tries = append(c.Tries, record.Try{Issued: at(110), Answered: at(110.1), Status: 200})
	s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
	return s
}
