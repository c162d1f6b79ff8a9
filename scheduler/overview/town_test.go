package overview_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/activities"
	"almanac/job"
	"almanac/recurrence/calendars"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
	"almanac/scheduler/overview"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// manyJobs is the number of jobs from which on Temporal's lists are read, in these tests.
const manyJobs = 60

func TestMain(m *testing.M) {
	overview.ListFrom(manyJobs)
	os.Exit(m.Run())
}

// A town is a Temporal with the workflows of job collections and of jobs.
type town struct {
	uses func(*job.Recurrence) ([]calendars.Use, error)
	client.Client
	t testing.TB

	mu       sync.Mutex
	names    map[string][]string             // of jobs, by collection, in the resource group g
	disabled map[string]bool                 // collections
	hanging  bool                            // jobs do not answer
	hangs    int64                           // histories are not read after so many reads of them; 0: they are
	broken   map[string]bool                 // workflows whose reads fail, by ID
	jobs     map[string]job.Job              // by workflow ID
	runs     map[string][]*historypb.History // by workflow ID, oldest first
	failed   map[string]string               // by workflow ID, the newest run with a failure

	outlines    map[string]job.Outline         // in memos, by workflow ID
	outlined    map[string]time.Time           // when the memos got them, by workflow ID; lists do not tell it of others
	undescribed string                         // the workflow that the server does not describe, by ID
	busy        map[string]bool                // workflows with a pending activity, by ID
	pending     map[string]activities.Progress // of a pending activity of the action, by ID of the workflow
	unlisted    map[string]bool                // workflows that Temporal's lists lack, by ID
	twice       map[string]bool                // workflows that Temporal's lists have with two runs, by ID
	unlist      bool                           // Temporal lists nothing
	// Temporal's lists do not tell when outlines of jobs have changed whose names end in 7
	older  bool
	untold bool   // nor of any job
	onList func() // called before Temporal lists something; nil for nothing

	described, currents, queried, read, reversed, listed, listedJobs atomic.Int64
}

func newTown(t testing.TB) *town {
	return &town{
		t: t, names: map[string][]string{}, disabled: map[string]bool{}, broken: map[string]bool{},
		jobs: map[string]job.Job{}, runs: map[string][]*historypb.History{}, failed: map[string]string{},
		outlines: map[string]job.Outline{}, outlined: map[string]time.Time{}, busy: map[string]bool{}, pending: map[string]activities.Progress{}, unlisted: map[string]bool{}, twice: map[string]bool{},
	}
}

func collectionKey(name string) job.CollectionKey {
	return job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: name}
}

// overview returns an Overview whose clock is at now.
func (w *town) overview(now time.Time) *overview.Overview {
	return w.overviewBy(func() time.Time { return now })
}

func (w *town) overviewBy(clock func() time.Time) *overview.Overview {
	c := core.New(core.Options{Temporal: w, Now: clock})
	return overview.New(overview.Options{
		Client: c, History: history.New(c),
		Ask: func(ctx context.Context, id, query string, result any) error {
			if !strings.HasPrefix(id, "job/") {
				return c.Ask(ctx, id, query, result)
			}
			w.queried.Add(1)
			if w.hanging {
				<-ctx.Done()
				return ctx.Err()
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.broken[id] {
				return serviceerror.NewQueryFailed("broken")
			}
			j, ok := w.jobs[id]
			if !ok {
				return serviceerror.NewNotFound("no job")
			}
			*result.(*job.Job) = j
			return nil
		},
		Uses: func(_ context.Context, _ job.CollectionKey, r *job.Recurrence) ([]calendars.Use, error) {
			return w.uses(r)
		},
	})
}

// broken is why a workflow that answers no query could not be read, unreadable why another could not.
const (
	broken     = "no worker can read its history; the log of the workers says why"
	unreadable = "its stored state could not be read; the log of the API says why"
)

// add adds an enabled job to a collection.
func (w *town) add(collection, name string, change func(*job.Job)) job.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := collectionKey(collection).Job(name)
	j := job.Job{Key: k, Created: at("2026-01-01T00:00:00Z"), Definition: job.Definition{State: job.StateEnabled}}
	if change != nil {
		change(&j)
	}
	w.names[collection] = append(w.names[collection], name)
	w.jobs[k.WorkflowID()] = j
	w.runs[k.WorkflowID()] = []*historypb.History{w.started("", "")}
	return k
}

// started returns a run that has just begun, and continues an earlier one; failed is the newest earlier run with a
// failure.
func (w *town) started(previous, failed string) *historypb.History {
	return &historypb.History{Events: []*historypb.HistoryEvent{{
		EventId: 1, EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, EventTime: timestamppb.New(at("2026-01-01T00:00:00Z")),
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				OriginalExecutionRunId: uuid.NewString(), ContinuedExecutionRunId: previous, Input: payloads(w.t, state.Input{FailedRun: failed}),
			},
		},
	}}}
}

