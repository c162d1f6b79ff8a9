package overview

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
)

// A stream is the history of one job, from the token on. Before it is open, only a bound of its first entry is known.
type stream struct {
	key       job.Key
	id        string
	bound     time.Time // no entry starts later; zero for unknown
	unasked   time.Time // likewise, from the outline in Temporal's list, until the server is asked about the job; zero if it need not be
	version   core.Version
	settled   bool                                               // the bound is known from the outline in Temporal's list
	quiet     *outline                                           // as in lastSeen
	described *workflowservice.DescribeWorkflowExecutionResponse // for the first reading; nil if the server was not asked
	filter    listing.Filter
	last      int64 // entries that start at tie have a smaller ordinal; 0 for none
	tie       time.Time

	isOpen  bool
	failed  bool
	records []job.Record // sorted; the first one is the first of all that are left
	oldest  time.Time    // of what was read
	next    string       // where to continue
	ended   bool         // everything was read
	chunk   int
}

// after limits the stream to what comes after the token.
func (s *stream) after(t *token) *stream {
	if t.At.IsZero() {
		return s
	}
	before := t.At
	if s.id >= t.ID {
		before = before.Add(1) // others that start at the same time come after, by their ID
	}
	if s.id == t.ID {
		s.tie, s.last = t.At, t.Ordinal
	}
	s.filter.Start.Before = before
	if s.bound.IsZero() || before.Before(s.bound) {
		s.bound = before
	}
	return s
}

// fill reads until the first record is certain to be the first of all that are left.
func (s *stream) fill(ctx context.Context, r *reading) {
	if s.ended || s.failed || len(s.records) > 0 && !s.records[0].Start.Before(s.oldest.Add(history.Skew)) {
		return
	}
	jobCtx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	if s.oldest.IsZero() {
		before := s.filter.Start.Before
		s.filter = r.filter
		if !before.IsZero() && (s.filter.Start.Before.IsZero() || before.Before(s.filter.Start.Before)) {
			s.filter.Start.Before = before
		}
	}
	for !s.ended && (len(s.records) == 0 || s.records[0].Start.Before(s.oldest.Add(history.Skew))) {
		found, next, err := r.read(jobCtx, s)
		if err != nil {
			s.failed, s.records = true, nil
			if ctx.Err() == nil { // otherwise the time of the page is over, which is not the job's fault
				r.unreadable.add(ctx, s.id, s.key, err)
			}
			return
		}
		for _, e := range found {
			if s.oldest.IsZero() || e.Start.Before(s.oldest) {
				s.oldest = e.Start
			}
			if s.last == 0 || !e.Start.Equal(s.tie) || e.Ordinal() < s.last {
				s.records = append(s.records, e)
			}
		}
		slices.SortStableFunc(s.records, func(a, b job.Record) int {
			if c := b.Start.Compare(a.Start); c != 0 {
				return c
			}
			return cmp.Compare(b.Ordinal(), a.Ordinal())
		})
		s.next, s.ended, s.chunk = next, next == "", min(2*s.chunk, maxChunk)
	}
}

// read reads the next entries of a stream.
func (r *reading) read(ctx context.Context, s *stream) ([]job.Record, string, error) {
	described := s.described
	if s.described = nil; described == nil {
		var err error
		if described, err = r.describeRun(ctx, s.id, r.known.jobs[s.id]); err != nil {
			return nil, "", err
		}
	}
	return r.o.History.ReadDescribed(ctx, described, listing.Page{Top: s.chunk, After: s.next, Filter: s.filter})
}

// limit notes that no entry starts after a time. It returns false if all start before from.
func (s *stream) limit(newest, from time.Time) bool {
	if s.bound.IsZero() || newest.Before(s.bound) {
		s.bound = newest
	}
	return !newest.Before(from)
}

// latest returns a time after which no entry starts; zero for unknown.
func (s *stream) latest() time.Time {
	if !s.unasked.IsZero() {
		return s.unasked
	}
	return s.bound
}

// over reports whether the stream has no entry left.
func (s *stream) over() bool { return s.failed || len(s.records) == 0 }

// A merge is a heap of streams. Those that are not open come before those that may start later than their first entry.
type merge []*stream

func (m merge) Len() int      { return len(m) }
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m merge) Less(i, j int) bool {
	a, b := m[i], m[j]
	if !a.isOpen && !b.isOpen {
		return !b.latest().IsZero() && (a.latest().IsZero() || a.latest().After(b.latest()))
	}
	if !a.isOpen {
		return a.latest().IsZero() || !a.latest().Before(b.records[0].Start)
	}
	if !b.isOpen {
		return !b.latest().IsZero() && a.records[0].Start.After(b.latest())
	}
	if c := a.records[0].Start.Compare(b.records[0].Start); c != 0 {
		return c > 0
	}
	return strings.Compare(a.id, b.id) < 0
}
func (m *merge) Push(x any) { *m = append(*m, x.(*stream)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
