package input

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/recurrence"
	"almanac/recurrence/cron"
	"almanac/recurrence/english"
)

// Readings are what a text in English means as a recurrence: one reading, or several if it is ambiguous.
type Readings struct {
	Ambiguous string    `json:"ambiguous,omitempty"` // the words that may mean several things
	Readings  []Reading `json:"readings"`
}

// A Reading is one meaning of a text.
type Reading struct {
	Sentence   string          `json:"sentence"` // a text that means this and nothing else
	Text       string          `json:"text"`     // the same in the words of a job
	StartTime  string          `json:"startTime,omitempty"`
	Recurrence *job.Recurrence `json:"recurrence"`
}

// The limits of a text in English: its bytes, and how many ambiguities it may have; each has two or three readings.
const (
	maxEnglish     = 1000
	maxAmbiguities = 3
)

// ParseEnglish parses a request:
//
//	{"text": "last Friday 17:15", "timeZone": "Europe/Stockholm"}
//
// timeZone is the zone of a text that names none, and calendars are the names of those that there are. The error is an [*job.Error] of [job.KindInvalid].
func ParseEnglish(body []byte) (Readings, error) {
	b, err := parseEnvelope(body, new(DefaultLimits()), envelope{what: "question", inside: []string{"text", "timeZone", "calendars"}})
	if err != nil {
		return Readings{}, err
	}
	var q struct {
		Text     string `json:"text" field:"required"`
		TimeZone string `json:"timeZone" field:"rule=timeZone"`

		Calendars []string `json:"calendars"` // names of those that a text may mean which names none

		_ struct{} `ignore:"*"`
	}
	b.Rules = fixedRules
	b.Decode(b.properties, b.path, &q)
	if len(q.Text) > maxEnglish {
		b.fail(b.pathOf("text"), fields.TooLong, fmt.Sprintf("at most %d bytes", maxEnglish), "")
	}
	if len(q.Calendars) > job.MaxCalendars {
		b.fail(b.pathOf("calendars"), fields.TooMany, fmt.Sprintf("at most %d", job.MaxCalendars), "")
	}
	for i, name := range q.Calendars {
		b.addAt(b.BodyPath(fields.ItemPath(b.pathOf("calendars"), i)), job.CheckCalendarName(name))
	}
	if err := b.err("question"); err != nil {
		return Readings{}, err
	}
	zone, err := (&job.Recurrence{TimeZone: q.TimeZone}).Location()
	if err != nil {
		return Readings{}, err
	}
	readings, err := readEnglish(q.Text, zone, q.Calendars, maxAmbiguities)
	if err != nil {
		b.fail(b.pathOf("text"), fields.Invalid, "a recurrence in English", err.Error())
		return Readings{}, b.err("question")
	}
	return readings, nil
}

func readEnglish(text string, zone *time.Location, known []string, depth int) (Readings, error) {
	read, err := english.ParseBy(text, zone, known)
	if err == nil {
		one, err := readingOf(text, read)
		return Readings{Readings: []Reading{one}}, err
	}
	ambiguous, ok := errors.AsType[*english.AmbiguousError](err)
	if !ok || depth == 0 {
		return Readings{}, err
	}
	all := Readings{Ambiguous: ambiguous.Text}
	for _, candidate := range ambiguous.Candidates {
		more, err := readEnglish(candidate, zone, known, depth-1) // it may be ambiguous for another reason
		if err != nil {
			return Readings{}, err
		}
		all.Readings = append(all.Readings, more.Readings...)
	}
	return all, nil
}

// readingOf returns what was read as members of a job.
func readingOf(text string, read *english.Reading) (Reading, error) {
	r := &job.Recurrence{Count: read.Rule.Count}
	if read.Rule.Location != nil {
		r.TimeZone = read.Rule.Location.String()
	}
	if !read.Rule.End.IsZero() {
		r.EndTime = job.NewTime(read.Rule.End)
	}
	rules := append([]recurrence.Rule{read.Rule}, read.Also...)
	for i := range rules {
		rule, err := ruleOf(read, i, rules[i])
		if err != nil {
			return Reading{}, err
		}
		if i > 0 {
			r.Also = append(r.Also, rule)
			continue
		}
		r.Frequency, r.Interval, r.Schedule, r.Cron, r.RRule = rule.Frequency, max(rule.Interval, 1), rule.Schedule, rule.Cron, rule.RRule
	}
	for _, e := range read.Exclusions {
		one := job.Exclusion{At: e.At, First: e.First, Last: e.Last, From: e.From, Until: e.Until}
		if e.Rule != nil {
			var of job.Recurrence
			of.SetRule(e.Rule)
			one.Frequency, one.Interval, one.Schedule = of.Frequency, of.Interval, of.Schedule
		}
		r.Exclusions = append(r.Exclusions, one)
	}
	for _, use := range read.Calendars {
		r.Calendars = append(r.Calendars, job.CalendarUse{Name: use.Name, OnMatch: use.OnMatch.String()})
	}
	one := Reading{Sentence: text, Text: read.String(), Recurrence: r}
	if !read.Start.IsZero() {
		one.StartTime = localStart(read.Start, read.Rule.Location)
	}
	return one, nil
}

