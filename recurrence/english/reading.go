package english

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/recurrence"
)

// ambiguous returns what can be meant in several ways.
func (p *parser) ambiguous() error {
	replaced := func(at int, by string) string {
		tokens := slices.Clone(p.tokens)
		tokens[at] = by
		return joined(tokens)
	}
	switch {
	case dateForm.MatchString(p.end):
		at := slices.Index(p.tokens, p.end)
		for i, t := range p.tokens { // the start may be the same
			if t == p.end {
				at = i
			}
		}
		return &AmbiguousError{Text: "until " + p.end, Candidates: []string{replaced(at, p.end+" 00:00"), replaced(at, p.end+" 23:59")}}
	case p.midnight && !p.everyDay():
		early, late := slices.Clone(p.tokens), slices.Clone(p.tokens)
		for at, word := range p.words {
			if word == "midnight" {
				early[at], late[at] = "00:00", "23:59"
			}
		}
		return &AmbiguousError{Text: "midnight", Candidates: []string{joined(early), joined(late)}}
	case p.anyOfMonth() && p.saysMore():
		return wanted("which of these days of the month, such as the first Monday")
	case p.anyOfMonth():
		var ways []string
		for _, which := range []string{"the first ", "the last ", "every "} {
			ways = append(ways, which+p.weekDays[0].String()+" of every month"+p.timeText())
		}
		return &AmbiguousError{Text: p.text, Candidates: ways}
	case len(p.weekDays) > 0 && len(p.monthDays) > 0 && !p.onlyIf && (p.saysMore() || len(p.monthDays) > 1):
		return wanted("such as the 13th of every month, only if that day is a Friday")
	case len(p.weekDays) > 0 && len(p.monthDays) > 0 && !p.onlyIf:
		day, date := p.weekDays[0].String(), strings.TrimPrefix(recurrence.Rule{Frequency: recurrence.Month, MonthDays: p.monthDays[:1]}.String(), "")
		return &AmbiguousError{Text: p.text, Candidates: []string{
			date + p.timeText() + ", only if that day is a " + day, strings.Replace(date, " of ", " and every "+day+" of ", 1) + p.timeText(),
		}}
	}
	return p.ambiguousHours()
}

// anyOfMonth reports whether days of the week are said of months, but not which of them.
func (p *parser) anyOfMonth() bool {
	return p.bareDays && p.frequency == recurrence.Month && len(p.weekDays) > 0 && len(p.monthDays) == 0
}

// saysMore reports whether the text says what a candidate of a day of the week would lack.
func (p *parser) saysMore() bool {
	monthly := p.frequency == 0 || p.frequency == recurrence.Month && p.interval <= 1
	days := len(p.occurrences) + len(p.nearest) + len(p.positions)
	return !monthly || len(p.uses)+len(p.exclusions)+len(p.working) > 0 || p.eachDay || len(p.weekDays) > 1 || days > 0 || p.allDays || p.clamped || p.everyPass || p.hasSecond ||
		len(p.inMonths)+len(p.years)+len(p.further)+len(p.hours)+len(p.minutes) > 0 || p.count > 0 ||
		p.start != "" || p.end != ""
}

// everyDay reports whether no day is said.
func (p *parser) everyDay() bool {
	return len(p.weekDays)+len(p.monthDays)+len(p.occurrences)+len(p.nearest)+len(p.positions)+len(p.working) == 0
}

// timeText returns the times of day as the end of a candidate.
func (p *parser) timeText() string {
	var all []string
	for _, c := range p.times {
		all = append(all, c.String())
	}
	text := ""
	if all != nil {
		text = " at " + strings.Join(all, " and ")
	}
	if p.zone != nil {
		text += ", " + p.zone.String()
	}
	return text
}

