package recurrence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence/internal/grid"
)

// String returns the rule in English, such as "every 2 weeks on Monday and Friday
// at 09:00 and 17:00, Europe/Stockholm". It omits what
// depends on the anchor, such as the minute of a rule without minutes: see [Rule.Describe].
func (r Rule) String() string { return r.Describe(time.Time{}) }

// String returns the schedule in English, as [Rule.Describe] does with its anchor. It does not mention excluded
// ranges.
func (s *Schedule) String() string { return s.rule.Describe(instant(s.anchor)) }

// Describe returns the rule in English, with the values that the anchor gives, such as
// "the last Friday of every third month at 17:15, from 2026-01-01 17:15". Dates and
// times are in the rule's zone, which is named unless Location is nil. A zero anchor means none, as for
// [Rule.String]. The text is for people: its words may change. A rule without a valid frequency is "never"; other
// bad fields are shown as they are.
func (r Rule) Describe(anchor time.Time) string {
	d := description{rule: &r, anchored: !anchor.IsZero(), anchor: anchor.In(r.location())}
	return d.text()
}

// A description collects the phrases for a rule.
type description struct {
	rule     *Rule
	anchored bool
	anchor   time.Time // in the rule's zone
	limits   []string  // phrases that narrow down what comes before them
}

// text joins when it fires, what narrows that down, and when it ends.
func (d *description) text() string {
	r := d.rule
	if !r.Frequency.valid() {
		return "never"
	}
	var when string
	switch r.Frequency {
	case Minute, Hour:
		when = d.elapsed()
	case Day:
		when = "every " + units(r.Interval, "day") + d.times()
	case Week:
		when = "every " + units(r.Interval, "week") + d.weekDays() + d.times()
	default:
		when = d.months() + d.times()
	}
	if len(r.Years) > 0 {
		d.limits = append(d.limits, "only in "+list(runs(sorted(r.Years), strconv.Itoa), "and"))
	}
	if r.EveryPass && changes(r.location()) {
		d.limits = append(d.limits, "twice in an hour that comes twice")
	}
	parts := append([]string{when}, d.limits...)
	var span []string
	if d.anchored {
		span = append(span, "from "+clockTime(d.anchor)+secondPass(d.anchor))
	}
	if !r.End.IsZero() {
		end := r.End.In(r.location())
		span = append(span, "until "+untilTime(end)+secondPass(end))
	}
	if len(span) > 0 {
		parts = append(parts, strings.Join(span, " "))
	}
	if r.Location != nil && (r.Frequency > Hour || len(r.Hours)+len(r.Minutes)+len(r.Years)+len(span) > 0) {
		parts = append(parts, r.Location.String())
	}
	switch {
	case r.Count == 1:
		parts = append(parts, "once")
	case r.Count > 1:
		parts = append(parts, fmt.Sprintf("%d times", r.Count))
	}
	return strings.Join(parts, ", ")
}

// clockTime returns a date, with its time of day unless that is midnight.
func clockTime(t time.Time) string {
	switch hour, minute, second := t.Clock(); {
	case second != 0:
		return t.Format(time.DateTime)
	case hour != 0 || minute != 0:
		return t.Format("2006-01-02 15:04")
	default:
		return t.Format(time.DateOnly)
	}
}

// untilTime returns a date and its time of day: a date alone may mean all of it.
func untilTime(t time.Time) string {
	if t.Second() == 0 {
		return t.Format("2006-01-02 15:04")
	}
	return t.Format(time.DateTime)
}

// secondPass returns what tells a local time that comes twice from its first instant.
func secondPass(t time.Time) string {
	_, offset := t.Zone()
	if grid.Wall(t.Location(), t.Unix()+int64(offset)) != t.Unix() {
		return " the second time"
	}
	return ""
}

// changes reports whether the clock of a zone ever does.
func changes(loc *time.Location) bool {
	start, end := time.Unix(0, 0).In(loc).ZoneBounds()
	return !start.IsZero() || !end.IsZero()
}

// elapsed describes a rule that counts minutes or hours, whose lists filter.
func (d *description) elapsed() string {
	r := d.rule
	every := "every " + units(r.Interval, r.Frequency.String())
	minutes, hours := sorted(r.Minutes), sorted(r.Hours)
	switch {
	case r.Frequency == Hour && len(minutes) == 60 && r.interval() == 1 && (!d.anchored || d.anchor.Second() == 0):
		every = "every minute"
	case r.Frequency == Hour && len(minutes) > 0:
		every += " at " + minutesOf(minutes)
	case len(minutes) > 0 && len(hours) > 0:
		d.limits = append(d.limits, "only at "+minutesOf(minutes)+" of "+hoursOf(hours))
		return every
	case len(minutes) > 0:
		d.limits = append(d.limits, "only at "+minutesOf(minutes))
	}
	if len(hours) > 0 {
		d.limits = append(d.limits, "only in "+hoursOf(hours))
	}
	return every
}

