package english

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// A Use is a calendar that a text names, and what becomes of an occurrence on a day that it matches.
type Use struct {
	Name    string
	OnMatch calendars.Policy
}

// An Exclusion is what a text leaves out: a date or a time, the dates from First to Last, the times from From until Until,
// or what a rule fires at.
type Exclusion struct {
	At, First, Last, From, Until string
	Rule                         *recurrence.Rule
}

// String returns the exclusion in English.
func (e *Exclusion) String() string {
	switch {
	case e.At != "":
		return e.At
	case e.First != "":
		return e.First + " to " + e.Last
	case e.From != "":
		return "from " + e.From + " until " + e.Until
	}
	return e.Rule.String()
}

// calendarFacts are what a text says of calendars and exclusions.
type calendarFacts struct {
	known []string // names of calendars that exist

	uses       []Use
	exclusions []Exclusion
	working    []int // numbers of working days
	filter     bool  // they are said of other days: "only on"
	eachDay    bool  // "every working day"
	holidays   bool  // it was said of holidays, and not of days off

	pending calendars.Policy // of unnamed
	unnamed int              // after which word the name of a calendar is missing; 0: nowhere
	lacks   string           // the words that need it

	isFurther bool // the text is a further rule, whose calendars are those of the first one
}

// businessDay passes "working day" or "business day".
func (p *parser) businessDay() bool {
	for _, word := range []string{"working", "business"} {
		if p.take(word, "day") || p.take(word, "days") {
			return true
		}
	}
	return false
}

// clause reads what a text says of calendars, working days and exclusions; false if nothing of this is next.
func (p *parser) clause() bool {
	begun := p.at
	switch {
	case p.take("if", "that", "is", "a", "day", "off", "in"), p.take("if", "it", "is", "a", "day", "off", "in"):
		name := p.calendarName()
		p.one(",")
		if p.one("on"); !p.move(begun, name) {
			p.stop("the next working day, or the working day before")
		}
	case p.take("only", "on", "days", "of"), p.take("only", "on", "days", "off", "in"):
		p.use(p.calendarName(), calendars.Only)
	case p.take("only", "on", "the"):
		if p.filter = true; !p.isWorking() {
			p.at = begun + 2
			p.stop("the first working day, or days of a calendar such as: only on days of SE")
			return true
		}
		p.readWorking()
		p.take("of", "the", "month")
	case p.one("or", "but", "else", "otherwise"):
		if p.one("on"); !p.move(begun, "") {
			p.at = begun
			return p.take("but") && p.clause()
		}
	case p.one("not", "never", "except", "excluding", "skipping"):
		p.not(begun)
	case p.take("by", "the", "calendar"), p.take("by", "calendar"), p.take("in", "the", "calendar"), p.take("by") && p.isKnown():
		p.name(begun)
	case p.one("in") && p.isKnown():
		p.name(begun)
	default:
		p.at = begun
		return false
	}
	return true
}

// name reads the name of a calendar for words that need one.
func (p *parser) name(begun int) {
	name := p.calendarName()
	switch {
	case p.unnamed > 0:
		p.use(name, p.pending)
		p.unnamed, p.lacks = 0, ""
	case len(p.working) > 0 || p.eachDay:
		p.use(name, calendars.Skip)
	default:
		p.at = begun
		p.stop("what the calendar says, such as: not on days off in SE")
	}
}

// isKnown reports whether the name of a calendar that exists is next.
func (p *parser) isKnown() bool { return p.knownName() > 0 }

// knownName returns of how many words the name of a calendar that exists is which is next; 0 for none.
func (p *parser) knownName() int {
	for words := min(6, len(p.tokens)-p.at); words > 0; words-- {
		name := strings.Join(p.tokens[p.at:p.at+words], " ")
		if slices.ContainsFunc(p.known, func(k string) bool { return strings.EqualFold(k, strings.Trim(name, `"`)) }) {
			return words
		}
	}
	return 0
}

// calendarName reads the name of a calendar: one word, several in quotation marks, or one that exists.
func (p *parser) calendarName() string {
	p.take("the", "calendar")
	words := max(1, p.knownName())
	if word := p.peek(0); word == "" || word == "," || word == ";" {
		p.stop("the name of a calendar")
		return ""
	}
	name := strings.Trim(strings.Join(p.tokens[p.at:p.at+words], " "), `"`)
	p.at += words
	return name
}

// use adds a calendar.
func (p *parser) use(name string, policy calendars.Policy) {
	if p.err != nil {
		return
	}
	if slices.ContainsFunc(p.uses, func(u Use) bool { return strings.EqualFold(u.Name, name) }) {
		p.at--
		p.stop("each calendar once")
		return
	}
	p.uses = append(p.uses, Use{name, policy})
}

