package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"almanac/lab/record"
)

// checkHistory checks a job's history and counters against the log of the receiver.
func (c *checker) checkHistory(j *record.JobLog) {
	if j.Read == nil || j.Read.Status != 200 {
		return
	}
	executions := executionsOf(j.Read)
	c.checkAttemptCounts(j, executions)
	c.checkOutcomes(j, executions)
	c.checkCount(j)
	if j.Read.Final && j.Read.HasStatus {
		c.checkCounters(j, executions)
	}
}

// An execution is an execution in a history.
type execution struct {
	due     time.Time
	repeat  int
	entries map[string][]*record.Entry // by action, the first attempt first
}

// executionsOf returns the executions of a history, oldest first.
func executionsOf(r *record.Read) []*execution {
	type key struct{ due, repeat int64 }
	found := map[key]*execution{}
	for i := range r.Entries {
		e := &r.Entries[i]
		k := key{e.Due.UnixNano(), int64(e.Repeat)}
		if e.Repeat > 0 && found[k] == nil {
			found[k] = &execution{due: e.Due, repeat: e.Repeat, entries: map[string][]*record.Entry{}}
		}
		if e.Repeat > 0 {
			found[k].entries[e.Action] = append(found[k].entries[e.Action], e)
		}
	}
	for _, x := range found {
		for _, entries := range x.entries {
			slices.SortStableFunc(entries, func(a, b *record.Entry) int { return a.Retry - b.Retry })
		}
	}
	return slices.SortedFunc(maps.Values(found),
		func(a, b *execution) int { return cmp.Or(a.due.Compare(b.due), a.repeat-b.repeat) })
}

// checkAttemptCounts checks the number of attempts of each execution in the history.
func (c *checker) checkAttemptCounts(j *record.JobLog, executions []*execution) {
	most := 0
	for _, d := range j.Definitions() {
		most = max(most, 1+d.Retries)
	}
	for _, x := range executions {
		for action, entries := range x.entries {
			numbers := map[int]int{}
			for _, e := range entries {
				numbers[e.Retry]++
			}
			for n, times := range numbers {
				if times > 1 {
					c.violation(Counts, j.Job, x.due, "the history has attempt %d of %s due %s %d times", n+1, action,
						record.Clock(x.due), times)
				}
			}
			if len(entries) > most {
				c.violation(Counts, j.Job, x.due,
					"the history has %d attempts of %s due %s, at most %d are allowed: %s",
					len(entries), action, record.Clock(x.due), most, entries[len(entries)-1].Message)
			}
		}
	}
}

// checkOutcomes checks that history and receiver agree on each action, unless several are due at the same time.
func (c *checker) checkOutcomes(j *record.JobLog, executions []*execution) {
	for _, x := range executions {
		for _, action := range []string{record.MainAction, record.ErrorAction} {
			received, certain := j.ActionDue(x.due, action)
			entries := x.entries[action]
			if !certain || len(entries) == 0 || received != nil && c.readBefore(j, received.Last()) {
				continue // more may have been recorded after the read
			}
			c.checkOutcome(j, x.due, action, received, entries)
		}
	}
	for _, a := range j.Actions {
		if c.readBefore(j, a.Last()) {
			continue // it may have been recorded after the read
		}
		if len(j.Entries[a.Due.Unix()]) == 0 && !j.Read.Issued.Before(a.Last().Arrived) {
			c.violation(Counts, j.Job, a.First().Arrived, "%s of %s due %s arrived at %s and is not in the history",
				a.Action, a.ID, record.Clock(a.Due), record.Clock(a.First().Arrived))
		}
	}
}