// ruleOf returns the rule of a reading with an index: 0 is the first, and the next ones are those of also.
func ruleOf(read *english.Reading, i int, rule recurrence.Rule) (job.FurtherRule, error) {
	var working []int
	if i < len(read.WorkingDays) {
		working = read.WorkingDays[i]
	}
	if len(working) == 0 {
		return furtherRuleOf(rule, read.Rule.Location)
	}
	if len(rule.MonthDays) == 31 { // it is every day that is a working day
		rule.MonthDays = nil
	}
	one, err := furtherRuleOf(rule, read.Rule.Location)
	if err == nil && one.Frequency == "" {
		rule.Location, rule.Count, rule.End = nil, 0, time.Time{}
		err = fmt.Errorf("no job can say %q with working days as one rule", rule.String())
	}
	if err != nil {
		return one, err
	}
	if one.Schedule == nil {
		one.Schedule = &job.Schedule{}
	}
	one.Schedule.WorkingDays = working
	return one, nil
}

// localStart returns a start as a local time, or with its offset if that time comes twice.
func localStart(t time.Time, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	local := t.In(zone).Format("2006-01-02T15:04:05")
	if first, err := recurrence.ParseTime(local, zone); err != nil || !first.Equal(t) {
		return t.In(zone).Format(time.RFC3339)
	}
	return local
}

// furtherRuleOf returns a rule in a zone as a job says it: as a schedule, else as a cron expression or an RRULE.
func furtherRuleOf(rule recurrence.Rule, zone *time.Location) (job.FurtherRule, error) {
	if zone == nil {
		rule.EveryPass = false // no local time comes twice
	}
	if rule.Plain() {
		var r job.Recurrence
		r.SetRule(&rule)
		return job.FurtherRule{Frequency: r.Frequency, Interval: r.Interval, Schedule: r.Schedule}, nil
	}
	if text, ok := withPositions(rule); ok {
		return job.FurtherRule{RRule: text}, nil
	}
	text, err := cron.Format(rule)
	if err != nil {
		rule.Location, rule.Count, rule.End = nil, 0, time.Time{}
		return job.FurtherRule{}, fmt.Errorf("no job can say %q as one rule", rule.String())
	}
	return job.FurtherRule{Cron: text}, nil
}

// withPositions returns a rule that picks from the days of a month as an RRULE; false if it is another one.
func withPositions(r recurrence.Rule) (string, bool) {
	only := recurrence.Rule{NearestWeekdays: r.NearestWeekdays, Years: r.Years, EitherDay: r.EitherDay, EveryPass: r.EveryPass}
	if len(r.Positions) == 0 || !only.Plain() || len(r.Hours) != 1 || len(r.Minutes) != 1 {
		return "", false
	}
	var text strings.Builder
	text.WriteString("FREQ=MONTHLY")
	add := func(part string, numbers ...int) {
		for i, n := range numbers {
			text.WriteString(map[bool]string{true: ";" + part + "=", false: ","}[i == 0] + strconv.Itoa(n))
		}
	}
	if r.Interval > 1 {
		add("INTERVAL", r.Interval)
	}
	add("BYMONTH", r.Months...)
	add("BYMONTHDAY", r.MonthDays...)
	for i, o := range r.MonthlyOccurrences {
		text.WriteString(map[bool]string{true: ";BYDAY=", false: ","}[i == 0])
		if o.Occurrence != 0 {
			text.WriteString(strconv.Itoa(o.Occurrence))
		}
		text.WriteString(strings.ToUpper(o.Day.String()[:2]))
	}
	add("BYSETPOS", r.Positions...)
	add("BYHOUR", r.Hours...)
	add("BYMINUTE", r.Minutes...)
	return text.String(), true
}
