package jobloop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/jobloop"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

var (
	newYear     = workflowtest.NewYear // the creation time of every job in these tests
	key         = workflowtest.Key
	clock       = workflowtest.Clock
	requireType = workflowtest.RequireType
)

// get is an action as JSON; more may follow in it and in the properties.
const get = `"type":"Http","request":{"uri":"http://127.0.0.1/","method":"GET"}`

// once is the properties of a one-time job.
const once = `"action":{` + get + `}`

// every returns the properties of a recurring job.
func every(recurrence string) string { return once + `,"recurrence":{` + recurrence + `}` }

func definition(t *testing.T, properties string) job.Definition {
	t.Helper()
	d, err := input.ParseDefinition([]byte(`{"properties":{`+properties+`}}`), input.ParseOptions{Now: newYear})
	require.NoError(t, err)
	return d
}

// A jobEnv runs a job in skipped time, through all runs of its workflow. Times are given as durations
// since newYear.
type jobEnv struct {
	t    *testing.T
	env  *testsuite.TestWorkflowEnvironment
	next state.Input // input of the next run
	now  time.Time   // start of the next run

	// Behaviour of the job's environment.
	result      func(sentAttempt) error      // result of an attempt; nil: success
	message     string                       // in the records of attempts
	took        func(int) time.Duration      // duration of the n-th attempt; nil: 0
	workerFate  func(sentAttempt) workerFate // of an attempt; nil: it is sent
	nextHold    func(sentAttempt) int        // Hold in the result of an execution; nil: 0
	nextLoss    int                          // loss time that executions return, in milliseconds
	queued      time.Duration                // time until a worker has an activity
	retryQueued time.Duration                // time until a worker has the retry of an activity
	// when the server suggests to continue as new, from the start of a run; 0: never
	suggest     time.Duration
	downUntil   time.Time     // until then the server detects no loss
	lookTakes   time.Duration // duration of a lookup of attempts
	lookAges    time.Duration // age of its answer
	lookFails   int           // how often it fails
	fences      time.Duration // from the fence of an attempt to its due time; 0: fenceAhead
	releasing   time.Duration // how long a worker takes to release an attempt
	unreachable bool          // there is no workflow that delivers alerts
	sending     time.Duration // how long a test of a notification takes
	removal     time.Duration // duration of the signal to the collection that the job is gone
	gone        bool          // there is no collection
	confirms    time.Duration // how long the collection takes to say whether the job is registered
	refusal     error         // its answer
	listed      string        // the search attribute of the last outcome, if the job was started with it
	events      []*event

	courier    fakeCourier
	noCourier  bool                   // its workers have none
	calendars  jobloop.CalendarReader // what its workers read
	planned    func(*plan.Plan)       // changes each plan by calendars; nil: they stay as they are
	newerZones func()                 // has the other worker's time zones in use; nil: there is no other worker

	// What the job did.
	runs      []run
	sent      []sentAttempt // in order of sending
	recorded  recorder
	pending   []*pending // action activities that have not ended
	outcomes  []string   // last outcomes shown by search attribute, after the first
	nextRuns  []string   // next runs shown by search attribute, after the first, and when
	outlines  []shownOutline
	outlined  []string          // times of outlines, shown by search attribute after the first
	shown     []string          // states and texts shown by search attribute and memo, after the first
	looks     int               // lookups of attempts
	releases  int               // requests to release one
	scheduled map[time.Time]int // bytes of the inputs of actions, by the time of the workflow task
	alerts    []string          // raised ones: time, keys of the notifications, text
	halted    []any             // reasons shown by memo why disableAfter disabled the job; nil when that is over
	alertIDs  []string
	raised    []notification.Alert
	lost      int // alerts of which a notice says that they were dropped
	leaving   sync.Mutex
	left      []notification.Raised // sent when the job was deleted
	counted   workflowtest.Counters
	removed   int                      // signals to the collection that the job is gone
	asks      []workflows.Registration // whether they are registered
	timers    int                      // of more than a minute
	calls     int                      // attempts whose duration was asked for
}

