package e2e_test

import (
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/job"
)

// A calendar cannot be read, and workers are killed meanwhile: what is planned runs, nothing runs by the bare rule, and
// what is to be planned is planned by the calendar when it is there again.
func TestNothingRunsByTheBareRuleWhileACalendarCannotBeRead(t *testing.T) {
	t.Parallel()
	temporal := newServer(t, t.TempDir(), slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))).Address()
	worker := startHalf(t, temporal, "", "worker")
	api := startHalf(t, temporal, "", "api", "--listen", "127.0.0.1:0")
	target, alerts := newSink(t, nil), newSink(t, nil)
	c := api.url + "/jobCollections/unread"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, c, `{"properties":{"sku":{"name":"Standard"},"notifications":[`+
		`{"on":["missed"],"target":{"type":"Http","request":{"method":"POST","uri":"`+alerts.URL+`/alert"}}}]}}`).code)
	calendar := c + "/calendars/SE?api-version=2016-03-01"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, calendar, days()).code)
	start := time.Now().UTC().Truncate(time.Second).Add(30 * time.Second)
	put := func(name, frequency, state string, at time.Time) string {
		t.Helper()
		url := c + "/jobs/" + name
		created(t, url, `{"properties":{"state":"`+state+`","startTime":"`+at.Format(time.RFC3339)+`","action":{"type":"Http","request":{"uri":"`+
			target.URL+`/`+name+`","method":"GET"}},"recurrence":{"frequency":"`+frequency+`","calendars":[{"name":"SE"}]}}}`)
		return url
	}
	status := func(job string, member string) any {
		return call(t, http.MethodGet, job, "").get("properties.status." + member)
	}
	daily := put("daily", "day", "enabled", start)
	minutely := put("minutely", "minute", "disabled", start.Add(-24*time.Hour-30*time.Second))
	require.Equal(t, start.Format(time.RFC3339), status(daily, "nextExecutionTime"))

	connection, err := client.Dial(client.Options{HostPort: temporal})
	require.NoError(t, err)
	defer connection.Close()
	k := job.CollectionKey{Subscription: job.NilSubscription, ResourceGroup: "default", Name: "unread"}
	require.NoError(t, connection.TerminateWorkflow(t.Context(), k.Calendar("SE").WorkflowID(), "", "so that it cannot be read"))
	worker.kill(t)
	worker = startHalf(t, temporal, "", "worker") // it has read no calendar
	ok(t, http.MethodPatch, minutely, `{"properties":{"state":"enabled"}}`)
	eventually(t, "the status says why nothing is planned", func() bool {
		why, _ := status(minutely, "reason").(string)
		return strings.Contains(why, "cannot be read") && status(minutely, "nextExecutionTime") == nil
	})
	alerts.await(t, "/alert", 1)
	worker.kill(t)
	startHalf(t, temporal, "", "worker")
	target.await(t, "/daily", 1)
	require.Empty(t, target.got("/minutely"), "its rule fires each minute")
	require.Equal(t, start.AddDate(0, 0, 1).Format(time.RFC3339), status(daily, "nextExecutionTime"))

	off := start.AddDate(0, 0, 1)
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, calendar, days(off)).code)
	eventually(t, "the job of days is planned by the new calendar", func() bool {
		return status(daily, "nextExecutionTime") == off.AddDate(0, 0, 1).Format(time.RFC3339)
	})
	eventually(t, "the job of minutes is planned again", func() bool {
		return status(minutely, "nextExecutionTime") != nil && status(minutely, "reason") == nil
	})
	require.Len(t, target.got("/daily"), 1, "nothing runs for a calendar that is there again")
}
