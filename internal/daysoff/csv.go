package daysoff

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"almanac/recurrence/calendars"
)

// columns are the names of columns in headings.
var columns = map[string][]string{
	"first":     {"date", "first", "from", "start", "day", "start date", "first day", "datum"},
	"last":      {"last", "to", "until", "end", "finish", "end date", "last day"},
	"name":      {"name", "holiday", "summary", "title", "description", "subject", "label"},
	"kind":      {"kind", "type"},
	"startTime": {"start time"},
	"endTime":   {"end time"},
	"allDay":    {"all day event", "all day"},
}

// makeUpWords are the values of a kind that make a make-up day.
var makeUpWords = []string{"makeup", "make-up", "make up", "working", "workday", "working day"}

// readCSV reads lines of a date, or of the first and the last one, and a name, with or without headings. Between them
// are commas, semicolons or tabs.
func readCSV(f *Found, text []byte, o Options) error {
	if !utf8.Valid(text) {
		return errors.New("it is neither iCalendar, which begins with BEGIN:VCALENDAR, nor CSV in UTF-8")
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace, r.Comment = separator(text), -1, true, '#'
	var lines []line
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		number, _ := r.FieldPos(0)
		lines = append(lines, line{record, number})
	}
	if len(lines) == 0 {
		return errors.New("it is empty")
	}
	t := tableOf(lines)
	f.Ignored = slices.Sorted(maps.Values(t.unknown))
	var errs []error
	for _, l := range t.lines {
		err := f.row(&t, l, o)
		if errors.Is(err, errTooMany) {
			return err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", l.number, err))
		}
	}
	return joined(errs)
}

// A line is what is in one, with its number in the file.
type line struct {
	fields []string
	number int
}

// A table is lines with which column has what.
type table struct {
	at      map[string]int
	unknown map[int]string // headings
	lines   []line         // without the headings
	dated   int            // without headings: the number of a line whose second column is a date; 0: there is none
}

// field returns a field of a line; "" if it has none.
func (t *table) field(l line, column string) string {
	if i, has := t.at[column]; has && i < len(l.fields) {
		return strings.TrimSpace(l.fields[i])
	}
	return ""
}

// separator returns what the first line has most of.
func separator(text []byte) rune {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	best, most := ',', bytes.Count(first, []byte(","))
	for _, r := range []rune{';', '\t'} {
		if n := bytes.Count(first, []byte(string(r))); n > most {
			best, most = r, n
		}
	}
	return best
}

// tableOf returns which column has what: the headings say so, or else whether all second columns are dates.
func tableOf(lines []line) table {
	t := table{at: map[string]int{}, unknown: map[int]string{}, lines: lines[1:]}
	for i, text := range lines[0].fields {
		text = strings.TrimSpace(text)
		known := false
		for column, names := range columns {
			if _, has := t.at[column]; !has && slices.Contains(names, strings.ToLower(text)) {
				t.at[column], known = i, true
			}
		}
		if !known && text != "" {
			t.unknown[i] = text
		}
	}
	if _, has := t.at["first"]; has {
		return t
	}
	t = table{at: map[string]int{"first": 0, "name": 1}, lines: lines}
	others := false
	for _, l := range lines {
		switch text := t.field(l, "name"); {
		case isDate(text) && t.dated == 0:
			t.dated = l.number
		case text != "" && !isDate(text):
			others = true
		}
	}
	if t.dated != 0 && !others {
		t.at, t.dated = map[string]int{"first": 0, "last": 1, "name": 2}, 0
	}
	return t
}

// isDate reports whether a text is a date in any order.
func isDate(text string) bool {
	return slices.ContainsFunc([]string{"dmy", "mdy"}, func(order string) bool {
		_, err := readDate(text, order)
		return err == nil
	})
}

