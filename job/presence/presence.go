// Package presence says which workers of an installation were there, and when none was. It reads no clock.
//
// A worker checks in every [Every]. A [Span] is the time from a worker's first check-in to its last, and a [State] keeps
// the spans of all workers, within bounds: [State.Add] takes one that has ended, and [Log.Absences] returns the times in
// which no worker checked in.
package presence

import (
	"slices"
	"strings"
	"time"
)

const (
	// Every is the time between two check-ins of a worker.
	Every = 10 * time.Second
	// Late is how long after a check-in the next one is late: the time between is a gap.
	Late = 15 * time.Second
	// LostAfter is how long after its last check-in the server counts a worker as lost.
	LostAfter = 30 * time.Second

	// MaxGaps is the maximum number of gaps of a [Span].
	MaxGaps = 20

	// A State has the newest maxSpans spans of workers that have gone, and as many of those that were handed over; of those
	// before it knows when some worker was there, as maxCovered intervals at most.
	maxSpans   = 200
	maxCovered = 1000

	// keep is how long a State keeps what it knows, which is how long histories are kept.
	keep = 60 * 24 * time.Hour
)

// A Worker is a process that runs jobs.
type Worker struct {
	ID       string `json:"id"` // of this process alone
	Identity string `json:"identity"`
	Version  string `json:"version,omitempty"`  // of Almanac
	Zones    string `json:"zoneinfo,omitempty"` // release of its time zone database
	Queue    string `json:"queue"`              // the task queue that only this process polls
}

// Sizes of the members of a [Worker] in bytes at most.
const (
	maxIdentity = 200
	maxText     = 64
)

// Bounded returns the worker with members of a bounded size, also as JSON.
func (w Worker) Bounded() Worker {
	plain := func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) {
			return '?'
		}
		return r
	}
	cut := func(s string, most int) string {
		s = strings.Map(plain, s)
		return s[:min(len(s), most)]
	}
	w.ID, w.Identity, w.Version = cut(w.ID, maxText), cut(w.Identity, maxIdentity), cut(w.Version, maxText)
	w.Zones, w.Queue = cut(w.Zones, maxText), cut(w.Queue, maxText)
	return w
}

// An Interval is a time.
type Interval struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// An End says why a worker's check-ins ended.
type End string

// The ends. "" is that of a worker that is there.
const (
	Stopped   End = "stopped"   // it was stopped
	Lost      End = "lost"      // it did not check in any more
	Continues End = "continues" // none: the next span continues this one
)

// A Segment is what a worker says of its check-ins.
type Segment struct {
	From time.Time  `json:"from"`           // the first one, or the last one of the segment before that it continues
	To   time.Time  `json:"to"`             // the last one
	Gaps []Interval `json:"gaps,omitempty"` // times without one in between that were longer than [Late], oldest first
	End  End        `json:"end,omitempty"`
}

// CheckIn adds a check-in. If the clock was set back, what is after it is left out.
func (s *Segment) CheckIn(now time.Time) {
	switch {
	case now.Before(s.To):
		s.Gaps = slices.DeleteFunc(slices.Clone(s.Gaps), func(gap Interval) bool { return !gap.From.Before(now) })
		if last := len(s.Gaps) - 1; last >= 0 && s.Gaps[last].To.After(now) {
			s.Gaps[last].To = now
		}
		if s.From.After(now) {
			s.From = now
		}
	case now.Sub(s.To) > Late:
		s.Gaps = append(s.Gaps, Interval{s.To, now})
	}
	s.To = now
}

// A Span is the check-ins of a worker.
type Span struct {
	Worker
	Segment
}

// A State is what is known of the workers that have gone.
type State struct {
	Since   time.Time  `json:"since"`             // of what was before, nothing is known
	Spans   []Span     `json:"spans,omitempty"`   // in the order in which they ended
	Covered []Interval `json:"covered,omitempty"` // when the workers of earlier spans were there, in order, apart
}

// Add adds a span that has ended. It continues the last one of the same worker, if that continues. A span whose To is
// zero has no check-in: its From counts as one if it continues none.
func (s *State) Add(span Span, now time.Time) {
	at := len(s.Spans) - 1
	for at >= 0 && s.Spans[at].ID != span.ID {
		at--
	}
	if at >= 0 && s.Spans[at].End == Continues && len(s.Spans[at].Gaps)+len(span.Gaps) <= MaxGaps {
		before := s.Spans[at]
		s.Spans = slices.Delete(s.Spans, at, at+1)
		span.From, span.Gaps = before.From, append(before.Gaps, span.Gaps...)
		if before.To.After(span.To) {
			span.To = before.To
		}
	}
	if span.To.IsZero() {
		span.To = span.From
	}
	s.Spans = append(s.Spans, span)
	s.forgetOldest()
	old := func(at time.Time) bool { return now.Sub(at) > keep }
	s.Spans = slices.DeleteFunc(s.Spans, func(one Span) bool { return old(one.To) })
	s.Covered = slices.DeleteFunc(s.Covered, func(one Interval) bool { return old(one.To) })
	if old(s.Since) {
		s.Since = now.Add(-keep)
	}
}

