package odata

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"almanac/job"
)

// A Filter defines the $filter of a list: one field with a fixed set of values, and startTime and endTime.
// All terms must match. The grammar is
//
//	filter     = term { "and" term }
//	term       = comparison | "(" filter ")"
//	comparison = [ "properties/" ] field operator value
//	operator   = "eq" | "ge" | "gt" | "le" | "lt"
//	value      = word | "'" text "'" | '"' text '"' | "datetime'" text "'"
//
// Everything but times is case-insensitive. The only operator of a field with fixed values is eq.
type Filter struct {
	field   string
	values  []string
	example string
	equal   func(value string) job.Filter // the filter for a value of field; "" stands for any value
}

// The filters of lists of jobs and of their histories.
var (
	JobFilter = &Filter{
		field: "state",
		values: []string{
			string(job.StateEnabled), string(job.StateDisabled), string(job.StateCompleted), string(job.StateFaulted),
		},
		example: "state eq enabled and startTime ge 2026-01-31T08:30:00Z",
		equal:   func(state string) job.Filter { return job.Filter{State: job.State(state)} },
	}
	HistoryFilter = &Filter{
		field: "status",
		values: []string{
			string(job.OutcomeCompleted), string(job.OutcomeFailed), string(job.OutcomePostponed),
			string(job.OutcomeMissed), string(job.OutcomeSkipped), string(job.OutcomeCancelled),
		},
		example: "status eq Failed and startTime ge 2026-01-31T08:30:00Z",
		equal:   func(status string) job.Filter { return job.Filter{Status: job.Outcome(status)} },
	}
)

const (
	fieldStart = "startTime"
	fieldEnd   = "endTime"
)

// parse parses a filter. The error says what is allowed instead.
func (f *Filter) parse(text string) (job.Filter, error) {
	if f == nil {
		return job.Filter{}, errors.New("no $filter: only lists of jobs and of their history have one")
	}
	p := filterParser{filter: f}
	var err error
	if p.rest, err = splitFilter(text); err == nil {
		err = p.parse()
	}
	if err != nil {
		return job.Filter{}, fmt.Errorf("%w, as in %s", err, f.example)
	}
	parsed := f.equal(p.value)
	parsed.Start, parsed.End = p.start, p.end
	return parsed, nil
}

// A filterToken is a parenthesis, a word, or a quoted text. The zero value is the end.
type filterToken struct {
	text   string
	quoted bool
}

// is reports whether the token is the word, in any case. The lengths are compared because case folding
// alone would match some letters outside ASCII.
func (t filterToken) is(word string) bool {
	return !t.quoted && len(t.text) == len(word) && strings.EqualFold(t.text, word)
}

// instead returns an error that names what is allowed in place of the token.
func (t filterToken) instead(want string) error {
	if t == (filterToken{}) {
		return fmt.Errorf("%s at the end", want)
	}
	return fmt.Errorf("%s instead of %.40q", want, t.text)
}

// tokenPattern matches a text in single or double quotes, a parenthesis, or a word.
var tokenPattern = regexp.MustCompile(`^(?:'([^']*)'|"([^"]*)"|([()]|[^\s\v\x{85}\pZ'"()]+))`)

// splitFilter splits a filter into its tokens.
func splitFilter(text string) (tokens []filterToken, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		found := tokenPattern.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("a second %s after %.40q", text[:1], text[1:])
		}
		tokens = append(tokens, filterToken{found[1] + found[2] + found[3], found[3] == ""})
		text = text[len(found[0]):]
	}
	return tokens, nil
}

// A filterParser parses tokens into a value and two periods.
type filterParser struct {
	filter *Filter
	rest   []filterToken

	value      string
	start, end job.Period
}

func (p *filterParser) peek() filterToken {
	if len(p.rest) == 0 {
		return filterToken{}
	}
	return p.rest[0]
}

func (p *filterParser) take() filterToken {
	t := p.peek()
	p.rest = p.rest[min(1, len(p.rest)):]
	return t
}

