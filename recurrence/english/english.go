// Package english reads recurrences in English: every text that [recurrence.Rule.Describe] returns, as a rule with the same
// instants, and more that people write:
//
//	r, err := english.Parse("last Friday 17:15 Europe/Stockholm")
//	r.String() // the last Friday of every month at 17:15, Europe/Stockholm
//
// What can be meant in several ways is an [*AmbiguousError] with those ways, never a guess.
//
// A text may name calendars, such as "not on days off in SE": what they say nobody has to know to read it.
//
// Like package recurrence it reads no clock, and imports nothing but the standard library and that.
package english

import (
	"fmt"
	"strings"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// A Reading is what a text means.
type Reading struct {
	Rule  recurrence.Rule
	Also  []recurrence.Rule // further rules; of Rule the zone, the end and the count hold for them
	Start time.Time         // the first time that counts; zero: the text says none

	WorkingDays [][]int // numbers of the working days of Rule, and of each of Also; nil and fewer lists for none
	Exclusions  []Exclusion
	Calendars   []Use
}

// String returns what was read, in the words of [recurrence.Rule.Describe] and of a job.
func (r *Reading) String() string {
	all := []string{r.describe(0, &r.Rule, r.Start)}
	for i := range r.Also {
		rule := r.Also[i]
		rule.Location = nil
		all = append(all, "and "+r.describe(i+1, &rule, time.Time{}))
	}
	var text strings.Builder
	text.WriteString(strings.Join(all, "; "))
	for i := range r.Exclusions {
		word := ", "
		if i == 0 || r.Exclusions[i].Rule != nil || r.Exclusions[i-1].Rule != nil {
			word = "; except "
		}
		text.WriteString(word + r.Exclusions[i].String())
	}
	for _, use := range r.Calendars {
		text.WriteString("; " + use.OnMatch.Describe(use.Name))
	}
	return text.String()
}

// describe returns the text of a rule: the first one, or one that follows.
func (r *Reading) describe(i int, rule *recurrence.Rule, start time.Time) string {
	text, numbers := rule.Describe(start), r.workingDays(i)
	return calendars.DescribeWorkingDays(text, numbers, len(rule.MonthlyOccurrences) > 0 || len(rule.MonthDays) < 31)
}

// An AmbiguousError is a text that can be meant in several ways.
type AmbiguousError struct {
	Text       string   // the words in question
	Candidates []string // each is a text for Parse that can be meant in one way
}

// Error lists the candidates.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q may mean %s", e.Text, quoted(e.Candidates))
}

func quoted(all []string) string {
	words := make([]string, len(all))
	for i, text := range all {
		words[i] = fmt.Sprintf("%q", text)
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return strings.Join(words, "")
}

// An UnreadError is a text that cannot be read.
type UnreadError struct {
	Word   string // at which reading stopped; "": at the end
	Wanted string
}

// Error says at which word reading stopped, and what is allowed there.
func (e *UnreadError) Error() string {
	if e.Word == "" {
		return "the text ends too early; allowed: " + e.Wanted
	}
	return fmt.Sprintf("%q is not understood; allowed: %s", e.Word, e.Wanted)
}

const example = `such as "every 15 minutes", "every weekday at 09:00", "every 2 weeks on Monday" or "the last Friday of every month at 17:15, Europe/Stockholm"`

// maxText is how many bytes a text has at most.
const maxText = 4096

// Parse reads a text. The error is an [*AmbiguousError], an [*UnreadError], or a [*recurrence.FieldError] of a number that
// no rule has. A rule that can never fire is left to [recurrence.New] to refuse.
func Parse(text string) (*Reading, error) { return ParseIn(text, nil) }

// ParseIn is Parse for a text that is in a zone if it names none; nil means that it has none then.
func ParseIn(text string, zone *time.Location) (*Reading, error) { return ParseBy(text, zone, nil) }

// ParseBy is ParseIn for a text that may need a calendar without naming one: then it may mean each of those with these
// names.
func ParseBy(text string, zone *time.Location, known []string) (*Reading, error) {
	return parse(text, func(p *parser) { p.zone, p.known = zone, known })
}

func parse(text string, with func(*parser)) (*Reading, error) {
	if len(text) > maxText {
		return nil, &UnreadError{Word: text[:20] + "…", Wanted: fmt.Sprintf("at most %d characters", maxText)}
	}
	p := newParser(text)
	with(p)
	if len(p.tokens) == 0 {
		return nil, &UnreadError{Wanted: example}
	}
	for p.err == nil && p.at < len(p.tokens) {
		p.phrase()
	}
	if p.err == nil {
		p.err = p.completed()
	}
	if p.err == nil {
		p.err = p.ambiguous()
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.reading()
}
