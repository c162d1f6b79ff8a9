package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

// checkRead checks the answer to GET of a job at the end of the run.
func (c *checker) checkRead(j *record.JobLog) {
	r := j.Read
	// if it was deleted, the next incarnation may have answered
	if r == nil || !r.Final || j.Created() == nil || j.Deleted() != nil {
		return
	}
	uncertain := func(change *record.Change) bool {
		outcome, _ := j.Outcome(change)
		return outcome == record.Unknown && change.Name != ""
	}
	if slices.ContainsFunc(j.Changes, uncertain) {
		return
	}
	if r.Status != 200 {
		c.violation(Reads, j.Job, r.Issued, "GET of a job that exists was answered %d", r.Status)
		return
	}
	definition, enabled := record.Definition{}, true
	for _, change := range j.Changes {
		if change.Definition != nil {
			definition = *change.Definition
		}
		switch change.Kind {
		case record.Disable:
			enabled = false
		case record.Enable:
			enabled = true
		}
	}
	if r.Version != definition.Version {
		c.violation(Updated, j.Job, r.Issued, "GET shows version %d, %d was answered last", r.Version,
			definition.Version)
	}
	allowed := []string{"disabled"}
	if enabled {
		allowed = []string{"enabled", "completed", "faulted"}
	}
	if !slices.Contains(allowed, r.State) {
		c.violation(Reads, j.Job, r.Issued, "GET shows the state %s, one of %v is right", r.State, allowed)
	}
	if r.ListedState != "" && r.ListedState != r.State {
		c.violation(Reads, j.Job, r.Issued, "the list shows the state %s, GET shows %s", r.ListedState, r.State)
	}
	if enabled && definition.Count > 0 {
		c.checkCompleted(j, &definition)
	}
	if enabled && !definition.Once && definition.Count == 0 && r.State != "enabled" {
		c.violation(Reads, j.Job, r.Issued, "the job is %s and has occurrences left", r.State)
	}
}

// checkCreated checks that a job that was not deleted exists for both GET and its collection's list, or neither.
func (c *checker) checkCreated(j *record.JobLog) {
	r := j.Read
	if j.Created() == nil || j.Deleted() != nil || r == nil || !r.Final {
		return
	}
	outcome, _ := j.Created().Outcome()
	// a list has the name alone of a job that does not answer in time
	switch listed := r.ListedState != "" || r.ListedCount >= 0; {
	case r.Status == 200 && !listed:
		c.violation(Reads, j.Job, r.Issued, "GET shows the job, the list lacks it")
	case r.Status == 404 && listed:
		c.violation(Reads, j.Job, r.Issued, "the list has the job, GET was answered 404")
	case r.Status == 404 && len(j.Requests) > 0:
		c.violation(Reads, j.Job, r.Issued, "GET was answered 404, and the job sent %d requests", len(j.Requests))
	case r.Status != 200 && r.Status != 404 && outcome == record.Unknown:
		c.violation(Reads, j.Job, r.Issued, "GET of a job that may exist was answered %d", r.Status)
	}
}

// checkLists checks that lists have every job that certainly exists, once, and none that does not.
func (c *checker) checkLists() {
	byName := map[record.Job][]*record.JobLog{}
	for _, j := range c.jobs {
		if j.Name != "" {
			name := record.Job{Collection: j.Collection, Name: j.Name}
			byName[name] = append(byName[name], j)
		}
	}
	for i := range c.log.Lists {
		l := &c.log.Lists[i]
		listed := map[string]bool{}
		for _, n := range l.Names {
			if j := (record.Job{Collection: l.Collection, Name: n}); listed[n] &&
				!createdBetween(byName[j], l.Issued, l.Answered) {
				c.violation(Reads, j, l.Issued, "the list has the job twice")
			}
			listed[n] = true
		}
		for n, incarnations := range byName {
			if n.Collection != l.Collection {
				continue
			}
			certain, possible := c.existed(incarnations, l.Issued, l.Answered)
			switch {
			case certain && !listed[n.Name]:
				c.violation(Reads, incarnations[0].Job, l.Issued, "the list of %s lacks the job",
					record.Clock(l.Issued))
			case !possible && listed[n.Name]:
				c.violation(Reads, incarnations[0].Job, l.Issued, "the list of %s has the job, which does not exist",
					record.Clock(l.Issued))
			}
		}
	}
}

// createdBetween reports whether an incarnation of a job may have been created at some time from a to b. The
// list shows a new job last, so an earlier page may have the old job of the same name.
func createdBetween(incarnations []*record.JobLog, a, b time.Time) bool {
	return slices.ContainsFunc(incarnations, func(j *record.JobLog) bool {
		created := j.Created()
		if created == nil || created.Issued().After(b) {
			return false
		}
		_, at := j.Outcome(created)
		return !at.Before(a)
	})
}

// existed reports whether one of the incarnations of a job certainly existed all the time from a to b, and
// whether one may have existed at some time then.
func (c *checker) existed(incarnations []*record.JobLog, a, b time.Time) (certain, possible bool) {
	for _, j := range incarnations {
		created := j.Created()
		if created == nil || created.Issued().After(b) || c.neverStarted(j, a) {
			continue
		}
		deleted := j.Deleted()
		if deleted != nil {
			if outcome, at := deleted.Outcome(); outcome == record.Applied && at.Before(a) {
				continue
			}
		}
		possible = true
		outcome, at := j.Outcome(created)
		if outcome == record.Applied && at.Before(a) && (deleted == nil || deleted.Issued().After(b)) {
			certain = true
		}
	}
	return certain, possible
}

// neverStarted reports whether the create of a job got no answer and started no workflow, and its collection
// had removed the name by the time t.
func (c *checker) neverStarted(j *record.JobLog, t time.Time) bool {
	created := j.Created()
	if outcome, _ := created.Outcome(); outcome != record.Unknown || !j.EndsWith(404) {
		return false
	}
	from := created.LastAnswer()
	removed := from.Add(settling)
	for i := range c.log.Faults { // the collection's lookup of the job waits for their ends
		if f := &c.log.Faults[i]; f.Overlaps(from, removed) {
			removed = later(removed, f.End.Add(settling))
		}
	}
	return t.After(removed)
}
