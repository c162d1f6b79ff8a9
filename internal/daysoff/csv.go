package daysoff

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
	"first": {"date", "first", "from", "start", "day", "start date", "datum"},
	"last":  {"last", "to", "until", "end", "end date"},
	"name":  {"name", "holiday", "summary", "title", "description", "subject", "label"},
	"kind":  {"kind", "type"},
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
	var at map[string]int
	var errs []error
	rows := 0
	for ; ; rows++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		if at == nil {
			named, isHead := headings(record)
			if at = named; isHead {
				continue
			}
		}
		err = f.row(record, at, o)
		if errors.Is(err, errTooMany) {
			return err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", line, err))
		}
	}
	if rows == 0 {
		return errors.New("it is empty")
	}
	return joined(errs)
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

// headings returns which column has what, and whether the first line says so.
func headings(record []string) (map[string]int, bool) {
	at := map[string]int{}
	for i, text := range record {
		for column, names := range columns {
			if _, has := at[column]; !has && slices.Contains(names, strings.ToLower(strings.TrimSpace(text))) {
				at[column] = i
			}
		}
	}
	if _, has := at["first"]; has {
		return at, true
	}
	at = map[string]int{"first": 0, "name": 1}
	if len(record) > 1 {
		if _, err := readDate(record[1], "mdy"); err == nil {
			at["last"], at["name"] = 1, 2
		}
	}
	return at, false
}

func (f *Found) row(record []string, at map[string]int, o Options) error {
	field := func(column string) string {
		if i, has := at[column]; has && i < len(record) {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	first, err := readDate(field("first"), o.Order)
	if err != nil {
		return err
	}
	last := first
	if text := field("last"); text != "" {
		if last, err = readDate(text, o.Order); err != nil {
			return err
		}
	}
	if last < first {
		return fmt.Errorf("%s is before %s", last, first)
	}
	name := strings.Join(strings.Fields(field("name")), " ")
	for _, order := range []string{"dmy", "mdy"} {
		if _, err := readDate(name, order); err == nil {
			return fmt.Errorf("its name is the date %s: a heading such as first,last,name says which column is which", name)
		}
	}
	makeUp := slices.Contains(makeUpWords, strings.ToLower(field("kind"))) || o.MakeUp != nil && o.MakeUp.MatchString(name)
	f.LastGiven = max(f.LastGiven, last)
	return f.add(first, last, name, makeUp, o)
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
