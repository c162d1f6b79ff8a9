package recurrence_test

import (
	"slices"
	"time"

	"almanac/recurrence"
)

// An oracle computes the grid of a rule by trying every date and every instant. It states the definition of
// the grid as plainly as possible, and shares no code with the package. Instants are Unix seconds.
type oracle struct {
	rule   *recurrence.Rule
	loc    *time.Location
	anchor int64
	local  time.Time // the anchor in loc
	every  int
}

func newOracle(r *recurrence.Rule, anchor time.Time) oracle {
	o := oracle{rule: r, loc: time.UTC, anchor: anchor.Unix(), every: max(r.Interval, 1)}
	if r.Location != nil {
		o.loc = r.Location
	}
	o.local = o.read(o.anchor)
	return o
}

// grid returns the grid's instants from from to until, both included, sorted.
func (o oracle) grid(from, until int64) []int64 {
	from = max(from, o.anchor)
	var all []int64
	switch {
	case o.rule.Frequency > recurrence.Hour:
		all = o.dates(from, until)
	case len(o.rule.Hours)+len(o.rule.Minutes) == 0:
		unit := map[recurrence.Frequency]int{recurrence.Minute: 60, recurrence.Hour: 3600}[o.rule.Frequency]
		step := int64(unit * o.every)
		for t := o.anchor + (from-o.anchor)/step*step; t <= until; t += step {
			all = append(all, t)
		}
	default:
		all = o.slots(from, until)
	}
	all = slices.DeleteFunc(all, func(t int64) bool { return t < from || t > until || !contains(o.rule.Years, o.read(t).Year()) })
	slices.Sort(all)
	return slices.Compact(all)
}

// dates tries each date from some days before to some days after.
func (o oracle) dates(from, until int64) (all []int64) {
	first, last := date(o.read(from)).AddDate(0, 0, -3), date(o.read(until)).AddDate(0, 0, 3)
	for d := first; !d.After(last); d = d.AddDate(0, 0, 1) {
		if !o.on(d) {
			continue
		}
		for _, at := range o.times() {
			if o.rule.EveryPass {
				all = append(all, passes(d.Add(at), o.loc)...)
			} else {
				all = append(all, wall(d.Add(at), o.loc))
			}
		}
		if len(o.rule.Hours)+len(o.rule.Minutes) == 0 && d.Equal(date(o.local)) {
			all = append(all, o.anchor)
		}
	}
	return all
}

// on reports whether the rule fires on a date, given as its midnight in UTC.
func (o oracle) on(d time.Time) bool {
	anchor := date(o.local)
	monday := func(d time.Time) time.Time { return d.AddDate(0, 0, -(int(d.Weekday())+6)%7) }
	daysApart := func(a, b time.Time) int { return int(b.Unix()-a.Unix()) / 86400 }
	months := (d.Year()-anchor.Year())*12 + int(d.Month()) - int(anchor.Month())
	sameDay := d.Day() == min(anchor.Day(), lastDay(d))
	switch o.rule.Frequency {
	case recurrence.Day:
		days := daysApart(anchor, d)
		return days >= 0 && days%o.every == 0
	case recurrence.Week:
		days := daysApart(monday(anchor), monday(d))
		weekDays := o.rule.WeekDays
		if len(weekDays) == 0 {
			weekDays = []time.Weekday{anchor.Weekday()}
		}
		return days >= 0 && days%(7*o.every) == 0 && slices.Contains(weekDays, d.Weekday())
	case recurrence.Month:
		if months < 0 || months%o.every != 0 || !contains(o.rule.Months, int(d.Month())) {
			return false
		}
		if len(o.rule.MonthDays)+len(o.rule.NearestWeekdays)+len(o.rule.MonthlyOccurrences) == 0 {
			return sameDay
		}
		if len(o.rule.Positions) == 0 {
			return o.ofMonth(d)
		}
		var all []int
		for day := 1; day <= lastDay(d); day++ {
			if o.ofMonth(d.AddDate(0, 0, day-d.Day())) {
				all = append(all, day)
			}
		}
		i := slices.Index(all, d.Day())
		return i >= 0 && (slices.Contains(o.rule.Positions, i+1) || slices.Contains(o.rule.Positions, i-len(all)))
	case recurrence.Year:
		years, list := d.Year()-anchor.Year(), o.rule.Months
		if len(list) == 0 {
			list = []int{int(anchor.Month())}
		}
		return years >= 0 && years%o.every == 0 && contains(list, int(d.Month())) && sameDay
	}
	return false
}

