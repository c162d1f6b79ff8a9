package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"almanac/workflows/jobloop"
)

func TestTemporalsListsShowWhenJobsRunNextWhereAnOperatorWantsThat(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	namespace := newNamespace(t, s.address)
	temporal, err := client.NewLazyClient(client.Options{HostPort: s.address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(quiet)})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	inNamespace(t, s, namespace, "worker")
	serve := func(flags ...string) (jobs string) {
		address := freeAddress(t)
		inNamespace(t, s, namespace, append([]string{"api", "--listen", address}, flags...)...)
		eventually(t, "200 of /readyz", func() bool {
			r, err := tryCall(t.Context(), http.MethodGet, "http://"+address+"/readyz", "")
			return err == nil && r.code == http.StatusOK
		})
		return "http://" + address + "/jobCollections/jobs/jobs"
	}
	due := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	var lastErr error
	t.Cleanup(func() {
		if t.Failed() {
			found, err := temporal.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Job'"})
			t.Log("the last error of a count:", lastErr, "; the list:", found, err)
		}
	})
	listed := func(name string) bool {
		found, err := temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("AlmanacJob = '%s' AND AlmanacNextRun > '%s' AND AlmanacNextRun < '%s' AND ExecutionStatus = 'Running'",
				name, due.Add(-time.Second).Format(time.RFC3339), due.Add(time.Second).Format(time.RFC3339)),
		})
		lastErr = err
		return err == nil && found.GetCount() == 1
	}
	daily := get(target.URL+"/hello", `,"startTime":"`+due.Format(time.RFC3339)+`","recurrence":{"frequency":"day"}`)

	without := serve()
	created(t, strings.TrimSuffix(without, "/jobs"), `{"properties":{"sku":{"name":"Standard"}}}`)
	created(t, without+"/older", daily)
	with := serve("--show-next-run")
	eventually(t, "next run of a job that was changed", func() bool {
		ok(t, http.MethodPatch, with+"/older", `{}`) // the API adds the search attribute when it starts
		return listed("older")
	})
	created(t, with+"/newer", daily)
	eventually(t, "next run of a new job", func() bool { return listed("newer") })

	ok(t, http.MethodPatch, with+"/newer", `{"properties":{"state":"disabled"}}`)
	eventually(t, "a disabled job without a next run", func() bool { return !listed("newer") })
	for range jobloop.ExecutionsPerRun + 1 {
		ok(t, http.MethodPost, with+"/newer/run", "")
	}
	target.await(t, "/hello", jobloop.ExecutionsPerRun+1)
	ok(t, http.MethodPatch, with+"/newer", `{"properties":{"state":"enabled"}}`)
	eventually(t, "next run of a job that has continued as new without one", func() bool { return listed("newer") })

	ok(t, http.MethodPatch, without+"/older", `{}`)
	eventually(t, "a job without a next run", func() bool { return !listed("older") })
	require.True(t, listed("newer"))
}