func (p *filterParser) accept(word string) bool {
	found := p.peek().is(word)
	if found {
		p.take()
	}
	return found
}

// parse parses a whole filter. Terms are joined by "and" only, so parentheses do not change the meaning;
// the parser only counts them.
func (p *filterParser) parse() error {
	open := 0
	for {
		for p.accept("(") {
			open++
		}
		if err := p.comparison(); err != nil {
			return err
		}
		for open > 0 && p.accept(")") {
			open--
		}
		if p.accept("and") {
			continue
		}
		switch end := p.peek(); {
		case open > 0:
			return end.instead("and, or )")
		case end != filterToken{}:
			return end.instead("and, or the end")
		}
		return nil
	}
}

func (p *filterParser) comparison() error {
	const prefix = "properties/"
	field := p.take()
	name := field
	if len(name.text) > len(prefix) && strings.EqualFold(name.text[:len(prefix)], prefix) {
		name.text = name.text[len(prefix):]
	}
	switch {
	case name.is(p.filter.field):
		return p.equality()
	case name.is(fieldStart):
		return p.timing(&p.start)
	case name.is(fieldEnd):
		return p.timing(&p.end)
	}
	return field.instead(fmt.Sprintf("%s, %s or %s", p.filter.field, fieldStart, fieldEnd))
}

// equality parses the operator eq and a value of the rule's field.
func (p *filterParser) equality() error {
	if operator := p.take(); !operator.is("eq") {
		return operator.instead("eq")
	}
	given := p.take()
	i := slices.IndexFunc(p.filter.values, filterToken{text: given.text}.is)
	if i < 0 {
		return given.instead("one of " + strings.Join(p.filter.values, ", "))
	}
	value := p.filter.values[i]
	if p.value != "" && p.value != value {
		return fmt.Errorf("one %s, not both %s and %s", p.filter.field, p.value, value)
	}
	p.value = value
	return nil
}

// tick is the resolution of times in answers, and so of times in filters: an entry shown with time t has a
// time from t to less than one tick later.
const tick = 100 * time.Nanosecond

// timing parses a comparison with a time, and narrows a period accordingly.
func (p *filterParser) timing(period *job.Period) error {
	operator := p.take()
	if !slices.ContainsFunc([]string{"eq", "ge", "gt", "le", "lt"}, operator.is) {
		return operator.instead("one of eq, ge, gt, le, lt")
	}
	t, err := p.time()
	if err != nil {
		return err
	}
	after := t.Add(tick)
	*period = intersection(*period, map[string]job.Period{
		"eq": {From: t, Before: after}, "ge": {From: t}, "gt": {From: after}, "le": {Before: after}, "lt": {Before: t},
	}[job.NormalizeName(operator.text)])
	return nil
}

// intersection returns the time that is in both periods.
func intersection(p, q job.Period) job.Period {
	if q.From.After(p.From) {
		p.From = q.From
	}
	if p.Before.IsZero() || !q.Before.IsZero() && q.Before.Before(p.Before) {
		p.Before = q.Before
	}
	return p
}

// offset matches a time's offset without its "+", which a query turns into a blank unless it is escaped.
var offset = regexp.MustCompile(`^\d\d:\d\d$`)

// time parses a time in any form that the body of a job allows.
func (p *filterParser) time() (time.Time, error) {
	given := p.take()
	if given.is("datetime") && p.peek().quoted {
		given = p.take()
	}
	text := given.text
	if next := p.peek(); !given.quoted && !next.quoted && offset.MatchString(next.text) {
		text += " " + p.take().text
	}
	quoted, err := json.Marshal(strings.Replace(text, " ", "+", 1))
	if err != nil {
		return time.Time{}, err
	}
	var t job.Time
	if t.UnmarshalJSON(quoted) != nil || t.Year() < 1 { // a zero time would mean no bound
		return time.Time{}, given.instead("a date or a time such as 2026-01-31T08:30:00Z")
	}
	return t.Time, nil
}
