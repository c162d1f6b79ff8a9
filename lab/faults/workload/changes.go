package workload

import (
	"context"
	"time"

	"almanac/lab/client"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// changeAtRandom changes random jobs until ctx ends, with a mean time between two changes. Half of the
// changes are close to a due time of their job, the others at any time.
func (w *Workload) changeAtRandom(ctx, base context.Context, every time.Duration) {
	for wait.For(ctx, w.between(0, 2*every)) == nil {
		w.changeOne(ctx, base, nil, w.intN(2) == 0)
	}
}

// Burst changes n jobs that are due soon, most of them within a time.
func (w *Workload) Burst(ctx context.Context, n int, within time.Duration) {
	now := time.Now()
	for range n * 20 {
		j := w.Jobs[w.intN(len(w.Jobs))]
		if !j.TryLock() {
			continue
		}
		due, ok := j.Next(now)
		j.Unlock()
		if !ok || due.Sub(now) > within+20*time.Second {
			continue
		}
		w.changeOne(ctx, ctx, j, false)
		if n--; n == 0 {
			return
		}
	}
}

// aimedBefore and aimedInHerd are how long before a due time of its job an aimed change comes at most: longer before
// that of a herd, whose fences begin longer before it.
const (
	aimedBefore = 10 * time.Second
	aimedInHerd = 35 * time.Second
)

// changeOne starts a change of a job, or of a random one if j is nil or locked. It comes within 5 s, or if it
// is aimed, from some time before to 2 s after a due time of the job. It starts nothing if too many changes are
// under way.
func (w *Workload) changeOne(ctx, base context.Context, j *Job, aimed bool) {
	select {
	case w.slots <- struct{}{}:
	default:
		return
	}
	for j == nil || !j.TryLock() {
		if ctx.Err() != nil {
			<-w.slots
			return
		}
		j = w.Jobs[w.intN(len(w.Jobs))]
	}
	after := w.between(0, 5*time.Second)
	before := aimedBefore
	if j.inHerd {
		before = aimedInHerd
	}
	if due, ok := j.Next(time.Now().Add(before)); aimed && ok && time.Until(due) < 2*time.Minute {
		after = time.Until(due) + w.between(-before, 2*time.Second)
	}
	w.open.Go(func() {
		defer func() { <-w.slots }()
		defer j.Unlock()
		if wait.For(ctx, after) == nil {
			w.changeSomehow(base, j)
		}
	})
}

// changeSomehow makes a random change. A job that it disables or deletes is enabled or created again.
func (w *Workload) changeSomehow(ctx context.Context, j *Job) {
	switch n := w.intN(100); {
	case n < 30:
		w.changeAction(ctx, j)
	case n < 44:
		w.changeRecurrence(ctx, j)
	case n < 66:
		w.disable(ctx, j)
	case n < 82:
		w.recreate(ctx, j)
	case n < 91:
		w.change(ctx, record.Skip, j.ID, nil, nil)
	default:
		w.change(ctx, record.ManualRun, j.ID, nil, nil)
	}
}

func (w *Workload) changeAction(ctx context.Context, j *Job) {
	d := j.Definition
	d.Version++
	if w.change(ctx, record.ChangeAction, j.ID, &d,
		client.Properties(object{"action": action(w.receiver, j.ID, d)})) != record.Refused {
		j.Definition = d
	}
}

// changeRecurrence moves the job to another second of the minute. Half of the changes increment the version.
func (w *Workload) changeRecurrence(ctx context.Context, j *Job) {
	if j.Definition.Once {
		return
	}
	d := j.Definition
	d.Start = time.Now().UTC().Add(-10 * time.Minute).Truncate(time.Minute).Add(time.Duration(w.intN(60)) * time.Second)
	if d.Start.Second() == j.Definition.Start.Second() {
		d.Start = d.Start.Add(time.Second)
	}
	p := object{"startTime": d.Start.Format(time.RFC3339)}
	if w.intN(2) == 0 {
		d.Version++
		p["action"] = action(w.receiver, j.ID, d)
	}
	if w.change(ctx, record.ChangeRecurrence, j.ID, &d, client.Properties(p)) != record.Refused {
		j.Definition = d
	}
}

// disable disables the job for a while. A third of the jobs gets a manual run meanwhile.
func (w *Workload) disable(ctx context.Context, j *Job) {
	if w.change(ctx, record.Disable, j.ID, nil, client.Properties(object{"state": "disabled"})) == record.Refused {
		return
	}
	_ = wait.For(ctx, w.between(0, 40*time.Second))
	if w.intN(3) == 0 {
		w.change(ctx, record.ManualRun, j.ID, nil, nil)
		_ = wait.For(ctx, w.between(0, 10*time.Second))
	}
	w.change(ctx, record.Enable, j.ID, nil, client.Properties(object{"state": "enabled"}))
}

// recreate deletes the job and creates its next incarnation.
func (w *Workload) recreate(ctx context.Context, j *Job) {
	before := readJob(ctx, w.client, j.ID)
	w.mu.Lock()
	w.reads = append(w.reads, before)
	w.mu.Unlock()
	if w.change(ctx, record.Delete, j.ID, nil, nil) != record.Applied {
		return
	}
	_ = wait.For(ctx, w.between(0, 5*time.Second))
	w.mu.Lock()
	j.Definition = newDefinition(time.Now().UTC(), time.Minute, w.random)
	w.mu.Unlock()
	j.ID.Incarnation++
	w.create(ctx, j, maxTries)
}

// ChangeOnce tries one change: of five numbers, three change the action, one disables and one deletes the job.
func (w *Workload) ChangeOnce(ctx context.Context, number int, j *Job) record.Try {
	d := j.Definition
	d.Version++
	switch number % 5 {
	case 3:
		return w.changeOnce(ctx, number, record.Disable, j.ID, client.Properties(object{"state": "disabled"}))
	case 4:
		return w.changeOnce(ctx, number, record.Delete, j.ID, nil)
	}
	return w.changeOnce(ctx, number, record.ChangeAction, j.ID,
		client.Properties(object{"action": action(w.receiver, j.ID, d)}))
}

func (w *Workload) changeOnce(
	ctx context.Context, api int, kind string, j record.Job, body client.Object,
) record.Try {
	method, path := changeRequest(kind, j)
	return makeChange(ctx, w.client, api, method, path, body)
}
