// Package cron reads cron expressions as rules of package recurrence.
//
//	rule, err := cron.Parse("CRON_TZ=Europe/Stockholm 30 9 * * MON-FRI")
//	schedule, err := recurrence.New(rule, time.Now())
//
// An expression has five fields, or six with the second before them:
//
//	field         values           also
//	second        0                no other second
//	minute        0-59             * , - /
//	hour          0-23             * , - /
//	day of month  1-31             * , - / ? L L-3
//	month         1-12 or JAN-DEC  * , - /
//	day of week   0-7 or SUN-SAT   * , - / ? 5L FRIL 5#2 FRI#2
//
// In detail:
//
//   - Names are in any case. 0 and 7 are Sunday.
//   - 5/20 is every 20th value from 5 on. The step is at most the field's maximum.
//   - L is the last day of the month, L-3 the third day before it, 5L and FRIL the last Friday, 5#2 and FRI#2 the
//     second Friday. Other items may stand beside them, as in 15,L.
//   - In place of the fields: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a
//     duration of whole minutes, such as @every 1h30m.
//   - Before all that, CRON_TZ= or TZ= with a name that [recurrence.LoadLocation] accepts. Without it, the rule is
//     in UTC, never in the machine's zone; to use another zone, set the rule's Location.
//
// # Differences from other implementations
//
// A [recurrence.Rule] cannot express everything that some program accepts. [Parse] refuses the rest:
//
//   - days of the month together with days of the week: cron fires on days that match either, so use a rule for
//     each;
//   - seconds other than 0, a seventh field with years, @reboot, W (the nearest weekday), H (a hash);
//   - ? in other fields than the two for days;
//   - a step beyond its field, such as */90, which cron reads as 0;
//   - a range that ends before it begins, except on Sunday (FRI-SUN);
//   - numbers as days of the week where there are six fields and a ?: Quartz counts these days from 1, others
//     from 0.
//
// robfig/cron skips a local time that the clock skips. Here it fires by the offset before the gap, as the package
// comment of recurrence says; a local time that comes twice fires once. An expression with any hour, any day and
// any month is a rule of elapsed hours: it fires throughout an hour that comes twice.
package cron

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
)

// Parse returns the rule of a cron expression. Its instants do not depend on the anchor, except that @every counts
// from it; none is before it.
//
// A bad expression, or one that a Rule cannot express, is a [*recurrence.FieldError] that names the field, such as
// "day of month". An expression that can never fire, such as "0 0 31 2 *", is left to [recurrence.New] to refuse.
func Parse(expr string) (recurrence.Rule, error) {
	fields := strings.Fields(expr)
	var loc *time.Location
	if len(fields) > 0 {
		if key, name, _ := strings.Cut(fields[0], "="); key == "TZ" || key == "CRON_TZ" {
			var err error
			if loc, err = recurrence.LoadLocation(name); err != nil {
				return recurrence.Rule{}, err
			}
			fields = fields[1:]
		}
	}
	rule, err := parse(fields)
	if err != nil {
		return recurrence.Rule{}, err
	}
	rule.Location = loc
	return rule, nil
}

// macros are the expressions that have names.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

func parse(fields []string) (recurrence.Rule, error) {
	expr := strings.Join(fields, " ")
	if after, ok := strings.CutPrefix(expr, "@every "); ok {
		return every(after)
	}
	if named, ok := macros[expr]; ok {
		fields = strings.Fields(named)
	} else if strings.HasPrefix(expr, "@") {
		return recurrence.Rule{}, bad("expression", expr, "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a duration")
	}
	seconds := len(fields) == 6
	if seconds {
		if strings.Trim(fields[0], "0") != "" {
			return recurrence.Rule{}, bad("second", fields[0], "0")
		}
		fields = fields[1:]
	}
	if len(fields) != 5 {
		return recurrence.Rule{}, bad("expression", expr, "minute, hour, day of month, month and day of week, with the second before them or without")
	}
	return rule(fields, seconds)
}

// every reads the duration of @every.
func every(text string) (recurrence.Rule, error) {
	d, err := time.ParseDuration(text)
	minutes := int(d / time.Minute)
	switch {
	case err != nil || d%time.Minute != 0 || d <= 0 || minutes > recurrence.MaxInterval:
		return recurrence.Rule{}, bad("@every", text, "1 to 1000000 whole minutes, such as 90m or 1h30m")
	case minutes%60 == 0:
		return recurrence.Rule{Frequency: recurrence.Hour, Interval: minutes / 60}, nil
	default:
		return recurrence.Rule{Frequency: recurrence.Minute, Interval: minutes}, nil
	}
}

func bad(field, value, allowed string) error {
	return &recurrence.FieldError{Field: field, Value: value, Allowed: allowed}
}

