package api_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestABackfillSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		state      job.State
		collection bool // is disabled
		backfill   job.Backfill
		reason     string
	}{
		{"nothing", job.StateEnabled, false, job.Backfill{State: job.BackfillRunning}, ""},
		{"the job", job.StateDisabled, true, job.Backfill{State: job.BackfillRunning}, "It waits until the job is enabled."},
		{"its collection", job.StateCompleted, true, job.Backfill{State: job.BackfillRunning}, "It waits until the job collection is enabled."},
		{"somebody who resumes it", job.StateDisabled, false, job.Backfill{State: job.BackfillPaused}, ""},
		{"nothing any more", job.StateDisabled, false, job.Backfill{State: job.BackfillEnded, Why: "anna ended it."}, "anna ended it."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
				j := job.Job{Key: k, CollectionDisabled: tt.collection, Backfills: []job.Backfill{tt.backfill}}
				j.Definition.State = tt.state
				return j, nil
			}}
			a := get(f, "/jobCollections/c/jobs/j/backfills")
			require.Equal(t, 200, a.status, a.body)
			if tt.reason == "" {
				require.NotContains(t, a.body, `"reason"`)
				return
			}
			require.Contains(t, a.body, `"reason":"`+tt.reason+`"`)
		})
	}
}
