package checker

import (
	"slices"
	"strings"
	"time"

	"almanac/lab/record"
)

// releaseTime is the maximum time from the end of a pause, or of the fault in which it ended, to the first occurrence
// that it held.
const releaseTime = time.Minute

// checkReleased checks what became of the occurrences that a pause held.
func (m *model) checkReleased(h *hold) {
	if h.uncertain || !h.holds || h.over.IsZero() || h.over.After(m.c.log.Run.Quiet) || m.nested(h) {
		return
	}
	held, last := m.heldBy(h)
	if len(held) == 0 {
		return
	}
	p := h.by()
	for i, o := range held {
		runs := p.Recover == "all" || p.Recover == "latest" && i == len(held)-1
		switch {
		case runs && p.Recover == "latest" && !last:
			continue // another one may have been the latest
		case runs:
			m.mustBeRecovered(h, o)
		default:
			m.mustBeLeftOut(Pauses, o, map[bool]string{true: "the job collection was disabled when it was due",
				false: "the job was disabled when it was due"}[h.ofCollection])
		}
	}
	m.checkAtOnce(h, held, p.AtOnce)
}

// nested reports whether a job was paused while its collection was, too, or the pause was followed by another one at
// once.
func (m *model) nested(h *hold) bool {
	return slices.ContainsFunc(m.holds, func(other *hold) bool {
		return other != h && other.touches(h.from.Add(-margin), h.over.Add(margin))
	})
}

// heldBy returns the occurrences that a pause certainly held, and that are not skipped, oldest first, and whether the
// last of these is certainly the last one that it held.
func (m *model) heldBy(h *hold) (held []*occurrence, last bool) {
	last = true
	for _, due := range m.dues() {
		o := m.occurrence(due)
		skipped := m.skipped(due)
		switch certain := len(o.in) == 1 && o.in[0] == h && !o.near && skipped == no; {
		case certain:
			held = append(held, o)
		case skipped == yes:
		case h.touches(due, o.planned) && due.After(h.since):
			last = false
		}
	}
	slices.SortFunc(held, byDue)
	return held, last
}

// mustBeRecovered checks that an occurrence ran when the pause was over, and that the history says so.
func (m *model) mustBeRecovered(h *hold, o *occurrence) {
	at := record.Clock(o.due)
	again := m.stoppedAgain(h, o)
	switch {
	case o.first == nil && again:
	case o.first == nil && !m.decided(o.due):
	case o.first == nil && m.attempted(o): // checkNeverArrived has it
	case o.first == nil:
		said := "nothing"
		if e := o.dropped(); e != nil {
			said = e.Status + " " + e.Message
		}
		m.c.violation(Pauses, m.Job, o.due, "the occurrence due %s was held and was to run after the pause from %s to %s; "+
			"the history says %s", at, record.Clock(h.since), record.Clock(h.over), said)
	case m.decided(o.due) && len(o.entries) > 0 && !o.entries[0].Recovered:
		m.c.violation(Pauses, m.Job, o.due, "the occurrence due %s was held and ran, and its entry does not say so", at)
	}
}

// attempted reports whether the history has an attempt of an occurrence.
func (m *model) attempted(o *occurrence) bool {
	return slices.ContainsFunc(o.entries, func(e *record.Entry) bool { return e.Repeat > 0 })
}

// stoppedAgain reports whether the job was paused again, rescheduled or deleted before what a pause held had run.
func (m *model) stoppedAgain(h *hold, o *occurrence) bool {
	until := h.over.Add(releaseTime)
	if f := m.c.log.LastFault(h.end, until); f != nil {
		until = later(until, f.End.Add(settling))
	}
	for m.busyWith(o.due, until.Add(-2*recordedAfter), until) && until.Before(h.over.Add(20*time.Minute)) {
		until = until.Add(recordedAfter)
	}
	return slices.ContainsFunc(m.Changes, func(c *record.Change) bool {
		stops := c.Kind == record.Pause || c.Kind == record.PauseCollection || c.Kind == record.Delete ||
			c.Kind == record.ChangeRecurrence
		return stops && c.Issued().After(h.end) && !c.Issued().After(until)
	})
}

// checkAtOnce checks that no more recovered occurrences run at once than was promised, oldest first, the first one soon
// after the end of the pause.
func (m *model) checkAtOnce(h *hold, held []*occurrence, most int) {
	var sent []*occurrence
	for _, o := range held {
		if o.first != nil {
			sent = append(sent, o)
		}
	}
	for i, o := range sent {
		at := record.Clock(o.due)
		faulty := m.c.log.LastFault(h.end.Add(-settling), o.last.Add(time.Second)) != nil
		beside := 0
		for j, other := range sent {
			if j != i && !other.first.Arrived.After(o.first.Arrived) && other.last.After(o.first.Arrived) {
				beside++
			}
			if j < i && other.first.Arrived.Sub(o.first.Arrived) > time.Second && !faulty {
				m.c.violation(Pauses, m.Job, o.due, "the occurrence due %s was held and ran before the one due %s", at,
					record.Clock(other.due))
			}
		}
		if beside >= most && !faulty && !m.changed(h.over.Add(time.Millisecond), o.first.Arrived) {
			m.c.violation(Pauses, m.Job, o.due, "the occurrence due %s was held and ran beside %d others, %d may at once", at,
				beside, most)
		}
	}
	if len(sent) == 0 {
		return
	}
	m.checkSoon(h, sent[0])
}

func (m *model) checkSoon(h *hold, o *occurrence) {
	from := h.over
	if f := m.c.log.LastFault(h.end.Add(-settling), o.first.Arrived); f != nil {
		from = later(from, f.End)
	}
	if late := o.first.Arrived.Sub(from); late > releaseTime+m.c.lag(from) && !m.busyWith(o.due, h.end, o.first.Arrived) {
		m.c.violation(Pauses, m.Job, o.due, "the first occurrence that a pause held, due %s, arrived %s after its end",
			record.Clock(o.due), late.Round(time.Millisecond))
	}
}

// checkAlerts checks that nobody was told of an occurrence that was held, or left out on request.
func (c *checker) checkAlerts() {
	for _, j := range c.jobs {
		if !j.Promising() {
			continue
		}
		quiet := c.log.Run.Quiet
		m := &model{JobLog: j, c: c, holds: append(holdsOf(j, false, quiet), holdsOf(j, true, quiet)...)}
		m.delay = m.delayFound()
		dues := m.dues()
		for i := range c.log.Alerts {
			if a := &c.log.Alerts[i]; a.Collection == j.Collection && a.Name == j.Name {
				m.checkAlert(a, dues)
			}
		}
	}
}

func (m *model) checkAlert(a *record.Alert, dues []time.Time) {
	first, last := a.First, a.Last
	if a.Event == "late" {
		first, last = a.Due, a.Due
	}
	if a.Event != "late" && a.Event != "missed" || first.IsZero() {
		return
	}
	for _, due := range dues {
		if due.Before(first) || due.After(last) {
			continue
		}
		o := m.occurrence(due)
		if o.near || len(o.in) == 0 && m.skipped(due) != yes {
			return // it, or others of these, may be late or missed
		}
	}
	if slices.ContainsFunc(dues, func(t time.Time) bool { return !t.Before(first) && !t.After(last) }) &&
		!strings.HasPrefix(a.Event, "test") {
		m.c.violation(Pauses, m.Job, first, "an alert says that what was due from %s to %s was %s, and it was held or skipped",
			record.Clock(first), record.Clock(last), a.Event)
	}
}
