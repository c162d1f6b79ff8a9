package rrule

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/internal/grid"
)

// Parse reads a rule, with or without "RRULE:" before it, and the DTSTART line that may stand before that. Lines
// may be folded, and names and values are in any case. A DTSTART has a TZID that [recurrence.LoadLocation]
// accepts, or is in UTC; UNTIL without a Z is in the zone of the start.
//
// It returns the rule and its anchor. The anchor is the DTSTART, or the zero Time if there is none: then pass an
// anchor of your own to [recurrence.New]. The rule's Location is nil, which means UTC, unless there is a TZID.
//
// Any other text is a [*recurrence.FieldError], as are the rules that the package comment lists. A rule that can
// never fire, such as one for 30 February, is left to New to refuse.
func Parse(text string) (recurrence.Rule, time.Time, error) {
	p := parser{parts: map[string]string{}}
	if err := p.lines(text); err != nil {
		return recurrence.Rule{}, time.Time{}, err
	}
	rule, err := p.rule()
	if err != nil {
		return recurrence.Rule{}, time.Time{}, err
	}
	return rule, p.start, nil
}

// partNames are the parts of a rule that can be read, in RFC 5545's order.
var partNames = []string{"FREQ", "UNTIL", "COUNT", "INTERVAL", "BYSECOND", "BYMINUTE", "BYHOUR", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST"}

// A parser holds the parts of a rule and its start. Its methods in this file read text; those in meaning.go then
// fit what was read into a Rule.
type parser struct {
	parts     map[string]string
	zone      *time.Location // of the start; nil: UTC
	start     time.Time      // zero: there is no DTSTART
	allDay    bool           // DTSTART is a date
	dtstarted bool           // there is a DTSTART
	tzid      bool           // DTSTART has a TZID
	clamped   bool           // the day is the start's, or the last of a shorter month
	set       *Set           // collects EXDATE and RDATE; nil: they are refused
	seconds   []int          // BYSECOND, at most one
}

// location returns the zone of the start or its default.
func (p *parser) location() *time.Location {
	if p.zone == nil {
		return time.UTC
	}
	return p.zone
}

// local returns the start as the clock of its zone shows it.
func (p *parser) local() time.Time { return p.start.In(p.location()) }

// lines reads the lines. A long line may continue after a line break and a space.
func (p *parser) lines(text string) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
	var rule string
	var later []dateLine // DTSTART, which says what zone they are in, may come after them
	given := p.start
	p.start = time.Time{}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		head, value, named := strings.Cut(line, ":")
		name, parameters, _ := strings.Cut(head, ";")
		name = strings.ToUpper(name)
		switch {
		case line == "":
		case named && name == "DTSTART" && p.start.IsZero():
			if err := p.dtstart(parameters, value); err != nil {
				return err
			}
		case named && p.set != nil && (name == "EXDATE" || name == "RDATE"):
			later = append(later, dateLine{name, parameters, value})
		case named && name == "RRULE" && rule == "":
			rule = value
		case !named && rule == "":
			rule = line
		default:
			return bad(name, line, "one RRULE, and one DTSTART before it")
		}
	}
	if p.dtstarted = !p.start.IsZero(); !p.dtstarted {
		p.start = given
	}
	for _, line := range later {
		if err := p.dateLine(line); err != nil {
			return err
		}
	}
	if rule == "" {
		return bad("RRULE", nil, "FREQ and what goes with it")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(rule, ";"), ";") {
		name, value, _ := strings.Cut(strings.ToUpper(part), "=")
		_, twice := p.parts[name]
		switch {
		case !slices.Contains(partNames, name):
			return bad("RRULE", part, "only "+strings.Join(partNames, ", "))
		case twice:
			return bad(name, part, "one "+name)
		case value == "":
			return bad(name, nil, "a value after "+name+"=")
		}
		p.parts[name] = value
	}
	return nil
}

// dtstart reads the start.
func (p *parser) dtstart(parameters, value string) error {
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, text, _ := strings.Cut(parameter, "=")
		switch {
		case parameter == "" || strings.EqualFold(parameter, "VALUE=DATE-TIME"):
		case strings.EqualFold(parameter, "VALUE=DATE"):
			p.allDay = true
		case strings.EqualFold(key, "TZID"):
			var err error
			if p.zone, err = recurrence.LoadLocation(strings.Trim(text, `"`)); err != nil {
				return err
			}
			p.tzid = true
		default:
			return bad("DTSTART", parameter, "TZID and VALUE")
		}
	}
	start, date, ok := p.time(value)
	if !ok || date != p.allDay || strings.HasSuffix(value, "Z") && p.tzid {
		return bad("DTSTART", value, "20060102T150405 with TZID or a Z at its end, or 20060102 with VALUE=DATE")
	}
	p.start = start
	return nil
}

