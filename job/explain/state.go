package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/internal/audit"
	"almanac/job"
)

// skippedAhead answers for an occurrence that is skipped and has no entry, since it is to come.
func (r *reasoner) skippedAhead() bool {
	return job.Skipped(r.At, r.Job.Skips, r.Job.SkipWindows) && r.skipped(time.Time{})
}

// skip returns the change that skipped the occurrence: the newest that named it or a time around it, or else the newest
// before it that skipped the next ones and so many that it can be among them; nil if there is none.
func (r *reasoner) skip() *Version {
	var counted *Version
	for i := range r.Versions { // newest first
		v := &r.Versions[i]
		if v.Operation != audit.SkipJob || v.Status != audit.Succeeded || v.Time.After(r.At) {
			continue
		}
		switch s := v.Skip; {
		case s == nil:
		case s.Due.Equal(r.At), !s.Until.IsZero() && (job.SkipWindow{From: s.From, Until: s.Until}).Has(r.At):
			return v
		case counted == nil && s.Due.IsZero() && s.Until.IsZero() && r.among(v, max(1, s.Next)):
			counted = v
		}
	}
	return counted
}

// among reports whether the occurrence can be among the next n after a change, without those that others skipped.
func (r *reasoner) among(v *Version, n int) bool {
	t := r.times(&v.Definition)
	if t == nil {
		return false
	}
	at := v.Time
	for range n + len(r.Job.Skips) {
		next, ok := t.After(at)
		if !ok || !next.Before(r.At) {
			return ok && next.Equal(r.At)
		}
		at = next
	}
	return false
}

// inactive answers if the job or its collection was disabled.
func (r *reasoner) inactive() bool {
	v := r.version
	if r.future() || v == nil && r.FromStart {
		v = &Version{Definition: r.Job.Definition, CollectionDisabled: r.Job.CollectionDisabled}
	}
	if v == nil || v.Active() {
		return false
	}
	if d := r.pause(); d != nil && !d.Until.IsZero() && !r.At.Before(d.Until) {
		return false // the pause is over before
	}
	r.due()
	cause, by := r.inactiveSince(v)
	if d := r.pause(); d != nil {
		return r.held(d, cause, by)
	}
	if r.future() {
		return r.say(WillNotRun, cause, "It will not run unless that changes: %s.", by)
	}
	return r.say(DidNotRun, cause, "It did not run: %s.%s", by, r.until())
}

// until says when the job was active again after the time that is asked about; "" if it was not, or that is not known.
func (r *reasoner) until() string {
	for _, v := range slices.Backward(r.Versions) {
		if v.Time.After(r.At) && v.Active() && v.Status == audit.Succeeded {
			r.changed(&v.Change, FromChanges, "changed that")
			return fmt.Sprintf(" It was active again from %s.", r.clock(v.Time))
		}
	}
	return ""
}

// inactiveSince says by whom and when a version that is not active was disabled.
func (r *reasoner) inactiveSince(v *Version) (Cause, string) {
	if v.Definition.State != job.StateDisabled {
		return r.collectionChange(later(v.Time, r.At))
	}
	var by *Version
	for i := range r.Versions {
		one := &r.Versions[i]
		if one.Status != audit.Succeeded || !r.future() && one.Time.After(r.At) {
			continue
		}
		if one.Definition.State != job.StateDisabled {
			break
		}
		by = one
	}
	if d := r.Job.DisabledBy; by == nil && d != nil && !d.At.After(r.At) {
		r.fact(d.At, FromJob, "The job was disabled.")
		return Disabled, fmt.Sprintf("%s disabled the job at %s", who(&audit.Change{Actor: audit.Actor{Caller: d.By}}), r.clock(d.At))
	}
	if by == nil {
		return Disabled, "the job is disabled; by whom is not kept any more"
	}
	if by.Operation == audit.WriteJob && by == &r.Versions[len(r.Versions)-1] && by.Differences == nil {
		r.changed(&by.Change, FromChanges, "created the job disabled")
		return Disabled, fmt.Sprintf("%s created the job disabled, at %s", who(&by.Change), r.clock(by.Time))
	}
	what := "disabled the job"
	if by.Operation == audit.PruneJob {
		what = "pruned the job"
	}
	did := what
	if by.Message != "" {
		what += ": " + strings.TrimSuffix(by.Message, ".")
	}
	r.changed(&by.Change, FromChanges, what)
	return Disabled, fmt.Sprintf("%s %s at %s", who(&by.Change), did, r.clock(by.Time))
}

// collectionChange says by whom and when the job collection was disabled that is disabled at a time.
func (r *reasoner) collectionChange(at time.Time) (Cause, string) {
	for i := range r.Collection { // newest first
		c := &r.Collection[i]
		writes := c.Operation == audit.WriteCollection && slices.ContainsFunc(c.Differences, func(d audit.Difference) bool {
			return d.Path == "properties.state"
		})
		if c.Time.After(at.Add(time.Second)) || c.Operation != audit.DisableCollection && !writes || c.Status == audit.Failed {
			continue
		}
		r.changed(c, FromCollection, "disabled the job collection")
		return CollectionDisabled, fmt.Sprintf("%s disabled the job collection at %s", who(c), r.clock(c.Time))
	}
	return CollectionDisabled, "the job collection was disabled; by whom is not kept any more"
}

// unanswered answers for an occurrence that is due, and not recorded, of a job whose workflow does not answer.
func (r *reasoner) unanswered() bool {
	if !r.Unanswered || !r.Complete {
		return false
	}
	r.due()
	if sentence := r.absentNow(r.At); sentence != "" {
		return r.say(Pending, NoWorker, "Nothing is recorded of it yet: %s. What becomes of it is decided when one does.", sentence)
	}
	return r.say(NotKnown, Unknown, "It was due at %s, and nothing is recorded of it. The workflow of the job, which knows more, did not answer.", r.clock(r.At))
}

