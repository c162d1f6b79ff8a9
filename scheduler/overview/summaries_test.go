package overview_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/listing"
	"almanac/scheduler/overview"
)

// shop fills a town with jobs of three hosts, some of them failing, disabled, over or without an outline.
func shop(w *town, r *rand.Rand, jobs int) {
	for i := range jobs {
		k := w.add([]string{"c", "d"}[i%2], fmt.Sprintf("Job%03d", r.IntN(900)*1000+i), nil)
		o := job.Outline{
			Created: noon.Add(-48 * time.Hour), StartTime: job.NewTime(noon.Add(-time.Duration(r.IntN(100_000)) * time.Second)),
			State: job.StateEnabled, Generation: i + 1, Type: kind.HTTPS, Host: fmt.Sprintf("host%d.example.com", r.IntN(3)),
		}
		if r.IntN(4) > 0 {
			o.Recurrence = &job.Recurrence{Frequency: []string{"minute", "hour", "day"}[r.IntN(3)], Interval: 1 + r.IntN(9)}
		}
		switch r.IntN(6) {
		case 0:
			o.State, o.Disabled, o.Inactive, o.Irregular = job.StateDisabled, true, true, noon.Add(-time.Hour)
		case 1:
			late := time.Duration(r.IntN(600)) * time.Second
			o.Irregular = noon.Add(-time.Minute)
			o.Recent.Add(job.Mark{Due: noon.Add(-time.Hour), Outcome: job.OutcomeFailed, Late: late}, noon)
		}
		w.outline(k, o, noon.Add(-time.Hour))
		if r.IntN(20) == 0 {
			w.unlisted[k.WorkflowID()] = true
		}
	}
}

// list reads all pages of summaries, and calls between before each page but the first.
func list(t *testing.T, v *overview.Overview, q listing.SummaryQuery, between func()) (all []listing.Summary) {
	t.Helper()
	for {
		found, err := v.Summaries(t.Context(), everything, q)
		require.NoError(t, err)
		all = append(all, found.Page...)
		if q.After = found.Next; found.Next == "" {
			return all
		}
		if between != nil {
			between()
		}
	}
}

func namesOf(all []listing.Summary) (names []string) {
	for _, s := range all {
		names = append(names, s.Key.Collection.Name+"/"+s.Key.Name)
	}
	return names
}

