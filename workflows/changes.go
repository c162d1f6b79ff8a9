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
	Definition job.Definition `json:"definition"`         // State is enabled or disabled; secrets left out are kept
	Text       string         `json:"text"`               // of the definition, for people; written by the caller so that no replay writes another one
	Generation int            `json:"generation"`         // of the job that the caller read; 0 for whichever
	Retarget   bool           `json:"retarget,omitempty"` // secrets that are left out are kept although they will be sent to another target
}

// handle registers everything that a job answers.
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

// handleCollection registers what the job's collection tells it.
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

// change applies a change, one at a time. Between the update that asks for it and
// its turn, others may have been applied.
func (j *jobLoop) change(ctx workflow.Context, apply func(workflow.Context) error) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a change is finished although somebody cancels the workflow itself
	if err := j.changing.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		j.changing.Unlock()
		j.changed = true
	}()
	return apply(ctx)
}

// A command is an update without arguments, and a signal.
type command struct {
	name, describe string
	may            func() error
	do             func(workflow.Context)
}

// apply does what the command asks for, if the job as it is now permits it.
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

// A listener handles the signals of one name, one after another, beside the loop.
type listener struct {
	signals workflow.ReceiveChannel
	next    func(workflow.Context, workflow.ReceiveChannel)
	busy    bool
}

// listen registers what handles the signals of a name. The Temporal Web UI and CLI
// show the description.
func (j *jobLoop) listen(ctx workflow.Context, name, description string, next func(workflow.Context, workflow.ReceiveChannel)) {
	signals := workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: description})
	j.listeners = append(j.listeners, &listener{signals: signals, next: next})
}

// signalled reports whether a signal waits that the loop is to handle.
func (j *jobLoop) signalled() bool { return slices.ContainsFunc(j.listeners, (*listener).waits) }

func (l *listener) waits() bool { return !l.busy && l.signals.Len() > 0 }

// handleSignals starts to handle the signals that wait. A coroutine that waits for signals would
// cost more than all else that a job has in memory, so there is one only for those that came.
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

// handleSignal applies what a signal asks for; the run does not end before that is
// done.
func (j *jobLoop) handleSignal(ctx workflow.Context, name string, apply func(workflow.Context) error) {
	j.handling++
	if err := j.change(ctx, apply); err != nil {
		workflow.GetLogger(ctx).Warn("a signal was refused", "signal", name, "job", j.Key.ARMID(), "error", err)
	}
	j.handling--
	j.changed = true
}

// quiet reports whether no update and no signal is being handled or waits.
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
	// Whoever sent it may know more, such as a new time zone. Once in force, a
	// definition that cannot be planned would stop the job.
	if _, err := r.Definition.Plan(j.Created, workflow.Now(ctx)); err != nil {
		return refuse(ErrTypeInvalid, err.Error())
	}
	_, err := j.withSecrets(r)
	return err
}

// validate refuses a request that would be refused now, or that the API would not have
// made: the update may come from elsewhere. The clock of the API may be ahead.
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

// withSecrets returns the definition of a request with the secrets that it leaves out.
// What the caller read may be changed since, so this decides whether they may be kept.
func (j *jobLoop) withSecrets(r ReplaceRequest) (job.Definition, error) {
	d, err := r.Definition.KeepSecrets(&j.Definition, r.Retarget)
	if err != nil {
		return d, refuse(ErrTypeInvalid, err.Error())
	}
	return d, nil
}

// maySetState refuses to enable or disable a job that has nothing left to run.
func (j *jobLoop) maySetState() error {
	if s := j.Definition.State; s.Final() {
		return refuse(ErrTypeConflict, fmt.Sprintf("The job is %s: no occurrence is left. Change its schedule by PUT or PATCH, or run it.", s))
	}
	return j.mayChange()
}

