package recurrence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseRRule reads a recurrence rule of RFC 5545, with or without its name, and
// the start that may stand before it:
//
//	DTSTART;TZID=Europe/Stockholm:20260105T090000
//	RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;COUNT=10
//
// It returns the rule and its anchor, which is the DTSTART or else the zero Time:
// give [New] one of your own then. A DTSTART without a zone is in UTC.
//
// What a Rule cannot say is refused, with a [*FieldError] that names the part:
//
//   - BYWEEKNO and BYYEARDAY;
//   - BYSETPOS, but for one weekday of a month, and for the last of the days from
//     the 28th to the start's;
//   - a BYSECOND other than 0 or the start's;
//   - BYDAY, BYMONTHDAY and BYMONTH with an interval of several days or years, or of
//     several weeks in some months;
//   - EXDATE and RDATE, for which there is [Schedule.Exclude];
//   - a rule that takes its day or its hour from the start, without a DTSTART.
//
// As in RFC 5545, a month without the day is skipped. Where the clock changes, the
// rules of this package hold, which RFC 5545 shares for days and longer.
func ParseRRule(text string) (Rule, time.Time, error) {
	p := rruleParser{parts: map[string]string{}}
	if err := p.lines(text); err != nil {
		return Rule{}, time.Time{}, err
	}
	rule, err := p.rule()
	if err != nil {
		return Rule{}, time.Time{}, err
	}
	return rule, p.start, nil
}

// rruleParts are the parts of a rule that can be read, in RFC 5545's order.
var rruleParts = []string{"FREQ", "UNTIL", "COUNT", "INTERVAL", "BYSECOND", "BYMINUTE", "BYHOUR", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST"}

var rruleFrequencies = []string{Minute: "MINUTELY", Hour: "HOURLY", Day: "DAILY", Week: "WEEKLY", Month: "MONTHLY", Year: "YEARLY"}

var rruleDays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// An rruleParser holds what was read so far.
type rruleParser struct {
	parts   map[string]string
	zone    *time.Location
	start   time.Time // zero: there is no DTSTART
	allDay  bool      // DTSTART is a date
	clamped bool      // the day is the start's, or the last of a shorter month
	seconds []int
}

// local returns the start as the clock of its zone shows it.
func (p *rruleParser) local() time.Time { return p.start.In(newZone(p.zone).loc) }

func bad(field string, value any, allowed string) error {
	return &FieldError{Field: field, Value: value, Allowed: allowed}
}

// lines reads the lines, of which a long one may go on after a line break and a space.
func (p *rruleParser) lines(text string) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
	var rule string
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
		case named && name == "RRULE" && rule == "":
			rule = value
		case !named && rule == "":
			rule = line
		default:
			return bad(name, line, "one RRULE, and one DTSTART before it")
		}
	}
	if rule == "" {
		return bad("RRULE", nil, "FREQ and what goes with it")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(rule, ";"), ";") {
		name, value, _ := strings.Cut(strings.ToUpper(part), "=")
		if _, twice := p.parts[name]; twice || value == "" || !slices.Contains(rruleParts, name) {
			return bad(name, part, "each once and with a value: "+list(rruleParts, "and"))
		}
		p.parts[name] = value
	}
	return nil
}

// dtstart reads the start.
func (p *rruleParser) dtstart(parameters, value string) error {
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, text, _ := strings.Cut(parameter, "=")
		switch {
		case parameter == "" || sameWord(parameter, "VALUE=DATE-TIME"):
		case sameWord(parameter, "VALUE=DATE"):
			p.allDay = true
		case sameWord(key, "TZID"):
			var err error
			if p.zone, err = LoadLocation(strings.Trim(text, `"`)); err != nil {
				return bad("TZID", text, allowedZones)
			}
		default:
			return bad("DTSTART", parameter, "TZID and VALUE")
		}
	}
	start, date, ok := p.time(value)
	if !ok || date != p.allDay || strings.HasSuffix(value, "Z") && p.zone != nil {
		return bad("DTSTART", value, "20060102T150405 with TZID or a Z at its end, or 20060102 with VALUE=DATE")
	}
	p.start = start
	return nil
}

