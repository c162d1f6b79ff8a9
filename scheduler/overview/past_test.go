package overview_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/overview"
)

var (
	noon       = at("2026-03-01T12:00:00Z")
	everything = listing.Scope{Subscription: "s"}
	ofC        = listing.Scope{Subscription: "s", ResourceGroup: "g", Collection: "c"}
)

// pages reads a history page by page until it ends, and calls between before each page but the first.
func pages(t *testing.T, v *overview.Overview, s listing.Scope, p listing.Page, between func()) (all []listing.JobRecord) {
	t.Helper()
	for {
		page, next, err := v.HistoryAcross(t.Context(), s, p)
		require.NoError(t, err)
		all = append(all, page...)
		if next == "" {
			return all
		}
		require.Len(t, page, p.Top, "only the last page is shorter")
		p.After = next
		if between != nil {
			between()
		}
	}
}

// names returns records as text: the collection, the job, its execution, or why it could not be read.
func names(records []listing.JobRecord) (all []string) {
	for _, r := range records {
		what := fmt.Sprint(r.Repeat)
		if r.Unread != "" {
			what = r.Unread
		}
		all = append(all, r.Key.Collection.Name+"/"+r.Key.Name+" "+what)
	}
	return all
}

// busy fills a town with executions at random times before noon, some of them at the same time, and returns what a list
// of all has to be, newest first.
func busy(w *town, r *rand.Rand) (want []listing.JobRecord) {
	for _, c := range []string{"c", "d"} {
		for i := range 6 {
			k := w.add(c, fmt.Sprint("job", i), nil)
			var starts []time.Time
			for range r.IntN(20) {
				starts = append(starts, noon.Add(-time.Duration(r.IntN(3600))*time.Second))
			}
			slices.SortFunc(starts, time.Time.Compare)
			for n, start := range slices.Compact(starts) {
				outcome := job.OutcomeCompleted
				if r.IntN(3) == 0 {
					outcome = job.OutcomeFailed
				}
				late := time.Duration(r.IntN(90)) * time.Second
				w.ran(k, start, late, outcome)
				want = append(want, listing.JobRecord{Key: k, Record: job.Record{
					Execution: job.Execution{Repeat: n + 1, Due: start.Add(-late), ActionName: job.MainAction},
					Attempt:   job.Attempt{Number: 1, Start: start, End: start.Add(time.Millisecond), Outcome: outcome},
				}})
			}
		}
	}
	slices.SortFunc(want, func(a, b listing.JobRecord) int {
		if c := b.Start.Compare(a.Start); c != 0 {
			return c
		}
		return strings.Compare(a.Key.WorkflowID(), b.Key.WorkflowID())
	})
	return want
}

func TestTheHistoryOfManyJobsIsThatOfEachMergedNewestFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		w := newTown(t)
		want := busy(w, rand.New(rand.NewPCG(seed, 1)))
		for name, f := range map[string]listing.Filter{
			"all":         {},
			"failed":      {Status: job.OutcomeFailed},
			"late":        {Lateness: listing.Span{From: time.Minute, Before: listing.Unlimited}},
			"a window":    {Start: listing.Period{From: noon.Add(-40 * time.Minute), Before: noon.Add(-20 * time.Minute)}},
			"some jobs":   {NamePrefix: "JOB1"},
			"one job":     {Name: "job2"},
			"what is not": {Status: job.OutcomePostponed},
		} {
			var some []listing.JobRecord
			for _, r := range want {
				if f.MatchesRecord(&r.Record) && f.MatchesName(r.Key.Name) {
					some = append(some, r)
				}
			}
			for _, top := range []int{2, 11, 100} {
				v := w.overview(noon)
				for range 2 { // the second time it knows more
					require.Equal(t, names(some), names(pages(t, v, everything, listing.Page{Top: top, Filter: f}, nil)), "%s, by %d, seed %d", name, top, seed)
				}
				some := slices.DeleteFunc(slices.Clone(some), func(r listing.JobRecord) bool { return r.Key.Collection.Name != "c" })
				require.Equal(t, names(some), names(pages(t, v, ofC, listing.Page{Top: top, Filter: f}, nil)), "%s, by %d, seed %d", name, top, seed)
			}
		}
	}
}

