package e2e_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
)

// The client's tests use a scheduler in memory. This is its story with jobs that run.
func TestTheGoClientSeesAJobThroughItsLife(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, nil)
	c, err := client.New(s.url, client.Options{})
	require.NoError(t, err)
	c = c.In("client", "story")
	ctx := t.Context()

	of, err := c.PutCollection(ctx, "c", client.Collection{
		Location: "here", Tags: map[string]string{"team": "billing"},
		Properties: client.CollectionProperties{SKU: client.SKU{Name: "Standard"}},
	})
	require.NoError(t, err)
	require.Equal(t, client.CollectionEnabled, of.Properties.State)
	start := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	made, err := c.PutJob(ctx, "c", "Nightly", client.JobProperties{
		StartTime: client.At(start),
		Action: client.Action{Type: "Http", Request: &client.Request{
			URI: target.URL + "/hook", Method: "POST", Body: "hello",
			Authentication: &client.Authentication{Type: "Basic", Username: new("elf"), Password: "hush"},
		}, RetryPolicy: &client.RetryPolicy{RetryType: "none"}},
		Recurrence: &client.Recurrence{Frequency: "day"},
	}, client.IfAbsent())
	require.NoError(t, err)
	require.Equal(t, start, made.Properties.Status.NextExecutionTime)
	require.Empty(t, made.Properties.Action.Request.Authentication.Password)

	run, err := c.RunJob(ctx, "c", "nightly")
	require.NoError(t, err)
	var done client.Execution
	eventually(t, "end of the manual run", func() bool {
		done, err = c.Execution(ctx, "c", "nightly", run)
		require.NoError(t, err)
		return done.Properties.Status == client.Ended
	})
	require.Equal(t, client.OutcomeCompleted, done.Properties.Outcome)
	require.Len(t, done.Properties.History, 1)
	sent := target.await(t, "/hook", 1)[0]
	require.Equal(t, []string{"POST", "hello", "Basic ZWxmOmh1c2g="}, []string{sent.method, sent.body, sent.header.Get("Authorization")})

	changed := made.Properties
	changed.Recurrence.Interval = 2
	_, err = c.PutJob(ctx, "c", "nightly", changed, client.IfMatch(made.ETag))
	require.NoError(t, err, "what was read can be sent back, and keeps its secrets")
	_, err = c.PatchJob(ctx, "c", "nightly", map[string]any{"properties": map[string]any{"recurrence": map[string]any{"interval": 5000}}})
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok)
	require.Equal(t, []any{http.StatusBadRequest, "properties.recurrence.interval"}, []any{e.Status, e.Field()})

	skipped, err := c.SkipOccurrence(ctx, "c", "nightly", start)
	require.NoError(t, err)
	require.Equal(t, start.Add(48*time.Hour), skipped.Properties.Status.NextExecutionTime)
	_, err = c.SkipOccurrence(ctx, "c", "nightly", start)
	require.NoError(t, err, "it is skipped already")
	_, err = c.SkipOccurrence(ctx, "c", "nightly", start.Add(time.Second))
	require.Equal(t, http.StatusConflict, client.StatusOf(err), "nothing is due then")
	unskipped, err := c.UnskipOccurrences(ctx, "c", "nightly", client.Occurrences{Due: start})
	require.NoError(t, err)
	require.Equal(t, start, unskipped.Properties.Status.NextExecutionTime)

	var outcomes []client.Outcome
	for entry, err := range c.History(ctx, "c", "nightly", client.List{}) {
		require.NoError(t, err)
		outcomes = append(outcomes, entry.Properties.Status)
	}
	require.Contains(t, outcomes, client.OutcomeCompleted)
	operations := map[string]int{}
	for change, err := range c.Changes(ctx, "c", "nightly", client.List{}) {
		require.NoError(t, err)
		operations[change.Properties.OperationName]++
	}
	require.Equal(t, map[string]int{
		"Microsoft.Scheduler/jobCollections/jobs/write": 2, "Microsoft.Scheduler/jobCollections/jobs/run/action": 1,
		"Microsoft.Scheduler/jobCollections/jobs/skip/action":   3, // one of which the job refused
		"Microsoft.Scheduler/jobCollections/jobs/unskip/action": 1,
	}, operations)

	disabled, err := c.DisableJob(ctx, "c", "nightly")
	require.NoError(t, err)
	require.Equal(t, client.JobDisabled, disabled.Properties.State)
	rerun, err := c.RerunJob(ctx, "c", "nightly", "once")
	require.NoError(t, err)
	require.Equal(t, client.RerunNotFailed, rerun.Properties.Status)
	o, err := c.DeleteCollection(ctx, "c")
	require.NoError(t, err)
	require.NoError(t, c.Wait(ctx, "c", o))
	_, err = c.Job(ctx, "c", "nightly")
	require.True(t, client.IsNotFound(err))
}
