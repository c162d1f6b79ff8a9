package laws

import (
	"fmt"
	"slices"
	"time"
)

func between(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// checkRead checks what GET says of a job in the end.
func (c *checker) checkRead(j *life) {
	if j.read == nil || !j.read.Final {
		return
	}
	created := j.created()
	if created == nil {
		return
	}
	for _, change := range j.changes {
		if outcome, _ := j.outcome(change); outcome == Unknown && change.Name != "" {
			return
		}
	}
	if j.deleted() != nil {
		return // the next life answers
	}
	r := j.read
	if r.Status != 200 {
		c.violation(Reads, j.Job, r.Issued, "GET of a job that exists was answered %d", r.Status)
		return
	}
	definition, enabled := Definition{}, true
	for _, change := range j.changes {
		if change.Definition != nil {
			definition = *change.Definition
		}
		switch change.Kind {
		case Disable:
			enabled = false
		case Enable:
			enabled = true
		}
	}
	if r.Version != definition.Version {
		c.violation(Updated, j.Job, r.Issued, "GET shows version %d, %d was answered last", r.Version, definition.Version)
	}
	want := []string{"disabled"}
	if enabled {
		want = []string{"enabled", "completed", "faulted"}
	}
	if !slices.Contains(want, r.State) {
		c.violation(Reads, j.Job, r.Issued, "GET shows the state %s, one of %v is right", r.State, want)
	}
	if r.ListedState != "" && r.ListedState != r.State {
		c.violation(Reads, j.Job, r.Issued, "the list shows the state %s, GET shows %s", r.ListedState, r.State)
	}
	if enabled && !definition.Once && definition.Count == 0 && r.State != "enabled" {
		c.violation(Reads, j.Job, r.Issued, "the job is %s and has occurrences left", r.State)
	}
}

// checkLists checks that lists hold every job that exists for certain, and none
// that does not.
func (c *checker) checkLists() {
	type name struct{ collection, job string }
	byName := map[name][]*life{}
	for _, j := range c.lives {
		if j.Name != "" {
			byName[name{j.Collection, j.Name}] = append(byName[name{j.Collection, j.Name}], j)
		}
	}
	for i := range c.log.Lists {
		l := &c.log.Lists[i]
		listed := map[string]bool{}
		for _, n := range l.Names {
			if listed[n] && !createdBetween(byName[name{l.Collection, n}], l.Issued, l.Answered) {
				c.violation(Reads, Job{Collection: l.Collection, Name: n}, l.Issued, "the list has the job twice")
			}
			listed[n] = true
		}
		for n, lives := range byName {
			if n.collection != l.Collection {
				continue
			}
			sure, possible := c.existed(lives, l.Issued, l.Answered)
			switch {
			case sure && !listed[n.job]:
				c.violation(Reads, lives[0].Job, l.Issued, "the list of %s lacks the job", clock(l.Issued))
			case !possible && listed[n.job]:
				c.violation(Reads, lives[0].Job, l.Issued, "the list of %s has the job, which does not exist", clock(l.Issued))
			}
		}
	}
}

// createdBetween reports whether a life of a job may have begun at some time from a
// to b: the list shows a new job last, and the old one of its name may be on a page
// before.
func createdBetween(lives []*life, a, b time.Time) bool {
	return slices.ContainsFunc(lives, func(j *life) bool {
		created := j.created()
		if created == nil || created.Issued().After(b) {
			return false
		}
		_, at := j.outcome(created)
		return !at.Before(a)
	})
}

// existed reports whether a job of a name existed for certain all the time from a
// to b, and whether it may have at some time.
func (c *checker) existed(lives []*life, a, b time.Time) (sure, possible bool) {
	for _, j := range lives {
		created := j.created()
		if created == nil || created.Issued().After(b) {
			continue
		}
		outcome, at := j.outcome(created)
		if c.neverStarted(j, created, a) {
			continue
		}
		deleted := j.deleted()
		if deleted != nil {
			if gone, when := deleted.Outcome(); gone == Applied && when.Before(a) {
				continue
			}
		}
		possible = true
		if outcome == Applied && at.Before(a) && (deleted == nil || deleted.Issued().After(b)) {
			sure = true
		}
	}
	return sure, possible
}