func runID(h *historypb.History) string {
	return h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
}

// perRun is the number of executions in a run.
const perRun = 7

// ran adds an execution of a job, which began at start and was late by so much.
func (w *town) ran(k job.Key, start time.Time, late time.Duration, outcome job.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := k.WorkflowID()
	runs := w.runs[id]
	last := runs[len(runs)-1]
	if len(last.Events) > 3*perRun {
		last = w.started(runID(last), w.failed[id])
		last.Events[0].EventTime = timestamppb.New(start.Add(-time.Millisecond))
		runs = append(runs, last)
		w.runs[id] = runs
	}
	if outcome == job.OutcomeFailed {
		w.failed[id] = runID(last)
	}
	repeat := (len(runs)-1)*perRun + len(last.Events)/3 + 1
	n := int64(len(last.Events))
	last.Events = append(last.Events,
		&historypb.HistoryEvent{
			EventId: n + 1, EventType: enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, EventTime: timestamppb.New(start),
			Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
				ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
					ActivityId: fmt.Sprint(repeat), ActivityType: &common.ActivityType{Name: activities.TypeAction},
					Input: payloads(w.t, activities.Input{Execution: job.Execution{ID: fmt.Sprint(k.Name, repeat), Due: start.Add(-late), Repeat: repeat, ActionName: job.MainAction}}),
				},
			},
		},
		&historypb.HistoryEvent{
			EventId: n + 2, EventType: enums.EVENT_TYPE_ACTIVITY_TASK_STARTED, EventTime: timestamppb.New(start),
			Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
				ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: n + 1},
			},
		},
		&historypb.HistoryEvent{
			EventId: n + 3, EventType: enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, EventTime: timestamppb.New(start.Add(time.Millisecond)),
			Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
				ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
					ScheduledEventId: n + 1,
					Result:           payloads(w.t, activities.Output{Attempts: []job.Attempt{{Number: 1, Start: start, End: start.Add(time.Millisecond), Outcome: outcome, Message: "m"}}}),
				},
			},
		})
}

func payloads(t testing.TB, v any) *common.Payloads {
	p, err := converter.GetDefaultDataConverter().ToPayloads(v)
	require.NoError(t, err)
	return p
}

func (w *town) QueryWorkflowWithOptions(_ context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var answer any
	if r.WorkflowID == job.SubscriptionWorkflowID("s") {
		var paths []string
		for name := range w.names {
			paths = append(paths, "g/"+name)
		}
		slices.Sort(paths)
		answer = paths
	}
	for name, jobs := range w.names {
		k := collectionKey(name)
		if k.WorkflowID() != r.WorkflowID {
			continue
		}
		if w.broken[r.WorkflowID] {
			return nil, serviceerror.NewQueryFailed("broken")
		}
		list := workflows.JobList{Collection: k}
		for i, j := range jobs {
			list.Jobs = append(list.Jobs, workflows.Listed{Name: j, Sequence: i + 1})
		}
		answer = list
		if r.QueryType == workflows.QueryStatus {
			c := job.Collection{Key: k, Properties: job.CollectionProperties{State: job.CollectionEnabled}}
			if w.disabled[name] {
				c.Properties.State = job.CollectionDisabled
			}
			answer = c
		}
	}
	if answer == nil {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads(w.t, answer))}, nil
}

func (w *town) DescribeWorkflowExecution(_ context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	w.described.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == w.undescribed {
		return nil, serviceerror.NewUnavailable("not now")
	}
	runs := w.runs[id]
	if len(runs) == 0 {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	last := runs[len(runs)-1]
	if run == "" {
		w.currents.Add(1)
	} else if run != runID(last) {
		return w.describeEnded(runs, run)
	}
	found := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, StateTransitionCount: int64(len(last.Events)),
		Execution: &common.WorkflowExecution{WorkflowId: id, RunId: runID(last)}, Memo: w.memo(id),
	}, WorkflowExtendedInfo: &workflow.WorkflowExecutionExtendedInfo{OriginalStartTime: last.Events[0].EventTime}}
	if w.busy[id] {
		found.PendingActivities = []*workflow.PendingActivityInfo{{ActivityId: "1"}}
	}
	if p, ok := w.pending[id]; ok {
		found.PendingActivities = append(found.PendingActivities, &workflow.PendingActivityInfo{
			ActivityId: "2", ActivityType: &common.ActivityType{Name: activities.TypeAction}, HeartbeatDetails: payloads(w.t, p),
		})
	}
	return found, nil
}

// memo returns the memo of a job.
func (w *town) memo(id string) *common.Memo {
	o, ok := w.outlines[id]
	if !ok {
		return nil
	}
	return &common.Memo{Fields: map[string]*common.Payload{workflows.MemoOutline: payloads(w.t, o).Payloads[0]}}
}

// outline notes the outline that a job shows at a time.
func (w *town) outline(k job.Key, o job.Outline, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := k.WorkflowID()
	if before, ok := w.outlines[id]; !ok || !reflect.DeepEqual(before, o) {
		w.outlines[id], w.outlined[id] = o, now
	}
}