// A sentAttempt is an attempt of an action.
type sentAttempt struct {
	activities.Input
	options workflow.ActivityOptions
	began   time.Time // when a worker started it; it is held until at
	at      time.Time
	number  int // of the attempt in its activity, from 1 for the first sent
}

// attempt returns the number of the attempt of its action, from 1.
func (s *sentAttempt) attempt() int { return s.SentBefore + s.number }

type run struct {
	state.Input
	id         string
	start      time.Time
	executions int // started in this run
}

// An event happens at a given time, in whatever run is active. It must not be at the exact end of a
// run: the environment loses such events, where a server would continue the run.
type event struct {
	at   time.Duration
	do   func()
	done bool
}

// registration is the number of the job's registration.
var registration = int(newYear.UnixMicro())

// collectionIs returns the state of a collection of the first generation, which is enabled or not.
func collectionIs(enabled bool, rules ...notification.Rule) workflows.CollectionState {
	return workflows.CollectionState{Disabled: !enabled, Rules: rules}
}

func newJobEnv(t *testing.T, properties string) *jobEnv {
	t.Helper()
	in, err := state.New(key, definition(t, properties), registration, workflows.CollectionState{}, newYear)
	require.NoError(t, err)
	in.Lead = 150 // the same times for every name
	in.Hold = int(activities.NoHold.Milliseconds())
	w := &jobEnv{t: t, next: in, now: newYear, outlines: []shownOutline{{in.Outline(), newYear}}, scheduled: map[time.Time]int{}}
	w.courier = fakeCourier{offered: map[string]time.Time{}, arrived: map[string]bool{}}
	w.recorded = recorder{DataConverter: converter.GetDefaultDataConverter(), now: func() time.Time { return w.env.Now() }}
	return w
}

// takes sets the duration of every attempt.
func (w *jobEnv) takes(d time.Duration) { w.took = func(int) time.Duration { return d } }

// fails makes the attempts fail for which when is true.
func (w *jobEnv) fails(when func(sentAttempt) bool) {
	w.result = func(s sentAttempt) error {
		if when(s) {
			return errFailed
		}
		return nil
	}
}

var errFailed = temporal.NewApplicationError("it failed", activities.ErrTypeFailed)

func always(sentAttempt) bool { return true }

// at schedules do.
func (w *jobEnv) at(after time.Duration, do func()) {
	w.events = append(w.events, &event{at: after, do: do})
}

func (w *jobEnv) signal(after time.Duration, name string, argument any) {
	w.at(after, func() { w.env.SignalWorkflow(name, argument) })
}

// update sends an update and returns its future answer.
func (w *jobEnv) update(after time.Duration, name string, arguments ...any) *answer {
	a := &answer{w: w}
	w.at(after, func() { w.env.UpdateWorkflow(name, "", a, arguments...) })
	return a
}

// replace replaces the definition by one with the given properties.
func (w *jobEnv) replace(after time.Duration, properties string) *answer {
	d := definition(w.t, properties)
	return w.update(after, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: d, Text: d.Text()})
}

// snapshot queries the job's status.
func (w *jobEnv) snapshot(after time.Duration) *job.Job {
	var got job.Job
	w.at(after, func() {
		value, err := w.env.QueryWorkflow(workflows.QueryStatus)
		require.NoError(w.t, err)
		require.NoError(w.t, value.Get(&got))
	})
	return &got
}

// counted returns the times and counts of a status.
func counted(s job.Status) job.Status {
	s.Outcomes, s.Reason = job.Outcomes{}, ""
	return s
}

// An answer is the result of an update.
type answer struct {
	w                   *jobEnv
	accepted, completed bool
	at                  time.Duration // completion, since newYear
	err                 error
	job                 job.Job
	rerun               job.RerunStatus
	execution           string // name of the one that was started
}

func (a *answer) Accept()          { a.accepted = true }
func (a *answer) Reject(err error) { a.completed, a.err = true, err }
func (a *answer) Complete(v any, err error) {
	a.completed, a.at, a.err = true, a.w.env.Now().Sub(newYear), err
	switch v := v.(type) {
	case job.RerunAnswer:
		a.rerun, a.execution = v.Status, v.Execution
	case string:
		a.execution = v
	case job.Job:
		a.job = v
	}
}

