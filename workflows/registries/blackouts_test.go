package registries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

func TestJobsGetTheBlackoutsOfTheirCollectionWhenTheseChange(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled, "a")
	night := job.Blackout{Name: "night", OnMatch: "skip", From: "22:00", Until: "06:00", TimeZone: "UTC"}
	put := func(after time.Duration, keep bool, all ...job.Blackout) *reply {
		p := job.CollectionProperties{SKU: job.SKU{Name: "Standard"}, State: job.CollectionEnabled, Blackouts: all}
		return h.update(after, workflows.UpdatePut, workflows.PutRequest{Collection: job.Collection{Properties: p}, KeepBlackouts: keep})
	}
	replies := []*reply{
		put(time.Minute, false, night), put(2*time.Minute, false, night), put(3*time.Minute, true), put(4*time.Minute, false),
	}
	h.register(5*time.Minute, "b", 10)
	next := h.handOver(6 * time.Minute)
	for _, r := range replies {
		require.NoError(t, r.err)
	}
	require.Equal(t, []string{"00:01:00 a collection true", "00:04:00 a collection true"}, h.received())
	require.Equal(t, 2, next.State)
	require.Empty(t, next.Properties.Blackouts)
}
