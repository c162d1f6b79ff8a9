package rrule

import (
	"slices"
	"strings"
	"time"

	"almanac/recurrence"
)

// A Set is a rule with instants beside it and without others.
type Set struct {
	Rule recurrence.Rule

	Start    time.Time          // of DTSTART; zero: there is none
	Zone     *time.Location     // of DTSTART's TZID; nil: it has none
	Dates    []time.Time        // of RDATE
	Excluded []recurrence.Range // of EXDATE
}

// ParseSet reads what [Parse] reads, and lines of EXDATE and RDATE, which remove instants of the rule and add some. An
// EXDATE that is a date removes all of it, and an RDATE that is one is its midnight.
//
// Where there is no DTSTART, start and loc stand for it: the day and the time of day follow from them. Times without a Z
// and without a TZID are in the zone of DTSTART, or else in loc; nil means UTC.
func ParseSet(text string, start time.Time, loc *time.Location) (Set, error) {
	var set Set
	p := parser{parts: map[string]string{}, zone: loc, start: start.Truncate(time.Second), set: &set}
	if err := p.lines(text); err != nil {
		return Set{}, err
	}
	rule, err := p.rule()
	if err != nil {
		return Set{}, err
	}
	set.Rule = rule
	if p.dtstarted {
		set.Start = p.start
	}
	if p.tzid {
		set.Zone = p.zone
	}
	return set, nil
}

// Schedule returns the schedule of the set, counted from an anchor.
func (s *Set) Schedule(anchor time.Time) (*recurrence.Schedule, error) {
	schedule, err := recurrence.New(s.Rule, anchor)
	if err != nil {
		return nil, err
	}
	if len(s.Dates) > 0 {
		schedule = schedule.Include(s.Dates...)
	}
	if len(s.Excluded) > 0 {
		return schedule.Exclude(s.Excluded...)
	}
	return schedule, nil
}

// A dateLine is a line of EXDATE or RDATE.
type dateLine struct{ name, parameters, value string }

func (p *parser) dateLine(line dateLine) error {
	at := *p // the zone of this line
	for parameter := range strings.SplitSeq(line.parameters, ";") {
		key, text, _ := strings.Cut(parameter, "=")
		switch {
		case parameter == "" || strings.EqualFold(parameter, "VALUE=DATE-TIME") || strings.EqualFold(parameter, "VALUE=DATE"):
		case strings.EqualFold(key, "TZID"):
			var err error
			if at.zone, err = recurrence.LoadLocation(strings.Trim(text, `"`)); err != nil {
				return err
			}
		default:
			return bad(line.name, parameter, "TZID, and VALUE=DATE or VALUE=DATE-TIME")
		}
	}
	for value := range strings.SplitSeq(line.value, ",") {
		t, date, ok := at.time(strings.ToUpper(strings.TrimSpace(value)))
		local := t.In(at.location())
		switch {
		case !ok:
			return bad(line.name, value, "20060102T150405Z, 20060102T150405 or 20060102, with a comma between two")
		case line.name == "RDATE":
			p.set.Dates = append(p.set.Dates, t)
		case date:
			p.set.Excluded = append(p.set.Excluded, recurrence.Date(local.Year(), local.Month(), local.Day(), at.location()))
		default:
			p.set.Excluded = append(p.set.Excluded, recurrence.Range{From: t, Until: t.Add(time.Second)})
		}
	}
	return nil
}

// positions reads BYSETPOS of a month that has one time of day; nil if it is none.
func positions(value string, r *recurrence.Rule) (list []int) {
	if r.Frequency != recurrence.Month || len(r.MonthlyOccurrences)+len(r.MonthDays) == 0 || len(r.Hours) > 1 || len(r.Minutes) > 1 {
		return nil
	}
	for text := range strings.SplitSeq(value, ",") {
		n, ok := position(text)
		if !ok {
			return nil
		}
		list = append(list, n)
	}
	return slices.Clip(list)
}
