package explain

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"almanac/job"
)

// recorded answers from the history's entries of the occurrence.
func (r *reasoner) recorded() bool {
	attempts, dropped := r.entries()
	switch {
	case len(attempts) > 0:
		r.due()
		return r.ran(attempts)
	case len(dropped) > 0:
		r.due()
		return r.dropped(&dropped[len(dropped)-1])
	}
	return false
}

// ran answers for an occurrence that ran.
func (r *reasoner) ran(attempts []job.Record) bool {
	first, last := &attempts[0], &attempts[0]
	count := 0 // without those of the error action
	for i := range attempts {
		if attempts[i].ActionName == job.MainAction {
			last = &attempts[i]
			count++
		}
		r.attempt(&attempts[i])
	}
	r.answer.Execution = r.name(first)
	late, ok := first.Lateness()
	if ok {
		split := first.Split()
		r.answer.Split, r.answer.Lateness = &split, late
	}
	if last.Outcome.Failed() {
		return r.failed(last, count)
	}
	r.answer.Earlier = last.Start.Sub(first.Start)
	switch {
	case ok && late >= LateAfter && late >= r.answer.Earlier:
		return r.late(first)
	case r.answer.Earlier > 0:
		return r.say(Late, EarlierAttempts, "It began %s late and succeeded at attempt %d, at %s: the attempts before it failed, which cost %s.",
			Words(late), last.Number, r.clock(last.Start), Words(r.answer.Earlier))
	case last.End.Sub(last.Start) >= SlowAfter:
		return r.say(OnTime, TargetSlow, "It ran on time, %s after it was due, and the target took %s to answer.", Words(late), Words(last.End.Sub(last.Start)))
	}
	return r.say(OnTime, OnSchedule, "It ran on time: it began %s after it was due, and succeeded.", Words(late))
}

// attempt adds an attempt to the chain.
func (r *reasoner) attempt(one *job.Record) {
	what := fmt.Sprintf("Attempt %d", one.Number)
	if one.ActionName == job.ErrorAction {
		what = fmt.Sprintf("Attempt %d of the error action", one.Number)
	}
	if one.Number == 1 && one.ActionName == job.MainAction {
		s := one.Split()
		if s.Worker > 0 {
			r.fact(one.Due.Add(s.Worker), FromHistory, "A worker took it, %s after it was due.", Words(s.Worker)).Entry = one
		}
		if one.PutOff > 0 {
			r.fact(one.Due, FromHistory, "It was put off %d times, since the host had as many unanswered requests as a worker makes at once.", one.PutOff).Entry = one
		}
	}
	took := Words(one.End.Sub(one.Start))
	if one.Outcome.Failed() {
		r.fact(one.Start, FromHistory, "%s began, and failed after %s: %s", what, took, stop(one.Message)).Entry = one
		return
	}
	r.fact(one.Start, FromHistory, "%s began, and succeeded after %s.", what, took).Entry = one
}

// stop ends a sentence.
func stop(text string) string {
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// timedOut matches the message of an attempt that ended at its time limit, and not the body of an answer that says so.
var timedOut = regexp.MustCompile(`(?:^|: )timed out: not complete after [0-9.e+]+ s\.?$`)

// failed answers for an occurrence whose last attempt failed.
func (r *reasoner) failed(last *job.Record, attempts int) bool {
	times := "once"
	if attempts > 1 {
		times = fmt.Sprintf("at all %d attempts", attempts)
	}
	switch {
	case last.Message == job.AttemptLost || last.Message == job.AttemptUnrecorded:
		return r.say(Failed, WorkerLost, "It ran, and whether it succeeded is not known: %s", stop(lowerFirst(last.Message)))
	case timedOut.MatchString(last.Message):
		return r.say(Failed, TargetSlow, "It ran and failed %s: the target did not answer in time. Of %s, the last attempt used all.", times, Words(last.End.Sub(last.Start)))
	}
	return r.say(Failed, TargetFailed, "It ran and failed %s: %s", times, stop(last.Why()))
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// late answers for an execution that began late.
func (r *reasoner) late(first *job.Record) bool {
	split, late := *r.answer.Split, r.answer.Lateness
	taken := first.Due.Add(split.Worker)
	if r.wasInactive(first) {
		return true
	}
	if other, end := r.before(first); other != nil && end.Sub(first.Due) > late/2 {
		r.answer.Other = r.name(other)
		r.fact(end, FromHistory, "The execution that was due at %s ended.", r.clock(other.Due)).Entry = other
		return r.say(Late, Overlapped, "It ran %s late: it waited until the execution that was due at %s had ended, at %s.", Words(late), r.clock(other.Due), r.clock(end))
	}
	if first.PutOff > 0 {
		return r.say(Late, HostLimit, "It ran %s late: it was put off %d times, since its host had as many unanswered requests as a worker makes at once.", Words(late), first.PutOff)
	}
	switch most := max(split.Worker, split.Server, split.Place); most {
	case split.Worker:
		away, sentence := r.away(first.Due, taken)
		if away > split.Worker/2 || sentence != "" && away > LateAfter {
			return r.say(Late, NoWorker, "It ran %s late: %s.", Words(late), sentence)
		}
		return r.say(Late, WaitedForWorker, "It ran %s late: it waited %s for a worker to take it, though workers checked in.", Words(late), Words(split.Worker))
	case split.Server:
		return r.say(Late, WaitedForServer, "It ran %s late: Temporal took %s to record that it may be sent.", Words(late), Words(split.Server))
	}
	return r.say(Late, WaitedForPlace, "It ran %s late: it waited %s for a place at the worker or at its host.", Words(late), Words(split.Place))
}

// wasInactive answers if the job was not active when the occurrence was due: it ran when it was enabled.
func (r *reasoner) wasInactive(first *job.Record) bool {
	if r.version == nil || r.version.Active() || first.Due.Nanosecond() != 0 {
		return false
	}
	cause, by := r.inactiveSince(r.version)
	return r.say(Late, cause, "It ran %s late: %s, and it ran when that was over.", Words(r.answer.Lateness), by)
}

// before returns the last attempt of the execution that had begun and not ended when the one of the record was due, and
// when that ended; nil if there was none. An execution that waits for a retry has not ended.
func (r *reasoner) before(first *job.Record) (other *job.Record, end time.Time) {
	begun := map[int]bool{}
	for i := range r.Records {
		if one := &r.Records[i]; one.Outcome.Ran() && one.Due.Before(first.Due) && !one.Start.After(first.Due) {
			begun[one.Repeat] = true
		}
	}
	for i := range r.Records {
		one := &r.Records[i]
		if begun[one.Repeat] && one.Repeat != first.Repeat && one.Outcome.Ran() && one.End.After(first.Due) && one.End.After(end) {
			other, end = one, one.End
		}
	}
	return other, end
}
