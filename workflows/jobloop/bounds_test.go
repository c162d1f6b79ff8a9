package jobloop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/workflows"
)

// The bounds of docs/bounds.md, in bytes as encoded.
const (
	maxHandedOver = 1_600_000 // of the next run's input; the server's limit is 2 MiB
	// of the activities of one workflow task; the server's limit for all of its commands is 4 MiB.
	maxScheduled  = 2_000_000
	maxDefinition = 24 << 10 // of a definition; input refuses longer ones
)

// worst is what a receiver answers that takes most bytes in JSON.
var worst = strings.Repeat("<", 2500)

// largest returns the largest definition that is accepted. Its error action has placeholders for what failed, and takes
// most of it.
func largest(t *testing.T, recurrence string) job.Definition {
	t.Helper()
	properties := func(body int) string {
		return `"action":{` + get + noRetry + `,"errorAction":{"type":"Http","request":{"uri":"http://127.0.0.1/","method":"POST","template":true,` +
			`"body":"{{.Failure.Message}}` + strings.Repeat("ä", body) + `"},"retryPolicy":{"retryInterval":"PT1H","retryCount":20}}},"recurrence":{` + recurrence + `}`
	}
	d := definition(t, properties(2000))
	headers := &d.Action.ErrorAction.Request.Headers
	for i := 0; size(t, d) < maxDefinition-4100; i++ {
		*headers = append(*headers, fields.Member{Name: fmt.Sprint("X-Header-", i), Value: strings.Repeat("&", 600)})
	}
	return d
}

func TestAJobAtItsMaximumStaysBelowTheLimitsOfTheServer(t *testing.T) {
	t.Parallel()
	const retry = time.Hour
	w := newJobEnv(t, every(minutely+`,"overlapPolicy":"AllowAll","catchUpWindow":"PT3H"`))
	w.next.Definition = largest(t, minutely+`,"overlapPolicy":"AllowAll","catchUpWindow":"PT3H"`)
	w.next.Key.Name = strings.Repeat("\U0001F4C5", 255)
	w.next.Key.Collection.Name = strings.Repeat("\U0001F5D3", 255)
	w.now = newYear.Add(120 * time.Minute)
	w.message = worst
	w.result = func(sentAttempt) error { return temporal.NewApplicationError(worst[:500], activities.ErrTypeFailed) }
	for i := range 2 {
		w.at(121*time.Minute+time.Duration(i)*time.Second, func() {
			for range 25 {
				w.env.UpdateWorkflow(workflows.UpdateRun, "", &answer{w: w})
			}
		})
	}
	for i := range 1000 / 20 {
		w.at(122*time.Minute+time.Duration(i)*time.Second, func() {
			for n := range 20 {
				w.env.UpdateWorkflow(workflows.UpdateEnable, fmt.Sprint(i, n), &answer{w: w})
			}
		})
	}
	w.run(120*time.Minute + 3*retry)
	largestInput, waiting, largestTask := 0, 0, 0
	for _, r := range w.runs {
		largestInput, waiting = max(largestInput, size(t, r.Input)), max(waiting, len(r.Waiting))
	}
	for _, n := range w.scheduled {
		largestTask = max(largestTask, n)
	}
	t.Logf("%d waiting, %d bytes handed over, %d bytes scheduled in a task", waiting, largestInput, largestTask)
	require.Equal(t, 150, waiting)
	require.Less(t, largestInput, maxHandedOver)
	require.Less(t, largestTask, maxScheduled)
	require.Greater(t, largestTask, maxScheduled/2, "this is the maximum")
}