func TestSummariesAreSearchedFilteredAndSorted(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(1, 1)), 200)
	v := w.overview(noon)
	all := list(t, v, listing.SummaryQuery{Page: listing.Page{Top: 1000}}, nil)
	require.Len(t, all, 200)
	requireCounts(t, v, all)
	less := map[listing.SummarySort]func(a, b *listing.Summary) int{
		"":                   func(a, b *listing.Summary) int { return strings.Compare(a.Key.Name, b.Key.Name) },
		listing.SortName:     func(a, b *listing.Summary) int { return strings.Compare(a.Key.Name, b.Key.Name) },
		listing.SortNext:     func(a, b *listing.Summary) int { return a.Next.Compare(b.Next) },
		listing.SortLateness: func(a, b *listing.Summary) int { return int(a.Late - b.Late) },
		listing.SortState:    func(a, b *listing.Summary) int { return strings.Compare(string(a.State), string(b.State)) },
		listing.SortHost:     func(a, b *listing.Summary) int { return strings.Compare(a.Host, b.Host) },
	}
	selects := map[string]struct {
		q    listing.SummaryQuery
		does func(s *listing.Summary) bool
	}{
		"all":      {listing.SummaryQuery{}, func(*listing.Summary) bool { return true }},
		"a host":   {listing.SummaryQuery{Search: []string{"host1"}}, func(s *listing.Summary) bool { return s.Host == "host1.example.com" }},
		"words":    {listing.SummaryQuery{Search: []string{"every", "c/job"}}, func(s *listing.Summary) bool { return s.When != "once" && s.Key.Collection.Name == "c" }},
		"nothing":  {listing.SummaryQuery{Search: []string{"no such"}}, func(*listing.Summary) bool { return false }},
		"disabled": {listing.SummaryQuery{Page: listing.Page{Filter: listing.Filter{State: job.StateDisabled}}}, func(s *listing.Summary) bool { return s.State == job.StateDisabled }},
		"failed":   {listing.SummaryQuery{Page: listing.Page{Filter: listing.Filter{LastOutcome: job.OutcomeFailed}}}, func(s *listing.Summary) bool { return s.Last == job.OutcomeFailed }},
		"late": {listing.SummaryQuery{Page: listing.Page{Filter: listing.Filter{Lateness: listing.Span{From: time.Minute, Before: listing.Unlimited}}}},
			func(s *listing.Summary) bool { return s.Late >= time.Minute }},
		"soon": {listing.SummaryQuery{Page: listing.Page{Filter: listing.Filter{Next: listing.Period{Before: noon.Add(time.Hour)}}}},
			func(s *listing.Summary) bool { return !s.Next.IsZero() && s.Next.Before(noon.Add(time.Hour)) }},
	}
	for what, tt := range selects {
		for sort, compare := range less {
			for _, down := range []bool{false, true} {
				want := slices.Clone(all)
				want = slices.DeleteFunc(want, func(s listing.Summary) bool { return !tt.does(&s) })
				slices.SortStableFunc(want, func(a, b listing.Summary) int { return strings.Compare(a.Key.Name, b.Key.Name) })
				slices.SortStableFunc(want, func(a, b listing.Summary) int {
					if sort == listing.SortNext && a.Next.IsZero() != b.Next.IsZero() {
						return map[bool]int{true: 1, false: -1}[a.Next.IsZero()]
					}
					if down {
						return -compare(&a, &b)
					}
					return compare(&a, &b)
				})
				q := tt.q
				q.Top, q.Sort, q.Descending = 7, sort, down
				require.Equal(t, namesOf(want), namesOf(list(t, v, q, nil)), "%s by %s, %t", what, sort, down)
				found, err := v.Summaries(t.Context(), everything, q)
				require.NoError(t, err)
				require.Equal(t, []int{200, len(want)}, []int{found.Total, found.Matching}, what)
			}
		}
	}
}

func TestPagesOfSummariesStayRightWhileJobsComeAndGo(t *testing.T) {
	t.Parallel()
	for _, sort := range []listing.SummarySort{listing.SortName, listing.SortNext, listing.SortHost} {
		w, r := newTown(t), rand.New(rand.NewPCG(2, 2))
		shop(w, r, 200)
		now := noon
		v := w.overviewBy(func() time.Time { return now })
		stay := map[string]int{}
		for _, s := range list(t, v, listing.SummaryQuery{Page: listing.Page{Top: 1000}}, nil) {
			stay[s.Key.WorkflowID()] = 0
		}
		n := 0
		got := list(t, v, listing.SummaryQuery{Page: listing.Page{Top: 9}, Sort: sort}, func() {
			n++
			now = now.Add(2 * time.Minute) // jobs come due meanwhile
			w.outline(w.add("c", fmt.Sprintf("New%03d", r.IntN(900)*1000+n), nil), job.Outline{Created: noon, State: job.StateEnabled}, now)
			i := r.IntN(len(w.names["d"]))
			delete(stay, collectionKey("d").Job(w.names["d"][i]).WorkflowID())
			w.names["d"] = slices.Delete(w.names["d"], i, i+1)
		})
		for _, s := range got {
			if _, ok := stay[s.Key.WorkflowID()]; ok {
				stay[s.Key.WorkflowID()]++
			}
		}
		require.Equal(t, []int{1}, slices.Compact(slices.Sorted(maps.Values(stay))), "%s: each job that was there all the time is on one page", sort)
	}
}

