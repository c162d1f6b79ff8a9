package checker_test

import (
	"time"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

const (
	jobDisabled        = "It was skipped: the job was disabled when it was due."
	collectionDisabled = "It was skipped: the job collection was disabled when it was due."
	skippedByRequest   = "It was cancelled: a request skipped it."
)

// newPromises returns a log of a job that is paused, skipped and backfilled.
func newPromises() *scenario {
	d := minutely()
	d.Promises = true
	d.Start = at(-3600)
	return newScenario(d)
}

// dropped adds an entry of an occurrence that did not run.
func (s *scenario) dropped(due, at float64, status, message string) *scenario {
	s.entry(due, at, status, 0, 0).Message = message
	return s
}

// recovered adds executions of what was held, which run for a second each.
func (s *scenario) recovered(due, arrived float64) *scenario {
	s.received(due, arrived, 200).Answered = at(arrived + 1)
	s.counted()
	s.entry(due, arrived, "Completed", 0, s.Reads[0].ExecutionCount).Recovered = true
	return s
}

// paused pauses the job from 70 s on, until somebody enables it at 250 s.
func (s *scenario) paused(asked, promised string, atOnce int) *scenario {
	s.change(record.Pause, 69, 70, 200).Promise = &record.Promise{Recover: promised, AtOnce: atOnce}
	s.change(record.Resume, 250, 250.5, 200).Promise = &record.Promise{Recover: asked}
	return s
}

// pausedUntil pauses the job from 70 s until 250 s.
func (s *scenario) pausedUntil(recover string, atOnce int) *scenario {
	s.change(record.Pause, 69, 70, 200).Promise = &record.Promise{Recover: recover, AtOnce: atOnce, Until: at(250)}
	return s
}

func entryCases() []testCase {
	return []testCase{
		{"an occurrence has two entries", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.entry(120, 121, "Cancelled", 0, 0)
			return s
		}, []string{checker.OneEntry}},
		{"an execution is cancelled after an attempt", func() *scenario {
			s := newScenario(retrying(1)).ran(0, 60, 180, 240, 300)
			s.received(120, 120.002, 500)
			s.entry(120, 120.001, "Failed", 0, 9)
			s.entry(120, 130, "Cancelled", 1, 9)
			s.change(record.Disable, 130, 131, 200)
			s.change(record.Enable, 140, 141, 200)
			return s
		}, nil},
	}
}