// row adds the days of a line.
func (f *Found) row(t *table, l line, o Options) error {
	if err := t.check(l); err != nil {
		return err
	}
	first, err := readDate(t.field(l, "first"), o.Order)
	if err != nil {
		return err
	}
	last := first
	if text := t.field(l, "last"); text != "" {
		if last, err = readDate(text, o.Order); err != nil {
			return err
		}
	}
	if last < first {
		return fmt.Errorf("%s is before %s", last, first)
	}
	last, whole, err := t.wholeDays(l, first, last)
	if err != nil {
		return err
	}
	if !whole && !o.Timed {
		f.Timed++
		return nil
	}
	name := strings.Join(strings.Fields(t.field(l, "name")), " ")
	makeUp := slices.Contains(makeUpWords, strings.ToLower(t.field(l, "kind"))) ||
		o.MakeUp != nil && o.MakeUp.MatchString(name)
	f.LastGiven = max(f.LastGiven, last)
	return f.add(first, last, name, makeUp, o)
}

// check refuses a line whose dates would be left out, or taken for a name.
func (t *table) check(l line) error {
	const which = "a heading such as first,last,name says which column is which"
	if t.dated != 0 {
		return fmt.Errorf("its second column is a date in line %d and a name in others: %s", t.dated, which)
	}
	if name := t.field(l, "name"); isDate(name) {
		return fmt.Errorf("its name is the date %s: %s", name, which)
	}
	for i, text := range l.fields {
		if heading := t.unknown[i]; heading != "" && isDate(text) {
			return fmt.Errorf("the column %q has the date %s, and is not known; allowed: such as first,last,name", heading, text)
		}
	}
	return nil
}

// wholeDays returns the last date of a line, which is not the one at whose beginning it ends, and whether it is whole
// days.
func (t *table) wholeDays(l line, first, last calendars.Date) (calendars.Date, bool, error) {
	begins, err := timeOfDay(t.field(l, "startTime"))
	if err != nil {
		return last, false, err
	}
	text := t.field(l, "endTime")
	ends, err := timeOfDay(text)
	if err != nil {
		return last, false, err
	}
	toMidnight := text != "" && ends == 0 && last > first
	if toMidnight {
		last--
	}
	allDay := slices.Contains([]string{"true", "yes", "1"}, strings.ToLower(t.field(l, "allDay")))
	whole := begins == 0 && (text == "" || toMidnight || ends >= 24*time.Hour-time.Minute)
	return last, allDay || whole, nil
}

// timeOfDay reads a time of day; "" is midnight.
func timeOfDay(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	for _, form := range []string{"15:04", "15:04:05", "3:04 PM", "3:04:05 PM"} {
		if t, err := time.Parse(form, strings.ToUpper(text)); err == nil {
			return t.Sub(t.Truncate(24 * time.Hour)), nil
		}
	}
	return 0, fmt.Errorf("%q is no time of day; allowed: such as 09:00 or 9:00 AM", text)
}

var slashes = regexp.MustCompile(`^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$`)

// readDate reads a date. Day and month with slashes need an order, unless one of them is more than 12.
func readDate(text, order string) (calendars.Date, error) {
	text = strings.TrimSpace(text)
	for _, form := range []string{time.DateOnly, "20060102", "2006/01/02", "2.1.2006", "2006-01-02T15:04:05", time.RFC3339, time.DateTime} {
		if t, err := time.Parse(form, text); err == nil {
			return dateOf(t), nil
		}
	}
	m := slashes.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is no date; allowed: such as 2026-01-31", text)
	}
	a, _ := strconv.Atoi(m[1]) // digits
	b, _ := strconv.Atoi(m[2])
	switch {
	case order == "" && a <= 12 && b <= 12 && a != b:
		return 0, fmt.Errorf("%q may be %s-%02d-%02d or %s-%02d-%02d: say which order the file has", text, m[3], a, b, m[3], b, a)
	case order == "dmy" || order == "" && a > 12:
		a, b = b, a
	}
	t, err := time.Parse("2006-1-2", fmt.Sprintf("%s-%d-%d", m[3], a, b))
	if err != nil {
		return 0, fmt.Errorf("%q is no date in this order", text)
	}
	return dateOf(t), nil
}