func TestWhatBecameOfTheLastOccurrencesIsKnownWithoutAskingTheJob(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	marks := func(o job.Outline) (got []string) {
		o.Created = cmpTime(o.Created, noon.Add(-100*time.Hour))
		k := w.add("c", fmt.Sprint("j", len(w.jobs)), nil)
		w.outline(k, o, noon)
		found, err := w.overview(noon).Summaries(t.Context(), ofC, listing.SummaryQuery{Page: listing.Page{Top: 100, Filter: listing.Filter{Name: k.Name}}})
		require.NoError(t, err)
		require.Len(t, found.Page, 1)
		for _, m := range found.Page[0].Recent {
			require.Equal(t, m.Outcome == job.OutcomeCompleted, m.Assumed, "no job recorded a success here")
			got = append(got, m.Due.Format("15:04 ")+string(m.Outcome))
		}
		return append(got, string(found.Page[0].State))
	}
	hourly := &job.Recurrence{Frequency: "hour", Interval: 1}
	at := func(hours float64) time.Time { return noon.Add(time.Duration(hours * float64(time.Hour))) }
	failed := func(due time.Time) job.Recent {
		var r job.Recent
		r.Add(job.Mark{Due: due, Outcome: job.OutcomeFailed}, due)
		return r
	}
	require.Equal(t, []string{"09:00 Completed", "10:00 Completed", "11:00 Completed", "enabled"},
		marks(job.Outline{Created: at(-3.5), StartTime: job.NewTime(at(-24)), Recurrence: hourly}), "that of noon is not known yet")
	require.Equal(t, []string{"10:00 Failed", "11:00 Completed", "enabled"},
		marks(job.Outline{StartTime: job.NewTime(at(-24)), Recurrence: hourly, Recent: failed(at(-2)), Irregular: at(-1.9)}))
	require.Equal(t, []string{"10:00 Failed", "disabled"},
		marks(job.Outline{StartTime: job.NewTime(at(-24)), Recurrence: hourly, Recent: failed(at(-2)), Irregular: at(-1.9), Inactive: true, Disabled: true}))
	require.Equal(t, []string{"10:00 Failed", "faulted"},
		marks(job.Outline{StartTime: job.NewTime(at(-2)), Recent: failed(at(-2)), Irregular: at(-1.9)}))
	require.Equal(t, []string{"10:00 Completed", "completed"}, marks(job.Outline{StartTime: job.NewTime(at(-2))}))
	many := marks(job.Outline{StartTime: job.NewTime(at(-50)), Recurrence: hourly})
	require.Len(t, many, 21)
	require.Equal(t, []string{"16:00 Completed", "11:00 Completed"}, []string{many[0], many[19]})
}

func cmpTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func TestAJobThatThisProcessChangedIsShownAsItIs(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(3, 3)), 100)
	v := w.overview(noon)
	k := collectionKey("c").Job(w.names["c"][0])
	read := func() listing.Summary {
		found, err := v.Summaries(t.Context(), ofC, listing.SummaryQuery{Page: listing.Page{Top: 100, Filter: listing.Filter{Name: k.Name}}})
		require.NoError(t, err)
		require.Len(t, found.Page, 1)
		return found.Page[0]
	}
	before := read()
	changed := w.outlines[k.WorkflowID()]
	changed.Host, changed.Generation = "another.example.com", 99
	w.outline(k, changed, noon)
	require.Equal(t, before, read(), "Temporal's lists are read every 5 s")
	v.Forget(k.WorkflowID())
	require.Equal(t, "another.example.com", read().Host)
	require.Equal(t, 99, read().Generation)
}

