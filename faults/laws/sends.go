package laws

import (
	"time"
)

// checkSends checks how often, and when, an action of an execution was sent.
func (c *checker) checkSends(j *life) {
	for _, s := range j.sends {
		d, ok := j.definitionOf(s.first().Version, s.first().Arrived)
		if !ok {
			c.violation(Updated, j.Job, s.first().Arrived, "%s of %s was sent by version %d, which was never asked for", s.action, s.id, s.first().Version)
			continue
		}
		if n := len(s.requests); n > 1+d.Retries {
			law := Retry
			if d.Retries == 0 {
				law = Duplicates
			}
			c.violation(law, j.Job, s.last().Arrived, "%s of %s due %s was sent %d times, at most %d are allowed", s.action, s.id, clock(s.due), n, 1+d.Retries)
			continue
		}
		for i, again := range s.requests[1:] {
			c.checkRepeat(j, s, s.requests[i], again, d)
		}
	}
}

// checkRepeat checks that a request may follow the one before it.
func (c *checker) checkRepeat(j *life, s *sends, before, again *Request, d Definition) {
	since := before.End()
	failed := !before.Success() && !before.Answered.IsZero() || before.End().Sub(before.Arrived) > attemptTime
	if !failed {
		until := before.End().Add(recording)
		if before.Answered.IsZero() {
			until = again.Arrived
		}
		f := c.fault(before.Arrived.Add(-clockSlack), until)
		if f == nil {
			c.violation(Duplicates, j.Job, again.Arrived, "%s of %s due %s was sent again %s after it was answered %d, and no fault explains it",
				s.action, s.id, clock(s.due), again.Arrived.Sub(before.End()).Round(time.Millisecond), before.Status)
			return
		}
		c.excused(Duplicates, j.Job, again.Arrived, f, "%s of %s was sent again %s later", s.action, s.id, again.Arrived.Sub(before.Arrived).Round(time.Millisecond))
		since = before.Arrived // when an attempt that was lost ended, nobody knows
	}
	if gap := again.Arrived.Sub(since); gap < d.RetryInterval-clockSlack {
		c.violation(Retry, j.Job, again.Arrived, "%s of %s due %s was repeated %s after the attempt before, the retry interval is %s",
			s.action, s.id, clock(s.due), gap.Round(time.Millisecond), d.RetryInterval)
	}
}

// clockSlack is how much the times in the log may be wrong.
const clockSlack = 50 * time.Millisecond

// checkErrorActions checks that an error action follows the last failure, once.
func (c *checker) checkErrorActions(j *life) {
	mains := map[string]*sends{}
	for _, s := range j.sends {
		if s.action == Main {
			mains[s.id] = s
		}
	}
	for _, s := range j.sends {
		if s.action != Error {
			continue
		}
		first := s.first()
		main := mains[s.id]
		if main == nil {
			if f := c.fault(first.Due.Add(-settling), first.Arrived); f != nil {
				c.excused(Retry, j.Job, first.Arrived, f, "the error action of %s was sent, the action itself never arrived", s.id)
			} else {
				c.violation(Retry, j.Job, first.Arrived, "the error action of %s due %s was sent, the action itself never arrived", s.id, clock(s.due))
			}
			continue
		}
		if last := main.last(); last.Arrived.After(first.Arrived) {
			c.violation(Retry, j.Job, last.Arrived, "the action of %s due %s was sent after its error action", s.id, clock(s.due))
		}
		d, _ := j.definitionOf(main.first().Version, main.first().Arrived)
		last := main.last()
		f := c.fault(main.first().Arrived.Add(-clockSlack), maxTime(last.End().Add(recording), first.Arrived))
		switch {
		case last.Success() && f == nil:
			c.violation(Retry, j.Job, first.Arrived, "the error action of %s due %s was sent although the action succeeded", s.id, clock(s.due))
		case last.Success():
			c.excused(Retry, j.Job, first.Arrived, f, "the error action of %s was sent although the action succeeded", s.id)
		case len(main.requests) < 1+d.Retries && f == nil && c.fault(s.due.Add(-fencesBefore), first.Arrived) == nil:
			c.violation(Retry, j.Job, first.Arrived, "the error action of %s due %s was sent after %d of %d attempts", s.id, clock(s.due), len(main.requests), 1+d.Retries)
		}
	}
	c.checkMissingErrorActions(j, mains)
}

// checkMissingErrorActions checks that an execution whose last attempt failed has
// its error action started.
func (c *checker) checkMissingErrorActions(j *life, mains map[string]*sends) {
	sent := map[string]bool{}
	for _, s := range j.sends {
		if s.action == Error {
			sent[s.id] = true
		}
	}
	for id, s := range mains {
		d, ok := j.definitionOf(s.first().Version, s.first().Arrived)
		last := s.last()
		if !ok || !d.ErrorAction || sent[id] || len(s.requests) != 1+d.Retries || last.Answered.IsZero() || last.Success() {
			continue
		}
		until := last.Answered.Add(lateness)
		if c.fault(last.Arrived, last.Answered.Add(recording)) != nil {
			until = last.Answered.Add(settling)
		}
		if until.After(c.log.Run.Frozen) || j.changing(last.Arrived, until) {
			continue
		}
		c.violation(Retry, j.Job, last.Answered, "the error action of %s due %s was never sent", id, clock(s.due))
	}
}
