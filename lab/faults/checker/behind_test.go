package checker_test

import (
	"fmt"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

// behind adds a hundred other jobs, which run once each, due from a to b, and so much late: the server is behind.
func (s *scenario) behind(a, b, late float64) *scenario {
	const n = 100
	for i := range n {
		due := a + float64(int((b-a)*float64(i)/n))
		one := record.Job{Collection: "c", Name: fmt.Sprintf("other%d", i), Incarnation: 1}
		d := record.Definition{Version: 1, Start: at(due), Once: true, Overlap: "bufferOne", Behaviour: "ok"}
		s.Changes = append(s.Changes, record.Change{Job: one, Kind: record.Create, Definition: &d,
			Tries: []record.Try{{Issued: at(-30), Answered: at(-29), Status: 201}}})
		s.Requests = append(s.Requests, record.Request{Job: one, Version: 1, Action: record.MainAction,
			ID: one.Name, Due: at(due), Arrived: at(due + late), Answered: at(due + late), Status: 200})
		entry := record.Entry{Start: at(due + late), End: at(due + late), Due: at(due), Status: "Completed", Repeat: 1,
			Action: record.MainAction}
		s.Reads = append([]record.Read{{Job: one, Issued: at(401), Status: 200, State: "completed", Version: 1,
			Final: true, HasStatus: true, ListedState: "completed", ListedCount: -1, ExecutionCount: 1,
			Entries: []record.Entry{entry}}}, s.Reads...)
	}
	return s
}

// lostLate is a single process that is killed 2 s after it got the answer to what is due at 120 s. The history counts
// that as lost at 150 s.
func lostLate() *scenario {
	s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 122, 126, everything...)
	s.Run.Form = "one"
	e := &s.Reads[0].Entries[2]
	e.Status, e.End = "Failed", at(150)
	s.Reads[0].FailureCount = 1
	return s
}

// killedOften is a single process that sends again at 190 s what was answered at 120 s, after it was killed n times.
func killedOften(n int) *scenario {
	s := newScenario(retrying(2)).ran(0, 60, 180, 240, 300)
	s.Run.Form = "one"
	for i := range n {
		s.fault("kill", 125+20*float64(i), 128+20*float64(i), everything...)
	}
	s.repeated("Failed", 190)
	s.Reads[0].Entries[5].End = at(175)
	return s
}

// killedAfter is a worker that is killed 15 s after it got the answer to a request, which is sent again.
func killedAfter() *scenario {
	s := newScenario(retrying(2)).ran(0, 60, 180, 240, 300).fault("kill", 135, 139, record.Worker)
	s.repeated("Failed", 155)
	s.Reads[0].Entries[5].End = at(140)
	return s
}

func lostOutcomeCases() []testCase {
	return []testCase{
		{"a process is killed while a change cancels what it sent, so that no attempt finds the outcome", func() *scenario {
			s := lostLate()
			s.change(record.ChangeAction, 121, 151, 200).Definition = next()
			s.renewed(3)
			return s
		}, nil},
		{"a process is killed long after the change, and the outcome is lost", func() *scenario {
			s := lostLate()
			s.change(record.ChangeAction, 100, 101, 200).Definition = next()
			s.renewed(2)
			return s
		}, []string{checker.Counts}},
		{"a process is killed after the history has counted the outcome as lost", func() *scenario {
			s := lostLate()
			s.Faults[0].Start, s.Faults[0].Restart, s.Faults[0].End = at(152), at(153), at(154)
			s.change(record.ChangeAction, 121, 151, 200).Definition = next()
			s.renewed(3)
			return s
		}, []string{checker.Counts}},
		{"an outcome is lost while many manual runs come", func() *scenario {
			s := lostLate()
			s.Faults[0].Kind, s.Faults[0].Target, s.Faults[0].Stops = record.FaultOverload, "load", nil
			s.change(record.ChangeAction, 121, 151, 200).Definition = next()
			s.renewed(3)
			return s
		}, []string{checker.Counts}},
		{"a process is killed so often that no attempt is left", func() *scenario { return killedOften(3) }, nil},
		{"a process is killed less often", func() *scenario { return killedOften(2) }, []string{checker.Duplicates}},
		{"a worker is killed 15 s after it was answered", killedAfter, []string{checker.Duplicates}},
		{"a worker is killed 15 s after it was answered, while the server is behind",
			func() *scenario { return killedAfter().behind(90, 120, 5) }, nil},
	}
}

// next is the second definition of a job.
func next() *record.Definition {
	d := minutely()
	d.Version = 2
	return &d
}

// renewed has the requests from the one with an index on sent by the second version.
func (s *scenario) renewed(from int) {
	for i := range s.Requests[from:] {
		s.Requests[from+i].Version = 2
	}
	s.Reads[len(s.Reads)-1].Version = 2
}

