package job

import (
	"cmp"
	"time"
)

// A RetryPolicy defines how often and at what interval a failed attempt is retried. A nil policy, and every
// absent member, means the service's default: 4 retries, 30 s apart.
type RetryPolicy struct {
	RetryType     RetryType `json:"retryType,omitempty" field:"enum=none|fixed"`
	RetryInterval Duration  `json:"retryInterval,omitempty" field:"rule=retryInterval"`
	RetryCount    int       `json:"retryCount,omitempty" field:"min=1,rule=retryCount,quoted"`
}

// A RetryType turns retries on or off.
type RetryType string

// The retry types. The zero value means RetryFixed.
const (
	RetryNone  RetryType = "none"
	RetryFixed RetryType = "fixed"
)

const (
	defaultRetryCount    = 4
	defaultRetryInterval = 30 * time.Second
)

// A retryKind is what a retry type means. Attempts are numbered from 1.
type retryKind struct {
	attempts func(p *RetryPolicy) int                        // at most, including the first
	pause    func(p *RetryPolicy, attempt int) time.Duration // after it failed; none is shorter than those before it
}

// retryKinds has a row for each retry type; the enum of [RetryPolicy.RetryType] names them.
var retryKinds = map[RetryType]retryKind{
	RetryNone:  {attempts: func(*RetryPolicy) int { return 1 }, pause: fixedPause},
	RetryFixed: {attempts: countedAttempts, pause: fixedPause},
}

func countedAttempts(p *RetryPolicy) int { return cmp.Or(p.RetryCount, defaultRetryCount) + 1 }

func fixedPause(p *RetryPolicy, _ int) time.Duration {
	if p.RetryInterval == "" {
		return defaultRetryInterval
	}
	return p.RetryInterval.Value()
}

// kind returns what the policy means, and the policy, which is not nil then. A type that only a newer version knows
// counts as RetryFixed.
func (p *RetryPolicy) kind() (retryKind, *RetryPolicy) {
	if p == nil {
		p = &RetryPolicy{}
	}
	if k, ok := retryKinds[p.RetryType]; ok {
		return k, p
	}
	return retryKinds[RetryFixed], p
}

// Attempts returns the maximum number of attempts, including the first: 5 by default, 1 without retries.
func (p *RetryPolicy) Attempts() int {
	k, p := p.kind()
	return k.attempts(p)
}

// Pause returns the minimum time between the end of an attempt, numbered from 1, and the start of the next; 30 s by
// default.
func (p *RetryPolicy) Pause(attempt int) time.Duration {
	k, p := p.kind()
	return k.pause(p, attempt)
}

// LongestPause returns the last of the pauses, since none is longer than those after it.
func (p *RetryPolicy) LongestPause() time.Duration { return p.Pause(max(1, p.Attempts()-1)) }