// forgetOldest drops the oldest spans but for maxSpans. The last one of a worker that continues counts apart: it has
// not gone.
func (s *State) forgetOldest() {
	if len(s.Spans) <= maxSpans {
		return
	}
	seen := map[string]bool{}
	gone, there := 0, 0
	for i, one := range slices.Backward(s.Spans) {
		count := &gone
		if one.End == Continues && !seen[one.ID] {
			count = &there
		}
		seen[one.ID] = true
		if *count++; *count > maxSpans {
			s.forget(one)
			s.Spans = slices.Delete(s.Spans, i, i+1)
		}
	}
}

// forget notes that a worker was there whose span is dropped. If there are too many intervals, the older half keeps only
// absences that are longer than [Late], so that a worker that is started again and again replaces no longer ones.
func (s *State) forget(span Span) {
	s.Covered = union(append(s.Covered, span.there()...), leastAbsence)
	if len(s.Covered) > maxCovered {
		older := union(slices.Clone(s.Covered[:maxCovered/2]), Late)
		s.Covered = append(older, s.Covered[maxCovered/2:]...)
	}
	if extra := len(s.Covered) - maxCovered; extra > 0 {
		s.Since = s.Covered[extra-1].To
		s.Covered = slices.Delete(s.Covered, 0, extra)
	}
}

// there returns when the worker was there: the span without its gaps.
func (s *Span) there() []Interval {
	var all []Interval
	from := s.From
	for _, gap := range s.Gaps {
		all = append(all, Interval{from, gap.From})
		from = gap.To
	}
	return append(all, Interval{from, s.To})
}

// union returns intervals in order, those joined that are at most near apart.
func union(all []Interval, near time.Duration) []Interval {
	slices.SortFunc(all, func(a, b Interval) int { return a.From.Compare(b.From) })
	var joined []Interval
	for _, one := range all {
		last := len(joined) - 1
		switch {
		case last < 0 || one.From.Sub(joined[last].To) > near:
			joined = append(joined, one)
		case one.To.After(joined[last].To):
			joined[last].To = one.To
		}
	}
	return joined
}

// A Log is what is known of all workers.
type Log struct {
	State
	Here []Span // of the workers that have not gone
}

// Newest returns the newest check-in of the workers that have not gone; here is false if all have.
func (l *Log) Newest() (at time.Time, here bool) {
	for i := range l.Here {
		if to := l.Here[i].To; to.After(at) {
			at = to
		}
	}
	return at, len(l.Here) > 0
}

// LookedAt returns until when the log goes that was read when this machine's clock showed now. The times of a log are
// the server's, from which that clock may differ. So a worker that has not gone counts as there until [LostAfter] its last
// check-in.
func (l *Log) LookedAt(now time.Time) time.Time {
	if last, here := l.Newest(); here && now.Sub(last) <= LostAfter {
		return last
	}
	return now
}

// Between returns the spans that have a time between from and until, in the order in which they began. Those of a worker
// that continue one another are one.
func (l *Log) Between(from, until time.Time) (some []Span) {
	at := map[string]int{}
	for _, s := range l.All() {
		if i, known := at[s.ID]; known && some[i].End == Continues {
			some[i].Gaps = slices.Concat(some[i].Gaps, s.Gaps)
			some[i].To, some[i].End = s.To, s.End
			continue
		}
		at[s.ID] = len(some)
		some = append(some, s)
	}
	return slices.DeleteFunc(some, func(s Span) bool { return s.From.After(until) || s.To.Before(from) })
}

// All returns the spans that are known, in the order in which they began.
func (l *Log) All() []Span {
	all := slices.Concat(l.Spans, l.Here)
	slices.SortStableFunc(all, func(a, b Span) int { return a.From.Compare(b.From) })
	return all
}

// leastAbsence is how long an absence lasts at least.
const leastAbsence = time.Second

// Absences returns the times between from and until in which no worker checked in, oldest first, at their full length.
// It is known of the time after [State.Since] only; now is when the log was read.
func (l *Log) Absences(from, until, now time.Time) []Interval {
	there := slices.Clone(l.Covered)
	for _, s := range l.All() {
		there = append(there, s.there()...)
	}
	there = union(there, leastAbsence)
	last := l.Since
	var all []Interval
	add := func(to time.Time) {
		if to.Sub(last) > leastAbsence && to.After(from) && last.Before(until) {
			all = append(all, Interval{last, to})
		}
	}
	for _, one := range there {
		if one.From.After(last) {
			add(one.From)
		}
		if one.To.After(last) {
			last = one.To
		}
	}
	if now.Sub(last) > Late {
		add(now)
	}
	return all
}
