// Package cronline reads cron expressions as the programs read them that run them, and says when these programs fire.
//
// It is the other side of package recurrence/cron, which reads what a rule of Almanac can say. Two programs are known:
// cron of Unix (Vixie's, and its successors in Debian, cronie and the BSDs), and Kubernetes, which uses robfig/cron v3.
package cronline

import (
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"
	"time"

	robfig "github.com/robfig/cron/v3"
)

// A Program is one that reads cron expressions.
type Program int

// The programs.
const (
	Unix Program = iota
	Kubernetes
)

// An Error says which field is wrong. It quotes nothing, since the line may be a part of a command.
type Error struct {
	Field string
	Why   string
}

func (e *Error) Error() string { return e.Field + ": " + e.Why }

// A Line is an expression.
type Line struct {
	Program Program
	Sets    [5]uint64 // minute, hour, day of the month, month, day of the week (0 to 6)
	Star    [5]bool   // any value, as the program sees it
	Every   time.Duration
	Notes   []string // what may surprise

	hour string // the field, as it was written
}

// The fields.
const (
	Minute = iota
	Hour
	DayOfMonth
	Month
	DayOfWeek
)

var fieldNames = [...]string{"minute", "hour", "day of the month", "month", "day of the week"}

type bounds struct {
	min, max int
	names    []string
}

