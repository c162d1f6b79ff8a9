package checker

import (
	"slices"
	"strings"
	"time"

	"almanac/lab/record"
)

// checkOccurrences checks that each certain occurrence reached the receiver, or that the history says why not.
func (c *checker) checkOccurrences(j *record.JobLog) {
	started := startedOccurrences(j)
	for _, s := range j.Spans() {
		if !s.Active {
			continue
		}
		for _, due := range s.Definition.Due(s.From, s.To) {
			if before, _ := slices.BinarySearchFunc(started, due, time.Time.Compare); s.Definition.Count > 0 &&
				before >= s.Definition.Count {
				break
			}
			if j.Arrival(due) != nil || len(j.Entries[due.Unix()]) > 0 || c.unreadable(j, due) {
				continue
			}
			c.violation(NoLoss, j.Job, due, "the occurrence due %s was never sent, and the history does not "+
				"mention it (version %d)", record.Clock(due), s.Definition.Version)
		}
	}
}

// unreadable reports whether an occurrence that is not recorded may have been decided after the last read of
// the history, since the job was deleted soon after it was due.
func (c *checker) unreadable(j *record.JobLog, due time.Time) bool {
	deleted := j.Deleted()
	if deleted == nil {
		return j.Read == nil || j.Read.Status != 200 // checkRead reports it
	}
	if j.Overlapped(due, due, deleted.Issued()) {
		return true // it waited for an earlier execution
	}
	if j.Read == nil || j.Read.Status != 200 {
		// it may have been dropped, and the history was not read in time
		dropped := c.log.LastFault(due.Add(-settling), due.Add(lateness)) != nil || c.overloaded(due, due.Add(lateness))
		return dropped || c.doneBy(due).After(deleted.Issued())
	}
	return c.doneBy(due).After(j.Read.Issued)
}