// maxTimes is how many times of day are listed one by one.
const maxTimes = 6

// times describes the times of day, with a space before them.
func (d *description) times() string {
	r := d.rule
	hours, minutes := sorted(r.Hours), sorted(r.Minutes)
	second := 0
	switch {
	case len(minutes) > 0:
	case d.anchored:
		minutes, second = []int{d.anchor.Minute()}, d.anchor.Second()
		if len(hours) == 0 {
			hours = []int{d.anchor.Hour()}
		}
	case len(hours) == 24:
		return " once in every hour"
	case len(hours) > 1:
		return " once in each of the " + hoursOf(hours)
	case len(hours) == 1:
		return " once in " + hoursOf(hours)
	default:
		return ""
	}
	if len(hours) == 0 {
		hours = upTo(24)
	}
	if len(hours)*len(minutes) <= maxTimes {
		var times []string
		for _, h := range hours {
			for _, m := range minutes {
				at := fmt.Sprintf("%02d:%02d", h, m)
				if second != 0 {
					at += fmt.Sprintf(":%02d", second)
				}
				times = append(times, at)
			}
		}
		return " at " + list(times, "and")
	}
	at := minutesOf(minutes)
	if second != 0 {
		at += fmt.Sprintf(" and second %d", second)
	}
	return " at " + at + " of " + hoursOf(hours)
}

// plainDays names the days of the week of occurrences that are not counted; nil if one is.
func plainDays(all []MonthlyOccurrence) []string {
	var days []int // from Monday, which is 0
	for _, o := range all {
		if o.Occurrence != 0 {
			return nil
		}
		days = append(days, (int(o.Day)+6)%7)
	}
	return weekdayRuns(days)
}

// weekdayRuns names days of the week, which are numbers from Monday, 0, on.
func weekdayRuns(days []int) []string {
	return runs(sorted(days), func(n int) string { return time.Weekday((n + 1) % 7).String() })
}

// weekDays describes the days of a week, with a space before them.
func (d *description) weekDays() string {
	var days []int // from Monday, which is 0
	for _, day := range d.rule.WeekDays {
		days = append(days, (int(day)+6)%7)
	}
	if len(days) == 0 && d.anchored {
		days = []int{(int(d.anchor.Weekday()) + 6) % 7}
	}
	if len(days) == 0 {
		return ""
	}
	return " on " + list(weekdayRuns(days), "and")
}

// months describes the dates of a rule that counts months or years.
func (d *description) months() string {
	r := d.rule
	var names []string
	for _, m := range sorted(r.Months) {
		names = append(names, time.Month(m).String())
	}
	if r.Frequency == Year && len(names) == 0 && d.anchored {
		names = []string{d.anchor.Month().String()}
	}
	if r.Frequency == Month && len(names) == 12 {
		names = nil
	}
	days, months := d.days(), list(names, "and")
	switch {
	case r.Frequency == Year && months != "" && r.interval() > 1:
		return join(days, "of") + months + " of every " + ordinal(r.Interval) + " year"
	case months != "" && r.interval() == 1:
		return join(days, "of") + "every " + months
	case months != "":
		d.limits = append(d.limits, "only in "+months)
	}
	if days == "" || r.interval() == 1 {
		return join(days, "of") + "every " + units(r.Interval, r.Frequency.String())
	}
	return days + " of every " + ordinal(r.Interval) + " " + r.Frequency.String()
}

// days describes the days of a month. It is empty if they are the anchor's, which
// is not known.
func (d *description) days() string {
	r := d.rule
	var occurrences []string
	for _, o := range r.MonthlyOccurrences {
		occurrences = append(occurrences, o.text("every "))
	}
	days := runs(sorted(r.MonthDays), dayOfMonth)
	for _, day := range sorted(r.NearestWeekdays) {
		days = append(days, nearestWeekday(day))
	}
	switch {
	case len(r.Positions) > 0:
		if plain := plainDays(r.MonthlyOccurrences); plain != nil {
			occurrences = plain
		}
		of := list(positions(r.Positions), "and") + " of "
		if len(days) == 0 || len(occurrences) == 0 || r.EitherDay {
			return of + list(append(days, occurrences...), "and")
		}
		occurrences = nil
		for _, o := range r.MonthlyOccurrences {
			occurrences = append(occurrences, o.text("a "))
		}
		return of + list(days, "and") + " that is " + list(occurrences, "or")
	case r.EitherDay && len(days)+len(occurrences) > 0:
		return list(append(days, occurrences...), "and")
	case len(days) > 0 && len(occurrences) > 0:
		for i, o := range r.MonthlyOccurrences {
			occurrences[i] = o.text("a ")
		}
		d.limits = append(d.limits, "only if that day is "+list(occurrences, "or"))
		return list(days, "and")
	case len(occurrences) > 0:
		return list(occurrences, "and")
	case slices.Equal(sorted(r.MonthDays), upTo(32)[1:]):
		return "every day"
	case len(days) > 0:
		return list(days, "and")
	case !d.anchored:
		return ""
	}
	day := d.anchor.Day()
	if day > shortest(r, d.anchor.Month()) {
		d.limits = append(d.limits, "or on the last day of a shorter month")
	}
	return dayOfMonth(day)
}

