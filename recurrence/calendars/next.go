package calendars

import (
	"slices"
	"time"
)

// horizon is how far Next looks for a run: 100 years.
const horizon = 36_525 * secondsPerDay

// Next returns the first occurrence that runs after a time, or false if none does within 100 years.
func (p *Plan) Next(after time.Time) (Occurrence, bool) {
	if p.quick(after.Unix()) {
		nominal, due, ok := p.next(after.Unix())
		if !ok {
			return Occurrence{}, false
		}
		o := p.byCalendars(nominal)
		o.Due = time.Unix(due, 0).UTC()
		return o.Occurrence, true
	}
	return p.nextSlowly(after)
}

// Due returns when the first run after a time is due, and its nominal time; false if there is none within 100 years. It
// allocates nothing unless there are blackouts, or the plan was made or changed shortly before.
func (p *Plan) Due(after time.Time) (nominal, due time.Time, ok bool) {
	if !p.quick(after.Unix()) {
		o, ok := p.nextSlowly(after)
		return o.Nominal, o.Due, ok
	}
	n, d, ok := p.next(after.Unix())
	if !ok {
		return time.Time{}, time.Time{}, false
	}
	return time.Unix(n, 0).UTC(), time.Unix(d, 0).UTC(), true
}

// quick reports whether what is due after an instant follows from calendars and rules alone.
func (p *Plan) quick(after int64) bool {
	return len(p.in.Blackouts) == 0 && after >= p.settled && p.in.Series != nil
}

// settledAt returns when nothing is due any more that the time matters at which the plan is made: what would be due before
// then, or was decided by an earlier plan.
func (p *Plan) settledAt() int64 {
	today := date(p.at, p.uses.zone)
	if p.before == nil && !p.moves {
		settled := p.at
		for _, t := range []time.Time{p.in.First, p.in.Begin} {
			if !t.IsZero() {
				settled = max(settled, t.Unix())
			}
		}
		return settled
	}
	if p.before != nil {
		return p.uses.at(today+2*MaxReach+5, 0)
	}
	for day := today + 1; day <= today+MaxReach; day++ {
		if p.uses.surelyWorking(day) {
			return p.uses.at(day+2, 0)
		}
	}
	return p.uses.at(today+2*MaxReach+5, 0)
}

// surelyWorking reports whether each instant on a date is one of a working day. No run moves past such a date.
func (u *uses) surelyWorking(d Date) bool {
	for i := range u.all {
		use := &u.all[i]
		only := use.OnMatch == Only
		if use.Table.Matches(d) != only {
			return false
		}
		if use.Table.location != nil && (use.Table.Matches(d-1) != only || use.Table.Matches(d+1) != only) {
			return false
		}
	}
	return true
}

// next returns the nominal and the due time of the first run after an instant.
func (p *Plan) next(after int64) (nominal, due int64, ok bool) {
	from := after + 1
	v := view{zone: p.uses.zone}
	if p.moves { // a run moves to a later day only within its days off
		today := v.date(after)
		first := today
		for first > today-MaxReach-1 && !p.uses.surelyWorking(first-1) {
			first--
		}
		if first < today || !p.uses.surelyWorking(today) {
			from = v.wall(first, 0)
		}
	}
	end := int64(1<<63 - 1)
	if !p.in.End.IsZero() {
		end = p.in.End.Unix()
	}
	var apart Date // up to here no date after the one of due is surely a working day
	for limit := after + horizon; from <= limit; {
		next, more := p.in.Series.Next(time.Unix(from-1, 0))
		n := next.Unix()
		if !more || n > end || ok && p.uses.apart(&v, &apart, due, n) {
			break
		}
		from = n + 1
		d, object, runs := p.dueOf(&v, n)
		switch {
		case !runs:
			if !p.moves {
				from = max(from, p.uses.afterOff(&v, n, object))
			}
		case d <= after:
		case !ok || d < due || d == due && closer(n, nominal, due):
			nominal, due, ok = n, d, true
			if !p.moves {
				return nominal, due, true
			}
			apart = v.date(due)
			if n == due && p.uses.surelyWorking(apart+1) { // nothing is nearer, and nothing later moves here
				return nominal, due, true
			}
		}
	}
	return nominal, due, ok
}

// closer reports whether of two that are due at one instant the first one stays.
func closer(a, b, due int64) bool {
	if da, db := max(a-due, due-a), max(b-due, due-b); da != db {
		return da < db
	}
	return a < b
}

