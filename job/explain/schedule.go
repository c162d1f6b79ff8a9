package explain

import (
	"time"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// beforeCreation answers if the job did not exist.
func (r *reasoner) beforeCreation() bool {
	if !r.At.Before(r.Job.Created) {
		return false
	}
	r.fact(r.Job.Created, FromJob, "The job was created.")
	return r.say(NotDue, NotCreated, "Nothing was due at %s: the job was created at %s.", r.clock(r.At), r.clock(r.Job.Created))
}

// movedAway answers if newer time zones moved the occurrence.
func (r *reasoner) movedAway() bool {
	if r.has(r.definition(), r.At) {
		return false
	}
	for i := range r.Versions {
		v := &r.Versions[i]
		if v.Moved.IsZero() || v.MovedTo.IsZero() {
			continue
		}
		by := v.MovedTo.Sub(v.Moved)
		moved := r.At.Add(by)
		if !v.Moved.Equal(r.At) && (r.At.Before(v.Moved) || !r.has(&v.Definition, moved)) {
			continue
		}
		r.fact(v.Time, FromChanges, "%s", v.Message).Change = v.ID
		return r.say(NotDue, ZonesChanged, "It is not due at %s any more: newer time zone data moved it to %s.", r.clock(r.At), r.clock(moved))
	}
	return false
}

// notInSchedule answers if the schedule does not have the time.
func (r *reasoner) notInSchedule() bool {
	d := r.definition()
	if d.Recurrence.ByCalendars() && r.times(d) == nil {
		return r.say(NotKnown, Unknown, "Whether it is due at %s is not known, since the job's calendars could not be read.", r.clock(r.At))
	}
	if r.version == nil && !r.FromStart || r.has(d, r.At) {
		return false
	}
	if r.dayOff(d) {
		return true
	}
	if r.hadOrGot() || r.repeated() {
		return true
	}
	verb := "Nothing was due"
	if r.future() {
		verb = "Nothing is due"
	}
	r.fact(r.At, FromSchedule, "The schedule: %s.", r.when(d))
	switch rec := d.Recurrence; {
	case d.StartTime != nil && r.At.Before(d.StartTime.Time):
		return r.say(NotDue, BeforeStart, "%s at %s: the job's startTime is %s. %s", verb, r.clock(r.At), r.clock(d.StartTime.Time), r.near())
	case rec != nil && rec.EndTime != nil && r.At.After(rec.EndTime.Time):
		return r.say(NotDue, AfterEnd, "%s at %s: the job's endTime was %s. %s", verb, r.clock(r.At), r.clock(rec.EndTime.Time), r.near())
	case rec == nil && !r.answer.Before.IsZero():
		return r.say(NotDue, AfterEnd, "%s at %s: the job was to run once, at %s.", verb, r.clock(r.At), r.clock(r.answer.Before))
	}
	if excluded := r.exclusion(d); excluded != "" {
		return r.say(NotDue, Excluded, "%s at %s: the job's exclusions leave it out (%s). %s", verb, r.clock(r.At), excluded, r.near())
	}
	return r.say(NotDue, NoSuchTime, "%s at %s: the schedule does not have that time. %s", verb, r.clock(r.At), r.near())
}

// dayOff answers if calendars or blackouts move the occurrence away from the time, or drop it, by their current versions.
func (r *reasoner) dayOff(d *job.Definition) bool {
	t := r.times(d)
	if t == nil || !t.ByDays() {
		return false
	}
	o, ok := t.ByNominal(r.At)
	if !ok {
		return false
	}
	why, cause := job.WhyByCalendar(&o), DayOff
	if b := job.BlackoutOf(&o); b != nil {
		if cause = InBlackout; o.Ran() {
			why = b.String() + " holds it until then"
		}
	}
	if by := job.CalendarDayOf(&o); by != nil && cause == DayOff && o.Reason == calendars.SameTime {
		why = by.String() + ", and " + why
	}
	r.fact(r.At, FromSchedule, "The schedule: %s.", r.when(d))
	if !o.Ran() {
		verb := "Nothing was due"
		if r.future() {
			verb = "Nothing is due"
		}
		return r.say(NotDue, cause, "%s at %s: %s. %s", verb, r.clock(r.At), why, r.near())
	}
	return r.say(NotDue, cause, "The occurrence of %s is moved to %s: %s.", r.clock(r.At), r.clock(o.Due), why)
}

// exclusion returns the exclusion without which an occurrence would be due, in words; "" if there is none.
func (r *reasoner) exclusion(d *job.Definition) string {
	t := r.times(d)
	if t == nil {
		return ""
	}
	i, ok := t.Excluded(r.At)
	if !ok {
		return ""
	}
	text := d.Recurrence.Exclusions[i].Text()
	r.fact(r.At, FromSchedule, "recurrence.exclusions[%d] is %s.", i, text)
	return text
}

func (r *reasoner) when(d *job.Definition) string {
	if when := d.When(); when != "" {
		return when
	}
	return "once"
}

// hadOrGot answers if an earlier version of the job had the time, or a later one has it.
func (r *reasoner) hadOrGot() bool {
	for i := range r.Versions { // newest first
		v := &r.Versions[i]
		if v.Status != audit.Succeeded || !v.Time.After(r.At) || !r.has(&v.Definition, r.At) {
			continue
		}
		first := v // the oldest of those that have it
		for k := i + 1; k < len(r.Versions) && r.Versions[k].Time.After(r.At) && r.has(&r.Versions[k].Definition, r.At); k++ {
			first = &r.Versions[k]
		}
		r.changed(&first.Change, FromChanges, "changed the schedule")
		return r.say(NotDue, Changed, "Nothing was due at %s: the schedule has that time only since %s, when %s changed it.",
			r.clock(r.At), r.clock(first.Time), who(&first.Change))
	}
	var next *Version // the one after v
	for i := range r.Versions {
		v := &r.Versions[i]
		if v.Status == audit.Succeeded && !v.Time.After(r.At) {
			if next != nil && r.has(&v.Definition, r.At) {
				r.changed(&next.Change, FromChanges, "changed the schedule")
				return r.say(NotDue, Changed, "Nothing was due at %s any more: %s changed the schedule at %s. %s",
					r.clock(r.At), who(&next.Change), r.clock(next.Time), r.near())
			}
			next = v
		}
	}
	return false
}

const localTime = "2006-01-02T15:04:05"

// skippedByClock answers for a local time that the clock of the job's zone skips. The occurrence is then as much later as
// it skips.
func (r *reasoner) skippedByClock() bool {
	zone := r.zone()
	if r.Local == "" || r.At.In(zone).Format(localTime) == r.Local {
		return false
	}
	begin, _ := r.At.In(zone).ZoneBounds()
	_, before := begin.Add(-time.Second).In(zone).Zone()
	_, after := begin.Zone()
	from := begin.UTC().Add(time.Duration(before) * time.Second)
	to := begin.UTC().Add(time.Duration(after) * time.Second)
	r.fact(begin, FromSchedule, "The clock of %s skips %s to %s on %s.", zone, from.Format("15:04"), to.Format("15:04"), from.Format(time.DateOnly))
	verb, run := "It did not run", "It ran"
	if r.future() {
		verb, run = "It will not run", "It runs"
	}
	skips := "the clock skips " + from.Format("15:04") + " to " + to.Format("15:04") + " that night in " + zone.String()
	if !r.has(r.definition(), r.At) {
		return r.say(NotDue, ClockSkips, "Nothing is due at %s: %s. %s", r.Local, skips, r.near())
	}
	if attempts, _ := r.entries(); len(attempts) == 0 && !r.future() {
		run = "It was due"
	}
	return r.say(NotDue, ClockSkips, "%s at %s: %s. %s at %s instead.", verb, r.Local, skips, run, r.clock(r.At))
}

// repeated answers if the clock shows the local time twice, and the occurrence is the first one.
func (r *reasoner) repeated() bool {
	zone := r.zone()
	first, err := recurrence.ParseTime(r.At.In(zone).Format(localTime), zone)
	if err != nil || first.Equal(r.At) || !r.has(r.definition(), first) {
		return false
	}
	r.fact(first, FromSchedule, "The clock of %s shows %s twice that night. The schedule has the first one.", zone, r.At.In(zone).Format("15:04"))
	return r.say(NotDue, ClockRepeat, "Nothing is due at %s: the clock of %s shows that time twice, and the job runs at the first one, %s.",
		r.clock(r.At), zone, r.clock(first))
}
