package laws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/faults/laws"
)

var (
	begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	job   = laws.Job{Collection: "c", Name: "j", Life: 1}
)

// at returns an instant, in seconds after begin.
func at(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }

// minutely is due every minute from begin on.
func minutely() laws.Definition {
	return laws.Definition{Version: 1, Start: begin, Overlap: "bufferOne", Behaviour: "ok"}
}

func retrying(n int) laws.Definition {
	d := minutely()
	d.Retries, d.RetryInterval = n, 15*time.Second
	return d
}

// A story is a log in the making, of one job.
type story struct {
	laws.Log
	definition laws.Definition
}

// tell begins a story in which a job is created at -30 s, and nothing changes any
// more from 310 s on.
func tell(d laws.Definition) *story {
	s := &story{definition: d}
	s.Run = laws.Run{Quiet: at(310), Frozen: at(400), Tolerance: 250 * time.Millisecond}
	s.change(laws.Create, -30, -29, 201).Definition = &d
	s.Reads = []laws.Read{{Job: job, Issued: at(401), Status: 200, State: "enabled", Version: 1, Final: true, HasStatus: true, ListedState: "enabled", ListedCount: -1}}
	return s
}

// change adds a change.
func (s *story) change(kind string, issued, answered float64, status int) *laws.Change {
	c := laws.Change{Job: job, Kind: kind, Tries: []laws.Try{{Issued: at(issued), Answered: at(answered), Status: status}}}
	if strings.HasSuffix(kind, "collection") {
		c.Name, c.Life = "", 0
	}
	s.Changes = append(s.Changes, c)
	return &s.Changes[len(s.Changes)-1]
}

func id(due float64) string { return fmt.Sprintf("id-%g", due) }

// received adds a request that arrives and is answered 10 ms later.
func (s *story) received(due, arrived float64, status int) *laws.Request {
	s.Requests = append(s.Requests, laws.Request{
		Job: job, Version: 1, Action: laws.Main, ID: id(due), Due: at(due), Arrived: at(arrived), Answered: at(arrived + 0.01), Status: status,
	})
	return &s.Requests[len(s.Requests)-1]
}

// noted adds an entry to the history.
func (s *story) noted(due, start float64, status string, retry, repeat int) *laws.Entry {
	r := &s.Reads[len(s.Reads)-1]
	r.Entries = append(r.Entries, laws.Entry{Start: at(start), End: at(start + 0.02), Due: at(due), Status: status, Retry: retry, Repeat: repeat, Action: laws.Main})
	return &r.Entries[len(r.Entries)-1]
}

// ran adds executions that succeeded at once.
func (s *story) ran(dues ...float64) *story {
	for _, due := range dues {
		s.received(due, due+0.002, 200)
		s.counted()
		s.noted(due, due+0.001, "Completed", 0, s.Reads[0].ExecutionCount)
	}
	return s
}

func (s *story) counted() { s.Reads[0].ExecutionCount++ }

func (s *story) fault(kind string, from, to float64, stops ...string) *story {
	s.Faults = append(s.Faults, laws.Fault{Kind: kind, Target: "worker1", Aim: "random", Stops: stops, Start: at(from), Restart: at(to - 1), End: at(to)})
	return s
}

// broken returns the laws that are violated, each once.
func (s *story) broken() []string {
	var found []string
	for _, v := range laws.Check(&s.Log).Violations {
		if !slices.Contains(found, v.Law) {
			found = append(found, v.Law)
		}
	}
	return found
}

var everything = []string{laws.API, laws.Server, laws.Workers, laws.Worker}