// ofMonth reports whether the days of a month have a date, whatever their positions.
func (o oracle) ofMonth(d time.Time) bool {
	fromEnd := d.Day() - lastDay(d) - 1
	numbers, weekdays := len(o.rule.MonthDays)+len(o.rule.NearestWeekdays) > 0, len(o.rule.MonthlyOccurrences) > 0
	byNumber := slices.Contains(o.rule.MonthDays, d.Day()) || slices.Contains(o.rule.MonthDays, fromEnd) ||
		slices.ContainsFunc(o.rule.NearestWeekdays, func(n int) bool { return nearest(d, n) == d.Day() })
	byWeekday := slices.ContainsFunc(o.rule.MonthlyOccurrences, func(m recurrence.MonthlyOccurrence) bool {
		return m.Day == d.Weekday() &&
			(m.Occurrence == 0 || m.Occurrence == (d.Day()+6)/7 || m.Occurrence == -((6-fromEnd)/7))
	})
	if o.rule.EitherDay || !numbers || !weekdays {
		return byNumber || byWeekday
	}
	return byNumber && byWeekday
}

// nearest returns the Monday to Friday of d's month that is nearest its n-th day; 0 if it has none.
func nearest(d time.Time, n int) int {
	if n < 0 {
		n += lastDay(d) + 1
	}
	if n < 1 || n > lastDay(d) {
		return 0
	}
	for _, distance := range []int{0, -1, 1, -2, 2} {
		day := d.AddDate(0, 0, n+distance-d.Day())
		if day.Month() == d.Month() && day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			return day.Day()
		}
	}
	return 0
}

// passes returns the instants at which a clock in loc shows local, which is given as if in UTC.
func passes(local time.Time, loc *time.Location) (all []int64) {
	for t := local.Unix() - 2*86400; t <= local.Unix()+2*86400; t += 86400 / 4 {
		_, offset := time.Unix(t, 0).In(loc).Zone()
		at := local.Unix() - int64(offset)
		if _, offset := time.Unix(at, 0).In(loc).Zone(); at+int64(offset) == local.Unix() {
			all = append(all, at)
		}
	}
	return all
}

// times returns the times of day, as durations since midnight.
func (o oracle) times() (all []time.Duration) {
	hours, minutes, second := o.rule.Hours, o.rule.Minutes, 0
	if len(minutes) == 0 {
		minutes, second = []int{o.local.Minute()}, o.local.Second()
		if len(hours) == 0 {
			hours = []int{o.local.Hour()}
		}
	}
	for h := range 24 {
		for m := range 60 {
			if contains(hours, h) && contains(minutes, m) {
				all = append(all, time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(second)*time.Second)
			}
		}
	}
	return all
}

// slots tries each second in a slot.
func (o oracle) slots(from, until int64) (all []int64) {
	first, length := o.anchor-int64(o.local.Second()), int64(60)
	if o.rule.Frequency == recurrence.Hour {
		first, length = first-60*int64(o.local.Minute()), 3600
	}
	minutes, second := o.rule.Minutes, 0
	if len(minutes) == 0 {
		second = o.local.Second()
		if o.rule.Frequency == recurrence.Hour {
			minutes = []int{o.local.Minute()}
		}
	}
	period := length * int64(o.every)
	for slot := first + (from-first)/period*period; slot <= until; slot += period {
		for t := slot; t < slot+length; t++ {
			// Since 1973 all offsets are whole minutes, so most seconds need not be tried.
			if t > 94694400 && t%60 != int64(second) {
				continue
			}
			if l := o.read(t); l.Second() == second && contains(minutes, l.Minute()) && contains(o.rule.Hours, l.Hour()) {
				all = append(all, t)
			}
		}
	}
	return all
}

func (o oracle) read(t int64) time.Time { return time.Unix(t, 0).In(o.loc) }

// wall returns the instant at which a clock in loc first shows local, which is given as if in UTC. If no
// clock ever shows it, the offset before the gap applies.
func wall(local time.Time, loc *time.Location) int64 {
	shows := func(t int64) int64 {
		_, offset := time.Unix(t, 0).In(loc).Zone()
		return t + int64(offset)
	}
	const day = 86400
	want := local.Unix()
	first := int64(0)
	for t := want - 2*day; t <= want+2*day; t += day / 4 {
		offset := shows(t) - t
		if c := want - offset; shows(c) == want && (first == 0 || c < first) {
			first = c
		}
	}
	if first != 0 {
		return first
	}
	// Find the last quarter of an hour, then the last second, at which the clock shows less than local.
	t := want - 2*day
	for shows(t+900) < want {
		t += 900
	}
	for shows(t+1) < want {
		t++
	}
	return want - (shows(t) - t)
}

// date returns the date of a local time, as its midnight in UTC.
func date(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func lastDay(d time.Time) int {
	return time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// contains reports whether a list of the rule contains n. An empty list contains every n.
func contains(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }
