package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"almanac/lab/record"
)

// A model says what had to become of each occurrence of a job that was paused, skipped and backfilled, as far as that
// is certain.
type model struct {
	*record.JobLog
	c     *checker
	holds []*hold
	delay time.Duration // of its flexible window, as the history has it
}

// checkPromises checks the occurrences of a job that was paused, skipped and backfilled.
func (c *checker) checkPromises(j *record.JobLog) {
	quiet := c.log.Run.Quiet
	m := &model{JobLog: j, c: c, holds: append(holdsOf(j, false, quiet), holdsOf(j, true, quiet)...)}
	m.checkWindow()
	for _, due := range m.dues() {
		m.checkOccurrence(due)
		m.checkReasons(due)
	}
	m.checkPaused()
	for _, h := range m.holds {
		m.checkReleased(h)
	}
	m.checkBackfills()
}

// definitionAt returns the definition in force at a time, or the first one.
func (m *model) definitionAt(t time.Time) (d *record.Definition) {
	for _, c := range m.Changes {
		if c.Definition != nil && (d == nil || !c.Issued().After(t)) {
			d = c.Definition
		}
	}
	return d
}

// margin is how long before and after a change of the schedule it is not certain what is due.
const margin = 2 * time.Second

// dues returns the times at which the job was certainly due, until the last change; with recurrence.count until the last
// one that it allows.
func (m *model) dues() []time.Time {
	all := m.duesOfSchedule()
	created := m.Created()
	if created == nil || created.Definition.Count == 0 {
		return all
	}
	ran := counted(m.JobLog)
	if len(ran) < created.Definition.Count {
		for _, e := range m.all() { // an attempt that never arrived counts as well
			if e.Repeat > 0 && e.Backfill == "" && len(m.ManualRunsDue(e.Due)) == 0 && !slices.ContainsFunc(ran, e.Due.Equal) {
				ran = append(ran, e.Due)
			}
		}
		slices.SortFunc(ran, time.Time.Compare)
	}
	if len(ran) < created.Definition.Count {
		return all
	}
	last := ran[created.Definition.Count-1]
	return slices.DeleteFunc(all, func(t time.Time) bool { return t.After(last) })
}

func (m *model) duesOfSchedule() (all []time.Time) {
	var d *record.Definition
	var since time.Time
	add := func(until time.Time) {
		if d != nil && !since.IsZero() {
			all = append(all, d.Due(since.Add(margin), until.Add(-margin))...)
		}
	}
	for _, c := range m.Changes {
		if c.Kind != record.Create && c.Kind != record.ChangeRecurrence && c.Kind != record.Delete {
			continue
		}
		add(c.Issued())
		outcome, at := m.Outcome(c)
		if since = at; outcome == record.Unknown || c.Kind == record.Delete {
			return all
		}
		d = c.Definition
	}
	add(m.c.log.Run.Quiet)
	return all
}

// An occurrence is what is known of one.
type occurrence struct {
	due     time.Time
	planned time.Time
	in      []*hold // by which it is certainly held
	near    bool    // or it may be by another one
	first   *record.Request
	last    time.Time // the end of its last request
	entries []*record.Entry
}

func (m *model) occurrence(due time.Time) *occurrence {
	o := &occurrence{due: due, planned: due.Add(m.delay)}
	for _, h := range m.holds {
		switch {
		case h.uncertain && h.touches(due, o.planned):
			o.near = true
		case h.covers(due, o.planned):
			o.in = append(o.in, h)
		case h.touches(due, o.planned):
			o.near = true
		}
	}
	for _, a := range m.Actions {
		if a.Due.Equal(due) && a.Action == record.MainAction && m.BackfillOf(due) == nil &&
			len(m.ManualRunsDue(due)) == 0 {
			o.first, o.last = a.First(), a.Last().End()
		}
	}
	for _, e := range m.Entries[due.Unix()] {
		if e.Due.Equal(due) && e.Backfill == "" && e.Action == record.MainAction {
			o.entries = append(o.entries, e)
		}
	}
	return o
}

