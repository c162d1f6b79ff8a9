package overview_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/timetable"
)

// A life is that of a job in the hours before noon: what ran, and the outline that its workflow shows.
type life struct {
	*rand.Rand
	outline job.Outline
	starts  map[time.Time]time.Time // the due times, by start
	busy    bool                    // an activity is pending
	retry   time.Time               // of that activity
}

// newLife makes a job up. Most jobs are regular.
func newLife(r *rand.Rand) *life {
	l := &life{Rand: r, starts: map[time.Time]time.Time{}}
	l.outline.Created = noon.Add(-time.Duration(1+r.IntN(72)) * time.Hour)
	l.reschedule()
	from := l.outline.Created
	if r.IntN(4) > 0 {
		l.run(from, noon)
		return l
	}
	at := noon.Add(-time.Duration(r.IntN(7200)) * time.Second)
	l.run(from, at)
	l.irregular(at)
	switch r.IntN(4) {
	case 0: // it was changed
		l.reschedule()
		l.run(at, noon)
	case 1: // it was disabled
		l.outline.Inactive, l.outline.Disabled = true, r.IntN(2) == 0
	case 2: // it was disabled for a while
		l.run(at.Add(20*time.Minute), noon)
	case 3: // it was created anew
		l.starts, l.outline.Created, l.outline.Irregular = map[time.Time]time.Time{}, at, time.Time{}
		l.run(at, noon)
	}
	for range r.IntN(3) {
		start := noon.Add(-time.Duration(r.IntN(7200)) * time.Second)
		if start.After(l.outline.Created) { // a manual run
			l.starts[start] = start
			l.irregular(start)
		}
	}
	return l
}

// reschedule gives the job another timetable.
func (l *life) reschedule() {
	phase := l.outline.Created.Truncate(time.Second).Add(time.Duration(l.IntN(3600)) * time.Second)
	l.outline.StartTime = job.NewTime(phase)
	switch l.IntN(5) {
	case 0:
		l.outline.Recurrence = nil
	case 1:
		l.outline.Recurrence = &job.Recurrence{Frequency: "minute", Interval: 1 + l.IntN(10)}
	default:
		l.outline.Recurrence = &job.Recurrence{Frequency: "hour", Interval: 1 + l.IntN(3)}
	}
}

// irregular notes that an entry that starts then is off the timetable.
func (l *life) irregular(start time.Time) {
	if until := start.Add(time.Duration(l.IntN(240)) * time.Second); until.After(l.outline.Irregular) {
		l.outline.Irregular = until
	}
}

// run executes what comes due in a time. One in 40 is late, and one in 100 is not settled.
func (l *life) run(from, until time.Time) {
	timetable, err := timetable.FromOutline(&l.outline)
	if err != nil {
		panic(err)
	}
	due := from
	for range 200 {
		next, ok := timetable.After(due)
		if !ok || next.After(until) {
			return
		}
		due = next
		start := due.Add(time.Duration(l.IntN(int(job.RegularDelay/time.Millisecond))) * time.Millisecond)
		if l.IntN(40) == 0 {
			start = start.Add(time.Duration(l.IntN(600)) * time.Second)
			l.irregular(start)
		}
		if retry := due.Add(70 * time.Second); noon.Sub(due) < job.SettledAfter && l.IntN(3) == 0 {
			// its activity is pending, and shows a retry
			l.busy = true
			if !retry.After(noon) {
				l.starts[retry] = due
			}
		}
		if !start.After(noon) {
			l.starts[start] = due
		}
	}
}

