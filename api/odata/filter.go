package odata

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/listing"
)

// A Filter defines the $filter of a list: the fields that it may compare. All terms must match. The grammar is
//
//	filter     = term { "and" term }
//	term       = comparison | prefix | "(" filter ")"
//	comparison = [ "properties/" ] field operator value
//	prefix     = "startswith" "(" field "," value ")"
//	operator   = "eq" | "ge" | "gt" | "le" | "lt"
//	value      = word | "'" text "'" | '"' text '"' | "datetime'" text "'"
//
// A quote within a text is doubled, as in 'O”Brien'. Everything but times is case-insensitive. A field with fixed
// values and a name have the operator eq alone, and startswith is for a name.
type Filter struct {
	fields  []field
	example string
}

// A field is what a filter may compare.
type field struct {
	name  string
	parse func(*filterParser) error // of what follows the name
}

// The filters of lists of jobs, of the history of a job, of the history, the summaries and the occurrences of many jobs,
// and of the jobs to run again.
var (
	JobFilter = &Filter{
		fields:  []field{stateField, startField, endField, nameField, nextField, lastOutcomeField},
		example: "state eq enabled and startTime ge 2026-01-31T08:30:00Z",
	}
	HistoryFilter = &Filter{
		fields:  []field{statusField, startField, endField, latenessField},
		example: "status eq Failed and startTime ge 2026-01-31T08:30:00Z",
	}
	HistoryAcrossFilter = &Filter{
		fields:  []field{statusField, startField, endField, latenessField, nameField},
		example: "status eq Failed and startTime ge 2026-01-31T08:30:00Z and startswith(name,'nightly')",
	}
	SummaryFilter = &Filter{
		fields:  []field{stateField, anyOutcomeField, nextField, latenessField, hostField, nameField},
		example: "state eq enabled and lastOutcome eq Failed and host eq 'api.example.com'",
	}
	UpcomingFilter = &Filter{fields: []field{nameField}, example: "startswith(name,'nightly')"}
	RerunFilter    = &Filter{
		fields:  []field{failedField, failingField, nameField, stateField},
		example: "status eq Failed and endTime ge 2026-01-31T02:00:00Z and endTime lt 2026-01-31T03:00:00Z",
	}
)

var (
	stateField = field{"state", func(p *filterParser) error {
		return word(p, "state", &p.parsed.State, job.StateEnabled, job.StateDisabled, job.StateCompleted, job.StateFaulted)
	}}
	statusField = field{"status", func(p *filterParser) error {
		return word(p, "status", &p.parsed.Status, job.OutcomesThat(job.Outcome.Known)...)
	}}
	lastOutcomeField = field{"lastOutcome", func(p *filterParser) error {
		return word(p, "lastOutcome", &p.parsed.LastOutcome, job.OutcomesThat(job.Outcome.Ran)...)
	}}
	anyOutcomeField = field{"lastOutcome", func(p *filterParser) error {
		return word(p, "lastOutcome", &p.parsed.LastOutcome, job.OutcomesThat(job.Outcome.Known)...)
	}}
	hostField   = field{"host", (*filterParser).host}
	failedField = field{"status", func(p *filterParser) error {
		return word(p, "status", &p.parsed.LastOutcome, job.OutcomesThat(job.Outcome.Failed)...)
	}}
	failingField  = field{"endTime", func(p *filterParser) error { return p.timing(&p.parsed.Failing) }}
	startField    = field{"startTime", func(p *filterParser) error { return p.timing(&p.parsed.Start) }}
	endField      = field{"endTime", func(p *filterParser) error { return p.timing(&p.parsed.End) }}
	nextField     = field{"nextExecutionTime", func(p *filterParser) error { return p.timing(&p.parsed.Next) }}
	latenessField = field{"lateness", (*filterParser).lateness}
	nameField     = field{"name", (*filterParser).name}
)

// parse parses a filter. The error says what is allowed instead.
func (f *Filter) parse(text string) (listing.Filter, error) {
	if f == nil {
		return listing.Filter{}, errors.New("no $filter: only lists of jobs, of their history and of their occurrences have one")
	}
	p := filterParser{filter: f}
	var err error
	if p.rest, err = splitFilter(text); err == nil {
		err = p.parse()
	}
	if err != nil {
		return listing.Filter{}, fmt.Errorf("%w, as in %s", err, f.example)
	}
	return p.parsed, nil
}

// A filterToken is a parenthesis, a comma, a word, or a quoted text. The zero value is the end.
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

// tokenPattern matches a text in single or double quotes, which it may hold doubled, a parenthesis, a comma, or a word.
var tokenPattern = regexp.MustCompile(`^(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)"|([(),]|[^\s\v\x{85}\pZ'"(),]+))`)

// splitFilter splits a filter into its tokens.
func splitFilter(text string) (tokens []filterToken, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		found := tokenPattern.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("a second %s after %.40q", text[:1], text[1:])
		}
		quoted := strings.ReplaceAll(found[1], "''", "'") + strings.ReplaceAll(found[2], `""`, `"`)
		tokens = append(tokens, filterToken{quoted + found[3], found[3] == ""})
		text = text[len(found[0]):]
	}
	return tokens, nil
}

