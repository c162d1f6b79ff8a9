// Package alerts raises the alerts of a job: it builds them from what happens in the job's loop, by the rules of
// [almanac/job/notification]. They are put into an outbox, which outbox.go has handed over: nothing waits for that.
package alerts

import (
	"reflect"
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows/notifier"
	"almanac/workflows/plan"
)

// State is what a run of a job hands over to the next.
type State struct {
	notification.Watch
	Inherited []notification.Rule `json:"inherited,omitempty"` // of the collection
	Outbox    notification.Outbox `json:"outbox,omitzero"`     // alerts that may not have been handed over yet
	Failure   *Failure            `json:"failure,omitempty"`   // the execution that ended last, if it failed
}

// A Failure is an execution that failed.
type Failure struct {
	Execution string    `json:"execution"`
	Due       time.Time `json:"due"`
	Attempts  int       `json:"attempts,omitempty"`
}

// A Raiser raises the alerts of one job. Its exported members are required, but for Courier.
type Raiser struct {
	Key        job.Key
	State      *State
	Definition *job.Definition
	Outcomes   *job.Outcomes
	Courier    Courier // of the worker; nil: nothing is handed over

	raised bool          // the outbox has what this run has not offered yet
	again  time.Time     // when to ask what was handed over; zero: there is nothing to ask
	pause  time.Duration // until then, if nothing was handed over
}

// rules returns the rules that apply: those of the job, if it has notifications, or of the collection.
func (r *Raiser) rules() []notification.Rule {
	if own := r.Definition.Notifications; own != nil {
		return notification.Rules(own)
	}
	return r.State.Inherited
}

// Ended raises the events of an execution that ended. The job's outcomes have it already.
func (r *Raiser) Ended(ctx workflow.Context, e *job.ExecutionEnd) {
	if r.State.Failure = nil; e.Failed {
		r.State.Failure = &Failure{e.ID, e.Due, e.Attempts}
	}
	for _, m := range r.State.Ended(r.rules(), e) {
		a := notification.Alert{Event: m.Event, Execution: e.ID, Due: e.Due, Attempts: e.Attempts}
		switch m.Event {
		case job.EventLate:
			a.Late = iso8601.FormatDuration(e.Late().Truncate(time.Second))
		case job.EventFailed:
			a.Failures, a.Error = e.FailedBefore+1, e.Error
		case job.EventRecovered:
			a.Failures = e.FailedBefore
		}
		r.raise(ctx, m.Keys, a, e.ID, "")
	}
}

// Dropped raises the event of occurrences that did not run.
func (r *Raiser) Dropped(ctx workflow.Context, d *plan.Dropped) {
	if !d.Outcome.Missed() || job.AskedFor(d.Why) || d.Blackout != nil { // the caller that changed the job has the answer
		return
	}
	a := notification.Alert{Event: job.EventMissed, Outcome: d.Outcome, Count: d.Count, First: d.First, Last: d.Last}
	r.raise(ctx, notification.On(r.rules(), job.EventMissed), a, d.First.UTC().Format(time.RFC3339), d.Why)
}

// Unplanned raises an event of a job that is not planned any further, since a calendar cannot be read: occurrences may be
// missed.
func (r *Raiser) Unplanned(ctx workflow.Context, why string) {
	a := notification.Alert{Event: job.EventMissed, Error: why}
	now := workflow.Now(ctx).UTC().Format(time.RFC3339Nano)
	r.raise(ctx, notification.On(r.rules(), job.EventMissed), a, "unplanned "+now, "a calendar cannot be read")
}

// Disabled raises the event of a job that was disabled because it failed.
func (r *Raiser) Disabled(ctx workflow.Context, failures int, why string) {
	a := notification.Alert{Event: job.EventDisabled, Failures: failures, Error: why}
	r.addFailure(&a)
	r.raise(ctx, notification.On(r.rules(), job.EventDisabled), a, workflow.Now(ctx).UTC().Format(time.RFC3339Nano), "")
}

