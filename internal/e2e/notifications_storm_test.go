package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
	"almanac/workflows"
)

var storm = flag.Int("storm", 400, "number of jobs in the storm of TestAStormOfJobsWithTargetsOfTheirOwnIsDelivered")

// handOver hands alerts over as a worker's courier does, each offered by a job of its own, and returns how long it took.
func handOver(t *testing.T, temporal client.Client, raised []notification.Raised) time.Duration {
	t.Helper()
	courier, begun := notify.NewCourier(nil), time.Now()
	courier.Log = slog.New(slog.DiscardHandler)
	courier.Send = func(ctx context.Context, s notification.Shard, raised []notification.Raised) error {
		_, err := temporal.SignalWithStartWorkflow(ctx, s.WorkflowID(), workflows.SignalRaise, raised, client.StartWorkflowOptions{
			TaskQueue: workflows.TaskQueue,
		}, workflows.TypeNotifications, s)
		return err
	}
	for i := range raised {
		job := raised[i].Alert.Job
		courier.Exchange(job.WorkflowID(), job.Collection, raised[i:i+1])
		courier.Recorded(job.WorkflowID())
	}
	courier.Stop(t.Context())
	return time.Since(begun)
}

// Alerts of many jobs, each with a target of its own, are handed over within a second. Some targets hang, and the
// worker is killed in the middle. Each alert arrives. With -storm=10000 it is an experiment.
func TestAStormOfJobsWithTargetsOfTheirOwnIsDelivered(t *testing.T) {
	t.Parallel()
	jobs := *storm
	temporal := newServer(t, t.TempDir(), quiet).Address()
	raw, err := client.DialContext(t.Context(), client.Options{HostPort: temporal, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	doomed := startHalf(t, temporal, "", "worker")
	front := startHalf(t, temporal, "", "api", "--listen", "127.0.0.1:0")
	eventually(t, "collection", func() bool {
		return call(t, http.MethodPut, front.url+"/jobCollections/storm", `{"properties":{"sku":{"name":"P20Premium"}}}`).code < 300
	})

	var mu sync.Mutex
	var arrived, requests atomic.Int32
	ids := map[string]bool{}
	middle := make(chan struct{})
	begun := time.Now()
	var last time.Duration
	target := newSink(t, func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if strings.HasPrefix(r.URL.Path, "/hangs") && time.Since(begun) < 40*time.Second {
			<-r.Context().Done()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if id := r.Header.Get("Idempotency-Key"); !ids[id] {
			ids[id], last = true, time.Since(begun)
			if arrived.Add(1) == int32(jobs/3) {
				close(middle)
			}
		}
	})
	k := key(front.url+"/jobCollections/storm/jobs", "").Collection
	var raised []notification.Raised
	for i := range jobs {
		path := "/target"
		if i%50 == 7 {
			path = "/hangs"
		}
		a := notification.Alert{Event: job.EventFailed, Job: k.Job(fmt.Sprintf("job %d", i)), Time: time.Now().UTC(), Error: strings.Repeat("it failed, ", 20), Failures: 3}
		a.Identify("run", "1")
		a.Describe("")
		raised = append(raised, notification.Raised{Alert: a, Own: []job.Notification{{Name: "own", On: []job.Event{job.EventFailed}, Target: job.Target{
			Type: kind.HTTP, RetryPolicy: &job.RetryPolicy{RetryCount: 4, RetryInterval: "PT15S"}, Content: kind.Content{Request: &kind.Request{
				URI: fmt.Sprintf("%s%s/%d", target.URL, path, i), Method: "POST", Headers: job.Members{{Name: "X-Token", Value: strings.Repeat("t", 200)}},
			}},
		}}}})
	}
	begun = time.Now()
	took := make(chan time.Duration, 1)
	go func() { took <- handOver(t, raw, raised) }()
	<-middle
	doomed.kill(t)
	t.Logf("killed after %s", time.Since(begun).Round(time.Millisecond))
	startHalf(t, temporal, "", "worker")
	eventually(t, "alert of each job", func() bool { return arrived.Load() == int32(jobs) })
	t.Logf("%d alerts handed over in %s, all arrived after %s, by %d requests", jobs, (<-took).Round(time.Millisecond), last.Round(time.Millisecond), requests.Load())
	measure(t, raw, k)
}

// measure logs how large the runs of the shards became, and how long their workflow tasks took.
func measure(t *testing.T, temporal client.Client, k job.CollectionKey) {
	t.Helper()
	runs, signals, activities := 0, 0, 0
	ended := map[string]int{} // workflow tasks that were not completed, by why
	var longest time.Duration
	var mostEvents, mostBytes int64
	for number := range 1 + notification.Shards {
		id, run := notification.Shard{Collection: k, Number: number}.WorkflowID(), ""
		for {
			described, err := temporal.DescribeWorkflowExecution(t.Context(), id, run)
			if err != nil {
				break
			}
			runs++
			info := described.GetWorkflowExecutionInfo()
			mostEvents, mostBytes = max(mostEvents, info.GetHistoryLength()), max(mostBytes, info.GetHistorySizeBytes())
			events := temporal.GetWorkflowHistory(t.Context(), id, info.GetExecution().GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			before := ""
			started := map[int64]time.Time{}
			for events.HasNext() {
				e, err := events.Next()
				require.NoError(t, err)
				switch e.GetEventType() {
				case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
					before = e.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
				case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
					signals++
				case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
					activities++
				case enums.EVENT_TYPE_WORKFLOW_TASK_STARTED:
					started[e.GetEventId()] = e.GetEventTime().AsTime()
				case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
					longest = max(longest, e.GetEventTime().AsTime().Sub(started[e.GetWorkflowTaskCompletedEventAttributes().GetStartedEventId()]))
				case enums.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
					ended[e.GetWorkflowTaskTimedOutEventAttributes().GetTimeoutType().String()]++
				case enums.EVENT_TYPE_WORKFLOW_TASK_FAILED:
					ended[e.GetWorkflowTaskFailedEventAttributes().GetCause().String()]++
				}
			}
			if run = before; run == "" {
				break
			}
		}
	}
	t.Logf("%d runs of at most %d events and %d bytes; %d signals, %d activities; longest workflow task %s, from its start at the server to its end; not completed: %v",
		runs, mostEvents, mostBytes, signals, activities, longest, ended)
}
