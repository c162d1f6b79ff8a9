package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
)

// A ReplaceRequest replaces a job's definition.
type ReplaceRequest struct {
	Definition job.Definition `json:"definition"`         // State must be enabled or disabled; omitted secrets are kept
	Text       string         `json:"text"`               // readable form of the definition; from the caller, so that a replay cannot produce another
	Generation int            `json:"generation"`         // of the job that the caller read; 0 for any
	Retarget   bool           `json:"retarget,omitempty"` // keep omitted secrets even if they will be sent to another target
}

// handle registers the job's queries, updates and signals.
func (j *jobLoop) handle(ctx workflow.Context) error {
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, func() (job.Job, error) { return j.snapshot(), nil },
		workflow.QueryHandlerOptions{Description: "the job as it stands, without secrets"}); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateReplace,
		func(ctx workflow.Context, r ReplaceRequest) (job.Job, error) {
			err := j.change(ctx, func(ctx workflow.Context) error {
				if err := j.mayReplace(ctx, r); err != nil {
					return err
				}
				d, err := j.withSecrets(r)
				if err != nil {
					return err
				}
				j.replace(ctx, d, r.Text)
				return nil
			})
			return j.snapshot(), err
		},
		workflow.UpdateHandlerOptions{Validator: j.validate, Description: "replace the definition"})
	if err != nil {
		return err
	}
	for _, c := range j.commands() {
		err := workflow.SetUpdateHandlerWithOptions(ctx, c.name,
			func(ctx workflow.Context) (job.Job, error) {
				err := j.change(ctx, c.apply)
				return j.snapshot(), err
			},
			workflow.UpdateHandlerOptions{Validator: c.may, Description: c.describe})
		if err != nil {
			return err
		}
		j.listen(ctx, c.name, c.describe+", without an answer", func(ctx workflow.Context, signal workflow.ReceiveChannel) {
			signal.Receive(ctx, nil)
			j.handleSignal(ctx, c.name, c.apply)
		})
	}
	j.listen(ctx, SignalBegin, "begin although the delay that the job was started with is not over", func(ctx workflow.Context, signal workflow.ReceiveChannel) { signal.Receive(ctx, nil) })
	return j.handleCollection(ctx)
}

// handleCollection registers the updates that the job's collection sends.
func (j *jobLoop) handleCollection(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateCollection,
		func(ctx workflow.Context, enabled bool) error {
			return j.change(ctx, func(ctx workflow.Context) error { j.rest(ctx, enabled); return nil })
		},
		workflow.UpdateHandlerOptions{Description: "the job collection was enabled, or disabled"})
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateDismiss,
		func(ctx workflow.Context) error {
			return j.change(ctx, func(ctx workflow.Context) error { j.end(ctx); return nil })
		},
		workflow.UpdateHandlerOptions{Description: "the job collection is deleted, and the job with it"})
}

// change applies changes one at a time. Others may be applied while one waits for its turn, so apply
// must check again whether it is allowed.
func (j *jobLoop) change(ctx workflow.Context, apply func(workflow.Context) error) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // finish even if the workflow is cancelled
	if err := j.changing.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		j.changing.Unlock()
		j.changed = true
	}()
	return apply(ctx)
}

// A command is an update without arguments, and also a signal.
type command struct {
	name, describe string
	may            func() error
	do             func(workflow.Context)
}

// apply runs the command if the job's current state allows it.
func (c *command) apply(ctx workflow.Context) error {
	if err := c.may(); err != nil {
		return err
	}
	c.do(ctx)
	return nil
}

func (j *jobLoop) commands() []command {
	return []command{
		{UpdateRun, "run the job now", j.mayRun, j.runManually},
		{UpdateEnable, "enable the job", j.maySetState, func(ctx workflow.Context) { j.setState(ctx, job.StateEnabled) }},
		{UpdateDisable, "disable the job", j.maySetState, func(ctx workflow.Context) { j.setState(ctx, job.StateDisabled) }},
		{UpdateDelete, "delete the job", j.mayChange, j.remove},
	}
}

// A listener handles the signals of one name in order, in a coroutine beside the loop.
type listener struct {
	signals workflow.ReceiveChannel
	next    func(workflow.Context, workflow.ReceiveChannel)
	busy    bool
}

