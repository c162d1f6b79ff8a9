package activities

import "time"

// A Lead limits how long before its due time an action is dispatched.
//
// Between a job's timer and the start of its activity lie milliseconds on an idle machine, and seconds if a
// thousand jobs are due together. So the timer fires ahead of the due time and the worker holds the action
// until then: the queueing is over when it is due. Each execution adjusts the lead of the next.
//
// If the next occurrence is due within Hold when an execution succeeds, the job does not sleep at all: its
// action is dispatched at once and held. That halves the cost of an execution.
type Lead struct {
	Min, Max time.Duration // of the lead
	Hold     time.Duration // occurrences due within this time are dispatched at once; 0: none
}

// DefaultLead returns a Lead for up to a few thousand jobs due in one second on a small machine: 8 to
// 20 s, and a hold of one minute.
func DefaultLead() Lead {
	return Lead{Min: 8 * time.Second, Max: 20 * time.Second, Hold: DefaultMaxHold}
}

// maxHeld is the number of held attempts per process above which jobs sleep again. Each takes one of
// the activity slots that all jobs share.
const maxHeld = 10_000

// enoughSlack is the hold time aimed at, so that a somewhat larger herd is still in time. Leads over 4
// s aim at a quarter of the lead, since they belong to large herds.
const enoughSlack = time.Second

// slowLead is the shortest lead of a job whose last attempt took more than a second. The heartbeat
// timeout is the time held and some seconds, so an attempt held longer needs fewer heartbeats.
const slowLead = 15 * time.Second

// next returns the next lead after one whose action was ready slack before its due time. It grows at
// once by what was missing, and shrinks by 1/64: if a herd that was early shrank faster, all of it
// would be late again.
func (l Lead) next(lead, slack time.Duration) time.Duration {
	switch want := max(min(lead/2, enoughSlack), lead/4); {
	case slack < -l.Max: // no worker was running, which no lead compensates
	case slack < want:
		lead += want - slack
	case slack > want+want/4:
		lead -= lead / 64
	}
	return min(max(lead, l.Min), l.Max)
}
