package explain

import (
	"fmt"
	"slices"
	"time"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/presence"
	"almanac/job/timetable"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// A reasoner finds the answer.
type reasoner struct {
	*Facts
	answer  Answer
	version *Version // in force at the time that is asked about; nil: it is not known
}

func (r *reasoner) say(outcome Outcome, cause Cause, format string, args ...any) bool {
	r.answer.Outcome, r.answer.Cause, r.answer.Sentence = outcome, cause, fmt.Sprintf(format, args...)
	return true
}

func (r *reasoner) fact(at time.Time, source Source, format string, args ...any) *Fact {
	r.answer.Facts = append(r.answer.Facts, Fact{Time: at, Source: source, Text: fmt.Sprintf(format, args...)})
	return &r.answer.Facts[len(r.answer.Facts)-1]
}

// changed adds a change to the chain.
func (r *reasoner) changed(c *audit.Change, source Source, what string) {
	r.fact(c.Time, source, "%s %s.", who(c), what).Change = c.ID
}

// future reports whether the time is yet to come.
func (r *reasoner) future() bool { return r.At.After(r.Now) }

// definition returns the definition in force; the current one if the changes are not known.
func (r *reasoner) definition() *job.Definition {
	if r.version != nil {
		return &r.version.Definition
	}
	return &r.Job.Definition
}

// inForce returns the version that was in force at a time.
func (r *reasoner) inForce(at time.Time) *Version {
	for i := range r.Versions {
		if v := &r.Versions[i]; v.Status == audit.Succeeded && !v.Time.After(at) {
			return v
		}
	}
	return nil
}

// times returns the timetable of a definition; nil if this program cannot read it.
func (r *reasoner) times(d *job.Definition) *timetable.Timetable {
	var uses []calendars.Use
	var err error
	if d.Recurrence.ByCalendars() && r.Uses != nil {
		uses, err = r.Uses(d.Recurrence)
	}
	t, errWith := timetable.With(d.Under(r.Job.SharedBlackouts), r.Job.Created, uses, r.Job.Created, nil)
	if err != nil || errWith != nil {
		return nil
	}
	return t
}

// has reports whether a definition has an occurrence at a time.
func (r *reasoner) has(d *job.Definition, at time.Time) bool {
	t := r.times(d)
	if t == nil {
		return false
	}
	next, ok := t.After(at.Add(-time.Second))
	return ok && next.Equal(at)
}

// nearest finds the nearest occurrences.
func (r *reasoner) nearest() {
	t := r.times(r.definition())
	if t == nil {
		return
	}
	t = t.Without(r.Job.Skips, r.Job.SkipWindows...)
	if before, ok := t.Last(r.At.Add(-time.Second)); ok {
		r.answer.Before = before
	}
	if after, ok := t.After(r.At); ok {
		r.answer.After = after
	}
}

// near says which occurrences are the nearest.
func (r *reasoner) near() string {
	before, after := r.answer.Before, r.answer.After
	switch {
	case before.IsZero() && after.IsZero():
		return "It has no occurrence."
	case before.IsZero():
		return "The first one is " + r.clock(after) + "."
	case after.IsZero():
		return "The last one is " + r.clock(before) + "."
	}
	return "The nearest are " + r.clock(before) + " and " + r.clock(after) + "."
}

// zone returns the job's zone; UTC if it has none.
func (r *reasoner) zone() *time.Location {
	if rec := r.definition().Recurrence; rec != nil && rec.TimeZone != "" {
		if loc, err := recurrence.LoadLocation(rec.TimeZone); err == nil {
			return loc
		}
	}
	return time.UTC
}

// clock writes a time in the job's zone.
func (r *reasoner) clock(t time.Time) string {
	return t.In(r.zone()).Truncate(time.Second).Format(time.RFC3339)
}

// who names who asked for a change.
func who(c *audit.Change) string {
	switch {
	case c.Actor.Name() == audit.Itself:
		return "Almanac"
	case c.Actor.Name() != "":
		return c.Actor.Name()
	case c.Client != "":
		return "The Temporal client " + c.Client
	}
	return "Somebody who is not recorded"
}

// Words writes a duration with two units at most.
func Words(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// absences returns the times between two times in which no worker checked in, at their full length, and adds them to the
// chain.
func (r *reasoner) absences(from, until time.Time) (all []presence.Interval) {
	if r.Workers == nil {
		return nil
	}
	all = r.Workers.Absences(from, until, r.lookedAt())
	for _, a := range all {
		r.fact(a.From, FromWorkers, "%s, for %s.", upper(r.absent(a)), Words(a.To.Sub(a.From)))
		for _, s := range r.Workers.All() {
			if s.To.Equal(a.From) {
				r.fact(s.To, FromWorkers, "Worker %s, version %s, checked in for the last time: it was %s.", s.Identity, s.Version, s.End)
			}
			if s.From.Equal(a.To) {
				r.fact(s.From, FromWorkers, "Worker %s, version %s, checked in for the first time.", s.Identity, s.Version)
			}
		}
	}
	if r.Workers.Since.After(from) {
		r.answer.Unread = append(r.answer.Unread, "which workers were there before "+r.clock(r.Workers.Since))
	}
	return all
}

// lookedAt returns until when the record of workers goes: see [presence.Log.LookedAt]. A worker that has just answered is
// there.
func (r *reasoner) lookedAt() time.Time {
	if last, here := r.Workers.Newest(); here && r.Answered {
		return last
	}
	return r.Workers.LookedAt(r.Now)
}

// absent says that no worker checked in.
func (r *reasoner) absent(a presence.Interval) string {
	if a.To.Equal(r.lookedAt()) {
		return fmt.Sprintf("no worker has checked in since %s", r.clock(a.From))
	}
	return fmt.Sprintf("no worker checked in between %s and %s", r.clock(a.From), r.clock(a.To))
}

// absentNow says that no worker checks in now; "" if one does. Absences since a time are added to the chain.
func (r *reasoner) absentNow(since time.Time) string {
	all := r.absences(since, r.Now)
	if last := len(all) - 1; last >= 0 && all[last].To.Equal(r.lookedAt()) {
		return r.absent(all[last])
	}
	return ""
}

// away returns how long no worker checked in between two times, and says so of the longest absence; "" if one always did.
func (r *reasoner) away(from, until time.Time) (total time.Duration, sentence string) {
	var longest time.Duration
	all := r.absences(from, until)
	for _, a := range all {
		took := max(0, earlier(a.To, until).Sub(later(a.From, from)))
		total += took
		if took > longest {
			longest, sentence = took, r.absent(a)
		}
	}
	if len(all) > 1 && sentence != "" {
		sentence += fmt.Sprintf(", the longest of %d times, %s together", len(all), Words(total))
	}
	return total, sentence
}

func upper(s string) string { return string(s[0]-'a'+'A') + s[1:] }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// due adds to the chain that it was due.
func (r *reasoner) due() {
	when := r.definition().When()
	if when == "" {
		when = "once"
	}
	text := "It was due"
	if r.future() {
		text = "It will be due"
	}
	r.fact(r.At, FromSchedule, "%s at %s: %s.", text, r.clock(r.At), when)
}

// entries returns the records of the occurrence, oldest first: the attempts, and those that say why there was none. A
// manual run of that second is another execution; it is the one that is meant if there was no occurrence.
func (r *reasoner) entries() (attempts, dropped []job.Record) {
	manual := !slices.ContainsFunc(r.Records, func(one job.Record) bool {
		return one.Caller == "" && one.Backfill == "" && one.Due.Truncate(time.Second).Equal(r.At)
	})
	for _, one := range r.Records {
		due := one.Due.Truncate(time.Second)
		rest := one.Rest != nil && !r.At.Before(due) && r.At.Before(one.Rest.Before) && r.has(r.definition(), r.At)
		switch {
		case !due.Equal(r.At) && !rest, (one.Caller != "" || one.Backfill != "") && !manual:
		case one.Outcome.Ran():
			attempts = append(attempts, one)
		default:
			dropped = append(dropped, one)
		}
	}
	byOrdinal := func(a, b job.Record) int {
		if a.Repeat == b.Repeat {
			return int(a.Ordinal() - b.Ordinal())
		}
		return a.Start.Compare(b.Start)
	}
	slices.SortFunc(attempts, byOrdinal)
	slices.SortFunc(dropped, byOrdinal)
	return attempts, dropped
}

// name returns the name of a record's execution in the API; "" if it has none.
func (r *reasoner) name(one *job.Record) string {
	if one.Repeat == 0 || r.Job.Registration == 0 {
		return ""
	}
	return job.ExecutionName(r.Job.Registration, one.Repeat)
}