// cases are logs, and the laws that they violate.
func cases() map[string]struct {
	story func() *story
	want  []string
} {
	return map[string]struct {
		story func() *story
		want  []string
	}{
		"nothing happens": {func() *story { return tell(minutely()).ran(0, 60, 120, 180, 240, 300) }, nil},

		"an occurrence is lost": {func() *story { return tell(minutely()).ran(0, 60, 180, 240, 300) }, []string{laws.NoLoss}},
		"the history says that it was missed while the one before ran": {func() *story {
			s := tell(minutely()).ran(0, 60, 240, 300)
			s.received(180, 185, 200)
			s.counted()
			s.noted(180, 185, "Completed", 0, 5)
			s.Requests[1].Answered = at(184)
			s.Reads[0].Entries[1].End = at(184)
			s.noted(120, 184, "Missed", 0, 0)
			return s
		}, nil},
		"it was missed without need": {func() *story {
			s := tell(minutely()).ran(0, 60, 180, 240, 300)
			s.noted(120, 121, "Missed", 0, 0)
			return s
		}, []string{laws.NoLoss}},
		"it was skipped although the policy is another": {func() *story {
			s := tell(minutely()).ran(0, 60, 180, 240, 300)
			s.Requests[1].Answered = at(125)
			s.noted(120, 125, "Skipped", 0, 0)
			return s
		}, []string{laws.NoLoss}},
		"it is lost while an action is changed": {func() *story {
			s := tell(minutely()).ran(0, 60)
			next := minutely()
			next.Version = 2
			s.change(laws.ChangeAction, 119, 122, 200).Definition = &next
			s.ran(180, 240, 300)
			for i := range s.Requests[2:] {
				s.Requests[2+i].Version = 2
			}
			s.Reads[0].Version = 2
			return s
		}, []string{laws.NoLoss}},
		"nothing is due while it is disabled": {func() *story {
			s := tell(minutely()).ran(0, 60)
			s.change(laws.Disable, 100, 101, 200)
			s.change(laws.Enable, 200, 201, 200)
			return s.ran(240, 300)
		}, nil},
		"nothing is due any more when count is reached": {func() *story {
			d := minutely()
			d.Count = 2
			s := tell(d).ran(0, 60)
			s.Reads[0].State, s.Reads[0].ListedState = "completed", "completed"
			return s
		}, nil},
		"an attempt that never arrived, without a fault": {func() *story {
			s := tell(minutely()).ran(0, 60, 180, 240, 300)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s.fault("kill", 100, 105, laws.Worker)
		}, []string{laws.NoLoss}},
		"an attempt that never arrived, whose worker was killed": {func() *story {
			s := tell(minutely()).ran(0, 60, 180, 240, 300)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s.fault("kill", 119.9, 125, laws.Worker)
		}, nil},
		"it was due right before the job was deleted": {func() *story {
			s := tell(minutely()).ran(0, 60)
			s.change(laws.Delete, 121, 122, 200)
			s.Reads[0].Final = false
			s.Reads[0].Issued = at(119)
			return s
		}, nil},
		"it was due long before the job was deleted": {func() *story {
			s := tell(minutely()).ran(0, 60)
			s.change(laws.Delete, 150, 151, 200)
			s.Reads[0].Final = false
			s.Reads[0].Issued = at(149)
			return s
		}, []string{laws.NoLoss}},

		"a run on demand is lost": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(laws.RunNow, 130.1, 130.2, 200)
			return s
		}, []string{laws.NoLoss}},
		"a run on demand": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(laws.RunNow, 130.1, 130.2, 200)
			s.received(130, 130.2, 200)
			s.counted()
			s.noted(130.15, 130.2, "Completed", 0, 7)
			return s
		}, nil},

		"one of two runs on demand is lost": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(laws.RunNow, 130.1, 130.2, 200)
			s.change(laws.RunNow, 130.1, 130.3, 200)
			s.received(130, 130.2, 200)
			s.counted()
			s.noted(130.15, 130.2, "Completed", 0, 7)
			return s
		}, []string{laws.NoLoss}},
		"two runs on demand": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(laws.RunNow, 130.1, 131.2, 200)
			s.change(laws.RunNow, 130.1, 130.3, 200)
			s.received(130, 130.2, 200)
			s.received(131, 131.1, 200)
			s.counted()
			s.counted()
			s.noted(130.15, 130.2, "Completed", 0, 7)
			s.noted(131.05, 131.1, "Completed", 0, 8)
			return s
		}, nil},

		"a create without an answer, of a job that exists": {func() *story {
			return created(200).ran(120, 180, 240, 300)
		}, nil},
		"a create without an answer, of a job that loses an occurrence": {func() *story {
			return created(200).ran(0, 60, 120, 240, 300)
		}, []string{laws.NoLoss}},
		"a create without an answer, of a job that the list lacks": {func() *story {
			s := created(200).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].ListedState = ""
			return s
		}, []string{laws.Reads}},
		"a create without an answer, of a job that does not exist": {func() *story {
			s := created(404)
			s.Lists = []laws.List{ // the collection may have the name for a while
				{Collection: "c", Issued: at(-20), Answered: at(-19), Names: []string{"j"}},
				{Collection: "c", Issued: at(200), Answered: at(201)},
			}
			return s
		}, nil},
		"a create without an answer, of a name that the list keeps": {func() *story {
			s := created(404)
			s.Lists = []laws.List{{Collection: "c", Issued: at(200), Answered: at(201), Names: []string{"j"}}}
			return s
		}, []string{laws.Reads}},
		"a create without an answer, of a name that the last list has": {func() *story {
			s := created(404)
			s.Reads[0].ListedState = "enabled"
			return s
		}, []string{laws.Reads}},
		"a create without an answer, of a job that runs and does not exist": {func() *story {
			s := created(404)
			s.received(60, 60.002, 200)
			return s
		}, []string{laws.Reads}},

		"an occurrence has two ids": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.received(120, 121, 200).ID = "other"
			return s
		}, []string{laws.OneID}},
		"a run on demand in the second of an occurrence": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.change(laws.RunNow, 120.1, 120.2, 200)
			s.received(120, 120.3, 200).ID = "other"
			s.counted()
			s.noted(120.15, 120.3, "Completed", 0, 7)
			return s
		}, nil},
		"a job that runs once and is created too late runs at once": {func() *story {
			d := minutely()
			d.Once, d.Start = true, at(-60)
			s := tell(d)
			s.received(-30, -29.5, 200)
			s.counted()
			s.noted(-30, -29.5, "Completed", 0, 1)
			s.Reads[0].State, s.Reads[0].ListedState = "completed", "completed"
			return s
		}, nil},
		"two due times share an id": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Requests[3].ID = s.Requests[2].ID
			return s
		}, []string{laws.OneID, laws.Duplicates, laws.Counts}},

		"without retries, twice even though a worker was killed": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 120.001, 124, laws.Worker)
			s.received(120, 124, 200)
			return s
		}, []string{laws.Duplicates, laws.Counts}},
		"twice, since the worker was killed before it recorded": {func() *story {
			s := tell(retrying(2)).ran(0, 60, 180, 240, 300).fault("kill", 120.015, 124, laws.Worker)
			s.received(120, 120.002, 200)
			s.received(120, 140, 200)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.noted(120, 140, "Completed", 1, 6)
			return s
		}, nil},
		"twice without a reason": {func() *story {
			s := tell(retrying(2)).ran(0, 60, 180, 240, 300)
			s.received(120, 120.002, 200)
			s.received(120, 140, 200)
			s.counted()
			s.noted(120, 120, "Completed", 0, 6)
			s.noted(120, 140, "Completed", 1, 6)
			return s
		}, []string{laws.Duplicates}},

		"a lost attempt is repeated too soon": {func() *story {
			s := tell(retrying(2)).ran(0, 60, 180, 240, 300).fault("kill", 120.015, 124, laws.Worker)
			s.received(120, 120.002, 200)
			s.received(120, 124, 200)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.noted(120, 124, "Completed", 1, 6)
			return s
		}, []string{laws.Retry}},

		"too early": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Requests[3].Arrived = at(179.999)
			return s
		}, []string{laws.Early}},

		"a retry after its interval": {func() *story {
			s := tell(retrying(1)).ran(0, 60, 180, 240, 300)
			s.received(120, 120.002, 500)
			s.received(120, 135.02, 200)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.noted(120, 135, "Completed", 1, 6)
			return s
		}, nil},
		"a retry before its interval": {func() *story {
			s := tell(retrying(1)).ran(0, 60, 180, 240, 300)
			s.received(120, 120.002, 500)
			s.received(120, 130, 200)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.noted(120, 130, "Completed", 1, 6)
			return s
		}, []string{laws.Retry}},
		"one retry too many": {func() *story {
			s := tell(retrying(1)).ran(0, 60, 180, 240, 300)
			for i, arrived := range []float64{120.002, 136, 152} {
				s.received(120, arrived, 500)
				s.noted(120, arrived, "Failed", i, 6)
			}
			s.counted()
			s.Reads[0].FailureCount = 1
			return s
		}, []string{laws.Retry, laws.Counts}},
		"an error action after the last failure":              {func() *story { return failing(true, 500) }, nil},
		"an error action after an attempt that never arrived": {func() *story { return unsent(0) }, []string{laws.Retry}},
		"an error action after an attempt whose worker was lost before it was sent": {func() *story {
			return unsent(1).fault("pause", 119.9, 150, laws.Worker)
		}, nil},
		"an error action that is missing": {func() *story { return failing(false, 500) }, []string{laws.Retry}},
		"an error action after a success": {func() *story { return failing(true, 200) }, []string{laws.Retry, laws.Counts}},

		"the history has more attempts than are allowed": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 119.9, 125, laws.Worker)
			s.noted(120, 124, "Failed", 1, 3)
			s.Reads[0].FailureCount = 1
			return s
		}, []string{laws.Counts}},
		"the history says that an answered request failed": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].Entries[2].Status = "Failed"
			s.Reads[0].FailureCount = 1
			return s
		}, []string{laws.Counts}},
		"a fault lost the outcome": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 120.011, 125, laws.Worker)
			s.Reads[0].Entries[2].Status = "Failed"
			s.Reads[0].FailureCount = 1
			return s
		}, nil},
		"executionCount is wrong": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.counted()
			return s
		}, []string{laws.Counts}},
		"failureCount is wrong": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].FailureCount = 1
			return s
		}, []string{laws.Counts}},
		"more than count": {func() *story {
			d := minutely()
			d.Count = 2
			s := tell(d).ran(0, 60, 120)
			s.Reads[0].State, s.Reads[0].ListedState = "completed", "completed"
			return s
		}, []string{laws.Counts}},
		"a request that is not in the history": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].Entries = slices.Delete(s.Reads[0].Entries, 2, 3)
			s.Reads[0].ExecutionCount--
			return s
		}, []string{laws.Counts}},

		"a request right after the answer to disable": {func() *story { return disabled(60.5) }, nil},
		"a request long after it":                     {func() *story { return disabled(61) }, []string{laws.Disabled}},
		"a request of a collection that is disabled": {func() *story {
			s := tell(minutely()).ran(0, 60, 120)
			s.change(laws.DisableCollection, 59, 60.4, 200).Collection = "c"
			s.Requests = s.Requests[:2]
			s.Requests[1].Arrived, s.Requests[1].Answered = at(61), at(61.1)
			s.Reads[0].Entries, s.Reads[0].ExecutionCount = s.Reads[0].Entries[:2], 2
			return s
		}, []string{laws.Disabled}},
		"a run on demand of a disabled job": {func() *story {
			s := tell(minutely()).ran(0, 60)
			s.change(laws.Disable, 100, 101, 200)
			s.change(laws.RunNow, 130, 130.1, 200)
			s.received(130, 130.2, 200)
			s.counted()
			s.noted(130.05, 130.2, "Completed", 0, 3)
			s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
			return s
		}, nil},

		"the old version after an update": {func() *story { return updated(1) }, []string{laws.Updated}},
		"the new version after an update": {func() *story { return updated(2) }, nil},
		"the old schedule after a change": {func() *story { return rescheduled(120) }, []string{laws.Updated}},
		"the new schedule after a change": {func() *story { return rescheduled() }, nil},
		"GET shows another version": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].Version = 2
			return s
		}, []string{laws.Updated}},

		"a request of a deleted job": {func() *story {
			s := tell(minutely()).ran(0, 60, 120)
			s.change(laws.Delete, 118, 119, 200)
			s.Reads[0].Final, s.Reads[0].Issued, s.Reads[0].Entries = false, at(117), s.Reads[0].Entries[:2]
			s.Reads[0].ExecutionCount = 2
			return s
		}, []string{laws.Deleted}},

		"a list that lacks a job": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Lists = []laws.List{{Collection: "c", Issued: at(10), Answered: at(11)}}
			return s
		}, []string{laws.Reads}},
		"a list that has a job twice": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Lists = []laws.List{{Collection: "c", Issued: at(10), Answered: at(11), Names: []string{"j", "j"}}}
			return s
		}, []string{laws.Reads}},
		"a list that has a deleted job": {func() *story {
			s := tell(minutely()).ran(0, 60)
			s.change(laws.Delete, 100, 101, 200)
			s.Reads = nil
			s.Lists = []laws.List{{Collection: "c", Issued: at(110), Answered: at(111), Names: []string{"j"}}}
			return s
		}, []string{laws.Reads}},
		"a list while a job is deleted": {func() *story {
			s := tell(minutely()).ran(0, 60)
			s.change(laws.Delete, 100, 101, 200)
			s.Reads = nil
			s.Lists = []laws.List{{Collection: "c", Issued: at(100), Answered: at(111), Names: []string{"j"}}}
			return s
		}, nil},
		"GET shows another state": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
			return s
		}, []string{laws.Reads}},

		"a history that does not replay": {func() *story {
			s := tell(minutely()).ran(0, 60, 120, 180, 240, 300)
			s.Replays = []laws.Replay{{WorkflowID: "job/j", Error: "nondeterministic"}}
			return s
		}, []string{laws.Replays}},

		"the latest of a downtime runs":          {func() *story { return down(minutely(), []float64{600}, 480, 540) }, nil},
		"an older one of a downtime runs":        {func() *story { return down(minutely(), []float64{540, 600}, 480) }, []string{laws.CatchUps}},
		"the latest one of a downtime is missed": {func() *story { return down(minutely(), nil, 480, 540, 600) }, []string{laws.CatchUps}},
		"the latest one of a downtime is decided when the next one is due": {func() *story {
			s := down(minutely(), nil, 480, 540)
			s.noted(600, 661, "Missed", 0, 0)
			return s
		}, nil},
		"all in the catch-up window run":           {func() *story { return down(caughtUp(), []float64{480, 540, 600}) }, nil},
		"one in the catch-up window is missed":     {func() *story { return down(caughtUp(), []float64{540, 600}, 480) }, []string{laws.CatchUps}},
		"those in the window run in a wrong order": {func() *story { return down(caughtUp(), []float64{540, 480, 600}) }, []string{laws.CatchUps}},

		"a request is cut off by nothing": {func() *story {
			s := tell(minutely()).ran(0, 60, 180, 240, 300)
			r := s.received(120, 120.002, 0)
			r.Answered, r.Cut = time.Time{}, at(125)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s
		}, []string{laws.CutOff}},
		"a request is cut off by a kill": {func() *story {
			s := tell(minutely()).ran(0, 60, 180, 240, 300).fault("kill", 124.9, 130, laws.Worker)
			r := s.received(120, 120.002, 0)
			r.Answered, r.Cut = time.Time{}, at(125)
			s.counted()
			s.noted(120, 120, "Failed", 0, 6)
			s.Reads[0].FailureCount = 1
			return s
		}, nil},

		"a change without an answer":           {func() *story { return unanswered(laws.Worker) }, []string{laws.Unanswered}},
		"a change without an answer in outage": {func() *story { return unanswered(laws.Server) }, nil},
		"what has no answer may be applied or not": {func() *story {
			s := tell(minutely()).ran(0, 60).fault("kill", 99, 110, laws.Server)
			c := s.change(laws.Disable, 100, 105, 503)
			c.Tries = append(c.Tries, laws.Try{Issued: at(200), Answered: at(201), Status: 200})
			s.received(120, 120.002, 200) // and not at 180
			s.counted()
			s.noted(120, 120, "Completed", 0, 3)
			s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
			return s
		}, nil},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tt.story()
			require.Equal(t, tt.want, s.broken(), "%+v", laws.Check(&s.Log).Violations)
		})
	}
}

