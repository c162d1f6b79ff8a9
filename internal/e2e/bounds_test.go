package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"almanac/internal/fields"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/template"
	"almanac/recurrence/calendars"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// A job with the largest definition and the longest names has 150 error actions that begin in the same instant, of
// which each fails, and then gets so many updates that it continues as new. The server has its default limits, and the
// worker that of one second for a task. So no other test of this package runs beside it.
func TestAJobAtItsMaximumRunsOn(t *testing.T) { //nolint:paralleltest // see above
	const waiting = 150
	worst := strings.Repeat("<", 3000)
	s, target := use(t), newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, worst)
	})
	now := time.Now().UTC().Truncate(time.Second)
	d, err := input.ParseDefinition([]byte(`{"properties":{"startTime":"`+now.AddDate(0, 1, 0).Format(time.RFC3339)+`","action":{"type":"Http","request":{"uri":"`+target.URL+`/","method":"GET"},
		"errorAction":{"type":"Http","request":{"uri":"`+target.URL+`/max","method":"POST","template":true,"body":"{{.Failure.Message}}"},"retryPolicy":{"retryInterval":"PT1H","retryCount":20}}},
		"recurrence":{"frequency":"minute","overlapPolicy":"AllowAll"}}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	size := func(v any) int {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return len(text)
	}
	headers := &d.Action.ErrorAction.Request.Headers
	for i := 0; size(d) < 24<<10-3700; i++ {
		*headers = append(*headers, fields.Member{Name: fmt.Sprint("X-Header-", i), Value: strings.Repeat("&", 600)})
	}
	k := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: strings.Repeat("\U0001F5D3", 255)}.Job(strings.Repeat("\U0001F4C5", 255))
	var shared []job.Blackout
	for range calendars.MaxBlackouts { // the largest
		shared = append(shared, job.Blackout{
			Name: strings.Repeat("\U0001F4C5", 80), OnMatch: "runAtEnd", Keep: "latest", From: "22:00", Until: "06:00", First: "2020-12-18", Last: "2021-01-06",
			WeekDays: []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}, TimeZone: "America/Argentina/ComodRivadavia",
		})
	}
	in, err := state.New(k, d, int(now.UnixMicro()), workflows.CollectionState{Blackouts: shared}, now)
	require.NoError(t, err)
	for i := range waiting {
		in.Waiting = append(in.Waiting, state.Waiting{
			Execution: job.Execution{ID: fmt.Sprint("execution ", i), Due: now, Repeat: i + 1, ActionName: job.ErrorAction, Job: k.Name, Collection: k.Collection.Name, Caller: strings.Repeat("<", 80)},
			Manual:    i >= 100, Sent: true, Next: now.Add(5 * time.Second), Began: now, Error: worst[:170],
			Failure: &template.Failure{Message: worst[:680], Error: worst[:170], Attempts: 1, Status: 500},
		})
	}
	first, err := s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: k.WorkflowID(), TaskQueue: workflows.TaskQueue}, workflows.TypeJob, in)
	require.NoError(t, err)
	target.await(t, "/max", waiting)
	update := func(name string, arguments ...any) error {
		return wfclient.Patiently(t.Context(), func(ctx context.Context) error {
			h, err := wfclient.Update(ctx, s.temporal, client.UpdateWorkflowOptions{WorkflowID: k.WorkflowID(), UpdateName: name, Args: arguments, WaitForStage: client.WorkflowUpdateStageCompleted})
			if err == nil {
				err = h.Get(ctx, nil)
			}
			return err
		})
	}
	updates := make([]error, 1010)
	wfclient.Each(len(updates), func(i int) { updates[i] = update(workflows.UpdateEnable) })
	for _, err := range updates {
		require.NoError(t, err)
	}
	var next string
	eventually(t, "continued run", func() bool {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), k.WorkflowID(), "")
		require.NoError(t, err)
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, found.GetWorkflowExecutionInfo().GetStatus())
		next = found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		return next != first.GetRunID()
	})
	var replaced sync.WaitGroup
	for i := range 60 { // more than the server takes at once
		replaced.Go(func() {
			d := d
			d.DisableAfter = i + 1
			assert.NoError(t, update(workflows.UpdateReplace, workflows.ReplaceRequest{Definition: d, Text: d.Text()}))
		})
	}
	replaced.Wait()
	found, err := s.temporal.DescribeWorkflowExecution(t.Context(), k.WorkflowID(), "")
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, found.GetWorkflowExecutionInfo().GetStatus())
	scheduled, handedOver, slow := map[int64]int{}, 0, 0
	events := s.temporal.GetWorkflowHistory(t.Context(), k.WorkflowID(), first.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if failed := e.GetWorkflowTaskFailedEventAttributes(); strings.Contains(failed.GetFailure().GetMessage(), "deadlock") {
			slow++
		} else if failed != nil {
			require.Equal(t, enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, failed.GetCause(), "%s", failed.GetFailure().GetMessage())
		}
		if late := e.GetWorkflowTaskTimedOutEventAttributes(); late != nil && late.GetTimeoutType() != enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
			slow++ // unlike a task that a busy worker does not take up soon
		}
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			scheduled[a.GetWorkflowTaskCompletedEventId()] += proto.Size(a)
		}
		handedOver = max(handedOver, proto.Size(e.GetWorkflowExecutionContinuedAsNewEventAttributes()))
	}
	most := 0
	for _, n := range scheduled {
		most = max(most, n)
	}
	require.Less(t, slow, 3, "no task takes long, unless another program keeps the machine busy")
	t.Logf("%d bytes handed over, %d bytes scheduled in a task", handedOver, most)
	require.Greater(t, handedOver, 1_000_000, "this is the maximum")
	require.Less(t, handedOver, 1_600_000)
	require.Greater(t, most, 1_000_000, "this is the maximum")
	require.Less(t, most, 2_000_000)
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), k.WorkflowID(), "", "tidy up"))
}
