package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"almanac/activities"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/template"
)

// once sends an action once, as the activity of a trial does.
func once(t *testing.T, r *activities.Runner, a *job.Action, limit time.Duration) (job.Attempt, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(workflowtest.Silent)
	env := suite.NewTestActivityEnvironment()
	var attempt job.Attempt
	var failed error
	do := func(ctx context.Context) error {
		attempt, failed = r.SendOnce(ctx, execution, template.Facts{}, a, limit)
		return nil
	}
	env.RegisterActivity(do)
	_, err := env.ExecuteActivity(do)
	require.NoError(t, err)
	return attempt, failed
}

func TestAnActionThatIsSentOnceHasItsTimeLimitAndCountsAtItsHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(time.Minute)
		r.PerHost = 1
		a := get("http://silent.example/")
		start := time.Now()
		attempt, err := once(t, r.Runner, a, 30*time.Second)
		require.NoError(t, err)
		require.Equal(t, job.OutcomeFailed, attempt.Outcome)
		require.Equal(t, "timed out: not complete after 30 s", attempt.Message)
		require.Equal(t, 30*time.Second, time.Since(start))
		require.Equal(t, 30*time.Second, attempt.End.Sub(attempt.Start))

		free := r.OccupyHost(a)
		_, err = once(t, r.Runner, a, 30*time.Second)
		require.ErrorIs(t, err, activities.ErrHostFull)
		require.Len(t, r.sent, 1, "nothing was sent")
		time.AfterFunc(500*time.Millisecond, free)
		_, err = once(t, r.Runner, a, 30*time.Second)
		require.NoError(t, err, "it waits a second for a place")
		require.Len(t, r.sent, 2)
	})
}
