package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheUsageOfACalendarListsItsJobs(t *testing.T) {
	t.Parallel()
	s := use(t)
	c := s.collection(t)
	start := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	calendar := c + "/calendars/SE"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, calendar, dayOff(start)).code)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, c+"/calendars/none/usage", "").code)
	created(t, c+"/jobs/moved", byCalendar(start, "SE", "nextWorkingDay"))
	created(t, c+"/jobs/skipped", byCalendar(start, "se", "skip"))
	var got reply
	eventually(t, "both jobs are listed", func() bool {
		got = call(t, http.MethodGet, calendar+"/usage", "")
		list, _ := got.get("value").([]any)
		return len(list) == 2
	})
	require.Contains(t, got.body, `"onMatch":"nextWorkingDay","state":"enabled","adjustments":[{"change":"skipped"`, "the run of the next day stays")
	require.Contains(t, got.body, `"onMatch":"skip","state":"enabled","adjustments":[{"change":"skipped","nominalTime":"`+start.Format(time.RFC3339)+`"`)
	page := call(t, http.MethodGet, calendar+"/usage?$top=1&$skip=1", "")
	require.NotContains(t, page.body, "/jobs/moved")
	require.Contains(t, page.body, "/jobs/skipped")
	ok(t, http.MethodPost, c+"/jobs/skipped/disable", "")
	require.Contains(t, call(t, http.MethodGet, calendar+"/usage", "").body, `"state":"disabled","reason":"The job is disabled.","adjustments":[]`)
}
