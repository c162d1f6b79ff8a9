package installation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	checkins "almanac/activities/presence"
	"almanac/internal/workflowtest"
	"almanac/job/presence"
	"almanac/workflows"
	"almanac/workflows/installation"
)

// An env runs the workflow in skipped time. Its workers check in as follow says: of a worker's n-th activity.
type env struct {
	*testsuite.TestWorkflowEnvironment
	t         *testing.T
	follow    func(ctx workflow.Context, in checkins.Input, n int) (presence.Segment, error)
	calls     map[string]int
	scheduled int
}

func newEnv(t *testing.T) *env {
	e := &env{TestWorkflowEnvironment: workflowtest.NewEnvironment(), t: t, calls: map[string]int{}}
	e.SetStartTime(workflowtest.NewYear)
	e.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: workflowtest.Deadlock, Interceptors: []interceptor.WorkerInterceptor{&workers{env: e}},
	})
	e.RegisterWorkflowWithOptions(installation.Workflow, workflow.RegisterOptions{Name: workflows.TypeInstallation})
	return e
}

// workers performs the activities in workflow time. Unlike those of the test environment, they end as a server's do when
// they are cancelled: when the worker says so.
type workers struct {
	interceptor.WorkerInterceptorBase
	env *env
}

func (w *workers) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &inbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, w.env}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	env *env
}

func (i *inbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&outbound{interceptor.WorkflowOutboundInterceptorBase{Next: out}, i.env})
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	env *env
}

func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	require.Equal(o.env.t, checkins.TypePresent, name) //workflowcheck:ignore // it matters only to a test that fails
	in := arguments[0].(checkins.Input)
	require.Equal(o.env.t, in.Worker.Queue, workflow.GetActivityOptions(ctx).TaskQueue) //workflowcheck:ignore // likewise
	o.env.scheduled++
	o.env.calls[in.Worker.ID]++
	n := o.env.calls[in.Worker.ID]
	future, settable := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { settable.Set(o.env.follow(ctx, in, n)) })
	return future
}

// untilHandedOver waits until the activity is cancelled, as the answer to a heartbeat says.
func untilHandedOver(ctx workflow.Context) { ctx.Done().Receive(ctx, nil) }

func detached(ctx workflow.Context) workflow.Context {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return ctx
}

func (e *env) at(after time.Duration, do func()) { e.RegisterDelayedCallback(do, after) }

func (e *env) announce(after time.Duration, id string) {
	e.at(after, func() {
		e.SignalWorkflow(workflows.SignalWorker, presence.Worker{ID: id, Identity: "1@host", Queue: "queue " + id})
	})
}

// run runs the workflow until it continues as new, and returns the next input.
func (e *env) run(in installation.Input) installation.Input {
	e.t.Helper()
	e.ExecuteWorkflow(workflows.TypeInstallation, in)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(e.t, e.GetWorkflowError(), &next)
	var out installation.Input
	require.NoError(e.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &out))
	return out
}

func clock(minutes float64) time.Time {
	return workflowtest.NewYear.Add(time.Duration(minutes * float64(time.Minute)))
}

func segment(from, to float64, end presence.End) presence.Segment {
	return presence.Segment{From: clock(from), To: clock(to), End: end}
}

func lines(s presence.State) (all []string) {
	for _, one := range s.Spans {
		all = append(all, fmt.Sprint(one.ID, " ", workflowtest.Clock(one.From), " to ", workflowtest.Clock(one.To), " ", one.End))
	}
	return all
}