// A filterParser parses tokens into a filter.
type filterParser struct {
	filter *Filter
	rest   []filterToken
	parsed listing.Filter
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
	given := p.take()
	if given.is("startswith") && slices.ContainsFunc(p.filter.fields, func(f field) bool { return f.name == nameField.name }) {
		return p.startsWith()
	}
	name := given
	if len(name.text) > len(prefix) && strings.EqualFold(name.text[:len(prefix)], prefix) {
		name.text = name.text[len(prefix):]
	}
	var names []string
	for _, f := range p.filter.fields {
		if name.is(f.name) {
			return f.parse(p)
		}
		names = append(names, f.name)
	}
	last := len(names) - 1
	allowed := names[last]
	if last > 0 {
		allowed = strings.Join(names[:last], ", ") + " or " + allowed
	}
	return given.instead(allowed)
}

// word parses the operator eq and one of the values of a field.
func word[T ~string](p *filterParser, field string, parsed *T, values ...T) error {
	if operator := p.take(); !operator.is("eq") {
		return operator.instead("eq")
	}
	given := p.take()
	var names []string
	for _, v := range values {
		if (filterToken{text: given.text}).is(string(v)) {
			return once(field, parsed, v)
		}
		names = append(names, string(v))
	}
	return given.instead("one of " + strings.Join(names, ", "))
}

// once sets a value that a filter may have once only.
func once[T ~string](what string, parsed *T, value T) error {
	if *parsed != "" && *parsed != value {
		return fmt.Errorf("one %s, not both %.40s and %.40s", what, *parsed, value)
	}
	*parsed = value
	return nil
}

// name parses the operator eq and a name.
func (p *filterParser) name() error {
	if operator := p.take(); !operator.is("eq") {
		return operator.instead("eq, or startswith(name,'...')")
	}
	return p.text("name", &p.parsed.Name)
}

// host parses the operator eq and a host.
func (p *filterParser) host() error {
	if operator := p.take(); !operator.is("eq") {
		return operator.instead("eq")
	}
	given := p.take()
	if given.text == "" || !given.quoted && strings.Contains("(),", given.text) {
		return given.instead("a host, in quotes")
	}
	return once("host", &p.parsed.Host, job.NormalizeName(given.text))
}

// text parses the name of a job, or its beginning.
func (p *filterParser) text(what string, parsed *string) error {
	given := p.take()
	if given.text == "" || !given.quoted && strings.Contains("(),", given.text) {
		return given.instead("the " + what + " of a job, in quotes")
	}
	return once(what, parsed, job.NormalizeName(given.text))
}

// startsWith parses the arguments of startswith.
func (p *filterParser) startsWith() error {
	for _, word := range []string{"(", "name", ","} {
		if given := p.take(); !given.is(word) {
			return given.instead("startswith(name,'...')")
		}
	}
	if err := p.text("beginning of the name", &p.parsed.NamePrefix); err != nil {
		return err
	}
	if given := p.take(); !given.is(")") {
		return given.instead(")")
	}
	return nil
}

// lateness parses a comparison with a duration, and narrows the span accordingly.
func (p *filterParser) lateness() error {
	operator, err := p.comparator()
	if err != nil {
		return err
	}
	given := p.take()
	late, err := iso8601.ParseDuration(given.text)
	if err != nil {
		return given.instead("a duration such as PT30S")
	}
	none := listing.Span{From: math.MinInt64, Before: listing.Unlimited}
	q := map[string]listing.Span{
		"eq": {From: late, Before: late + tick}, "ge": {From: late, Before: none.Before}, "gt": {From: late + tick, Before: none.Before},
		"le": {From: none.From, Before: late + tick}, "lt": {From: none.From, Before: late},
	}[operator]
	if p.parsed.Lateness != (listing.Span{}) {
		none = p.parsed.Lateness
	}
	p.parsed.Lateness = listing.Span{From: max(none.From, q.From), Before: min(none.Before, q.Before)}
	return nil
}

// comparator parses an operator that compares.
func (p *filterParser) comparator() (string, error) {
	operator := p.take()
	if !slices.ContainsFunc([]string{"eq", "ge", "gt", "le", "lt"}, operator.is) {
		return "", operator.instead("one of eq, ge, gt, le, lt")
	}
	return job.NormalizeName(operator.text), nil
}

// tick is the resolution of times in answers, and so of times in filters: an entry shown with time t has a
// time from t to less than one tick later.
const tick = 100 * time.Nanosecond

// timing parses a comparison with a time, and narrows a period accordingly.
func (p *filterParser) timing(period *listing.Period) error {
	operator, err := p.comparator()
	if err != nil {
		return err
	}
	t, err := p.time()
	if err != nil {
		return err
	}
	after := t.Add(tick)
	*period = intersection(*period, map[string]listing.Period{
		"eq": {From: t, Before: after}, "ge": {From: t}, "gt": {From: after}, "le": {Before: after}, "lt": {Before: t},
	}[operator])
	return nil
}

// intersection returns the time that is in both periods.
func intersection(p, q listing.Period) listing.Period {
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
	t, err := ParseTime(text)
	if err != nil {
		return time.Time{}, given.instead(AllowedTimes)
	}
	return t, nil
}

// AllowedTimes describes the times of a query, for errors.
const AllowedTimes = "a date or a time such as 2026-01-31T08:30:00Z"

// ParseTime parses a time of a query, in any form that the body of a job allows. The "+" of its offset may be a blank.
func ParseTime(text string) (time.Time, error) {
	t, err := iso8601.ParseTime(strings.Replace(text, " ", "+", 1), time.UTC)
	if err == nil && t.Year() < 1 {
		err = errors.New("before the year 1") // a zero time would mean no bound
	}
	return t.Time, err
}
