package console

import (
	"context"
	"fmt"
	"sync"
	"time"

	"almanac/client"
)

const (
	// lossesFor is how long causes that were read are shown while their numbers stay the same.
	lossesFor = time.Minute

	// lossesWait is how long a page waits for them. The reading goes on, and the page is loaded again.
	lossesWait = 100 * time.Millisecond

	// maxLosses is how many are kept.
	maxLosses = 200
)

// A losses is what was missed or skipped since yesterday, by cause.
type losses struct {
	byKind map[string][]cause
	err    error // not all could be read
	under  bool  // it is still being read
}

// A lossReading is a reading of them, for all pages that show the same to the same caller.
type lossReading struct {
	over  chan struct{}
	found losses
	at    time.Time
}

// lossReadings are those of all callers. The histories of thousands of jobs may take seconds to read.
type lossReadings struct {
	mu  sync.Mutex
	all map[string]*lossReading
}

// of returns what was lost, as it was read lately, or begins to read it.
func (l *lossReadings) of(p *page, day *client.Day) losses {
	key := fmt.Sprint(lookKey(p), p.Clock.Zone, p.Clock.Own, day == nil)
	if day != nil {
		key += fmt.Sprint(day.Missed, " ", day.Skipped)
	}
	wait := lossesWait
	if day == nil {
		wait = pageTime // nothing else says how many they are
	}
	r := l.reading(key, p)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.over:
		return r.found
	case <-timer.C:
		return losses{under: true}
	case <-p.ctx.Done():
		return losses{err: p.ctx.Err()}
	}
}

// reading returns the reading under a key, and begins one if there is none that is fresh.
func (l *lossReadings) reading(key string, p *page) *lossReading {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := p.Clock.Now
	if r := l.all[key]; r != nil && now.Sub(r.at) < lossesFor && !r.failed(now) {
		return r
	}
	for other, r := range l.all {
		if now.Sub(r.at) >= lossesFor || len(l.all) >= maxLosses {
			delete(l.all, other)
		}
	}
	if l.all == nil {
		l.all = map[string]*lossReading{}
	}
	r := &lossReading{over: make(chan struct{}), at: now}
	l.all[key] = r
	alone := *p // it outlives the page
	alone.ctx = context.WithoutCancel(p.ctx)
	go func() {
		defer close(r.over)
		defer alone.limit()()
		r.found = alone.readLosses()
	}()
	return r
}

// failed reports whether the reading failed a while ago.
func (r *lossReading) failed(now time.Time) bool {
	select {
	case <-r.over:
		return r.found.err != nil && now.Sub(r.at) > 2*pageTime
	default:
		return false
	}
}

// readLosses reads what was missed and skipped since yesterday, by cause.
func (p *page) readLosses() losses {
	read := []string{"missed", "skipped"}
	found := make([][]cause, len(read))
	errs := eachOf(len(read), func(i int) (err error) {
		found[i], err = p.causes(&unreadJobs{}, selection{outcome: read[i]})
		return err
	})
	l := losses{byKind: map[string][]cause{}, err: firstOf(errs)}
	for i, kind := range read {
		l.byKind[kind] = found[i]
	}
	return l
}