// QuietAt returns when the job, if nothing succeeds until then, is silent for so long that a rule applies; zero for
// never.
func (r *Raiser) QuietAt() time.Time { return r.State.Next(r.rules(), r.Outcomes.LastSuccess()) }

// CheckQuiet raises the event of a job that is silent for so long that a rule applies. due is when the next occurrence
// is due; zero for never. A job is not silent before it is due for the first time since it was created, enabled or
// rescheduled.
func (r *Raiser) CheckQuiet(ctx workflow.Context, due time.Time) {
	rules := r.rules()
	if len(notification.On(rules, job.EventQuiet)) == 0 {
		return
	}
	now, last := workflow.Now(ctx), r.Outcomes.LastSuccess()
	if r.State.Since.IsZero() {
		r.State.Rest(now)
		if due.After(now) {
			r.State.Rest(due)
		}
	}
	for _, key := range r.State.Silent(rules, last, now) {
		for _, rule := range rules {
			if rule.Key == key {
				a := notification.Alert{Event: job.EventQuiet, Failures: r.Outcomes.ConsecutiveFailures}
				if last := r.Outcomes.LastError; last != nil && a.Failures > 0 {
					a.Error = last.Message
				}
				r.addFailure(&a)
				r.raise(ctx, []string{key}, a, key+" "+strconv.FormatInt(now.UnixNano(), 10), string(rule.Within))
			}
		}
	}
}

// addFailure adds to an alert which execution failed last, if the last one did.
func (r *Raiser) addFailure(a *notification.Alert) {
	if f := r.State.Failure; f != nil {
		a.Execution, a.Due, a.Attempts = f.Execution, f.Due, f.Attempts
	}
}

// raise puts an alert into the outbox. what distinguishes it from others of its event.
func (r *Raiser) raise(ctx workflow.Context, keys []string, a notification.Alert, what, why string) {
	if len(keys) == 0 {
		return
	}
	a.Job, a.Time, a.LastSuccess = r.Key, workflow.Now(ctx).UTC(), r.Outcomes.LastSuccess()
	a.Identify(workflow.GetInfo(ctx).FirstRunID, what)
	a.Describe(why)
	raised := notification.Raised{Alert: a, Inherit: keys}
	if own := r.Definition.Notifications; own != nil {
		raised.Inherit, raised.Own = nil, selected(own, keys)
	}
	if !r.State.Outbox.Fits(&raised) { // part of it may have been handed over
		r.exchange(ctx)
	}
	if !r.State.Outbox.Add(raised) {
		r.lost(ctx, 1, "the outbox is full, since earlier alerts cannot be handed over")
	}
	r.raised = true
}

// selected returns copies of the notifications with these keys.
func selected(list []job.Notification, keys []string) (found []job.Notification) {
	for i := range list {
		for _, key := range keys {
			if n := list[i]; notification.Key(&n, i) == key {
				n.Name = key
				found = append(found, n)
			}
		}
	}
	return found
}

// Inherit takes over the rules of the collection.
func (r *Raiser) Inherit(ctx workflow.Context, rules []notification.Rule) {
	same := reflect.DeepEqual(rules, r.State.Inherited) //workflowcheck:ignore // of types without maps it is deterministic
	if !same {
		r.State.Inherited = rules
		r.RulesChanged(ctx)
	}
}

// RulesChanged begins to wait for silence anew.
func (r *Raiser) RulesChanged(ctx workflow.Context) {
	if r.Outcomes.LastSuccess().IsZero() || len(notification.On(r.rules(), job.EventQuiet)) == 0 {
		r.State.Forget()
	} else {
		r.State.Rest(workflow.Now(ctx))
	}
}

// Test sends a test to the targets of the job's own notifications, once to each, and returns the results.
func (r *Raiser) Test(ctx workflow.Context) ([]notification.Delivery, error) {
	return notifier.Test(ctx, r.Key.Collection, r.Key.Name, r.Definition.Notifications)
}