// ambiguousHours returns what hours without minutes may mean, unless one of them is of a day of 24 hours.
func (p *parser) ambiguousHours() error {
	if len(p.bare) == 0 {
		return nil
	}
	early, late := slices.Clone(p.tokens), slices.Clone(p.tokens)
	for _, at := range p.bare {
		n, _ := number(p.words[at]) // it was read as one
		if n == 0 || n > 12 {
			return nil
		}
		early[at], late[at] = fmt.Sprintf("%02d:00", n%12), fmt.Sprintf("%02d:00", n%12+12)
	}
	return &AmbiguousError{Text: p.tokens[p.bare[0]], Candidates: []string{joined(early), joined(late)}}
}

// reading returns what the facts mean together.
func (p *parser) reading() (*Reading, error) {
	r := &Reading{}
	rule := &r.Rule
	rule.Location, rule.Count, rule.Years, rule.EveryPass = p.zone, p.count, p.years, p.everyPass
	var err error
	if p.start != "" {
		if r.Start, err = instant(p.start, p.second1, p.zone); err != nil {
			return nil, err
		}
	}
	if p.end != "" {
		if rule.End, err = instant(p.end, p.second2, p.zone); err != nil {
			return nil, err
		}
	}
	for _, step := range []func(*Reading) error{p.often, p.daysOf, p.timesOf} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	own := len(r.Also)
	for _, more := range p.further {
		r.Also = append(append(r.Also, more.Rule), more.Also...)
	}
	if err := p.calendarsOf(r, own); err != nil {
		return nil, err
	}
	return r, nil
}

// instant reads a date and time in a zone.
func instant(text string, secondTime bool, zone *time.Location) (time.Time, error) {
	t, err := recurrence.ParseTime(text, zone)
	if err != nil || !secondTime || zone == nil {
		return t, err
	}
	_, before := t.In(zone).Zone()
	if _, end := t.In(zone).ZoneBounds(); !end.IsZero() {
		_, after := end.In(zone).Zone()
		t = t.Add(time.Duration(before-after) * time.Second)
	}
	return t, nil
}

func wanted(text string) error { return &UnreadError{Wanted: text} }

// often settles the frequency.
func (p *parser) often(r *Reading) error {
	f, interval := p.frequency, p.interval
	days := len(p.monthDays)+len(p.occurrences)+len(p.nearest)+len(p.positions)+len(p.working) > 0 || p.allDays
	inMonths := days || len(p.inMonths) > 0
	switch {
	case f == 0 && inMonths:
		f, interval = recurrence.Month, 1
	case f == 0 && len(p.weekDays) > 0:
		f, interval = recurrence.Week, 1
	case f == 0:
		return wanted("how often, " + example)
	case inMonths && f == recurrence.Year && interval == 1:
		if len(p.inMonths) == 0 {
			return wanted("the months in which that day counts")
		}
		f = recurrence.Month
	case inMonths && f == recurrence.Week && interval == 1 && !days, f == recurrence.Day && interval == 1 && inMonths:
		if f == recurrence.Day && !days && len(p.weekDays) == 0 {
			p.allDays = true
		}
		f = recurrence.Month
	case f == recurrence.Day && interval == 1 && len(p.weekDays) > 0:
		f = recurrence.Week
	case f <= recurrence.Day && (inMonths || len(p.weekDays) > 0), f == recurrence.Week && inMonths:
		return wanted("an interval of 1 with days and months, or further rules")
	}
	r.Rule.Frequency, r.Rule.Interval = f, interval
	if interval == 1 {
		r.Rule.Interval = 0
	}
	return nil
}

