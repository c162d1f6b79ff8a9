package activities

import "time"

// A Lead says how far ahead of its due time an action is dispatched.
//
// Between a job's timer that fires and its activity that runs lie milliseconds
// on an idle machine, and seconds where a thousand jobs are due together. So the
// timer fires ahead of the due time, and whoever performs the action holds it
// until then: the queueing is over when it is due. How far ahead is learnt from
// one execution for the next.
//
// A job whose next occurrence is due soon after it has executed does not sleep
// at all: the action is dispatched at once and held for as long as it takes. That
// halves what an execution costs, and there is nothing to be late for.
type Lead struct {
	Min, Max time.Duration // of what is learnt
	Hold     time.Duration // what is due within this time is dispatched at once; 0: nothing is
}

// DefaultLead are bounds that serve up to a few thousand jobs in one second on
// a small machine.
func DefaultLead() Lead {
	return Lead{Min: 8 * time.Second, Max: 20 * time.Second, Hold: time.Minute}
}

// maxHeld is how many attempts a process holds at most before it has jobs sleep
// again. Each takes one of its activity slots, which all jobs share.
const maxHeld = 10_000

// enoughSlack is for how long an action that is ready should have to be held, so
// that it is in time when the next herd is larger. A long lead is that of a
// large herd, which needs more.
const enoughSlack = time.Second

// slowLead is the least lead of a job whose last attempt took long. From its due
// time on, an attempt may be silent for as long as it was held, and some seconds:
// the longer that is, the fewer heartbeats it needs.
const slowLead = 15 * time.Second

// next returns the lead after one with which the action was ready slack before
// its due time. It grows at once by what was missing. It shrinks slowly: in a
// herd, those that got up too early would otherwise be late again, all together.
func (l Lead) next(lead, slack time.Duration) time.Duration {
	switch want := max(min(lead/2, enoughSlack), lead/4); {
	case slack < -l.Max: // nothing was running: no lead helps against that
	case slack < want:
		lead += want - slack
	case slack > want+want/4:
		lead -= lead / 64
	}
	return min(max(lead, l.Min), l.Max)
}
