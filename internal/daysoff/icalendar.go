package daysoff

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"almanac/recurrence"
	"almanac/recurrence/calendars"
	"almanac/recurrence/rrule"
)

// An event of a file. Its times are those that the clock of its zone shows.
type event struct {
	uid, name string
	start     time.Time
	end       time.Time // not included
	allDay    bool
	cancelled bool
	zone      string // TZID of the start; "": none, or UTC

	rule       string
	dates      []string // lines of RDATE and EXDATE
	recurrence string   // of which instance of the event with the same UID this is another version; "": none
}

// readICalendar reads events.
func readICalendar(f *Found, text []byte, o Options) error {
	if err := checkNesting(text); err != nil {
		return err
	}
	calendar, err := ics.ParseCalendar(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is no iCalendar file: %w", err)
	}
	for _, p := range calendar.CalendarProperties {
		if strings.EqualFold(p.IANAToken, "X-WR-CALNAME") {
			f.Name = clean(p.Value)
		}
	}
	var all []*event
	var errs []error
	for _, component := range calendar.Events() {
		e, err := eventOf(component)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, e)
	}
	if len(all)+len(errs) == 0 {
		return errors.New("it has no events")
	}
	changed := changedOf(all)
	for _, e := range all {
		err := f.event(e, changed, o)
		if errors.Is(err, errTooMany) {
			return err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e, err))
		}
	}
	return joined(errs)
}

// changes are the instances of events that have other versions: times by UID, and the dates of them by UID and zone.
type changes struct {
	times map[string][]instance
	dates map[[2]string]map[calendars.Date]bool
}

// An instance is when one begins: as its clock shows it, or in UTC.
type instance struct {
	at  time.Time
	utc bool
}

func changedOf(all []*event) *changes {
	c := &changes{times: map[string][]instance{}, dates: map[[2]string]map[calendars.Date]bool{}}
	for _, e := range all {
		if t, _, err := clock(e.recurrence); err == nil {
			utc := strings.HasSuffix(strings.ToUpper(strings.TrimSpace(e.recurrence)), "Z")
			c.times[e.uid] = append(c.times[e.uid], instance{t, utc})
		}
	}
	return c
}

// of returns the dates, in the zone of an event, of its instances that have other versions.
func (c *changes) of(e *event) map[calendars.Date]bool {
	key := [2]string{e.uid, e.zone}
	if dates, done := c.dates[key]; done || e.recurrence != "" {
		return dates
	}
	zone := time.UTC
	if e.zone != "" {
		zone, _ = recurrence.LoadLocation(e.zone) // zoneOf has
	}
	dates := map[calendars.Date]bool{}
	for _, one := range c.times[e.uid] {
		if one.utc {
			one.at = one.at.In(zone)
		}
		dates[dateOf(one.at)] = true
	}
	c.dates[key] = dates
	return dates
}

// checkNesting refuses files whose reading would not be bounded.
func checkNesting(text []byte) error {
	depth, events := 0, 0
	for line := range bytes.Lines(text) {
		switch line = bytes.TrimSpace(line); {
		case hasPrefix(line, "BEGIN:VEVENT"):
			events++
			depth++
		case hasPrefix(line, "BEGIN:"):
			depth++
		case hasPrefix(line, "END:"):
			depth--
		}
		if depth > maxDepth {
			return fmt.Errorf("it has components in components, more than %d", maxDepth)
		}
		if events > maxEvents {
			return fmt.Errorf("it has more than %d events", maxEvents)
		}
	}
	return nil
}

func hasPrefix(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && bytes.EqualFold(line[:len(prefix)], []byte(prefix))
}

// String names the event in errors.
func (e *event) String() string {
	return fmt.Sprintf("%q of %s", e.name, e.start.Format(time.DateOnly))
}

// clean returns a text in one line.
func clean(text string) string { return strings.Join(strings.Fields(ics.FromText(text)), " ") }

