package timetable

import (
	"math"
	"slices"
	"time"

	"almanac/job"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// By returns the timetable by calendars and by the blackouts of its definition: its occurrences are then those that run,
// at the times that these make them due, and not the nominal ones. Nothing is due before it is made, at the creation of
// the job or at a change of the calendars, the blackouts or the schedule; what was decided before a change is in the
// memory, which is nil for a new job. A job that runs once has no calendars. t is as [NominalTimes] returns it for the same
// calendars.
func (t *Timetable) By(uses []calendars.Use, made time.Time, m *calendars.Memory) *Timetable {
	if len(uses) == 0 && len(t.blackouts) == 0 && (m == nil || len(m.Held) == 0) {
		return t
	}
	in := calendars.Input{Series: t.schedule, Calendars: uses, Numbered: t.numbered, Blackouts: t.blackouts}
	if t.later { // else what is nominally past may be due later
		in.Begin = time.Unix(t.earliest(), 0).UTC()
	}
	if t.zone != "" {
		in.Location, _ = recurrence.LoadLocation(t.zone) // Of has read it
	}
	if t.atOnce {
		in.First = time.Unix(t.created, 0).UTC()
	}
	if t.schedule == nil {
		in.First = time.Unix(max(t.start, t.created), 0).UTC()
	}
	if t.end != math.MaxInt64 {
		in.End = time.Unix(t.end, 0).UTC()
	}
	by := *t
	by.moves = slices.ContainsFunc(uses, func(u calendars.Use) bool { return u.OnMatch.Moves() }) ||
		slices.ContainsFunc(t.blackouts, func(b calendars.Blackout) bool { return b.OnMatch != calendars.SkipInBlackout })
	if by.plan = calendars.NewPlan(in, made.Truncate(time.Second)); m != nil {
		by.plan = calendars.Continue(in, made.Truncate(time.Second), *m)
	}
	return &by
}

// Occurrences returns what becomes of the occurrences that are decided from one time to another, both included, in that
// order: those that run at their due times, the others at their nominal times. There are none without calendars.
func (t *Timetable) Occurrences(from, until time.Time) []calendars.Occurrence {
	if t.plan == nil {
		return nil
	}
	return t.plan.Occurrences(from, until)
}

// Memory returns what is decided at a time, for the timetable that follows a change then.
func (t *Timetable) Memory(at time.Time) *calendars.Memory {
	if t.plan == nil {
		return nil
	}
	return new(t.plan.Memory(at))
}

// NominalOf returns the nominal time of an occurrence that is due then; the due time if there is no such one, or the
// timetable has no calendars.
func (t *Timetable) NominalOf(due time.Time) time.Time {
	if t.plan != nil {
		if i := slices.IndexFunc(t.before, func(k Kept) bool { return k.Due.Equal(due) }); i >= 0 {
			return t.before[i].Nominal
		}
		if nominal, at, ok := t.plan.Due(due.Add(-time.Second)); ok && at.Unix() == due.Unix() {
			return nominal
		}
	}
	return due
}

// Within returns the last time up to which so many nominal times at most follow another one; until if they are less.
func (t *Timetable) Within(from, until time.Time, most int) time.Time {
	if t.schedule == nil {
		return until
	}
	for at := range t.schedule.Between(from.Add(time.Second), until.Add(time.Second)) {
		if most--; most == 0 {
			return at
		}
	}
	return until
}

// MayFire reports whether the rule fires after a time, whatever calendars make of that, or may by others.
func (t *Timetable) MayFire(after time.Time) bool { return t.plan != nil && t.plan.MayFire(after) }

// NumberedDays returns the days of a schedule of working days; see [calendars.Plan.NumberedDays].
func (t *Timetable) NumberedDays(from, until time.Time) []calendars.NumberedDay {
	if t.plan == nil {
		return nil
	}
	return t.plan.NumberedDays(from, until)
}

// Late returns the first occurrences that are due after a time, of those that are nominally due up to it, and of those
// that are held which calendars make due up to it.
func (t *Timetable) Late(by time.Time, most int) (late []calendars.Identity, held []calendars.Held) {
	if t.plan == nil || !t.moves {
		return nil, nil
	}
	for _, o := range t.plan.Occurrences(by.Add(time.Second), by.AddDate(0, 0, calendars.MaxReach+1)) {
		switch h := o.HeldBy(); {
		case !o.Ran() || len(late)+2*len(held) >= most: // a held one takes twice as much room
		case h != nil && !h.Due.After(by):
			held = append(held, *h)
		case !o.Nominal.After(by):
			late = append(late, o.Identity())
		}
	}
	return late, held
}

// Closes returns when a blackout begins after a time, if that is within another time of it; zero if none does.
func (t *Timetable) Closes(after time.Time, within time.Duration) time.Time {
	if t.plan == nil || len(t.blackouts) == 0 || within <= 0 {
		return time.Time{}
	}
	at, _ := t.plan.Closes(after, within)
	return at
}

// maxSkippedBy is how many skipped occurrences in a row are looked at.
const maxSkippedBy = 100_000

// skips reports whether a request skipped the occurrence that calendars make due then: it is known by its nominal time.
func (t *Timetable) skips(due time.Time) bool {
	return len(t.skipped)+len(t.windows) > 0 && t.SkippedByRequest(t.NominalOf(due))
}

// SkippedByRequest reports whether an occurrence with a nominal time is skipped, if there is one.
func (t *Timetable) SkippedByRequest(nominal time.Time) bool {
	return slices.Contains(t.skipped, nominal.Unix()) || t.window(nominal) != nil
}

// HasBlackouts reports whether the timetable is one by blackouts: then each occurrence takes long to find alone.
func (t *Timetable) HasBlackouts() bool { return t.plan != nil && len(t.blackouts) > 0 }

// ByDays reports whether the timetable is one by calendars or blackouts.
func (t *Timetable) ByDays() bool { return t.plan != nil }

// keptBy returns an occurrence, or the next one that is not skipped; other returns the one after it, or before.
func (t *Timetable) keptBy(
	next time.Time, ok bool, other func(time.Time) (time.Time, bool),
) (time.Time, bool) {
	for n := 0; ok && t.skips(next); n++ {
		if n == maxSkippedBy {
			return time.Time{}, false
		}
		next, ok = other(next)
	}
	return next, ok
}

// skippedBy is SkippedAfter with calendars: an occurrence is due at most [calendars.MaxReach] days after what is
// skipped.
func (t *Timetable) skippedBy(after time.Time) (time.Time, bool) {
	var end time.Time
	for _, one := range t.skipped {
		end = latest(end, time.Unix(one, 0))
	}
	for _, w := range t.windows {
		end = latest(end, w.Until)
	}
	end = end.AddDate(0, 0, calendars.MaxReach+1)
	for _, k := range t.before {
		if k.Due.After(after) && t.SkippedByRequest(k.Nominal) {
			return k.Due.UTC(), true
		}
	}
	const span = 8 * 24 * time.Hour // it is asked once for many, since each alone may take as long
	for from, n := after.Add(time.Second), 0; n < maxSkippedBy && !from.After(end); from = from.Add(span + time.Second) {
		all := t.plan.Occurrences(from, from.Add(span))
		for i := range all {
			if o := &all[i]; o.Ran() && !o.Due.After(end) && t.SkippedByRequest(o.Nominal) {
				return o.Due, true
			}
		}
		n += len(all)
	}
	return time.Time{}, false
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lastBy returns the last occurrence that calendars make due at or before by, skipped by a request or not.
func (t *Timetable) lastBy(by int64) (time.Time, bool) {
	const day = 86400
	first := t.created - (calendars.MaxReach+1)*day
	for until, span := by, int64(4*day); until >= first; span = min(4*span, 400*day) {
		all := t.plan.Occurrences(time.Unix(until-span, 0), time.Unix(until, 0))
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Ran() {
				return all[i].Due, true
			}
		}
		until -= span + 1
	}
	return t.lastKept(by)
}

// With returns the timetable of a stored definition by its blackouts and its calendars, which are nil if it names none: see
// [NominalTimes] and [Timetable.By]; without both, see [Timetable.Except]. Without the calendars that it names, the error is
// [ErrCalendars].
func With(
	d *job.Definition, created time.Time, uses []calendars.Use, made time.Time, m *calendars.Memory,
) (*Timetable, error) {
	if d.Recurrence.ByCalendars() && len(uses) == 0 {
		return nil, ErrCalendars
	}
	t, err := NominalTimes(d, created, uses)
	if err != nil {
		return nil, err
	}
	by := t.By(uses, made, m)
	if by.plan == nil && m != nil {
		return t.Except(m.Early), nil
	}
	return by, nil
}

// Except returns the timetable of nominal times without those that an earlier plan by calendars made due before them:
// they are decided, although they are to come.
func (t *Timetable) Except(early []calendars.Identity) *Timetable {
	rest := *t
	rest.decided = nil
	for _, i := range early {
		if !i.Nominal.IsZero() {
			rest.decided = append(rest.decided, i.Nominal.Unix())
		}
	}
	return &rest
}

func (t *Timetable) isDecided(nominal int64) bool { return slices.Contains(t.decided, nominal) }

// ByNominal returns what calendars make of the occurrence that is nominally due at a time; false if there is none.
func (t *Timetable) ByNominal(at time.Time) (calendars.Occurrence, bool) {
	if t.plan == nil {
		return calendars.Occurrence{}, false
	}
	for _, reach := range []time.Duration{0, (calendars.MaxReach + 1) * 24 * time.Hour} {
		for _, o := range t.plan.Occurrences(at.Add(-reach), at.Add(reach)) {
			if o.Nominal.Equal(at) {
				return o, true
			}
		}
		if !t.moves {
			break
		}
	}
	return calendars.Occurrence{}, false
}

// OfJob returns the timetable from now on of a job that exists, by its calendars and blackouts as its workflow does; see
// [With].
func OfJob(j *job.Job, uses []calendars.Use) (*Timetable, error) {
	d := j.Definition.Under(j.SharedBlackouts)
	made := j.Made
	if made.IsZero() {
		made = j.Created
	}
	return With(d, j.Created, uses, made, j.Memory)
}
