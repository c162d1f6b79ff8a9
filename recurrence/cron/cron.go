// Package cron reads cron expressions as rules of package recurrence.
//
//	rule, err := cron.Parse("CRON_TZ=Europe/Stockholm 30 9 * * MON-FRI")
//	schedule, err := recurrence.New(rule, time.Now())
//
// An expression has five fields:
//
//	field         values           also
//	minute        0-59             * , - / ?
//	hour          0-23             * , - / ?
//	day of month  1-31             * , - / ? L L-3 15W LW
//	month         1-12 or JAN-DEC  * , - / ?
//	day of week   0-7 or SUN-SAT   * , - / ? 5L FRIL 5#2 FRI#2
//
// In detail:
//
//   - Names are in any case. 0 and 7 are Sunday. A ? is a *.
//   - 5/20 is every 20th value from 5 on. The step is at most the field's maximum.
//   - L is the last day of the month, L-3 the third day before it, 5L and FRIL the last Friday, 5#2 and FRI#2 the
//     second Friday, 15W the Monday to Friday nearest the 15th within its month, LW the last Monday to Friday. Other
//     items may stand beside them, as in 15,L.
//   - Where both fields for days are restricted, a day matches that is in either, as in Vixie's cron. If one of them
//     begins with a *, such as */2, a day must be in both.
//   - In place of the fields: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a
//     duration of whole minutes, such as @every 1h30m.
//   - Before all that, CRON_TZ= or TZ= with a name that [recurrence.LoadLocation] accepts. Without it, the rule is
//     in UTC, never in the machine's zone; to use another zone, set the rule's Location.
//
// # Where the clock changes
//
// An hour field that begins with a * counts elapsed time: it fires in both passes of an hour that comes twice, and
// never in one that the clock skips. Any other hour field fires once: in the first pass, and a time that the clock
// skips by the offset before the gap, so 02:30 becomes 03:30.
//
// # Six and seven fields
//
// Six fields begin with the second, which must be 0, and seven end with the year. Programs differ in what they mean, so
// such an expression names its dialect before it:
//
//   - "quartz: 0 0 9 ? * 2-6" is one of Quartz: days of the week are 1 (Sunday) to 7, one of the fields for days is ?,
//     L as the day of the week is Saturday, and a range may pass the end (FRI-MON).
//   - "spring: 0 0 9 * * 1-5" is one of Spring: days of the week are as with five fields, and a day must match both
//     fields for days. It has no year.
//
// Without a dialect it is accepted only if both read it as the same rule, such as 0 0 9 ? * MON-FRI. Any other is an
// error that shows both readings.
//
// # Differences from other implementations
//
// Refused are:
//
//   - seconds other than 0, @reboot, H (a hash);
//   - a step beyond its field, such as */90, which cron reads as 0;
//   - a range that ends before it begins, except on Sunday (FRI-SUN) and in Quartz.
//
// robfig/cron skips a local time that the clock skips, and takes days in either field whenever neither is exactly a
// star. croniter takes days in either field, whatever they begin with, unless it is told otherwise.
package cron

import (
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
)

// Parse returns the rule of a cron expression. Its instants do not depend on the anchor, except that @every counts
// from it; none is before it.
//
// A bad expression is a [*recurrence.FieldError] that names the field, such as "day of month". An expression that can
// never fire, such as "0 0 31 2 *", is left to [recurrence.New] to refuse.
func Parse(expr string) (recurrence.Rule, error) {
	named, rest := cutDialect(strings.TrimSpace(expr))
	fields := strings.Fields(rest)
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
	rule, err := parse(named, fields)
	if err != nil {
		return recurrence.Rule{}, err
	}
	rule.Location = loc
	return rule, nil
}

// cutDialect cuts the name of a dialect and its colon off an expression, if it begins so.
func cutDialect(expr string) (*dialect, string) {
	name, rest, ok := strings.Cut(expr, ":")
	if !ok {
		return nil, expr
	}
	for _, d := range []*dialect{&quartz, &spring} {
		if strings.EqualFold(name, d.name) {
			return d, rest
		}
	}
	return nil, expr
}

