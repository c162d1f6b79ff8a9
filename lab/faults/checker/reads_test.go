package checker_test

import (
	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

func createCases() []testCase {
	return []testCase{
		{"a create without an answer, of a job that exists", func() *scenario {
			return created(200).ran(120, 180, 240, 300)
		}, nil},
		{"a create without an answer, of a job that loses an occurrence", func() *scenario {
			return created(200).ran(0, 60, 120, 240, 300)
		}, []string{checker.NoLoss}},
		{"a create without an answer, of a job that the list lacks", func() *scenario {
			s := created(200).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].ListedState = ""
			return s
		}, []string{checker.Reads}},
		{"a create without an answer, of a job that does not exist", func() *scenario {
			s := created(404)
			s.Lists = []record.List{ // the collection may have the name for a while
				{Collection: "c", Issued: at(-20), Answered: at(-19), Names: []string{"j"}},
				{Collection: "c", Issued: at(200), Answered: at(201)},
			}
			return s
		}, nil},
		{"a create without an answer, of a name that the list keeps for minutes", func() *scenario {
			s := created(404)
			s.Lists = []record.List{{Collection: "c", Issued: at(200), Answered: at(201), Names: []string{"j"}}}
			return s
		}, []string{checker.Reads}},
		{"a create without an answer, of a name that the list has at the end", func() *scenario {
			s := created(404)
			s.Reads[0].ListedState = "enabled"
			return s
		}, []string{checker.Reads}},
		{"a create without an answer, of a job that runs and does not exist", func() *scenario {
			s := created(404)
			s.received(60, 60.002, 200)
			return s
		}, []string{checker.Reads}},
	}
}

func listCases() []testCase {
	return []testCase{
		{"a list that lacks a job", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Lists = []record.List{{Collection: "c", Issued: at(10), Answered: at(11)}}
			return s
		}, []string{checker.Reads}},
		{"a list that has a job twice", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Lists = []record.List{{Collection: "c", Issued: at(10), Answered: at(11), Names: []string{"j", "j"}}}
			return s
		}, []string{checker.Reads}},
		{"a list that has a deleted job", func() *scenario {
			s := newScenario(minutely()).ran(0, 60)
			s.change(record.Delete, 100, 101, 200)
			s.Reads = nil
			s.Lists = []record.List{{Collection: "c", Issued: at(110), Answered: at(111), Names: []string{"j"}}}
			return s
		}, []string{checker.Reads}},
		{"a list while a job is deleted", func() *scenario {
			s := newScenario(minutely()).ran(0, 60)
			s.change(record.Delete, 100, 101, 200)
			s.Reads = nil
			s.Lists = []record.List{{Collection: "c", Issued: at(100), Answered: at(111), Names: []string{"j"}}}
			return s
		}, nil},
		{"GET shows another state", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
			return s
		}, []string{checker.Reads}},
		{"a history that does not replay", func() *scenario {
			s := newScenario(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Replays = []record.Replay{{WorkflowID: "job/j", Error: "nondeterministic"}}
			return s
		}, []string{checker.Replays}},
	}
}

// created is a job whose create got no answer, since the API was killed. At the end of the
// run GET is answered with a status.
func created(status int) *scenario {
	s := newScenario(minutely()).fault("kill", -29.5, -25, record.API)
	s.Changes[0].Tries[0].Status = 0
	if status == 404 {
		s.Reads[0] = record.Read{Job: job, Issued: at(401), Status: 404, Final: true, ListedCount: -1}
	}
	return s
}
