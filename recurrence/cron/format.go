package cron

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
)

// Format writes a rule as an expression that [Parse] reads as a rule with the same text, and without its zone, count and
// end. It has five fields, or with Years it is one of Quartz. A rule that no expression says is a
// [*recurrence.FieldError]: with an Interval, with days that must be in both lists, or whose time of day is the anchor's.
func Format(rule recurrence.Rule) (string, error) {
	rule.Location, rule.Count, rule.End = nil, 0, time.Time{}
	bad := &recurrence.FieldError{Field: "Rule", Value: rule.String(), Allowed: "a rule that a cron expression says"}
	w := writer{rule: &rule}
	text, ok := w.text()
	if !ok {
		return "", bad
	}
	back, err := Parse(text)
	if err != nil || back.String() != rule.String() || back.EveryPass != rule.EveryPass {
		return "", bad
	}
	return text, nil
}

// A writer writes the fields of a rule.
type writer struct {
	rule   *recurrence.Rule
	failed bool
}

func (w *writer) text() (string, bool) {
	r := w.rule
	if r.Interval > 1 || r.Frequency < recurrence.Hour || len(r.Minutes) == 0 || r.Frequency == recurrence.Year {
		return "", false
	}
	of, on := w.monthDays(), w.weekDays()
	if of != "*" && on != "*" && !r.EitherDay {
		return "", false
	}
	months := numbers(r.Months)
	if len(r.Years) == 0 {
		return strings.Join([]string{numbers(r.Minutes), w.hours(), of, months, on}, " "), !w.failed
	}
	switch {
	case on == "*":
		on = "?"
	case of == "*":
		of = "?"
	default:
		return "", false
	}
	return strings.Join([]string{"quartz: 0", numbers(r.Minutes), w.hours(), of, months, on, numbers(r.Years)}, " "), !w.failed
}

// hours begin with a star if they fire in every pass of an hour that comes twice.
func (w *writer) hours() string {
	all := slices.Compact(slices.Sorted(slices.Values(w.rule.Hours)))
	if !w.rule.EveryPass && w.rule.Frequency > recurrence.Hour {
		if len(all) == 0 {
			return "0-23"
		}
		return numbers(all)
	}
	if len(all) == 0 || len(all) == 24 {
		return "*"
	}
	step := 24
	if len(all) > 1 {
		step = all[1]
	}
	for i, h := range all {
		w.failed = w.failed || h != i*step
	}
	w.failed = w.failed || len(all) != (23+step)/step
	return "*/" + strconv.Itoa(step)
}

func (w *writer) monthDays() string {
	var texts []string
	add := func(day int, suffix string) {
		text := strconv.Itoa(day)
		if day == -1 {
			text = "L"
		} else if day < 0 {
			text = "L" + strconv.Itoa(day+1)
		}
		texts = append(texts, text+suffix)
	}
	for _, day := range w.rule.MonthDays {
		add(day, "")
	}
	for _, day := range w.rule.NearestWeekdays {
		add(day, "W")
	}
	return joined(texts)
}

func (w *writer) weekDays() string {
	var texts []string
	name := func(day time.Weekday) string { return strings.ToUpper(day.String()[:3]) }
	for _, day := range w.rule.WeekDays {
		texts = append(texts, name(day))
	}
	for _, o := range w.rule.MonthlyOccurrences {
		switch {
		case o.Occurrence == 0:
			texts = append(texts, name(o.Day))
		case o.Occurrence > 0:
			texts = append(texts, name(o.Day)+"#"+strconv.Itoa(o.Occurrence))
		default:
			w.failed = w.failed || o.Occurrence != -1
			texts = append(texts, name(o.Day)+"L")
		}
	}
	return joined(texts)
}

func numbers(all []int) string {
	var texts []string
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return joined(texts)
}

// joined returns items with commas; none are a star.
func joined(texts []string) string {
	if len(texts) == 0 {
		return "*"
	}
	return strings.Join(texts, ",")
}
