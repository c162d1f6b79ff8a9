package trail_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/trail"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

var key = job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job("j")

// A server is a Temporal with the runs of one workflow, by run ID.
type server struct {
	client.Client
	runs map[string][]*history.HistoryEvent
	last string
	read []string // the runs that were read
}

func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return frontend{server: s} }

type frontend struct {
	workflowservice.WorkflowServiceClient
	server *server
}

func (s *server) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{RunId: s.last}},
	}, nil
}

// GetWorkflowExecutionHistory returns pages of three events.
func (f frontend) GetWorkflowExecutionHistory(_ context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	s := f.server
	events, ok := s.runs[r.GetExecution().GetRunId()]
	if !ok {
		return nil, serviceerror.NewNotFound("no such run")
	}
	from := 0
	if token := r.GetNextPageToken(); len(token) > 0 {
		if _, err := fmt.Sscan(string(token), &from); err != nil {
			return nil, err
		}
	} else {
		s.read = append(s.read, r.GetExecution().GetRunId())
	}
	until := min(from+3, len(events))
	answer := &workflowservice.GetWorkflowExecutionHistoryResponse{History: &history.History{Events: events[from:until]}}
	if until < len(events) {
		answer.NextPageToken = fmt.Append(nil, until)
	}
	return answer, nil
}

func payloads(t *testing.T, values ...any) *common.Payloads {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayloads(values...)
	require.NoError(t, err)
	return p
}

// run adds a run with numbered events.
func (s *server) run(id string, events ...*history.HistoryEvent) {
	for i, e := range events {
		e.EventId = int64(i + 1)
		e.EventTime = timestamppb.New(time.Date(2026, 1, 1, 0, 0, len(s.runs)*100+i, 0, time.UTC))
	}
	if s.runs == nil {
		s.runs = map[string][]*history.HistoryEvent{}
	}
	s.runs[id], s.last = events, id
}

func started(t *testing.T, previous, changed string, d job.Definition) *history.HistoryEvent {
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{
		ContinuedExecutionRunId: previous, Input: payloads(t, state.Input{Key: key, Definition: d, ChangedRun: changed}), Identity: "1@api",
	}}}
}

func accepted(t *testing.T, name string, args ...any) *history.HistoryEvent {
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{WorkflowExecutionUpdateAcceptedEventAttributes: &history.WorkflowExecutionUpdateAcceptedEventAttributes{
		AcceptedRequest: &update.Request{Meta: &update.Meta{Identity: "cli"}, Input: &update.Input{Name: name, Args: payloads(t, args...)}},
	}}}
}

func completed(accepted int64, refused string) *history.HistoryEvent {
	outcome := &update.Outcome{Value: &update.Outcome_Success{}}
	if refused != "" {
		outcome.Value = &update.Outcome_Failure{Failure: &failure.Failure{Message: refused, FailureInfo: &failure.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failure.ApplicationFailureInfo{}}}}
	}
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionUpdateCompletedEventAttributes{WorkflowExecutionUpdateCompletedEventAttributes: &history.WorkflowExecutionUpdateCompletedEventAttributes{
		AcceptedEventId: accepted, Outcome: outcome,
	}}}
}

// answered is an update that completed with an answer.
func answered(t *testing.T, accepted int64, answer any) *history.HistoryEvent {
	t.Helper()
	e := completed(accepted, "")
	e.GetWorkflowExecutionUpdateCompletedEventAttributes().GetOutcome().Value = &update.Outcome_Success{
		Success: payloads(t, answer),
	}
	return e
}

func definition(method string) job.Definition {
	return job.Definition{State: job.StateEnabled, Action: job.Action{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{Method: method}}}}
}

func read(t *testing.T, s *server, p listing.Page) (lines []string, next string) {
	t.Helper()
	r := trail.New(core.New(core.Options{Temporal: s}))
	changes, next, err := r.Job(t.Context(), key, p)
	require.NoError(t, err)
	for _, c := range changes {
		line := fmt.Sprint(c.Operation[len("Microsoft.Scheduler/jobCollections/"):], " ", c.Status)
		if c.Message != "" {
			line += ": " + c.Message
		}
		for _, d := range c.Differences {
			line += fmt.Sprintf(" %s: %v to %v", d.Path, d.From, d.To)
		}
		lines = append(lines, line)
	}
	return lines, next
}

func TestChangesOfEarlierRuns(t *testing.T) {
	t.Parallel()
	one, two, three, four := uuid.NewString(), uuid.NewString(), uuid.NewString(), uuid.NewString()
	s := &server{}
	s.run(one, started(t, "", "", definition("GET")), accepted(t, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: definition("PUT")}), completed(2, ""))
	s.run(two, started(t, one, one, definition("PUT")))
	s.run(three, started(t, two, one, definition("PUT")),
		accepted(t, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: definition("POST")}), accepted(t, workflows.UpdateRun), completed(3, "no"), completed(2, ""),
		accepted(t, workflows.UpdateCollection, workflows.CollectionState{Disabled: true}))
	s.run(four, started(t, three, three, definition("POST")))
	want := []string{
		"disable/action Started",
		"jobs/run/action Failed: no",
		"jobs/write Succeeded properties.action.request.method: PUT to POST",
		"jobs/write Succeeded properties.action.request.method: GET to PUT",
		"jobs/write Succeeded",
	}
	all, next := read(t, s, listing.Page{Top: 100})
	require.Equal(t, want, all)
	require.Empty(t, next)
	require.Equal(t, []string{four, three, one}, s.read, "a run without a change is not read")

	var paged []string
	for p := (listing.Page{Top: 2}); ; {
		page, next := read(t, s, p)
		paged = append(paged, page...)
		if next == "" {
			break
		}
		require.Len(t, page, 2)
		p.After = next
	}
	require.Equal(t, want, paged)
	skipped, _ := read(t, s, listing.Page{Skip: 3, Top: 100})
	require.Equal(t, want[3:], skipped)

	delete(s.runs, one)
	kept, _ := read(t, s, listing.Page{Top: 100})
	require.Equal(t, want[:3], kept, "without the run whose retention is over")
}