func TestStartsStopsAndLossesAreKept(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.follow = func(_ workflow.Context, in checkins.Input, n int) (presence.Segment, error) {
		switch {
		case in.Worker.ID == "stopped":
			return segment(1, 2, presence.Stopped), nil
		case in.Worker.ID == "lost":
			return presence.Segment{}, temporal.NewHeartbeatTimeoutError(segment(1, 3, ""))
		case in.Worker.ID == "gone": // it never took it
			return presence.Segment{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		case n == 1: // it was frozen so often that it reports
			return segment(1, 4, presence.Continues), nil
		default:
			return segment(4, 5, presence.Stopped), nil
		}
	}
	for _, id := range []string{"stopped", "lost", "gone", "frozen"} {
		e.announce(time.Minute, id)
	}
	e.at(time.Hour, func() {
		e.SetContinueAsNewSuggested(true)
		e.SignalWorkflow(workflows.SignalWorker, presence.Worker{})
	})
	next := e.run(installation.Input{})
	require.Equal(t, workflowtest.NewYear, next.Since)
	require.ElementsMatch(t, []string{
		"stopped 00:01:00 to 00:02:00 stopped", "lost 00:01:00 to 00:03:00 lost",
		"gone 00:01:00 to 00:01:00 lost", "frozen 00:01:00 to 00:05:00 stopped",
	}, lines(next.State))
	require.Empty(t, next.Here)
}

func TestWorkersThatAreThereAreHandedOverToTheNextRun(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.follow = func(ctx workflow.Context, _ checkins.Input, _ int) (presence.Segment, error) {
		untilHandedOver(ctx)
		return segment(1, 60, presence.Continues), nil
	}
	e.announce(time.Minute, "a")
	e.announce(2*time.Minute, "a") // its first signal had no answer
	e.at(time.Hour, func() {
		e.SetContinueAsNewSuggested(true)
		e.SignalWorkflow(workflows.SignalWorker, presence.Worker{ID: "b", Queue: "q"})
	})
	next := e.run(installation.Input{})
	require.Equal(t, []string{"a 00:01:00 to 01:00:00 continues", "b 00:01:00 to 01:00:00 continues"}, lines(next.State))
	require.Len(t, next.Here, 2)
	require.Equal(t, map[string]int{"a": 1, "b": 1}, e.calls)

	later := newEnv(t)
	later.SetStartTime(clock(60))
	later.follow = func(workflow.Context, checkins.Input, int) (presence.Segment, error) {
		return segment(60, 90, presence.Stopped), nil
	}
	later.at(time.Hour, func() {
		later.SetContinueAsNewSuggested(true)
		later.SignalWorkflow(workflows.SignalWorker, presence.Worker{})
	})
	after := later.run(next)
	require.Equal(t, []string{"a 00:01:00 to 01:30:00 stopped", "b 00:01:00 to 01:30:00 stopped"}, lines(after.State))
}

// An announcement that finds no room has no effect, so a run with the most workers is not shorter than others.
func TestMoreWorkersThanCanBeFollowedEndNoRun(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.follow = func(ctx workflow.Context, _ checkins.Input, _ int) (presence.Segment, error) {
		untilHandedOver(ctx)
		require.Equal(t, workflowtest.NewYear.Add(2*time.Hour), workflow.Now(ctx).UTC())
		return segment(0, 60, presence.Continues), nil
	}
	for i := range 200 {
		e.announce(time.Second, fmt.Sprint("worker", i))
	}
	for after := 2 * time.Second; after < time.Hour; after += 20 * time.Second {
		e.announce(after, "one more")
	}
	e.at(2*time.Hour, func() {
		e.SetContinueAsNewSuggested(true)
		e.SignalWorkflow(workflows.SignalWorker, presence.Worker{})
	})
	require.Len(t, e.run(installation.Input{}).Here, 200)
	require.Equal(t, 200, e.scheduled)
}

func TestAWorkerThatFoundNoRoomIsFollowedAsSoonAsThereIsSome(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	followed := map[string]time.Time{} // by ID, when it had announced itself
	e.follow = func(ctx workflow.Context, in checkins.Input, _ int) (presence.Segment, error) {
		followed[in.Worker.ID] = in.Announced
		if in.Worker.ID == "worker7" {
			require.NoError(t, workflow.Sleep(ctx, 30*time.Minute))
			return segment(0, 30, presence.Stopped), nil
		}
		untilHandedOver(ctx)
		return segment(0, 60, presence.Continues), nil
	}
	for i := range 200 {
		e.announce(time.Second, fmt.Sprint("worker", i))
	}
	e.announce(time.Minute, "gone again")
	e.announce(2*time.Minute, "still there")
	e.announce(3*time.Minute, "says goodbye")
	e.goodbye(4*time.Minute, "says goodbye", segment(3, 4, presence.Stopped))
	e.at(2*time.Hour, func() {
		e.SetContinueAsNewSuggested(true)
		e.SignalWorkflow(workflows.SignalWorker, presence.Worker{})
	})
	next := e.run(installation.Input{})
	require.Equal(t, clock(2), followed["still there"].UTC(), "it counts from when it was there for certain")
	require.Len(t, next.Here, 200)
	require.Len(t, next.Waiting, 1)
	require.Equal(t, "gone again", next.Waiting[0].ID)
	require.NotContains(t, followed, "says goodbye")
}

func (e *env) goodbye(after time.Duration, id string, s presence.Segment) {
	e.at(after, func() {
		e.SignalWorkflow(workflows.SignalGone, presence.Span{Worker: presence.Worker{ID: id}, Segment: s})
	})
}

func TestAWorkerThatSaysGoodbyeHasStopped(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.follow = func(ctx workflow.Context, in checkins.Input, _ int) (presence.Segment, error) {
		untilHandedOver(ctx)
		if in.Worker.ID == "handed over" {
			require.NoError(t, workflow.Sleep(detached(ctx), 20*time.Second))
			return segment(1, 60, presence.Continues), nil
		}
		return presence.Segment{}, temporal.NewCanceledError() // it has not begun
	}
	for _, id := range []string{"waits", "waits too", "handed over"} {
		e.announce(time.Minute, id)
	}
	e.goodbye(2*time.Minute, "waits", segment(1, 2, presence.Stopped))
	e.goodbye(2*time.Minute, "waits too", presence.Segment{})
	e.goodbye(2*time.Minute, "unknown", presence.Segment{})
	e.at(time.Hour, func() {
		e.SetContinueAsNewSuggested(true)
		e.SignalWorkflow(workflows.SignalWorker, presence.Worker{})
	})
	e.goodbye(time.Hour+10*time.Second, "handed over", segment(60, 60.25, presence.Stopped))
	next := e.run(installation.Input{})
	require.Empty(t, next.Here)
	require.Equal(t, []string{
		"waits 00:01:00 to 00:02:00 stopped", "waits too 00:01:00 to 00:01:00 stopped", "handed over 00:01:00 to 01:00:15 stopped",
	}, lines(next.State))
}

// The input of the next run, and what one task schedules, have to be below the server's limits of 2 and 4 MiB.
func TestAnInstallationAtItsMaximumStaysBelowTheLimitsOfTheServer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<", 1000)
	e := newEnv(t)
	e.follow = func(ctx workflow.Context, _ checkins.Input, _ int) (presence.Segment, error) {
		untilHandedOver(ctx)
		s := segment(1, 2, presence.Continues)
		for i := range presence.MaxGaps {
			s.Gaps = append(s.Gaps, presence.Interval{From: clock(float64(i)).Add(1), To: clock(float64(i)).Add(2)})
		}
		return s, nil
	}
	for i := range 299 {
		e.at(time.Minute, func() {
			e.SignalWorkflow(workflows.SignalWorker, presence.Worker{
				ID: fmt.Sprint(i, long), Identity: long, Version: long, Zones: long, Queue: fmt.Sprint("q", i, long),
			})
		})
	}
	e.at(2*time.Minute, func() {
		e.SetContinueAsNewSuggested(true)
		e.SignalWorkflow(workflows.SignalWorker, presence.Worker{})
	})
	in := installation.Input{}
	in.Since = workflowtest.NewYear
	for i := range 2_000 {
		at := workflowtest.NewYear.Add(-time.Duration(i) * time.Hour / 2)
		old := presence.Span{
			Worker:  presence.Worker{ID: fmt.Sprint("old", i, long), Identity: long, Version: long, Zones: long, Queue: long}.Bounded(),
			Segment: presence.Segment{From: at.Add(1), To: at.Add(time.Minute + 1), End: presence.Lost},
		}
		for k := range presence.MaxGaps {
			from := at.Add(time.Duration(k)*time.Second + 1)
			old.Gaps = append(old.Gaps, presence.Interval{From: from, To: from.Add(1)})
		}
		in.Add(old, workflowtest.NewYear)
	}
	next := e.run(in)
	require.Len(t, next.Here, 200)
	require.Len(t, next.Spans, 400)
	require.Equal(t, 200, e.scheduled)
	text, err := json.Marshal(next)
	require.NoError(t, err)
	require.Less(t, len(text), 2<<20, "of JSON")
	one, err := json.Marshal(checkins.Input{Worker: next.Here[0], Announced: clock(1).Add(1)})
	require.NoError(t, err)
	require.Less(t, 200*(len(one)+1000), 2<<20, "all activities of one task")
	t.Logf("%d bytes, %d an activity", len(text), len(one))
}
