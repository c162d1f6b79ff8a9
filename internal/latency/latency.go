// Package latency measures how long Temporal takes to answer, so that time limits can follow it.
//
// A time limit that stays the same while the server becomes slow makes more work: what is late counts as lost, and is
// done again. So a worker has one [Meter] of the calls that write, and what it waits for grows with it, see
// [Meter.Patience].
package latency

import (
	"math"
	"sync"
	"time"
)

// Kept is how long a slow time is remembered, up to twice as long: more than the minute between herds.
const Kept = 70 * time.Second

// A Longest is the longest of some durations that were noted lately: within [Kept], up to twice as long. The zero value
// is ready for use.
type Longest struct {
	began           time.Time
	longest, before time.Duration // since began, and in the Kept before
}

// Note adds a duration.
func (l *Longest) Note(d time.Duration, now time.Time) {
	l.turn(now)
	l.longest = max(l.longest, d)
}

// Lately returns the longest; 0 if there is none.
func (l *Longest) Lately(now time.Time) time.Duration {
	l.turn(now)
	return max(l.longest, l.before)
}

// turn forgets old durations.
func (l *Longest) turn(now time.Time) {
	switch age := now.Sub(l.began); {
	case age < Kept:
		return
	case age < 2*Kept:
		l.before = l.longest
	default:
		l.before = 0
	}
	l.began, l.longest = now, 0
}

const (
	// averaged is about how many calls an average is of, so that a single slow one changes little.
	averaged = 16

	// margin is how many times as long as the average a call may take without anything being wrong.
	margin = 3
)

// A Meter measures how long calls take. A call without an answer counts as one that was answered now. The zero value is
// ready for use; a nil Meter measures nothing.
type Meter struct {
	mu      sync.Mutex
	average time.Duration
	slowest Longest // average
	zero    time.Time
	open    int   // calls without an answer
	begins  int64 // sum of the times when these began, in microseconds since zero
}

// Begin notes that a call begins. The caller calls end when it is answered.
func (m *Meter) Begin() (end func()) {
	if m == nil {
		return func() {}
	}
	begin := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == 0 {
		m.zero, m.begins = begin, 0
	}
	at := begin.Sub(m.zero).Microseconds()
	m.open++
	m.begins += at
	return func() {
		now := time.Now()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.open--
		m.begins -= at
		m.average += (now.Sub(begin) - m.average) / averaged
		m.slowest.Note(m.average, now)
	}
}

// Lately returns the longest time that calls took on average lately.
func (m *Meter) Lately() time.Duration {
	if m == nil {
		return 0
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open > 0 {
		age := time.Duration(now.Sub(m.zero).Microseconds()-m.begins/int64(m.open)) * time.Microsecond
		if age > m.average {
			rest := math.Pow(1-1.0/averaged, float64(m.open))
			m.slowest.Note(age-time.Duration(float64(age-m.average)*rest), now)
		}
	}
	return m.slowest.Lately(now)
}

// Patience returns how long to wait for something that takes a call: at least least, longer while the server is slow,
// and at most most.
func (m *Meter) Patience(least, most time.Duration) time.Duration {
	return min(max(least, margin*m.Lately()), most)
}