// macros are the expressions that have names.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

const allowedFields = "minute, hour, day of month, month and day of week; or six or seven fields after quartz: or spring:"

// parse reads the fields of an expression in a dialect; nil if it names none.
func parse(named *dialect, fields []string) (recurrence.Rule, error) {
	expr := strings.Join(fields, " ")
	if after, ok := strings.CutPrefix(expr, "@every "); ok && named == nil {
		return every(after)
	}
	if macro, ok := macros[expr]; ok && named != &quartz {
		return vixie.rule(strings.Fields(macro))
	}
	switch {
	case strings.HasPrefix(expr, "@"):
		return recurrence.Rule{}, bad("expression", expr, "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a duration")
	case named != nil:
		return named.timed(fields)
	case len(fields) == 5:
		return vixie.rule(fields)
	case len(fields) == 6 || len(fields) == 7:
		return undecided(expr, fields)
	}
	return recurrence.Rule{}, bad("expression", expr, allowedFields)
}

// undecided reads an expression that names no dialect, though it has to. Only if all dialects agree is it a rule.
func undecided(expr string, fields []string) (recurrence.Rule, error) {
	asQuartz, errQuartz := quartz.timed(fields)
	asSpring, errSpring := spring.timed(fields)
	if errQuartz == nil && errSpring == nil && reflect.DeepEqual(asQuartz, asSpring) {
		return asQuartz, nil
	}
	if errQuartz != nil && errSpring != nil && errQuartz.Error() == errSpring.Error() {
		return recurrence.Rule{}, errSpring
	}
	reading := func(rule recurrence.Rule, err error) string {
		if err != nil {
			return "refused, since " + err.Error()
		}
		return rule.String()
	}
	return recurrence.Rule{}, bad("expression", expr, fmt.Sprintf(
		"with %d fields quartz: or spring: before it. %q is %s. %q is %s",
		len(fields), "quartz: "+expr, reading(asQuartz, errQuartz), "spring: "+expr, reading(asSpring, errSpring)))
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

// A dialect is a way to read fields.
type dialect struct {
	name    string
	sunday  int  // the number of Sunday
	wraps   bool // a range may pass the end of its field
	oneDay  bool // one of the fields for days is ?
	either  bool // a day may be in either field for days
	years   bool // there may be a seventh field
	lastDay bool // L as a day of the week is Saturday
}

var (
	vixie  = dialect{name: "cron", either: true}
	quartz = dialect{name: "quartz", sunday: 1, wraps: true, oneDay: true, years: true, lastDay: true}
	spring = dialect{name: "spring"}
)

// The fields by their place.
const (
	minute = iota
	hour
	dayOfMonth
	month
	dayOfWeek
	year
)

// timed reads six or seven fields.
func (d *dialect) timed(fields []string) (recurrence.Rule, error) {
	most := 6
	if d.years {
		most = 7
	}
	if len(fields) < 6 || len(fields) > most {
		allowed := "second, minute, hour, day of month, month and day of week"
		if d.years {
			allowed += ", with the year after them or without"
		}
		return recurrence.Rule{}, bad("expression", strings.Join(fields, " "), allowed)
	}
	if strings.Trim(fields[0], "0") != "" {
		return recurrence.Rule{}, bad("second", fields[0], "0")
	}
	fields = fields[1:]
	if d.oneDay && (fields[dayOfMonth] == "?") == (fields[dayOfWeek] == "?") {
		return recurrence.Rule{}, bad("day of month", fields[dayOfMonth], "? either here or as the day of week, which is "+strconv.Quote(fields[dayOfWeek]))
	}
	return d.rule(fields)
}

// rule reads five fields, and the year if there is one.
func (d *dialect) rule(fields []string) (recurrence.Rule, error) {
	var sets [5]uint64
	var days dayItems
	for i := range sets {
		var err error
		if sets[i], err = d.set(&allFields[i], fields[i], &days); err != nil {
			return recurrence.Rule{}, err
		}
	}
	ofMonth := append(bitsOf(sets[dayOfMonth]), days.fromEnd...)
	ofWeek := bitsOf(sets[dayOfWeek]&127 | sets[dayOfWeek]>>7)
	star := strings.HasPrefix(fields[hour], "*") || fields[hour] == "?"
	r := recurrence.Rule{Frequency: recurrence.Day, Minutes: bitsOf(sets[minute]), Hours: bitsOf(sets[hour]), Months: bitsOf(sets[month])}
	numbered := len(ofMonth)+len(days.nearest) > 0
	weekly := len(ofWeek)+len(days.counted) > 0
	switch {
	case numbered || weekly && len(days.counted)+len(r.Months) > 0:
		r.Frequency, r.MonthDays, r.NearestWeekdays, r.MonthlyOccurrences = recurrence.Month, ofMonth, days.nearest, days.counted
		for _, day := range ofWeek {
			r.MonthlyOccurrences = append(r.MonthlyOccurrences, recurrence.MonthlyOccurrence{Day: time.Weekday(day)})
		}
		r.EitherDay = numbered && weekly && d.either && fields[dayOfMonth][0] != '*' && fields[dayOfWeek][0] != '*'
	case weekly:
		r.Frequency = recurrence.Week
		for _, day := range ofWeek {
			r.WeekDays = append(r.WeekDays, time.Weekday(day))
		}
	case len(r.Months) > 0:
		r.Frequency, r.MonthDays = recurrence.Month, bitsOf(1<<32-2)
	case star:
		r.Frequency = recurrence.Hour
	}
	r.EveryPass = star && r.Frequency != recurrence.Hour
	if len(r.Minutes) == 0 {
		r.Minutes = bitsOf(1<<60 - 1)
	}
	if len(fields) > year {
		var err error
		r.Years, err = d.yearsOf(fields[year])
		if err != nil {
			return recurrence.Rule{}, err
		}
	}
	return r, nil
}

// dayItems are the days that are not just numbers.
type dayItems struct {
	fromEnd []int                          // of the month, as negative numbers
	nearest []int                          // of the month: moved to the nearest Monday to Friday
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
	{"day of month", 1, 31, nil, "1 to 31, L or L-1 to L-30, or one of them with W, such as 15W or LW"},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, "1 to 12 or JAN to DEC"},
	{"day of week", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, "0 to 7 or SUN to SAT, also with L or #1 to #5"},
}

