package execution

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/job"
)

// A change of a job first withdraws its executions. Each is cancelled, so that no later attempt passes its fence (see
// [activities.Progress]), and then the server is asked which fences were passed before. An execution that passed none
// returns to the plan, whether or not its worker still exists. So does one that passed its fence early, if its worker
// releases it. Any other one that passed its fence is an attempt, and runs to its end.

const (
	// lookInterval is the time between two lookups of an execution that the server does not yet show as
	// cancelled, or no longer shows.
	lookInterval = 200 * time.Millisecond

	// An execution whose next attempt begins within its margin is cancelled after that attempt passed
	// its fence, or after maxLooks lookups. If a worker has the first attempt and has passed no fence, it
	// depends on how long the worker has had it since the due time:
	//
	//	time since then                       what WithdrawAll does
	//	below presumedCrashedAfter            waits: the worker may still wait for the host, at most HostWait
	//	below its loss time - takeoverMargin  cancels: the worker probably crashed
	//	from then on                          waits: the server may give the attempt to another worker
	//	                                      before the cancellation is recorded
	//
	// With the least loss time it never cancels.
	presumedCrashedAfter = activities.HostWait + 250*time.Millisecond
	takeoverMargin       = 500 * time.Millisecond
	maxLooks             = 10

	// worthReleasing is how long the lease of an attempt must last for its worker to be asked to release it. A shorter
	// one is awaited.
	worthReleasing = 1200 * time.Millisecond

	// releaseTimeout is the time limit for a worker to get the request to release an attempt, and again to answer it.
	releaseTimeout = 2 * time.Second
)

// WithdrawAll ensures that nothing more is sent for the executions. When it returns, those not sent are back in the
// plan, and the leases of those that may have been sent are over. With hurry it does not wait for an attempt that is
// about to begin, of which the server may then have no record.
func (s *Set) WithdrawAll(ctx workflow.Context, hurry bool) {
	for looks := 0; looks < maxLooks && !hurry && s.attemptIsNear(ctx); looks++ {
		_ = workflow.Sleep(ctx, lookInterval) // the context is never cancelled
	}
	s.withdraw(ctx, func(*Execution) bool { return true })
}

// Withdraw is [Set.WithdrawAll] for one execution, which is not near its due time.
func (s *Set) Withdraw(ctx workflow.Context, one *Execution) {
	s.withdraw(ctx, func(e *Execution) bool { return e == one })
}

func (s *Set) withdraw(ctx workflow.Context, which func(*Execution) bool) {
	for _, e := range s.all {
		if e.Phase < Withdrawing && which(e) {
			e.Phase = Withdrawing
			e.Cancel()
		}
	}
	undecided := func() bool {
		return s.any(func(e *Execution) bool { return e.Phase == Withdrawing })
	}
	for undecided() {
		again := s.resolve(ctx)
		if !undecided() {
			return
		}
		// The context is never cancelled.
		_, _ = workflow.AwaitWithTimeout(ctx, again.Sub(workflow.Now(ctx)), func() bool { return !undecided() })
	}
}

// attemptIsNear looks up the due executions and reports whether to wait for one of them before it is cancelled.
func (s *Set) attemptIsNear(ctx workflow.Context) bool {
	due := func(e *Execution) bool { return e.Phase < Withdrawing && !e.Begin().After(workflow.Now(ctx)) }
	if !s.any(due) {
		return false
	}
	pending, now := s.Look(ctx), workflow.Now(ctx)
	return s.any(func(e *Execution) bool {
		p := pendingOf(e, pending)
		return p != nil && due(e) && e.near(p, now)
	})
}

// pendingOf returns what a lookup found of an execution's activity; nil if it found none.
func pendingOf(e *Execution, pending []lookups.Pending) *lookups.Pending {
	i := slices.IndexFunc(pending, func(p lookups.Pending) bool { return p.Activity == e.Activity })
	if i < 0 {
		return nil
	}
	return &pending[i]
}