// listen registers the handler for signals of a name. The Temporal Web UI and CLI show the description.
func (j *jobLoop) listen(ctx workflow.Context, name, description string, next func(workflow.Context, workflow.ReceiveChannel)) {
	signals := workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: description})
	j.listeners = append(j.listeners, &listener{signals: signals, next: next})
}

// signalled reports whether a signal is pending and its listener is idle.
func (j *jobLoop) signalled() bool { return slices.ContainsFunc(j.listeners, (*listener).waits) }

func (l *listener) waits() bool { return !l.busy && l.signals.Len() > 0 }

// handleSignals starts a coroutine for each listener with pending signals. None is kept waiting for
// signals: such a coroutine would take more memory than the rest of the job.
func (j *jobLoop) handleSignals(ctx workflow.Context) {
	for _, l := range j.listeners {
		if !l.waits() {
			continue
		}
		l.busy = true
		workflow.Go(ctx, func(ctx workflow.Context) {
			for l.signals.Len() > 0 {
				l.next(ctx, l.signals)
			}
			l.busy = false
		})
	}
}

// handleSignal applies a signal's change. The run does not end before it has returned.
func (j *jobLoop) handleSignal(ctx workflow.Context, name string, apply func(workflow.Context) error) {
	j.handling++
	if err := j.change(ctx, apply); err != nil {
		workflow.GetLogger(ctx).Warn("a signal was refused", "signal", name, "job", j.Key.ARMID(), "error", err)
	}
	j.handling--
	j.changed = true
}

// quiet reports whether no update or signal is pending or being handled.
func (j *jobLoop) quiet(ctx workflow.Context) bool {
	signals := slices.ContainsFunc(j.listeners, func(l *listener) bool { return l.signals.Len() > 0 })
	return !signals && j.handling == 0 && workflow.AllHandlersFinished(ctx)
}

func (j *jobLoop) mayReplace(ctx workflow.Context, r ReplaceRequest) error {
	if r.Generation != 0 && r.Generation != j.Generation {
		return refuse(ErrTypeStale, "the job was changed meanwhile")
	}
	if err := j.mayChange(); err != nil {
		return err
	}
	// The definition may come from a newer version, with a time zone that this worker does not have.
	// Once in force, a definition that cannot be planned would stop the job.
	if _, err := r.Definition.Timetable(j.Created, workflow.Now(ctx)); err != nil {
		return refuse(ErrTypeInvalid, err.Error())
	}
	_, err := j.withSecrets(r)
	return err
}

// validate rejects an update that mayReplace would refuse, or that violates the API's own checks: it
// may not come from the API. Times may be up to an hour ahead, since the API's clock may be ahead.
func (j *jobLoop) validate(ctx workflow.Context, r ReplaceRequest) error {
	if err := j.mayReplace(ctx, r); err != nil {
		return err
	}
	d, err := j.withSecrets(r)
	if err != nil {
		return err
	}
	err = d.Check(workflow.Now(ctx).Add(time.Hour), j.Created) //workflowcheck:ignore // a validator is not replayed
	if err != nil {
		return refuse(ErrTypeInvalid, err.Error())
	}
	return nil
}

// withSecrets returns the requested definition with its omitted secrets filled in. The workflow decides
// whether they may be kept, since the job may have changed since the caller read it.
func (j *jobLoop) withSecrets(r ReplaceRequest) (job.Definition, error) {
	d, err := r.Definition.KeepSecrets(&j.Definition, r.Retarget)
	if err != nil {
		return d, refuse(ErrTypeInvalid, err.Error())
	}
	return d, nil
}

// maySetState refuses to enable or disable a completed or faulted job.
func (j *jobLoop) maySetState() error {
	if s := j.Definition.State; s.Final() {
		return refuse(ErrTypeConflict, fmt.Sprintf("The job is %s: no occurrence is left. Change its schedule by PUT or PATCH, or run it.", s))
	}
	return j.mayChange()
}

func (j *jobLoop) mayRun() error {
	if n := j.runningManually() + j.DeferredRuns; n >= maxManualRuns {
		return refuse(ErrTypeConflict, fmt.Sprintf("%d runs of the job on demand are under way or wait already.", n))
	}
	return j.mayChange()
}

func (j *jobLoop) mayChange() error {
	if j.deleted {
		return refuse(ErrTypeGone, "the job is being deleted")
	}
	return nil
}