// rule reads five fields. seconds says that a sixth came before them, as in Quartz, which counts days of the week
// from 1.
func rule(fields []string, seconds bool) (recurrence.Rule, error) {
	var sets [5]uint64
	days := dayItems{quartz: seconds && slices.Contains(fields, "?")}
	for i, f := range allFields {
		var err error
		if sets[i], err = f.set(fields[i], &days); err != nil {
			return recurrence.Rule{}, err
		}
	}
	const minute, hour, dayOfMonth, month, dayOfWeek = 0, 1, 2, 3, 4
	ofMonth := append(bitsOf(sets[dayOfMonth]), days.fromEnd...)
	ofWeek := bitsOf(sets[dayOfWeek]&127 | sets[dayOfWeek]>>7)
	r := recurrence.Rule{Frequency: recurrence.Day, Minutes: bitsOf(sets[minute]), Hours: bitsOf(sets[hour]), Months: bitsOf(sets[month])}
	switch weekly := len(ofWeek)+len(days.counted) > 0; {
	case len(ofMonth) > 0 && weekly:
		return recurrence.Rule{}, bad("day of month", fields[dayOfMonth],
			"* or ? where there are days of the week, since cron fires on days that match either field: write an expression for each")
	case len(ofMonth) > 0:
		r.Frequency, r.MonthDays = recurrence.Month, ofMonth
	case weekly && len(days.counted)+len(r.Months) > 0:
		r.Frequency, r.MonthlyOccurrences = recurrence.Month, days.counted
		for _, day := range ofWeek {
			r.MonthlyOccurrences = append(r.MonthlyOccurrences, recurrence.MonthlyOccurrence{Day: time.Weekday(day)})
		}
	case weekly:
		r.Frequency = recurrence.Week
		for _, day := range ofWeek {
			r.WeekDays = append(r.WeekDays, time.Weekday(day))
		}
	case len(r.Months) > 0:
		r.Frequency, r.MonthDays = recurrence.Month, bitsOf(1<<32-2)
	case len(r.Hours) == 0:
		r.Frequency = recurrence.Hour
	}
	if len(r.Minutes) == 0 {
		r.Minutes = bitsOf(1<<60 - 1)
	}
	return r, nil
}

// dayItems are the days that are not just numbers.
type dayItems struct {
	quartz  bool                           // the expression may be one of Quartz
	fromEnd []int                          // of the month, as negative numbers
	counted []recurrence.MonthlyOccurrence // days of the week
}

// A field is one of the fields of an expression.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on
	allowed  string
}

var allFields = [...]field{
	{"minute", 0, 59, nil, "0 to 59"},
	{"hour", 0, 23, nil, "0 to 23"},
	{"day of month", 1, 31, nil, "1 to 31, L or L-1 to L-30"},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, "1 to 12 or JAN to DEC"},
	{"day of week", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, "0 to 7 or SUN to SAT, also with L or #1 to #5"},
}

// set returns the values of a field as bits, none for any value. It adds days that are more than a number to days.
func (f *field) set(text string, days *dayItems) (uint64, error) {
	day := strings.HasPrefix(f.name, "day")
	if text == "*" || text == "*/1" || text == "?" && day {
		return 0, nil
	}
	var set uint64
	for item := range strings.SplitSeq(text, ",") {
		if days.quartz && f.max == 7 && numbersDays(item) {
			return 0, f.bad(item, "names, MON to SUN: with six fields and a ?, some programs count days of the week from 0 and some from 1")
		}
		if day && days.add(f, item) {
			continue
		}
		values, err := f.span(item)
		if err != nil {
			return 0, err
		}
		set |= values
	}
	return set, nil
}

// numbersDays reports whether an item has days of the week as numbers.
func numbersDays(item string) bool {
	if end := strings.IndexAny(item, "#/"); end >= 0 {
		item = item[:end]
	}
	return strings.ContainsAny(item, "0123456789")
}

// add adds an item that is more than a number: L and L-3 of the month, 5L and 5#2 of the week. It reports whether
// the item was one.
func (d *dayItems) add(f *field, item string) bool {
	if f.max == 31 {
		rest, ok := strings.CutPrefix(item, "L")
		back := 0
		if ok && rest != "" {
			number, minus := strings.CutPrefix(rest, "-")
			var err error
			back, err = strconv.Atoi(number)
			ok = minus && err == nil && back >= 1 && back <= 30
		}
		if ok {
			d.fromEnd = append(d.fromEnd, -1-back)
		}
		return ok
	}
	name, number, counted := strings.Cut(item, "#")
	nth := -1
	if counted {
		nth, _ = strconv.Atoi(number)
		counted = nth >= 1 && nth <= 5
	} else {
		name, counted = strings.CutSuffix(item, "L")
	}
	day, ok := f.value(name)
	if ok && counted {
		d.counted = append(d.counted, recurrence.MonthlyOccurrence{Day: time.Weekday(day % 7), Occurrence: nth})
	}
	return ok && counted
}

// span returns the values of one item: a number, a range, or either with a step.
func (f *field) span(item string) (uint64, error) {
	base, by, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(by)
		if err != nil || n < 1 || n > f.max {
			return 0, f.bad(item, "a step of 1 to "+strconv.Itoa(f.max))
		}
		step = n
	}
	first, last, ranged := strings.Cut(base, "-")
	from, ok := f.value(first)
	to := from
	switch {
	case base == "*":
		from, to, ok = f.min, f.max, true
		if f.max == 7 {
			to = 6
		}
	case ranged && ok:
		to, ok = f.value(last)
		if f.max == 7 && to == 0 && from > 0 { // FRI-SUN
			to = 7
		}
	case stepped && f.max == 7:
		from, to = from%7, 6
	case stepped:
		to = f.max
	}
	if !ok {
		return 0, f.bad(item, f.allowed)
	}
	if from > to {
		return 0, f.bad(item, "a range that begins before it ends")
	}
	var set uint64
	for n := from; n <= to; n += step {
		set |= 1 << n
	}
	return set, nil
}

// value reads a number or a name.
func (f *field) value(text string) (int, bool) {
	for i, name := range f.names {
		if len(text) == len(name) && strings.EqualFold(text, name) { // EqualFold matches letters outside ASCII too
			return f.min + i, true
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.min && n <= f.max && text[0] != '+' && text[0] != '-'
}

func (f *field) bad(value, allowed string) error {
	return bad(f.name, value, allowed)
}

// bitsOf returns the numbers of the bits that are set.
func bitsOf(set uint64) (list []int) {
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return list
}