// Its collection is paused seconds after this process changed the job.
func TestAJobThatThisProcessChangedIsShownAsOthersChangedItSince(t *testing.T) {
	t.Parallel()
	w, now := newTown(t), noon
	shop(w, rand.New(rand.NewPCG(3, 3)), 100)
	v := w.overviewBy(func() time.Time { return now })
	k := collectionKey("c").Job(w.names["c"][0])
	outline := func(inactive bool) {
		now = now.Add(5 * time.Second)
		o := job.Outline{
			Created: noon.Add(-48 * time.Hour), Recurrence: &job.Recurrence{Frequency: "day", Interval: 1}, State: job.StateEnabled,
			Inactive: inactive, Irregular: now.Add(time.Second),
		}
		w.outline(k, o, now)
	}
	read := func() listing.Summary {
		now = now.Add(5 * time.Second)
		found, err := v.Summaries(t.Context(), ofC, listing.SummaryQuery{Page: listing.Page{Top: 100, Filter: listing.Filter{Name: k.Name}}})
		require.NoError(t, err)
		require.Len(t, found.Page, 1)
		return found.Page[0]
	}
	read()
	outline(false)
	v.Forget(k.WorkflowID())
	require.False(t, read().Next.IsZero())
	outline(true)
	require.True(t, read().CollectionDisabled)
	require.True(t, read().Next.IsZero())
}

func TestAJobOrCollectionThatCannotBeReadIsASummaryWithTheReason(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(4, 4)), 20)
	w.add("c", "plain", nil) // without an outline
	w.add("e", "j", nil)
	w.broken[collectionKey("e").WorkflowID()] = true
	gone := w.add("d", "gone", nil)
	delete(w.runs, gone.WorkflowID())
	for _, sort := range []listing.SummarySort{listing.SortName, listing.SortNext} {
		all := list(t, w.overview(noon), listing.SummaryQuery{Page: listing.Page{Top: 5}, Sort: sort}, nil)
		require.Len(t, all, 22, "but that which is gone")
		unread := map[string]string{}
		for _, s := range all {
			if s.Unread != "" {
				unread[s.Key.Collection.Name+"/"+s.Key.Name] = s.Unread
			}
		}
		require.Equal(t, map[string]string{"e/": broken, "c/plain": "what Temporal shows of it cannot be read by this API; read the job itself"}, unread)
	}
}

func TestAContinuationThatNoListOfSummariesReturnedIsRefused(t *testing.T) {
	t.Parallel()
	v := newTown(t).overview(noon)
	for _, after := range []string{"x", "e30", "bm90aGluZw", "~"} {
		_, err := v.Summaries(t.Context(), ofC, listing.SummaryQuery{Page: listing.Page{Top: 1, After: after}})
		require.Equal(t, job.KindInvalid, job.KindOf(err), after)
	}
}

func TestAScopeWithoutJobsIsNeitherListedNorRemembered(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.names["empty"] = nil
	v := w.overview(noon)
	for i := range 50 {
		made := listing.Scope{Subscription: fmt.Sprint("s", i)}
		found, err := v.Summaries(t.Context(), made, listing.SummaryQuery{Page: listing.Page{Top: 10}})
		require.NoError(t, err)
		require.Equal(t, []any{0, noon}, []any{found.Total, found.AsOf})
	}
	empty := listing.Scope{Subscription: "s", ResourceGroup: "g", Collection: "empty"}
	_, err := v.Summaries(t.Context(), empty, listing.SummaryQuery{Page: listing.Page{Top: 10}})
	require.NoError(t, err)
	require.Zero(t, w.listed.Load())
	require.Zero(t, overview.Lists(v))
}

func TestListsThatNobodyAsksForAreForgotten(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(5, 5)), 20)
	now := noon
	v := w.overviewBy(func() time.Time { return now })
	read := func(collection string) {
		_, err := v.Summaries(t.Context(), listing.Scope{Subscription: "s", ResourceGroup: "g", Collection: collection},
			listing.SummaryQuery{Page: listing.Page{Top: 10}})
		require.NoError(t, err)
	}
	read("c")
	read("d")
	require.Equal(t, 2, overview.Lists(v))
	now = now.Add(2 * time.Hour)
	read("c")
	require.Equal(t, 1, overview.Lists(v))
}

