package checker

import (
	"strings"
	"time"

	"almanac/lab/record"
)

// A life is that of an incarnation of a job in a collection with a quota.
type life struct {
	job            record.Job
	asked, created time.Time // it began to exist between these; created is zero if that is not certain
	ending, ended  time.Time // it ceased between these; zero: it did not, or that is not certain
}

// checkQuotas checks that a collection never has more jobs than its quota, and refuses none that it may have.
func (c *checker) checkQuotas() {
	most := c.log.Run.Quota
	if most == 0 {
		return
	}
	lives := c.lives()
	for _, l := range lives {
		if l.created.IsZero() {
			continue
		}
		n := 0
		for _, other := range lives {
			if !other.created.IsZero() && !other.created.After(l.created) &&
				(other.ending.IsZero() || other.ending.After(l.created)) {
				n++
			}
		}
		if n > most {
			c.violation(Quotas, l.job, l.created, "its collection has %d jobs at %s, the quota is %d", n,
				record.Clock(l.created), most)
		}
	}
	for i := range c.log.Changes {
		if change := &c.log.Changes[i]; change.Collection == record.QuotaCollection && change.Kind == record.Create {
			c.checkRefusal(change, lives)
		}
	}
	for i := range c.log.Lists {
		l := &c.log.Lists[i]
		if n := len(l.Names); l.Collection == record.QuotaCollection && n > most+ceased(lives, l.Issued, l.Answered) {
			c.violation(Quotas, record.Job{Collection: l.Collection}, l.Issued, "a list has %d jobs, the quota is %d", n, most)
		}
	}
}

// ceased returns how many jobs may have ceased to exist from a to b.
func ceased(lives []life, a, b time.Time) (n int) {
	for _, l := range lives {
		if !l.ending.IsZero() && !l.ending.After(b) && (l.ended.IsZero() || !l.ended.Before(a)) {
			n++
		}
	}
	return n
}

// lives returns the incarnations of jobs in the collection with a quota that may have existed.
func (c *checker) lives() (all []life) {
	for _, j := range c.jobs {
		created := j.Created()
		if j.Collection != record.QuotaCollection || created == nil {
			continue
		}
		l := life{job: j.Job, asked: created.Issued()}
		if outcome, at := created.Outcome(); outcome == record.Applied {
			l.created = at
		}
		if deleted := j.Deleted(); deleted != nil {
			l.ending = deleted.Issued()
			if outcome, at := deleted.Outcome(); outcome == record.Applied {
				l.ended = at
			}
		}
		all = append(all, l)
	}
	return all
}

// checkRefusal checks that a create that the quota refused met as many jobs as that allows. A deleted job may count
// until its collection was told, which takes longer after a fault and while the server is late.
func (c *checker) checkRefusal(change *record.Change, lives []life) {
	outcome, answered := change.Outcome()
	last := change.Tries[len(change.Tries)-1]
	if outcome != record.Refused || !strings.Contains(last.Error, "maxJobCount") {
		return
	}
	n := 0
	for _, l := range lives {
		if l.job != change.Job && !l.asked.After(answered) &&
			(l.ended.IsZero() || !c.settled(l.ended, time.Second).Before(change.Issued())) {
			n++
		}
	}
	if n < c.log.Run.Quota {
		c.violation(Quotas, change.Job, change.Issued(),
			"it was refused, and its collection had at most %d jobs, the quota is %d", n, c.log.Run.Quota)
	}
}