// A law that no case violates may be one that cannot be violated.
func TestEveryLawCanBeViolated(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, tt := range cases() {
		for _, law := range tt.want {
			found[law] = true
		}
	}
	for _, law := range laws.All {
		require.True(t, found[law], law)
	}
}

// created is a job whose create has no answer, since the API was killed. In the
// end GET is answered with a status.
func created(status int) *story {
	s := tell(minutely()).fault("kill", -29.5, -25, laws.API)
	s.Changes[0].Tries[0].Status = 0
	if status == 404 {
		s.Reads[0] = laws.Read{Job: job, Issued: at(401), Status: 404, Final: true, ListedCount: -1}
	}
	return s
}

// failing is a job that fails once, at 120 s, and may have its error action sent.
func failing(alarm bool, status int) *story {
	d := minutely()
	d.ErrorAction = true
	s := tell(d).ran(0, 60, 180, 240, 300)
	s.received(120, 120.002, status)
	s.counted()
	s.noted(120, 120, "Failed", 0, 6)
	s.Reads[0].FailureCount = 1
	if alarm {
		s.received(120, 120.1, 200).Action = laws.Error
		s.noted(120, 120.1, "Completed", 0, 6).Action = laws.Error
	}
	return s
}

// unsent is a job with a retry whose first attempt, due at 120 s, never arrives. Its
// history tells of that attempt, or not.
func unsent(told int) *story {
	d := retrying(1)
	d.ErrorAction = true
	s := tell(d).ran(0, 60, 180, 240, 300)
	s.received(120, 160, 500)
	s.received(120, 160.1, 200).Action = laws.Error
	s.counted()
	for i := range told + 1 {
		s.noted(120, 160-20*float64(told-i), "Failed", i, 6)
	}
	s.noted(120, 160.1, "Completed", 0, 6).Action = laws.Error
	s.Reads[0].FailureCount = 1
	return s
}

