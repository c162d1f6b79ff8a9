package overview_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/overview"
)

// every makes a job repeat, with its next occurrence at next, of which the recurrence is in phase.
func every(r job.Recurrence, next string) func(*job.Job) {
	return func(j *job.Job) {
		j.Definition.Recurrence = &r
		j.Definition.StartTime = job.NewTime(at(next))
		j.Status.NextExecutionTime = job.NewTime(at(next))
	}
}

func minutes(n int) job.Recurrence { return job.Recurrence{Frequency: "minute", Interval: n} }

// due lists all occurrences up to until, page by page, as the job and the minute, or why it could not be read.
func due(t *testing.T, v *overview.Overview, s listing.Scope, until time.Time, p listing.Page) []string {
	t.Helper()
	return dueAs(t, v, s, until, p, "15:04:05")
}

// dueOn is due with days.
func dueOn(t *testing.T, v *overview.Overview, s listing.Scope, until time.Time, p listing.Page) []string {
	t.Helper()
	return dueAs(t, v, s, until, p, "01-02 15:04")
}

func dueAs(t *testing.T, v *overview.Overview, s listing.Scope, until time.Time, p listing.Page, layout string) (all []string) {
	t.Helper()
	for {
		page, next, err := v.Upcoming(t.Context(), s, until, p)
		require.NoError(t, err)
		for _, o := range page {
			what := o.Due.Format(layout)
			if o.Unread != "" {
				what = o.Unread
			}
			all = append(all, o.Key.Collection.Name+"/"+o.Key.Name+" "+what)
		}
		if next == "" {
			return all
		}
		require.Len(t, page, p.Top, "only the last page is shorter")
		p.After = next
		until = time.Time{} // the first page decided
	}
}

func TestOccurrencesOfManyJobsComeInTheOrderOfTheirDueTimes(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.add("c", "quarter", every(minutes(15), "2026-03-01T12:15:00Z"))
	w.add("c", "half", every(minutes(30), "2026-03-01T12:00:00Z")) // due now
	w.add("d", "once", func(j *job.Job) { j.Status.NextExecutionTime = job.NewTime(noon.Add(31 * time.Minute)) })
	w.add("d", "later", every(minutes(1), "2026-03-01T13:00:01Z"))
	w.add("d", "soonOver", every(job.Recurrence{Frequency: "minute", Interval: 10, EndTime: job.NewTime(noon.Add(20 * time.Minute))}, "2026-03-01T12:10:00Z"))
	w.add("d", "disabled", func(j *job.Job) {
		every(minutes(1), "2026-03-01T12:01:00Z")(j)
		j.Definition.State = job.StateDisabled
	})
	w.add("d", "over", func(j *job.Job) { j.Definition.State, j.Status.Reason = job.StateCompleted, "over" })
	w.add("off", "j", every(minutes(1), "2026-03-01T12:01:00Z"))
	w.disabled["off"] = true
	want := []string{
		"d/soonOver 12:10:00", "c/quarter 12:15:00", "d/soonOver 12:20:00", "c/half 12:30:00", "c/quarter 12:30:00", "d/once 12:31:00",
		"c/quarter 12:45:00", "c/half 13:00:00", "c/quarter 13:00:00",
	}
	for _, top := range []int{1, 2, 100} {
		require.Equal(t, want, due(t, w.overview(noon), everything, noon.Add(time.Hour), listing.Page{Top: top}), "by %d", top)
	}
	require.Equal(t, []string{"c/quarter 12:15:00", "c/half 12:30:00", "c/quarter 12:30:00"}, due(t, w.overview(noon), ofC, noon.Add(30*time.Minute), listing.Page{Top: 2}))
	require.Equal(t, []string{"c/half 12:30:00"}, due(t, w.overview(noon), everything, noon.Add(30*time.Minute), listing.Page{Top: 2, Filter: listing.Filter{NamePrefix: "ha"}}))
}

// A view shows some jobs, by collection.
type view map[string][]string

func (v view) ShowsCollection(job.CollectionKey) bool { return false }
func (v view) ShowsJob(k job.Key) bool                { return slices.Contains(v[k.Collection.Name], k.Name) }
func (v view) ShowsWithin(k job.CollectionKey) bool   { return v[k.Name] != nil }

func TestListsAcrossJobsShowAndReadOnlyWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, c := range []string{"c", "d", "e"} {
		for _, name := range []string{"one", "two"} {
			k := w.add(c, name, every(minutes(30), "2026-03-01T12:30:00Z"))
			w.ran(k, noon.Add(-time.Minute), 0, job.OutcomeCompleted)
		}
	}
	w.broken[collectionKey("e").WorkflowID()] = true
	seen := view{"c": {"two"}, "d": {"one"}}
	for _, top := range []int{1, 100} {
		p := listing.Page{Top: top, View: seen}
		require.Equal(t, []string{"c/two 12:30:00", "d/one 12:30:00"}, due(t, w.overview(noon), everything, noon.Add(30*time.Minute), p), "nothing is said of e, which cannot be read")
		found := pages(t, w.overview(noon), everything, p, nil)
		require.Len(t, found, 2)
		require.Equal(t, []string{"two", "one"}, []string{found[0].Key.Name, found[1].Key.Name})
	}
	w.queried.Store(0)
	require.Empty(t, due(t, w.overview(noon), everything, noon.Add(time.Hour), listing.Page{Top: 9, View: view{}}))
	require.Zero(t, w.queried.Load())
}