func (j *jobLoop) mayRun() error {
	if n := j.demanded() + j.Owed; n >= maxDemanded {
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

// setState enables or disables the job.
func (j *jobLoop) setState(ctx workflow.Context, s job.State) {
	d := j.Definition
	d.State = s
	j.replace(ctx, d, "")
}

// replace puts a new definition in force, with a text for people unless that stays.
// When it returns, nothing is sent by the old one any more; an attempt that was sent
// ends as it ends.
//
// A final job is an enabled one without an occurrence left: a definition that has one
// revives it, and one that has none leaves it final.
func (j *jobLoop) replace(ctx workflow.Context, d job.Definition, text string) {
	old, wasActive := j.Definition, j.active()
	final := old.State.Final()
	if final {
		old.State = job.StateEnabled
	}
	// Both compare JSON. encoding/json is deterministic for types without maps;
	// what workflowcheck finds is a cache of it, and the garbage collector.
	same := d.Equal(&old)           //workflowcheck:ignore
	timing := d.SameSchedule(&old)  //workflowcheck:ignore
	enabled := d.Equal(enable(old)) //workflowcheck:ignore
	if same {
		return
	}
	if !enabled { // otherwise what runs, manually, runs by what stays in force
		j.withdraw(ctx)
	}
	j.Generation++
	if wasActive && (!timing || d.State != job.StateEnabled) {
		j.drop(ctx, workflow.Now(ctx), job.OutcomeCancelled, "the job was changed while it waited")
	}
	shown := j.Definition.State
	j.Definition, j.Final = d, time.Time{}
	switch {
	case final && !timing: // active or not: the answer says whether it has a future
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

// enable returns the definition with nothing changed but that it is enabled.
func enable(d job.Definition) *job.Definition {
	d.State = job.StateEnabled
	return &d
}

// rest takes note that the job's collection was enabled, or disabled: then its
// jobs do not run, whatever their own state.
func (j *jobLoop) rest(ctx workflow.Context, enabled bool) {
	if j.Resting == !enabled {
		return
	}
	if j.active() {
		j.withdraw(ctx)
		j.drop(ctx, workflow.Now(ctx), job.OutcomeCancelled, "the job collection was disabled while it waited")
	}
	j.Resting = !enabled
	if j.active() {
		j.replan(ctx, true)
	}
}

// discard deletes the job, unless somebody has.
func (j *jobLoop) discard(ctx workflow.Context) error {
	if !j.deleted {
		j.remove(ctx)
	}
	return nil
}

// remove deletes the job: it tells the collection, and then the loop ends,
// and with it whatever is running.
func (j *jobLoop) remove(ctx workflow.Context) {
	j.end(ctx)
	err := workflow.SignalExternalWorkflow(ctx, j.Key.Collection.WorkflowID(), "", SignalRemoved, j.Key.Name).Get(ctx, nil)
	if err != nil { // the collection is gone: nothing lists the job
		workflow.GetLogger(ctx).Info("the job collection was not told that the job is gone", "job", j.Key.ARMID(), "error", err)
	}
}

// end makes the loop end, and with it whatever is running. When it returns,
// nothing more is sent.
func (j *jobLoop) end(ctx workflow.Context) {
	j.deleted = true
	j.withdraw(ctx)
}

// showState lets people find jobs by their state.
func (j *jobLoop) showState(ctx workflow.Context) {
	state := temporal.NewSearchAttributeKeyKeyword(AttributeState).ValueSet(string(j.Definition.State))
	if err := workflow.UpsertTypedSearchAttributes(ctx, state); err != nil {
		workflow.GetLogger(ctx).Warn("the state could not be shown", "job", j.Key.ARMID(), "error", err)
	}
}

// showText tells people what the job does.
func (j *jobLoop) showText(ctx workflow.Context, text string) {
	if err := workflow.UpsertMemo(ctx, map[string]any{MemoText: text}); err != nil {
		workflow.GetLogger(ctx).Warn("what the job does could not be shown", "job", j.Key.ARMID(), "error", err)
	}
}