// settle fills a town with lives, and returns what a list of all has to be, newest first.
func settle(w *town, r *rand.Rand, jobs int) (want []listing.JobRecord) {
	for i := range jobs {
		collection := "c"
		if i%4 == 0 {
			collection = "d"
		}
		k := w.add(collection, fmt.Sprint("job", i), nil)
		l := newLife(r)
		id := k.WorkflowID()
		var starts []time.Time
		for start := range l.starts {
			starts = append(starts, start)
		}
		slices.SortFunc(starts, time.Time.Compare)
		failing := r.IntN(4) == 0
		for n, start := range starts {
			outcome := job.OutcomeCompleted
			if failing && r.IntN(10) == 0 {
				outcome = job.OutcomeFailed
				if !l.busy || noon.Sub(l.starts[start]) >= job.SettledAfter { // otherwise its workflow may not know yet
					l.irregular(start)
				}
			}
			w.ran(k, start, start.Sub(l.starts[start]), outcome)
			want = append(want, listing.JobRecord{Key: k, Record: job.Record{
				Execution: job.Execution{Repeat: n + 1, Due: l.starts[start], ActionName: job.MainAction},
				Attempt:   job.Attempt{Number: 1, Start: start, End: start.Add(time.Millisecond), Outcome: outcome},
			}})
		}
		w.outlines[id], w.busy[id] = l.outline, l.busy
		switch r.IntN(40) {
		case 0:
			w.unlisted[id] = true // it is new, or its run has just continued as new
		case 1:
			w.twice[id] = true // likewise
		case 2:
			delete(w.outlines, id) // it cannot be read
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

func TestNoEntryOfManyJobsIsMissingWhateverTheyDid(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			w := newTown(t)
			all := settle(w, r, manyJobs+20)
			broken := collectionKey("c").Job("job1")
			v := w.overview(noon)
			for n := range 14 {
				f := listing.Filter{Start: listing.Period{From: noon.Add(-time.Duration(r.IntN(7200)) * time.Second)}}
				if r.IntN(2) == 0 {
					f.Start.Before = f.Start.From.Add(time.Duration(r.IntN(2400)) * time.Second)
				}
				switch r.IntN(6) {
				case 0, 1:
					f.Status = job.OutcomeFailed
				case 2:
					f.Lateness = listing.Span{From: time.Duration(r.IntN(60)) * time.Second, Before: listing.Unlimited}
				}
				if r.IntN(4) == 0 {
					f.NamePrefix = "job" + fmt.Sprint(1+r.IntN(3))
				}
				scope, top := everything, 1+r.IntN(60)
				if r.IntN(3) == 0 {
					scope = ofC
				}
				w.unlist, w.broken[broken.WorkflowID()] = n == 5, n > 10
				var want []listing.JobRecord
				for _, e := range all {
					if f.MatchesRecord(&e.Record) && f.MatchesName(e.Key.Name) && (scope != ofC || e.Key.Collection.Name == "c") && (n <= 10 || e.Key != broken) {
						want = append(want, e)
					}
				}
				if r.IntN(3) == 0 {
					v = w.overview(noon) // which has read nothing
				}
				got := pages(t, v, scope, listing.Page{Top: top, Filter: f}, nil)
				got = slices.DeleteFunc(got, func(e listing.JobRecord) bool { return e.Unread != "" && e.Key == broken })
				require.Equal(t, names(want), names(got), "%+v by %d", f, top)
			}
		})
	}
}

// withdraw withdraws what has not begun, since the job is changed.
func (l *life) withdraw(now time.Time) {
	maps.DeleteFunc(l.starts, func(start, _ time.Time) bool { return start.After(now) })
	l.busy = false
	l.irregular(now)
}

