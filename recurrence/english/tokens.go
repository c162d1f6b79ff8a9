package english

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
)

// A parser collects what the phrases of a text say.
type parser struct {
	text   string
	tokens []string // words and commas as they are written
	words  []string // the same in lower case
	at     int
	err    error

	facts
	calendarFacts
}

var wordForm = regexp.MustCompile(`"[^"]*"|[,;]|[^\s,;"]+|"`)

func newParser(text string) *parser {
	p := &parser{text: strings.Join(strings.Fields(text), " ")}
	p.tokens = wordForm.FindAllString(strings.TrimSuffix(strings.TrimSpace(text), "."), -1)
	for _, t := range p.tokens {
		p.words = append(p.words, strings.ToLower(t))
	}
	return p
}

// peek returns a word from the current one on; "" behind the end.
func (p *parser) peek(n int) string {
	if p.at+n < len(p.words) {
		return p.words[p.at+n]
	}
	return ""
}

// take passes words if they are next.
func (p *parser) take(words ...string) bool {
	for i, w := range words {
		if p.peek(i) != w {
			return false
		}
	}
	p.at += len(words)
	return true
}

// one passes the next word if it is one of some.
func (p *parser) one(words ...string) bool {
	if p.at < len(p.words) && slices.Contains(words, p.words[p.at]) {
		p.at++
		return true
	}
	return false
}

// stop ends reading at the current word.
func (p *parser) stop(wanted string) {
	if p.err != nil {
		return
	}
	word := ""
	if p.at < len(p.tokens) {
		word = p.tokens[p.at]
	}
	p.err = &UnreadError{Word: word, Wanted: wanted}
}

