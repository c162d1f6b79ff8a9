package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/record"
	"almanac/lab/report"
	"almanac/lab/system"
)

const (
	pausedJobs  = 2000
	pauseGoal   = time.Minute      // from the start until all that was promised has been received
	pauseWithin = 15 * time.Minute // the limit for that
	pauseMore   = 15 * time.Second // for how long what was not promised is looked for after it
)

// A promise is what is to become of the occurrences that a pause holds.
type promise struct {
	recover  string // latest or all
	atOnce   int
	together bool // the collection is paused, and not each of its jobs
}

func (p promise) String() string {
	who := "each paused by itself"
	if p.together {
		who = "paused with their collection"
	}
	return fmt.Sprintf("%s, `recover=%s&atOnce=%d`", who, p.recover, p.atOnce)
}

// measurePause measures pauses of many jobs that end while nothing runs.
func (b *bench) measurePause(ctx context.Context) (err error) {
	s, err := b.startSystem(ctx, system.Options{Form: system.One,
		Flags: append([]string{"--ui-listen", "127.0.0.1:0", "--log-level", "warn"}, system.Unlimited...)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b.page.Held, b.page.Down = b.options.Held, b.options.Down
	for i, p := range []promise{{"latest", 1, false}, {"all", 2, true}, {"all", 1, false}} {
		if err := b.measurePromise(ctx, s, fmt.Sprintf("pause-%d", i), p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if b.options.Smoke && i == 1 {
			break
		}
	}
	return nil
}

// measurePromise pauses a herd before its first occurrence, stops everything before the last one that the pause holds,
// and starts it again some time after the pause has ended.
func (b *bench) measurePromise(ctx context.Context, s *system.Temporary, name string, p promise) (err error) {
	a := systems.NewAlmanac(b.receiver, s.URLs())
	h := systems.Herd{Name: name, Jobs: cmp.Or(b.options.Jobs, pausedJobs), Every: time.Minute, Slow: true}
	ready := 2*creating(h.Jobs) + 10*time.Second // created and paused
	h.First = time.Now().UTC().Add(ready).Truncate(time.Minute).Add(time.Minute)
	h.Schedule = systems.AtMinutes(h.First, b.options.Held)
	last := h.First.Add(time.Duration(b.options.Held-1) * h.Every)
	until := last.Add(15 * time.Second)
	defer func() { err = errors.Join(err, b.remove(ctx, a, h)) }()
	if err := a.Create(ctx, h); err != nil {
		return err
	}
	query := fmt.Sprintf("?until=%s&recover=%s&atOnce=%d", until.Format(time.RFC3339), p.recover, p.atOnce)
	if err := a.Pause(ctx, h, p.together, query); err != nil {
		return err
	}
	b.progress.Printf("%s: %s before the first occurrence", p, time.Until(h.First).Round(time.Second))
	if !time.Now().Before(h.First) {
		return errors.New("creating and pausing the jobs took longer than until their first occurrence")
	}
	pause(ctx, time.Until(last.Add(-15*time.Second)))
	s.Server.Signal(syscall.SIGTERM)
	s.Server.End(time.Minute)
	if n := b.receiver.Count(h.Name); n > 0 {
		return fmt.Errorf("%d requests came while the jobs were paused", n)
	}
	pause(ctx, time.Until(until.Add(b.options.Down)))
	begin := time.Now()
	if err := errors.Join(ctx.Err(), s.Server.Start(), s.Server.Await(ctx)); err != nil {
		return err
	}
	answers := time.Since(begin)
	promised := h.Jobs
	if p.recover == "all" {
		promised *= b.options.Held
	} else {
		h.First = last
	}
	late := b.receiver.AwaitCount(ctx, h.Name, promised, pauseWithin)
	pause(ctx, pauseMore)
	b.addPromise(p, &h, last, promised, begin, answers, b.receiver.Take(h.Name))
	return late
}

// addPromise adds what came after a start, of a herd whose promised occurrences are those from its first to the last one.
func (b *bench) addPromise(
	p promise, h *systems.Herd, last time.Time, promised int, begin time.Time, answers time.Duration, got []record.Request,
) {
	type run struct {
		job record.Job
		due time.Time
	}
	came, others, end := map[run]int{}, 0, begin
	for _, r := range got {
		if r.Due.Before(h.First) || r.Due.After(last) {
			others++
			continue
		}
		one := run{r.Job, r.Due}
		if came[one]++; came[one] > 1 {
			others++
			continue
		}
		if r.Arrived.After(end) {
			end = r.Arrived
		}
	}
	missing := promised - len(came)
	ofJob, all := mostAtOnce(got)
	label := report.CountOf(h.Jobs, "job") + ", " + p.String()
	b.page.Add(&b.page.Pause, []string{
		label, report.Duration(answers), report.Duration(end.Sub(begin)), report.Count(float64(promised)),
		fmt.Sprint(missing), fmt.Sprint(others), fmt.Sprint(ofJob), report.Count(float64(all)),
	})
	b.page.Within(label+", last promised execution after the start", end.Sub(begin), pauseGoal)
	b.page.AtMost(label+", promised and missing, or not promised", float64(missing+others), 0, report.Count)
	b.page.AtMost(label+", most at once of a job", float64(ofJob), float64(p.atOnce), report.Count)
}

// mostAtOnce returns how many requests of one job were not over at the same time at most, and how many of all jobs.
func mostAtOnce(requests []record.Request) (ofJob, all int) {
	byJob := map[record.Job][]record.Request{}
	for _, r := range requests {
		byJob[r.Job] = append(byJob[r.Job], r)
	}
	for _, some := range byJob {
		ofJob = max(ofJob, overlapping(some))
	}
	return ofJob, overlapping(requests)
}

// overlapping returns how many of the requests were not over at the same time at most.
func overlapping(requests []record.Request) (most int) {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for i := range requests {
		edges = append(edges, edge{requests[i].Arrived, 1}, edge{requests[i].End(), -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	now := 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}