// time reads a date, or a date and time, which is in UTC if it ends in Z, and else in the zone of the start.
func (p *parser) time(value string) (at time.Time, date, ok bool) {
	local, utc := strings.CutSuffix(value, "Z")
	layout := "20060102T150405"
	if !strings.Contains(local, "T") {
		layout, date = "20060102", true
	}
	at, err := time.Parse(layout, local)
	if err != nil || len(local) != len(layout) || date && utc || at.Year() < 2 {
		return time.Time{}, false, false
	}
	if !utc {
		at = time.Unix(grid.Wall(p.location(), at.Unix()), 0).UTC()
	}
	return at, date, true
}

// rule makes a Rule of the parts.
func (p *parser) rule() (recurrence.Rule, error) {
	frequency := recurrence.Frequency(slices.Index(frequencies, p.parts["FREQ"]))
	if frequency < recurrence.Minute {
		return recurrence.Rule{}, bad("FREQ", p.value("FREQ"), "MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY")
	}
	if first, ok := p.parts["WKST"]; ok && !slices.Contains(weekdays, first) {
		return recurrence.Rule{}, bad("WKST", first, "SU, MO, TU, WE, TH, FR or SA")
	}
	r := recurrence.Rule{Frequency: frequency, Location: p.zone}
	var interval, count []int
	for _, part := range []numbers{
		{"INTERVAL", &interval, 1, recurrence.MaxInterval, false},
		{"COUNT", &count, 1, recurrence.MaxCount, false},
		{"BYSECOND", &p.seconds, 0, 59, false},
		{"BYMINUTE", &r.Minutes, 0, 59, true},
		{"BYHOUR", &r.Hours, 0, 23, true},
		{"BYMONTHDAY", &r.MonthDays, 1, 31, true},
		{"BYMONTH", &r.Months, 1, 12, true},
	} {
		if err := p.numbers(part); err != nil {
			return recurrence.Rule{}, err
		}
	}
	r.Interval = 1
	if interval != nil {
		r.Interval = interval[0]
	}
	if count != nil {
		r.Count = count[0]
	}
	for _, step := range []func(*recurrence.Rule) error{p.until, p.byDay, p.bySetPos, p.dates, p.times} {
		if err := step(&r); err != nil {
			return recurrence.Rule{}, err
		}
	}
	return r, nil
}

// numbers is a part that holds a number, or a list of numbers. Those of BYMONTHDAY may be negative.
type numbers struct {
	name     string
	into     *[]int
	min, max int
	list     bool
}

// numbers reads a part that holds numbers.
func (p *parser) numbers(part numbers) error {
	negative := part.name == "BYMONTHDAY"
	for text := range p.items(part.name) {
		n, err := strconv.Atoi(text)
		size := n
		if negative {
			size = max(n, -n)
		}
		if err != nil || size < part.min || size > part.max || !part.list && len(*part.into) > 0 {
			allowed := fmt.Sprintf("%d to %d", part.min, part.max)
			if negative {
				allowed += " or -31 to -1"
			}
			return bad(part.name, p.parts[part.name], allowed)
		}
		*part.into = append(*part.into, n)
	}
	return nil
}

// value returns a part for an error: nil if it is missing.
func (p *parser) value(name string) any {
	if value, ok := p.parts[name]; ok {
		return value
	}
	return nil
}

// items yields the elements of a part, none if it is missing.
func (p *parser) items(name string) iter.Seq[string] {
	if p.parts[name] == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(p.parts[name], ",")
}

// until reads the end.
func (p *parser) until(r *recurrence.Rule) error {
	value, ok := p.parts["UNTIL"]
	if !ok {
		return nil
	}
	end, date, ok := p.time(value)
	switch {
	case r.Count > 0:
		return bad("UNTIL", value, "none beside COUNT")
	case !ok:
		return bad("UNTIL", value, "20060102T150405Z or 20060102")
	case date: // all of it
		local := end.In(p.location())
		midnight := time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, time.UTC)
		end = time.Unix(grid.Wall(p.location(), midnight.Unix())-1, 0).UTC()
	}
	r.End = end
	return nil
}

// byDay reads the days of the week. Those of weeks are plain and go to WeekDays,
// all others to MonthlyOccurrences.
func (p *parser) byDay(r *recurrence.Rule) error {
	for text := range p.items("BYDAY") {
		cut := max(len(text)-2, 0)
		day := slices.Index(weekdays, text[cut:])
		nth, err := strconv.Atoi(text[:cut])
		if cut == 0 {
			nth, err = 0, nil
		}
		if day < 0 || err != nil || cut > 0 && (nth == 0 || nth < -5 || nth > 5) {
			return bad("BYDAY", text, "SU, MO, TU, WE, TH, FR or SA, with 1 to 5 or -5 to -1 before it in a month")
		}
		if nth != 0 && r.Frequency != recurrence.Month && (r.Frequency != recurrence.Year || len(r.Months) == 0) {
			return bad("BYDAY", text, "a number only with MONTHLY, or with YEARLY and BYMONTH")
		}
		r.MonthlyOccurrences = append(r.MonthlyOccurrences, recurrence.MonthlyOccurrence{Day: time.Weekday(day), Occurrence: nth})
	}
	return nil
}