// move reads the way to a working day, and the name of its calendar unless that was read.
func (p *parser) move(begun int, name string) bool {
	p.one("the")
	policy := calendars.NextWorkingDay
	day := "working"
	if p.peek(0) == "business" || p.peek(1) == "business" {
		day = "business"
	}
	switch {
	case p.take("next", day, "day"), p.take("following", day, "day"), p.take(day, "day", "after"), p.take("first", day, "day", "after"):
	case p.take(day, "day", "before"), p.take("previous", day, "day"), p.take("preceding", day, "day"), p.take("last", day, "day", "before"):
		policy = calendars.PreviousWorkingDay
	default:
		return false
	}
	p.one("it")
	before := p.at
	p.one(",")
	switch {
	case policy == calendars.NextWorkingDay && p.take("or", "the", "one", "before", "if", "that", "is", "in", "another", "month"),
		policy == calendars.NextWorkingDay && p.inMonth():
		policy = calendars.NextWorkingDayInMonth
	case p.take("or", "the", "next", "one", "if", "that", "is", "in", "another", "month"), p.inMonth():
		policy = calendars.PreviousWorkingDayInMonth
	default:
		p.at = before
	}
	before = p.at
	if p.one(","); name == "" && p.one("in", "by") {
		name, before = p.calendarName(), p.at
	}
	p.at = before
	if name == "" {
		p.lack(begun, policy)
		return true
	}
	p.use(name, policy)
	return true
}

func (p *parser) inMonth() bool {
	return p.take("in", "the", "same", "month") || p.take("of", "the", "same", "month") || p.take("within", "the", "month")
}

// lack remembers words that need the name of a calendar.
func (p *parser) lack(begun int, policy calendars.Policy) {
	p.unnamed, p.pending, p.lacks = p.at, policy, joined(p.tokens[begun:p.at])
}

// not reads what comes after "not" or "except": days off of a calendar, or exclusions.
func (p *parser) not(begun int) {
	if begun > 0 && p.words[begun-1] == ";" && p.words[begun] == "except" && p.excludesRule() {
		return
	}
	p.one("on", "for")
	if p.isExclusion() {
		p.exclude()
		return
	}
	p.one("the")
	p.one("public", "bank", "national")
	isDays := p.take("days", "off")
	if holidays := !isDays && p.one("holidays", "holiday"); holidays {
		isDays, p.holidays = true, true
	}
	if isDays {
		if p.one("in", "of", "by") {
			p.use(p.calendarName(), calendars.Skip)
		} else {
			p.lack(begun, calendars.Skip)
		}
		return
	}
	at := p.at
	if p.peek(0) != "in" && p.peek(0) != "during" && p.peek(0) != "" {
		name := p.calendarName()
		p.one("public", "bank", "national")
		switch {
		case p.take("days", "off"):
			p.use(name, calendars.Skip)
			return
		case p.one("holidays", "holiday"):
			p.holidays = true
			p.use(name, calendars.Skip)
			return
		}
	}
	if p.at = at; p.one("in", "during") {
		p.freeze(begun)
		return
	}
	if p.at == len(p.words) && begun == 0 {
		p.at = begun
		p.stop(example)
		return
	}
	p.stop("days off of a calendar such as: not on days off in SE, or a date such as: except 2026-12-24")
}

// freeze says of a time in which nothing is to run that it is a blackout, and what the rest is.
func (p *parser) freeze(begun int) {
	end := p.at
	for end < len(p.words) && p.words[end] != "," && p.words[end] != ";" {
		end++
	}
	said := joined(p.tokens[begun:end])
	rest := strings.Trim(joined(slices.Concat(p.tokens[:begun], p.tokens[end:])), ",; ")
	rest = strings.ReplaceAll(rest, ",,", ",")
	wanted := "the rest of the text: when nothing is to run is no part of a recurrence"
	switch r, err := ParseBy(rest, p.zone, p.known); e := err.(type) { //nolint:errorlint // Parse wraps none
	case nil:
		wanted += fmt.Sprintf("; the rest is %q", r)
	case *AmbiguousError:
		wanted += "; the rest " + e.Error()
	case *UnreadError:
		wanted += "; in the rest, " + e.Error()
	}
	p.err = &UnreadError{Word: said, Wanted: wanted}
}

// plain reports whether a reading is one rule and nothing else.
func (r *Reading) plain() bool {
	return r.Rule.Location == nil && r.Rule.Count == 0 && r.Rule.End.IsZero() && r.Start.IsZero() &&
		len(r.Also)+len(r.Exclusions)+len(r.Calendars)+len(r.workingDays(0)) == 0
}

// isWorking looks ahead for "first and the last working day".
func (p *parser) isWorking() bool {
	begun := p.at
	defer func() { p.at = begun }()
	p.one("the")
	for {
		if _, _, ok := p.which(); !ok {
			return false
		}
		if p.businessDay() {
			return true
		}
		if !p.between() {
			return false
		}
		p.one("the")
	}
}