// ok requires that the update succeeded, and returns the job.
func (a *answer) ok(t *testing.T) job.Job {
	t.Helper()
	require.NoError(t, a.err)
	require.True(t, a.completed, "the update was not answered")
	return a.job
}

// refused requires that the update was refused before it changed anything.
func (a *answer) refused(t *testing.T, errType string) {
	t.Helper()
	require.True(t, a.completed, "the update was not answered")
	require.False(t, a.accepted, "the update was accepted")
	requireType(t, a.err, errType)
}

// run runs the job through all its runs. If it still exists at the end, it is deleted then.
func (w *jobEnv) run(until time.Duration) {
	w.t.Helper()
	for {
		err := w.runOnce(newYear.Add(until))
		if err == nil {
			return
		}
		var next *workflow.ContinueAsNewError
		require.ErrorAs(w.t, err, &next)
		w.next = state.Input{}
		require.NoError(w.t, w.recorded.FromPayloads(next.Input, &w.next))
		w.now = w.env.Now()
	}
}

var (
	outcomeKey = temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome)
	outlineKey = temporal.NewSearchAttributeKeyTime(workflows.AttributeOutlineTime)
	nextKey    = temporal.NewSearchAttributeKeyTime(workflows.AttributeNextRun)
)

// runOnce runs the workflow once and returns its error.
func (w *jobEnv) runOnce(end time.Time) error {
	w.pending = nil // activities end with their run
	w.env = workflowtest.NewCountedEnvironment(&w.counted)
	w.env.SetStartTime(w.now)
	if !w.now.Equal(newYear) {
		w.env.SetContinuedExecutionRunID("the run before")
	}
	w.env.SetDataConverter(&w.recorded)
	w.env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: workflowtest.Deadlock, Interceptors: []interceptor.WorkerInterceptor{&workersInterceptor{w: w}},
	})
	if w.listed != "" {
		require.NoError(w.t, w.env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(outcomeKey.ValueSet(w.listed), outlineKey.ValueSet(w.now))))
	}
	loop := jobloop.For(w)
	if w.noCourier {
		loop = jobloop.Workflow
	}
	w.env.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: workflows.TypeJob})
	w.env.RegisterActivityWithOptions(w.asked(), activity.RegisterOptions{Name: workflows.ActivityAsk})
	w.mockServer()
	w.env.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		if d > time.Minute { // the environment has its own, to hold activities
			w.timers++
		}
	})
	for _, e := range w.events {
		if !e.done {
			w.schedule(newYear.Add(e.at), func() { e.done = true; e.do() })
		}
	}
	w.schedule(end, func() { w.env.SignalWorkflow(workflows.UpdateDelete, nil) })
	w.runs = append(w.runs, run{Input: w.next, start: w.now})
	w.env.ExecuteWorkflow(workflows.TypeJob, w.next)
	return w.env.GetWorkflowError()
}

// asked returns the activity that plans by calendars.
func (w *jobEnv) asked() any {
	if w.planned == nil {
		return jobloop.NewPlanner(w.calendars).Ask
	}
	type answer struct {
		Plan plan.Plan `json:"plan"`
	}
	return func(_ context.Context, question any) (a answer, err error) {
		var r plan.Request
		if err := w.copy(&r, question); err != nil {
			return a, err
		}
		a.Plan, err = planHere(w.calendars, r)
		w.planned(&a.Plan)
		return a, err
	}
}

// mockServer mocks what the job asks of the server.
func (w *jobEnv) mockServer() {
	w.env.OnSignalExternalWorkflow(mock.Anything, w.next.Key.Collection.WorkflowID(), "", workflows.SignalRemoved, workflows.Registration{Name: w.next.Key.Name, Number: w.next.Registration}).
		After(w.removal).Return(func(string, string, string, string, any) error {
		w.removed++
		if w.gone {
			return errors.New("there is no such workflow")
		}
		return nil
	}).Maybe()
	w.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, "", workflows.SignalRaise, mock.Anything).
		Return(func(_, _, _, _ string, argument any) error {
			if w.unreachable {
				return errors.New("there is no such workflow")
			}
			part, _ := argument.([]notification.Raised)
			w.leaving.Lock()
			defer w.leaving.Unlock()
			w.left = append(w.left, part...)
			return nil
		}).Maybe()
	w.env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(arguments mock.Arguments) {
		attributes := arguments.Get(0).(temporal.SearchAttributes)
		if state, ok := attributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState)); ok {
			w.shown = append(w.shown, state)
		}
		if outcome, ok := attributes.GetKeyword(outcomeKey); ok {
			w.listed, w.outcomes = outcome, append(w.outcomes, outcome)
		}
		if outlined, ok := attributes.GetTime(outlineKey); ok {
			w.outlined = append(w.outlined, clock(outlined))
		}
		if next, ok := attributes.GetTime(nextKey); ok {
			w.nextRuns = append(w.nextRuns, clock(w.env.Now())+" "+clock(next))
		} else if attributes.Size() == 0 { // the environment leaves out what is unset
			w.nextRuns = append(w.nextRuns, clock(w.env.Now())+" none")
		}
	}).Return(nil).Maybe()
	w.env.OnUpsertMemo(mock.Anything).Run(func(arguments mock.Arguments) {
		memo := arguments.Get(0).(map[string]any)
		if text, ok := memo[workflows.MemoText].(string); ok {
			w.shown = append(w.shown, text)
		}
		if why, ok := memo[workflows.MemoHalted]; ok {
			w.halted = append(w.halted, why)
		}
		if o, ok := memo[workflows.MemoOutline].(job.Outline); ok {
			w.outlines = append(w.outlines, shownOutline{o, w.env.Now()})
		}
	}).Return(nil).Maybe()
	if w.suggest > 0 {
		w.env.RegisterDelayedCallback(func() { w.env.SetContinueAsNewSuggested(true) }, w.suggest)
	}
}

// schedule runs do at the given time or, if that has passed, when the run has started.
func (w *jobEnv) schedule(at time.Time, do func()) {
	if wait := at.Sub(w.now); wait > 0 {
		w.env.RegisterDelayedCallback(do, wait)
		return
	}
	w.env.RegisterDelayedCallback(func() { w.env.RegisterDelayedCallback(do, 0) }, 0)
}

// duration returns the duration of the next attempt.
func (w *jobEnv) duration() time.Duration {
	w.calls++
	if w.took == nil {
		return 0
	}
	return w.took(w.calls)
}

func (w *jobEnv) note(ctx workflow.Context, s sentAttempt) {
	w.sent = append(w.sent, s)
	run := &w.runs[len(w.runs)-1]
	run.id = workflow.GetInfo(ctx).WorkflowExecution.RunID
	if s.attempt() == 1 && s.Execution.ActionName == job.MainAction {
		run.executions++
	}
}

// outcome returns the result of an attempt.
func (w *jobEnv) outcome(s sentAttempt) (activities.Output, error) {
	var out activities.Output
	if w.result != nil {
		if err := w.result(s); err != nil {
			return activities.Output{}, err
		}
	}
	if w.nextHold != nil {
		out.Hold = w.nextHold(s)
	}
	out.Loss = w.nextLoss
	return out, nil
}

// executions returns the first attempts of main actions; those sent at the same time in order of decision.
func (w *jobEnv) executions() []sentAttempt {
	var out []sentAttempt
	for _, s := range w.sent {
		if s.attempt() == 1 && s.Execution.ActionName == job.MainAction {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b sentAttempt) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Execution.Repeat, b.Execution.Repeat))
	})
	return out
}

// dues returns the due times of the executions.
func (w *jobEnv) dues() []string {
	out := []string{}
	for _, s := range w.executions() {
		out = append(out, clock(s.Execution.Due))
	}
	return out
}

// starts returns the due and start times of the executions.
func (w *jobEnv) starts() []string {
	out := []string{}
	for _, s := range w.executions() {
		out = append(out, clock(s.Execution.Due)+" "+clock(s.at))
	}
	return out
}

