package registries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
)

func TestACollectionCountsTheActionsThatAreTriedAndRefusesThoseThatAreTooMany(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled)
	const most = 30
	var replies []*reply
	for i := range most + 2 {
		replies = append(replies, h.update(time.Duration(i+1)*time.Second, workflows.UpdateAdmitTry, "j"))
	}
	late := h.update(10*time.Minute+time.Second, workflows.UpdateAdmitTry, "j")
	next := h.handOver(11 * time.Minute)
	for i, r := range replies {
		if i < most {
			require.NoError(t, r.err)
			continue
		}
		refused, ok := errors.AsType[*temporal.ApplicationError](r.err)
		require.True(t, ok, "%v", r.err)
		require.Equal(t, workflows.ErrTypeTooMany, refused.Type())
		require.ErrorContains(t, r.err, "at most 30 actions")
		var wait time.Duration
		require.NoError(t, refused.Details(&wait))
		require.Equal(t, 10*time.Minute-time.Duration(i)*time.Second, wait)
	}
	require.NoError(t, late.err, "the first is ten minutes old")
	require.Len(t, next.Tries, most, "the next run knows them")
}
