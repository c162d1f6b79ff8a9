package azure

import (
	"iter"
	"slices"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer/value"
)

// A rule is a recurrence as Azure Scheduler understood it. It shares no code with package recurrence, with which it is
// compared.
type rule struct {
	frequency      string
	interval       int
	count          int
	end            *time.Time
	hours, minutes []int
	weekDays       []time.Weekday
	monthDays      []int
	occurrences    []occurrence
	months         []int
}

type occurrence struct {
	day time.Weekday
	nth int // 0: each
}

// ruleOf reads a recurrence; false if a part of it is not known, or not valid.
func ruleOf(v *value.Value) (r rule, ok bool) {
	frequency, ok := v.Get("frequency").Str()
	if !ok || v.Unknowns() > 0 {
		return r, false
	}
	r.frequency = strings.ToLower(frequency)
	r.interval, ok = v.Get("interval").Whole()
	if !ok || r.interval < 1 || r.interval > 100000 {
		return r, false
	}
	r.count, _ = v.Get("count").Whole()
	s := v.Get("schedule")
	r.hours, r.minutes, r.monthDays, r.months = whole(s.Get("hours")), whole(s.Get("minutes")), whole(s.Get("monthDays")), whole(s.Get("months"))
	for _, item := range listed(s.Get("weekDays")) {
		if day, ok := weekday(item); ok {
			r.weekDays = append(r.weekDays, day)
		}
	}
	for _, item := range listed(s.Get("monthlyOccurrences")) {
		day, ok := weekday(item.Get("day"))
		if !ok {
			return r, false
		}
		nth, _ := item.Get("occurrence").Whole()
		r.occurrences = append(r.occurrences, occurrence{day, nth})
	}
	return r, true
}

// listed returns the items of a list; the service took one without brackets, too.
func listed(v *value.Value) []*value.Value {
	switch {
	case v == nil:
		return nil
	case v.Kind == value.List:
		return v.Items
	}
	return []*value.Value{v}
}

func whole(v *value.Value) (all []int) {
	for _, item := range listed(v) {
		if n, ok := item.Whole(); ok {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func weekday(v *value.Value) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if v.Is(day.String()) {
			return day, true
		}
	}
	return 0, false
}

// runs returns the runs of a job that is created at now.
func (r rule) runs(start *time.Time, now time.Time) iter.Seq[time.Time] {
	anchor := now
	if start != nil {
		anchor = *start
	}
	return func(yield func(time.Time) bool) {
		n := 0
		emit := func(t time.Time) bool {
			if r.end != nil && t.After(*r.end) || r.count > 0 && n == r.count {
				return false
			}
			n++
			return yield(t)
		}
		from := now
		if start == nil { // at once
			if !emit(now) {
				return
			}
			from = now.Add(time.Second)
		}
		r.grid(anchor, from, emit)
	}
}

// grid yields the instants of the rule from a time on.
func (r rule) grid(anchor, from time.Time, yield func(time.Time) bool) {
	if from.Before(anchor) {
		from = anchor
	}
	if r.frequency == "minute" || r.frequency == "hour" {
		step := time.Duration(r.interval) * map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}[r.frequency]
		if r.hours != nil || r.minutes != nil {
			r.filtered(anchor, from, yield)
			return
		}
		seconds := int64(step / time.Second)
		k := (from.Unix() - anchor.Unix() + seconds - 1) / seconds // a Duration is too short for old times
		for t := time.Unix(anchor.Unix()+k*seconds, 0).UTC(); yield(t); {
			t = t.Add(step)
		}
		return
	}
	const periods = 200_000
	first := max(0, r.before(anchor, from))
	for k := first; k < first+periods; k++ {
		for _, date := range r.dates(anchor, k) {
			for _, t := range r.times(anchor, date) {
				if t.Year() > 9999 {
					return
				}
				if !t.Before(from) && !yield(t) {
					return
				}
			}
		}
	}
}

