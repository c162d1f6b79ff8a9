package english

import (
	"time"

	"almanac/recurrence"
)

// isTime reports whether a word is a date, or a date and a time.
func isTime(word string) bool {
	if len(word) < len(time.DateOnly) || !dateForm.MatchString(word[:len(time.DateOnly)]) {
		return false
	}
	_, err := recurrence.ParseTime(word, nil)
	return err == nil
}

// token returns a word as it is written; "" behind the end.
func (p *parser) token() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *parser) isExclusion() bool {
	return isTime(p.token()) || p.peek(0) == "from" || p.peek(0) == "every"
}

// exclude reads exclusions: dates and times with commas between them, or a rule.
func (p *parser) exclude() {
	for p.err == nil {
		e := Exclusion{}
		switch first := p.token(); {
		case p.one("from"):
			if e.From = p.someTime(); !p.one("until") {
				p.stop("until, and a time")
			}
			e.Until = p.someTime()
		case p.peek(0) == "every":
			if !p.excludesRule() {
				p.stop("a rule that means one thing, without a time zone, a start, an end or a count")
			}
			return
		default:
			if e.At = p.someTime(); p.one("to") {
				e.At, e.First, e.Last = "", first, p.someTime()
			}
		}
		p.exclusions = append(p.exclusions, e)
		before := p.at
		if !p.between() || !isTime(p.token()) && (p.peek(0) != "from" || p.at+1 >= len(p.tokens) || !isTime(p.tokens[p.at+1])) {
			p.at = before
			return
		}
	}
}

func (p *parser) someTime() string {
	word := p.token()
	if !isTime(word) {
		p.stop("a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00")
		return ""
	}
	p.at++
	return word
}

// excludesRule reads a rule up to the next semicolon; false if that is none.
func (p *parser) excludesRule() bool {
	end := p.at
	for end < len(p.words) && p.words[end] != ";" {
		end++
	}
	r, err := Parse(joined(p.tokens[p.at:end]))
	if err != nil || !r.plain() || !r.Rule.Plain() || r.Rule.Frequency < recurrence.Day {
		return false
	}
	p.at = end
	p.exclusions = append(p.exclusions, Exclusion{Rule: &r.Rule})
	return true
}
