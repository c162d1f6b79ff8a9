package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

// days returns the body of a calendar with these days off, and no free weekends.
func days(off ...time.Time) string {
	list := ""
	for i, day := range off {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"date":%q,"name":"a holiday"}`, day.Format(time.DateOnly))
	}
	return `{"properties":{"weekendDays":[],"days":[` + list + `]}}`
}

func TestAJobRunsByItsCalendarAndAChangedOneMovesWhatWaits(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	c := s.collection(t)
	const version = "?api-version=2016-03-01"
	now := time.Now().UTC().Truncate(time.Second)
	start := now.Add(60 * time.Second)
	dates := []time.Time{now, start} // around midnight, too
	put := func(off ...time.Time) {
		t.Helper()
		got := call(t, http.MethodPut, c+"/calendars/SE"+version, days(off...))
		require.Less(t, got.code, 300, got.body)
	}
	put(dates...)
	create := func(name, onMatch string) string {
		t.Helper()
		at := c + "/jobs/" + name + version
		got := call(t, http.MethodPut, at, `{"properties":{"startTime":"`+start.Format(time.RFC3339)+`","action":{"type":"Http","request":{"uri":"`+
			target.URL+`/`+name+`","method":"GET"}},"recurrence":{"frequency":"day","calendars":[{"name":"SE","onMatch":"`+onMatch+`"}]}}}`)
		require.Equal(t, http.StatusCreated, got.code, got.body)
		return at
	}
	moved, skipped := create("moved", "nextWorkingDay"), create("skipped", "skip")
	next := func(at string) any { return call(t, http.MethodGet, at, "").get("properties.status.nextExecutionTime") }
	require.Equal(t, start.Add(24*time.Hour).Format(time.RFC3339), next(moved))
	used := call(t, http.MethodDelete, c+"/calendars/SE"+version, "")
	eventually(t, "the calendar is in use", func() bool {
		used = call(t, http.MethodDelete, c+"/calendars/SE"+version, "")
		return used.code == http.StatusConflict
	})
	require.Contains(t, used.body, "/jobs/moved")
	put()
	eventually(t, "the change reached the jobs", func() bool {
		return next(moved) == start.Format(time.RFC3339) && next(skipped) == start.Format(time.RFC3339)
	})
	put(start)
	eventually(t, "and the next one", func() bool { return next(moved) == start.Add(24*time.Hour).Format(time.RFC3339) })
	put()
	eventually(t, "and the last", func() bool { return next(moved) == start.Format(time.RFC3339) })
	target.await(t, "/moved", 1)
	target.await(t, "/skipped", 1)
	require.Equal(t, start.Add(24*time.Hour).Format(time.RFC3339), next(moved))
	put(start.Add(24*time.Hour), start.Add(48*time.Hour))
	eventually(t, "what comes is moved", func() bool { return next(moved) == start.Add(72*time.Hour).Format(time.RFC3339) })
	require.Len(t, target.got("/moved"), 1, "nothing runs for a change")

	ok(t, http.MethodDelete, moved, "")
	k := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: t.Name()}
	replay(t, "job-calendars", s.histories(t, k.Job("moved").WorkflowID()))
}