var outlinedAfter = regexp.MustCompile(workflows.AttributeOutlineTime + ` > '([^']+)' OR `)

// isOlder reports whether a query excludes a job, since it has the outline that it had at a time.
func (w *town) isOlder(id, query string) bool {
	since := outlinedAfter.FindStringSubmatch(query)
	if since == nil {
		return false
	}
	if w.older && strings.HasSuffix(id, "7") {
		return false
	}
	return !w.outlined[id].After(at(since[1]))
}

func (w *town) CountWorkflow(context.Context, *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &workflowservice.CountWorkflowExecutionsResponse{Count: int64(len(w.runs))}, nil
}

// describeEnded describes a run that is over. Those before the one before the current one are deleted.
func (w *town) describeEnded(runs []*historypb.History, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if len(runs) < 2 || runID(runs[len(runs)-2]) != run {
		return nil, serviceerror.NewNotFound("no such run")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Status: enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, Execution: &common.WorkflowExecution{RunId: run},
	}}, nil
}

// ListWorkflow returns pages of 100 jobs of a collection, or of all.
func (w *town) ListWorkflow(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if w.onList != nil {
		w.onList()
	}
	w.listed.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unlist {
		return nil, serviceerror.NewUnavailable("no lists")
	}
	if w.untold && strings.Contains(r.Query, workflows.AttributeOutlineTime) {
		return nil, serviceerror.NewInvalidArgument("AlmanacOutlineTime is not a valid search attribute")
	}
	require.Contains(w.t, r.Query, "WorkflowType = 'Job'")
	require.Contains(w.t, r.Query, "ExecutionStatus = 'Running'")
	var ids []string
	for name, jobs := range w.names {
		if strings.Contains(r.Query, workflows.AttributeCollection) && !strings.Contains(r.Query, workflows.AttributeCollection+" = '"+name+"'") {
			continue
		}
		for _, j := range jobs {
			id := collectionKey(name).Job(j).WorkflowID()
			if w.unlisted[id] || len(w.runs[id]) == 0 || w.isOlder(id, r.Query) {
				continue
			}
			if ids = append(ids, id); w.twice[id] {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	begin := 0
	if len(r.NextPageToken) > 0 {
		_, err := fmt.Sscan(string(r.NextPageToken), &begin)
		require.NoError(w.t, err)
	}
	end := min(begin+100, len(ids))
	w.listedJobs.Add(int64(end - begin))
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for i, id := range ids[begin:end] {
		memo := w.memo(id)
		if w.twice[id] && i > 0 && ids[begin+i-1] == id { // the run before
			memo = &common.Memo{Fields: map[string]*common.Payload{workflows.MemoOutline: payloads(w.t, job.Outline{Created: noon, Inactive: true}).Payloads[0]}}
		}
		attributes := &common.SearchAttributes{IndexedFields: map[string]*common.Payload{}}
		if outlined, told := w.outlined[id]; told && (!w.older || !strings.HasSuffix(id, "7")) {
			attributes.IndexedFields[workflows.AttributeOutlineTime] = payloads(w.t, outlined).Payloads[0]
		}
		answer.Executions = append(answer.Executions, &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id, RunId: runID(w.runs[id][len(w.runs[id])-1])}, Memo: memo, SearchAttributes: attributes})
	}
	if end < len(ids) {
		answer.NextPageToken = fmt.Append(nil, end)
	}
	return answer, nil
}

func (w *town) WorkflowService() workflowservice.WorkflowServiceClient { return townFrontend{w: w} }

type townFrontend struct {
	workflowservice.WorkflowServiceClient
	w *town
}

func (f townFrontend) run(e *common.WorkflowExecution) (*historypb.History, error) {
	f.w.read.Add(1)
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.w.broken[e.GetWorkflowId()] {
		return nil, errors.New("broken")
	}
	for _, h := range f.w.runs[e.GetWorkflowId()] {
		if runID(h) == e.GetRunId() {
			return &historypb.History{Events: slices.Clone(h.Events)}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such run")
}

func (f townFrontend) GetWorkflowExecutionHistory(_ context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	h, err := f.run(r.GetExecution())
	if err != nil {
		return nil, err
	}
	h.Events = h.Events[:1]
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: h}, nil
}

func (f townFrontend) GetWorkflowExecutionHistoryReverse(ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryReverseRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	if n := f.w.reversed.Add(1); f.w.hanging || f.w.hangs > 0 && n > f.w.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h, err := f.run(r.GetExecution())
	if err != nil {
		return nil, err
	}
	slices.Reverse(h.Events)
	return &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: h}, nil
}

func (townFrontend) ResetStickyTaskQueue(context.Context, *workflowservice.ResetStickyTaskQueueRequest, ...grpc.CallOption) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	return &workflowservice.ResetStickyTaskQueueResponse{}, nil
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}
