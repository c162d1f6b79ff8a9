package checker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

var (
	begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	job   = record.Job{Collection: "c", Name: "j", Incarnation: 1}
)

// at returns a time, in seconds after begin.
func at(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }

// minutely is due every minute from begin on.
func minutely() record.Definition {
	return record.Definition{Version: 1, Start: begin, Overlap: "bufferOne", Behaviour: "ok"}
}

func retrying(n int) record.Definition {
	d := minutely()
	d.Retries, d.RetryInterval = n, 15*time.Second
	return d
}

// A scenario is the log of one job, made up step by step.
type scenario struct{ record.Log }

// newScenario returns a log in which a job is created at -30 s. The faults and changes
// end at 310 s.
func newScenario(d record.Definition) *scenario {
	s := &scenario{}
	s.Run = record.Run{Quiet: at(310), Frozen: at(400), Tolerance: 250 * time.Millisecond}
	s.change(record.Create, -30, -29, 201).Definition = &d
	s.Reads = []record.Read{{Job: job, Issued: at(401), Status: 200, State: "enabled", Version: 1, Final: true,
		HasStatus: true, ListedState: "enabled", ListedCount: -1}}
	return s
}

// change adds a change, which is applied when it is answered with success.
func (s *scenario) change(kind string, issued, answered float64, status int) *record.Change {
	c := record.Change{Job: job, Kind: kind,
		Tries: []record.Try{{Issued: at(issued), Answered: at(answered), Status: status}}}
	if strings.HasSuffix(kind, "collection") {
		c.Name, c.Incarnation = "", 0
	}
	s.Changes = append(s.Changes, c)
	return &s.Changes[len(s.Changes)-1]
}

func id(due float64) string { return fmt.Sprintf("id-%g", due) }

// received adds a request that arrives and is answered 10 ms later.
func (s *scenario) received(due, arrived float64, status int) *record.Request {
	s.Requests = append(s.Requests, record.Request{
		Job: job, Version: 1, Action: record.MainAction, ID: id(due), Due: at(due), Arrived: at(arrived),
		Answered: at(arrived + 0.01), Status: status,
	})
	return &s.Requests[len(s.Requests)-1]
}

// entry adds an entry to the history.
func (s *scenario) entry(due, start float64, status string, retry, repeat int) *record.Entry {
	r := &s.Reads[len(s.Reads)-1]
	r.Entries = append(r.Entries, record.Entry{Start: at(start), End: at(start + 0.02), Due: at(due), Status: status,
		Retry: retry, Repeat: repeat, Action: record.MainAction})
	return &r.Entries[len(r.Entries)-1]
}

// ran adds executions that succeeded at once.
func (s *scenario) ran(dues ...float64) *scenario {
	for _, due := range dues {
		s.received(due, due+0.002, 200)
		s.counted()
		s.entry(due, due+0.001, "Completed", 0, s.Reads[0].ExecutionCount)
	}
	return s
}

// counted increments executionCount.
func (s *scenario) counted() { s.Reads[0].ExecutionCount++ }

// fault adds a fault of worker1.
func (s *scenario) fault(kind string, from, to float64, stops ...string) *scenario {
	s.Faults = append(s.Faults, record.Fault{Kind: kind, Target: "worker1", Aim: "random", Stops: stops,
		Start: at(from), Restart: at(to - 1), End: at(to)})
	return s
}

// violated returns the laws that are violated, each once.
func (s *scenario) violated() []string {
	var found []string
	for _, v := range checker.Check(&s.Log).Violations {
		if !slices.Contains(found, v.Law) {
			found = append(found, v.Law)
		}
	}
	return found
}

var everything = []string{record.API, record.Server, record.AllWorkers, record.Worker}

// A testCase is a scenario and the laws that it violates.
type testCase struct {
	name     string
	scenario func() *scenario
	violated []string
}

func allCases() []testCase {
	return slices.Concat(
		lossCases(), neverArrivedCases(), manualRunCases(), createCases(), idCases(), repeatCases(), retryCases(),
		errorActionCases(), countCases(), changeCases(), listCases(), lateCases(), catchUpCases(), cutCases(),
		answerCases(), entryCases(), pauseCases(), skipCases(), backfillCases(), windowCases(), calendarCases(),
		moveCases(), calendarChangeCases(), lostOutcomeCases(), behindCases(), droppedLateCases(), behindCatchUpCases(),
		behindPromiseCases(), overlapCases(), quotaCases(), countedCases(),
	)
}

func TestTheCheckerFindsWhatIsViolated(t *testing.T) {
	t.Parallel()
	for _, tt := range allCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.scenario()
			require.Equal(t, tt.violated, s.violated(), "%+v", checker.Check(&s.Log).Violations)
		})
	}
}

// A law that no case violates may be one that cannot be violated.
func TestEveryLawCanBeViolated(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, tt := range allCases() {
		for _, law := range tt.violated {
			found[law] = true
		}
	}
	for _, law := range checker.Laws {
		require.True(t, found[law], law)
	}
}