// deletedLate is a job whose occurrence due at 60 s may have been decided only when it is deleted at 200 s: a process
// was killed at 65 s and, if again is set, at 140 s.
func deletedLate(again bool) *scenario {
	s := newScenario(minutely()).ran(0).fault("kill", 65, 70, everything...)
	if again {
		s.fault("kill", 140, 150, everything...)
	}
	s.dropped(120, 151, "Missed", "")
	s.ran(180)
	s.change(record.Delete, 200, 201, 200)
	s.Reads[0].Final, s.Reads[0].Issued = false, at(199)
	return s
}

// unfollowed is a job that is deleted at 250 s. The last attempt of what is due at 120 s fails, and no error action
// follows. A kill at 165 s comes before one had to while the server is behind.
func unfollowed() *scenario {
	d := minutely()
	d.ErrorAction = true
	s := newScenario(d).ran(0, 60, 180, 240).fault("kill", 165, 170, everything...)
	s.received(120, 120.002, 500)
	s.counted()
	s.entry(120, 120, "Failed", 0, 6)
	s.Reads[0].FailureCount = 1
	s.change(record.Delete, 250, 251, 200)
	s.Reads[0].Final, s.Reads[0].Issued = false, at(249)
	return s
}

func behindCases() []testCase {
	return []testCase{
		{"what is due is not decided when the job is deleted, after two faults",
			func() *scenario { return deletedLate(true) }, nil},
		{"what is due is not decided when the job is deleted, long after a fault",
			func() *scenario { return deletedLate(false) }, []string{checker.NoLoss}},
		{"what was sent is not recorded when the job is deleted, after two faults", func() *scenario {
			s := deletedLate(true)
			s.received(60, 72, 200)
			return s
		}, nil},
		{"what was sent is not recorded when the job is deleted, long after a fault", func() *scenario {
			s := deletedLate(false)
			s.received(60, 72, 200)
			return s
		}, []string{checker.Counts}},
		{"no error action is sent", unfollowed, []string{checker.Retries}},
		{"no error action is sent before a kill and the end of the job, since the server is behind",
			func() *scenario { return unfollowed().behind(60, 100, 30) }, nil},
		{"an attempt never arrives without a fault, while the server is behind", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300)
			s.counted()
			s.entry(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s.behind(60, 110, 25)
		}, nil},
		{"a change is not answered while the server is behind", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(record.ManualRun, 120.1, 150, 503)
			return s.behind(60, 110, 25)
		}, nil},
	}
}

// skippedAfter is a job with the policy skip, of which an occurrence is skipped at 131 s. The one before it arrives,
// and ends, at these times.
func skippedAfter(arrives, ends float64) *scenario {
	d := minutely()
	d.Overlap = "skip"
	s := newScenario(d).ran(0)
	s.received(60, arrives, 200).Answered = at(ends)
	s.counted()
	s.entry(60, arrives, "Completed", 0, 2).End = at(ends)
	s.entry(120, 131, "Skipped", 0, 0)
	return s.ran(180, 240, 300)
}

func droppedLateCases() []testCase {
	missed := func() *scenario {
		s := newScenario(minutely()).ran(0, 60, 180, 240, 300)
		s.entry(120, 179, "Missed", 0, 0)
		return s
	}
	return []testCase{
		{"an occurrence is skipped since the one before came only then", func() *scenario { return skippedAfter(130, 130.5) }, nil},
		{"an occurrence is skipped although the one before had ended", func() *scenario { return skippedAfter(60, 110) },
			[]string{checker.NoLoss}},
		{"an occurrence is skipped since the end of the one before is recorded late",
			func() *scenario { return skippedAfter(60, 110).behind(80, 110, 15) }, nil},
		{"an occurrence is skipped although the server cannot be so late",
			func() *scenario { return skippedAfter(60, 90).behind(80, 110, 15) }, []string{checker.NoLoss}},
		{"an occurrence is missed", missed, []string{checker.NoLoss}},
		{"an occurrence is missed when the server falls behind",
			func() *scenario { return missed().behind(125, 170, 30) }, nil},
	}
}

// disabledAfter is a job that cannot run from 450 s to 620 s and is disabled later. What was due is cancelled.
func disabledAfter(disabled float64) *scenario {
	s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300, 360, 420)
	s.Run.Quiet = at(900)
	s.fault("kill", 450, 621, everything...)
	for _, due := range []float64{480, 540, 600, 660} {
		s.entry(due, disabled+0.1, "Cancelled", 0, 0)
	}
	s.change(record.Disable, disabled, disabled+1, 200)
	s.Reads[0].State, s.Reads[0].ListedState, s.Reads[0].HasStatus = "disabled", "disabled", false
	return s
}

