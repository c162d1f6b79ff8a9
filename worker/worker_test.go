package worker_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/worker"
	"almanac/workflows"
)

func TestWorkerServesEveryType(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := worker.New(worker.Options{Client: &worker.Client{Client: c}, Log: slog.New(slog.DiscardHandler)})
	// A worker panics if a type is registered twice.
	for _, name := range []string{activities.TypeAction, lookups.TypeRegistrations, lookups.TypeUpdate, lookups.TypePending} {
		require.Panics(t, registerActivity(w, name), name)
	}
	for _, name := range []string{workflows.TypeJob, workflows.TypeCollection, workflows.TypeSubscription} {
		require.Panics(t, registerWorkflow(w, name), name)
	}
	require.NotPanics(t, registerActivity(w, "another"))
	require.NotPanics(t, registerWorkflow(w, "another"))
}

func registerActivity(w sdk.Worker, name string) func() {
	return func() {
		w.RegisterActivityWithOptions(func() error { return nil }, activity.RegisterOptions{Name: name})
	}
}

func registerWorkflow(w sdk.Worker, name string) func() {
	return func() {
		w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: name})
	}
}