// checkOutcome checks the entries of an action against its requests; received is nil if there are none.
func (c *checker) checkOutcome(
	j *record.JobLog, due time.Time, action string, received *record.ActionLog, entries []*record.Entry,
) {
	last := entries[len(entries)-1]
	at := record.Clock(due)
	if received == nil {
		if last.Status == "Completed" {
			c.violation(Counts, j.Job, due, "the history says that %s due %s was completed, and it never arrived",
				action, at)
		}
		return
	}
	succeeded := slices.ContainsFunc(received.Requests, (*record.Request).Success)
	request := received.Last()
	switch {
	case last.Status == "Completed" && !succeeded:
		c.violation(Counts, j.Job, due, "the history says that %s due %s was completed, and the receiver never "+
			"answered 2xx", action, at)
	case last.Status != "Completed" && request.Success():
		if f := c.lostOutcome(j, request, last.End); f != nil {
			c.excused(Counts, j.Job, due, f, "the history says that %s due %s %s, and the receiver answered %d",
				action, at, last.Status, request.Status)
			return
		}
		c.violation(Counts, j.Job, due, "the history says that %s due %s %s (%s), and the receiver answered %d; no "+
			"fault explains it", action, at, last.Status, last.Message, request.Status)
	case len(received.Requests) > len(entries):
		c.violation(Counts, j.Job, due, "%s due %s arrived %d times, and the history has %d attempts", action, at,
			len(received.Requests), len(entries))
	case len(entries) > len(received.Requests) &&
		c.log.LastFault(due.Add(-settling), last.End.Add(settling)) == nil && last.Status != "Cancelled":
		c.violation(Counts, j.Job, due, "the history has %d attempts of %s due %s, %d arrived and no fault "+
			"explains the others", len(entries), action, at, len(received.Requests))
	}
}

// checkCount checks that no more occurrences start than recurrence.count allows.
func (c *checker) checkCount(j *record.JobLog) {
	created := j.Created()
	if created == nil || created.Definition.Count == 0 {
		return
	}
	started := len(counted(j))
	if started > created.Definition.Count {
		c.violation(Counts, j.Job, j.Read.Issued, "%d occurrences were started, recurrence.count is %d", started,
			created.Definition.Count)
	}
}

// counted returns the due times of the executions that certainly count towards recurrence.count, oldest first: what was
// sent, also what a pause held, but no manual run and no backfill.
func counted(j *record.JobLog) (all []time.Time) {
	for _, a := range j.Actions {
		if a.Action == record.MainAction && len(j.ManualRunsDue(a.Due)) == 0 && j.BackfillOf(a.Due) == nil {
			all = append(all, a.Due)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// checkCompleted checks that a job is completed if, and only if, so many of its occurrences were started as
// recurrence.count says. What never arrived, or was cancelled, may count.
func (c *checker) checkCompleted(j *record.JobLog, d *record.Definition) {
	r := j.Read
	certain := len(counted(j))
	possible := map[int64]bool{}
	for _, due := range counted(j) {
		possible[due.Unix()] = true
	}
	for unix, entries := range j.Entries {
		if slices.ContainsFunc(entries, func(e *record.Entry) bool { return e.Repeat > 0 && e.Backfill == "" }) {
			possible[unix] = true
		}
	}
	if most := len(possible) + len(j.ManualRuns); r.State == "completed" && most < d.Count {
		c.violation(Counts, j.Job, r.Issued, "the job is completed after %d occurrences, recurrence.count is %d", most, d.Count)
	}
	if r.State == "enabled" && certain >= d.Count && !c.cutShort(j) {
		c.violation(Counts, j.Job, r.Issued, "the job is enabled after %d occurrences, recurrence.count is %d", certain, d.Count)
	}
}

// cutShort reports whether a change may have ended the last execution: the job is completed when it runs again.
func (c *checker) cutShort(j *record.JobLog) bool {
	last := j.Actions[0]
	for _, a := range j.Actions {
		if a.First().Arrived.After(last.First().Arrived) {
			last = a
		}
	}
	return j.Changing(last.First().Arrived, c.doneBy(last.Last().End()))
}

// checkCounters checks the counters of a job whose executions have ended. Attempts that were cancelled or
// abandoned may or may not be counted.
func (c *checker) checkCounters(j *record.JobLog, executions []*execution) {
	least, most, failedLeast, failedMost := 0, 0, 0, 0
	for _, x := range executions {
		entries := x.entries[record.MainAction]
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
	r := j.Read
	if n := r.ExecutionCount; n < least || n > most {
		c.violation(Counts, j.Job, r.Issued, "executionCount is %d, the history has %s executions", n,
			between(least, most))
	}
	if n := r.FailureCount; n < failedLeast || n > failedMost {
		c.violation(Counts, j.Job, r.Issued, "failureCount is %d, the history has %s failed executions", n,
			between(failedLeast, failedMost))
	}
	if r.FaultedCount > r.FailureCount {
		c.violation(Counts, j.Job, r.Issued, "faultedCount is %d, failureCount %d", r.FaultedCount, r.FailureCount)
	}
	if n := r.ListedCount; n >= 0 && n != r.ExecutionCount && r.ListedState != "" {
		c.violation(Reads, j.Job, r.Issued, "the list says executionCount %d, GET says %d", n, r.ExecutionCount)
	}
}

func between(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
