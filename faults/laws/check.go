package laws

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The laws that are checked. docs/faults.md lists them by these numbers; those
// without a number are this command's own.
const (
	NoLoss     = "1 no loss"
	OneID      = "2 one decision"
	Duplicates = "3 duplicates"
	Early      = "4 never early"
	Retry      = "5 retries"
	Counts     = "6 counts"
	Disabled   = "7 disable"
	Updated    = "8 update"
	Deleted    = "9 delete"
	Reads      = "10 reads"
	Replays    = "13 determinism"
	CatchUps   = "catch-up"
	CutOff     = "cut off"
	Unanswered = "unanswered"
)

// All are all laws, in the order of the report.
var All = []string{NoLoss, OneID, Duplicates, Early, Retry, Counts, Disabled, Updated, Deleted, Reads, Replays, CatchUps, CutOff, Unanswered}

// A Violation is one of a law.
type Violation struct {
	Law  string
	Job  Job
	At   time.Time
	Text string
	By   string // what excuses it: a kind of fault and of its target, or the tolerance
}

// A Verdict is what came of checking a log.
type Verdict struct {
	Violations []Violation // by law and time
	Excused    []Violation // what a fault, or a request in flight, explains
	Figures    Figures
}

// A checker checks a log.
type checker struct {
	log     *Log
	lives   []*life
	verdict Verdict
}

// Check checks a log against all laws.
func Check(l *Log) *Verdict {
	c := &checker{log: l, lives: lives(l)}
	for _, j := range c.lives {
		c.checkOccurrences(j)
		c.checkDemanded(j)
		c.checkDropped(j)
		c.checkNeverArrived(j)
		c.checkCatchUp(j)
		c.checkIDs(j)
		c.checkEarly(j)
		c.checkSends(j)
		c.checkErrorActions(j)
		c.checkCut(j)
		c.checkChanges(j)
		c.checkHistory(j)
		c.checkRead(j)
		c.checkCreated(j)
	}
	c.checkSharedIDs()
	c.checkLists()
	c.checkAnswers()
	for _, r := range l.Replays {
		c.violation(Replays, Job{Name: r.WorkflowID}, time.Time{}, "run %s does not replay: %s", r.RunID, r.Error)
	}
	downtimes := c.verdict.Figures.Downtimes
	c.verdict.Figures = figures(l, c.lives)
	c.verdict.Figures.Downtimes = downtimes
	order := func(a, b Violation) int {
		return cmp.Or(cmp.Compare(slices.Index(All, a.Law), slices.Index(All, b.Law)), a.At.Compare(b.At))
	}
	slices.SortStableFunc(c.verdict.Violations, order)
	slices.SortStableFunc(c.verdict.Excused, order)
	return &c.verdict
}

func (c *checker) violation(law string, j Job, at time.Time, format string, args ...any) {
	c.verdict.Violations = append(c.verdict.Violations, Violation{law, j, at, fmt.Sprintf(format, args...), ""})
}

// excused notes what a fault explains, or where that is nil, the tolerance.
func (c *checker) excused(law string, j Job, at time.Time, f *Fault, format string, args ...any) {
	by := "tolerance"
	if f != nil {
		by = f.Kind + " of " + generic(f.Target)
		format += ": %s"
		args = append(args, f)
	}
	c.verdict.Excused = append(c.verdict.Excused, Violation{law, j, at, fmt.Sprintf(format, args...), by})
}

// fault returns the last fault that was in force at some time from a to b.
func (c *checker) fault(a, b time.Time) *Fault {
	for i := range slices.Backward(c.log.Faults) {
		if f := &c.log.Faults[i]; f.overlaps(a, b) {
			return f
		}
	}
	return nil
}

const (
	// recording is how long after its answer the outcome of an attempt may not be
	// with the server yet. A fault in that time may lose it.
	recording = 10 * time.Second

	// fencesBefore is how long before its due time an attempt may count as sent, at
	// most, although it is not yet: if its worker is lost then, nothing may arrive.
	fencesBefore = 7 * time.Second

	// settling is how long after a fault its consequences may show: a lost worker
	// is detected, tasks are handed to another one.
	settling = 90 * time.Second

	// lateness is how late an occurrence may be sent in calm times before the
	// checker says that it was lost where no history can say so.
	lateness = 20 * time.Second
)

// checkIDs checks that an occurrence has one execution id.
func (c *checker) checkIDs(j *life) {
	ids := map[int64][]string{}
	dues := map[string]int64{}
	for _, r := range j.requests {
		unix := r.Due.Unix()
		if !slices.Contains(ids[unix], r.ID) {
			ids[unix] = append(ids[unix], r.ID)
		}
		if other, ok := dues[r.ID]; ok && other != unix {
			c.violation(OneID, j.Job, r.Arrived, "the execution %s is due %s and %s", r.ID, clock(time.Unix(other, 0)), clock(r.Due))
		}
		dues[r.ID] = unix
	}
	for unix, found := range ids {
		due := time.Unix(unix, 0)
		most := len(j.demandedBy(due))
		if j.occurrence(due) {
			most++
		}
		if len(found) > most {
			c.violation(OneID, j.Job, due, "%d executions are due %s, at most %d may be: %v", len(found), clock(due), most, found)
		}
	}
}

// checkSharedIDs checks that no two jobs share an execution id.
func (c *checker) checkSharedIDs() {
	owner := map[string]Job{}
	for _, j := range c.lives {
		for _, s := range j.sends {
			if other, ok := owner[s.id]; ok && other != j.Job {
				c.violation(OneID, j.Job, s.first().Arrived, "the execution %s belongs to %s, too", s.id, other)
			}
			owner[s.id] = j.Job
		}
	}
}

// checkEarly checks that nothing arrives before it is due.
func (c *checker) checkEarly(j *life) {
	for _, r := range j.requests {
		if r.Arrived.Before(r.Due) {
			c.violation(Early, j.Job, r.Arrived, "%s of %s due %s arrived %s early", r.Action, r.ID, clock(r.Due), r.Due.Sub(r.Arrived))
		}
	}
}

// checkCut checks that a request is not cut off while nothing is wrong.
func (c *checker) checkCut(j *life) {
	for _, r := range j.requests {
		if r.Cut.IsZero() || r.Cut.Sub(r.Arrived) > attemptTime {
			continue
		}
		if f := c.fault(r.Arrived, r.Cut.Add(time.Second)); f != nil {
			c.excused(CutOff, j.Job, r.Arrived, f, "%s of %s was cut off after %s", r.Action, r.ID, r.Cut.Sub(r.Arrived).Round(time.Millisecond))
			continue
		}
		c.violation(CutOff, j.Job, r.Arrived, "%s of %s due %s, which arrived %s, was cut off after %s although no process stopped",
			r.Action, r.ID, clock(r.Due), clock(r.Arrived), r.Cut.Sub(r.Arrived).Round(time.Millisecond))
	}
}

// attemptTime is how long a receiver may take: a minute, less some time for
// clocks and queues.
const attemptTime = 58 * time.Second
