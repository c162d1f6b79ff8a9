package english

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"almanac/recurrence"
)

// timesOfDay reads what comes after "at": times of day, or minutes of hours.
func (p *parser) timesOfDay() {
	if p.one("about", "around") {
		p.at--
		p.stop("a time of day")
		return
	}
	if w := p.peek(0); w == "minute" || w == "minutes" || w == "every" {
		p.minutesOf()
		return
	}
	if !p.clocks(true) {
		p.stop("a time of day such as 17:15, or minutes such as minute 30 of hours 9 to 17")
	}
}

// minutesOf reads "minutes 0 and 30", and "of hours 9 to 17" if that is there.
func (p *parser) minutesOf() {
	switch {
	case p.take("every", "minute"):
		p.minutes = span(0, 59)
	case p.one("minute", "minutes"):
		if p.minutes = p.numbers(); p.minutes == nil {
			p.stop("minutes such as 0 and 30")
			return
		}
		if p.take("and", "second") {
			n, ok := number(p.peek(0))
			if !ok {
				p.stop("a second")
				return
			}
			p.at++
			p.second, p.hasSecond = n, true
		}
	}
	switch {
	case p.take("of", "every", "hour"):
		p.allHours = true
	case p.take("of", "hours") || p.take("of", "hour"):
		if p.hours = p.numbers(); p.hours == nil {
			p.stop("hours such as 9 to 17")
		}
	}
}

// clocks reads times of day.
func (p *parser) clocks(afterAt bool) bool {
	all := p.list(func() (int, bool) {
		begun, was := p.at, p.midnight
		c, bare, ok := p.clock()
		if !ok || bare && !afterAt { // 15 may be a day of the month
			p.at, p.midnight = begun, was
			return 0, false
		}
		if bare && !slices.Contains(p.bare, begun) {
			p.bare = append(p.bare, begun)
		}
		return (c.hour*60+c.minute)*60 + c.second, true
	}, nil)
	for _, s := range all {
		p.times = append(p.times, clock{s / 3600, s / 60 % 60, s % 60})
	}
	return len(all) > 0
}

var dateForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

// date reads a date with a time of day, if there is one.
func (p *parser) date() (text string, secondTime bool) {
	word := p.tokens[min(p.at, len(p.tokens)-1)]
	if p.at >= len(p.tokens) || !dateForm.MatchString(word) && !strings.Contains(word, "T") {
		p.stop("a date such as 2026-01-31, or a date and a time of day")
		return "", false
	}
	p.at++
	if dateForm.MatchString(word) {
		p.one("at")
		if m := clockForm.FindStringSubmatch(p.peek(0)); m != nil && m[2] != "" && m[4] == "" {
			at := p.peek(0)
			if len(m[1]) == 1 {
				at = "0" + at
			}
			word += "T" + strings.Replace(at, ".", ":", 1)
			p.at++
		}
	}
	return word, p.take("the", "second", "time")
}

// timeZone reads the name of a time zone, which may have several words.
func (p *parser) timeZone() bool {
	for words := min(6, len(p.tokens)-p.at); words > 0; words-- {
		name := strings.Join(p.tokens[p.at:p.at+words], " ")
		loc, err := recurrence.LoadLocation(name)
		if err != nil {
			continue
		}
		p.inZone(loc, words)
		return true
	}
	return false
}

// inZone takes so many words for the name of a time zone.
func (p *parser) inZone(loc *time.Location, words int) {
	if p.saysZone && loc.String() != p.zone.String() {
		p.stop("one time zone")
		return
	}
	p.at += words
	p.zone, p.saysZone = loc, true
}
