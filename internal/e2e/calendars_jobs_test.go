package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// byCalendar returns the body of a job of days that begins at a time and runs by a calendar.
func byCalendar(start time.Time, name, onMatch string) string {
	return fmt.Sprintf(`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"uri":"http://127.0.0.1:9/","method":"GET"}},
		"recurrence":{"frequency":"day","calendars":[{"name":%q,"onMatch":%q}]}}}`, start.Format(time.RFC3339), name, onMatch)
}

func dayOff(day time.Time) string {
	return fmt.Sprintf(`{"properties":{"weekendDays":[],"days":[{"date":%q,"name":"the day"}]}}`, day.Format(time.DateOnly))
}

func TestAJobRunsByACalendar(t *testing.T) {
	t.Parallel()
	s := use(t)
	c := s.collection(t)
	start := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	next := start.AddDate(0, 0, 1)
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, c+"/calendars/Sweden", dayOff(start)).code)

	unknown := call(t, http.MethodPut, c+"/jobs/j", byCalendar(start, "Swedem", "skip"))
	require.Equal(t, http.StatusBadRequest, unknown.code)
	require.Contains(t, unknown.body, "recurrence.calendars[0].name")
	require.Contains(t, unknown.body, `did you mean \"Sweden\"?`)

	made := call(t, http.MethodPut, c+"/jobs/j", byCalendar(start, "sweden", "nextWorkingDay"))
	require.Equal(t, http.StatusCreated, made.code, made.body)
	nextIs := func(want time.Time) {
		t.Helper()
		eventually(t, "the job is next due at "+want.Format(time.RFC3339), func() bool {
			got := call(t, http.MethodGet, c+"/jobs/j", "").get("properties.status.nextExecutionTime")
			return strings.HasPrefix(fmt.Sprint(got), want.Format("2006-01-02T15:04:05"))
		})
	}
	nextIs(next)
	upcoming := call(t, http.MethodGet, c+"/upcoming?until="+url.QueryEscape(next.AddDate(0, 0, 1).Format(time.RFC3339)), "")
	require.Contains(t, upcoming.body, next.Format(time.RFC3339))
	require.NotContains(t, upcoming.body, start.Format(time.RFC3339))
	why := call(t, http.MethodGet, c+"/jobs/j/explain?at="+url.QueryEscape(start.Format(time.RFC3339)), "")
	require.Contains(t, why.body, "(version 1) has the day")
	require.Contains(t, why.body, "dayOff")
	diff := call(t, http.MethodPost, c+"/jobs/j/previewChange?take=2", byCalendar(start, "sweden", "only"))
	require.Equal(t, http.StatusOK, diff.code, diff.body)
	require.Contains(t, diff.body, start.Format(time.RFC3339), "it would run on that day alone")

	require.Equal(t, http.StatusOK, call(t, http.MethodPut, c+"/calendars/Sweden", dayOff(next)).code)
	nextIs(start)
}

func TestAJobHasBlackoutsOfItsOwnAndOfItsCollection(t *testing.T) {
	t.Parallel()
	s := use(t)
	c := s.collection(t)
	start := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	over := start.Add(30 * time.Minute)
	during := func(name, onMatch string, from, until time.Time) string {
		return fmt.Sprintf(`[{"name":%q,"onMatch":%q,"from":%q,"until":%q}]`, name, onMatch, from.Format(time.RFC3339), until.Format(time.RFC3339))
	}
	body := func(blackouts string) string {
		return fmt.Sprintf(`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"uri":"http://127.0.0.1:9/","method":"GET"}},
			"recurrence":{"frequency":"day"},"blackouts":%s}}`, start.Format(time.RFC3339), blackouts)
	}
	nextIs := func(want time.Time) {
		t.Helper()
		eventually(t, "the job is next due at "+want.Format(time.RFC3339), func() bool {
			got := call(t, http.MethodGet, c+"/jobs/j", "").get("properties.status.nextExecutionTime")
			return strings.HasPrefix(fmt.Sprint(got), want.Format("2006-01-02T15:04:05"))
		})
	}
	made := call(t, http.MethodPut, c+"/jobs/j", body(during("move", "runAtEnd", start.Add(-time.Minute), over)))
	require.Equal(t, http.StatusCreated, made.code, made.body)
	nextIs(over)
	upcoming := call(t, http.MethodGet, c+"/upcoming?until="+url.QueryEscape(start.AddDate(0, 0, 2).Format(time.RFC3339)), "")
	require.Contains(t, upcoming.body, over.Format(time.RFC3339))
	require.NotContains(t, upcoming.body, start.Format(time.RFC3339))
	why := call(t, http.MethodGet, c+"/jobs/j/explain?at="+url.QueryEscape(start.Format(time.RFC3339)), "")
	require.Contains(t, why.body, `"cause":"blackout"`)
	require.Contains(t, why.body, "the blackout move holds it until then")
	diff := call(t, http.MethodPost, c+"/jobs/j/previewChange?take=2", body("null"))
	require.Equal(t, http.StatusOK, diff.code, diff.body)
	require.Contains(t, diff.body, start.Format(time.RFC3339), "it would run at its own time")

	kept := call(t, http.MethodPut, c+"/jobs/j", strings.Replace(body("1"), `,"blackouts":1`, "", 1))
	require.Equal(t, http.StatusOK, kept.code, kept.body)
	require.Contains(t, kept.body, `"name":"move"`, "a client that does not know them keeps them")
	ok(t, http.MethodPatch, c+"/jobs/j", `{"properties":{"blackouts":null}}`)
	nextIs(start)

	all := `{"properties":{"blackouts":` + during("freeze", "skip", start.Add(-2*time.Hour), start.AddDate(0, 0, 1)) + `}}`
	changed := call(t, http.MethodPatch, c, all)
	require.Equal(t, http.StatusOK, changed.code, changed.body)
	nextIs(start.AddDate(0, 0, 1))
	refused := call(t, http.MethodPost, c+"/jobs/j/run", "")
	require.Equal(t, http.StatusConflict, refused.code)
	require.Contains(t, refused.body, "It is in the blackout freeze of the job collection, which is over at "+start.AddDate(0, 0, 1).Format(time.RFC3339))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, c+"/jobs/j/run?force=perhaps", "").code)
	ok(t, http.MethodPost, c+"/jobs/j/run?force=true", "")
	held := call(t, http.MethodPost, c+"/jobs/j/previewPause?until="+url.QueryEscape(start.AddDate(0, 0, 1).Add(time.Minute).Format(time.RFC3339)), "")
	require.Contains(t, held.body, `"held":1`)
	ok(t, http.MethodPatch, c, `{"properties":{"blackouts":[]}}`)
	nextIs(start)
}
