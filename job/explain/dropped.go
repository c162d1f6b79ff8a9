package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"almanac/internal/audit"
	"almanac/internal/iso8601"
	"almanac/job"
)

// dropped answers for an occurrence that did not run, by the entry that says why.
func (r *reasoner) dropped(one *job.Record) bool {
	r.fact(one.Start, FromHistory, "It was recorded: %s.", one.Outcome.NotRun(one.WhyNot)).Entry = one
	r.answer.Execution = r.name(one)
	if one.By != nil && one.By.Blackout != nil {
		return r.say(SkippedOut, InBlackout, "It did not run: %s.", one.WhyNot)
	}
	switch one.WhyNot {
	case job.WhyDown:
		return r.down(one)
	case job.WhyHostFull:
		return r.say(Missed, HostLimit, "It was missed: it was put off, since its host had as many unanswered requests as a worker makes at once, "+
			"until another one was due, and %s.", r.catchUp(one))
	case job.WhyStillRunning, job.WhyAnotherWaited:
		return r.overlapped(one)
	case job.WhySkipped:
		return r.skipped(one.Start)
	case job.WhyCollectionChanged:
		cause, by := r.collectionChange(one.Start)
		return r.say(Cancelled, cause, "It did not run: %s while it waited.", by)
	case job.WhyJobChanged, job.WhyChangedBeforeSent, job.WhyChangedWhenDue, job.WhyChangedBeforeRetry:
		return r.withdrawn(one)
	}
	if job.AskedFor(one.WhyNot) {
		return r.leftOut(one)
	}
	if strings.HasSuffix(one.WhyNot, "which is the maximum") {
		return r.say(Missed, TooManyRunning, "It was missed: %s.", one.WhyNot)
	}
	return r.say(Missed, NothingRanIt, "It was not run: %s.", one.WhyNot)
}

// down answers for an occurrence that nothing could run when it was due.
func (r *reasoner) down(one *job.Record) bool {
	rule := r.catchUp(one)
	all := r.absences(r.At, one.Start)
	if len(all) > 0 && !all[0].From.After(r.At) {
		return r.say(Missed, NoWorker, "It was missed: %s, and %s.", r.absent(all[0]), rule)
	}
	if r.Workers == nil || r.Workers.Since.After(r.At) {
		return r.say(Missed, NothingRanIt, "It was missed: nothing ran it until %s, and %s. Which workers were there is not recorded of that time.", r.clock(one.Start), rule)
	}
	when := "all that time"
	if len(all) > 0 {
		when = "when it was due, though not all the time since"
	}
	return r.say(Missed, NothingRanIt, "It was missed: nothing ran it until %s, and %s. Workers checked in %s.", r.clock(one.Start), rule, when)
}

// catchUp says by which rule an occurrence was left out that waited.
func (r *reasoner) catchUp(one *job.Record) string {
	d := r.definition()
	window := d.Recurrence.CatchUp()
	needed := iso8601.FormatDuration(one.Start.Sub(r.At).Truncate(time.Second) + time.Second)
	if window == 0 {
		r.fact(one.Start, FromSchedule, "recurrence.catchUpWindow is not set. With %s or more it would have run.", needed)
		return "without a catch-up window only the latest of the occurrences that waited runs"
	}
	r.fact(one.Start, FromSchedule, "recurrence.catchUpWindow is %s. With %s or more it would have run.", d.Recurrence.CatchUpWindow, needed)
	return fmt.Sprintf("it had been due for longer than the catch-up window, %s", d.Recurrence.CatchUpWindow)
}

// overlapped answers for an occurrence that came due while another execution ran.
func (r *reasoner) overlapped(one *job.Record) bool {
	policy := r.definition().Recurrence.Overlap()
	outcome, verb := Missed, "It was missed"
	if one.Outcome == job.OutcomeSkipped {
		outcome, verb = SkippedOut, "It did not run"
	}
	also := ""
	if one.WhyNot == job.WhyAnotherWaited {
		also = ", another occurrence waited already"
	}
	this := job.Record{Execution: job.Execution{Due: r.At, Repeat: -1}, Attempt: job.Attempt{Start: r.At.Add(time.Second)}}
	other, end := r.before(&this)
	if other == nil {
		return r.say(outcome, Overlapped, "%s: the execution before it was still running%s, and overlapPolicy is %s.", verb, also, policy)
	}
	r.answer.Other = r.name(other)
	r.fact(other.Start, FromHistory, "Attempt %[2]d of the execution that was due at %[1]s began, and ended at %[3]s.", r.clock(other.Due), other.Number, r.clock(end)).Entry = other
	return r.say(outcome, Overlapped, "%s: the execution that was due at %s was still running, until %s%s, and overlapPolicy is %s.",
		verb, r.clock(other.Due), r.clock(end), also, policy)
}

// skipped answers for an occurrence that a request skipped. recorded is when that was recorded; zero: it is to come.
func (r *reasoner) skipped(recorded time.Time) bool {
	verb, outcome := "It did not run", SkippedOut
	if r.future() {
		verb, outcome = "It will not run", WillNotRun
	}
	c := cmp.Or(r.skip(), r.closest(recorded, audit.SkipJob)) // one that was due already is recorded with the change
	if c == nil {
		return r.say(outcome, Skipped, "%s: a request skipped it. Who sent that is not kept any more.", verb)
	}
	r.changed(&c.Change, FromChanges, "skipped it")
	return r.say(outcome, Skipped, "%s: %s skipped it at %s.", verb, who(&c.Change), r.clock(c.Time))
}

// soon is how far the record of what a change did is from the change itself at most.
const soon = 20 * time.Second

// closest returns the change of one of the operations that was made just before a time; nil if none was.
func (r *reasoner) closest(at time.Time, operations ...audit.Operation) *Version {
	var found *Version
	for i := range r.Versions {
		v := &r.Versions[i]
		if v.Status == audit.Failed || v.Time.After(at.Add(time.Second)) || at.Sub(v.Time) > soon {
			continue
		}
		for _, o := range operations {
			if v.Operation == o && (found == nil || v.Time.After(found.Time)) {
				found = v
			}
		}
	}
	return found
}

// withdrawn answers for an occurrence that a change withdrew.
func (r *reasoner) withdrawn(one *job.Record) bool {
	v := r.closest(one.Start, audit.WriteJob, audit.DisableJob, audit.PruneJob, audit.EnableJob, audit.PlanJob, audit.DisableCollection)
	uncertain := ""
	if one.WhyNot == job.WhyChangedWhenDue || one.WhyNot == job.WhyChangedBeforeRetry {
		uncertain = " Whether a request was sent is not known."
	}
	switch {
	case v == nil:
		return r.say(Cancelled, Changed, "It was cancelled: %s.%s", one.WhyNot, uncertain)
	case v.Operation == audit.DisableCollection || v.CollectionDisabled:
		cause, by := r.collectionChange(one.Start)
		return r.say(Cancelled, cause, "It was cancelled: %s while it waited.%s", by, uncertain)
	case !v.Active():
		r.changed(&v.Change, FromChanges, "disabled the job")
		return r.say(Cancelled, Disabled, "It was cancelled: %s disabled the job at %s, while it waited.%s", who(&v.Change), r.clock(v.Time), uncertain)
	}
	r.changed(&v.Change, FromChanges, "changed the job")
	return r.say(Cancelled, Changed, "It was cancelled: %s changed the job at %s, while it waited.%s", who(&v.Change), r.clock(v.Time), uncertain)
}