// countUsedUp answers if the job has run as often as it may.
func (r *reasoner) countUsedUp() bool {
	rec := r.definition().Recurrence
	if rec == nil || rec.Count == 0 || r.Unanswered { // how often it ran is not known then
		return false
	}
	left := rec.Count - r.Job.Started
	if left > 0 && !r.future() {
		return false
	}
	if left > 0 { // those before it use them up
		t, at := r.times(r.definition()), r.Now
		if t == nil {
			return false
		}
		t = t.Without(r.Job.Skips, r.Job.SkipWindows...)
		for ; left > 0; left-- {
			next, ok := t.After(at)
			if !ok || !next.Before(r.At) {
				return false
			}
			at = next
		}
	}
	r.due()
	r.fact(r.At, FromJob, "recurrence.count is %d, and %d occurrences were started.", rec.Count, r.Job.Started)
	if r.future() {
		return r.say(WillNotRun, CountReached, "It will not run: the job's count, %d, will be used up by the occurrences before it.", rec.Count)
	}
	last := ""
	if s := r.Job.Status.LastExecutionTime; s != nil {
		last = " The last execution began at " + r.clock(s.Time) + "."
	}
	return r.say(NotDue, CountReached, "It did not run: the job's count, %d, was used up.%s", rec.Count, last)
}

// executing answers for an execution that has not ended.
func (r *reasoner) executing() bool {
	st := r.Standing
	if st == nil || r.future() {
		return false
	}
	r.due()
	attempts, _ := r.entries()
	for i := range attempts {
		r.attempt(&attempts[i])
	}
	r.answer.Execution = st.Name
	if st.Reason != "" {
		r.fact(r.Now, FromExecution, "%s", st.Reason).Name = st.Name
	}
	switch {
	case st.Retry != nil && st.Stage == job.StageWaiting:
		why := ""
		if st.Retry.LastError != nil {
			why = ": " + strings.TrimSuffix(st.Retry.LastError.Message, ".")
		}
		when := ""
		if st.Retry.NextAttemptTime != nil {
			when = " The next one begins at " + r.clock(st.Retry.NextAttemptTime.Time) + "."
		}
		return r.say(Pending, WaitingForRetry, "It has not succeeded yet: %d of %d attempts failed%s.%s", st.Retry.Attempt-1, st.Retry.MaxAttempts, why, when)
	case st.Full:
		return r.say(Pending, HostLimit, "It waits: its host has as many unanswered requests as a worker makes at once.")
	case st.Stage == job.StageRunning:
		return r.say(Pending, Running, "It is running: an attempt is being made.")
	}
	if sentence := r.absentNow(r.At); sentence != "" {
		return r.say(Pending, NoWorker, "It has not begun: %s.", sentence)
	}
	return r.say(Pending, WaitedForWorker, "It has not begun: %s", stop(lowerFirst(st.Reason)))
}

// undecided answers for an occurrence that is due, and about which nothing is recorded yet.
func (r *reasoner) undecided() bool {
	next := r.Job.Status.NextExecutionTime
	if next == nil || next.After(r.At) || !r.Job.Definition.State.Final() && next.After(r.Now) {
		return false
	}
	r.due()
	if sentence := r.absentNow(r.At); sentence != "" {
		return r.say(Pending, NoWorker, "It has not begun: %s. What becomes of it is decided when one does.", sentence)
	}
	for i := range r.Records {
		if one := &r.Records[i]; one.Due.Before(r.At) && one.Outcome.Failed() {
			continue
		}
	}
	if r.Job.Executing || r.Job.Running != nil {
		return r.say(Pending, Overlapped, "It has not begun: the execution before it has not ended.")
	}
	return r.say(Pending, WaitedForWorker, "It has not begun, and no reason is recorded yet.")
}

// toCome answers for an occurrence that will run.
func (r *reasoner) toCome() bool {
	if !r.future() {
		return false
	}
	r.due()
	d := r.definition()
	hazard := func(format string, args ...any) {
		r.answer.Hazards = append(r.answer.Hazards, fmt.Sprintf(format, args...))
	}
	if sentence := r.absentNow(r.Now.Add(-time.Second)); sentence != "" {
		hazard("%s", upper(sentence)+".")
	}
	if retry := r.Job.Status.Retry; retry != nil && d.Recurrence.Overlap() != job.OverlapAllowAll {
		hazard("The execution before it waits for its retry. If it has not ended by then, overlapPolicy %s decides.", d.Recurrence.Overlap())
	} else if d.Recurrence.Overlap() == job.OverlapSkip {
		hazard("It does not run if the execution before it is still running: overlapPolicy is Skip.")
	}
	if n := d.DisableAfter; n > 0 && r.Job.Status.ConsecutiveFailures > 0 {
		hazard("The job is disabled after %d failures in a row; %d executions in a row have failed.", n, r.Job.Status.ConsecutiveFailures)
	}
	if d.Recurrence != nil && d.Recurrence.Count > 0 && !r.Unanswered {
		hazard("recurrence.count is %d, and %d occurrences were started.", d.Recurrence.Count, r.Job.Started)
	}
	unless := "if a worker is there"
	if len(r.answer.Hazards) > 0 {
		unless = "unless something prevents it: " + strings.TrimSuffix(lowerFirst(r.answer.Hazards[0]), ".")
	}
	return r.say(WillRun, OnSchedule, "It will run at %s, %s.", r.clock(r.At), unless)
}