func eventOf(component *ics.VEvent) (*event, error) {
	e := &event{}
	var start, end, duration *ics.IANAProperty
	for i := range component.Properties {
		p := &component.Properties[i]
		switch strings.ToUpper(p.IANAToken) {
		case "UID":
			e.uid = p.Value
		case "SUMMARY":
			e.name = clean(p.Value)
		case "STATUS":
			e.cancelled = strings.EqualFold(p.Value, "CANCELLED")
		case "DTSTART":
			start = p
		case "DTEND":
			end = p
		case "DURATION":
			duration = p
		case "RRULE", "EXRULE":
			if e.rule != "" || !strings.EqualFold(p.IANAToken, "RRULE") {
				return nil, fmt.Errorf("%q has several rules; one RRULE is allowed", e.name)
			}
			e.rule = p.Value
		case "RDATE", "EXDATE":
			e.dates = append(e.dates, strings.ToUpper(p.IANAToken)+parametersOf(p)+":"+p.Value)
		case "RECURRENCE-ID":
			if len(p.ICalParameters["RANGE"]) > 0 {
				return nil, fmt.Errorf(
					"%q changes all later instances (RANGE=THISANDFUTURE); allowed: one RECURRENCE-ID each", e.name)
			}
			e.recurrence = p.Value
		}
	}
	if start == nil {
		return nil, fmt.Errorf("%q has no DTSTART", e.name)
	}
	var err error
	if e.start, e.allDay, err = clock(start.Value); err != nil {
		return nil, fmt.Errorf("%q: DTSTART: %w", e.name, err)
	}
	if !e.allDay && !strings.HasSuffix(start.Value, "Z") {
		e.zone = zoneOf(start)
	}
	if e.end, err = endOf(e, end, duration); err != nil {
		return nil, fmt.Errorf("%s: %w", e, err)
	}
	return e, nil
}

// parametersOf returns the parameters of a line of dates that matter.
func parametersOf(p *ics.IANAProperty) string {
	var text strings.Builder
	for name, values := range p.ICalParameters {
		if strings.EqualFold(name, "VALUE") && len(values) == 1 {
			text.WriteString(";VALUE=" + values[0])
		}
	}
	if zone := zoneOf(p); zone != "" {
		text.WriteString(";TZID=" + zone)
	}
	return text.String()
}

// zoneOf returns the zone of a time, if it is one that is known. Files have zones of their own besides, whose times are
// taken as their clocks show them.
func zoneOf(p *ics.IANAProperty) string {
	for name, values := range p.ICalParameters {
		if !strings.EqualFold(name, "TZID") || len(values) != 1 {
			continue
		}
		if _, err := recurrence.LoadLocation(values[0]); err == nil {
			return values[0]
		}
	}
	return ""
}

// clock reads a date or a time as its clock shows it.
func clock(text string) (t time.Time, isDate bool, err error) {
	text = strings.ToUpper(strings.TrimSpace(text))
	if t, err = time.Parse("20060102", text); err == nil {
		return t, true, nil
	}
	if t, err = time.Parse("20060102T150405", strings.TrimSuffix(text, "Z")); err == nil {
		return t, false, nil
	}
	return t, false, fmt.Errorf("%q is no time; allowed: such as 20260131 or 20260131T090000", text)
}

var durationForm = regexp.MustCompile(`^\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8})S)?)?$`)

// endOf returns the time at which an event ends.
func endOf(e *event, end, duration *ics.IANAProperty) (time.Time, error) {
	switch {
	case end != nil:
		t, _, err := clock(end.Value)
		if err != nil {
			return t, fmt.Errorf("DTEND: %w", err)
		}
		if t.Before(e.start) {
			return t, fmt.Errorf("DTEND: %s is before the start", end.Value)
		}
		if e.allDay && t.Equal(e.start) { // as some programs write one day
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	case duration != nil:
		m := durationForm.FindStringSubmatch(strings.ToUpper(duration.Value))
		if m == nil {
			return e.start, fmt.Errorf("DURATION: %q is no duration; allowed: such as P1D or PT24H", duration.Value)
		}
		t := e.start
		for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
			n, _ := strconv.Atoi("0" + m[i+1]) // digits
			t = t.Add(time.Duration(n) * unit)
		}
		return t, nil
	case e.allDay:
		return e.start.AddDate(0, 0, 1), nil
	}
	return e.start, nil
}

