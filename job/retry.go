package job

import "time"

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

// Attempts returns the maximum number of attempts, including the first: 5 by default, 1 without retries.
func (p *RetryPolicy) Attempts() int {
	switch {
	case p == nil:
		return defaultRetryCount + 1
	case p.RetryType == RetryNone:
		return 1
	case p.RetryCount == 0:
		return defaultRetryCount + 1
	}
	return p.RetryCount + 1
}

// Interval returns the minimum time between the end of an attempt and the start of the next; 30 s by
// default.
func (p *RetryPolicy) Interval() time.Duration {
	if p == nil || p.RetryInterval == "" {
		return defaultRetryInterval
	}
	return p.RetryInterval.Value()
}
