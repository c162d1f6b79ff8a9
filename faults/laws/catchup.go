package laws

import (
	"slices"
	"time"
)

// checkCatchUp checks what became of the occurrences that were due while nothing
// could run them, of jobs that did nothing else at that time.
func (c *checker) checkCatchUp(j *life) {
	for i := range c.log.Faults {
		f := &c.log.Faults[i]
		if !f.Total() || c.disturbed(i) {
			continue
		}
		for _, s := range j.spans() {
			if s.active && !s.definition.Once && s.definition.Count == 0 &&
				s.from.Before(f.Start.Add(-calmBefore)) && s.to.After(f.End.Add(calmAfter)) &&
				!j.changing(f.Start.Add(-calmBefore), f.End.Add(calmAfter)) && j.idle(f.Start) {
				c.verdict.Figures.Downtimes++
				c.checkDowntime(j, f, s.definition)
			}
		}
	}
}

const (
	calmBefore = 75 * time.Second
	calmAfter  = 75 * time.Second
	idleBefore = 3 * time.Second
)

// disturbed reports whether another fault was close to the one of that index.
func (c *checker) disturbed(index int) bool {
	f := &c.log.Faults[index]
	for i := range c.log.Faults {
		if i != index && c.log.Faults[i].overlaps(f.Start.Add(-calmBefore), f.End.Add(calmAfter)) {
			return true
		}
	}
	return false
}

// idle reports whether no execution of the job was running, or about to start, at an instant.
func (j *life) idle(at time.Time) bool {
	for _, s := range j.sends {
		last := s.last()
		if s.due.After(at) || last.Arrived.After(at) {
			if !s.first().Arrived.After(at) {
				return false // it was repeated
			}
			continue
		}
		if last.End().Add(idleBefore).After(at) || !last.Success() && last.End().Add(calmBefore).After(at) {
			return false
		}
	}
	for _, d := range j.definitions() {
		if len(d.due(at.Add(-idleBefore-time.Second), at.Add(time.Second))) > 0 && !d.Once {
			return false
		}
	}
	for _, r := range j.runs {
		if at.Sub(r.Issued()).Abs() < calmBefore {
			return false
		}
	}
	return true
}

// checkDowntime checks the occurrences of one downtime.
func (c *checker) checkDowntime(j *life, f *Fault, d Definition) {
	due := d.due(f.Start, f.Restart)
	if len(due) == 0 {
		return
	}
	latest := due[len(due)-1]
	var before time.Time
	for i, t := range due {
		arrival := j.arrival(t)
		switch {
		case d.CatchUp && arrival == nil:
			c.violation(CatchUps, j.Job, t, "the occurrence due %s, within the catch-up window of an hour, was not sent after the %s; the history says %s", clock(t), f, j.says(t))
		case d.CatchUp && arrival.Arrived.Before(before):
			c.violation(CatchUps, j.Job, t, "the occurrence due %s was sent before the one before it had ended, after the %s", clock(t), f)
		case d.CatchUp:
			before = j.receivedUntil(t)
		case i < len(due)-1 && arrival != nil:
			c.violation(CatchUps, j.Job, t, "the occurrence due %s was sent at %s after the %s, although a later one was due as well and there is no catch-up window",
				clock(t), clock(arrival.Arrived), f)
		case i < len(due)-1 && j.says(t) != "Missed":
			c.violation(CatchUps, j.Job, t, "the occurrence due %s during the %s must be Missed in the history, which says %s", clock(t), f, j.says(t))
		case i == len(due)-1 && arrival == nil && !j.overtaken(t) && latest.Add(time.Minute).After(f.End.Add(30*time.Second)):
			c.violation(CatchUps, j.Job, t, "the occurrence due %s, the latest one during the %s, was not sent; the history says %s", clock(t), f, j.says(t))
		}
	}
}

// overtaken reports whether an occurrence was missed when the next one was due as
// well, as happens where so much waits that it is decided late: then that one is
// the latest.
func (j *life) overtaken(due time.Time) bool {
	return slices.ContainsFunc(j.entries[due.Unix()], func(e *Entry) bool {
		return e.Status == "Missed" && !e.Start.Before(due.Add(time.Minute))
	})
}

// receivedUntil returns when the last request of an occurrence ended.
func (j *life) receivedUntil(due time.Time) time.Time {
	var end time.Time
	for _, s := range j.sends {
		if s.due.Equal(due) {
			end = maxTime(end, s.last().End())
		}
	}
	return end
}

// says returns what the history says of an occurrence.
func (j *life) says(due time.Time) string {
	if j.read == nil || j.read.Status != 200 {
		if j.deleted() != nil {
			return "Missed" // nobody can tell
		}
		return "nothing"
	}
	entries := j.entries[due.Unix()]
	if len(entries) == 0 {
		return "nothing"
	}
	for _, e := range entries {
		if e.Status == "Missed" {
			return e.Status
		}
	}
	return entries[0].Status
}