var quartzWeek = field{"day of week", 0, 6, allFields[dayOfWeek].names, "1 (Sunday) to 7 or SUN to SAT, also with L or #1 to #5"}

// set returns the values of a field as bits, none for any value. It adds days that are more than a number to days.
func (d *dialect) set(f *field, text string, days *dayItems) (uint64, error) {
	day := strings.HasPrefix(f.name, "day")
	if text == "*" || text == "*/1" || text == "?" && (d != &quartz || day) {
		return 0, nil
	}
	if f.name == "day of week" && d.sunday == 1 {
		f = &quartzWeek
	}
	var set uint64
	for item := range strings.SplitSeq(text, ",") {
		if day && d.addDay(f, item, days) {
			continue
		}
		values, err := d.span(f, item)
		if err != nil {
			return 0, err
		}
		set |= values
	}
	return set, nil
}

// addDay adds an item that is more than a number: L, L-3 and 15W of the month, 5L and 5#2 of the week. It reports
// whether the item was one.
func (d *dialect) addDay(f *field, item string, days *dayItems) bool {
	if f.max == 31 {
		return d.addDayOfMonth(f, strings.ToUpper(item), days)
	}
	if d.lastDay && strings.EqualFold(item, "L") {
		days.counted = append(days.counted, recurrence.MonthlyOccurrence{Day: time.Saturday})
		return true
	}
	name, number, counted := strings.Cut(item, "#")
	nth := -1
	if counted {
		nth, _ = strconv.Atoi(number)
		counted = nth >= 1 && nth <= 5
	} else {
		name, counted = strings.CutSuffix(strings.ToUpper(item), "L")
	}
	day, ok := d.value(f, name)
	if ok && counted {
		days.counted = append(days.counted, recurrence.MonthlyOccurrence{Day: time.Weekday(day % 7), Occurrence: nth})
	}
	return ok && counted
}