// step lets time pass, and returns what began in it, oldest first.
func (l *life) step(from, until time.Time) (began []time.Time) {
	timetable, err := timetable.FromOutline(&l.outline)
	if err != nil {
		panic(err)
	}
	if l.busy && !l.retry.After(until) { // what was pending has ended
		l.busy = false
		l.irregular(until)
	}
	for due, ok := timetable.After(from); ok && !due.After(until) && !l.outline.Inactive; due, ok = timetable.After(due) {
		l.starts[due.Add(time.Duration(l.IntN(int(job.RegularDelay/time.Millisecond)))*time.Millisecond)] = due
		if retry := due.Add(70 * time.Second); l.IntN(10) == 0 && until.Sub(retry) < time.Minute {
			l.starts[retry], l.busy, l.retry = due, true, retry
		}
	}
	switch l.IntN(60) {
	case 0: // a manual run
		start := from.Add(time.Duration(1 + l.Int64N(int64(until.Sub(from)))))
		l.starts[start] = start
		l.irregular(start)
	case 1: // it is disabled or enabled, or so is its collection
		l.outline.Inactive, l.outline.Disabled = !l.outline.Inactive, l.IntN(2) == 0
		l.withdraw(until)
	case 2:
		l.reschedule()
		l.withdraw(until)
	}
	for start := range l.starts {
		if !start.After(until) {
			began = append(began, start)
		}
	}
	slices.SortFunc(began, time.Time.Compare)
	return began
}

// Of what one page has shown, the next one makes use.
func TestNoEntryIsMissingWhileJobsGoOn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 4))
			w, now := newTown(t), noon
			w.untold = seed%3 == 2
			w.older = seed%3 == 1
			v := w.overviewBy(func() time.Time { return now })
			lives := map[job.Key]*life{}
			var keys []job.Key
			for i := range manyJobs + 5 {
				l := &life{Rand: r, starts: map[time.Time]time.Time{}}
				l.outline.Created = noon.Add(-time.Hour)
				l.reschedule()
				k := w.add("c", fmt.Sprint("job", i), nil)
				keys, lives[k] = append(keys, k), l
			}
			var all []listing.JobRecord
			shown := map[job.Key]int{}
			for range 25 {
				before := now
				// Temporal's list is read for each first page
				now = now.Add(time.Duration(15+r.IntN(225)) * time.Second)
				for _, k := range keys {
					l := lives[k]
					for _, start := range l.step(before, now) {
						shown[k]++
						outcome := job.OutcomeCompleted
						if shown[k]%4 == 0 && k.Name < "job2" {
							outcome = job.OutcomeFailed
							if !l.busy { // otherwise its workflow does not know yet
								l.irregular(now)
							}
						}
						w.ran(k, start, 0, outcome)
						delete(l.starts, start)
						all = append(all, listing.JobRecord{Key: k, Record: job.Record{Execution: job.Execution{Repeat: shown[k]}, Attempt: job.Attempt{Start: start, Outcome: outcome}}})
					}
					w.busy[k.WorkflowID()] = l.busy
					w.outline(k, l.outline, now.Add(-time.Duration(r.IntN(55))*time.Second)) // by another clock
				}
				slices.SortFunc(all, func(a, b listing.JobRecord) int {
					if c := b.Start.Compare(a.Start); c != 0 {
						return c
					}
					return strings.Compare(a.Key.WorkflowID(), b.Key.WorkflowID())
				})
				top := 1 + r.IntN(200)
				p := listing.Page{Top: top}
				if r.IntN(3) == 0 {
					p.Filter.Start.Before = now.Add(-time.Duration(r.IntN(600)) * time.Second)
				}
				if r.IntN(3) == 0 {
					p.Filter.Status = job.OutcomeFailed
				}
				want := slices.DeleteFunc(slices.Clone(all), func(e listing.JobRecord) bool { return !p.Filter.MatchesRecord(&e.Record) })
				page, next, err := v.HistoryAcross(t.Context(), ofC, p)
				require.NoError(t, err)
				require.Equal(t, names(want[:min(top, len(want))]), names(page))
				if next != "" && r.IntN(2) == 0 {
					p.After = next
					page, _, err = v.HistoryAcross(t.Context(), ofC, p)
					require.NoError(t, err)
					require.Equal(t, names(want[top:min(2*top, len(want))]), names(page))
				}
			}
		})
	}
}

