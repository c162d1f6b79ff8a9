package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"almanac/lab/client"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// Jobs of collections of their own are paused, skipped and backfilled, beside all others: each has changes of its own,
// one after the other, and their collections and selections of them are paused as well.

const promiseCollections = 2

func promiseCollection(i int) string { return fmt.Sprintf("promises%d", i) }

// promises are what a job needs that is paused, skipped and backfilled.
type promises struct {
	backfills int       // so far, of this incarnation
	next      time.Time // the next one runs what is due before this time
	seconds   []int     // of the minute, in which the job was due
}

const (
	// backfillable is how long before its creation the schedule of a job begins, so that there is something to backfill
	// that the job did not run.
	backfillable = 40 * time.Minute

	lateBy = 5 * time.Second
)

// NewPromising returns n jobs that are due every minute from begin on, to be paused, skipped and backfilled.
func NewPromising(n int, begin time.Time, random *rand.Rand) []*Job {
	var all []*Job
	for i := range n {
		j := &Job{ID: record.Job{Collection: promiseCollection(i % promiseCollections), Name: fmt.Sprintf("p%05d", i),
			Incarnation: 1}}
		j.newPromises(begin, random)
		all = append(all, j)
	}
	return all
}

// newPromises gives the job the definition of a new incarnation.
func (j *Job) newPromises(now time.Time, random *rand.Rand) {
	d := record.Definition{
		Version: 1, Promises: true, Start: newStart(now.Add(-backfillable), random),
		Overlap: []string{"bufferOne", "skip", "allowAll"}[random.IntN(3)], CatchUp: random.IntN(3) == 0,
		Behaviour: []string{"ok", "ok", "ok", "slow-1", "slow-4", "slow-8", "flaky-30", "fail"}[random.IntN(8)],
	}
	if random.IntN(2) == 0 {
		d.Retries, d.RetryInterval = 1, retryInterval
	}
	if random.IntN(4) == 0 {
		d.Window = time.Duration(10+random.IntN(30)) * time.Second
	}
	if random.IntN(5) == 0 {
		d.Count = 3 + random.IntN(8)
	}
	j.Definition, j.promises = d, promises{next: now.Add(-time.Minute)}
}

func seconds(d time.Duration) string { return fmt.Sprintf("PT%dS", int(d.Seconds())) }

// runPromises starts to change the jobs that are paused, skipped and backfilled.
func (w *Workload) runPromises(ctx, base context.Context) {
	for _, j := range w.Promising {
		w.open.Go(func() {
			for wait.For(ctx, w.between(0, 30*time.Second)) == nil {
				j.Lock()
				w.promise(ctx, base, j)
				j.Unlock()
			}
		})
	}
	for i := range promiseCollections {
		w.open.Go(func() {
			for wait.For(ctx, w.between(40*time.Second, 100*time.Second)) == nil {
				w.pause(ctx, base, &pausing{kinds: [2]string{record.PauseCollection, record.ResumeCollection},
					job: record.Job{Collection: promiseCollection(i)}, longest: time.Minute})
			}
		})
		w.open.Go(func() {
			for wait.For(ctx, w.between(20*time.Second, 60*time.Second)) == nil {
				w.pauseSelection(ctx, base, promiseCollection(i))
			}
		})
	}
}

// promise makes a random change of a job.
func (w *Workload) promise(ctx, base context.Context, j *Job) {
	if due, ok := j.Next(time.Now()); ok && w.intN(2) == 0 { // close to a due time
		_ = wait.For(ctx, time.Until(due)+w.between(-12*time.Second, time.Second))
	}
	switch n := w.intN(100); {
	case n < 35:
		w.pause(ctx, base, &pausing{kinds: [2]string{record.Pause, record.Resume}, job: j.ID, longest: 200 * time.Second,
			manual: true})
	case n < 55:
		w.skipSome(base, j)
	case n < 78:
		w.backfillSome(ctx, base, j)
	case n < 86:
		w.changeAction(base, j)
	case n < 90:
		w.reschedule(base, j)
	case n < 94:
		w.recreatePromising(base, j)
	default:
		w.change(base, record.ManualRun, j.ID, nil, nil)
	}
}

