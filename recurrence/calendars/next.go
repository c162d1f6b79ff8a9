package calendars

import "time"

// horizon is how far Next looks for a run: 100 years.
const horizon = 36_525 * secondsPerDay

// Next returns the first occurrence that runs after a time, or false if none does within 100 years.
func (p *Plan) Next(after time.Time) (Occurrence, bool) {
	from, span := after.Add(time.Second), int64(4*secondsPerDay)
	for searched := int64(0); searched < horizon; {
		until := from.Add(time.Duration(span) * time.Second)
		for _, o := range p.Occurrences(from, until) {
			if o.Ran() {
				return o, true
			}
		}
		from = until.Add(time.Second)
		searched += span
		span = min(span*4, 400*secondsPerDay)
		next, ok := p.nextNominal(from.Unix() - (2*MaxReach+5)*secondsPerDay)
		if !ok {
			break
		}
		if start := next - (MaxReach+3)*secondsPerDay; start > from.Unix() {
			searched += start - from.Unix()
			from = time.Unix(start, 0)
		}
	}
	return Occurrence{}, false
}

// nextNominal returns the first nominal time at or after an instant.
func (p *Plan) nextNominal(from int64) (int64, bool) {
	first := p.in.First
	isFirst := !first.IsZero() && first.Unix() >= from
	if p.in.Series != nil {
		if next, ok := p.in.Series.Next(time.Unix(from-1, 0)); ok && (p.in.End.IsZero() || !next.After(p.in.End)) && (!isFirst || next.Before(first)) {
			return next.Unix(), true
		}
	}
	return first.Unix(), isFirst
}

// Ends reports whether nothing is decided after a time: no rule fires, and no occurrence is moved or held until later.
func (p *Plan) Ends(after time.Time) bool {
	from := after.Add(time.Second)
	if _, ok := p.nextNominal(from.Unix()); ok {
		return false
	}
	return len(p.Occurrences(from, from.Add((2*MaxReach+5)*24*time.Hour))) == 0
}