func TestNoMoreOccurrencesAreListedThanTheCountLeaves(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	counted := func(count, executed int, next string) func(*job.Job) {
		return func(j *job.Job) {
			every(job.Recurrence{Frequency: "minute", Interval: 1, Count: count}, next)(j)
			j.Status.ExecutionCount = executed
		}
	}
	w.add("c", "two", counted(5, 3, "2026-03-01T12:01:00Z"))
	w.add("c", "last", counted(5, 9, "2026-03-01T12:01:00Z")) // it was run manually, and has an occurrence left
	// the first two of the three left came due since it was read
	w.add("c", "started", counted(5, 2, "2026-03-01T11:59:00Z"))
	want := []string{"c/last 12:01:00", "c/started 12:01:00", "c/two 12:01:00", "c/two 12:02:00"}
	for _, top := range []int{1, 100} {
		require.Equal(t, want, due(t, w.overview(noon), ofC, noon.Add(time.Hour), listing.Page{Top: top}))
	}
}

func TestOnlyJobsWhosePlanIsNotKnownAreRead(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	k := w.add("c", "j", every(minutes(30), "2026-03-01T12:30:00Z"))
	v := w.overview(noon)
	list := func() []string { return due(t, v, ofC, noon.Add(30*time.Minute), listing.Page{Top: 9}) }
	require.Equal(t, []string{"c/j 12:30:00"}, list())
	require.Equal(t, []string{"c/j 12:30:00"}, list())
	require.EqualValues(t, 1, w.queried.Load())

	w.disabled["c"] = true
	require.Empty(t, list(), "the state of the collection is read every time")
	w.disabled["c"] = false
	w.add("c", "new", every(minutes(20), "2026-03-01T12:20:00Z"))
	require.Equal(t, []string{"c/new 12:20:00", "c/j 12:30:00"}, list(), "and so are the names of its jobs")
	require.EqualValues(t, 2, w.queried.Load())

	j := w.jobs[k.WorkflowID()]
	every(minutes(10), "2026-03-01T12:10:00Z")(&j)
	w.jobs[k.WorkflowID()] = j
	v.Forget(k.WorkflowID())
	require.Equal(t, []string{"c/j 12:10:00", "c/j 12:20:00", "c/new 12:20:00", "c/j 12:30:00"}, list(), "a job that this process changed is read anew")
}

func TestAJobThatWasReadWhileItsCollectionWasDisabledIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	k := w.add("c", "j", func(j *job.Job) { j.Definition.Recurrence = &job.Recurrence{Frequency: "minute", Interval: 30} })
	v := w.overview(noon)
	require.Empty(t, due(t, v, ofC, noon.Add(time.Hour), listing.Page{Top: 9}), "it has not been told yet that the collection is enabled")
	j := w.jobs[k.WorkflowID()]
	every(minutes(30), "2026-03-01T12:30:00Z")(&j)
	w.jobs[k.WorkflowID()] = j
	require.Equal(t, []string{"c/j 12:30:00", "c/j 13:00:00"}, due(t, v, ofC, noon.Add(time.Hour), listing.Page{Top: 9}))
}

func TestAJobThatCannotBeReadComesBeforeTheOccurrences(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.add("c", "fine", every(minutes(30), "2026-03-01T12:30:00Z"))
	for _, name := range []string{"x", "y"} {
		w.broken[w.add("c", name, nil).WorkflowID()] = true
	}
	delete(w.jobs, w.add("c", "gone", nil).WorkflowID())
	w.add("c", "zone", every(job.Recurrence{Frequency: "day", Interval: 1, TimeZone: "No/Where"}, "2026-03-01T12:30:00Z"))
	w.add("d", "j", nil)
	w.broken[collectionKey("d").WorkflowID()] = true
	v := w.overview(noon)
	want := []string{
		"d/ " + broken, "c/x " + broken, "c/y " + broken,
		"c/zone " + unreadable, "c/fine 12:30:00", "c/fine 13:00:00",
	}
	require.Equal(t, want, due(t, v, everything, noon.Add(time.Hour), listing.Page{Top: 100}))
	require.Equal(t, want[:5], due(t, v, everything, noon.Add(30*time.Minute), listing.Page{Top: 3}))
}

func TestMoreJobsThanAListCoversAreRefused(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, c := range []string{"c", "d", "e"} {
		for i := range 7000 {
			w.names[c] = append(w.names[c], fmt.Sprint("job", i))
		}
	}
	_, _, err := w.overview(noon).Upcoming(t.Context(), everything, noon, listing.Page{Top: 1})
	require.Equal(t, job.KindInvalid, job.KindOf(err))
	require.EqualError(t, err, "There are 21000 jobs; a list across jobs covers 20000 at most. Ask for one job collection, or filter by the name of jobs.")
	_, _, err = w.overview(noon).HistoryAcross(t.Context(), everything, listing.Page{Top: 1, Filter: listing.Filter{Name: "job1"}})
	require.NoError(t, err)
}
