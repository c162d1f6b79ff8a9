package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

// checkIDs checks that each occurrence has one execution id.
func (c *checker) checkIDs(j *record.JobLog) {
	ids := map[int64][]string{}
	dues := map[string]int64{}
	for _, r := range j.Requests {
		unix := r.Due.Unix()
		if !slices.Contains(ids[unix], r.ID) {
			ids[unix] = append(ids[unix], r.ID)
		}
		if other, ok := dues[r.ID]; ok && other != unix {
			c.violation(OneID, j.Job, r.Arrived, "the execution %s is due %s and %s", r.ID,
				record.Clock(time.Unix(other, 0)), record.Clock(r.Due))
		}
		dues[r.ID] = unix
	}
	for unix, found := range ids {
		due := time.Unix(unix, 0)
		most := len(j.ManualRunsDue(due))
		if j.IsOccurrence(due) {
			most++
		}
		if len(found) > most {
			c.violation(OneID, j.Job, due, "%d executions are due %s, at most %d may be: %v", len(found),
				record.Clock(due), most, found)
		}
	}
}

// checkSharedIDs checks that no two jobs share an execution id.
func (c *checker) checkSharedIDs() {
	owner := map[string]record.Job{}
	for _, j := range c.jobs {
		for _, a := range j.Actions {
			if other, ok := owner[a.ID]; ok && other != j.Job {
				c.violation(OneID, j.Job, a.First().Arrived, "the execution %s belongs to %s, too", a.ID, other)
			}
			owner[a.ID] = j.Job
		}
	}
}

// checkEarly checks that no request arrives before it is due.
func (c *checker) checkEarly(j *record.JobLog) {
	for _, r := range j.Requests {
		if r.Arrived.Before(r.Due) {
			c.violation(Early, j.Job, r.Arrived, "%s of %s due %s arrived %s early", r.Action, r.ID,
				record.Clock(r.Due), r.Due.Sub(r.Arrived))
		}
	}
}

// checkCut checks that no request is cut off without a fault.
func (c *checker) checkCut(j *record.JobLog) {
	for _, r := range j.Requests {
		if r.Cut.IsZero() || r.Cut.Sub(r.Arrived) > attemptTime {
			continue
		}
		after := r.Cut.Sub(r.Arrived).Round(time.Millisecond)
		if f := c.log.LastFault(r.Arrived, r.Cut.Add(time.Second)); f != nil {
			c.excused(CutOff, j.Job, r.Arrived, f, "%s of %s was cut off after %s", r.Action, r.ID, after)
			continue
		}
		c.violation(CutOff, j.Job, r.Arrived,
			"%s of %s due %s, which arrived %s, was cut off after %s although no process stopped",
			r.Action, r.ID, record.Clock(r.Due), record.Clock(r.Arrived), after)
	}
}

// checkAttempts checks how often, and when, the requests of each action were sent.
func (c *checker) checkAttempts(j *record.JobLog) {
	for _, a := range j.Actions {
		d, ok := j.DefinitionOf(a.First().Version, a.First().Arrived)
		if !ok {
			c.violation(Updated, j.Job, a.First().Arrived,
				"%s of %s was sent by version %d, which was never asked for", a.Action, a.ID, a.First().Version)
			continue
		}
		if n := len(a.Requests); n > 1+d.Retries {
			law := Retries
			if d.Retries == 0 {
				law = Duplicates
			}
			c.violation(law, j.Job, a.Last().Arrived, "%s of %s due %s was sent %d times, at most %d are allowed",
				a.Action, a.ID, record.Clock(a.Due), n, 1+d.Retries)
			continue
		}
		for i, again := range a.Requests[1:] {
			c.checkRepeat(j, a, a.Requests[i], again, d)
		}
	}
}