func TestPagesGoOnWhereTheyEndedThoughJobsRun(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	want := busy(w, rand.New(rand.NewPCG(4, 2)))
	k := w.add("c", "new", nil)
	v, n := w.overview(noon), 0
	got := pages(t, v, everything, listing.Page{Top: 5}, func() {
		n++
		for i := range 6 {
			w.ran(collectionKey("d").Job(fmt.Sprint("job", i)), noon.Add(time.Duration(n)*time.Second), 0, job.OutcomeCompleted)
		}
		w.ran(k, noon.Add(time.Duration(n)*time.Second), 0, job.OutcomeCompleted)
	})
	require.Equal(t, names(want), names(got))
	newest, _, err := v.HistoryAcross(t.Context(), everything, listing.Page{Top: 1})
	require.NoError(t, err)
	require.Equal(t, noon.Add(time.Duration(n)*time.Second), newest[0].Start, "the first page shows what came meanwhile")
}

func TestAnotherProcessGoesOnWithThePages(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	want := busy(w, rand.New(rand.NewPCG(5, 2)))
	p, got := listing.Page{Top: 9}, []listing.JobRecord(nil)
	for {
		page, next, err := w.overview(noon.Add(time.Minute)).HistoryAcross(t.Context(), everything, p)
		require.NoError(t, err)
		got = append(got, page...)
		if p.After = next; next == "" {
			break
		}
	}
	require.Equal(t, names(want), names(got))
}

func TestAHistoryGoesBackADayUnlessItIsAskedForMore(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	k := w.add("c", "j", nil)
	w.ran(k, noon.Add(-25*time.Hour), 0, job.OutcomeCompleted)
	w.ran(k, noon.Add(-23*time.Hour), 0, job.OutcomeCompleted)
	v := w.overview(noon)
	require.Equal(t, []string{"c/j 2"}, names(pages(t, v, ofC, listing.Page{Top: 9}, nil)))
	more := listing.Filter{Start: listing.Period{From: noon.Add(-30 * time.Hour)}}
	require.Equal(t, []string{"c/j 2", "c/j 1"}, names(pages(t, v, ofC, listing.Page{Top: 9, Filter: more}, nil)))
}

func TestAJobWhoseHistoryCannotBeReadIsAnEntryWithTheReason(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	want := names(busy(w, rand.New(rand.NewPCG(6, 2))))
	for _, name := range []string{"a", "b"} {
		w.broken[w.add("c", name, nil).WorkflowID()] = true
	}
	w.add("e", "j", nil)
	w.broken[collectionKey("e").WorkflowID()] = true
	gone := w.add("d", "gone", nil)
	delete(w.runs, gone.WorkflowID())

	bad := []string{"e/ " + broken, "c/a " + unreadable, "c/b " + unreadable}
	got := names(pages(t, w.overview(noon), everything, listing.Page{Top: 1000}, nil))
	require.Equal(t, append(slices.Clone(bad), want...), got, "those that cannot be read come first, and one that is gone not at all")

	got = names(pages(t, w.overview(noon), everything, listing.Page{Top: 4}, nil))
	require.Equal(t, bad, got[:3])
	got = slices.DeleteFunc(got, func(s string) bool { return slices.Contains(bad, s) })
	require.Equal(t, want, got, "every page begins with them, and all else is there once")
	got = names(pages(t, w.overview(noon), everything, listing.Page{Top: 2}, nil))
	require.Equal(t, want, slices.DeleteFunc(got, func(s string) bool { return slices.Contains(bad, s) }), "though they do not fit a page")

	_, _, err := w.overview(noon).HistoryAcross(t.Context(), listing.Scope{Subscription: "s", ResourceGroup: "g", Collection: "none"}, listing.Page{Top: 1})
	require.Equal(t, job.KindNotFound, job.KindOf(err))
}

