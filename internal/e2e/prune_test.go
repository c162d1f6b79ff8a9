package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
)

func TestAJobOfFilesIsPrunedByItsOwnerAndTakenBack(t *testing.T) {
	t.Parallel()
	s := use(t)
	target := newSink(t, nil)
	c, err := client.New(s.url, client.Options{})
	require.NoError(t, err)
	c = c.In("prune", "story")
	ctx := t.Context()
	const mine, another = "5f0a9d1e-6f2b-4c1e-9d3a-2b7c8e4f1a60", "00000000-6f2b-4c1e-9d3a-2b7c8e4f1a60"
	_, err = c.PutCollection(ctx, "c", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "Standard"}}})
	require.NoError(t, err)
	start := client.At(time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second))
	body, err := json.Marshal(client.Job{Properties: client.JobProperties{
		StartTime: start, Recurrence: &client.Recurrence{Frequency: "day"},
		Action: client.Action{Type: "Http", Request: &client.Request{URI: target.URL + "/hook", Method: "GET"}},
	}})
	require.NoError(t, err)

	made, err := c.PutOwnedJob(ctx, "c", "files", mine, false, body)
	require.NoError(t, err)
	require.Equal(t, mine, made.Properties.Status.Owner)
	_, err = c.PutJobBody(ctx, "c", "api", json.RawMessage(body))
	require.NoError(t, err)
	applied, err := c.PutOwnedJob(ctx, "c", "api", mine, false, body)
	require.NoError(t, err)
	require.Empty(t, applied.Properties.Status.Owner, "it was made by other means")
	put, err := c.PutOwnedJob(ctx, "c", "files", another, true, body)
	require.NoError(t, err)
	require.Equal(t, []any{mine, made.ETag}, []any{put.Properties.Status.Owner, put.ETag}, "it keeps its owner")

	conflict := func(name, owner string) {
		t.Helper()
		_, err := c.PruneJob(ctx, "c", name, owner)
		require.Equal(t, http.StatusConflict, client.StatusOf(err), "%v", err)
	}
	conflict("files", mine) // it is not on record
	for _, owner := range []string{mine, another} {
		_, err = c.BindOwner(ctx, "c", client.Owner{ID: owner, Collections: []string{"c"}}, false)
		require.NoError(t, err)
	}
	conflict("files", another)
	conflict("api", mine)

	pruned, err := c.PruneJob(ctx, "c", "files", mine, client.IfMatch(made.ETag))
	require.NoError(t, err)
	require.Equal(t, []any{client.JobDisabled, client.JobEnabled}, []any{pruned.Properties.State, pruned.Properties.Status.FormerState})
	require.WithinDuration(t, time.Now().Add(7*24*time.Hour), pruned.Properties.Status.PruneAt, time.Hour)
	eventually(t, "the digest of the pruned job", func() bool {
		for d, err := range c.Digests(ctx, "c") {
			require.NoError(t, err)
			if d.Name == "c/files" && !d.PruneAt.IsZero() {
				return d.Owner == mine && !d.Once && d.FormerState == client.JobEnabled
			}
		}
		return false
	})
	_, err = c.RestoreJob(ctx, "c", "files", client.IfMatch(made.ETag))
	require.Equal(t, http.StatusPreconditionFailed, client.StatusOf(err))
	back, err := c.RestoreJob(ctx, "c", "files")
	require.NoError(t, err)
	require.Equal(t, client.JobEnabled, back.Properties.State)
	require.True(t, back.Properties.Status.PruneAt.IsZero())
	require.NotEqual(t, pruned.ETag, back.ETag)

	_, err = c.PruneJob(ctx, "c", "files", mine)
	require.NoError(t, err)
	patched, err := c.PatchJob(ctx, "c", "files", map[string]any{"properties": map[string]any{"disableAfter": 3}})
	require.NoError(t, err)
	require.Equal(t, []any{client.JobEnabled, mine}, []any{patched.Properties.State, patched.Properties.Status.Owner})
	operations := map[string]int{}
	for change, err := range c.Changes(ctx, "c", "files", client.List{}) {
		require.NoError(t, err)
		operations[change.Properties.OperationName]++
	}
	require.Equal(t, 2, operations["Microsoft.Scheduler/jobCollections/jobs/prune/action"])
	require.Equal(t, 1, operations["Microsoft.Scheduler/jobCollections/jobs/restore/action"])
}