// filtered yields minutes that a schedule does not leave out, which the service never did.
func (r rule) filtered(anchor, from time.Time, yield func(time.Time) bool) {
	step := time.Duration(r.interval) * time.Minute
	slot := anchor.Add(-time.Duration(anchor.Second()) * time.Second)
	second := anchor.Second()
	if r.frequency == "hour" {
		step = time.Duration(r.interval) * time.Hour
		slot = slot.Add(-time.Duration(anchor.Minute()) * time.Minute)
	}
	minutes := r.minutes
	if minutes != nil {
		second = 0
	} else if r.frequency == "hour" {
		minutes = []int{anchor.Minute()}
	}
	seconds := int64(step / time.Second)
	for slot = time.Unix(slot.Unix()+(from.Unix()-slot.Unix())/seconds*seconds, 0).UTC(); slot.Year() < 9999; slot = slot.Add(step) {
		all := []time.Time{slot}
		if r.frequency == "hour" {
			all = nil
			for _, m := range minutes {
				all = append(all, slot.Add(time.Duration(m)*time.Minute))
			}
		} else if minutes != nil && !slices.Contains(minutes, slot.Minute()) {
			continue
		}
		for _, t := range all {
			t = t.Add(time.Duration(second) * time.Second)
			if !t.Before(from) && (r.hours == nil || slices.Contains(r.hours, t.Hour())) && !yield(t) {
				return
			}
		}
	}
}

// before returns a period that is surely not after a time.
func (r rule) before(anchor, from time.Time) int {
	days := int((from.Unix() - anchor.Unix()) / 86400)
	length := map[string]int{"day": 1, "week": 7, "month": 31, "year": 366}[r.frequency]
	if length == 0 {
		return 0
	}
	return days/(length*r.interval) - 2
}

// dates returns the dates of a period, in order.
func (r rule) dates(anchor time.Time, k int) []time.Time {
	y, m, d := anchor.Date()
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	switch r.frequency {
	case "day":
		return []time.Time{date(y, m, d+k*r.interval)}
	case "week":
		monday := d - (int(anchor.Weekday())+6)%7 + 7*k*r.interval
		days := r.weekDays
		if days == nil {
			days = []time.Weekday{anchor.Weekday()}
		}
		var all []time.Time
		for n := range 7 {
			if t := date(y, m, monday+n); slices.Contains(days, t.Weekday()) {
				all = append(all, t)
			}
		}
		return all
	case "month":
		first := date(y, m+time.Month(k*r.interval), 1)
		if r.months != nil && !slices.Contains(r.months, int(first.Month())) {
			return nil
		}
		return r.daysOf(first, d)
	case "year":
		var all []time.Time
		for month := range 12 {
			if first := date(y+k*r.interval, time.Month(month+1), 1); r.months == nil && first.Month() == m || slices.Contains(r.months, month+1) {
				all = append(all, r.daysOf(first, d)...)
			}
		}
		return all
	}
	return nil
}

// daysOf returns the days of a month, in order.
func (r rule) daysOf(first time.Time, day int) (all []time.Time) {
	last := first.AddDate(0, 1, -1).Day()
	for d := 1; d <= last; d++ {
		t := first.AddDate(0, 0, d-1)
		byDay := slices.Contains(r.monthDays, d) || slices.Contains(r.monthDays, d-last-1)
		byOccurrence := slices.ContainsFunc(r.occurrences, func(o occurrence) bool {
			return o.day == t.Weekday() && (o.nth == 0 || o.nth == (d-1)/7+1 || o.nth == -((last-d)/7+1))
		})
		switch {
		case r.monthDays == nil && r.occurrences == nil:
			if d != min(day, last) {
				continue
			}
		case r.monthDays != nil && !byDay, r.occurrences != nil && !byOccurrence:
			continue
		}
		all = append(all, t)
	}
	return all
}

// times returns the times of a date, in order.
func (r rule) times(anchor, date time.Time) (all []time.Time) {
	hours, minutes, second := r.hours, r.minutes, anchor.Second()
	if hours == nil {
		hours = []int{anchor.Hour()}
	}
	if minutes == nil {
		minutes = []int{anchor.Minute()}
	} else {
		second = 0
	}
	for _, h := range hours {
		for _, m := range minutes {
			all = append(all, date.Add(time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(second)*time.Second))
		}
	}
	return all
}