// lines returns all attempts as text, such as "00:00:30 MainAction#2".
func (w *jobEnv) lines() []string {
	out := []string{}
	for _, s := range w.sent {
		out = append(out, fmt.Sprintf("%s %s#%d", clock(s.at), s.Execution.ActionName, s.attempt()))
	}
	return out
}

// dropped returns the recorded dropped occurrences, such as "Missed 3: 00:01:00 to 00:03:00".
func (w *jobEnv) dropped() []string {
	out := []string{}
	for _, d := range w.recorded.dropped {
		out = append(out, fmt.Sprintf("%s %d: %s to %s", d.Outcome, d.Count, clock(d.First), clock(d.Last)))
	}
	return out
}

// cancelled returns the numbers of the executions recorded as cancelled.
func (w *jobEnv) cancelled() (numbers []int) {
	for _, d := range w.recorded.dropped {
		if d.Outcome == job.OutcomeCancelled && d.Repeat > 0 {
			numbers = append(numbers, d.Repeat)
		}
	}
	return numbers
}

// missed returns the number of occurrences recorded as missed.
func (w *jobEnv) missed() int {
	n := 0
	for _, d := range w.recorded.dropped {
		if d.Outcome == job.OutcomeMissed {
			n += d.Count
		}
	}
	return n
}

// A recorder collects the dropped occurrences recorded in the history.
type recorder struct {
	converter.DataConverter
	now       func() time.Time
	dropped   []plan.Dropped
	droppedAt []time.Time
}

func (r *recorder) ToPayloads(values ...any) (*commonpb.Payloads, error) {
	for _, v := range values {
		if p, ok := v.(plan.Plan); ok && p.Dropped != nil {
			r.dropped, r.droppedAt = append(r.dropped, *p.Dropped), append(r.droppedAt, r.now())
		}
	}
	return r.DataConverter.ToPayloads(values...)
}

// requireSound requires the invariants of every job:
//
//   - nothing is sent early, and nothing more once the job is gone;
//   - an execution has one id and one due time, and the name of its job;
//   - the attempts of an action are numbered once each and in order, at most MaxAttempts, and at least the
//     retry interval apart; an error action follows the attempts of its action;
//   - no due time is both run and recorded as not run.
func (w *jobEnv) requireSound() {
	w.t.Helper()
	for _, p := range w.pending {
		require.True(w.t, p.cancelled() || p.MaybeSent(), "it would be sent although the job is gone")
	}
	last, dues, runs := map[string]sentAttempt{}, map[string]time.Time{}, map[time.Time]bool{}
	for _, s := range w.sent {
		e := s.Execution
		require.False(w.t, s.at.Before(e.Begin()), "sent at %s, due %s", s.at, e.Due)
		require.Equal(w.t, []string{key.Name, key.Collection.Name}, []string{e.Job, e.Collection})
		if due, known := dues[e.ID]; known {
			require.True(w.t, due.Equal(e.Due), "execution %s is due %s and %s", e.ID, due, e.Due)
		}
		dues[e.ID] = e.Due
		runs[e.Due.UTC()] = true
		before, again := last[e.ID]
		last[e.ID] = s
		require.LessOrEqual(w.t, s.attempt(), s.MaxAttempts)
		switch {
		case !again:
		case before.Execution.ActionName == e.ActionName:
			require.Greater(w.t, s.attempt(), before.attempt(), "execution %s, due %s", e.ID, e.Due)
			require.GreaterOrEqual(w.t, s.at.Sub(before.at), s.Action.RetryPolicy.Pause(1), "execution %s, due %s", e.ID, e.Due)
		default:
			require.Equal(w.t, job.ErrorAction, e.ActionName, "the action follows its error action")
		}
	}
	for _, d := range w.recorded.dropped {
		for _, due := range d.Newest {
			require.True(w.t, mayHaveRun(&d) || !runs[due.UTC()], "%s was run, and recorded otherwise: %s", due, d.Why)
		}
	}
}

// mayHaveRun reports whether occurrences, or retries of them, are recorded as ones that may have been sent.
func mayHaveRun(d *plan.Dropped) bool { return strings.HasSuffix(d.Why, "is not known") }
