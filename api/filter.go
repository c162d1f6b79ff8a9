package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"almanac/job"
)

// A filterRule describes the $filter of a list: one field with a fixed set of values, and startTime and
// endTime. All terms must match. The grammar is
//
//	filter     = term { "and" term }
//	term       = comparison | "(" filter ")"
//	comparison = [ "properties/" ] field operator value
//	operator   = "eq" | "ge" | "gt" | "le" | "lt"
//	value      = word | "'" text "'" | '"' text '"' | "datetime'" text "'"
//
// Everything but times is case-insensitive. The only operator of a field with fixed values is eq.
type filterRule struct {
	field   string
	values  []string
	example string
	equal   func(value string) job.Filter // the filter for a value of field; "" stands for any value
}

var (
	jobFilter = filterRule{
		field: "state",
		values: []string{
			string(job.StateEnabled), string(job.StateDisabled), string(job.StateCompleted), string(job.StateFaulted),
		},
		example: "state eq enabled and startTime ge 2026-01-31T08:30:00Z",
		equal:   func(state string) job.Filter { return job.Filter{State: job.State(state)} },
	}
	historyFilter = filterRule{
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
func (r *filterRule) parse(text string) (job.Filter, error) {
	p := filterParser{rule: r}
	var err error
	if p.rest, err = splitFilter(text); err == nil {
		err = p.filter()
	}
	if err != nil {
		return job.Filter{}, fmt.Errorf("%w, as in %s", err, r.example)
	}
	f := r.equal(p.value)
	f.Start, f.End = p.start, p.end
	return f, nil
}

// noFilter refuses every filter, for lists that have none.
func noFilter(string) (job.Filter, error) {
	return job.Filter{}, errors.New("no $filter here: it is for jobs and their history")
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
		return fmt.Errorf("%s where it ends", want)
	}
	return fmt.Errorf("%s where %.40q is", want, t.text)
}

// splitFilter splits a filter into its tokens.
func splitFilter(text string) ([]filterToken, error) {
	const quotes, parentheses = `'"`, "()"
	var tokens []filterToken
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		switch {
		case text == "":
			return tokens, nil
		case strings.Contains(quotes, text[:1]):
			quoted, rest, closed := strings.Cut(text[1:], text[:1])
			if !closed {
				return nil, fmt.Errorf("a second %s after %.40q", text[:1], quoted)
			}
			tokens = append(tokens, filterToken{quoted, true})
			text = rest
		case strings.Contains(parentheses, text[:1]):
			tokens = append(tokens, filterToken{text: text[:1]})
			text = text[1:]
		default:
			end := strings.IndexFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(quotes+parentheses, c) })
			if end < 0 {
				end = len(text)
			}
			tokens = append(tokens, filterToken{text: text[:end]})
			text = text[end:]
		}
	}
}

// A filterParser parses tokens into a value and two periods.
type filterParser struct {
	rule *filterRule
	rest []filterToken

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

// filter parses a whole filter. Terms are joined by "and" only, so parentheses do not change the meaning;
// the parser only counts them.
func (p *filterParser) filter() error {
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
	case name.is(p.rule.field):
		return p.equality()
	case name.is(fieldStart):
		return p.timing(&p.start)
	case name.is(fieldEnd):
		return p.timing(&p.end)
	}
	return field.instead(fmt.Sprintf("%s, %s or %s", p.rule.field, fieldStart, fieldEnd))
}

// equality parses the operator eq and a value of the rule's field.
func (p *filterParser) equality() error {
	if operator := p.take(); !operator.is("eq") {
		return operator.instead("eq")
	}
	given := p.take()
	i := slices.IndexFunc(p.rule.values, filterToken{text: given.text}.is)
	if i < 0 {
		return given.instead("one of " + strings.Join(p.rule.values, ", "))
	}
	value := p.rule.values[i]
	if p.value != "" && p.value != value {
		return fmt.Errorf("one %s, not both %s and %s", p.rule.field, p.value, value)
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
	var narrower job.Period
	switch after := t.Add(tick); job.NormalizeName(operator.text) {
	case "eq":
		narrower = job.Period{From: t, Before: after}
	case "ge":
		narrower.From = t
	case "gt":
		narrower.From = after
	case "le":
		narrower.Before = after
	case "lt":
		narrower.Before = t
	}
	*period = intersection(*period, narrower)
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
