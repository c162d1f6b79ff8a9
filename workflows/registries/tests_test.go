package registries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
)

func TestACollectionCountsTheTestsOfItsJobsAndRefusesThoseThatAreTooMany(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled)
	var replies []*reply
	for i := range notification.MaxTests + 2 {
		replies = append(replies, h.update(time.Duration(i+1)*time.Second, workflows.UpdateAdmitTest, 2))
	}
	late := h.update(10*time.Minute+time.Second, workflows.UpdateAdmitTest, 2)
	next := h.handOver(11 * time.Minute)
	for i, r := range replies {
		if i < notification.MaxTests {
			require.NoError(t, r.err)
			continue
		}
		refused, ok := errors.AsType[*temporal.ApplicationError](r.err)
		require.True(t, ok, "%v", r.err)
		require.Equal(t, workflows.ErrTypeTooMany, refused.Type())
		require.ErrorContains(t, r.err, "at most 10 tests")
		var wait time.Duration
		require.NoError(t, refused.Details(&wait))
		require.Equal(t, 10*time.Minute-time.Duration(i)*time.Second, wait)
	}
	require.NoError(t, late.err, "the first is ten minutes old")
	require.Len(t, next.Tests, notification.MaxTests, "the next run knows them")
}