// daysOf settles on which days.
func (p *parser) daysOf(r *Reading) error {
	rule := &r.Rule
	rule.Months = p.inMonths
	if rule.Frequency == recurrence.Week {
		rule.WeekDays = p.weekDays
		return nil
	}
	if len(p.working) > 0 {
		switch other := len(p.weekDays)+len(p.monthDays)+len(p.occurrences)+len(p.nearest)+len(p.positions) > 0; {
		case !other:
			p.allDays = true
		case !p.filter, len(p.nearest)+len(p.positions) > 0:
			return wanted("working days alone, or with: only on the first working day of the month")
		}
	}
	rule.MonthDays, rule.MonthlyOccurrences, rule.NearestWeekdays, rule.Positions = p.monthDays, p.occurrences, p.nearest, p.positions
	if p.allDays {
		rule.MonthDays = span(1, 31)
	}
	for _, d := range p.weekDays {
		rule.MonthlyOccurrences = append(rule.MonthlyOccurrences, recurrence.MonthlyOccurrence{Day: d})
	}
	days := len(rule.MonthDays)+len(rule.NearestWeekdays) > 0
	rule.EitherDay = days && len(rule.MonthlyOccurrences) > 0 && !p.onlyIf
	startDay := 0
	if !r.Start.IsZero() {
		startDay = r.Start.In(zoneOf(p.zone)).Day()
	}
	if p.clamped || rule.Frequency == recurrence.Year && (days || len(rule.MonthlyOccurrences) > 0) {
		if len(rule.MonthDays) != 1 || rule.MonthDays[0] != startDay || len(rule.MonthlyOccurrences)+len(rule.NearestWeekdays) > 0 {
			return wanted("a start on the day in question, such as from 2026-01-31 09:00")
		}
		rule.MonthDays = nil
	}
	return nil
}

func zoneOf(loc *time.Location) *time.Location {
	if loc == nil {
		return time.UTC
	}
	return loc
}

// timesOf settles at which times of day.
func (p *parser) timesOf(r *Reading) error {
	rule := &r.Rule
	rule.Hours, rule.Minutes = p.hours, p.minutes
	start := r.Start.In(zoneOf(p.zone))
	hasStart := !r.Start.IsZero()
	switch {
	case p.hasSecond && p.second != 0:
		if !hasStart || len(p.minutes) != 1 || start.Minute() != p.minutes[0] || start.Second() != p.second {
			return wanted("a start at that minute and second")
		}
		rule.Minutes = nil
		if p.allHours {
			rule.Hours = span(0, 23)
		}
		return nil
	case len(p.times) == 0:
		return nil
	case rule.Frequency <= recurrence.Hour:
		return wanted("no time of day with minutes or hours, but such as: only in hours 9 to 17")
	case len(p.minutes)+len(p.hours) > 0:
		return wanted("times of day, or minutes and hours")
	}
	return p.clocksOf(r, start, hasStart)
}

// clocksOf settles times of day that are listed one by one.
func (p *parser) clocksOf(r *Reading, start time.Time, hasStart bool) error {
	hour, minute, second := start.Clock()
	if hasStart && len(p.times) == 1 && p.times[0] == (clock{hour, minute, second}) && !p.everyPass {
		return nil // the start's
	}
	byMinute := map[int][]int{}
	var minutes []int
	for _, c := range p.times {
		if c.second != 0 && (!hasStart || c.second != second || c.minute != minute) || c.second != p.times[0].second {
			return wanted("times of day in whole minutes, or a start at that second")
		}
		if byMinute[c.minute] == nil {
			minutes = append(minutes, c.minute)
		}
		byMinute[c.minute] = append(byMinute[c.minute], c.hour)
	}
	slices.Sort(minutes)
	for _, m := range minutes {
		slices.Sort(byMinute[m])
	}
	rule := &r.Rule
	rule.Hours = slices.Compact(byMinute[minutes[0]])
	if second := p.times[0].second; second != 0 {
		return nil
	}
	rule.Minutes = slices.Clip(minutes[:1])
	for _, m := range minutes[1:] {
		if slices.Equal(slices.Compact(byMinute[m]), rule.Hours) {
			rule.Minutes = append(rule.Minutes, m)
			continue
		}
		further := *rule
		further.Location, further.Count, further.End = nil, 0, time.Time{}
		further.Hours, further.Minutes = slices.Compact(byMinute[m]), []int{m}
		r.Also = append(r.Also, further)
	}
	return nil
}
