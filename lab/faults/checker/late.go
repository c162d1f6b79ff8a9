package checker

import (
	"time"

	"almanac/lab/record"
)

const (
	// takeover is the maximum time after its due time until another worker sends what a worker had that was killed,
	// stopped or paused before.
	takeover = 5 * time.Second

	// taskTimeout is how much longer it takes what needs a workflow task: the worker may have been given that.
	taskTimeout = 11 * time.Second

	// longestHeld is the maximum time that a worker has an occurrence before it is due.
	longestHeld = 5*time.Minute + 2*time.Second

	// The fences of the occurrences that are due together are passed up to fenceBegin before their due time, and
	// earlier by fencePer for each of them.
	fenceBegin = 150 * time.Millisecond // a slow machine included
	fencePer   = 8500 * time.Microsecond

	// newTime is how long after its creation or change a job may not have been dispatched as usual.
	newTime = 30 * time.Second
)

// checkLate checks that what one of several workers had when it was killed, stopped or paused is sent soon by another
// one.
func (c *checker) checkLate(j *record.JobLog) {
	for _, s := range j.Spans() {
		if !s.Active || j.Promising() {
			continue
		}
		for _, due := range s.Definition.Due(s.From.Add(newTime), s.To) {
			arrival := j.Arrival(due)
			if arrival == nil || arrival.Arrived.Sub(due) <= takeover { // a missing one is checked by NoLoss
				continue
			}
			if f := c.workerLost(due.Add(-longestHeld), due, arrival.Arrived); f != nil &&
				c.idleUntil(j, due, arrival.Arrived) {
				c.late(j, due, arrival, f)
			}
		}
	}
	for _, a := range j.Actions {
		c.checkLateRetries(j, a)
	}
}

// late reports an occurrence that arrived late after a fault, which is excused if its fence may have been passed
// before.
func (c *checker) late(j *record.JobLog, due time.Time, arrival *record.Request, f *record.Fault) {
	const text = "the occurrence due %s arrived %s late after another worker was lost"
	late := arrival.Arrived.Sub(due).Round(time.Millisecond)
	if due.Sub(f.Start) < fenceBegin+time.Duration(c.together(due))*fencePer || late <= takeover+c.lateBefore(f) {
		c.excused(Late, j.Job, due, f, text, record.Clock(due), late)
		return
	}
	c.violation(Late, j.Job, due, text+": %s", record.Clock(due), late, f)
}

// lateBefore returns how much later than at other times a worker takes over after a fault, since the server was late
// before: it has to do several things one after another.
func (c *checker) lateBefore(f *record.Fault) time.Duration {
	return 3 * c.lagFrom(f.Start.Add(-around), f.Start)
}

// together returns how many requests are due at a time.
func (c *checker) together(due time.Time) (n int) {
	if c.dues == nil {
		c.dues = map[int64]int{}
		for i := range c.log.Requests {
			c.dues[c.log.Requests[i].Due.Unix()]++
		}
	}
	return c.dues[due.Unix()]
}

// workerLost returns the fault in which some workers, but not all, were lost at some time from a to b. It returns nil
// if there is none, or if another fault, or the end of this one, may have to do with what happened until then.
func (c *checker) workerLost(a, b, until time.Time) *record.Fault {
	f := c.log.LastFault(a, b)
	if f == nil || !f.Stopped(record.Worker) || f.Stopped(record.AllWorkers, record.Server) || f.Start.Before(a) ||
		f.Start.After(b) {
		return nil
	}
	for i := range c.log.Faults {
		if other := &c.log.Faults[i]; other != f && other.Overlaps(f.Start.Add(-settling), until) {
			return nil
		}
	}
	return f
}

// idleUntil reports whether the job was not changed, and nothing of it ran, from before its due time until a request
// arrived.
func (c *checker) idleUntil(j *record.JobLog, due, arrived time.Time) bool {
	return !j.Changing(due.Add(-newTime), arrived) && !j.Overlapped(due, due, arrived) && len(j.ManualRunsDue(due)) == 0
}

// checkLateRetries checks that a retry that came while a worker was lost is not late, nor an error action.
func (c *checker) checkLateRetries(j *record.JobLog, a *record.ActionLog) {
	for i, again := range a.Requests[1:] {
		before := a.Requests[i]
		d, ok := j.DefinitionOf(before.Version, before.Arrived)
		if !ok || before.Status == 429 || before.Status == 503 { // these put the retry off
			continue
		}
		planned, limit := before.End().Add(d.RetryInterval), takeover
		if planned.Sub(a.Due) > time.Minute { // then the workflow starts it
			limit += taskTimeout
		}
		c.checkLateAfter(j, before, again, planned, limit, "the retry")
	}
	if follows, certain := j.ActionDue(a.Due, record.ErrorAction); a.Action == record.MainAction && certain &&
		follows != nil {
		c.checkLateAfter(j, a.Last(), follows.First(), a.Last().End(), takeover+taskTimeout, "the error action")
	}
}

// checkLateAfter checks a request that follows an attempt and was to begin at a time. It is excused if the worker may
// have had the attempt, so that its failure was not recorded, or may have recorded that the request may be sent.
func (c *checker) checkLateAfter(
	j *record.JobLog, before, next *record.Request, planned time.Time, limit time.Duration, what string,
) {
	late := next.Arrived.Sub(planned)
	if late <= limit || before.Answered.IsZero() || before.Success() || j.Changing(before.Arrived, next.Arrived) {
		return
	}
	f := c.workerLost(before.Arrived.Add(-longestHeld), next.Arrived, next.Arrived)
	if f == nil {
		return
	}
	hadAttempt := !f.Start.Before(before.Arrived.Add(-clockSlack)) && f.Start.Before(before.End().Add(c.recording()))
	if hadAttempt || f.Start.After(planned.Add(-fenceBegin)) || late <= limit+c.lateBefore(f) {
		c.excused(Late, j.Job, next.Arrived, f, "%s of %s came %s late", what, next.ID, late.Round(time.Millisecond))
		return
	}
	c.violation(Late, j.Job, next.Arrived, "%s of %s due %s came %s late after another worker was lost: %s", what,
		next.ID, record.Clock(next.Due), late.Round(time.Millisecond), f)
}