// ask makes a change by a request without a body.
func (w *Workload) ask(ctx context.Context, change *record.Change, tries int, path string, query url.Values) record.Outcome {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return w.repeat(ctx, change, tries, func(n int) record.Try {
		return makeChange(ctx, w.client, n+len(change.Name), http.MethodPost, path, nil)
	})
}

// A pausing is a pause that is to be made.
type pausing struct {
	kinds   [2]string
	job     record.Job // without a name: the collection
	longest time.Duration
	manual  bool // the job may be run by hand meanwhile
}

func (p *pausing) path() string {
	if p.job.Name == "" {
		return client.CollectionPath(p.job.Collection)
	}
	return jobPath(p.job)
}

// newPromise returns what a request says that pauses something.
func (w *Workload) newPromise(longest time.Duration) record.Promise {
	p := record.Promise{Recover: []string{"", "none", "latest", "all", "all"}[w.intN(5)]}
	if w.intN(2) == 0 {
		p.Until = time.Now().UTC().Add(w.between(15*time.Second, longest)).Truncate(time.Second)
	}
	if p.Recover == "all" {
		p.AtOnce = w.intN(4)
	}
	return p
}

// query returns a promise as the query of a request.
func query(p *record.Promise) url.Values {
	q := url.Values{}
	if !p.Until.IsZero() {
		q.Set("until", p.Until.Format(time.RFC3339))
	}
	if p.Recover != "" {
		q.Set("recover", p.Recover)
	}
	if p.AtOnce > 0 {
		q.Set("atOnce", strconv.Itoa(p.AtOnce))
	}
	return q
}

// pause pauses a job or a collection. It returns when that is over.
func (w *Workload) pause(ctx, base context.Context, p *pausing) {
	promise := w.newPromise(p.longest)
	if w.pauseOnce(base, p, &promise) == record.Refused {
		return
	}
	w.awaitPause(ctx, base, p, &promise)
}

func (w *Workload) pauseOnce(base context.Context, p *pausing, promise *record.Promise) record.Outcome {
	said := *promise
	return w.ask(base, &record.Change{Job: p.job, Kind: p.kinds[0], Promise: &said}, maxTries, p.path()+"/disable",
		query(promise))
}

// awaitPause ends a pause, or waits until it ends by itself. Some are changed before.
func (w *Workload) awaitPause(ctx, base context.Context, p *pausing, promise *record.Promise) {
	_ = wait.For(ctx, w.between(0, p.longest/2))
	if w.intN(4) == 0 && ctx.Err() == nil {
		if *promise = w.newPromise(p.longest); w.pauseOnce(base, p, promise) == record.Refused {
			return
		}
		_ = wait.For(ctx, w.between(0, p.longest/2))
	}
	if p.manual && w.intN(5) == 0 && ctx.Err() == nil {
		w.change(base, record.ManualRun, p.job, nil, nil)
	}
	asked := &record.Promise{}
	if w.intN(2) == 0 {
		asked.Recover = []string{"none", "latest", "all"}[w.intN(3)]
		asked.AtOnce = w.intN(4)
	}
	if !promise.Until.IsZero() {
		after := 2 * time.Second
		if w.intN(3) == 0 { // by hand at that time
			after = w.between(-1500*time.Millisecond, 1500*time.Millisecond)
		}
		left := time.Until(promise.Until.Add(after))
		if wait.For(ctx, left) == nil && after == 2*time.Second {
			return
		}
	}
	w.ask(base, &record.Change{Job: p.job, Kind: p.kinds[1], Promise: asked}, maxTries, p.path()+"/enable", query(asked))
}

// skipSome skips some occurrences, or skips them no more.
func (w *Workload) skipSome(base context.Context, j *Job) {
	due, ok := j.Next(time.Now().Add(12 * time.Second))
	if !ok {
		return
	}
	which, tries := record.Which{}, maxTries
	switch n := w.intN(10); {
	case n < 5:
		which.Due = due.Add(time.Duration(w.intN(3)) * time.Minute)
	case n < 8:
		which.From = time.Now().UTC().Truncate(time.Second).Add(w.between(0, time.Minute).Truncate(time.Second))
		which.Until = which.From.Add(w.between(time.Minute, 3*time.Minute).Truncate(time.Second))
	default:
		which.Next, tries = 1+w.intN(3), 1
	}
	kind, path := record.SkipSome, "/skip"
	if w.intN(3) == 0 {
		kind, path = record.UnskipSome, "/unskip"
	}
	q := url.Values{}
	for name, at := range map[string]time.Time{"due": which.Due, "from": which.From, "until": which.Until} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339))
		}
	}
	if which.Next > 0 {
		q.Set("next", strconv.Itoa(which.Next))
	}
	outcome := w.ask(base, &record.Change{Job: j.ID, Kind: kind, Which: &which}, tries, jobPath(j.ID)+path, q)
	if kind == record.SkipSome && outcome == record.Applied && w.intN(2) == 0 {
		_ = wait.For(base, w.between(0, 5*time.Second))
		undo := which
		w.ask(base, &record.Change{Job: j.ID, Kind: record.UnskipSome, Which: &undo}, tries, jobPath(j.ID)+"/unskip", q)
	}
}

