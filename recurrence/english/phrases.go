package english

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
)

// facts are what the phrases of a text say.
type facts struct {
	frequency recurrence.Frequency // 0: not said
	interval  int

	weekDays    []time.Weekday // not counted, of weeks or of months
	occurrences []recurrence.MonthlyOccurrence
	monthDays   []int
	nearest     []int
	positions   []int
	workdays    bool // weekDays are those of "weekday"
	onlyIf      bool // days are in both lists
	allDays     bool // "every day" of months
	inMonths    []int
	years       []int
	clamped     bool // or on the last day of a shorter month

	times       []clock
	hours       []int // nil: not said; all 24 if allHours
	minutes     []int
	allHours    bool
	second      int
	hasSecond   bool
	onlyMinutes bool // minutes of "only at"
	everyPass   bool

	start, end       string
	second1, second2 bool // the start's and the end's second time
	count            int
	zone             *time.Location
	saysZone         bool // the text names it

	midnight bool
	bare     []int // tokens that are hours without minutes
	bareDays bool  // weekDays were not said to be each
	further  []*Reading
}

// phrase reads the next phrase. One that says anew, and otherwise, what can be said once is an error.
func (p *parser) phrase() {
	before, begun := p.facts, p.at
	p.read()
	twice := ""
	switch {
	case before.start != "" && p.start != before.start:
		twice = "one start"
	case before.end != "" && p.end != before.end:
		twice = "one end"
	case before.count != 0 && p.count != before.count:
		twice = "one count"
	case before.hours != nil && !slices.Equal(p.hours, before.hours):
		twice = "hours once"
	case before.minutes != nil && !slices.Equal(p.minutes, before.minutes):
		twice = "minutes once"
	case before.years != nil && !slices.Equal(p.years, before.years):
		twice = "years once"
	}
	if twice != "" && p.err == nil {
		p.at = begun
		p.stop(twice)
	}
}

// read reads the next phrase.
func (p *parser) read() {
	word := p.peek(0)
	switch {
	case p.monthEnd() || p.clause():
	case p.one(",", "and", "on", "of", "the", "in", "a", "an") && p.at <= len(p.words):
		p.small(word)
	case word == ";":
		if p.at++; p.peek(0) == "and" || !p.clause() {
			p.another()
		}
	case p.one("every", "each"):
		p.every()
	case p.one("at", "@"):
		p.timesOfDay()
	case p.take("only", "in"):
		p.onlyIn()
	case p.take("only", "at"):
		p.onlyMinutes = true
		p.minutesOf()
	case p.take("only", "if", "that", "day", "is"):
		p.onlyIfDay()
	case p.take("or", "on", "the", "last", "day", "of", "a", "shorter", "month"):
		p.clamped = true
	case p.take("twice", "in", "an", "hour", "that", "comes", "twice"):
		p.everyPass = true
	case p.one("once"):
		p.once()
	case word == "between" || word == "from" && p.isHours():
		p.hoursBetween()
	case p.one("from", "starting", "since", "beginning"):
		p.start, p.second1 = p.date()
	case p.one("until", "till"):
		p.end, p.second2 = p.date()
	default:
		p.rest(word)
	}
}

// small goes on after a small word, which means something only before some others.
func (p *parser) small(word string) {
	if word == "," && p.peek(0) == "" || p.peek(0) == "" && word != "" {
		p.at = len(p.words)
		if word != "," {
			p.stop("what comes after " + word)
		}
		return
	}
	if word == "the" {
		if f, ok := unit(p.peek(0)); ok { // of the month
			p.at++
			p.unit(1, f)
			return
		}
		p.days()
	}
}

// rest reads phrases that begin with a number, a name or an adverb.
func (p *parser) rest(word string) {
	n, isNumber := number(word)
	f, isAdverb := adverbs[word]
	_, _, isOrdinal := ordinal(word)
	_, isDay := weekday(word)
	_, isMonth := month(word)
	switch {
	case isNumber && p.peek(1) == "times":
		p.count = n
		p.at += 2
	case isAdverb:
		p.at++
		p.unit(1, f)
	case isOrdinal || word == "last":
		p.days()
	case isDay:
		p.bareDays = true
		p.weekDays = append(p.weekDays, p.weekdays()...)
	case word == "weekday" || word == "weekdays":
		p.at++
		p.mondayToFriday()
	case isMonth:
		p.addMonths(p.months())
	case p.shortUnit(word) || p.clocks(false) || p.timeZone() || p.city():
	default:
		p.vague(word)
	}
}

