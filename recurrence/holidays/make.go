package holidays

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/recurrence/calendars"
)

// A maker makes the calendar of some places.
type maker struct {
	of         []*place
	english    bool
	categories []string

	off []map[calendars.Date][]string // by place, the names of its days
}

func (m *maker) make(first, last int) (*Made, error) {
	begin, end := calendars.DateOf(first, time.January, 1), calendars.DateOf(last, time.December, 31)
	made := &Made{Source: m.source()}
	var weekend []time.Weekday
	for _, p := range m.of {
		m.off = append(m.off, m.named(p, begin, end))
		made.Places = append(made.Places, Place{p.code, p.name})
		weekend = append(weekend, p.weekend...)
	}
	made.WeekendDays = []time.Weekday{}
	for i := range 7 {
		if day := time.Weekday((i + 1) % 7); slices.Contains(weekend, day) {
			made.WeekendDays = append(made.WeekendDays, day)
		}
	}
	for d := begin; d <= end; d++ {
		m.day(made, d)
	}
	made.CompleteUntil = m.horizon(made, end)
	if _, err := calendars.NewTable(made.Calendar); err != nil {
		return nil, fmt.Errorf("%d days and make-up days are more than a calendar may have (%d): take fewer years or places",
			len(made.Days)+len(made.MakeUpDays), calendars.MaxEntries)
	}
	return made, nil
}

// day adds what a date is.
func (m *maker) day(made *Made, d calendars.Date) {
	weekday := time.Weekday((int(d)%7 + 7 + int(time.Thursday)) % 7)
	var names, codes []string
	off := false // in any place
	for i, p := range m.of {
		own, madeUp := m.off[i][d], slices.Contains(p.makeUp, d)
		for _, name := range own {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if isOff := (len(own) > 0 || slices.Contains(p.weekend, weekday)) && !madeUp; isOff {
			off = true
			if len(own) > 0 || !slices.Contains(made.WeekendDays, weekday) {
				codes = append(codes, p.code)
			}
		}
	}
	switch {
	case !off && slices.Contains(made.WeekendDays, weekday):
		made.MakeUpDays = append(made.MakeUpDays, calendars.Day{Date: d, Name: "Working " + weekday.String()})
	case off && len(codes) > 0:
		name := strings.Join(names, " / ")
		if len(codes) < len(m.of) && name != "" {
			name += " (" + strings.Join(codes, ", ") + ")"
		}
		made.Days = append(made.Days, calendars.Day{Date: d, Name: name})
	}
}

// named returns the names of a place's days off by date.
func (m *maker) named(p *place, begin, end calendars.Date) map[calendars.Date][]string {
	all := map[calendars.Date][]string{}
	for _, category := range m.categories {
		for _, holiday := range p.categories[category] {
			name := holiday.own
			if m.english && holiday.english != "" {
				name = holiday.english
			}
			for _, d := range holiday.dates {
				if d >= begin && d <= end && !slices.Contains(all[d], name) {
					all[d] = append(all[d], name)
				}
			}
		}
	}
	return all
}

// horizon returns the last date for which the days of all places are known, and notes why that is before the end.
func (m *maker) horizon(made *Made, end calendars.Date) *calendars.Date {
	until := end
	for _, p := range m.of {
		if p.known == 0 || p.known >= end {
			continue
		}
		until = min(until, p.known)
		made.Notes = append(made.Notes, fmt.Sprintf("the days of %s are certain until %s: later ones are estimated, or not announced yet", p.code, p.known))
	}
	return &until
}

// source returns where the days come from, in the words of the calendar.
func (m *maker) source() string {
	from, codes := From(), make([]string, len(m.of))
	for i, p := range m.of {
		codes[i] = p.code
	}
	text := fmt.Sprintf("Public holidays of %s: holidays %s, %s", strings.Join(codes, ", "), from.Version, from.Checked)
	if more := m.categories[1:]; len(more) > 0 {
		text += ", with " + strings.Join(more, ", ")
	}
	return text
}