func TestTheListOfAGroupServesItsCollections(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(6, 6)), 20)
	v := w.overview(noon)
	for _, s := range []listing.Scope{{Subscription: "s", ResourceGroup: "G"}, ofC} {
		_, err := v.Summaries(t.Context(), s, listing.SummaryQuery{Page: listing.Page{Top: 10}})
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, w.listed.Load())
}

func TestAListThatTakesLongIsReadForThoseWhoAskNext(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(7, 7)), 20)
	var now atomic.Pointer[time.Time]
	set := func(at time.Time) { now.Store(&at) }
	set(noon)
	v := w.overviewBy(func() time.Time { return *now.Load() })
	asOf := func() time.Time {
		found, err := v.Summaries(t.Context(), everything, listing.SummaryQuery{Page: listing.Page{Top: 10}})
		require.NoError(t, err)
		require.Equal(t, 20, found.Total)
		return found.AsOf
	}
	require.Equal(t, noon, asOf())
	release := make(chan struct{})
	w.onList = func() { <-release }
	later := noon.Add(50 * time.Second)
	set(later)
	require.Equal(t, noon, asOf(), "nobody waits for the list")
	close(release)
	require.Eventually(t, func() bool { return asOf().Equal(later) }, 30*time.Second, time.Millisecond)
	require.EqualValues(t, 2, w.listed.Load())
	set(later.Add(time.Hour))
	require.Equal(t, later.Add(time.Hour), asOf(), "what is older is not shown")
}

func TestThoseWhoAskAtOnceShareOneList(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(7, 7)), 20)
	v := w.overview(noon)
	const callers = 8
	var all sync.WaitGroup
	first := make(chan struct{})
	begun := sync.OnceFunc(func() { close(first) })
	release := make(chan struct{})
	w.onList = func() { begun(); <-release }
	for i := range callers {
		all.Go(func() {
			if i > 0 {
				<-first
			}
			found, err := v.Summaries(t.Context(), everything, listing.SummaryQuery{Page: listing.Page{Top: 10}})
			if assert.NoError(t, err) { //nolint:testifylint // require may not end another goroutine
				assert.Equal(t, 20, found.Total)
			}
		})
	}
	<-first
	close(release)
	all.Wait()
	require.EqualValues(t, 1, w.listed.Load())
}

// requireCounts requires that the counts of collections and of the last day are those of all summaries.
func requireCounts(t *testing.T, v *overview.Overview, all []listing.Summary) {
	t.Helper()
	found, err := v.Summaries(t.Context(), everything, listing.SummaryQuery{Page: listing.Page{Top: 1}, Search: []string{"no such"}})
	require.NoError(t, err)
	var day listing.DayCounts
	jobs, failing, next := map[string]int{}, map[string]int{}, map[string]time.Time{}
	for _, s := range all {
		c := s.Key.Collection.Name
		jobs[c]++
		day.Late += s.Day.Late
		if s.Last == job.OutcomeFailed {
			failing[c]++
		}
		if was := next[c]; !s.Next.IsZero() && (was.IsZero() || s.Next.Before(was)) {
			next[c] = s.Next
		}
	}
	require.Positive(t, day.Late)
	require.Equal(t, day.Late, found.Counts.LastDay.Late)
	require.Len(t, found.Counts.Collections, 2)
	for _, c := range found.Counts.Collections {
		name := c.Key.Name
		require.Equal(t, []any{jobs[name], failing[name], next[name]}, []any{c.Jobs, c.Failing, c.Next}, name)
	}
}

// read reads a page of the jobs of all collections.
func read(t *testing.T, v *overview.Overview, top int) listing.Summaries {
	t.Helper()
	found, err := v.Summaries(t.Context(), everything, listing.SummaryQuery{Page: listing.Page{Top: top}})
	require.NoError(t, err)
	return found
}