// checkRepeat checks that a request may follow the one before it.
func (c *checker) checkRepeat(
	j *record.JobLog, a *record.ActionLog, before, again *record.Request, d record.Definition,
) {
	since := before.End()
	failed := !before.Success() && !before.Answered.IsZero() || before.End().Sub(before.Arrived) > attemptTime
	if !failed {
		f := c.lostBefore(before, again.Arrived)
		if before.Answered.IsZero() {
			f = c.log.LastFault(before.Arrived.Add(-clockSlack), again.Arrived)
		}
		if f == nil {
			c.violation(Duplicates, j.Job, again.Arrived,
				"%s of %s due %s was sent again %s after it was answered %d, and no fault explains it",
				a.Action, a.ID, record.Clock(a.Due), again.Arrived.Sub(before.End()).Round(time.Millisecond),
				before.Status)
			return
		}
		c.excused(Duplicates, j.Job, again.Arrived, f, "%s of %s was sent again %s later", a.Action, a.ID,
			again.Arrived.Sub(before.Arrived).Round(time.Millisecond))
		since = before.Arrived // it is not known when the lost attempt ended
	}
	if gap := again.Arrived.Sub(since); gap < d.RetryInterval-clockSlack {
		c.violation(Retries, j.Job, again.Arrived,
			"%s of %s due %s was repeated %s after the attempt before, the retry interval is %s",
			a.Action, a.ID, record.Clock(a.Due), gap.Round(time.Millisecond), d.RetryInterval)
	}
}

// checkErrorActions checks that an error action follows the last failure, once.
func (c *checker) checkErrorActions(j *record.JobLog) {
	actions := map[string]*record.ActionLog{}
	for _, a := range j.Actions {
		if a.Action == record.MainAction {
			actions[a.ID] = a
		}
	}
	sent := map[string]bool{}
	for _, a := range j.Actions {
		if a.Action == record.ErrorAction {
			sent[a.ID] = true
			c.checkErrorAction(j, actions[a.ID], a)
		}
	}
	for id, a := range actions {
		if !sent[id] {
			c.checkNoErrorAction(j, a)
		}
	}
}

// checkErrorAction checks an error action that was sent. main is the action itself, nil if it never arrived.
func (c *checker) checkErrorAction(j *record.JobLog, main, a *record.ActionLog) {
	sent := a.First().Arrived
	if main == nil {
		f := c.log.LastFault(a.First().Due.Add(-settling), sent)
		if f != nil {
			c.excused(Retries, j.Job, sent, f, "the error action of %s was sent, the action itself never arrived", a.ID)
		} else {
			c.violation(Retries, j.Job, sent,
				"the error action of %s due %s was sent, the action itself never arrived", a.ID, record.Clock(a.Due))
		}
		return
	}
	last := main.Last()
	if last.Arrived.After(sent) {
		c.violation(Retries, j.Job, last.Arrived, "the action of %s due %s was sent after its error action", a.ID,
			record.Clock(a.Due))
	}
	d, _ := j.DefinitionOf(main.First().Version, main.First().Arrived)
	f := c.log.LastFault(main.First().Arrived.Add(-clockSlack), later(last.End().Add(c.recording()), sent))
	switch {
	case last.Success() && f == nil:
		c.violation(Retries, j.Job, sent, "the error action of %s due %s was sent although the action succeeded",
			a.ID, record.Clock(a.Due))
	case last.Success():
		c.excused(Retries, j.Job, sent, f, "the error action of %s was sent although the action succeeded", a.ID)
	case len(main.Requests) < 1+d.Retries && f == nil && c.log.LastFault(a.Due.Add(-c.fenceAhead()), sent) == nil:
		c.violation(Retries, j.Job, sent, "the error action of %s due %s was sent after %d of %d attempts", a.ID,
			record.Clock(a.Due), len(main.Requests), 1+d.Retries)
	}
}

// checkNoErrorAction checks that an action without an error action needs none, or that the worker was stopped
// when it was about to send it.
func (c *checker) checkNoErrorAction(j *record.JobLog, main *record.ActionLog) {
	d, ok := j.DefinitionOf(main.First().Version, main.First().Arrived)
	last := main.Last()
	if !ok || !d.ErrorAction || len(main.Requests) != 1+d.Retries || last.Answered.IsZero() || last.Success() {
		return
	}
	until := later(c.doneBy(last.Answered), c.doneBy(last.Answered.Add(c.recording())))
	lost := func(e *record.Entry) bool {
		return e.Action == record.ErrorAction && e.Status == "Failed" && c.stoppedSender(e)
	}
	if until.After(c.log.Run.Frozen) || j.Changing(last.Arrived, until) ||
		slices.ContainsFunc(j.Entries[main.Due.Unix()], lost) {
		return
	}
	c.violation(Retries, j.Job, last.Answered, "the error action of %s due %s was never sent", main.ID,
		record.Clock(main.Due))
}