// apart reports whether a nominal time is so late that nothing from there on moves to an instant or before it: a date
// after the instant's and not after its own is surely a working day, or it is out of reach. checked is the last date that
// was looked at.
func (u *uses) apart(v *view, checked *Date, due, n int64) bool {
	last := v.date(n)
	if last > v.date(due)+MaxReach+1 {
		return true
	}
	for *checked < last {
		*checked++
		if u.surelyWorking(*checked) {
			return true
		}
	}
	return false
}

// dueOf returns when calendars make a nominal time due; else which one objects.
func (p *Plan) dueOf(v *view, n int64) (due int64, object int, runs bool) {
	local := n + v.at(n)
	day := dayOf(local)
	object, _ = p.uses.objects(n, day)
	if object < 0 {
		return n, object, true
	}
	if !p.uses.all[object].OnMatch.Moves() {
		return 0, object, false
	}
	due, runs = p.uses.move(v, day, local-int64(day)*secondsPerDay, object)
	return due, object, runs
}

// afterOff returns when the days in a row are over, from the one on that an instant has for a calendar that objects, to
// which it objects.
func (u *uses) afterOff(v *view, t int64, object int) int64 {
	use := &u.all[object]
	other := view{zone: use.Table.location}
	if other.zone != nil && other.zone != u.zone {
		v = &other
	}
	d := v.date(t)
	if use.OnMatch != Only {
		for last, off := use.Table.offUntil(d); off; last, off = use.Table.offUntil(d) {
			if d = last + 1; d > dayOf(lastInstant) {
				break
			}
		}
	} else {
		d++
	}
	return v.wall(d, 0)
}

// lastInstant is the end of the year 9999.
const lastInstant = 253402300799

// maxLooked is how many occurrences in a row that do not run nextSlowly looks at, and longSpan how many in a span are
// enough for it not to become longer. So a rule of minutes that a blackout of each day stops ends within a second.
const (
	maxLooked = 200_000
	longSpan  = 2_000
)

// nextSlowly is Next by way of all occurrences in a span, and then in longer ones.
func (p *Plan) nextSlowly(after time.Time) (Occurrence, bool) {
	from, span := max(after.Unix()+1, p.at), int64(4*secondsPerDay)
	end, looked := from+horizon, 0
	for from < end && looked < maxLooked {
		if i, over := p.covering(from); i >= 0 { // nothing is due in a blackout
			from = over
			continue
		}
		all := p.Occurrences(time.Unix(from, 0), time.Unix(from+span, 0))
		if i := slices.IndexFunc(all, func(o Occurrence) bool { return o.Ran() }); i >= 0 {
			return all[i], true
		}
		from, looked = from+span+1, looked+len(all)
		if len(all) < longSpan {
			span = min(span*4, 400*secondsPerDay)
		}
		next, ok := p.nextNominal(from - (2*MaxReach+5)*secondsPerDay)
		if !ok {
			break
		}
		from = max(from, next-(MaxReach+3)*secondsPerDay)
	}
	return Occurrence{}, false
}

// nextNominal returns the first nominal time at or after an instant.
func (p *Plan) nextNominal(from int64) (int64, bool) {
	first := p.in.First
	isFirst := !first.IsZero() && first.Unix() >= from
	if p.in.Series != nil {
		if next, ok := p.in.Series.Next(time.Unix(from-1, 0)); ok && (p.in.End.IsZero() || !next.After(p.in.End)) && (!isFirst || next.Before(first)) {
			return next.Unix(), true
		}
	}
	return first.Unix(), isFirst
}

// MayFire reports whether a rule fires after a time, whatever becomes of that, or may do so by other calendars: these say
// which days are numbered.
func (p *Plan) MayFire(after time.Time) bool {
	_, ok := p.nextNominal(after.Unix() + 1)
	return ok || len(p.in.Numbered) > 0 && (p.in.End.IsZero() || after.Before(p.in.End))
}

// Ends reports whether nothing is decided after a time: no rule fires, and no occurrence is moved or held until later.
func (p *Plan) Ends(after time.Time) bool {
	from := after.Add(time.Second)
	if _, ok := p.nextNominal(from.Unix()); ok {
		return false
	}
	return len(p.Occurrences(from, from.Add((2*MaxReach+5)*24*time.Hour))) == 0
}