func TestFewOfManyJobsAreAskedForAPage(t *testing.T) {
	t.Parallel()
	const jobs, top = 2000, 20
	w := newTown(t)
	for i := range jobs {
		due := noon.Add(-time.Duration(i) * time.Hour / jobs).Truncate(time.Second)
		k := w.add("c", fmt.Sprint("job", i), nil)
		w.outline(k, job.Outline{
			Created: noon.Add(-30 * time.Hour), StartTime: job.NewTime(due.Add(-24 * time.Hour)), Recurrence: &job.Recurrence{Frequency: "hour"},
		}, noon.Add(-30*time.Hour))
		w.ran(k, due.Add(100*time.Millisecond), 100*time.Millisecond, job.OutcomeCompleted)
	}
	now := noon
	v := w.overviewBy(func() time.Time { return now })
	read := func(after string) (page []listing.JobRecord, next string) {
		w.described.Store(0)
		w.read.Store(0)
		page, next, err := v.HistoryAcross(t.Context(), ofC, listing.Page{Top: top, After: after})
		require.NoError(t, err)
		require.Less(t, w.described.Load()+w.read.Load(), int64(jobs/4), "those of which their outlines leave open what they have on the page")
		return page, next
	}
	first, next := read("")
	require.Len(t, first, top)
	w.listed.Store(0)
	page, _ := read(next)
	require.Len(t, page, top)
	require.Zero(t, w.listed.Load(), "the outlines are known")
	now = noon.Add(10 * time.Second)
	again, _ := read("")
	require.Equal(t, names(first), names(again), "nothing ran since")
	ran := collectionKey("c").Job("job1999")
	w.ran(ran, now.Add(-time.Second), 0, job.OutcomeCompleted)
	v.Forget(ran.WorkflowID()) // it was run by this process
	again, _ = read("")
	require.Equal(t, ran, again[0].Key)
}

func TestOnlyOutlinesThatHaveChangedAreReadAgain(t *testing.T) {
	t.Parallel()
	const jobs = 1000
	w, now := newTown(t), noon
	daily := job.Outline{Created: noon.Add(-30 * time.Hour), StartTime: job.NewTime(noon.Add(-20 * time.Hour)), Recurrence: &job.Recurrence{Frequency: "day"}}
	var keys []job.Key
	for i := range jobs {
		k := w.add("c", fmt.Sprint("job", i), nil)
		keys = append(keys, k)
		w.outline(k, daily, noon.Add(-20*time.Hour))
		w.ran(k, noon.Add(-20*time.Hour), 0, job.OutcomeCompleted)
	}
	v := w.overviewBy(func() time.Time { return now })
	first := func(s listing.Scope) (page []listing.JobRecord, listed int64) {
		w.listedJobs.Store(0)
		page, _, err := v.HistoryAcross(t.Context(), s, listing.Page{Top: 10})
		require.NoError(t, err)
		return page, w.listedJobs.Load()
	}
	v.Warm(t.Context(), "s")
	require.Equal(t, int64(jobs), w.listedJobs.Load())
	_, listed := first(ofC)
	require.Zero(t, listed, "all of the subscription are known")

	now = now.Add(5 * time.Minute)
	w.ran(keys[7], now, 0, job.OutcomeCompleted) // a manual run
	run := daily
	run.Irregular = now.Add(time.Minute)
	w.outline(keys[7], run, now)
	now = now.Add(10 * time.Second)
	page, listed := first(ofC)
	require.Equal(t, int64(1), listed)
	require.Equal(t, keys[7], page[0].Key)
	_, listed = first(everything)
	require.Zero(t, listed, "it has just been read")

	now = now.Add(8 * time.Hour)
	page, listed = first(ofC)
	require.Equal(t, int64(jobs), listed, "all are read again after an hour")
	require.Equal(t, keys[7], page[0].Key)
}

