package e2e_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	jobs := collection(t, s, "outcomes")
	none := `,"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"day"}`
	for _, name := range []string{"fails-1", "fails-2", "works"} {
		created(t, jobs+"/"+name, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+"/"+name+`"}`+none+`}}`)
	}
	status(t, jobs+"/fails-1", "properties.status.consecutiveFailures", 1.0)
	status(t, jobs+"/fails-2", "properties.status.lastOutcome.status", "Failed")
	status(t, jobs+"/works", "properties.status.lastOutcome.status", "Completed")
	failing := func() answer { return call(t, http.MethodGet, jobs+"?$filter=lastOutcome+eq+Failed", "") }
	require.Equal(t, 2, failing().count("value"))

	k := key(jobs, "works")
	list := `AlmanacCollection = "` + job.NormalizeName(k.Collection.Name) + `" AND ExecutionStatus = "Running" AND AlmanacLastOutcome = `
	listed := func(outcome string) int64 {
		found, err := s.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: list + `"` + outcome + `"`})
		require.NoError(t, err)
		return found.GetCount()
	}
	eventually(t, 30*time.Second, "the last outcomes in Temporal's lists", func() bool { return listed("Failed") == 2 && listed("Completed") == 1 })

	ok(t, http.MethodPatch, jobs+"/fails-2", `{"properties":{"state":"disabled"}}`)
	require.Contains(t, call(t, http.MethodGet, jobs+"/fails-2", "").body, `"lastError":{"message":"`, "also while it is disabled")
	broken.Store(false)
	again := ok(t, http.MethodPost, strings.TrimSuffix(jobs, "/jobs")+"/rerun?$filter=status+eq+Failed+and+endTime+ge+2026-01-01", "")
	require.Equal(t, 2, strings.Count(again.body, `"status":"Started"`), again.body)
	status(t, jobs+"/fails-1", "properties.status.lastOutcome.status", "Completed")
	status(t, jobs+"/fails-2", "properties.status.lastOutcome.status", "Completed")
	require.Zero(t, failing().count("value"))
	require.Contains(t, ok(t, http.MethodPost, jobs+"/fails-1/rerun", "").body, `"status":"NotFailed"`)
	eventually(t, 30*time.Second, "the last outcomes in Temporal's lists", func() bool { return listed("Completed") == 3 })
}