func TestARequestToRunFailedJobsAgainIsAmongTheChangesOfThoseThatItStarted(t *testing.T) {
	t.Parallel()
	s := &server{}
	s.run(uuid.NewString(), started(t, "", "", definition("GET")),
		accepted(t, workflows.UpdateRerun, "one"), answered(t, 2, job.RerunAnswer{Status: job.RerunNotFailed}),
		accepted(t, workflows.UpdateRerun, "two"), answered(t, 4, job.RerunAnswer{Status: job.RerunUnderWay}),
		accepted(t, workflows.UpdateRerun, "three"), answered(t, 6, job.RerunAnswer{Status: job.RerunStarted}))
	all, _ := read(t, s, listing.Page{Top: 100})
	require.Equal(t, []string{"jobs/run/action Succeeded", "jobs/write Succeeded"}, all)
}

// An update of a job that is added is decided here, too: without its case in jobSubject.apply, changes after it would be
// compared with a definition that the job no longer has.
func TestOfEachUpdateOfAJobItIsDecidedWhetherItChangesTheDefinition(t *testing.T) {
	t.Parallel()
	changes := map[string]bool{
		workflows.UpdatePrune: true, workflows.UpdateRestore: true, workflows.UpdateReplace: true, workflows.UpdateEnable: true, workflows.UpdateDisable: true,
		workflows.UpdateCompare: false, workflows.UpdateRun: false, workflows.UpdateRerun: false, workflows.UpdateSkip: false, workflows.UpdateUnskip: false, workflows.UpdateBackfill: false, workflows.UpdateChangeBackfill: false, workflows.UpdateDelete: false,
		workflows.UpdateDismiss: false, workflows.UpdateCollection: false, workflows.UpdateTest: false,
	}
	for _, u := range workflows.JobUpdates {
		require.Contains(t, changes, u.Name)
	}
	before := definition("GET")
	before.State = job.StateDisabled
	for name, argument := range map[string]any{
		workflows.UpdateReplace: workflows.ReplaceRequest{Definition: definition("PUT")}, workflows.UpdateEnable: nil,
	} {
		s := &server{}
		s.run(uuid.NewString(), started(t, "", "", before), accepted(t, name, argument), completed(2, ""))
		lines, _ := read(t, s, listing.Page{Top: 1})
		require.Contains(t, lines[0], " to ", name)
	}
}

func TestAPrunedJobHasItsFormerStateWhenItIsTakenBack(t *testing.T) {
	t.Parallel()
	s := &server{}
	s.run(uuid.NewString(), started(t, "", "", definition("GET")),
		accepted(t, workflows.UpdatePrune, workflows.PruneRequest{Owner: "o"}), completed(2, ""),
		accepted(t, workflows.UpdateRestore, nil), completed(4, ""))
	all, _ := read(t, s, listing.Page{Top: 100})
	require.Equal(t, []string{
		"jobs/restore/action Succeeded properties.state: disabled to enabled",
		"jobs/prune/action Succeeded properties.state: enabled to disabled",
		"jobs/write Succeeded",
	}, all)
}

func memo(t *testing.T, fields map[string]any) *history.HistoryEvent {
	t.Helper()
	m := &common.Memo{Fields: map[string]*common.Payload{}}
	for name, value := range fields {
		m.Fields[name] = payloads(t, value).GetPayloads()[0]
	}
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowPropertiesModifiedEventAttributes{
		WorkflowPropertiesModifiedEventAttributes: &history.WorkflowPropertiesModifiedEventAttributes{UpsertedMemo: m},
	}}
}

func TestAJobThatWasDisabledAfterFailuresHasThatAmongItsChanges(t *testing.T) {
	t.Parallel()
	s := &server{}
	s.run(uuid.NewString(), started(t, "", "", definition("GET")),
		memo(t, map[string]any{workflows.MemoText: "GET"}), memo(t, map[string]any{workflows.MemoHalted: "3 executions failed"}),
		accepted(t, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: definition("GET")}), memo(t, map[string]any{workflows.MemoHalted: nil}), completed(4, ""))
	all, _ := read(t, s, listing.Page{Top: 100})
	require.Equal(t, []string{
		"jobs/write Succeeded properties.state: disabled to enabled",
		"jobs/disable/action Succeeded: 3 executions failed properties.state: enabled to disabled",
		"jobs/write Succeeded",
	}, all)
}

func TestAContinuationThatIsNone(t *testing.T) {
	t.Parallel()
	r := trail.New(core.New(core.Options{Temporal: &server{}}))
	for _, after := range []string{"x", ".1", uuid.NewString(), uuid.NewString() + ".x"} {
		_, _, err := r.Job(t.Context(), key, listing.Page{Top: 1, After: after})
		require.Equal(t, core.BadToken(), err, after)
	}
}