func TestOfManyJobsThoseAloneAreReadThatHaveWhatIsOutOfTheOrdinary(t *testing.T) {
	t.Parallel()
	const jobs = 2000
	w := newTown(t)
	for i := range jobs {
		due := noon.Add(-time.Duration(i) * time.Hour / jobs).Truncate(time.Second)
		k := w.add("c", fmt.Sprint("job", i), nil)
		start, outcome := due.Add(100*time.Millisecond), job.OutcomeCompleted
		o := job.Outline{Created: noon.Add(-30 * time.Hour), StartTime: job.NewTime(due.Add(-24 * time.Hour)), Recurrence: &job.Recurrence{Frequency: "hour"}}
		switch i % 100 {
		case 7:
			outcome, o.Irregular = job.OutcomeFailed, start.Add(2*time.Minute)
		case 8:
			start = due.Add(2 * time.Minute)
			o.Irregular = start.Add(2 * time.Minute)
		}
		w.outlines[k.WorkflowID()] = o
		w.ran(k, start, start.Sub(due), outcome)
	}
	for name, tt := range map[string]struct {
		filter listing.Filter
		want   int
	}{
		"failures":         {listing.Filter{Status: job.OutcomeFailed}, 20},
		"late ones":        {listing.Filter{Lateness: listing.Span{From: time.Minute, Before: listing.Unlimited}}, 20},
		"what has not run": {listing.Filter{Status: job.OutcomeMissed}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w.described.Store(0)
			w.reversed.Store(0)
			page, next, err := w.overview(noon).HistoryAcross(t.Context(), ofC, listing.Page{Top: 100, Filter: tt.filter})
			require.NoError(t, err)
			require.Empty(t, next)
			require.Len(t, page, tt.want)
			require.Less(t, w.described.Load()+w.reversed.Load(), int64(jobs/4), "those that came due lately, and those that were out of the ordinary")
		})
	}
}

func TestOfJobsThatAreHeldOnlyThoseAreReadThatHaveSentOrFailed(t *testing.T) {
	t.Parallel()
	const jobs = 100
	w := newTown(t)
	for i := range jobs {
		k := w.add("c", fmt.Sprint("job", i), nil)
		id := k.WorkflowID()
		o := job.Outline{Created: noon.Add(-time.Hour), StartTime: job.NewTime(noon.Add(-time.Hour)), Recurrence: &job.Recurrence{Frequency: "minute"}}
		outcome := job.OutcomeCompleted
		switch w.pending[id] = (activities.Progress{}); i {
		case 3: // its last attempt is under way
			w.pending[id] = activities.Progress{Sent: 1}
		case 4: // it waits for a retry
			w.pending[id] = activities.Progress{Sent: 1, Attempts: []job.Attempt{{Outcome: job.OutcomeFailed}}}
		case 5:
			outcome, o.Irregular = job.OutcomeFailed, noon.Add(-time.Second)
		}
		w.outlines[id] = o
		w.ran(k, noon.Add(-2*time.Second), 0, outcome)
	}
	v := w.overview(noon)
	page, _, err := v.HistoryAcross(t.Context(), ofC, listing.Page{Top: 100, Filter: listing.Filter{Status: job.OutcomeFailed}})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, "job5", page[0].Key.Name)
	require.EqualValues(t, 3, w.reversed.Load(), "histories")
	w.described.Store(0)
	page, _, err = v.HistoryAcross(t.Context(), ofC, listing.Page{Top: 100, Filter: listing.Filter{Status: job.OutcomeMissed}})
	require.NoError(t, err)
	require.Empty(t, page)
	require.Less(t, w.described.Load(), int64(10), "the others were asked for the list before")
}

