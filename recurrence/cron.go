package recurrence

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseCron returns the rule of a cron expression:
//
//   - five fields, minute, hour, day of month, month and day of week, or six with
//     the second before them, which has to be 0;
//   - in a field *, numbers, names (JAN, MON), ranges, steps and lists of them;
//     0 and 7 are Sunday;
//   - L (the last day) and L-3 in the day of the month; 5L and FRIL (the last
//     Friday) and 5#2 and FRI#2 (the second) in the day of the week; ? for * in
//     either;
//   - @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly;
//   - @every and a duration of whole minutes, such as @every 1h30m;
//   - before all that, CRON_TZ= or TZ= and the name of a time zone.
//
// The instants do not depend on the anchor, but for @every, which counts from it.
//
// What a Rule cannot say is refused, with a [*FieldError] that names the field:
//
//   - days of the month together with days of the week, as cron fires on the days
//     that match either;
//   - W, the nearest weekday; seconds; @reboot; a seventh field with years;
//   - a step beyond its field, such as */90, which is every hour to cron;
//   - numbers as days of the week where there are six fields and a ?, as some programs
//     count these days from 0 and others from 1.
//
// Where the clock changes, an expression with any hour, any day and any month
// counts elapsed time: it fires throughout an hour that comes twice. Any other
// means local times: one that the clock skips fires by the offset before the gap,
// and one that comes twice fires once.
func ParseCron(expr string) (Rule, error) {
	fields := strings.Fields(expr)
	var loc *time.Location
	if len(fields) > 0 {
		key, name, _ := strings.Cut(fields[0], "=")
		if key == "TZ" || key == "CRON_TZ" {
			var err error
			if loc, err = LoadLocation(name); err != nil {
				return Rule{}, &FieldError{Field: key, Value: name, Allowed: allowedZones}
			}
			fields = fields[1:]
		}
	}
	rule, err := parseCron(fields)
	if err != nil {
		return Rule{}, err
	}
	rule.Location = loc
	return rule, nil
}

// cronMacros are the expressions that have names.
var cronMacros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

func parseCron(fields []string) (Rule, error) {
	expr := strings.Join(fields, " ")
	if after, ok := strings.CutPrefix(expr, "@every "); ok {
		return cronEvery(after)
	}
	if named, ok := cronMacros[expr]; ok {
		fields = strings.Fields(named)
	} else if strings.HasPrefix(expr, "@") {
		return Rule{}, &FieldError{Field: "expression", Value: expr, Allowed: "@yearly, @monthly, @weekly, @daily, @hourly or @every with a duration"}
	}
	seconds := len(fields) == 6
	if seconds {
		if strings.Trim(fields[0], "0") != "" {
			return Rule{}, &FieldError{Field: "second", Value: fields[0], Allowed: "0"}
		}
		fields = fields[1:]
	}
	if len(fields) != 5 {
		return Rule{}, &FieldError{Field: "expression", Value: expr, Allowed: "minute, hour, day of month, month and day of week, with the second before them or without"}
	}
	return cronRule(fields, seconds)
}

// cronEvery reads the duration of @every.
func cronEvery(text string) (Rule, error) {
	d, err := time.ParseDuration(text)
	minutes := int(d / time.Minute)
	switch {
	case err != nil || d%time.Minute != 0 || d <= 0 || minutes > maxInterval:
		return Rule{}, &FieldError{Field: "@every", Value: text, Allowed: "whole minutes, such as 90m or 1h30m"}
	case minutes%60 == 0:
		return Rule{Frequency: Hour, Interval: minutes / 60}, nil
	default:
		return Rule{Frequency: Minute, Interval: minutes}, nil
	}
}

// cronRule reads five fields. seconds says that a sixth came before them, as in
// Quartz, which counts days of the week from 1.
func cronRule(fields []string, seconds bool) (Rule, error) {
	var sets [5]uint64
	days := cronDays{quartz: seconds && slices.Contains(fields, "?")}
	for i, field := range cronFields {
		var err error
		if sets[i], err = field.set(fields[i], &days); err != nil {
			return Rule{}, err
		}
	}
	const minute, hour, dayOfMonth, month, dayOfWeek = 0, 1, 2, 3, 4
	ofMonth := append(bitsOf(sets[dayOfMonth]), days.fromEnd...)
	ofWeek := bitsOf(sets[dayOfWeek]&127 | sets[dayOfWeek]>>7)
	r := Rule{Frequency: Day, Minutes: bitsOf(sets[minute]), Hours: bitsOf(sets[hour]), Months: bitsOf(sets[month])}
	switch weekly := len(ofWeek)+len(days.counted) > 0; {
	case len(ofMonth) > 0 && weekly:
		return Rule{}, &FieldError{Field: "day of month", Value: fields[dayOfMonth],
			Allowed: "* or ? where there are days of the week, since cron fires on days that match either field: write an expression for each"}
	case len(ofMonth) > 0:
		r.Frequency, r.MonthDays = Month, ofMonth
	case weekly && len(days.counted)+len(r.Months) > 0:
		r.Frequency, r.MonthlyOccurrences = Month, days.counted
		for _, day := range ofWeek {
			r.MonthlyOccurrences = append(r.MonthlyOccurrences, MonthlyOccurrence{Day: time.Weekday(day)})
		}
	case weekly:
		r.Frequency = Week
		for _, day := range ofWeek {
			r.WeekDays = append(r.WeekDays, time.Weekday(day))
		}
	case len(r.Months) > 0:
		r.Frequency, r.MonthDays = Month, upTo(32)[1:]
	case len(r.Hours) == 0:
		r.Frequency = Hour
	}
	if len(r.Minutes) == 0 {
		r.Minutes = upTo(60)
	}
	return r, nil
}

// cronDays are the days that are not just numbers.
type cronDays struct {
	quartz  bool                // the expression may be one of Quartz
	fromEnd []int               // of the month, as negative numbers
	counted []MonthlyOccurrence // days of the week
}

// A cronField is one of the fields of an expression.
type cronField struct {
	name     string
	min, max int
	names    []string // of the values from min on
	allowed  string
}

var cronFields = [...]cronField{
	{"minute", 0, 59, nil, "0 to 59"},
	{"hour", 0, 23, nil, "0 to 23"},
	{"day of month", 1, 31, nil, "1 to 31, L or L-1 to L-30"},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, "1 to 12 or JAN to DEC"},
	{"day of week", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, "0 to 7 or SUN to SAT, also with L or #1 to #5"},
}

// set returns the values of a field as bits, none for any value. Days that are
// more than numbers are put into days.
func (f *cronField) set(text string, days *cronDays) (uint64, error) {
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

// add takes an item that is more than a number: L and L-3 of the month, 5L and
// 5#2 of the week. It reports whether the item was one.
func (d *cronDays) add(f *cronField, item string) bool {
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
		d.counted = append(d.counted, MonthlyOccurrence{Day: time.Weekday(day % 7), Occurrence: nth})
	}
	return ok && counted
}

// span returns the values of one item: a number, a range, or either with a step.
func (f *cronField) span(item string) (uint64, error) {
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
		to = 6
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
func (f *cronField) value(text string) (int, bool) {
	for i, name := range f.names {
		if sameWord(text, name) {
			return f.min + i, true
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.min && n <= f.max && text[0] != '+' && text[0] != '-'
}

func (f *cronField) bad(value, allowed string) error {
	return &FieldError{Field: f.name, Value: value, Allowed: allowed}
}

// bitsOf returns the numbers of the bits that are set.
func bitsOf(set uint64) (list []int) {
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return list
}
