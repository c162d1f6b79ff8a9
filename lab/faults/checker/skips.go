package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

// A certainty is what is known of a question.
type certainty int

const (
	no certainty = iota
	unsure
	yes
)

// skipped returns whether an occurrence that is due at t is skipped, by the changes before that time.
func (m *model) skipped(t time.Time) certainty { return m.skippedBy(t, len(m.Changes)) }

// skippedBy is [model.skipped] by the first n changes alone.
func (m *model) skippedBy(t time.Time, n int) certainty {
	known := no
	for i, c := range m.Changes[:n] {
		if c.Kind != record.SkipSome && c.Kind != record.UnskipSome {
			continue
		}
		reach := time.Second
		if m.mayBeLate(c) {
			reach = settling
		}
		if c.Issued().Add(-reach).After(t) {
			continue
		}
		concerned := m.concerns(i, t)
		outcome, answered := c.Outcome()
		to := map[bool]certainty{true: yes, false: no}[c.Kind == record.SkipSome]
		switch {
		case concerned == no || known == to:
		case concerned == unsure || outcome == record.Unknown || !answered.Before(t):
			known = unsure
		default:
			known = to
		}
	}
	return known
}

// mayBeLate reports whether a request about the next occurrences was made soon after a fault: what is late then, and
// waits, may be the next one.
func (m *model) mayBeLate(c *record.Change) bool {
	_, answered := c.Outcome()
	return c.Which.Next > 0 && m.c.log.LastFault(c.Issued().Add(-settling), later(answered, c.Issued())) != nil
}

// concerns returns whether a request to skip occurrences, or not to skip them any more, is about the one due at t.
func (m *model) concerns(i int, t time.Time) certainty {
	c := m.Changes[i]
	switch w := c.Which; {
	case !w.Due.IsZero():
		return map[bool]certainty{true: yes, false: no}[w.Due.Equal(t)]
	case w.Next == 0:
		return map[bool]certainty{true: yes, false: no}[!t.Before(w.From) && t.Before(w.Until)]
	}
	outcome, answered := c.Outcome()
	if m.mayBeLate(c) {
		return map[bool]certainty{true: unsure, false: no}[!t.Before(c.Issued().Add(-settling))]
	}
	issued := c.Issued().Add(-2 * time.Second)
	if outcome == record.Unknown {
		answered = issued.Add(time.Minute)
	}
	dues := m.definitionAt(answered).Due(issued, answered.Add(time.Hour))
	var next []time.Time // that the request can be about, and more than those
	left := c.Which.Next
	certain := outcome == record.Applied && (len(dues) == 0 || dues[0].After(answered.Add(m.delay+time.Second)))
	for _, due := range dues {
		known := m.skippedBy(due, i)
		certain = certain && (known != unsure || left == 0)
		if left == 0 {
			break
		}
		if known != map[bool]certainty{true: yes, false: no}[c.Kind == record.SkipSome] {
			next = append(next, due)
			left--
		}
	}
	if !certain {
		return map[bool]certainty{true: unsure, false: no}[!t.Before(issued)]
	}
	return map[bool]certainty{true: yes, false: no}[slices.ContainsFunc(next, t.Equal)]
}
