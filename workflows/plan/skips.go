package plan

import (
	"iter"
	"slices"
	"time"

	"almanac/job"
	"almanac/job/timetable"
)

// maxSkipped is the maximum number of skipped occurrences that a plan lists.
const maxSkipped = 16

// listSkipped lists the skipped occurrences that have no entry yet, up to the last one that is planned.
func (p *Plan) listSkipped(t *timetable.Timetable, noted time.Time) {
	for next := range t.Skipped(noted) {
		if n := len(p.Due); len(p.Skipped) == maxSkipped || n > 0 && !p.Done && next.After(p.Due[n-1]) {
			p.MoreSkipped = true
			return
		}
		p.Skipped = append(p.Skipped, next)
	}
}

// sweepSkipped returns the skipped occurrences after noted and up to until, at most maxSweep; nil for none.
func sweepSkipped(t *timetable.Timetable, noted, until time.Time) *Dropped {
	swept := &Dropped{Outcome: job.OutcomeCancelled, Why: job.WhySkipped}
	for next := range t.Skipped(noted) {
		if next.After(until) || swept.Count == maxSweep {
			break
		}
		swept.Add(next)
	}
	if swept.Count == 0 {
		return nil
	}
	return swept
}

// A SkipQuestion asks what a request to skip occurrences, or to skip them no more, does to a job.
type SkipQuestion struct {
	job.SkipRequest
	Undo  bool
	After time.Time // occurrences up to here cannot be skipped any more
}

// A SkipAnswer is what is skipped after a request. Occurrences are those that it changes, the first few.
type SkipAnswer struct {
	Skips       []time.Time      `json:"skips,omitempty"`
	Windows     []job.SkipWindow `json:"windows,omitempty"`
	Occurrences []time.Time      `json:"occurrences,omitempty"`
	Changed     bool             `json:"changed,omitempty"`
	// the request is about no occurrence, and this is the nearest that it could be about; zero: there is none
	Refused bool      `json:"refused,omitempty"`
	Nearest time.Time `json:"nearest,omitzero"`
	// nothing else is set: the time zones of this worker, or calendars, are newer than the plan's, so it plans first, or
	// the time zones are older, or a calendar cannot be read, which Unread says why
	Replan bool   `json:"replan,omitempty"`
	Behind string `json:"behind,omitempty"`
	Unread string `json:"unread,omitempty"`
}

// maxAnswered is how many occurrences an answer lists.
const maxAnswered = 10

// Skip answers a question by the timetable of a job. It plans nothing. It looks for a few hundred occurrences at most,
// however many are concerned. The calendars are nil for a job that has none. The error means that this worker cannot
// read the recurrence.
func (r *Request) Skip(q SkipQuestion, c *Calendars) (SkipAnswer, error) {
	all, err := r.timetable(c)
	if err != nil {
		return SkipAnswer{}, err
	}
	if c != nil && r.changed(c) {
		return SkipAnswer{Replan: true}, nil
	}
	if c != nil {
		all = r.settle(all, c)
	} else if len(r.Early) > 0 {
		all = all.Except(r.Early)
	}
	if zone := r.zone(all); zone != nil && r.Zone != nil && zone.Name == r.Zone.Name && zone.Rules != r.Zone.Rules {
		if zone.Release < r.Zone.Release {
			return SkipAnswer{Behind: zone.Release}, nil
		}
		return SkipAnswer{Replan: true}, nil
	}
	s := skipper{q: q, rest: all.Without(r.Skips, r.SkipWindows...)}
	s.Skips, s.Windows = slices.Clone(r.Skips), job.MergeWindows(r.SkipWindows)
	switch {
	case !q.Due.IsZero():
		s.one()
	case !q.Until.IsZero():
		s.window()
	default:
		s.next()
	}
	return s.SkipAnswer, nil
}

// A skipper answers a question.
type skipper struct {
	SkipAnswer
	q    SkipQuestion
	rest *timetable.Timetable // without what is skipped
}

// from returns the occurrences after a time, in order, that the request can be about: skipped ones to skip them no more,
// and else the others.
func (s *skipper) from(at time.Time) iter.Seq[time.Time] {
	if s.q.Undo {
		return s.rest.Skipped(at)
	}
	return func(yield func(time.Time) bool) {
		for next, ok := s.rest.After(at); ok && yield(next); next, ok = s.rest.After(next) {
		}
	}
}

// one answers for a due time. A request that asks for what is so already changes nothing. What is skipped although it is
// no occurrence of the schedule, as before the schedule was changed, need not stay.
func (s *skipper) one() {
	due := s.q.Due
	next, ok := s.rest.After(due.Add(-time.Second))
	runs, skipped := ok && next.Equal(due), s.rest.IsSkipped(due)
	listed := slices.ContainsFunc(s.Skips, s.rest.NominalOf(due).Equal)
	switch {
	case !due.After(s.q.After):
		s.refuse(due)
	case s.q.Undo && (skipped || listed), !s.q.Undo && runs:
		s.change(due)
	case s.q.Undo && !runs, !s.q.Undo && !skipped:
		s.refuse(due)
	}
}

