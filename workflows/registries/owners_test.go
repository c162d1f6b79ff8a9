package registries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

func TestAnOwnerIsBoundAtItsFirstUseAndThenMayNameMore(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled)
	bind := func(after int, id string, rebind bool, collections ...string) *reply {
		return h.update(time.Duration(after)*time.Second, workflows.UpdateBindOwner, job.Binding{Owner: job.Owner{ID: id, Collections: collections}, Rebind: rebind})
	}
	first := bind(1, "one", false, "a", "b")
	more := bind(2, "one", false, "A", "b", "c")
	fewer := bind(3, "one", false, "a")
	other := bind(4, "two", false, "a")
	anew := bind(5, "one", true, "a")
	next := h.handOver(time.Minute)
	require.NoError(t, first.err)
	require.NoError(t, more.err, "names compare without case")
	require.ErrorContains(t, fewer.err, "is on record for the job collections A, b, c, and the request names only a")
	require.NoError(t, other.err)
	require.NoError(t, anew.err)
	require.Equal(t, []job.Owner{{ID: "one", Collections: []string{"a"}}, {ID: "two", Collections: []string{"a"}}}, next.Owners)
}

func TestTheRecordOfOwnersIsBounded(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled)
	var replies []*reply
	for i := range 21 {
		replies = append(replies, h.update(time.Duration(i+1)*time.Second, workflows.UpdateBindOwner,
			job.Binding{Owner: job.Owner{ID: string(rune('a' + i)), Collections: []string{"c"}}}))
	}
	long := make([]string, 2000)
	for i := range long {
		long[i] = "collection"
	}
	large := h.update(30*time.Second, workflows.UpdateBindOwner, job.Binding{Owner: job.Owner{ID: "a", Collections: long}})
	h.handOver(time.Minute)
	for i, r := range replies {
		if i < 20 {
			require.NoError(t, r.err)
			continue
		}
		require.ErrorContains(t, r.err, "20 owners on record, which is the maximum")
	}
	require.ErrorContains(t, large.err, "more than 10000 bytes")
}