// disabled is a job that is disabled at 60.4 s, and whose last request arrives
// some time after that.
func disabled(arrived float64) *story {
	s := tell(minutely()).ran(0)
	s.change(laws.Disable, 59, 60.4, 200)
	s.received(60, arrived, 200)
	s.counted()
	s.noted(60, arrived, "Completed", 0, 2)
	s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
	return s
}

// updated is a job whose action is changed at 101 s, and sent by a version then.
func updated(version int) *story {
	next := minutely()
	next.Version = 2
	s := tell(minutely()).ran(0, 60)
	s.change(laws.ChangeAction, 100, 101, 200).Definition = &next
	s.ran(120, 180, 240, 300)
	for i := range s.Requests[2:] {
		s.Requests[2+i].Version = 2
	}
	s.Requests[2].Version = version
	s.Reads[0].Version = 2
	return s
}

// rescheduled is a job that moves to second 30 at 101 s, and is sent at some old
// due times all the same.
func rescheduled(old ...float64) *story {
	next := minutely()
	next.Start = at(30)
	s := tell(minutely()).ran(0, 60)
	s.change(laws.ChangeRecurrence, 100, 101, 200).Definition = &next
	return s.ran(150, 210, 270).ran(old...)
}

func caughtUp() laws.Definition {
	d := minutely()
	d.CatchUp = true
	return d
}

