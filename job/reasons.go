package job

import (
	"fmt"
	"strings"
	"time"
)

// The reasons that people read, for what the service decided without a request: those in a history are stored there, so
// that a new text shows beside older ones. What a receiver or a connection did wrong is said by the sender.

// Why an occurrence or an execution did not run, in the words that follow those of [Outcome.NotRun].
const (
	WhyDown               = "nothing could run it when it was due"
	WhyHostFull           = "its host had not answered as many requests as a worker makes to one host at once, until another one was due"
	WhyStillRunning       = "the execution before it was still running"
	WhyAnotherWaited      = "the execution before it was still running and another occurrence waited already"
	WhyJobChanged         = "the job was changed while it waited"
	WhyCollectionChanged  = "the job collection was disabled while it waited"
	WhyChangedBeforeSent  = "the job was changed before it was sent"
	WhyChangedWhenDue     = "the job was changed when it was due; whether it was sent is not known"
	WhyChangedBeforeRetry = "the job was changed when a retry was due; whether that was sent is not known"
	WhySkipped            = "a request skipped it"

	WhyPaused           = "the job was disabled when it was due"
	WhyCollectionPaused = "the job collection was disabled when it was due"
)

// WhyNotRecovered is the reason of a held occurrence that is not among those that run at the end; why is one of the
// above.
func WhyNotRecovered(why string, keep int) string {
	switch keep {
	case 0:
		return why
	case 1:
		return why + ", and of those that were held only the latest runs"
	}
	return fmt.Sprintf("%s, and of those that were held only the newest %d run", why, keep)
}

// AskedFor reports whether a reason is that of an occurrence that did not run since somebody asked for that: nobody is
// notified of it.
func AskedFor(why string) bool {
	return strings.HasPrefix(why, WhyPaused) || strings.HasPrefix(why, WhyCollectionPaused)
}

// WhyCrowded is the reason when as many executions as a job may have were running.
func WhyCrowded(most int) string {
	return fmt.Sprintf("%d executions of the job were running, which is the maximum", most)
}

// What became of an attempt or an execution that nobody recorded, and why an execution has no entry.
const (
	ExecutionLost       = "No worker recorded the outcome; the request may have been sent."
	AttemptLost         = "The worker stopped before it recorded the outcome; the request may have been sent."
	AttemptUnrecorded   = "The job was changed before its outcome was recorded; whether it arrived is not known."
	AttemptPerhapsSent  = "The job was changed when this attempt was due; whether it was sent is not known."
	ExecutionUnrecorded = "The history has no entry of it: it was recalled before it was sent, and counts under the " +
		"number of a later execution, or Temporal does not keep its entries any more."
)

// Why a job that is not over has no next occurrence.
const (
	WhyDisabled           = "The job is disabled."
	WhyAllSkipped         = "The occurrences that are left are skipped."
	WhyLeftOut            = "The job's calendars and blackouts leave no time for the occurrences that are left. It runs again if a change of them does."
	WhyCollectionDisabled = "The job collection is not enabled, so none of its jobs runs on its schedule."
)

// WhyDisabledAs returns why a job has no next occurrence that is disabled with a promise; why if it has none.
func WhyDisabledAs(why string, d *Disabling) string {
	if d == nil || d.Promise == (Promise{}) {
		return why
	}
	return strings.TrimSuffix(why, ".") + ": " + d.Text() + "."
}

// WhyHalted returns why a job is disabled that failed so often in a row.
func WhyHalted(at time.Time, failures, disableAfter int, last string) string {
	failed := fmt.Sprintf("%d executions in a row failed", failures)
	if failures == 1 {
		failed = "an execution failed"
	}
	return fmt.Sprintf("The job was disabled at %s, because %s and disableAfter is %d. "+
		"To resume, enable it. The last error: %s", NewTime(at), failed, disableAfter, last)
}

// WhyUnplanned returns why nothing is planned of a job whose plan is of a newer release of the time zones than those of
// the workers.
func WhyUnplanned(workers, plan string) string {
	return "Nothing is planned: the workers that were asked have time zones of " + workers +
		", and the job was planned with those of " + plan + "."
}

// WhyUnread returns why a job is not planned any further of which a calendar cannot be read.
func WhyUnread(why string) string {
	return "Nothing more is planned, since a calendar of the job cannot be read; what is planned runs. This is tried again. The error: " + why
}

// WhyOver returns why a job has no occurrence left. created is the time of the job's creation, started the
// number of occurrences started. It returns "" for a recurrence without an end.
func (d *Definition) WhyOver(created time.Time, started int) string {
	r := d.Recurrence
	switch {
	case r == nil && started == 0 && len(d.Blackouts) > 0:
		return fmt.Sprintf("The job was to run once, at %s. A blackout covers that time, or it had passed when the job was changed, and a change runs nothing at once.", d.anchor(created))
	case r == nil && started == 0:
		return fmt.Sprintf("The job was to run once, at %s. That had passed when the job was changed, and a change runs nothing at once.", d.anchor(created))
	case r == nil:
		return fmt.Sprintf("The job was to run once, at %s, which has passed.", d.anchor(created))
	case r.Count > 0 && started >= r.Count:
		return fmt.Sprintf("The job's count, %d, is used up.", r.Count)
	case r.EndTime == nil && len(d.Blackouts) > 0:
		return "The job's blackouts leave no time of the next 100 years."
	case r.EndTime == nil:
		return ""
	case started == 0 && r.EndTime.Unix() < created.Unix():
		return fmt.Sprintf("The job never runs: its endTime, %s, was past when it was created.", r.EndTime)
	default:
		return fmt.Sprintf("No occurrence is left at or before the job's endTime, %s.", r.EndTime)
	}
}

// anchor returns the time from which the job's occurrences are counted.
func (d *Definition) anchor(created time.Time) *Time {
	if d.StartTime != nil {
		return d.StartTime
	}
	return NewTime(created)
}