func TestAJobThatCannotBeDecodedIsNotAskedAgain(t *testing.T) {
	workflowtest.UseZones(t, "2026a", pacific)
	w := newTown(t)
	for i := range 30 {
		w.outline(w.add("c", fmt.Sprint("j", i), nil), job.Outline{
			Created: noon.Add(-time.Hour), StartTime: job.NewTime(noon.Add(-time.Hour)), Recurrence: dailyInVancouver(9), ZoneRules: "others",
		}, noon)
	}
	for _, lists := range []bool{true, false} {
		w.unlist = !lists
		now := noon
		v := w.overviewBy(func() time.Time { return now })
		require.Equal(t, 30, read(t, v, 3).Counts.Unread)
		w.described.Store(0)
		now = now.Add(time.Minute)
		found := read(t, v, 3)
		require.Equal(t, 30, found.Counts.Unread)
		require.Contains(t, found.Page[0].Unread, "cannot be read by this API")
		require.LessOrEqual(t, w.described.Load(), int64(3), "those on the page, if the lists may be old")
	}
}

func TestWithoutTemporalsListsJobsAreShownAsOfWhenTheyWereRead(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(8, 8)), 40)
	clear(w.unlisted)
	now := noon
	v := w.overviewBy(func() time.Time { return now })
	require.Equal(t, noon, read(t, v, 5).AsOf)
	w.unlist = true
	now = noon.Add(time.Hour)
	w.described.Store(0)
	found := read(t, v, 5)
	require.Equal(t, noon, found.AsOf)
	require.Zero(t, found.Counts.Unread)
	require.EqualValues(t, 5, w.described.Load(), "those on the page")

	v = w.overviewBy(func() time.Time { return now }) // one that never had lists
	require.Equal(t, now, read(t, v, 5).AsOf)
	w.described.Store(0)
	now = now.Add(time.Minute)
	require.Equal(t, now.Add(-time.Minute), read(t, v, 5).AsOf)
	require.EqualValues(t, 5, w.described.Load(), "all were described before")
}

func TestAChangedJobThatCannotBeDescribedIsNotShownAsItWas(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	shop(w, rand.New(rand.NewPCG(9, 9)), 10)
	v := w.overview(noon)
	read(t, v, 10)
	k := collectionKey("c").Job(w.names["c"][0])
	v.Forget(k.WorkflowID())
	w.undescribed = k.WorkflowID()
	unread := map[string]string{}
	for _, s := range read(t, v, 10).Page {
		if s.Unread != "" {
			unread[s.Key.WorkflowID()] = s.Unread
		}
	}
	require.Len(t, unread, 1)
	require.NotEmpty(t, unread[k.WorkflowID()])
}

func TestASummarySaysByWhomAJobWasDisabledAndWhichRetryIsAwaited(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	by := &job.Disabling{At: noon.Add(-time.Hour), By: "ada"}
	hourly := &job.Recurrence{Frequency: "hour", Interval: 1}
	for name, o := range map[string]job.Outline{
		"off":  {State: job.StateDisabled, Disabled: true, Inactive: true, DisabledBy: by},
		"on":   {State: job.StateEnabled, Retry: &job.OutlineRetry{Attempt: 2, Max: 5, Next: noon.Add(time.Minute)}},
		"past": {State: job.StateEnabled, Retry: &job.OutlineRetry{Attempt: 2, Max: 5, Next: noon}},
	} {
		o.Created, o.Recurrence, o.Generation = noon.Add(-24*time.Hour), hourly, 1
		w.outline(w.add("c", name, nil), o, noon.Add(-time.Hour))
	}
	all := list(t, w.overview(noon), listing.SummaryQuery{Page: listing.Page{Top: 10}}, nil)
	require.Equal(t, []string{"c/off", "c/on", "c/past"}, namesOf(all))
	require.Equal(t, by, all[0].DisabledBy)
	require.Nil(t, all[0].Retry)
	require.Nil(t, all[1].DisabledBy)
	require.Equal(t, &job.OutlineRetry{Attempt: 2, Max: 5, Next: noon.Add(time.Minute)}, all[1].Retry)
	require.Nil(t, all[2].Retry, "its time has passed, so what became of it is not known")
}