// number reads digits; false if a word is none.
func number(word string) (int, bool) {
	if word == "" || len(word) > 9 || strings.Trim(word, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(word)
	return n, err == nil
}

var ordinals = []string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"}

var numeralForm = regexp.MustCompile(`^(\d{1,7})(?:st|nd|rd|th)$`)

// ordinal reads "third" or "3rd"; numeral says that it is in digits.
func ordinal(word string) (n int, numeral, ok bool) {
	if i := slices.Index(ordinals, word); i > 0 {
		return i, false, true
	}
	if m := numeralForm.FindStringSubmatch(word); m != nil {
		n, _ = strconv.Atoi(m[1]) // digits
		return n, true, true
	}
	return 0, false, false
}

var units = map[string]recurrence.Frequency{
	"minute": recurrence.Minute, "min": recurrence.Minute, "mins": recurrence.Minute, "hour": recurrence.Hour, "hr": recurrence.Hour, "hrs": recurrence.Hour,
	"day": recurrence.Day, "week": recurrence.Week, "month": recurrence.Month, "year": recurrence.Year,
}

// unit reads "month" or "months".
func unit(word string) (recurrence.Frequency, bool) {
	if f, ok := units[word]; ok {
		return f, true
	}
	f, ok := units[strings.TrimSuffix(word, "s")]
	return f, ok && strings.HasSuffix(word, "s")
}

var adverbs = map[string]recurrence.Frequency{
	"minutely": recurrence.Minute, "hourly": recurrence.Hour, "daily": recurrence.Day, "weekly": recurrence.Week, "monthly": recurrence.Month,
	"yearly": recurrence.Year, "annually": recurrence.Year,
}

// weekday reads "Monday", "Mondays" or "Mon".
func weekday(word string) (time.Weekday, bool) {
	word = strings.TrimSuffix(word, ".")
	for day := time.Sunday; day <= time.Saturday; day++ {
		full := strings.ToLower(day.String())
		if word == full || word == full+"s" || word == full[:3] || word == "tues" && day == time.Tuesday || word == "thurs" && day == time.Thursday {
			return day, true
		}
	}
	return 0, false
}

// month reads "March" or "Mar".
func month(word string) (int, bool) {
	word = strings.TrimSuffix(word, ".")
	for m := time.January; m <= time.December; m++ {
		full := strings.ToLower(m.String())
		if word == full || word == full[:3] || word == "sept" && m == time.September {
			return int(m), true
		}
	}
	return 0, false
}

// list reads items with commas and "and" or "or" between them, and ranges with "to"; the first is there already. read
// passes an item and returns its number; it passes nothing if the words are none. next gives the number after another in a
// range; nil: there are no ranges.
func (p *parser) list(read func() (int, bool), next func(int) int) []int {
	var all []int
	for {
		begun := p.at
		n, ok := read()
		if !ok {
			p.at = begun
			return all
		}
		before := p.at
		if next != nil && p.one("to", "through", "-", "until") {
			last, isRange := read()
			if !isRange {
				p.at = before
			} else {
				for steps := 0; n != last && steps < 100; steps++ {
					all = append(all, n)
					n = next(n)
				}
			}
		}
		all = append(all, n)
		before = p.at
		if !p.between() {
			return all
		}
		begun = p.at
		if _, more := read(); !more {
			p.at = before
			return all
		}
		p.at = begun
	}
}

// between passes what is between two items of a list.
func (p *parser) between() bool {
	comma := p.one(",")
	return p.one("and", "or", "&") || comma
}

func increment(n int) int { return n + 1 }

// plain reads a number that no "times" follows.
func (p *parser) plain() (int, bool) {
	n, ok := number(p.peek(0))
	if !ok || p.peek(1) == "times" {
		return 0, false
	}
	p.at++
	return n, true
}

func (p *parser) numbers() []int { return p.list(p.plain, increment) }

func (p *parser) months() []int {
	return p.list(func() (int, bool) {
		m, ok := month(p.peek(0))
		if ok {
			p.at++
		}
		return m, ok
	}, func(m int) int { return m%12 + 1 })
}

func (p *parser) weekdays() []time.Weekday {
	var all []time.Weekday
	for _, n := range p.list(func() (int, bool) {
		d, ok := weekday(p.peek(0))
		if ok {
			p.at++
		}
		return int(d), ok
	}, func(d int) int { return (d + 1) % 7 }) {
		all = append(all, time.Weekday(n))
	}
	return all
}

// A clock is a time of day.
type clock struct{ hour, minute, second int }

func (c clock) String() string {
	if c.second != 0 {
		return fmt.Sprintf("%02d:%02d:%02d", c.hour, c.minute, c.second)
	}
	return fmt.Sprintf("%02d:%02d", c.hour, c.minute)
}

var clockForm = regexp.MustCompile(`^(\d{1,2})(?:[:.](\d\d)(?::(\d\d))?)?(am|pm|a\.m\.?|p\.m\.?|h)?$`)

// clock reads a time of day: 17:15, 5:15pm, 5 pm, noon. bare says that it is a number alone, such as 9.
func (p *parser) clock() (c clock, bare, ok bool) {
	switch p.peek(0) {
	case "noon":
		p.at++
		return clock{hour: 12}, false, true
	case "midnight":
		p.at++
		p.midnight = true
		return clock{}, false, true
	}
	m := clockForm.FindStringSubmatch(p.peek(0))
	if m == nil || p.peek(1) == "times" {
		return c, false, false
	}
	c.hour, _ = strconv.Atoi(m[1]) // digits, as the next two
	c.minute, _ = strconv.Atoi("0" + m[2])
	c.second, _ = strconv.Atoi("0" + m[3])
	half := strings.ReplaceAll(m[4], ".", "")
	p.at++
	if half == "" {
		if word := strings.ReplaceAll(p.peek(0), ".", ""); word == "am" || word == "pm" {
			half = word
			p.at++
		} else if p.one("o'clock", "o’clock") {
			half = ""
		}
	}
	switch {
	case half == "am" || half == "pm":
		if c.hour < 1 || c.hour > 12 {
			p.at--
			return c, false, false
		}
		if c.hour %= 12; half == "pm" {
			c.hour += 12
		}
	case half == "" && m[2] == "":
		bare = true
	}
	return c, bare, c.hour < 24 && c.minute < 60 && c.second < 60
}
