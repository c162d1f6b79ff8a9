package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"golang.org/x/sync/errgroup"

	"almanac/activities"
)

// The fences of a herd are passed seconds before it is due. A change in that time is answered at once if the worker
// releases the occurrence, and nothing is sent by the old definition afterwards.
func TestAWorkerReleasesWhatHasPassedItsFence(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir()})
	const herd, changed = 900, 30
	for round := range 3 { // a slow machine may answer changes when the herd is due
		target := newSink(t, nil)
		jobs := fmt.Sprint(s.url, "/jobCollections/herd", round)
		require.NoError(t, expect(t, http.StatusCreated, http.MethodPut, jobs, `{"location":"here","properties":{"sku":{"name":"P20Premium"}}}`))
		jobs += "/jobs"
		due := time.Now().Add(time.Duration(40<<round) * time.Second).UTC().Truncate(time.Second)
		var creates, changes errgroup.Group
		creates.SetLimit(16)
		for i := range herd {
			creates.Go(func() error {
				return expect(t, http.StatusCreated, http.MethodPut, fmt.Sprint(jobs, "/j", i), get(fmt.Sprint(target.URL, "/old", i), fmt.Sprintf(`,"startTime":%q`, due.Format(time.RFC3339))))
			})
		}
		require.NoError(t, creates.Wait())
		sleepUntil(t, due.Add(-3*time.Second))
		answered := make([]time.Time, changed)
		changes.SetLimit(8)
		for i := range changed {
			changes.Go(func() error {
				err := expect(t, http.StatusOK, http.MethodPatch, fmt.Sprint(jobs, "/j", i),
					fmt.Sprintf(`{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"%s/new%d"}}}}`, target.URL, i))
				answered[i] = time.Now()
				return err
			})
		}
		require.NoError(t, changes.Wait())
		released := 0
		for i := range changed {
			old, changedTo := fmt.Sprint("/old", i), fmt.Sprint("/new", i)
			cancelled := func() bool { // on a busy machine, it may become known too late that the worker released it
				return strings.Contains(call(t, http.MethodGet, fmt.Sprint(jobs, "/j", i, "/history"), "").body, "the job was changed before it was sent")
			}
			eventually(t, "the request of a changed job", func() bool { return len(target.got(old))+len(target.got(changedTo)) > 0 || cancelled() })
			for _, r := range target.got(old) {
				// the receiver may be late
				require.True(t, r.at.Before(answered[i].Add(500*time.Millisecond)), "sent by the old definition after the change was answered")
			}
			if cancelled() {
				require.Zero(t, len(target.got(old))+len(target.got(changedTo)))
				continue
			}
			require.Equal(t, 1, len(target.got(old))+len(target.got(changedTo)))
			if s.releasedOne(t, jobs, fmt.Sprint("j", i)) {
				released++
				require.Empty(t, target.got(old))
				status(t, fmt.Sprint(jobs, "/j", i), "properties.status.executionCount", 1.0)
			}
		}
		t.Logf("%d of %d were released", released, changed)
		if released > 0 {
			return
		}
	}
	t.Log("the machine was too slow or too quick for a release; activities has tests of it")
}

// releasedOne reports whether a worker released an attempt of a job, by its history.
func (s *stack) releasedOne(t *testing.T, jobs, name string) bool {
	t.Helper()
	asked, released := int64(0), false
	events := s.temporal.GetWorkflowHistory(t.Context(), key(jobs, name).WorkflowID(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == activities.TypeRelease {
			asked = e.GetEventId()
		}
		if a := e.GetActivityTaskCompletedEventAttributes(); a != nil && a.GetScheduledEventId() == asked {
			released = string(a.GetResult().GetPayloads()[0].GetData()) == "true"
		}
	}
	return released
}
