package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"almanac/workflows"
)

// An operator removes what Temporal's lists show of jobs. The jobs run on, change and continue as new.
func TestANamespaceThatLosesSearchAttributesStopsNoJob(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/fails") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	namespace := newNamespace(t, s.address)
	worker := inNamespace(t, s, namespace, "worker")
	address := freeAddress(t)
	inNamespace(t, s, namespace, "api", "--listen", address)
	url := "http://" + address
	eventually(t, "200 of /readyz", func() bool {
		r, err := tryCall(t.Context(), http.MethodGet, url+"/readyz", "")
		return err == nil && r.code == http.StatusOK
	})
	collection := url + "/jobCollections/jobs"
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"}}}`).code)
	const hourly = `,"recurrence":{"frequency":"hour"}`
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, collection+"/jobs/j", get(target.URL+"/first", hourly)).code)
	target.await(t, "/first", 1)

	c, err := client.NewLazyClient(client.Options{HostPort: s.address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(quiet)})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.OperatorService().RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: []string{workflows.AttributeState, workflows.AttributeLastOutcome, workflows.AttributeOutlineTime, workflows.AttributeCollection},
	})
	require.NoError(t, err)
	change := func(path string) {
		eventually(t, "change to "+path, func() bool {
			return call(t, http.MethodPut, collection+"/jobs/j", get(target.URL+path, hourly+`,"state":"disabled"`)).code == http.StatusOK &&
				call(t, http.MethodPatch, collection+"/jobs/j", `{"properties":{"state":"enabled"}}`).code == http.StatusOK
		})
	}
	run := func(path string, n int) {
		for range n {
			eventually(t, "run of "+path, func() bool { return call(t, http.MethodPost, collection+"/jobs/j/run", "").code < 300 })
		}
		target.await(t, path, n)
	}
	eventually(t, "line that names the attribute", func() bool { // the server notices that within seconds
		change("/fails")
		run("/fails", 1)
		return strings.Contains(worker.log.String(), "lacks a search attribute")
	})
	run("/fails", 3)
	change("/then")
	run("/then", 60)
	id := key(collection+"/jobs", "j").WorkflowID()
	eventually(t, "new run", func() bool {
		found, err := c.DescribeWorkflowExecution(t.Context(), id, "")
		return err == nil && found.GetWorkflowExecutionInfo().GetExecution().GetRunId() != found.GetWorkflowExecutionInfo().GetFirstRunId()
	})
	change("/last")
	run("/last", 1)
	require.Less(t, call(t, http.MethodDelete, collection+"/jobs/j", "").code, 300)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, collection+"/jobs/j", "").code)
}