func pauseCases() []testCase {
	all := func(s *scenario, arrived ...float64) *scenario {
		for i, due := range []float64{120, 180, 240} {
			s.recovered(due, arrived[i])
		}
		return s
	}
	three := func(s *scenario, message string) *scenario {
		return s.dropped(120, 251, "Skipped", message).dropped(180, 251, "Skipped", message).
			dropped(240, 251, "Skipped", message)
	}
	return []testCase{
		{"what was held runs, one after another", func() *scenario {
			return all(newPromises().ran(0, 60, 300).pausedUntil("all", 1), 250, 251.1, 252.2)
		}, nil},
		{"what was held runs as the request says that ends the pause", func() *scenario {
			return all(newPromises().ran(0, 60, 300).paused("all", "none", 1), 251, 252.1, 253.2)
		}, nil},
		{"what came due while nothing was promised runs as the request says that enables the job", func() *scenario {
			return all(newPromises().ran(0, 60, 300).paused("all", "", 1), 251, 252.1, 253.2)
		}, nil},
		{"more of what was held run at once than was promised", func() *scenario {
			return all(newPromises().ran(0, 60, 300).pausedUntil("all", 2), 250, 250.1, 250.2)
		}, []string{checker.Pauses}},
		{"what was held runs out of order", func() *scenario {
			return all(newPromises().ran(0, 60, 300).pausedUntil("all", 1), 253, 250, 255)
		}, []string{checker.Pauses}},
		{"what was held is lost", func() *scenario {
			return newPromises().ran(0, 60, 300).pausedUntil("all", 1).recovered(120, 250).recovered(240, 252)
		}, []string{checker.Pauses}},
		{"what was held runs a minute and more after the end", func() *scenario {
			return all(newPromises().ran(0, 60, 300).pausedUntil("all", 1), 312, 313.1, 314.2)
		}, []string{checker.Pauses}},
		{"only the latest runs", func() *scenario {
			s := newPromises().ran(0, 60, 300).pausedUntil("latest", 1).recovered(240, 250)
			return s.dropped(120, 251, "Skipped", jobDisabled).dropped(180, 251, "Skipped", jobDisabled)
		}, nil},
		{"another one runs than the latest", func() *scenario {
			s := newPromises().ran(0, 60, 300).pausedUntil("latest", 1).recovered(180, 250)
			return s.dropped(120, 251, "Skipped", jobDisabled).dropped(240, 251, "Skipped", jobDisabled)
		}, []string{checker.Pauses}},
		{"nothing of what was held runs", func() *scenario {
			return three(newPromises().ran(0, 60, 300).paused("", "none", 0), jobDisabled)
		}, nil},
		{"what was not to run has no entry", func() *scenario {
			return newPromises().ran(0, 60, 300).paused("", "none", 0)
		}, []string{checker.Pauses}},
		{"the reason names the collection, which was enabled", func() *scenario {
			return three(newPromises().ran(0, 60, 300).paused("", "none", 0), collectionDisabled)
		}, []string{checker.Pauses}},
		{"the pause of the collection holds", func() *scenario {
			s := newPromises().ran(0, 60, 300)
			s.change(record.PauseCollection, 69, 70, 200).Promise = &record.Promise{Recover: "none"}
			s.change(record.ResumeCollection, 250, 250.5, 200).Promise = &record.Promise{}
			return three(s, collectionDisabled)
		}, nil},
		{"a pause without a promise leaves no entries", func() *scenario {
			return newPromises().ran(0, 60, 300).paused("", "", 0)
		}, nil},
		{"it runs while it is paused", func() *scenario {
			return newPromises().ran(0, 60, 120, 300).paused("", "", 0)
		}, []string{checker.Pauses}},
		{"an alert tells of what was held", func() *scenario {
			s := three(newPromises().ran(0, 60, 300).paused("", "none", 0), jobDisabled)
			s.Alerts = []record.Alert{{Collection: "c", Name: "j", Event: "missed", First: at(120), Last: at(240)}}
			return s
		}, []string{checker.Pauses}},
		{"what ran after the pause is not marked", func() *scenario {
			s := all(newPromises().ran(0, 60, 300).pausedUntil("all", 1), 250, 251.1, 252.2)
			s.Reads[0].Entries[4].Recovered = false
			return s
		}, []string{checker.Pauses}},
		{"it does not run when it is not paused", func() *scenario { return newPromises().ran(0, 60, 180, 240, 300) },
			[]string{checker.NoLoss}},
	}
}

func skipCases() []testCase {
	skip := func(s *scenario, kind string, at float64, which record.Which) *scenario {
		s.change(kind, at, at+0.1, 200).Which = &which
		return s
	}
	return []testCase{
		{"an occurrence is skipped", func() *scenario {
			s := skip(newPromises().ran(0, 60, 180, 240, 300), record.SkipSome, 90, record.Which{Due: at(120)})
			return s.dropped(120, 120, "Cancelled", skippedByRequest)
		}, nil},
		{"the next two are skipped", func() *scenario {
			s := skip(newPromises().ran(0, 60, 240, 300), record.SkipSome, 90, record.Which{Next: 2})
			return s.dropped(120, 120, "Cancelled", skippedByRequest).dropped(180, 180, "Cancelled", skippedByRequest)
		}, nil},
		{"the next one is late after a fault", func() *scenario {
			s := skip(newPromises().ran(0, 60, 180, 240, 300), record.SkipSome, 122, record.Which{Next: 1})
			return s.fault("kill", 115, 121).dropped(120, 122.05, "Cancelled", skippedByRequest)
		}, nil},
		{"the next one is past, and nothing made it late", func() *scenario {
			s := skip(newPromises().ran(0, 60, 180, 240, 300), record.SkipSome, 125, record.Which{Next: 1})
			return s.dropped(120, 125.05, "Cancelled", skippedByRequest)
		}, []string{checker.Skips}},
		{"a skipped one runs", func() *scenario {
			return skip(newPromises().ran(0, 60, 120, 180, 240, 300), record.SkipSome, 90,
				record.Which{From: at(100), Until: at(130)})
		}, []string{checker.Skips}},
		{"a skipped one has no entry", func() *scenario {
			return skip(newPromises().ran(0, 60, 180, 240, 300), record.SkipSome, 90, record.Which{Due: at(120)})
		}, []string{checker.Skips}},
		{"one is left out that is not skipped any more", func() *scenario {
			s := skip(newPromises().ran(0, 60, 180, 240, 300), record.SkipSome, 90, record.Which{Next: 1})
			skip(s, record.UnskipSome, 100, record.Which{Due: at(120)})
			return s.dropped(120, 120, "Cancelled", skippedByRequest)
		}, []string{checker.Skips}},
		{"one that is not skipped any more runs", func() *scenario {
			s := skip(newPromises().ran(0, 60, 120, 180, 240, 300), record.SkipSome, 90, record.Which{Next: 1})
			return skip(s, record.UnskipSome, 100, record.Which{Due: at(120)})
		}, nil},
	}
}

