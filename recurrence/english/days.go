package english

import "almanac/recurrence"

// days reads days of a month, after "the" or at an ordinal: "1st to the 3rd, the second to last day and the last Friday".
func (p *parser) days() {
	p.one("the")
	if p.isWorking() {
		p.readWorking()
		return
	}
	if p.isPositions() {
		p.readPositions()
		return
	}
	for {
		if !p.dayItem() {
			p.stop("a day of the month, such as the 15th, the last day or the second Monday")
			return
		}
		before := p.at
		if !p.between() {
			return
		}
		switch {
		case p.one("the"):
		case p.peek(0) == "every":
			if _, ok := weekday(p.peek(1)); !ok {
				p.at = before
				return
			}
			p.at++
			for _, d := range p.weekdays() {
				p.occurrences = append(p.occurrences, recurrence.MonthlyOccurrence{Day: d})
			}
			if !p.between() || !p.one("the") {
				return
			}
		default:
			if _, _, ok := ordinal(p.peek(0)); !ok && p.peek(0) != "last" { // "1st and 15th"
				p.at = before
				return
			}
		}
	}
}

// which reads an ordinal from the front or the back: "second", "3rd", "last" or "second to last".
func (p *parser) which() (n int, numeral, ok bool) {
	if p.one("last") {
		return -1, false, true
	}
	if n, numeral, ok = ordinal(p.peek(0)); !ok {
		return 0, false, false
	}
	p.at++
	if p.take("to", "last") || p.take("last") {
		return -n, false, true
	}
	return n, numeral, true
}

// dayItem reads a day of the month, or days in a row; "the" was passed.
func (p *parser) dayItem() bool {
	if p.take("weekday", "nearest") || p.take("weekday", "nearest", "to") {
		p.one("the")
		n, _, ok := p.which()
		if n < 0 {
			p.one("day")
		}
		p.nearest = append(p.nearest, n)
		return ok
	}
	n, _, ok := p.which()
	if !ok {
		return false
	}
	day, isDay := weekday(p.peek(0))
	switch {
	case isDay:
		p.at++
		p.occurrences = append(p.occurrences, recurrence.MonthlyOccurrence{Day: day, Occurrence: n})
	case p.one("weekday"):
		if n == -1 {
			p.nearest = append(p.nearest, -1)
		} else {
			p.positions = append(p.positions, n)
			p.mondayToFriday()
			p.workdays = false
		}
	default:
		p.one("day", "days")
		last := n
		before := p.at
		if n > 0 && p.one("to", "through") {
			p.one("the")
			if m, _, isRange := p.which(); isRange && m >= n {
				last = m
			} else {
				p.at = before
			}
		}
		for ; n <= last; n++ {
			p.monthDays = append(p.monthDays, n)
		}
	}
	return true
}

// isPositions looks ahead for "first and the last of …", where no unit and no month follow.
func (p *parser) isPositions() bool {
	begun := p.at
	defer func() { p.at = begun }()
	for {
		if _, _, ok := p.which(); !ok {
			return false
		}
		if p.one("of") {
			break
		}
		if !p.between() || !p.one("the") {
			return false
		}
	}
	_, isDay := weekday(p.peek(0))
	if p.peek(0) == "every" {
		_, isDay = weekday(p.peek(1))
		return isDay
	}
	return isDay || p.peek(0) == "the" && p.peek(1) != "month" && p.peek(1) != "year"
}

// readPositions reads "first and the last of Monday to Friday".
func (p *parser) readPositions() {
	for {
		n, _, _ := p.which()
		p.positions = append(p.positions, n)
		if p.one("of") {
			break
		}
		p.between()
		p.one("the")
	}
	switch {
	case p.one("the"):
		p.days()
	case p.one("every"):
		for _, d := range p.weekdays() {
			p.occurrences = append(p.occurrences, recurrence.MonthlyOccurrence{Day: d})
		}
		if p.between() && p.one("the") {
			p.days()
		}
	default:
		for _, d := range p.weekdays() {
			p.occurrences = append(p.occurrences, recurrence.MonthlyOccurrence{Day: d})
		}
	}
	if p.take("that", "is") {
		p.onlyIfDay()
	}
}
