package overview

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/listing"
)

func TestAnIndexWithoutRoomForgetsAllButWhatWasChangedLately(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s := listing.Scope{Subscription: "s"}
	var x index
	add := func(id string, changed time.Time) {
		x.change(id, now, func(e *entry) { *e = entry{outline: &outline{}, changed: changed} })
	}
	add("job/before", now.Add(-2*changedFor))
	add("job/lately", now.Add(-changedFor/2))
	for i := range maxKnown - 2 {
		add(fmt.Sprint("job/", i), time.Time{})
	}
	x.lists[s] = asOf{now, now}
	emptied := x.emptied
	add("job/0", time.Time{})
	require.Equal(t, emptied, x.emptied, "a job that is known needs no room")

	add("job/new", time.Time{})
	require.Equal(t, emptied+1, x.emptied)
	require.Len(t, x.jobs, 2)
	require.Contains(t, x.jobs, "job/new")
	require.Nil(t, x.jobs["job/lately"].outline)
	require.Equal(t, now.Add(-changedFor/2), x.jobs["job/lately"].changed)
	require.Empty(t, x.lists, "the next list reads all")
}