var allBounds = [...]bounds{
	{0, 59, nil},
	{0, 23, nil},
	{1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Macro returns the five fields of a name such as @daily; false if there is none. Names are in any case in Kubernetes'
// and in lower case in crontabs, where other cases are refused.
func Macro(name string) (string, bool) {
	fields, ok := macros[name]
	return fields, ok
}

// Parse reads an expression without a time zone: five fields, or a name.
func Parse(expr string, program Program) (*Line, error) {
	l := &Line{Program: program}
	if after, ok := strings.CutPrefix(expr, "@every "); ok && program == Kubernetes {
		d, err := time.ParseDuration(strings.TrimSpace(after))
		if err != nil || d < time.Second {
			return nil, &Error{"expression", "the duration of @every is none"}
		}
		l.Every = d.Truncate(time.Second)
		return l, nil
	}
	fields := strings.Fields(expr)
	if named, ok := macros[expr]; ok {
		fields = strings.Fields(named)
	}
	if len(fields) != 5 {
		return nil, &Error{"expression", fmt.Sprintf("it has %d fields, and needs five: %s", len(fields), strings.Join(fieldNames[:], ", "))}
	}
	for i, text := range fields {
		if err := l.field(i, text); err != nil {
			return nil, err
		}
	}
	l.hour = fields[Hour]
	return l, nil
}

// field reads a field.
func (l *Line) field(i int, text string) error {
	bad := func(why string) error { return &Error{fieldNames[i], why} }
	if strings.Contains(text, "~") {
		return bad("a random value has no counterpart here")
	}
	if strings.ContainsAny(text, "LW#H") && i != Month && !hasName(text, i) {
		return bad("L, W, # and H are not known to " + l.program())
	}
	if text == "?" {
		if l.Program != Kubernetes {
			return bad("? is not known to cron")
		}
		text = "*"
	}
	for item := range strings.SplitSeq(text, ",") {
		if err := l.item(i, item, bad); err != nil {
			return err
		}
	}
	if i == DayOfWeek {
		l.Sets[i] = l.Sets[i]&127 | l.Sets[i]>>7
	}
	if l.Program == Unix { // a field that begins with a star restricts nothing in the choice between the days
		l.Star[i] = strings.HasPrefix(text, "*")
	}
	if l.Sets[i] == 0 {
		return bad("it has no value")
	}
	return nil
}

func hasName(text string, i int) bool {
	for _, name := range allBounds[i].names {
		if strings.Contains(strings.ToLower(text), name) {
			return true
		}
	}
	return false
}

func (l *Line) program() string {
	if l.Program == Kubernetes {
		return "Kubernetes"
	}
	return "cron"
}

// item reads a value, a range or a star, each with a step or without.
func (l *Line) item(i int, item string, bad func(string) error) error {
	b := allBounds[i]
	base, by, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(by)
		if err != nil || n < 1 || n > 1000000 {
			return bad("a step is a number from 1")
		}
		step = n
	}
	from, to, star, err := l.span(i, base, stepped, bad)
	if err != nil {
		return err
	}
	if star && step == 1 {
		l.Star[i] = true // of Kubernetes; that of cron is set by the field's first character
	}
	if size := b.max - b.min + 1; stepped && (step >= size || (i <= Hour && size%step != 0)) {
		l.Notes = append(l.Notes, fmt.Sprintf("the step of the field %s begins anew with each %s, so it is no interval of %d", fieldNames[i],
			[...]string{"hour", "day", "month", "year", "week"}[i], step))
	}
	for n := from; n <= to; n += step {
		l.Sets[i] |= 1 << n
	}
	return nil
}

// span returns the values of an item without its step.
func (l *Line) span(i int, base string, stepped bool, bad func(string) error) (from, to int, star bool, err error) {
	b := allBounds[i]
	if base == "*" {
		to = b.max
		if i == DayOfWeek {
			to = 6
		}
		return b.min, to, true, nil
	}
	first, last, ranged := strings.Cut(base, "-")
	from, ok := l.number(i, first)
	if !ok {
		return 0, 0, false, bad("a value is none of its values")
	}
	to = from
	switch {
	case ranged:
		if to, ok = l.number(i, last); !ok {
			return 0, 0, false, bad("a value is none of its values")
		}
	case stepped && l.Program == Kubernetes:
		to = b.max
		if i == DayOfWeek {
			to = 6
		}
	case stepped:
		return 0, 0, false, bad("some programs take a number with a step for the number alone, and some for a range to the end: write the range")
	}
	if from > to {
		return 0, 0, false, bad("a range ends before it begins")
	}
	return from, to, false, nil
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func (l *Line) number(i int, text string) (int, bool) {
	b := allBounds[i]
	for n, name := range b.names {
		if strings.EqualFold(text, name) {
			return b.min + n, true
		}
	}
	if !isNumber(text) || len(text) > 4 {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	highest := b.max
	if i == DayOfWeek && l.Program == Kubernetes {
		highest = 6
	}
	return n, err == nil && n >= b.min && n <= highest
}

// Days returns which of the fields for days restrict them, and whether a day of one of them is enough.
func (l *Line) Days() (ofMonth, ofWeek, either bool) {
	ofMonth, ofWeek = l.restricts(DayOfMonth), l.restricts(DayOfWeek)
	if l.Star[DayOfMonth] || l.Star[DayOfWeek] {
		return ofMonth, ofWeek, false
	}
	if ofMonth && ofWeek {
		return true, true, true
	}
	return false, false, false // each day is one of the other field
}

// restricts reports whether a field leaves out a value.
func (l *Line) restricts(i int) bool {
	b := allBounds[i]
	n := b.max - b.min + 1
	if i == DayOfWeek {
		n = 7
	}
	return bits.OnesCount64(l.Sets[i]) < n
}

// WildHours reports whether cron takes the line for one that repeats by the clock and not at fixed times: the minute or
// the hour begins with a star. Such lines fire twice in an hour that comes twice, and not in one that is skipped.
func (l *Line) WildHours() bool { return l.Star[Minute] || l.Star[Hour] }

// Values returns the values of a field.
func (l *Line) Values(i int) (list []int) {
	for set := l.Sets[i]; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return list
}

// day reports whether a date matches.
func (l *Line) day(t time.Time) bool {
	if l.Sets[Month]>>int(t.Month())&1 == 0 {
		return false
	}
	ofMonth := l.Sets[DayOfMonth]>>t.Day()&1 == 1
	ofWeek := l.Sets[DayOfWeek]>>int(t.Weekday())&1 == 1
	if l.Star[DayOfMonth] || l.Star[DayOfWeek] {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// years is how far a run is looked for.
const years = 450

// Runs returns when the program fires in a zone, from a time on.
func (l *Line) Runs(from time.Time, zone *time.Location) iter.Seq[time.Time] {
	if l.Every > 0 {
		return func(func(time.Time) bool) {} // it counts from a time that no expression has
	}
	if l.Program == Kubernetes {
		return l.robfig(from, zone)
	}
	return l.vixie(from, zone)
}

// robfig asks robfig/cron, which Kubernetes runs. Like that, it gives up after five years without a run.
func (l *Line) robfig(from time.Time, zone *time.Location) iter.Seq[time.Time] {
	schedule := &robfig.SpecSchedule{Second: 1, Location: zone}
	for i, to := range []*uint64{&schedule.Minute, &schedule.Hour, &schedule.Dom, &schedule.Month, &schedule.Dow} {
		*to = l.Sets[i]
		if l.Star[i] {
			*to |= 1 << 63
		}
	}
	return func(yield func(time.Time) bool) {
		for t := schedule.Next(from.Add(-time.Nanosecond).In(zone)); !t.IsZero() && yield(t.UTC()); {
			t = schedule.Next(t)
		}
	}
}

// byClock fires at each instant whose local time matches: twice in an hour that comes twice, never in one that is
// skipped.
func (l *Line) byClock(from time.Time, zone *time.Location) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		l.days(from, zone, func(begin, end time.Time) bool {
			return l.instants(later(begin, from), end, zone, yield)
		})
	}
}

// instants yields the instants of a stretch whose local hour and minute match. Clocks change at whole minutes.
func (l *Line) instants(from, until time.Time, zone *time.Location, yield func(time.Time) bool) bool {
	t := from.Truncate(time.Minute)
	if t.Before(from) {
		t = t.Add(time.Minute)
	}
	for ; t.Before(until); t = t.Add(time.Minute) {
		local := t.In(zone)
		if local.Second() != 0 { // zones of the past
			continue
		}
		if l.Sets[Hour]>>local.Hour()&1 == 0 {
			const step = 15 // clocks change at quarters of an hour
			t = t.Add(time.Duration(step-1-local.Minute()%step) * time.Minute)
			continue
		}
		if l.Sets[Minute]>>local.Minute()&1 == 1 && !yield(t.UTC()) {
			return false
		}
	}
	return true
}

// days calls visit for the begin and the end of each matching local date.
func (l *Line) days(from time.Time, zone *time.Location, visit func(begin, end time.Time) bool) {
	local := from.In(zone)
	year, month, day := local.Date()
	for n := range years * 366 {
		noon := time.Date(year, month, day+n, 12, 0, 0, 0, time.UTC)
		if !l.day(noon) {
			continue
		}
		begin := midnight(noon, zone)
		if end := midnight(noon.AddDate(0, 0, 1), zone); begin.Before(end) && !visit(begin, end) {
			return
		}
	}
}

// midnight returns the first instant of a date.
func midnight(date time.Time, zone *time.Location) time.Time {
	y, m, d := date.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	for t.In(zone).Day() != d { // midnight is skipped, and was read with the offset after the gap
		t = t.Add(time.Minute)
	}
	for before := t.Add(-time.Minute); before.In(zone).Day() == d; before = before.Add(-time.Minute) {
		t = before
	}
	return t
}

// vixie fires as Vixie's cron does. A line that repeats by the clock fires at each instant whose local time matches. One
// at fixed times fires once at each of them: in a gap as soon as it is over, and in an hour that comes twice the first
// time.
func (l *Line) vixie(from time.Time, zone *time.Location) iter.Seq[time.Time] {
	if l.WildHours() {
		return l.byClock(from, zone)
	}
	return func(yield func(time.Time) bool) {
		last := from.Add(-time.Nanosecond)
		l.days(from, zone, func(begin, _ time.Time) bool {
			return l.fixed(begin, from, zone, &last, yield)
		})
	}
}

// fixed yields the fixed times of a date, of which midnight is one.
func (l *Line) fixed(midnight, from time.Time, zone *time.Location, last *time.Time, yield func(time.Time) bool) bool {
	y, m, d := midnight.In(zone).Date()
	for _, hour := range l.Values(Hour) {
		for _, minute := range l.Values(Minute) {
			t := fires(time.Date(y, m, d, hour, minute, 0, 0, zone), hour, minute)
			if t.Before(from) || !t.After(*last) {
				continue
			}
			*last = t
			if !yield(t.UTC()) {
				return false
			}
		}
	}
	return true
}

// fires returns the first instant of a local time, of which t is one; the end of the gap if there is none.
func fires(t time.Time, hour, minute int) time.Time {
	if t.Hour() != hour || t.Minute() != minute {
		start, end := t.ZoneBounds()
		if end.IsZero() || !start.IsZero() && t.Sub(start) < end.Sub(t) {
			return start
		}
		return end
	}
	for _, back := range []time.Duration{2 * time.Hour, time.Hour, 30 * time.Minute} {
		if first := t.Add(-back); first.Day() == t.Day() && first.Hour() == hour && first.Minute() == minute {
			return first
		}
	}
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