// backfillSome begins a backfill of occurrences that the job did not run. Some are paused, and some ended.
func (w *Workload) backfillSome(ctx, base context.Context, j *Job) {
	b := record.Backfill{Name: fmt.Sprintf("b%d", j.backfills+1), Until: j.next, AtOnce: w.intN(4),
		Every: []time.Duration{0, 0, time.Second, 3 * time.Second}[w.intN(4)]}
	b.From = b.Until.Add(-time.Duration(1+w.intN(12)) * time.Minute)
	b.From, b.Until = b.From.UTC().Truncate(time.Second), b.Until.UTC().Truncate(time.Second)
	if b.From.Before(j.Definition.Start) {
		return
	}
	q := url.Values{"name": {b.Name}, "from": {b.From.Format(time.RFC3339)}, "until": {b.Until.Format(time.RFC3339)}}
	if b.AtOnce > 0 {
		q.Set("atOnce", strconv.Itoa(b.AtOnce))
	}
	if b.Every > 0 {
		q.Set("every", seconds(b.Every))
	}
	change := &record.Change{Job: j.ID, Kind: record.BeginBackfill, Backfill: &b}
	if w.ask(base, change, maxTries, jobPath(j.ID)+"/backfill", q) == record.Refused {
		return
	}
	j.backfills, j.next = j.backfills+1, b.From
	if w.intN(2) == 0 {
		return
	}
	_ = wait.For(ctx, w.between(0, 5*time.Second))
	if w.intN(2) == 0 {
		w.changeBackfill(base, j, b, "pause")
		_ = wait.For(ctx, w.between(0, 15*time.Second))
		if w.intN(2) == 0 {
			w.changeBackfill(base, j, b, "resume")
			return
		}
	}
	w.changeBackfill(base, j, b, "end")
}

func (w *Workload) changeBackfill(base context.Context, j *Job, b record.Backfill, action string) {
	b.Action = action
	w.ask(base, &record.Change{Job: j.ID, Kind: record.ChangeBackfill, Backfill: &b}, maxTries,
		jobPath(j.ID)+"/backfills/"+b.Name, url.Values{"action": {action}})
}

// reschedule moves the job to a second of the minute in which it was never due. What is due by the new schedule before
// now was not run.
func (w *Workload) reschedule(base context.Context, j *Job) {
	d, now := j.Definition, time.Now().UTC()
	if d.Count > 0 { // how many of them have run goes on
		w.changeAction(base, j)
		return
	}
	if j.seconds = append(j.seconds, d.Start.Second()); len(j.seconds) > 30 {
		return
	}
	for slices.Contains(j.seconds, d.Start.Second()) {
		d.Start = now.Add(-10 * time.Minute).Truncate(time.Minute).Add(time.Duration(w.intN(60)) * time.Second)
	}
	if w.change(base, record.ChangeRecurrence, j.ID, &d,
		client.Properties(object{"startTime": d.Start.Format(time.RFC3339)})) != record.Refused {
		j.Definition, j.next = d, now.Add(-time.Minute)
	}
}

// recreatePromising deletes the job and creates its next incarnation.
func (w *Workload) recreatePromising(base context.Context, j *Job) {
	before := readJob(base, w.client, j.ID)
	w.mu.Lock()
	w.reads = append(w.reads, before)
	w.mu.Unlock()
	if w.change(base, record.Delete, j.ID, nil, nil) != record.Applied {
		return
	}
	w.mu.Lock()
	j.newPromises(time.Now().UTC(), w.random)
	w.mu.Unlock()
	j.ID.Incarnation++
	w.create(base, j, maxTries)
}