// time reads a date, or a date and time, which is in UTC if it ends in Z, and else
// in the zone of the start.
func (p *rruleParser) time(value string) (at time.Time, date, ok bool) {
	local, utc := strings.CutSuffix(value, "Z")
	layout := "20060102T150405"
	if !strings.Contains(local, "T") {
		layout, date = "20060102", true
	}
	at, err := time.Parse(layout, local)
	if err != nil || date && utc || at.Year() < 2 {
		return time.Time{}, false, false
	}
	if !utc {
		at = instant(newZone(p.zone).wall(at.Unix()))
	}
	return at, date, true
}

// rule makes a Rule of the parts.
func (p *rruleParser) rule() (Rule, error) {
	frequency := Frequency(slices.Index(rruleFrequencies, p.parts["FREQ"]))
	if !frequency.valid() {
		return Rule{}, bad("FREQ", p.value("FREQ"), "MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY")
	}
	r := Rule{Frequency: frequency, Location: p.zone}
	var interval, count []int
	for _, part := range []rruleNumbers{
		{"INTERVAL", &interval, 1, maxInterval, false},
		{"COUNT", &count, 1, maxCount, false},
		{"BYSECOND", &p.seconds, 0, 59, false},
		{"BYMINUTE", &r.Minutes, 0, 59, true},
		{"BYHOUR", &r.Hours, 0, 23, true},
		{"BYMONTHDAY", &r.MonthDays, 1, 31, true},
		{"BYMONTH", &r.Months, 1, 12, true},
	} {
		if err := p.numbers(part); err != nil {
			return Rule{}, err
		}
	}
	r.Interval, r.Count = sum(interval), sum(count)
	for _, step := range []func(*Rule) error{p.until, p.byDay, p.bySetPos, p.dates, p.times} {
		if err := step(&r); err != nil {
			return Rule{}, err
		}
	}
	return r, nil
}

// rruleNumbers is a part that holds a number, or a list of numbers. Those of BYMONTHDAY may be negative.
type rruleNumbers struct {
	name     string
	into     *[]int
	min, max int
	list     bool
}

