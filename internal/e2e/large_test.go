package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/workflows/jobloop/state"
)

// Temporal ends a workflow that records more than 4 MiB in one step, and each attempt that
// begins in it has a copy of its action.
func TestAllExecutionsOfTheLargestJobCanTryAgainAtOnce(t *testing.T) {
	t.Parallel()
	const occurrences, demanded = 100, 50 // as many as may be under way
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	now := time.Now().UTC().Truncate(time.Second)
	definition := func(n int) string { // < takes six bytes in the history
		return `{"properties":{"action":{"type":"Http","retryPolicy":{"retryType":"fixed","retryInterval":"PT2M"},` +
			`"request":{"method":"POST","uri":"` + target.URL + `/large","body":"` + strings.Repeat("<", n) + `"}},"recurrence":{"frequency":"year"}}}`
	}
	most := 8192
	for job.KindOf(parse(definition(most), now)) == job.KindInvalid {
		most--
	}
	s.started(t, jobs, definition(most), now.Add(-time.Hour), func(in *state.Input) {
		in.Plan.Due, in.Decided = in.Plan.Due[1:], now
		for i := range occurrences + demanded {
			in.Waiting = append(in.Waiting, state.Waiting{Tried: 1, Next: now, Manual: i >= occurrences, Execution: job.Execution{
				ID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i), Due: now.Add(time.Duration(i-1000) * time.Second),
				Repeat: i + 1, ActionName: job.MainAction, Job: "j", Collection: "c",
			}})
		}
	})
	target.await(t, "/large", occurrences+demanded)
	require.Len(t, target.got("/large"), occurrences+demanded)
	ok(t, http.MethodDelete, jobs+"/j", "")
}

func parse(definition string, now time.Time) error {
	_, err := input.ParseDefinition([]byte(definition), input.ParseOptions{Now: now})
	return err
}
