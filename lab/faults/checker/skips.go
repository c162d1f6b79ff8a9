package checker

import (
	"slices"
	"strings"
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

// mayBeLate reports whether a request about the next occurrences was made soon after a fault, or while something of the
// job was late: what is late then, and waits, may be the next one.
func (m *model) mayBeLate(c *record.Change) bool {
	_, answered := c.Outcome()
	issued := c.Issued()
	return c.Which.Next > 0 && (m.c.log.LastFault(issued.Add(-settling), later(answered, issued)) != nil ||
		slices.ContainsFunc(m.Actions, func(a *record.ActionLog) bool {
			return a.First().Arrived.After(issued) && m.BackfillOf(a.Due) == nil && m.IsOccurrence(a.Due) &&
				m.wasLate(a.Due, issued)
		}) || slices.ContainsFunc(m.all(), func(e *record.Entry) bool {
		return e.Start.After(issued) && e.Backfill == "" && m.IsOccurrence(e.Due) && m.wasLate(e.Due, issued)
	}))
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

// wasLate reports whether an occurrence that is due at t may have waited at a time: for the end of a pause, for another
// execution, or for the server.
func (m *model) wasLate(t, at time.Time) bool {
	return t.Add(m.delay).Before(at) && (m.c.settled(t.Add(m.delay), 0).After(at) || m.busyWith(t, t, at) ||
		slices.ContainsFunc(m.holds, func(h *hold) bool { return h.touches(t, at) }))
}

// skippedLate reports whether an occurrence that was late is one of the next ones that a request skipped: its entry is
// of the time of that request, which has no more such entries than it asked for.
func (m *model) skippedLate(e *record.Entry) bool {
	return slices.ContainsFunc(m.Changes, func(c *record.Change) bool {
		if c.Kind != record.SkipSome || c.Which.Next == 0 {
			return false
		}
		outcome, answered := c.Outcome()
		if outcome == record.Unknown {
			answered = c.LastAnswer().Add(settling)
		}
		during := func(e *record.Entry) bool {
			return !e.Start.Before(c.Issued().Add(-clockSlack)) && !e.Start.After(answered.Add(clockSlack)) &&
				m.wasLate(e.Due, c.Issued()) && strings.Contains(e.Message, "a request skipped it")
		}
		found := 0
		for _, one := range m.all() {
			if during(one) {
				found++
			}
		}
		return during(e) && found <= c.Which.Next
	})
}