// vague says what is wrong with a word that is not read.
func (p *parser) vague(word string) {
	ways := map[string][]string{
		"biweekly": {"every 2 weeks", "every week on Monday and Thursday"}, "fortnightly": nil,
		"bimonthly": {"every 2 months", "the 1st and the 15th of every month"}, "semimonthly": {"the 1st and the 15th of every month", "the 15th and the last day of every month"},
		"semiweekly": {"every week on Monday and Thursday", "every week on Tuesday and Friday"},
		"quarterly":  {"the 1st of every January, April, July and October", "every 3 months"}, "biannually": {"every January and July", "every 2 years"},
		"semiannually": {"every January and July", "every 6 months"}, "biennially": nil,
		"weekend": {"every Saturday", "every Saturday and Sunday"}, "weekends": {"every Saturday", "every Saturday and Sunday"},
		"quarter": {"the 1st of every January, April, July and October", "every 3 months"},
	}
	more := len(p.tokens)-p.at > 1 || slices.ContainsFunc(p.words[:p.at], func(before string) bool {
		return !slices.Contains([]string{"every", "each", "on", "the", "a"}, before)
	})
	if all := ways[word]; all != nil && more { // they would lack the rest
		p.stop(quoted(all) + " in its place")
		return
	} else if all != nil {
		p.err = &AmbiguousError{Text: p.tokens[p.at], Candidates: all}
		return
	}
	switch word {
	case "fortnightly":
		p.at++
		p.unit(2, recurrence.Week)
	case "biennially":
		p.at++
		p.unit(2, recurrence.Year)
	default:
		p.stop(example)
	}
}

// unit says how often.
func (p *parser) unit(interval int, f recurrence.Frequency) {
	if p.frequency != 0 && (p.frequency != f || p.interval != interval) {
		p.at--
		p.stop("one frequency")
		return
	}
	p.frequency, p.interval = f, interval
}

// every reads what comes after "every".
func (p *parser) every() {
	p.one("single")
	if p.one("other") {
		p.nth(2)
		return
	}
	if n, ok := number(p.peek(0)); ok {
		p.at++
		f, isUnit := unit(p.peek(0))
		if !isUnit {
			p.stop("minutes, hours, days, weeks, months or years")
			return
		}
		p.at++
		p.unit(n, f)
		return
	}
	n, _, isOrdinal := ordinal(p.peek(0))
	day, isDay := weekday(p.peek(1))
	switch {
	case p.peek(0) == "last" || isOrdinal && isDay && n == 1: // every last Friday
		p.days()
	case isOrdinal && isDay:
		said := p.tokens[:p.at-1]
		after := p.tokens[p.at+2:]
		p.err = &AmbiguousError{Text: "every " + joined(p.tokens[p.at:p.at+2]), Candidates: []string{
			joined(slices.Concat(said, []string{"every", strconv.Itoa(n), "weeks", "on", day.String()}, after)),
			joined(slices.Concat(said, []string{"the", p.tokens[p.at], day.String(), "of", "every", "month"}, after)),
		}}
	case isOrdinal:
		p.at++
		p.nth(n)
	default:
		p.nth(1)
	}
}

// nth reads what comes after "every" and an ordinal.
func (p *parser) nth(n int) {
	word := p.peek(0)
	f, isUnit := unit(word)
	_, isDay := weekday(word)
	_, isMonth := month(word)
	switch {
	case isUnit && f == recurrence.Day && n == 1 && p.peek(1) == "of":
		p.at++
		p.allDays = true
	case isUnit:
		p.at++
		p.unit(n, f)
	case p.shortUnit(word):
	case isDay:
		p.everyWeekday(n)
	case isMonth && n == 1:
		p.addMonths(p.months())
	case n == 1 && (word == "working" || word == "business") && p.businessDay():
		p.eachDay = true
		if p.frequency == 0 {
			p.unit(1, recurrence.Day)
		}
	case (word == "weekday" || word == "workday") && n == 1:
		p.at++
		p.mondayToFriday()
	case word == "fortnight" && n == 1:
		p.at++
		p.unit(2, recurrence.Week)
	case n > 1:
		p.stop("a unit such as weeks, or a day of the week")
	default:
		p.vague(word)
	}
}

// everyWeekday reads "every Friday" and "every other Friday".
func (p *parser) everyWeekday(n int) {
	days := p.weekdays()
	if n > 1 {
		p.unit(n, recurrence.Week)
	}
	if len(p.occurrences)+len(p.monthDays)+len(p.nearest) > 0 { // "the first Monday and every Friday"
		for _, d := range days {
			p.occurrences = append(p.occurrences, recurrence.MonthlyOccurrence{Day: d})
		}
		return
	}
	p.weekDays = append(p.weekDays, days...)
	if p.between() && p.one("the") {
		for _, d := range p.weekDays {
			p.occurrences = append(p.occurrences, recurrence.MonthlyOccurrence{Day: d})
		}
		p.weekDays = nil
		p.days()
	}
}

// mondayToFriday says Monday to Friday.
func (p *parser) mondayToFriday() {
	for d := time.Monday; d <= time.Friday; d++ {
		p.weekDays = append(p.weekDays, d)
	}
	p.workdays = true
}

// addMonths says in which months, and on which day if that comes next.
func (p *parser) addMonths(all []int) {
	p.inMonths = append(p.inMonths, all...)
	if n, ok := number(p.peek(0)); ok && n > 0 && n <= 31 && len(p.monthDays) == 0 && p.clockAhead() == "" { // "March 15"
		p.at++
		p.monthDays = append(p.monthDays, n)
	} else if n, numeral, ok := ordinal(p.peek(0)); ok && numeral && n <= 31 && len(p.monthDays) == 0 { // "March 15th"
		p.at++
		p.monthDays = append(p.monthDays, n)
	}
}

