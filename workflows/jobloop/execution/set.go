package execution

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows/jobloop/state"
)

// MaxOverlapping is the maximum number of a job's occurrences that have not ended, those that wait for an attempt
// included. It bounds what a run hands over and the server's record of the workflow: the server ends a workflow whose
// record exceeds 8 MB, and the attempts of one activity can take 25 kB.
const MaxOverlapping = 100

// A Set is the executions of a job that have not ended, oldest first. Key and PutBack are required.
type Set struct {
	Key      job.Key                            // of the job
	PutBack  func(workflow.Context, *Execution) // removes an execution of which nothing was sent, and undoes its start
	Failures bool                               // an attempt failed in this run of the workflow

	all []*Execution
}

// Add adds an execution.
func (s *Set) Add(e *Execution) { s.all = append(s.all, e) }

// Remove removes an execution, and reports whether it was in the set.
func (s *Set) Remove(e *Execution) bool {
	n := len(s.all)
	s.all = slices.DeleteFunc(s.all, func(other *Execution) bool { return other == e })
	return len(s.all) < n
}

// Len returns the number of executions.
func (s *Set) Len() int { return len(s.all) }

func (s *Set) count(which func(*Execution) bool) (n int) {
	for _, e := range s.all {
		if which(e) {
			n++
		}
	}
	return n
}

func (s *Set) any(which func(*Execution) bool) bool { return slices.ContainsFunc(s.all, which) }

// Occurrences returns the number of executions that are no manual runs.
func (s *Set) Occurrences() int { return len(s.all) - s.ManualRuns() }

// ManualRuns returns the number of manual runs.
func (s *Set) ManualRuns() int { return s.count(func(e *Execution) bool { return e.Manual }) }

// OfBackfill returns the number of executions of a backfill.
func (s *Set) OfBackfill(name string) int {
	return s.count(func(e *Execution) bool { return e.Backfill == name })
}

// Recovered returns the number of occurrences that were held while the job was disabled.
func (s *Set) Recovered() int { return s.count(func(e *Execution) bool { return e.Recovered }) }

// Recovering reports whether such an occurrence has not ended; with [job.OverlapAllowAll], whether an attempt of one is
// being made.
func (s *Set) Recovering(overlap job.OverlapPolicy) bool {
	return s.any(func(e *Execution) bool {
		return e.Recovered && (overlap != job.OverlapAllowAll || !e.BetweenAttempts)
	})
}

// Crowded reports whether as many occurrences as allowed have not ended.
func (s *Set) Crowded() bool { return s.Occurrences() >= MaxOverlapping }

// Trying returns the number of executions whose attempt is being made, or held.
func (s *Set) Trying() int { return s.count(func(e *Execution) bool { return !e.BetweenAttempts }) }

// Busy returns [plan.Situation.Busy] for an overlap policy.
func (s *Set) Busy(overlap job.OverlapPolicy) bool {
	return s.any(func(e *Execution) bool {
		return !e.Manual && (overlap != job.OverlapAllowAll || !e.BetweenAttempts)
	})
}

// Unknown reports whether a dispatched occurrence may or may not have been sent.
func (s *Set) Unknown() bool {
	return s.any(func(e *Execution) bool { return !e.Manual && e.Phase == Dispatched })
}

// Held returns the execution that a worker may hold at now; nil if there is none. There is at most one.
func (s *Set) Held(now time.Time) *Execution {
	for _, e := range s.all {
		if e.Begin().After(now) {
			return e
		}
	}
	return nil
}

// HeldUntil returns the planned start of the execution that a worker may hold at now; zero if there is none.
func (s *Set) HeldUntil(now time.Time) time.Time {
	if e := s.Held(now); e != nil {
		return e.Begin()
	}
	return time.Time{}
}

// Ahead returns the dispatched occurrences: those that are listed in [job.Ahead].
func (s *Set) Ahead() (ahead []*Execution) {
	for _, e := range s.all {
		if !e.Manual && e.Phase == Dispatched {
			ahead = append(ahead, e)
		}
	}
	return ahead
}

// HandOver returns what the next run needs to continue the executions.
func (s *Set) HandOver() (waiting []state.Waiting) {
	for _, e := range s.all {
		waiting = append(waiting, e.HandOver())
	}
	return waiting
}

// Ongoing returns the executions for readers.
func (s *Set) Ongoing() []job.Ongoing {
	all := make([]job.Ongoing, 0, len(s.all))
	for _, e := range s.all {
		all = append(all, e.ongoing())
	}
	return all
}

// Retry returns the next attempt of those that executions wait for which failed so far; nil if none does.
func (s *Set) Retry() (next *job.OutlineRetry) {
	for _, e := range s.all {
		waits := e.BetweenAttempts && e.Tried > 0 && e.ActionName == job.MainAction && e.Phase < Withdrawing
		if waits && (next == nil || e.Next.Before(next.Next)) {
			next = &job.OutlineRetry{Attempt: e.Tried + 1, Max: e.MaxAttempts(), Next: e.Next}
		}
	}
	return next
}

// AddFailures has a status show what failed in executions that wait for another attempt.
func (s *Set) AddFailures(status *job.Status) {
	for _, e := range s.all {
		if !e.BetweenAttempts || e.Phase >= Withdrawing {
			continue
		}
		if o := e.ongoing(); o.Failed() {
			var last *job.LastError
			if o.Error != "" {
				last = &job.LastError{Message: o.Error, EndTime: job.NewTime(o.ErrorEnd)}
			}
			status.AddFailure(last,
				&job.Retry{ActionName: o.ActionName, Attempt: o.Tried + 1, MaxAttempts: o.MaxAttempts, NextAttemptTime: job.NewTime(o.Next)},
			)
		}
	}
}

// NewestManualRun returns the highest number of a manual run; 0 if there is none.
func (s *Set) NewestManualRun() (newest int) {
	for _, e := range s.all {
		if e.Manual {
			newest = max(newest, e.Repeat)
		}
	}
	return newest
}

// RanBy notes that a manual run began then: if an execution returns to the plan, the manual run is the job's last one.
func (s *Set) RanBy(begin time.Time) {
	for _, e := range s.all {
		e.Undo.Last = Later(e.Undo.Last, begin)
	}
}

// UndoneFrom returns the time up to which occurrences are decided if all executions return to the plan; decided if
// there are none.
func (s *Set) UndoneFrom(decided time.Time) time.Time {
	for _, e := range s.all {
		if at := e.Undo.Decided; !e.Manual && !at.IsZero() && at.Before(decided) {
			decided = e.Undo.Decided
		}
	}
	return decided
}

// Times returns the times of the executions that stand for local times, which [Set.Move] takes in the same order.
func (s *Set) Times() (times []time.Time) {
	for _, e := range s.all {
		if !e.Manual {
			times = append(times, e.Planned(), e.Undo.Decided)
		}
	}
	return times
}

// Move takes the times that the plan has for [Set.Times] by other rules of the time zone.
func (s *Set) Move(times []time.Time) {
	for _, e := range s.all {
		if !e.Manual {
			e.Moved, e.Undo.Decided = times[0], times[1]
			times = times[2:]
		}
	}
}