// dropped returns the entry that says that the occurrence did not run; nil if there is none.
func (o *occurrence) dropped() *record.Entry {
	i := slices.IndexFunc(o.entries, func(e *record.Entry) bool { return e.Repeat == 0 })
	if i < 0 {
		return nil
	}
	return o.entries[i]
}

// decided reports whether what became of an occurrence was in the history when that was read for the last time, if
// anything was.
func (m *model) decided(t time.Time) bool {
	if m.Read == nil || m.Read.Status != 200 {
		return false
	}
	if m.Read.Final {
		return true
	}
	f := m.c.log.LastFault(t.Add(-settling), m.Read.Issued)
	return f == nil && t.Add(m.delay+time.Minute+m.c.lag(t)).Before(m.Read.Issued) && !m.busyWith(t, t, m.Read.Issued)
}

// busyWith reports whether an execution of an occurrence that is due before t was running at some time from a to b.
// Those of backfills and manual runs do not count: no occurrence waits for them.
func (m *model) busyWith(t, a, b time.Time) bool {
	return slices.ContainsFunc(m.Actions, func(one *record.ActionLog) bool {
		return one.Due.Before(t) && m.BackfillOf(one.Due) == nil && m.IsOccurrence(one.Due) &&
			!one.First().Arrived.After(b) && !one.Last().End().Add(recordedAfter+m.c.lag(a)).Before(a)
	}) || slices.ContainsFunc(m.all(), func(e *record.Entry) bool {
		return e.Repeat > 0 && e.Backfill == "" && e.Due.Before(t) && m.IsOccurrence(e.Due) &&
			!e.Start.After(b) && !e.End.Add(recordedAfter).Before(a)
	})
}

// recordedAfter is the maximum time between the last answer of an execution and the record of its outcome, while the
// server is not late.
const recordedAfter = 2 * time.Second

// all returns all entries of the history.
func (m *model) all() (all []*record.Entry) {
	for _, entries := range m.Entries {
		all = append(all, entries...)
	}
	return all
}

// checkOccurrence checks what became of an occurrence.
func (m *model) checkOccurrence(due time.Time) {
	o := m.occurrence(due)
	skipped := m.skipped(due)
	law := Skips
	switch {
	case o.near || skipped == unsure:
		return
	case len(o.in) == 0 && skipped == no:
		m.checkRegular(o)
		return
	case len(o.in) > 0 && !m.holdsWhat(o):
		m.mustBeLeftOut(Pauses, o, "")
		return
	case len(o.in) > 0 && skipped == no:
		return // see checkReleased
	}
	if len(o.in) > 0 && (!m.ended(o.in) || m.unheld(o)) {
		return
	}
	m.mustBeLeftOut(law, o, "a request skipped it")
}

// unheld reports whether one of the pauses that an occurrence is in holds nothing, so that it may have no entry.
func (m *model) unheld(o *occurrence) bool {
	return slices.ContainsFunc(o.in, func(h *hold) bool { return !h.holds })
}

// holdsWhat reports whether the pauses that an occurrence is in hold what comes due.
func (m *model) holdsWhat(o *occurrence) bool {
	return slices.ContainsFunc(o.in, func(h *hold) bool { return h.holds })
}

func (m *model) ended(all []*hold) bool {
	return !slices.ContainsFunc(all, func(h *hold) bool { return h.over.IsZero() || h.over.After(m.c.log.Run.Quiet) })
}

// mustBeLeftOut checks that an occurrence was not sent, and has one entry with a reason; none if that is empty.
func (m *model) mustBeLeftOut(law string, o *occurrence, why string) {
	e := o.dropped()
	at := record.Clock(o.due)
	switch {
	case o.first != nil:
		m.c.violation(law, m.Job, o.due, "the occurrence due %s was sent at %s, and was to be left out", at,
			record.Clock(o.first.Arrived))
	case !m.decided(o.due):
	case why == "" && len(o.entries) > 0:
		m.c.violation(law, m.Job, o.due, "the occurrence due %s was not to be held, and has an entry: %s %s", at,
			o.entries[0].Status, o.entries[0].Message)
	case why == "":
	case e == nil:
		m.c.violation(law, m.Job, o.due, "the occurrence due %s was left out, and has no entry that says so", at)
	case !strings.Contains(e.Message, why):
		m.c.violation(law, m.Job, o.due, "the occurrence due %s was left out, and not because of what its entry says: %s %s",
			at, e.Status, e.Message)
	}
}