func behindCatchUpCases() []testCase {
	behind := func(sent ...float64) *scenario {
		d := minutely()
		d.Overlap = "skip"
		s := down(d, []float64{600})
		s.Requests[7].Arrived, s.Requests[7].Answered = at(615), at(616)
		s.Reads[0].Entries[7].Start, s.Reads[0].Entries[7].End = at(615), at(616)
		for _, due := range sent {
			s.entry(due, 622, "Skipped", 0, 0)
		}
		return s
	}
	return []testCase{
		{"a job was behind when a downtime began", func() *scenario { return behind(480, 540) }, nil},
		{"what a downtime held is cancelled before it had to run", func() *scenario { return disabledAfter(700) }, nil},
		{"what a downtime held is cancelled long after it had to run", func() *scenario { return disabledAfter(715) },
			[]string{checker.CatchUp}},
	}
}

// skippedWhileLate is a job of which a request at 250 s skips the next two. It was held up until then, and some of its
// occurrences say that they were skipped.
func skippedWhileLate(dues ...float64) *scenario {
	s := newPromises().ran(0, 60).fault("kill", 65, 170, everything...)
	s.change(record.SkipSome, 250, 251, 200).Which = &record.Which{Next: 2}
	for _, due := range []float64{120, 180, 240} {
		s.dropped(due, 250.5, "Missed", "")
	}
	for i := range dues {
		s.Reads[0].Entries[2+i].Status, s.Reads[0].Entries[2+i].Message = "Cancelled", skippedByRequest
	}
	return s.ran(300)
}

func behindPromiseCases() []testCase {
	late := func() *scenario {
		s := newPromises().ran(0, 60, 300).pausedUntil("all", 1)
		return s.recovered(120, 312).recovered(180, 313.1).recovered(240, 314.2)
	}
	unheld := func(promise record.Promise) *scenario {
		s := newPromises().ran(0, 60, 300)
		s.change(record.SkipSome, 61, 62, 200).Which = &record.Which{From: at(100), Until: at(250)}
		s.change(record.Pause, 69, 70, 200).Promise = &promise
		s.change(record.PauseCollection, 71, 72, 200).Promise = &record.Promise{Recover: "none"}
		s.change(record.Resume, 250, 250.5, 200).Promise = &record.Promise{}
		s.change(record.ResumeCollection, 251, 251.5, 200).Promise = &record.Promise{}
		return s
	}
	return []testCase{
		{"what was held runs a minute after the end, while the server is behind",
			func() *scenario { return late().behind(240, 290, 15) }, nil},
		{"a request skips what was late", func() *scenario { return skippedWhileLate(120, 180) }, nil},
		{"a request skips more of what was late than it says", func() *scenario { return skippedWhileLate(120, 180, 240) },
			[]string{checker.Skips}},
		{"what is skipped in a pause that holds nothing has no entry",
			func() *scenario { return unheld(record.Promise{}) }, nil},
		{"what is skipped in a pause that holds it has no entry",
			func() *scenario { return unheld(record.Promise{Recover: "none"}) }, []string{checker.Skips}},
	}
}

// besides has an execution of a job with a policy run from 120 s to 185 s, beside the next one.
func besides(policy string) *scenario {
	d := minutely()
	d.Overlap = policy
	s := newScenario(d).ran(0, 60, 120, 180, 240, 300)
	s.Requests[2].Answered = at(185)
	s.Reads[0].Entries[2].End = at(185)
	return s
}

func overlapCases() []testCase {
	return []testCase{
		{"executions overlap with allowAll", func() *scenario { return besides("allowAll") }, nil},
		{"executions overlap with bufferOne", func() *scenario { return besides("bufferOne") }, []string{checker.Overlaps}},
		{"executions overlap with skip", func() *scenario { return besides("skip") }, []string{checker.Overlaps}},
		{"executions overlap, since the worker of the first one was lost",
			func() *scenario { return besides("skip").fault("kill", 170, 175, record.Worker) }, nil},
		{"executions overlap after a worker of no one was lost",
			func() *scenario { return besides("skip").fault("kill", 186, 187, record.Worker) }, []string{checker.Overlaps}},
		{"an occurrence leaves its place to one that waits", func() *scenario { return buffered(true) }, nil},
		{"an occurrence leaves its place to none", func() *scenario { return buffered(false) }, []string{checker.NoLoss}},
	}
}

// buffered is a job of which the occurrence due at 180 s is missed since another one waited, as it says: the one due at
// 120 s, if that waits for the one due at 60 s.
func buffered(waits bool) *scenario {
	s := newScenario(minutely()).ran(0, 60)
	s.Requests[1].Answered, s.Reads[0].Entries[1].End = at(190), at(190)
	if waits {
		s.received(120, 190.5, 200)
		s.counted()
		s.entry(120, 190.5, "Completed", 0, 3)
	} else {
		s.Requests[1].Due, s.Requests[1].ID, s.Reads[0].Entries[1].Due = at(120), id(120), at(120)
		s.Requests[1].Arrived, s.Reads[0].Entries[1].Start = at(120.002), at(120.001)
		s.received(60, 60.002, 200)
		s.counted()
		s.entry(60, 60.001, "Completed", 0, 3)
	}
	s.dropped(180, 190, "Missed", "It was not run: the execution before it was still running and another occurrence waited already.")
	return s.ran(240, 300)
}