// down is a job that cannot run from 450 s to 620 s. Then some of what
// came due meanwhile is sent, and some is missed.
func down(d laws.Definition, sent []float64, missed ...float64) *story {
	s := tell(d).ran(0, 60, 120, 180, 240, 300, 360, 420)
	s.Run.Quiet = at(900)
	s.fault("kill", 450, 621, everything...)
	for i, due := range sent {
		s.received(due, 622+float64(i), 200)
		s.counted()
		s.noted(due, 622+float64(i), "Completed", 0, 9+i)
	}
	for _, due := range missed {
		s.noted(due, 622, "Missed", 0, 0)
	}
	return s.ran(660, 720, 780, 840)
}

// unanswered is a job with a change that is answered 503 while something is down.
func unanswered(what string) *story {
	s := tell(minutely()).ran(0, 60).fault("kill", 95, 100, what)
	c := s.change(laws.Disable, 99, 109, 503)
	c.Tries = append(c.Tries, laws.Try{Issued: at(110), Answered: at(110.1), Status: 200})
	s.Reads[0].State, s.Reads[0].ListedState = "disabled", "disabled"
	return s
}

func TestFigures(t *testing.T) {
	t.Parallel()
	s := tell(minutely()).ran(0, 60, 120, 180, 240, 300).fault("kill", 170, 180, laws.Worker)
	f := laws.Check(&s.Log).Figures
	require.Equal(t, 6, f.Executions)
	require.Len(t, f.Lateness, 3)
	require.Equal(t, "calm", f.Lateness[0].Name)
	require.Equal(t, 4, f.Lateness[0].N)
	require.Equal(t, 2*time.Millisecond, f.Lateness[0].P99)
	require.Equal(t, "kill of worker: due after it", f.Lateness[1].Name)
	require.Equal(t, "kill of worker: due during it", f.Lateness[2].Name)
	require.Equal(t, []string{"all create", "in calm: not due"}, []string{f.Answers[0].Name, f.Answers[1].Name})
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	s := tell(minutely()).ran(0, 60, 120).fault("kill", 119, 130, laws.Worker)
	lines := strings.Join(laws.Timeline(&s.Log, job, at(120)), "\n")
	for _, want := range []string{
		"12:01:59.000  fault: kill of worker1", "12:02:00.000  due: id-120", "12:02:00.002  received: main of id-120",
		"12:02:00.012  answered 200", "12:02:00.001  history: main due 12:02:00.000 attempt 1 of execution 3 Completed",
	} {
		require.Contains(t, lines, want)
	}
	require.NotContains(t, lines, "id-0")
}
