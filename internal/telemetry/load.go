package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// overloadedAfter is how late an action may be before a line in the log says so, at most one in logPause.
	overloadedAfter = 5 * time.Second
	logPause        = time.Minute

	// A second counts as punctual if at least 99 % of what was due in it was sent within punctualWithin. That is judged
	// when judgedAfter has passed.
	punctualWithin = time.Second
	judgedAfter    = time.Minute
)

// A load is what a worker has to send, and how it keeps up. Only the first attempts of main actions count: they are
// those that have a due time. The zero value is ready for use.
type load struct {
	log *slog.Logger // nil: nothing is logged

	mu       sync.Mutex
	waiting  map[string]time.Time // due times of what the worker has and has not begun to send, by execution
	seconds  map[int64]*second    // what was sent lately, by the second in which it was due
	judged   time.Time            // when seconds were judged last
	punctual int                  // the most that was due in one second that was punctual
	logged   time.Time
}

// A second is what a worker sent of what was due in one second.
type second struct{ sent, late int }

// wait records that the worker has an action that it will send.
func (l *load) wait(execution string, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[string]time.Time{}
	}
	l.waiting[execution] = due
}

// leave records that an action is not sent by this worker, unless it has begun to send it.
func (l *load) leave(execution string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, execution)
}

// send records that the worker begins to send an action.
func (l *load) send(execution string, due, now time.Time) {
	l.mu.Lock()
	delete(l.waiting, execution)
	l.judge(now)
	if l.seconds == nil {
		l.seconds = map[int64]*second{}
	}
	s := l.seconds[due.Unix()]
	if s == nil {
		s = new(second)
		l.seconds[due.Unix()] = s
	}
	late := now.Sub(due)
	if s.sent++; late > punctualWithin {
		s.late++
	}
	overloaded := late > overloadedAfter && now.Sub(l.logged) >= logPause && l.log != nil
	n, oldest := 1, late
	if overloaded {
		l.logged = now
		waiting, age := l.overdue(now)
		n, oldest = n+waiting, max(oldest, age)
	}
	l.mu.Unlock()
	if overloaded {
		l.log.Warn("overloaded: actions are sent late", slog.Int("late", n), slog.Float64("oldest", oldest.Round(time.Millisecond).Seconds()))
	}
}

// overdue returns how many actions are due and not sent, and for how long the oldest of them has been due. l.mu is
// held.
func (l *load) overdue(now time.Time) (n int, oldest time.Duration) {
	for _, due := range l.waiting {
		if late := now.Sub(due); late > 0 {
			n, oldest = n+1, max(oldest, late)
		}
	}
	return n, oldest
}

// late is overdue for a caller that does not hold l.mu.
func (l *load) late(now time.Time) (n int, oldest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.overdue(now)
}

// judge forgets the seconds that are long past, and keeps the size of the largest that was punctual. It looks once a
// second. l.mu is held.
func (l *load) judge(now time.Time) {
	if now.Sub(l.judged) < time.Second {
		return
	}
	l.judged = now
	for due, s := range l.seconds {
		if now.Sub(time.Unix(due, 0)) < judgedAfter {
			continue
		}
		if delete(l.seconds, due); s.late*100 <= s.sent {
			l.punctual = max(l.punctual, s.sent)
		}
	}
}

// largestPunctual returns the most that was due in one second that was punctual.
func (l *load) largestPunctual(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judge(now)
	return l.punctual
}

// collectors are the gauges of the load.
func (l *load) collectors() []prometheus.Collector {
	gauge := func(name, help string, value func(now time.Time) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(time.Now()) })
	}
	return []prometheus.Collector{
		gauge("almanac_actions_late", "Actions that are due and that the worker has not sent.", func(now time.Time) float64 {
			n, _ := l.late(now)
			return float64(n)
		}),
		gauge("almanac_actions_late_seconds", "For how long the oldest action that the worker has not sent has been "+
			"due; 0 if there is none.", func(now time.Time) float64 {
			_, oldest := l.late(now)
			return oldest.Seconds()
		}),
		gauge("almanac_punctual_second_actions", "The most actions due in one second of which the worker sent at "+
			"least 99 % within a second.", func(now time.Time) float64 {
			return float64(l.largestPunctual(now))
		}),
	}
}