// shortest returns the length of the shortest month in which a rule fires.
func shortest(r *Rule, anchor time.Month) int {
	if r.Frequency == Year && len(r.Months) == 0 {
		return grid.ShortestMonth([]int{int(anchor)})
	}
	return grid.ShortestMonth(r.Months)
}

// text returns the occurrence, with a word for one that is not counted: "the
// second Friday", "the last Friday", "every Friday".
func (o MonthlyOccurrence) text(uncounted string) string {
	switch n := o.Occurrence; {
	case n == 0:
		return uncounted + o.Day.String()
	case n == -1:
		return "the last " + o.Day.String()
	case n < 0:
		return "the " + ordinal(-n) + " to last " + o.Day.String()
	default:
		return "the " + ordinal(n) + " " + o.Day.String()
	}
}

// dayOfMonth returns "the 1st", "the last day" or "the second to last day".
func dayOfMonth(day int) string {
	switch {
	case day == -1:
		return "the last day"
	case day < 0:
		return "the " + ordinal(-day) + " to last day"
	default:
		return "the " + numeral(day)
	}
}

// nearestWeekday returns "the weekday nearest the 15th".
func nearestWeekday(day int) string {
	if day == -1 {
		return "the last weekday"
	}
	return "the weekday nearest " + dayOfMonth(day)
}

// positions returns [Counted] of each.
func positions(list []int) (words []string) {
	for _, n := range sorted(list) {
		words = append(words, Counted(n))
	}
	return words
}

// Counted returns "the first", "the last" or "the second to last", as the texts of rules have them.
func Counted(n int) string {
	switch {
	case n == -1:
		return "the last"
	case n < 0:
		return "the " + ordinal(-n) + " to last"
	default:
		return "the " + ordinal(n)
	}
}

func minutesOf(minutes []int) string {
	if len(minutes) == 60 {
		return "every minute"
	}
	return numbers("minute", minutes)
}

func hoursOf(hours []int) string {
	if len(hours) == 24 {
		return "every hour"
	}
	return numbers("hour", hours)
}

// numbers returns "hour 9" or "hours 9 to 12 and 17".
func numbers(unit string, of []int) string {
	if len(of) > 1 {
		unit += "s"
	}
	return unit + " " + list(runs(of, strconv.Itoa), "and")
}

// units returns "day" or "2 days".
func units(n int, unit string) string {
	if n <= 1 {
		return unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}

var ordinals = [...]string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"}

// ordinal returns "third", or "18th" beyond the twelfth.
func ordinal(n int) string {
	if n > 0 && n < len(ordinals) {
		return ordinals[n]
	}
	return numeral(n)
}

// numeral returns "1st", "12th" or "23rd".
func numeral(n int) string {
	suffix := "th"
	if n%100/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// runs names numbers, three or more in a row as "9 to 17" unless they are negative.
func runs(all []int, name func(int) string) (words []string) {
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 && all[i] >= 0 {
			last++
		}
		if last-i >= 2 {
			words = append(words, name(all[i])+" to "+name(all[last]))
			i = last + 1
			continue
		}
		words = append(words, name(all[i]))
		i++
	}
	return words
}

// list returns "a, b and c".
func list(words []string, and string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + and + " " + words[last]
}

// join returns the phrase and the word after it, or nothing without a phrase.
func join(phrase, word string) string {
	if phrase == "" {
		return ""
	}
	return phrase + " " + word + " "
}

// sorted returns the numbers in order and each once, negative ones last.
func sorted(list []int) []int {
	all := slices.Clone(list)
	slices.SortFunc(all, func(a, b int) int {
		if (a < 0) != (b < 0) {
			return b - a
		}
		return a - b
	})
	return slices.Compact(all)
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