// readWorking reads "first and the last working day". A numeral before "and" is refused where a day of the month may be
// meant.
func (p *parser) readWorking() {
	p.one("the")
	for p.err == nil {
		n, numeral, _ := p.which()
		p.working = append(p.working, n)
		if p.businessDay() {
			return
		}
		if numeral && n < len(ordinals) {
			p.at--
			p.stop("such as the first and the last working day")
		}
		p.between()
		p.one("the")
	}
}

// completed returns what is wrong with what a text says of calendars; nil if nothing is.
func (p *parser) completed() error {
	if (len(p.working) > 0 || p.eachDay) && len(p.uses) == 0 && p.unnamed == 0 && !p.isFurther {
		p.unnamed, p.pending, p.lacks = len(p.tokens), calendars.Skip, "working day"
	}
	if p.unnamed == 0 {
		return nil
	}
	more := "in "
	if p.unnamed == len(p.tokens) && p.lacks == "working day" {
		more = "; not on days off in "
	}
	if len(p.known) == 0 {
		return &UnreadError{Word: p.lacks, Wanted: fmt.Sprintf("the name of a calendar with it, such as: %s %sSE", p.lacks, more)}
	}
	var ways []string
	for _, name := range p.known {
		words := strings.Fields(more + calendars.Quoted(name))
		ways = append(ways, joined(slices.Insert(slices.Clone(p.tokens), p.unnamed, words...)))
	}
	return &AmbiguousError{Text: p.lacks, Candidates: ways}
}

// calendarsOf settles what a text says of calendars. own is how many of the further rules are those of its times of day.
func (p *parser) calendarsOf(r *Reading, own int) error {
	r.Calendars, r.Exclusions = p.uses, p.exclusions
	lists := slices.Repeat([][]int{p.working}, own+1)
	for _, more := range p.further {
		for i := range 1 + len(more.Also) {
			lists = append(lists, more.workingDays(i))
		}
	}
	if has := func(l []int) bool { return len(l) > 0 }; slices.ContainsFunc(lists, has) {
		if len(p.uses) == 0 && !p.isFurther {
			return wanted("the calendar that says what a working day is, such as: not on days off in SE")
		}
		r.WorkingDays = lists
	}
	if !p.holidays {
		return nil
	}
	for i, rule := range append([]recurrence.Rule{r.Rule}, r.Also...) {
		if len(r.workingDays(i)) == 0 && !ofWeekdays(&rule) {
			return wanted("not on days off in " + calendars.Quoted(p.uses[len(p.uses)-1].Name) + ", which are its holidays and its weekends")
		}
	}
	return nil
}

// ofWeekdays reports whether a rule fires from Monday to Friday only.
func ofWeekdays(r *recurrence.Rule) bool {
	weekend := func(d time.Weekday) bool { return d == time.Saturday || d == time.Sunday }
	ofMonth := func(o recurrence.MonthlyOccurrence) bool { return weekend(o.Day) }
	if r.Frequency == recurrence.Week {
		return len(r.WeekDays) > 0 && !slices.ContainsFunc(r.WeekDays, weekend)
	}
	return len(r.MonthlyOccurrences) > 0 && !r.EitherDay && !slices.ContainsFunc(r.MonthlyOccurrences, ofMonth)
}

// workingDays returns the numbers of working days of a rule: of the first one, or of one that follows.
func (r *Reading) workingDays(i int) []int {
	if i < len(r.WorkingDays) {
		return r.WorkingDays[i]
	}
	return nil
}

// monthEnd reads "month end" and "end of the month".
func (p *parser) monthEnd() bool {
	begun := p.at
	p.one("at", "on")
	p.one("the")
	before := p.at
	switch {
	case p.take("month", "end"), p.one("month-end"), p.take("end", "of", "month"), p.take("end", "of", "the", "month"),
		p.take("end", "of", "every", "month"), p.take("end", "of", "each", "month"):
	case p.peek(0) == "end" && before > 0 && p.words[before-1] == "month":
		p.at++
	default:
		p.at = begun
		return false
	}
	p.monthDays = append(p.monthDays, -1)
	return true
}

// city reads a time zone by the name of its city alone, such as Stockholm.
func (p *parser) city() bool {
	for words := min(3, len(p.tokens)-p.at); words > 0; words-- {
		name := strings.Join(p.tokens[p.at:p.at+words], "_")
		var zones []string
		for _, zone := range recurrence.Locations() {
			area, city, ok := strings.Cut(zone, "/")
			if ok && area != "Etc" && strings.EqualFold(city[strings.LastIndex(city, "/")+1:], name) {
				zones = append(zones, zone)
			}
		}
		switch {
		case len(zones) == 0:
			continue
		case len(zones) > 1:
			a := &AmbiguousError{Text: joined(p.tokens[p.at : p.at+words])}
			for _, zone := range zones {
				a.Candidates = append(a.Candidates, joined(slices.Concat(p.tokens[:p.at], []string{zone}, p.tokens[p.at+words:])))
			}
			p.err = a
			return true
		}
		loc, err := recurrence.LoadLocation(zones[0])
		if err != nil {
			return false
		}
		p.inZone(loc, words)
		return true
	}
	return false
}