func backfillCases() []testCase {
	begun := func(atOnce int, every time.Duration) *scenario {
		s := newPromises().ran(0, 60, 120, 180, 240, 300)
		s.change(record.BeginBackfill, 70, 70.1, 200).Backfill = &record.Backfill{Name: "b1", From: at(-300),
			Until: at(-120), AtOnce: atOnce, Every: every}
		return s
	}
	ran := func(s *scenario, due, arrived float64) *scenario {
		s.received(due, arrived, 200).Answered = at(arrived + 1)
		s.counted()
		s.entry(due, arrived, "Completed", 0, s.Reads[0].ExecutionCount).Backfill = "b1"
		return s
	}
	change := func(s *scenario, action string, at float64) *scenario {
		s.change(record.ChangeBackfill, at, at+0.1, 200).Backfill = &record.Backfill{Name: "b1", Action: action}
		return s
	}
	return []testCase{
		{"a backfill runs all", func() *scenario {
			return ran(ran(ran(begun(1, 0), -300, 71), -240, 72.1), -180, 73.2)
		}, nil},
		{"a backfill leaves one out", func() *scenario { return ran(ran(begun(1, 0), -300, 71), -180, 73.2) },
			[]string{checker.Backfills}},
		{"a backfill runs too many at once", func() *scenario {
			return ran(ran(ran(begun(2, 0), -300, 71), -240, 71.1), -180, 71.2)
		}, []string{checker.Backfills}},
		{"a backfill is quicker than its pace", func() *scenario {
			return ran(ran(ran(begun(1, 3*time.Second), -300, 71), -240, 72.1), -180, 77)
		}, []string{checker.Backfills}},
		{"an ended backfill goes on", func() *scenario {
			return ran(ran(ran(change(begun(1, 0), "end", 71.5), -300, 71), -240, 72.1), -180, 73.2)
		}, []string{checker.Backfills}},
		{"a paused backfill waits", func() *scenario { return ran(change(begun(1, 0), "pause", 71.5), -300, 71) }, nil},
		{"an occurrence waits for a backfill", func() *scenario {
			s := ran(ran(ran(newPromises().ran(0, 60, 180, 240, 300), -300, 71), -240, 120), -180, 140)
			s.change(record.BeginBackfill, 70, 70.1, 200).Backfill = &record.Backfill{Name: "b1", From: at(-300),
				Until: at(-120)}
			s.received(120, 142, 200)
			s.counted()
			s.entry(120, 142, "Completed", 0, s.Reads[0].ExecutionCount)
			return s
		}, []string{checker.Backfills}},
	}
}

func windowCases() []testCase {
	planned := func(delays ...float64) *scenario {
		s := newPromises()
		s.Changes[0].Definition.Window = 30 * time.Second
		for i, delay := range delays {
			due := float64(i * 60)
			s.received(due, due+delay+0.002, 200)
			s.counted()
			s.entry(due, due+delay, "Completed", 0, i+1).Planned = at(due + delay)
		}
		return s
	}
	return []testCase{
		{"all start equally late", func() *scenario { return planned(7.5, 7.5, 7.5, 7.5, 7.5, 7.5) }, nil},
		{"one starts later than others", func() *scenario { return planned(7.5, 7.5, 8, 7.5, 7.5, 7.5) },
			[]string{checker.Windows}},
		{"all start after the window", func() *scenario { return planned(30, 30, 30, 30, 30, 30) },
			[]string{checker.Windows}},
		{"one is sent before its planned start", func() *scenario {
			s := planned(7.5, 7.5, 7.5, 7.5, 7.5, 7.5)
			s.Requests[2].Arrived = at(121)
			return s
		}, []string{checker.Windows}},
	}
}