// numbers reads a part that holds numbers.
func (p *rruleParser) numbers(part rruleNumbers) error {
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
func (p *rruleParser) value(name string) any {
	if value, ok := p.parts[name]; ok {
		return value
	}
	return nil
}

// items yields the elements of a part, none if it is missing.
func (p *rruleParser) items(name string) func(yield func(string) bool) {
	if p.parts[name] == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(p.parts[name], ",")
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

// until reads the end.
func (p *rruleParser) until(r *Rule) error {
	value, ok := p.parts["UNTIL"]
	if !ok {
		return nil
	}
	end, date, ok := p.time(value)
	switch {
	case r.Count > 0:
		return bad("UNTIL", value, "none beside COUNT")
	case !ok || date && !p.allDay:
		return bad("UNTIL", value, "20060102T150405Z, or 20060102 if DTSTART is a date")
	}
	r.End = end
	return nil
}

// byDay reads the days of the week. Those of weeks are plain and go to WeekDays,
// all others to MonthlyOccurrences.
func (p *rruleParser) byDay(r *Rule) error {
	for text := range p.items("BYDAY") {
		cut := max(len(text)-2, 0)
		day := slices.Index(rruleDays, text[cut:])
		nth, err := strconv.Atoi(text[:cut])
		if cut == 0 {
			nth, err = 0, nil
		}
		if day < 0 || err != nil || cut > 0 && (nth == 0 || nth < -5 || nth > 5) {
			return bad("BYDAY", text, "SU, MO, TU, WE, TH, FR or SA, with 1 to 5 or -5 to -1 before it in a month")
		}
		if nth != 0 && r.Frequency != Month && (r.Frequency != Year || len(r.Months) == 0) {
			return bad("BYDAY", text, "a number only with MONTHLY, or with YEARLY and BYMONTH")
		}
		r.MonthlyOccurrences = append(r.MonthlyOccurrences, MonthlyOccurrence{Day: time.Weekday(day), Occurrence: nth})
	}
	return nil
}

// bySetPos reads a position among the days of a month that are one weekday.
func (p *rruleParser) bySetPos(r *Rule) error {
	value, ok := p.parts["BYSETPOS"]
	if !ok {
		return nil
	}
	nth, err := strconv.Atoi(value)
	days := r.MonthlyOccurrences
	if p.clamps(r) && nth == -1 {
		r.MonthDays, p.clamped = nil, true
		return nil
	}
	if err != nil || nth == 0 || nth < -5 || nth > 5 || r.Frequency != Month || len(days) != 1 || days[0].Occurrence != 0 ||
		len(r.MonthDays) > 0 || len(r.Hours) > 1 || len(r.Minutes) > 1 {
		return bad("BYSETPOS", value, "1 to 5 or -5 to -1, for one day of the week of a month, once that day; "+
			"or -1, for BYMONTHDAY=28 to the day of DTSTART")
	}
	days[0].Occurrence = nth
	return nil
}

// clamps reports whether the last of the days is the start's, or the last of a shorter month.
func (p *rruleParser) clamps(r *Rule) bool {
	return r.Frequency == Month && len(r.MonthlyOccurrences) == 0 && !p.start.IsZero() && len(r.Hours) <= 1 && len(r.Minutes) <= 1 &&
		slices.Equal(sorted(r.MonthDays), clampedDays(p.local().Day()))
}

// clampedDays returns the days of which a month's last one is the given day, or the month's last if it is
// shorter. There are none for a day that all months have.
func clampedDays(day int) []int {
	if day < 29 {
		return nil
	}
	return upTo(day + 1)[28:]
}

// dates settles which frequency can say the days that were read.
func (p *rruleParser) dates(r *Rule) error {
	days := len(r.MonthlyOccurrences)+len(r.MonthDays)+len(r.Months) > 0
	// A period of one, with days of which it has several, is all of them.
	if days && r.Frequency <= Hour && r.interval() == 1 {
		if r.Frequency == Minute && len(r.Minutes) == 0 {
			r.Minutes = upTo(60)
		}
		if len(r.Hours) == 0 {
			r.Hours = upTo(24)
		}
		r.Frequency = Day
	}
	switch r.Frequency {
	case Day:
		return p.daily(r)
	case Week:
		return p.weekly(r)
	case Month:
		if len(r.MonthlyOccurrences)+len(r.MonthDays) == 0 && !p.clamped {
			return p.startDay(r)
		}
	case Year:
		return p.yearly(r)
	default:
		if days {
			return bad("INTERVAL", r.Interval, "1 where there is BYDAY, BYMONTHDAY or BYMONTH")
		}
	}
	return nil
}

// daily says days of which some are left out by the week or by the month.
func (p *rruleParser) daily(r *Rule) error {
	byMonth := len(r.MonthDays)+len(r.Months) > 0
	switch {
	case !byMonth && len(r.MonthlyOccurrences) == 0:
		return nil
	case r.interval() > 1:
		return bad("INTERVAL", r.Interval, "1 where there is BYDAY, BYMONTHDAY or BYMONTH")
	case !byMonth:
		r.Frequency = Week
		plainDays(r)
		return nil
	}
	r.Frequency = Month
	if len(r.MonthDays)+len(r.MonthlyOccurrences) == 0 {
		r.MonthDays = upTo(32)[1:]
	}
	return nil
}

func (p *rruleParser) weekly(r *Rule) error {
	if len(r.MonthDays) > 0 {
		return bad("BYMONTHDAY", p.parts["BYMONTHDAY"], "none with WEEKLY")
	}
	if first, ok := p.parts["WKST"]; ok && first != "MO" && r.interval() > 1 {
		return bad("WKST", first, "MO with an INTERVAL")
	}
	if len(r.Months) == 0 {
		plainDays(r)
		return nil
	}
	if r.interval() > 1 {
		return bad("INTERVAL", r.Interval, "1 where there is BYMONTH")
	}
	if len(r.MonthlyOccurrences) == 0 {
		if p.start.IsZero() {
			return bad("BYDAY", nil, "a day of the week, or a DTSTART")
		}
		r.MonthlyOccurrences = []MonthlyOccurrence{{Day: p.local().Weekday()}}
	}
	r.Frequency = Month
	return nil
}

// plainDays moves days of the week that are not counted to WeekDays.
func plainDays(r *Rule) {
	for _, o := range r.MonthlyOccurrences {
		r.WeekDays = append(r.WeekDays, o.Day)
	}
	r.MonthlyOccurrences = nil
}

// startDay gives a month the day of the start, without which the month is skipped.
func (p *rruleParser) startDay(r *Rule) error {
	if p.start.IsZero() {
		return bad("BYMONTHDAY", nil, "a day of the month, or a DTSTART")
	}
	r.MonthDays = []int{p.local().Day()}
	return nil
}

func (p *rruleParser) yearly(r *Rule) error {
	if r.interval() > 1 {
		return p.everySomeYears(r)
	}
	r.Frequency = Month
	switch {
	case len(r.MonthlyOccurrences) > 0 && len(r.MonthDays)+len(r.Months) == 0:
		r.Frequency = Week // of which a year of days is made as well
		plainDays(r)
		return nil
	case len(r.MonthlyOccurrences)+len(r.MonthDays) > 0:
		return nil
	}
	if len(r.Months) == 0 {
		if p.start.IsZero() {
			return bad("BYMONTH", nil, "a month, or a DTSTART")
		}
		r.Months = []int{int(p.local().Month())}
	}
	return p.startDay(r)
}

// everySomeYears keeps the frequency Year, which knows the day of the anchor only.
func (p *rruleParser) everySomeYears(r *Rule) error {
	day := slices.Compact(slices.Clone(r.MonthDays))
	switch {
	case len(r.MonthlyOccurrences) > 0:
		return bad("BYDAY", p.parts["BYDAY"], "none with YEARLY and an INTERVAL")
	case p.start.IsZero():
		return bad("DTSTART", nil, "the first day, since there is YEARLY and an INTERVAL")
	case len(day) > 0 && (len(r.Months) == 0 || len(day) > 1 || day[0] != p.local().Day()):
		return bad("BYMONTHDAY", p.parts["BYMONTHDAY"], "with YEARLY and an INTERVAL only the day of DTSTART, and a BYMONTH")
	case p.local().Day() > shortest(r, p.local().Month()):
		return bad("DTSTART", p.local().Format("20060102"), "with YEARLY and an INTERVAL a day that each of its months has")
	}
	r.MonthDays = nil
	return nil
}

// times settles the times of day. In a Rule minutes without hours are those of
// every hour, and minutes mean second 0; in RFC 5545 what is left out is the
// start's.
func (p *rruleParser) times(r *Rule) error {
	if len(r.Minutes) > 0 && len(r.Hours) == 0 && r.Frequency > Hour {
		if p.start.IsZero() {
			return bad("BYHOUR", nil, "hours, or a DTSTART")
		}
		r.Hours = []int{p.local().Hour()}
	}
	second := 0
	if !p.start.IsZero() {
		second = p.local().Second()
	}
	wanted := second
	if len(p.seconds) > 0 {
		wanted = p.seconds[0]
	}
	switch {
	case len(r.Minutes) > 0 && wanted != 0:
		return bad("BYSECOND", wanted, "0 where there is BYMINUTE")
	case len(r.Minutes) > 0 || wanted == second && (len(p.seconds) == 0 || !p.start.IsZero()):
		return nil
	case wanted != 0 || p.start.IsZero() || r.Frequency == Minute:
		return bad("BYSECOND", wanted, "the second of DTSTART, or 0 where there is BYMINUTE")
	}
	r.Minutes = []int{p.local().Minute()} // at second 0, unlike the start
	if len(r.Hours) == 0 && r.Frequency > Hour {
		r.Hours = []int{p.local().Hour()}
	}
	return nil
}