func TestAWindowInThePastReadsNothingOfTheRunsAfterIt(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	k := w.add("c", "j", nil)
	for i := range 100 * perRun {
		w.ran(k, noon.Add(time.Duration(i)*time.Minute), 0, job.OutcomeCompleted)
	}
	window := listing.Filter{Start: listing.Period{From: noon.Add(10 * time.Minute), Before: noon.Add(12 * time.Minute)}}
	page, next, err := w.overview(noon.Add(24*time.Hour)).HistoryAcross(t.Context(), ofC, listing.Page{Top: 10, Filter: window})
	require.NoError(t, err)
	require.Equal(t, []string{"c/j 12", "c/j 11"}, names(page))
	require.Empty(t, next)
	require.LessOrEqual(t, w.reversed.Load(), int64(2), "of 100 runs")
}

// A job that does not answer is given up after 10 s, and a page with too many of them after 22 s.
func TestAPageEndsThoughJobsDoNotAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ jobs, takes int }{{1, 10}, {50, 11}, {3000, 22}} {
		t.Run(fmt.Sprint(tt.jobs), func(t *testing.T) {
			t.Parallel()
			for list, read := range map[string]func(context.Context, *overview.Overview) (int, error){
				"history": func(ctx context.Context, v *overview.Overview) (int, error) {
					page, _, err := v.HistoryAcross(ctx, ofC, listing.Page{Top: 100})
					return len(page), err
				},
				"upcoming": func(ctx context.Context, v *overview.Overview) (int, error) {
					page, _, err := v.Upcoming(ctx, ofC, noon.Add(time.Hour), listing.Page{Top: 100})
					return len(page), err
				},
			} {
				synctest.Test(t, func(t *testing.T) {
					w := newTown(t)
					for i := range tt.jobs {
						w.add("c", fmt.Sprint("job", i), nil)
					}
					w.hanging = true
					begin := time.Now()
					entries, err := read(t.Context(), w.overview(noon))
					require.LessOrEqual(t, time.Since(begin), time.Duration(tt.takes+1)*time.Second, list)
					if tt.jobs == 3000 {
						require.Equal(t, job.KindUnavailable, job.KindOf(err), list)
						require.ErrorContains(t, err, "of 3000 jobs were read in time", list)
						return
					}
					require.NoError(t, err, list)
					require.Equal(t, tt.jobs, entries, "each is an entry with the reason in the list %s", list)
				})
			}
		})
	}
}

func TestAPageWhoseTimeEndsLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		const jobs, each = 5, 20
		want := map[string]int{}
		for i := range jobs {
			k := w.add("c", fmt.Sprint("job", i), nil)
			apart := 4 * time.Minute
			if i >= 3 { // the first entries of these go back further than those of the others
				apart = time.Hour
			}
			for n := range each {
				w.ran(k, noon.Add(-time.Duration(each-n)*apart-time.Duration(i)*time.Minute), 0, job.OutcomeCompleted)
			}
		}
		for _, name := range names(pages(t, w.overview(noon), ofC, listing.Page{Top: 1000}, nil)) {
			want[name]++
		}
		require.Len(t, want, jobs*each)

		w.hangs = w.reversed.Load() + jobs // each history is read once
		v, got, unread := w.overview(noon), map[string]int{}, map[string]bool{}
		p := listing.Page{Top: 1000}
		for {
			page, next, err := v.HistoryAcross(t.Context(), ofC, p)
			require.NoError(t, err)
			w.hangs = 0
			for i, name := range names(page) {
				if page[i].Unread != "" {
					unread[page[i].Key.Name] = true
				} else {
					got[name]++
				}
			}
			if p.After = next; next == "" {
				break
			}
		}
		require.Len(t, unread, 2, "two wait for 10 s, and the page ends")
		for name := range want {
			if job, _, _ := strings.Cut(strings.TrimPrefix(name, "c/"), " "); !unread[job] {
				require.Equal(t, 1, got[name], name)
			}
		}
	})
}

func TestAContinuationThatNoListReturnedIsRefused(t *testing.T) {
	t.Parallel()
	v := newTown(t).overview(noon)
	for _, after := range []string{"x", "e30", "bm90aGluZw", "~"} {
		_, _, err := v.HistoryAcross(t.Context(), ofC, listing.Page{Top: 1, After: after})
		require.Equal(t, job.KindInvalid, job.KindOf(err), after)
		_, _, err = v.Upcoming(t.Context(), ofC, noon, listing.Page{Top: 1, After: after})
		require.Equal(t, job.KindInvalid, job.KindOf(err), after)
	}
}
