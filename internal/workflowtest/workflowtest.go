// Package workflowtest holds what the tests of the workflows share. Tests only.
package workflowtest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"almanac/job"
)

// NewYear is when every job of the tests is created, a Thursday.
var NewYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Key is the key of the job that the tests run.
var Key = job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "Reports"}.Job("Nightly")

// Silent discards logs.
var Silent = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

// Deadlock is the time after which a workflow that does not yield counts as stuck. The default of one
// second is too short for a busy machine.
const Deadlock = time.Minute

// NewEnvironment returns a test environment without logs, whose time is skipped.
func NewEnvironment() *testsuite.TestWorkflowEnvironment { return NewCountedEnvironment(&Counters{}) }

// NewCountedEnvironment returns such an environment whose counters are recorded.
func NewCountedEnvironment(c *Counters) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(Silent)
	suite.SetMetricsHandler(c)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute) // without progress
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: Deadlock})
	return env
}

// Clock formats a time: the time of day on January 1, with the date on other days.
func Clock(t time.Time) string {
	t = t.UTC()
	if t.Truncate(24 * time.Hour).Equal(NewYear) {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// RequireType requires that an error is a refusal of a type.
func RequireType(t *testing.T, err error, errType string) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, errType, app.Type())
	require.True(t, app.NonRetryable())
}
