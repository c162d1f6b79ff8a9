package cronline

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer/value"
	"almanac/recurrence"
	"almanac/recurrence/cron"
)

// Waits returns what recurrences of the line wait for, if the API refuses them; "" for nothing.
func (l *Line) Waits() string {
	if _, _, either := l.Days(); either {
		return "the program fires on days of the month and on days of the week, on either of them, which a schedule cannot say: it waits " +
			"for recurrence.cron, or write two jobs if no day is in both"
	}
	return ""
}

// Recurrences returns recurrences that say when the line fires, the plainest first. They differ where the clock
// changes. The last one is the expression itself. The error means that there is none.
func (l *Line) Recurrences(zone string, line int) ([]*value.Value, error) {
	if l.Every > 0 {
		return l.every(line)
	}
	var all []*value.Value
	rules, err := l.rules()
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		text, err := json.Marshal(rule)
		if err != nil {
			return nil, err
		}
		read, err := value.ReadAll(string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, recurrenceOf(read[0], zone, line))
	}
	return append(all, l.expression(zone, line)), nil
}

// expression returns a recurrence with the line as Almanac reads it: by Vixie's rules.
func (l *Line) expression(zone string, line int) *value.Value {
	ofMonth, ofWeek, either := l.Days()
	fields := []string{l.list(Minute, true), l.list(Hour, true), l.list(DayOfMonth, ofMonth), l.list(Month, true), l.list(DayOfWeek, ofWeek)}
	if l.Star[Hour] {
		fields[Hour] = l.hour // that it begins with a star counts where the clock changes
	}
	if ofMonth && ofWeek && !either { // a day is in both
		fields[DayOfMonth] = "*/1," + fields[DayOfMonth]
	}
	r := value.Obj(line).Set("cron", value.Text(strings.Join(fields, " "), line))
	if zone != "" {
		r.Set("timeZone", value.Text(zone, line))
	}
	return r
}

// recurrenceOf returns a recurrence with what a rule leaves to its defaults.
func recurrenceOf(rule *value.Value, zone string, line int) *value.Value {
	r := value.Obj(line)
	r.Set("frequency", rule.Get("frequency"))
	r.Set("interval", value.Int(1, line))
	if n := rule.Get("interval"); n != nil {
		r.Set("interval", n)
	}
	if zone != "" {
		r.Set("timeZone", value.Text(zone, line))
	}
	if s := rule.Get("schedule"); s != nil {
		r.Set("schedule", s)
	}
	r.Walk("", func(_ string, v *value.Value) bool {
		v.Line = line
		return true
	})
	return r
}

// every returns the recurrence of @every.
func (l *Line) every(line int) ([]*value.Value, error) {
	minutes := int(l.Every / time.Minute)
	if l.Every%time.Minute != 0 || minutes == 0 {
		return nil, fmt.Errorf("@every has seconds; the shortest unit here is a minute")
	}
	rule := value.Obj(line).Set("frequency", value.Text("minute", line)).Set("interval", value.Int(minutes, line))
	if minutes%60 == 0 {
		rule.Set("frequency", value.Text("hour", line)).Set("interval", value.Int(minutes/60, line))
	}
	return []*value.Value{recurrenceOf(rule, "", line)}, nil
}

// rules returns the rules of the line, the plainest first. The project's reader of cron expressions makes the first.
func (l *Line) rules() ([]recurrence.Rule, error) {
	ofMonth, ofWeek, either := l.Days()
	if either {
		return nil, nil
	}
	fields := []string{l.list(Minute, true), l.list(Hour, true), l.list(DayOfMonth, ofMonth), l.list(Month, true), l.list(DayOfWeek, ofWeek && !ofMonth)}
	rule, err := cron.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil, err
	}
	if ofMonth && ofWeek { // a day is in both
		for _, day := range l.Values(DayOfWeek) {
			rule.MonthlyOccurrences = append(rule.MonthlyOccurrences, recurrence.MonthlyOccurrence{Day: time.Weekday(day)})
		}
	}
	switch {
	case ofMonth || ofWeek || l.restricts(Month):
		return []recurrence.Rule{rule}, nil
	case l.restricts(Hour):
		byClock := recurrence.Rule{Frequency: recurrence.Hour, Hours: rule.Hours, Minutes: rule.Minutes}
		return []recurrence.Rule{rule, byClock}, nil
	case !l.restricts(Minute):
		return []recurrence.Rule{{Frequency: recurrence.Minute}}, nil
	}
	return []recurrence.Rule{rule}, nil
}

// list returns a field with each of its values; a star if it restricts nothing.
func (l *Line) list(i int, counts bool) string {
	if !counts || !l.restricts(i) {
		return "*"
	}
	var all []string
	for _, n := range l.Values(i) {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}