// startedOccurrences returns the due times of the executions that were sent, or that the history has as sent,
// oldest first, without manual runs.
func startedOccurrences(j *record.JobLog) []time.Time {
	var all []time.Time
	add := func(due time.Time) {
		if len(j.ManualRunsDue(due)) == 0 || j.IsOccurrence(due) {
			all = append(all, due)
		}
	}
	for _, a := range j.Actions {
		if a.Action == record.MainAction {
			add(a.Due)
		}
	}
	for unix, entries := range j.Entries {
		if slices.ContainsFunc(entries,
			func(e *record.Entry) bool { return e.Repeat > 0 && (e.Status == "Completed" || e.Status == "Failed") }) {
			add(time.Unix(unix, 0).UTC())
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// checkDropped checks that every occurrence that the history has as missed or skipped was so for a reason.
func (c *checker) checkDropped(j *record.JobLog) {
	for unix, entries := range j.Entries {
		due := time.Unix(unix, 0)
		for _, e := range entries {
			if e.Status != "Missed" && e.Status != "Skipped" || e.Action != record.MainAction {
				continue
			}
			if j.Arrival(due) != nil && len(j.ManualRunsDue(due)) == 0 && e.Repeat == 0 {
				c.violation(NoLoss, j.Job, due,
					"the occurrence due %s was sent, and the history says that it was not: %s", record.Clock(due),
					e.Message)
				continue
			}
			policy := overlapPolicy(j, due)
			if policy != "" && e.Status == "Skipped" && policy != "skip" {
				c.violation(NoLoss, j.Job, due, "the occurrence due %s is Skipped, the overlap policy is %s",
					record.Clock(due), policy)
				continue
			}
			if strings.Contains(e.Message, anotherWaited) && !crowdedOut(j, e) {
				c.violation(NoLoss, j.Job, due, "the occurrence due %s was dropped, and no other one waited: %s, %s",
					record.Clock(due), e.Status, e.Message)
				continue
			}
			decided := later(e.Start, due)
			if policy != "allowAll" && c.wasBusy(j, due, decided) || c.log.LastFault(due.Add(-settling), decided) != nil ||
				j.Changing(due.Add(-5*time.Second), decided.Add(5*time.Second)) {
				continue
			}
			if c.overloaded(due, decided) && e.Status == "Missed" {
				c.excused(NoLoss, j.Job, due, nil,
					"the occurrence due %s was left out while others were sent very late: %s", record.Clock(due),
					e.Message)
				continue
			}
			c.violation(NoLoss, j.Job, due, "the occurrence due %s was dropped without need: %s, %s",
				record.Clock(due), e.Status, e.Message)
		}
	}
}

// wasBusy reports whether an execution of an earlier occurrence may have kept one from running that was decided at a
// time: it had not ended when that was due, or its outcome was not recorded yet since the server was late.
func (c *checker) wasBusy(j *record.JobLog, due, decided time.Time) bool {
	return j.Overlapped(due, due.Add(-c.lag(due)), decided)
}

// overlapPolicy returns the overlap policy at a time, "" if it is not certain.
func overlapPolicy(j *record.JobLog, t time.Time) string {
	for _, s := range j.Spans() {
		if !t.Before(s.From) && t.Before(s.To) {
			return s.Definition.Overlap
		}
	}
	return ""
}

// checkNeverArrived checks that an attempt that never arrived, and that the history has as failed since its
// worker stopped, was about to be sent when the worker stopped. A worker that only held the occurrence has
// sent nothing: another one must send it.
func (c *checker) checkNeverArrived(j *record.JobLog) {
	for unix, entries := range j.Entries {
		due := time.Unix(unix, 0).UTC()
		for _, action := range []string{record.MainAction, record.ErrorAction} {
			if found, certain := j.ActionDue(due, action); found != nil || !certain {
				continue
			}
			for _, e := range entries {
				if e.Action != action || e.Repeat == 0 || e.Status != "Failed" || c.stoppedSender(e) {
					continue
				}
				if c.overloaded(e.Start, e.End) {
					c.excused(NoLoss, j.Job, due, nil, "%s due %s never arrived, and the history counts it as an attempt "+
						"(%d), while others were sent very late: %s", action, record.Clock(due), e.Retry+1, e.Message)
					continue
				}
				c.violation(NoLoss, j.Job, due,
					"%s due %s never arrived, and the history counts it as an attempt (%d) although no fault "+
						"stopped its sender then: %s",
					action, record.Clock(due), e.Retry+1, e.Message)
			}
		}
	}
}

// lease is the maximum time between the record that an attempt may have been sent and its sending.
const lease = 5 * time.Second

// stoppedSender reports whether a fault began or stopped the sender while an attempt that never arrived may
// have been about to be sent.
func (c *checker) stoppedSender(e *record.Entry) bool {
	from := e.Start.Add(-max(lease, c.fenceAhead()-fenceAhead))
	return slices.ContainsFunc(c.log.Faults, func(f record.Fault) bool {
		if f.Restarts() {
			return !f.Start.Before(from) && !f.Start.After(e.End)
		}
		return f.Overlaps(from, e.End)
	})
}

// checkManualRuns checks that every manual run that was answered with success has an execution of its own,
// which reached the receiver or is in the history.
func (c *checker) checkManualRuns(j *record.JobLog) {
	type window struct {
		from, to int64 // the Unix seconds in which the execution may be due
		at       time.Time
	}
	var runs []window
	for _, r := range j.ManualRuns {
		outcome, at := r.Outcome()
		if outcome != record.Applied || j.Changing(r.Issued(), at.Add(settling)) ||
			at.Add(settling).After(c.log.Run.Frozen) {
			continue
		}
		runs = append(runs, window{r.Issued().Unix(), at.Unix() + 1, at})
	}
	if len(runs) == 0 {
		return
	}
	left := manualExecutions(j)
	// The run whose window ends first takes the earliest execution: that satisfies all runs, if anything does.
	slices.SortStableFunc(runs, func(a, b window) int { return int(a.to - b.to) })
	for _, r := range runs {
		second := r.from
		for second <= r.to && left[second] == 0 {
			second++
		}
		if second > r.to {
			c.violation(NoLoss, j.Job, r.at,
				"the manual run that was answered at %s was never sent, and the history does not mention it",
				record.Clock(r.at))
			continue
		}
		left[second]--
	}
}

// manualExecutions returns how many executions of manual runs are due in each Unix second: as many as the
// receiver or the history has, whichever are more.
func manualExecutions(j *record.JobLog) map[int64]int {
	received := map[int64]int{}
	for _, a := range j.Actions {
		if a.Action == record.MainAction {
			received[a.Due.Unix()]++
		}
	}
	counts := map[int64]int{}
	for unix, n := range received {
		if j.IsOccurrence(time.Unix(unix, 0).UTC()) {
			n-- // one of them is the occurrence
		}
		counts[unix] = n
	}
	type execution struct {
		due    int64
		repeat int
	}
	for unix, entries := range j.Entries {
		found := map[execution]bool{}
		for _, e := range entries {
			if e.Action == record.MainAction && (e.Due.Nanosecond() != 0 || !j.IsOccurrence(e.Due)) {
				found[execution{e.Due.UnixNano(), e.Repeat}] = true
			}
		}
		counts[unix] = max(counts[unix], len(found))
	}
	return counts
}