// clockAhead returns the next words if they are a time of day with an am or pm.
func (p *parser) clockAhead() string {
	if next := strings.ReplaceAll(p.peek(1), ".", ""); next == "am" || next == "pm" {
		return next
	}
	return ""
}

var shortForm = regexp.MustCompile(`^(\d{1,7})(m|min|h|d|w|mo|y)s?$`)

// shortUnit reads 15m or 2h.
func (p *parser) shortUnit(word string) bool {
	m := shortForm.FindStringSubmatch(word)
	if m == nil {
		return false
	}
	n, _ := number(m[1])
	short := map[string]recurrence.Frequency{
		"m": recurrence.Minute, "min": recurrence.Minute, "h": recurrence.Hour, "d": recurrence.Day, "w": recurrence.Week, "mo": recurrence.Month, "y": recurrence.Year,
	}
	p.at++
	p.unit(n, short[m[2]])
	return true
}

// once reads "once", which is a count, or "once in hour 9".
func (p *parser) once() {
	switch {
	case p.take("in", "each", "of", "the", "hours") || p.take("in", "hours") || p.take("in", "hour"):
		p.hours = p.numbers()
	case p.take("in", "every", "hour"):
		p.hours = span(0, 23)
	case p.one("a", "per", "every"):
		if f, ok := unit(p.peek(0)); ok {
			p.at++
			p.unit(1, f)
			return
		}
		p.stop("day, week, month or year")
	default:
		p.count = 1
	}
}

// onlyIn reads what comes after "only in": hours, months or years.
func (p *parser) onlyIn() {
	switch {
	case p.one("hours", "hour"):
		p.hours = p.numbers()
	default:
		if _, ok := month(p.peek(0)); ok {
			p.inMonths = append(p.inMonths, p.months()...)
		} else if p.years = p.numbers(); p.years == nil {
			p.stop("hours, months or years")
		}
	}
}

// onlyIfDay reads "a Friday or the second Monday".
func (p *parser) onlyIfDay() {
	p.onlyIf = true
	for {
		if p.one("a", "an") {
			for _, d := range p.weekdays() {
				p.occurrences = append(p.occurrences, recurrence.MonthlyOccurrence{Day: d})
			}
		} else if !p.one("the") || !p.dayItem() {
			p.stop("a Monday, or the first Monday")
			return
		}
		before := p.at
		if !p.between() || p.peek(0) != "a" && p.peek(0) != "the" {
			p.at = before
			return
		}
	}
}

// another reads a further rule after "; and".
func (p *parser) another() {
	p.one("and")
	end := p.at
	for end < len(p.words) && p.words[end] != ";" {
		end++
	}
	r, err := parse(joined(p.tokens[p.at:end]), func(inner *parser) { inner.isFurther = true })
	if _, ambiguous := errors.AsType[*AmbiguousError](err); ambiguous {
		p.stop("a further rule that means one thing: " + err.Error())
		return
	}
	if err == nil && (r.Rule.Location != nil || r.Rule.Count > 0 || !r.Rule.End.IsZero() || !r.Start.IsZero() || len(r.Calendars)+len(r.Exclusions) > 0) {
		p.stop("the time zone, the start, the end, the count and the calendars of all rules in the first one")
		return
	}
	p.at = end
	if err != nil {
		p.err = err
		return
	}
	p.further = append(p.further, r)
}

func span(first, last int) (all []int) {
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// isHours reports whether "from 9:00 to 17:00" is next.
func (p *parser) isHours() bool {
	begun := p.at
	defer func() { p.at = begun }()
	p.at++
	_, _, ok := p.clock()
	return ok && p.one("to", "until", "-")
}

// hoursBetween reads "between 9:00 and 17:00", of which nobody knows whether 17:15 is in it.
func (p *parser) hoursBetween() {
	begun := p.at
	p.at++
	first, _, ok := p.clock()
	isNext := p.one("and", "to", "until", "-")
	last, _, isClock := p.clock()
	if !ok || !isNext || !isClock || first.minute+last.minute != 0 || first.hour >= last.hour {
		p.at = begun
		p.stop("hours, such as only in hours 9 to 17")
		return
	}
	said := strings.Join(p.tokens[begun:p.at], " ")
	ways := make([]string, 2)
	for i := range ways {
		hours := fmt.Sprintf("only in hours %d to %d", first.hour, last.hour-1+i)
		ways[i] = joined(slices.Concat(p.tokens[:begun], []string{",", hours}, p.tokens[p.at:]))
	}
	p.err = &AmbiguousError{Text: said, Candidates: ways}
}

// joined returns tokens as a text.
func joined(tokens []string) string {
	return strings.NewReplacer(" ,", ",", " ;", ";").Replace(strings.Join(tokens, " "))
}
