package checker_test

import (
	"time"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

func catchUpCases() []testCase {
	return []testCase{
		{"the latest occurrence of a downtime runs",
			func() *scenario { return down(minutely(), []float64{600}, 480, 540) }, nil},
		{"an older occurrence of a downtime runs",
			func() *scenario { return down(minutely(), []float64{540, 600}, 480) }, []string{checker.CatchUp}},
		{"the latest occurrence of a downtime is missed",
			func() *scenario { return down(minutely(), nil, 480, 540, 600) }, []string{checker.CatchUp}},
		{"the latest occurrence of a downtime is decided after the next one was due", func() *scenario {
			s := down(minutely(), nil, 480, 540)
			s.entry(600, 661, "Missed", 0, 0)
			return s
		}, nil},
		{"all occurrences in the catch-up window run",
			func() *scenario { return down(caughtUp(), []float64{480, 540, 600}) }, nil},
		{"an occurrence in the catch-up window is missed",
			func() *scenario { return down(caughtUp(), []float64{540, 600}, 480) }, []string{checker.CatchUp}},
		{"the job is deleted before the last occurrence in the catch-up window runs",
			func() *scenario { return deletedAt(700, 680, 690) }, nil},
		{"the job is deleted long after the last occurrence in the catch-up window should have run",
			func() *scenario { return deletedAt(718, 622, 623) }, []string{checker.CatchUp}},
		{"the occurrences in the catch-up window run in a wrong order",
			func() *scenario { return down(caughtUp(), []float64{540, 480, 600}) }, []string{checker.CatchUp}},
		{"with allowAll the next occurrence does not wait for a retry of the one before",
			func() *scenario { return retriedAt(640, 630, 0.01) }, nil},
		{"with allowAll the next occurrence does not wait for an attempt of the one before",
			func() *scenario { return retriedAt(640, 641, 5) }, []string{checker.CatchUp}},
		{"but with another policy for its retries as well", func() *scenario {
			s := retriedAt(640, 630, 0.01)
			s.Changes[0].Definition.Overlap = "bufferOne"
			return s
		}, []string{checker.Overlaps, checker.CatchUp}},
	}
}

// retriedAt is a job with allowAll that cannot run from 450 s to 620 s. The first of two occurrences that were due
// meanwhile fails at 622 s and is sent again at a time, for some seconds; the first request of the second one arrives
// at next.
func retriedAt(again, next, seconds float64) *scenario {
	d := caughtUp()
	d.Overlap, d.Retries, d.RetryInterval, d.Start = "allowAll", 1, 15*time.Second, at(0)
	s := newScenario(d).ran(0, 60, 120, 180, 240, 300, 360, 420)
	s.Run.Quiet = at(900)
	s.fault("kill", 450, 621, everything...)
	s.received(480, 622, 500)
	s.entry(480, 622, "Failed", 0, 9)
	s.received(480, again, 200).Answered = at(again + seconds)
	s.entry(480, again, "Completed", 1, 9).End = at(again + seconds)
	s.counted()
	for i, due := range []float64{540, 600} {
		s.received(due, next+float64(10*i), 200)
		s.entry(due, next+float64(10*i), "Completed", 0, 10+i)
		s.counted()
	}
	return s.ran(660, 720, 780, 840)
}

func caughtUp() record.Definition {
	d := minutely()
	d.CatchUp = true
	return d
}

// down is a job that cannot run from 450 s to 620 s. Afterwards, some of the occurrences
// that were due meanwhile are sent, and some are missed.
func down(d record.Definition, sent []float64, missed ...float64) *scenario {
	s := newScenario(d).ran(0, 60, 120, 180, 240, 300, 360, 420)
	s.Run.Quiet = at(900)
	s.fault("kill", 450, 621, everything...)
	for i, due := range sent {
		s.received(due, 622+float64(i), 200)
		s.counted()
		s.entry(due, 622+float64(i), "Completed", 0, 9+i)
	}
	for _, due := range missed {
		s.entry(due, 622, "Missed", 0, 0)
	}
	return s.ran(660, 720, 780, 840)
}

// deletedAt is a job with a catch-up window that cannot run from 450 s to 620 s and is deleted later. Of the
// occurrences that were due meanwhile, the first ones arrive at the given times.
func deletedAt(deleted float64, arrived ...float64) *scenario {
	s := newScenario(caughtUp()).ran(0, 60, 120, 180, 240, 300, 360, 420)
	s.Run.Quiet = at(900)
	s.fault("kill", 450, 621, everything...)
	for i, sent := range arrived {
		s.received(480+60*float64(i), sent, 200)
	}
	s.change(record.Delete, deleted, deleted+1, 200)
	s.Reads[0].Status = 404
	return s
}
