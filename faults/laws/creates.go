package laws

import "time"

// outcome returns what is known about a change of the life, and since when. A
// create without an answer counts as applied if the job exists in the end: its
// workflow was started within settling.
func (j *life) outcome(c *Change) (Outcome, time.Time) {
	outcome, at := c.Outcome()
	if outcome == Unknown && c.Kind == Create && j.endsWith(200) {
		return Applied, lastAnswer(c).Add(settling)
	}
	return outcome, at
}

// endsWith reports whether GET of the job was answered with a status in the end.
func (j *life) endsWith(status int) bool {
	return j.read != nil && j.read.Final && j.read.Status == status
}

func lastAnswer(c *Change) time.Time { return c.Tries[len(c.Tries)-1].Answered }

// neverStarted reports whether a create without an answer started no workflow,
// and whether its collection has forgotten the name by an instant.
func (c *checker) neverStarted(j *life, created *Change, by time.Time) bool {
	if outcome, _ := created.Outcome(); outcome != Unknown || !j.endsWith(404) {
		return false
	}
	from := lastAnswer(created)
	forgotten := from.Add(settling)
	for i := range c.log.Faults { // the lookup of the name waits for their ends
		if f := &c.log.Faults[i]; f.overlaps(from, forgotten) {
			forgotten = maxTime(forgotten, f.End.Add(settling))
		}
	}
	return by.After(forgotten)
}

// checkCreated checks that a job that was not deleted exists for GET and for the
// list of its collection, or for neither.
func (c *checker) checkCreated(j *life) {
	if j.created() == nil || j.deleted() != nil || j.read == nil || !j.read.Final {
		return
	}
	r := j.read
	outcome, _ := j.created().Outcome()
	switch listed := r.ListedState != ""; {
	case r.Status == 200 && !listed:
		c.violation(Reads, j.Job, r.Issued, "GET shows the job, the list lacks it")
	case r.Status == 404 && listed:
		c.violation(Reads, j.Job, r.Issued, "the list has the job, GET was answered 404")
	case r.Status == 404 && len(j.requests) > 0:
		c.violation(Reads, j.Job, r.Issued, "GET was answered 404, and the job sent %d requests", len(j.requests))
	case r.Status != 200 && r.Status != 404 && outcome == Unknown:
		c.violation(Reads, j.Job, r.Issued, "GET of a job that may exist was answered %d", r.Status)
	}
}
