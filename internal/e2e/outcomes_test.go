package e2e_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/job"
)

func TestAFailingJobIsFoundAndRunAgain(t *testing.T) {
	t.Parallel()
	s := use(t)
	var broken atomic.Bool
	broken.Store(true)
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() && strings.HasPrefix(r.URL.Path, "/fails") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	c := s.collection(t)
	jobs := c + "/jobs"
	none := `,"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"day"}}}`
	for _, name := range []string{"fails-1", "fails-2", "works"} {
		created(t, jobs+"/"+name, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+"/"+name+`"}`+none)
	}
	status(t, jobs+"/fails-1", "properties.status.consecutiveFailures", 1.0)
	status(t, jobs+"/fails-2", "properties.status.lastOutcome.status", "Failed")
	status(t, jobs+"/works", "properties.status.lastOutcome.status", "Completed")
	failing := func() int {
		return call(t, http.MethodGet, jobs+"?"+filter("lastOutcome eq Failed"), "").count("value")
	}
	require.Equal(t, 2, failing())

	list := `AlmanacCollection = "` + job.NormalizeName(key(jobs, "").Collection.Name) + `" AND ExecutionStatus = "Running" AND AlmanacLastOutcome = `
	eventuallyListed := func(outcome string, jobs int64) {
		eventually(t, "jobs in Temporal's lists", func() bool {
			found, err := s.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: list + `"` + outcome + `"`})
			return err == nil && found.GetCount() == jobs
		})
	}
	eventuallyListed("Failed", 2)
	eventuallyListed("Completed", 1)

	ok(t, http.MethodPatch, jobs+"/fails-2", `{"properties":{"state":"disabled"}}`)
	disabled := call(t, http.MethodGet, jobs+"/fails-2", "")
	require.Contains(t, disabled.get("properties.status.lastError.message"), "500", "also while it is disabled")
	broken.Store(false)
	again := call(t, http.MethodPost, c+"/rerun?"+filter("status eq Failed and endTime ge 2026-01-01"), "")
	require.Equal(t, 2, strings.Count(again.body, `"status":"Started"`), again.body)
	status(t, jobs+"/fails-1", "properties.status.lastOutcome.status", "Completed")
	status(t, jobs+"/fails-2", "properties.status.lastOutcome.status", "Completed")
	require.Zero(t, failing())
	require.Equal(t, "NotFailed", call(t, http.MethodPost, jobs+"/fails-1/rerun", "").get("properties.status"))
	eventuallyListed("Completed", 3)
}