func refuse(errType, message string) error {
	return temporal.NewNonRetryableApplicationError(message, errType, nil)
}

func (j *jobLoop) setState(ctx workflow.Context, s job.State) {
	d := j.Definition
	d.State = s
	j.replace(ctx, d, "")
}

// replace puts a new definition in force, and its text into the memo unless text is "". When it
// returns, no more requests are sent by the old definition; attempts already sent run to their end.
//
// A completed or faulted job is treated as an enabled job without occurrences: a definition with an
// occurrence left makes it active again, one without leaves it final.
func (j *jobLoop) replace(ctx workflow.Context, d job.Definition, text string) {
	old, wasActive := j.Definition, j.active()
	final := old.State.Final()
	if final {
		old.State = job.StateEnabled
	}
	// These compare JSON. encoding/json is deterministic for types without maps; workflowcheck only
	// finds its cache and the garbage collector.
	same := d.Equal(&old)           //workflowcheck:ignore
	timing := d.SameSchedule(&old)  //workflowcheck:ignore
	enabled := d.Equal(enable(old)) //workflowcheck:ignore
	if same {
		return
	}
	if !enabled { // if the job is only enabled, manual runs go on: their definition is the same
		j.withdraw(ctx)
	}
	j.Generation++
	if wasActive && (!timing || d.State != job.StateEnabled) {
		j.drop(ctx, workflow.Now(ctx), job.OutcomeCancelled, "the job was changed while it waited")
	}
	shown := j.Definition.State
	j.Definition, j.Final = d, time.Time{}
	switch {
	case final && !timing: // even if the job is not active: whether it is final depends on the new schedule
		j.replan(ctx, false)
	case !final && j.active() && (!timing || !wasActive):
		j.replan(ctx, !wasActive)
	}
	if (final && d.State == job.StateEnabled || j.active()) && j.over() {
		j.finish(workflow.Now(ctx))
	}
	if j.Definition.State != shown {
		j.showState(ctx)
	}
	if text != "" {
		j.showText(ctx, text)
	}
}

func enable(d job.Definition) *job.Definition {
	d.State = job.StateEnabled
	return &d
}

// rest applies a change of the collection's state: while the collection is not enabled, its jobs do not
// run, whatever their own state.
func (j *jobLoop) rest(ctx workflow.Context, enabled bool) {
	if j.CollectionDisabled == !enabled {
		return
	}
	if j.active() {
		j.withdraw(ctx)
		j.drop(ctx, workflow.Now(ctx), job.OutcomeCancelled, "the job collection was disabled while it waited")
	}
	j.CollectionDisabled = !enabled
	if j.active() {
		j.replan(ctx, true)
	}
}

// discard deletes the job unless it is deleted already.
func (j *jobLoop) discard(ctx workflow.Context) error {
	if !j.deleted {
		j.remove(ctx)
	}
	return nil
}

// remove deletes the job and unregisters its name from the collection. The loop then ends, and with it
// all executions.
func (j *jobLoop) remove(ctx workflow.Context) {
	j.end(ctx)
	err := workflow.SignalExternalWorkflow(ctx, j.Key.Collection.WorkflowID(), "", SignalRemoved, j.Key.Name).Get(ctx, nil)
	if err != nil { // the collection is gone, so nothing lists the job
		workflow.GetLogger(ctx).Info("the job collection was not told that the job is gone", "job", j.Key.ARMID(), "error", err)
	}
}

// end makes the loop end. When it returns, no more requests are sent.
func (j *jobLoop) end(ctx workflow.Context) {
	j.deleted = true
	j.withdraw(ctx)
}

// showState updates the search attribute of the job's state.
func (j *jobLoop) showState(ctx workflow.Context) {
	state := temporal.NewSearchAttributeKeyKeyword(AttributeState).ValueSet(string(j.Definition.State))
	if err := workflow.UpsertTypedSearchAttributes(ctx, state); err != nil {
		workflow.GetLogger(ctx).Warn("the state could not be shown", "job", j.Key.ARMID(), "error", err)
	}
}

// showText updates the memo's description of the job.
func (j *jobLoop) showText(ctx workflow.Context, text string) {
	if err := workflow.UpsertMemo(ctx, map[string]any{MemoText: text}); err != nil {
		workflow.GetLogger(ctx).Warn("what the job does could not be shown", "job", j.Key.ARMID(), "error", err)
	}
}
