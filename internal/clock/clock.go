// Package clock judges by which clock an occurrence is due.
package clock

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// maxSkew is by how much this machine's clock may differ from the server's.
	maxSkew = time.Second

	// sampleAge is how long an observation of the server's clock is relied on if
	// there are others.
	sampleAge = 10 * time.Minute

	// skewPause is the least time between two warnings.
	skewPause = time.Minute
)

// A Clock is the time by which occurrences are due: this machine's, as long as it agrees with the Temporal server's
// within a second. Otherwise it is an estimate of the server's: an instant that the server reported, and the time that
// has passed since, which is behind by as long as the report took to arrive. The zero value is ready for use. Its
// methods may be called at the same time.
type Clock struct {
	Local func() time.Time // this machine's clock; nil: time.Now

	mu     sync.Mutex
	server time.Time // the server's time at the observation that puts it furthest ahead
	at     time.Time // this machine's time then, with its monotonic reading
	warned time.Time
}

func (c *Clock) local() time.Time {
	if c.Local != nil {
		return c.Local()
	}
	return time.Now()
}

// Now returns the current time.
func (c *Clock) Now() time.Time {
	local := c.local()
	c.mu.Lock()
	defer c.mu.Unlock()
	if server := c.estimate(local); c.skew(local, server).Abs() > maxSkew {
		return server
	}
	return local
}

// estimate returns the server's time, as far as it is known. The lock is held.
func (c *Clock) estimate(local time.Time) time.Time {
	if c.at.IsZero() {
		return local
	}
	return c.server.Add(local.Sub(c.at))
}

// skew returns how far this machine's clock is ahead of the server's.
func (c *Clock) skew(local, server time.Time) time.Duration {
	return local.Round(0).Sub(server.Round(0))
}

// Observe takes note that the server's clock was at an instant, or past it.
func (c *Clock) Observe(server time.Time, log *slog.Logger) {
	local := c.local()
	c.mu.Lock()
	defer c.mu.Unlock()
	differs := func(server time.Time) bool { return c.skew(local, server).Abs() > maxSkew }
	setBack := !differs(server) && differs(c.estimate(local)) // the server's clock, and perhaps this one
	if c.at.IsZero() || setBack || local.Sub(c.at) > sampleAge || server.After(c.estimate(local)) {
		c.server, c.at = server, local
	}
	if differs(c.estimate(local)) && (c.warned.IsZero() || local.Sub(c.warned).Abs() > skewPause) {
		c.warned = local
		skew := c.skew(local, c.estimate(local))
		log.Warn("this machine's clock differs from the Temporal server's by more than a second; occurrences are sent "+
			"by the server's clock. Synchronize both by NTP",
			slog.Duration("ahead", skew.Round(time.Millisecond)))
	}
}

// Until returns how long it is until an instant.
func (c *Clock) Until(t time.Time) time.Duration { return t.Round(0).Sub(c.Now().Round(0)) }