// checkRegular checks an occurrence that was neither skipped nor held.
func (m *model) checkRegular(o *occurrence) {
	at := record.Clock(o.due)
	switch e := o.dropped(); {
	case o.first != nil:
		m.checkOnTime(o)
	case len(o.entries) == 0 && m.decided(o.due) && !m.interrupted(o):
		m.c.violation(NoLoss, m.Job, o.due, "the occurrence due %s was never sent, and the history does not mention it", at)
	case e != nil && strings.Contains(e.Message, "a request skipped it") && m.skippedLate(e):
	case e != nil && strings.Contains(e.Message, "a request skipped it"):
		m.c.violation(Skips, m.Job, o.due, "the occurrence due %s was not skipped, and the history says so", at)
	case e != nil && !m.hadCause(o, e):
		m.c.violation(NoLoss, m.Job, o.due, "the occurrence due %s was dropped without need: %s, %s", at, e.Status,
			e.Message)
	}
}

// interrupted reports whether the job was paused without holding what was due, or deleted, before the occurrence was
// decided.
func (m *model) interrupted(o *occurrence) bool {
	return m.changing(o.planned, o.planned.Add(lateness)) || m.c.log.LastFault(o.planned.Add(-settling), o.planned) != nil ||
		m.busyWith(o.due, o.planned, o.planned)
}

// changing reports whether something of the job was changed from a to b but a backfill, or a pause began or ended.
func (m *model) changing(a, b time.Time) bool {
	return m.changed(a, b) || slices.ContainsFunc(m.holds, func(h *hold) bool {
		return h.touches(a, b) && (!h.from.Before(a) || !h.over.IsZero() && !h.over.After(b))
	})
}

// changed reports whether a request from a to b changed something of the job but a backfill.
func (m *model) changed(a, b time.Time) bool {
	return slices.ContainsFunc(m.Changes, func(c *record.Change) bool {
		outcome, at := m.Outcome(c)
		if c.Kind == record.BeginBackfill || c.Kind == record.ChangeBackfill {
			return false
		}
		return !c.Issued().After(b) && (outcome == record.Unknown || !at.Before(a))
	})
}

// hadCause reports whether something kept an occurrence from running that the history has as dropped.
func (m *model) hadCause(o *occurrence, e *record.Entry) bool {
	decided := later(e.Start, o.planned)
	if m.c.log.LastFault(o.due.Add(-settling), decided) != nil || m.busyWith(o.due, o.due, o.planned) ||
		m.changing(o.due.Add(-5*time.Second), decided.Add(5*time.Second)) {
		return true
	}
	if m.c.overloaded(o.due, decided) && e.Status == "Missed" {
		m.c.excused(NoLoss, m.Job, o.due, nil, "the occurrence due %s was left out while others were sent very late: %s",
			record.Clock(o.due), e.Message)
		return true
	}
	return false
}

// checkOnTime checks that an occurrence was sent soon. Backfills of the job are no excuse.
func (m *model) checkOnTime(o *occurrence) {
	late := o.first.Arrived.Sub(o.planned)
	if late <= lateness || m.busyWith(o.due, o.planned, o.first.Arrived) ||
		m.changing(o.planned.Add(-10*time.Second), o.first.Arrived) {
		return
	}
	law := NoLoss
	if m.backfilling(o.planned) {
		law = Backfills
	}
	if f := m.c.log.LastFault(o.planned.Add(-settling), o.first.Arrived); f != nil {
		m.c.excused(law, m.Job, o.due, f, "the occurrence due %s arrived %s late", record.Clock(o.due), late)
		return
	}
	if m.c.overloaded(o.due, o.first.Arrived) {
		m.c.excused(law, m.Job, o.due, nil, "the occurrence due %s arrived %s late", record.Clock(o.due), late)
		return
	}
	m.c.violation(law, m.Job, o.due, "the occurrence due %s arrived %s late", record.Clock(o.due), late)
}