// whole reports whether an event is whole days: all-day, or from midnight to midnight, or to a minute before.
func (e *event) whole() bool {
	if e.allDay {
		return true
	}
	hour, minute, _ := e.start.Clock()
	endHour, endMinute, _ := e.end.Clock()
	return hour+minute == 0 && e.end.After(e.start) && (endHour+endMinute == 0 || endHour == 23 && endMinute == 59)
}

// endForm matches a rule that ends.
var endForm = regexp.MustCompile(`(?i)\b(UNTIL|COUNT)=`)

// event adds the days of an event and of its repetitions, but for those that have other versions.
func (f *Found) event(e *event, changed *changes, o Options) error {
	if e.cancelled {
		return nil
	}
	if !e.whole() && !o.Timed {
		f.Timed++
		return nil
	}
	last := e.end.Add(-time.Second)
	if last.Before(e.start) {
		last = e.start
	}
	length := dateOf(last) - dateOf(e.start)
	makeUp := o.MakeUp != nil && o.MakeUp.MatchString(e.name)
	if e.rule == "" && len(e.dates) == 0 {
		f.LastGiven = max(f.LastGiven, dateOf(e.start)+length)
		return f.add(dateOf(e.start), dateOf(e.start)+length, e.name, makeUp, o)
	}
	starts, err := e.repetitions(changed.of(e), o.First-length, o.Last)
	if err != nil {
		return err
	}
	ends := e.rule == "" || endForm.MatchString(e.rule)
	if ends {
		f.LastGiven = max(f.LastGiven, dateOf(e.start)+length)
	}
	for _, d := range starts {
		if ends {
			f.LastGiven = max(f.LastGiven, d+length)
		}
		if err := f.add(d, d+length, e.name, makeUp, o); err != nil {
			return err
		}
	}
	return nil
}

// repetitions returns the dates on which an event begins, from first to last.
func (e *event) repetitions(without map[calendars.Date]bool, first, last calendars.Date) ([]calendars.Date, error) {
	rule := e.rule
	if rule == "" { // RDATE alone
		rule = "FREQ=DAILY;COUNT=1"
	}
	zone := time.UTC
	start := "DTSTART:" + e.start.Format("20060102T150405Z")
	if e.zone != "" {
		start = "DTSTART;TZID=" + e.zone + ":" + e.start.Format("20060102T150405")
		zone, _ = recurrence.LoadLocation(e.zone) // zoneOf has
	}
	lines := append([]string{start, "RRULE:" + strings.TrimPrefix(rule, "RRULE:")}, e.dates...)
	set, err := rrule.ParseSet(strings.Join(lines, "\n"), e.start, zone)
	if err != nil {
		return nil, err
	}
	schedule, err := set.Schedule(set.Start)
	if err != nil {
		return nil, err
	}
	return instances(&set, schedule, zone, first, last, without)
}

// instances returns the dates in a zone of what a set has from first to last. The start is one of them, even if the rule
// does not fire at it.
func instances(
	set *rrule.Set, schedule *recurrence.Schedule, zone *time.Location, first, last calendars.Date, without map[calendars.Date]bool,
) ([]calendars.Date, error) {
	var all []calendars.Date
	excluded := slices.ContainsFunc(set.Excluded, func(r recurrence.Range) bool {
		return !set.Start.Before(r.From) && set.Start.Before(r.Until)
	})
	if d := dateOf(set.Start.In(zone)); d >= first && d <= last && !excluded && !without[d] {
		all = append(all, d)
	}
	year, month, day := time.Unix(int64(first)*86400, 0).UTC().Date()
	for from := time.Date(year, month, day, 0, 0, 0, 0, zone).Add(-time.Second); ; {
		t, ok := schedule.Next(from)
		local := t.In(zone)
		d := dateOf(local)
		switch {
		case !ok || d > last:
			return all, nil
		case len(all) > 2*calendars.MaxEntries:
			return nil, errTooMany
		case d >= first && !without[d] && (len(all) == 0 || all[len(all)-1] != d):
			all = append(all, d)
		}
		year, month, day := local.Date() // the next date
		if from = time.Date(year, month, day+1, 0, 0, 0, 0, zone).Add(-time.Second); from.Before(t) {
			from = t
		}
	}
}