// near reports whether the next attempt of a due execution may begin, and end, before a cancellation: the server would
// forget the record of such an attempt. An attempt whose worker probably crashed is not near.
func (e *Execution) near(p *lookups.Pending, now time.Time) bool {
	if p.Sent || p.Ended != nil || p.Next.After(now.Add(e.margin())) {
		return false
	}
	late := now.Sub(Later(e.Begin(), p.Began))
	crashed := p.Held && !e.Sent && late >= presumedCrashedAfter && late < e.Loss-takeoverMargin
	return !crashed
}

// resolve looks up the cancelled executions and moves each to returned or withdrawn. It returns when to look again if
// some are undecided.
func (s *Set) resolve(ctx workflow.Context) (again time.Time) {
	pending := s.Look(ctx)
	s.release(ctx, pending)
	now := workflow.Now(ctx)
	again = now.Add(lookInterval)
	for _, e := range slices.Backward(slices.Clone(s.all)) {
		p := pendingOf(e, pending)
		switch {
		case e.Phase != Withdrawing:
		case p == nil || !p.Cancelled:
			// it has ended, which a task will report; or the answer precedes the cancellation
		case !p.Sent && !e.Sent: // or it was released
			s.PutBack(ctx, e)
		case !p.Sent:
			e.Phase = Withdrawn
		case p.Until.Add(lookups.ServerSkew).After(now):
			again = p.Until.Add(lookups.ServerSkew)
		default:
			e.Phase = Withdrawn
		}
	}
	return again
}

// release asks the workers that have passed the fence of a cancelled execution, and are to send it only later, to give
// it up. An attempt that they gave up is pending as if it had passed no fence. Each is asked once.
func (s *Set) release(ctx workflow.Context, pending []lookups.Pending) {
	for i := range pending {
		p := &pending[i]
		k := slices.IndexFunc(s.all, func(e *Execution) bool { return e.Activity == p.Activity })
		if k < 0 || !s.all[k].releasable(p, workflow.Now(ctx)) {
			continue
		}
		e := s.all[k]
		e.ReleaseAsked = true
		if s.releasedBy(ctx, p) {
			p.Sent = false // which e.Looked shows as well
		}
	}
}

// releasable reports whether the worker that has the execution's attempt is to be asked to release it.
func (e *Execution) releasable(p *lookups.Pending, now time.Time) bool {
	return e.Phase == Withdrawing && !e.ReleaseAsked && p.Cancelled && p.Sent && p.Queue != "" &&
		p.Until.Sub(now) >= worthReleasing
}

// releasedBy asks the worker that has an attempt to give it up. It reports whether it has: it was not sent, and never
// will be.
func (s *Set) releasedBy(ctx workflow.Context, p *lookups.Pending) (released bool) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              p.Queue,
		ScheduleToStartTimeout: releaseTimeout,
		StartToCloseTimeout:    releaseTimeout,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                "the worker that holds the request gives it up",
	})
	err := workflow.ExecuteActivity(ctx, activities.TypeRelease,
		activities.ReleaseInput{Activity: p.Activity, Attempt: p.Attempt}).Get(ctx, &released)
	if err != nil {
		workflow.GetLogger(ctx).Info("a worker did not release an attempt; its lease is awaited",
			"job", s.Key.ARMID(), "error", err)
	}
	return released && err == nil
}

// Look asks the server for the activities of the executions, until it answers, and records what was sent. It returns
// the answer.
func (s *Set) Look(ctx workflow.Context) []lookups.Pending {
	pending := s.pending(ctx)
	failed := func(a job.Attempt) bool { return a.Outcome.Failed() }
	for i := range pending {
		p := &pending[i]
		s.Failures = s.Failures || slices.ContainsFunc(p.Attempts, failed)
		for _, e := range s.all {
			if e.Activity == p.Activity {
				e.record(p)
			}
		}
	}
	return pending
}

func (s *Set) pending(ctx workflow.Context) []lookups.Pending {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: 2 * time.Second},
		Summary:             "what was sent",
	})
	var pending []lookups.Pending
	for {
		err := workflow.ExecuteActivity(ctx, lookups.TypePending).Get(ctx, &pending)
		if err == nil {
			return pending
		}
		workflow.GetLogger(ctx).Warn("the job's pending activities could not be read; retrying",
			"job", s.Key.ARMID(), "error", err)
		_ = workflow.Sleep(ctx, time.Second)
	}
}
