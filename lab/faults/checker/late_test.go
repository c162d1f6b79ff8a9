package checker_test

import (
	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

func lateCases() []testCase {
	late := func(kind string, from, to, arrived float64, stops ...string) func() *scenario {
		return func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 180, 240, 300).fault(kind, from, to, stops...)
			s.received(120, arrived, 200)
			s.counted()
			s.entry(120, arrived, "Completed", 0, 6)
			return s
		}
	}
	retried := func(faultAt, again float64) func() *scenario {
		return func() *scenario {
			s := newScenario(retrying(1)).ran(0, 60, 180, 240, 300).fault(record.FaultPause, faultAt, 170,
				record.Worker)
			s.received(120, 120.01, 500)
			s.received(120, again, 200)
			s.counted()
			s.entry(120, 120.01, "Failed", 0, 6)
			s.entry(120, again, "Completed", 1, 6)
			return s
		}
	}
	return []testCase{
		{"another worker sends what a paused one held", late(record.FaultPause, 100, 170, 121.4, record.Worker), nil},
		{"nobody sends what a paused one held until it continues",
			late(record.FaultPause, 100, 170, 169, record.Worker), []string{checker.Late}},
		{"nobody sends what a killed one held for a while", late(record.FaultKill, 100, 110, 126, record.Worker),
			[]string{checker.Late}},
		{"a worker was paused after it recorded that the request may be sent",
			late(record.FaultPause, 119.9, 170, 169, record.Worker), nil},
		{"another worker takes over later, while the server is behind", func() *scenario {
			return late(record.FaultKill, 100, 110, 128, record.Worker)().behind(50, 95, 2)
		}, nil},
		{"nobody takes over in time, although the server is not far behind", func() *scenario {
			return late(record.FaultKill, 100, 110, 135, record.Worker)().behind(50, 95, 2)
		}, []string{checker.Late}},
		{"all workers were paused", late(record.FaultPause, 100, 130, 131, record.Worker, record.AllWorkers), nil},
		{"the job was changed meanwhile", func() *scenario {
			s := late(record.FaultPause, 100, 170, 169, record.Worker)()
			next := minutely()
			next.Version = 2
			s.change(record.ChangeAction, 301, 302, 200).Definition = &next
			s.Changes[1].Tries[0].Issued, s.Changes[1].Tries[0].Answered = at(118), at(171)
			for i := range s.Requests {
				if s.Requests[i].Due.After(at(121)) {
					s.Requests[i].Version = 2
				}
			}
			s.Reads[0].Version = 2
			return s
		}, nil},
		{"another worker makes a retry", retried(132, 138), nil},
		{"nobody makes a retry until the worker continues", retried(132, 169), []string{checker.Late}},
		{"nor one that a worker was lost before", retried(100, 169), []string{checker.Late}},
		{"a worker was lost before it could record a failure", retried(121, 169), nil},
		{"nobody sends an error action until the worker continues", func() *scenario {
			d := minutely()
			d.ErrorAction = true
			s := newScenario(d).ran(0, 60, 180, 240, 300).fault(record.FaultPause, 100, 170, record.Worker)
			s.received(120, 120.01, 500)
			s.received(120, 169, 200).Action = record.ErrorAction
			s.counted()
			s.entry(120, 120.01, "Failed", 0, 6)
			s.entry(120, 169, "Completed", 0, 6).Action = record.ErrorAction
			s.Reads[0].FailureCount, s.Reads[0].FaultedCount = 1, 1
			return s
		}, []string{checker.Late}},
	}
}