func (d *dialect) addDayOfMonth(f *field, item string, days *dayItems) bool {
	text, nearest := strings.CutSuffix(item, "W")
	rest, last := strings.CutPrefix(text, "L")
	day := 0
	switch {
	case last && rest == "":
		day = -1
	case last:
		number, minus := strings.CutPrefix(rest, "-")
		back, err := strconv.Atoi(number)
		if !minus || err != nil || back < 1 || back > 30 {
			return false
		}
		day = -1 - back
	case nearest:
		var ok bool
		if day, ok = d.value(f, text); !ok {
			return false
		}
	default:
		return false
	}
	if nearest {
		days.nearest = append(days.nearest, day)
	} else {
		days.fromEnd = append(days.fromEnd, day)
	}
	return true
}

// span returns the values of one item: a number, a range, or either with a step.
func (d *dialect) span(f *field, item string) (uint64, error) {
	from, to, step, err := d.limits(f, item)
	if err != nil {
		return 0, err
	}
	var set uint64
	size := f.max - f.min + 1
	if from > to {
		to += size
	}
	for n := from; n <= to; n += step {
		set |= 1 << ((n-f.min)%size + f.min)
	}
	return set, nil
}

// limits returns the first and the last value of an item, and its step.
func (d *dialect) limits(f *field, item string) (from, to, step int, err error) {
	base, by, stepped := strings.Cut(item, "/")
	step = 1
	if stepped {
		n, err := strconv.Atoi(by)
		if err != nil || n < 1 || n > f.max {
			return 0, 0, 0, f.bad(item, "a step of 1 to "+strconv.Itoa(f.max))
		}
		step = n
	}
	first, last, ranged := strings.Cut(base, "-")
	from, ok := d.value(f, first)
	to = from
	switch {
	case base == "*":
		from, to, ok = f.min, f.max, true
		if f.max == 7 {
			to = 6
		}
	case ranged && ok:
		to, ok = d.value(f, last)
		if f.max == 7 && to == 0 && from > 0 { // FRI-SUN
			to = 7
		}
	case stepped && f.max == 7:
		from, to = from%7, 6
	case stepped:
		to = f.max
	}
	if !ok {
		return 0, 0, 0, f.bad(item, f.allowed)
	}
	if from > to && !d.wraps {
		return 0, 0, 0, f.bad(item, "a range that begins before it ends")
	}
	return from, to, step, nil
}

// value reads a number or a name.
func (d *dialect) value(f *field, text string) (int, bool) {
	for i, name := range f.names {
		if len(text) == len(name) && strings.EqualFold(text, name) { // EqualFold matches letters outside ASCII too
			return f.min + i, true
		}
	}
	n, err := strconv.Atoi(text)
	if strings.HasPrefix(f.name, "day of week") {
		n -= d.sunday
	}
	return n, err == nil && n >= f.min && n <= f.max && text[0] != '+' && text[0] != '-'
}

// The years that a Quartz expression may have.
const (
	firstYear = 1970
	lastYear  = 2199
)

// yearsOf reads the field of years; nil for any.
func (d *dialect) yearsOf(text string) ([]int, error) {
	if text == "*" || text == "*/1" || text == "?" {
		return nil, nil
	}
	f := &field{name: "year", min: firstYear, max: lastYear, allowed: "1970 to 2199"}
	var years []int
	for item := range strings.SplitSeq(text, ",") {
		from, to, step, err := d.limits(f, item)
		if err != nil {
			return nil, err
		}
		if from > to {
			return nil, f.bad(item, "a range that begins before it ends")
		}
		for n := from; n <= to; n += step {
			years = append(years, n)
		}
	}
	return years, nil
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