// next answers for the next occurrences, as many as there are.
func (s *skipper) next() {
	most, n := min(max(1, s.q.Next), job.MaxSkips), 0
	for due := range s.from(s.q.After) {
		s.change(due)
		if n++; n == most {
			break
		}
	}
	if n == 0 && !s.unlist(most) {
		s.refuse(s.q.After)
	}
}

// unlist skips the next ones no more that are listed although they are no occurrences, as after a change of the schedule.
// It reports whether there were any.
func (s *skipper) unlist(most int) bool {
	listed := slices.DeleteFunc(slices.SortedFunc(slices.Values(s.Skips), time.Time.Compare), func(due time.Time) bool { return !due.After(s.q.After) })
	if !s.q.Undo || len(listed) == 0 {
		return false
	}
	for _, due := range listed[:min(most, len(listed))] {
		s.change(due)
	}
	return true
}

// change skips an occurrence, or skips it no more. A window is divided by it then.
func (s *skipper) change(due time.Time) {
	s.note(due)
	due = s.rest.NominalOf(due) // by which it is known
	if !s.q.Undo {
		s.Skips = append(s.Skips, due)
		return
	}
	s.cut(job.SkipWindow{From: due, Until: due.Add(time.Second)})
}

// cut leaves nothing skipped in a window, and no part of another window in which no occurrence is. It reports whether
// anything was.
func (s *skipper) cut(w job.SkipWindow) (was bool) {
	n := len(s.Skips)
	s.Skips = slices.DeleteFunc(s.Skips, w.Has)
	was = len(s.Skips) < n
	var rest []job.SkipWindow
	for _, one := range s.Windows {
		if !w.From.Before(one.Until) || !w.Until.After(one.From) {
			rest = append(rest, one)
			continue
		}
		was = true
		for _, part := range []job.SkipWindow{{From: one.From, Until: w.From}, {From: w.Until, Until: one.Until}} {
			if part.From.Before(part.Until) && s.rest.HasAny(part, time.Time{}) {
				rest = append(rest, part)
			}
		}
	}
	s.Windows = rest
	return was
}

// window answers for all occurrences whose nominal times are in a time, which is kept as one. One by one, they need not be
// kept any more.
func (s *skipper) window() {
	w := job.SkipWindow{From: s.q.From, Until: s.q.Until}
	if first := s.q.After.Add(time.Second - s.rest.Reach()); w.From.Before(first) {
		w.From = first
	}
	w.From = w.From.Add(time.Second - time.Nanosecond).Truncate(time.Second)
	after := w.From.Add(-time.Second - s.rest.Reach())
	if after.Before(s.q.After) {
		after = s.q.After
	}
	for next := range s.from(after) {
		if len(s.Occurrences) == maxAnswered || !next.Before(w.Until.Add(s.rest.Reach())) {
			break
		}
		if w.Has(s.rest.NominalOf(next)) {
			s.note(next)
		}
	}
	covered := slices.ContainsFunc(s.Windows, func(one job.SkipWindow) bool { return !w.From.Before(one.From) && !w.Until.After(one.Until) })
	switch {
	case s.q.Undo && s.cut(w):
		s.Changed = true
	case !s.q.Undo && !covered && s.rest.HasAny(w, s.q.After):
		s.cut(w)
		s.Windows, s.Changed = job.MergeWindows(append(s.Windows, w)), true
	case !covered:
		s.refuse(w.From)
	}
}

func (s *skipper) note(due time.Time) {
	if s.Changed = true; len(s.Occurrences) < maxAnswered {
		s.Occurrences = append(s.Occurrences, due)
	}
}

// refuse answers that there is no such occurrence, and which one is the nearest to t.
func (s *skipper) refuse(t time.Time) {
	s.Refused = true
	if t.Before(s.q.After) {
		t = s.q.After
	}
	after := t.Add(-time.Second)
	if after.Before(s.q.After) {
		after = s.q.After
	}
	for next := range s.from(after) {
		s.Nearest = next
		break
	}
	before, found := s.lastBefore(t)
	if found && (s.Nearest.IsZero() || t.Sub(before) < s.Nearest.Sub(t)) {
		s.Nearest = before
	}
}

// lastBefore returns the last occurrence before t that the request can be about.
func (s *skipper) lastBefore(t time.Time) (last time.Time, ok bool) {
	if s.q.Undo {
		last, ok = s.rest.SkippedBefore(t)
	} else {
		last, ok = s.rest.Last(t.Add(-time.Second))
	}
	return last, ok && last.After(s.q.After)
}

// noteSkipped says what calendars make of the skipped occurrences, where none is planned that is not.
func (p *Plan) noteSkipped(t *timetable.Timetable) {
	for _, due := range p.Skipped {
		all := t.Occurrences(due, due)
		for i := range all {
			if all[i].Ran() {
				p.addNote(&all[i], time.Time{})
			}
		}
	}
}