// checkReasons checks that what the history says of an occurrence that did not run is so.
func (m *model) checkReasons(due time.Time) {
	o := m.occurrence(due)
	for _, e := range o.entries {
		said := func(why string) bool { return strings.Contains(e.Message, why) }
		was := func(ofCollection bool) bool {
			return slices.ContainsFunc(m.holds, func(h *hold) bool {
				waited := h.touches(o.due, later(e.Start, o.planned)) && h.from.After(o.due) &&
					(m.busyWith(o.due, o.planned, h.over) || m.c.log.LastFault(o.due.Add(-settling), later(e.Start, h.from)) != nil)
				return h.ofCollection == ofCollection && (h.touches(o.due, o.planned) || waited)
			})
		}
		switch {
		case said("the job was disabled when it was due") && !was(false),
			said("the job collection was disabled when it was due") && !was(true):
			m.c.violation(Pauses, m.Job, due, "the occurrence due %s has a reason that is not true: %s, %s",
				record.Clock(due), e.Status, e.Message)
		case said("a request skipped it") && m.skipped(due) == no && !m.skippedLate(e):
			m.c.violation(Skips, m.Job, due, "the occurrence due %s was not skipped, and the history says so: %s",
				record.Clock(due), e.Message)
		}
	}
}

// checkPaused checks that nothing is sent while the job or its collection is paused, but manual runs of that time.
func (m *model) checkPaused() {
	for _, h := range m.holds {
		for _, r := range m.Requests {
			if h.uncertain || !r.Arrived.After(h.since) || !h.end.IsZero() && !r.Arrived.Before(h.end) {
				continue
			}
			manual := slices.ContainsFunc(m.ManualRunsDue(r.Due), func(run *record.Change) bool {
				outcome, at := run.Outcome()
				return outcome == record.Unknown || !at.Before(h.from)
			})
			late := r.Arrived.Sub(h.since)
			switch {
			case manual:
			case late <= m.c.log.Run.Tolerance:
				m.c.excused(Pauses, m.Job, r.Arrived, nil, "%s of %s arrived %s after the answer to a pause", r.Action,
					r.ID, late.Round(time.Millisecond))
			default:
				m.c.violation(Pauses, m.Job, r.Arrived, "%s of %s due %s arrived %s after a pause began", r.Action, r.ID,
					record.Clock(r.Due), late.Round(time.Millisecond))
			}
		}
	}
}

// checkOneEntry checks that no occurrence has more than one entry, but for the attempts of one execution.
func (c *checker) checkOneEntry(j *record.JobLog) {
	for _, entries := range j.Entries {
		numbers := map[int64][]int{}
		for _, e := range entries {
			if e.Due.Nanosecond() != 0 || e.Backfill != "" || e.Action != record.MainAction ||
				!j.IsOccurrence(e.Due) || len(j.ManualRunsDue(e.Due)) > 0 || isOnce(j) {
				continue
			}
			if k := e.Due.UnixNano(); e.Repeat == 0 || !slices.Contains(numbers[k], e.Repeat) {
				numbers[k] = append(numbers[k], e.Repeat)
			}
		}
		for _, found := range numbers {
			if len(found) > 1 {
				slices.SortFunc(entries, func(a, b *record.Entry) int { return a.Start.Compare(b.Start) })
				first, second := entries[0], entries[len(entries)-1]
				c.violation(OneEntry, j.Job, first.Due, "the occurrence due %s has %d entries: %s %s; %s %s",
					record.Clock(first.Due), len(found), first.Status, first.Message, second.Status, second.Message)
			}
		}
	}
}

// isOnce reports whether the job runs once. It may be enabled again after its time was left out.
func isOnce(j *record.JobLog) bool {
	return slices.ContainsFunc(j.Definitions(), func(d record.Definition) bool { return d.Once })
}

// byDue orders occurrences.
func byDue(a, b *occurrence) int { return cmp.Compare(a.due.UnixNano(), b.due.UnixNano()) }
