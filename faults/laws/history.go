package laws

import (
	"slices"
	"time"
)

// checkHistory holds a job's history and counters against what the receiver got.
func (c *checker) checkHistory(j *life) {
	if j.read == nil || j.read.Status != 200 {
		return
	}
	c.checkAttempts(j)
	c.checkOutcomes(j)
	c.checkCount(j)
	if j.read.Final && j.read.HasStatus {
		c.checkCounters(j)
	}
}

// A run is one execution in a history.
type run struct {
	due     time.Time
	repeat  int
	entries map[string][]*Entry // by action, the first attempt first
}

// runs returns the executions of a history, oldest first.
func (r *Read) runs() []*run {
	type key struct{ due, repeat int64 }
	found := map[key]*run{}
	var all []*run
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Repeat == 0 {
			continue
		}
		k := key{e.Due.UnixNano(), int64(e.Repeat)}
		if found[k] == nil {
			found[k] = &run{due: e.Due, repeat: e.Repeat, entries: map[string][]*Entry{}}
			all = append(all, found[k])
		}
		found[k].entries[e.Action] = append(found[k].entries[e.Action], e)
	}
	for _, r := range all {
		for _, entries := range r.entries {
			slices.SortStableFunc(entries, func(a, b *Entry) int { return a.Retry - b.Retry })
		}
	}
	slices.SortStableFunc(all, func(a, b *run) int { return a.due.Compare(b.due) })
	return all
}

// checkAttempts checks the number of attempts of each execution.
func (c *checker) checkAttempts(j *life) {
	most := 0
	for _, d := range j.definitions() {
		most = max(most, 1+d.Retries)
	}
	for _, r := range j.read.runs() {
		for action, entries := range r.entries {
			numbers := map[int]int{}
			for _, e := range entries {
				numbers[e.Retry]++
			}
			for n, times := range numbers {
				if times > 1 {
					c.violation(Counts, j.Job, r.due, "the history has attempt %d of %s due %s %d times", n+1, action, clock(r.due), times)
				}
			}
			if len(entries) > most {
				c.violation(Counts, j.Job, r.due, "the history has %d attempts of %s due %s, at most %d are allowed: %s", len(entries), action, clock(r.due), most, entries[len(entries)-1].Message)
			}
		}
	}
}

// checkOutcomes checks that the history and the receiver agree on each execution
// that only one of the two may be.
func (c *checker) checkOutcomes(j *life) {
	for _, r := range j.read.runs() {
		for _, action := range []string{Main, Error} {
			sent, sure := j.sendsDue(r.due, action)
			entries := r.entries[action]
			if !sure || len(entries) == 0 || !j.read.Final && sent != nil && sent.last().End().Add(settling).After(j.read.Issued) {
				continue // there may have been more since
			}
			c.checkOutcome(j, r.due, action, sent, entries)
		}
	}
	for _, s := range j.sends {
		if s.last().Arrived.After(j.read.Issued.Add(-time.Minute)) && !j.read.Final {
			continue // the history may not have it yet
		}
		if len(j.entries[s.due.Unix()]) == 0 && !j.read.Issued.Before(s.last().Arrived) {
			c.violation(Counts, j.Job, s.first().Arrived, "%s of %s due %s arrived at %s and is not in the history", s.action, s.id, clock(s.due), clock(s.first().Arrived))
		}
	}
}

// sendsDue returns what the receiver got of the execution that is due at an
// instant, unless there were several.
func (j *life) sendsDue(due time.Time, action string) (found *sends, sure bool) {
	for _, s := range j.sends {
		if s.action != action || s.due.Unix() != due.Unix() {
			continue
		}
		if found != nil {
			return nil, false
		}
		found = s
	}
	return found, true
}

func (c *checker) checkOutcome(j *life, due time.Time, action string, sent *sends, entries []*Entry) {
	last := entries[len(entries)-1]
	if sent == nil {
		if last.Status == "Completed" {
			c.violation(Counts, j.Job, due, "the history says that %s due %s was completed, and it never arrived", action, clock(due))
		}
		return
	}
	succeeded := slices.ContainsFunc(sent.requests, (*Request).Success)
	switch {
	case last.Status == "Completed" && !succeeded:
		c.violation(Counts, j.Job, due, "the history says that %s due %s was completed, and the receiver never answered 2xx", action, clock(due))
	case last.Status != "Completed" && sent.last().Success():
		if f := c.fault(sent.last().Arrived.Add(-clockSlack), sent.last().Answered.Add(recording)); f != nil {
			c.excused(Counts, j.Job, due, f, "the history says that %s due %s %s, and the receiver answered %d", action, clock(due), last.Status, sent.last().Status)
			return
		}
		c.violation(Counts, j.Job, due, "the history says that %s due %s %s (%s), and the receiver answered %d; no fault explains it", action, clock(due), last.Status, last.Message, sent.last().Status)
	case len(sent.requests) > len(entries):
		c.violation(Counts, j.Job, due, "%s due %s arrived %d times, and the history has %d attempts", action, clock(due), len(sent.requests), len(entries))
	case len(entries) > len(sent.requests) && c.fault(due.Add(-settling), last.End.Add(settling)) == nil && last.Status != "Cancelled":
		c.violation(Counts, j.Job, due, "the history has %d attempts of %s due %s, %d arrived and no fault explains the others", len(entries), action, clock(due), len(sent.requests))
	}
}

// checkCount checks that no more occurrences start than the job's limit says.
func (c *checker) checkCount(j *life) {
	created := j.created()
	if created == nil || created.Definition.Count == 0 {
		return
	}
	started := 0
	for _, s := range j.sends {
		if s.action == Main && len(j.demandedBy(s.due)) == 0 {
			started++
		}
	}
	if started > created.Definition.Count {
		c.violation(Counts, j.Job, j.read.Issued, "%d occurrences were started, recurrence.count is %d", started, created.Definition.Count)
	}
}

// checkCounters checks the counters of a job that does nothing any more.
func (c *checker) checkCounters(j *life) {
	least, most, failedLeast, failedMost := 0, 0, 0, 0
	for _, r := range j.read.runs() {
		entries := r.entries[Main]
		if len(entries) == 0 {
			continue
		}
		most++
		last := entries[len(entries)-1].Status
		if last == "Completed" {
			least++
			continue
		}
		failedMost++
		if last == "Failed" {
			least++
			failedLeast++
		}
	}
	if n := j.read.ExecutionCount; n < least || n > most {
		c.violation(Counts, j.Job, j.read.Issued, "executionCount is %d, the history has %s executions", n, between(least, most))
	}
	if n := j.read.FailureCount; n < failedLeast || n > failedMost {
		c.violation(Counts, j.Job, j.read.Issued, "failureCount is %d, the history has %s failed executions", n, between(failedLeast, failedMost))
	}
	if j.read.FaultedCount > j.read.FailureCount {
		c.violation(Counts, j.Job, j.read.Issued, "faultedCount is %d, failureCount %d", j.read.FaultedCount, j.read.FailureCount)
	}
	if n := j.read.ListedCount; n >= 0 && n != j.read.ExecutionCount {
		c.violation(Reads, j.Job, j.read.Issued, "the list says executionCount %d, GET says %d", n, j.read.ExecutionCount)
	}
}