func TestTheHistoriesOfAHerdAreReadOnce(t *testing.T) {
	t.Parallel()
	const jobs = 1000
	w := newTown(t)
	due := noon.Add(-10 * time.Minute)
	for i := range jobs {
		k := w.add("c", fmt.Sprint("job", i), nil)
		w.outlines[k.WorkflowID()] = job.Outline{Created: noon.Add(-time.Hour), StartTime: job.NewTime(due), Recurrence: &job.Recurrence{Frequency: "hour"}}
		w.ran(k, due.Add(time.Duration(i)*time.Millisecond), 0, job.OutcomeCompleted)
	}
	v := w.overview(noon)
	var read []int64
	for range 2 {
		w.read.Store(0)
		page, _, err := v.HistoryAcross(t.Context(), ofC, listing.Page{Top: 100})
		require.NoError(t, err)
		require.Equal(t, "job999", page[0].Key.Name)
		require.Equal(t, "job900", page[99].Key.Name)
		read = append(read, w.read.Load())
	}
	require.GreaterOrEqual(t, read[0], int64(jobs), "all came due at once, so their order is in their histories")
	require.Less(t, read[1], int64(jobs/2))
	require.EqualValues(t, jobs/100, w.listed.Load(), "Temporal's list is read once in some seconds")
	v.Forget(collectionKey("c").Job("job3").WorkflowID())
	w.ran(collectionKey("c").Job("job3"), noon.Add(-time.Second), 0, job.OutcomeCompleted)
	o := w.outlines[collectionKey("c").Job("job3").WorkflowID()]
	o.Irregular = noon
	w.outlines[collectionKey("c").Job("job3").WorkflowID()] = o
	page, _, err := v.HistoryAcross(t.Context(), ofC, listing.Page{Top: 100})
	require.NoError(t, err)
	require.Equal(t, "job3", page[0].Key.Name, "it ran since")
}

func TestAJobThatThisProcessChangedIsAskedAlthoughTheListsOfTemporalDoNotShowIt(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for i := range manyJobs {
		k := w.add("c", fmt.Sprint("job", i), nil)
		w.outlines[k.WorkflowID()] = job.Outline{Created: noon.Add(-time.Hour), StartTime: job.NewTime(noon.Add(time.Hour)), Recurrence: &job.Recurrence{Frequency: "hour"}}
	}
	k := collectionKey("c").Job("job7")
	w.ran(k, noon.Add(-time.Second), 0, job.OutcomeCompleted) // manually
	v := w.overview(noon)
	v.Forget(k.WorkflowID())
	w.busy[k.WorkflowID()] = true // so that it shows no outline
	require.Equal(t, []string{"c/job7 1"}, names(pages(t, v, ofC, listing.Page{Top: 9}, nil)))
}

func TestWhatIsNextIsKnownFromOutlines(t *testing.T) {
	t.Parallel()
	const jobs = 200
	w := newTown(t)
	var want []string
	for i := range jobs {
		o := job.Outline{Created: noon.Add(-time.Hour), StartTime: job.NewTime(noon.Add(time.Duration(i) * time.Second)), Recurrence: &job.Recurrence{Frequency: "hour"}}
		name := fmt.Sprintf("job%03d", i)
		id := w.add("c", name, every(job.Recurrence{Frequency: "hour"}, o.StartTime.Format(time.RFC3339))).WorkflowID()
		switch i % 10 {
		case 0:
			o.Inactive, o.Disabled = true, true
		case 1:
			o.Inactive = true // its collection was not enabled until now
		case 2:
			o.Recurrence = nil
		case 3:
			o.Recurrence.Count = 1
		case 4:
			w.unlisted[id] = true
		case 5:
			o.Skips = []time.Time{o.StartTime.Time}
		}
		w.outlines[id] = o
		if i%10 > 0 && i%10 != 5 && o.StartTime.After(noon) {
			want = append(want, "c/"+name+" "+o.StartTime.Format("15:04:05"))
		}
	}
	v := w.overview(noon)
	require.Equal(t, want, due(t, v, ofC, noon.Add(59*time.Minute), listing.Page{Top: 100}))
	require.LessOrEqual(t, w.queried.Load(), int64(jobs*3/10), "only those of which it is not known are asked")
}
