package plan

import (
	"slices"
	"time"

	"almanac/job"
	"almanac/job/timetable"
)

// maxSkipped is the maximum number of skipped occurrences that a plan lists.
const maxSkipped = 16

// listSkipped lists the skipped occurrences that have no entry yet, up to the last one that is planned.
func (p *Plan) listSkipped(t *timetable.Timetable, noted time.Time) {
	for len(p.Skipped) < maxSkipped {
		next, ok := t.SkippedAfter(noted)
		if !ok {
			return
		}
		if n := len(p.Due); n > 0 && !p.Done && next.After(p.Due[n-1]) {
			break
		}
		p.Skipped, noted = append(p.Skipped, next), next
	}
	p.MoreSkipped = true
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
	Count       int              `json:"count,omitempty"`
	// the request is about no occurrence, and this is the nearest that it could be about; zero: there is none
	Refused bool      `json:"refused,omitempty"`
	Nearest time.Time `json:"nearest,omitzero"`
}

// maxAnswered is how many occurrences an answer lists, and maxCounted how many it counts.
const (
	maxAnswered = 10
	maxCounted  = 20_000
)

// Skip answers a question by the timetable of a job. It plans nothing. The error means that this worker cannot read the
// recurrence.
func (r *Request) Skip(q SkipQuestion) (SkipAnswer, error) {
	all, err := timetable.Of(&job.Definition{StartTime: r.StartTime, Recurrence: r.Recurrence, Local: r.Local}, r.Created)
	if err != nil {
		return SkipAnswer{}, err
	}
	rest := all.Without(r.Skips, r.SkipWindows...)
	s := skipper{q: q, rest: rest, after: rest.After}
	s.Skips, s.Windows = slices.Clone(r.Skips), slices.Clone(r.SkipWindows)
	if q.Undo {
		s.after = rest.SkippedAfter
	}
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
	// after returns the first occurrence after a time that the request can be about: a skipped one to skip it no more,
	// and else another
	after func(time.Time) (time.Time, bool)
}

// one answers for a due time. A request that asks for what is so already changes nothing.
func (s *skipper) one() {
	due := s.q.Due
	is := func(after func(time.Time) (time.Time, bool)) bool {
		next, ok := after(due.Add(-time.Second))
		return ok && next.Equal(due)
	}
	other := s.rest.SkippedAfter
	if s.q.Undo {
		other = s.rest.After
	}
	switch {
	case due.After(s.q.After) && is(s.after):
		s.change(due)
	case !due.After(s.q.After) || !is(other):
		s.refuse(due)
	}
}

// next answers for the next occurrences, as many as there are.
func (s *skipper) next() {
	at := s.q.After
	for range max(1, s.q.Next) {
		next, ok := s.after(at)
		if !ok {
			break
		}
		s.change(next)
		at = next
	}
	if s.Count == 0 {
		s.refuse(at)
	}
}

// change skips an occurrence, or skips it no more. A window is divided by it then.
func (s *skipper) change(due time.Time) {
	s.note(due)
	if !s.q.Undo {
		s.Skips = append(s.Skips, due)
		return
	}
	s.cut(job.SkipWindow{From: due, Until: due.Add(time.Second)})
}

// cut leaves nothing skipped in a window.
func (s *skipper) cut(w job.SkipWindow) {
	s.Skips = slices.DeleteFunc(s.Skips, w.Has)
	var rest []job.SkipWindow
	for _, one := range s.Windows {
		before, after := one, one
		if w.From.Before(before.Until) {
			before.Until = w.From
		}
		if w.Until.After(after.From) {
			after.From = w.Until
		}
		switch {
		case !w.From.Before(one.Until) || !w.Until.After(one.From):
			rest = append(rest, one)
			continue
		case before.From.Before(before.Until):
			rest = append(rest, before)
		}
		if after.From.Before(after.Until) {
			rest = append(rest, after)
		}
	}
	s.Windows = rest
}

// window answers for all occurrences of a time, which is kept as one.
func (s *skipper) window() {
	w := job.SkipWindow{From: s.q.From, Until: s.q.Until}
	if first := s.q.After.Add(time.Second); w.From.Before(first) {
		w.From = first
	}
	for at := w.From.Add(-time.Second); s.Count < maxCounted; {
		next, ok := s.after(at)
		if !ok || !next.Before(w.Until) {
			break
		}
		s.note(next)
		at = next
	}
	covered := func(one job.SkipWindow) bool { return !w.From.Before(one.From) && !w.Until.After(one.Until) }
	switch {
	case s.q.Undo && s.Count > 0:
		s.cut(w)
	case s.Count > 0:
		s.Windows = append(s.Windows, w)
	case s.q.Undo || !slices.ContainsFunc(s.Windows, covered):
		s.refuse(w.From)
	}
}

func (s *skipper) note(due time.Time) {
	if s.Count++; len(s.Occurrences) < maxAnswered {
		s.Occurrences = append(s.Occurrences, due)
	}
}

// refuse answers that there is no such occurrence, and which one is the nearest to t.
func (s *skipper) refuse(t time.Time) {
	s.Refused = true
	if t.Before(s.q.After) {
		t = s.q.After
	}
	next, ok := s.after(t.Add(-time.Second))
	if ok {
		s.Nearest = next
	}
	before, found := s.lastBefore(t)
	if found && (!ok || t.Sub(before) < next.Sub(t)) {
		s.Nearest = before
	}
}

// lastBefore returns the last occurrence before t that the request can be about.
func (s *skipper) lastBefore(t time.Time) (last time.Time, ok bool) {
	if !s.q.Undo {
		last, ok = s.rest.Last(t.Add(-time.Second))
		return last, ok && last.After(s.q.After)
	}
	for at, n := s.q.After, 0; n < maxCounted; n++ {
		next, found := s.after(at)
		if !found || !next.Before(t) {
			break
		}
		last, ok, at = next, true, next
	}
	return last, ok
}
