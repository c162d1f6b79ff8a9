package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/processes"
	"almanac/lab/record"
	"almanac/lab/report"
	"almanac/lab/system"
	"almanac/lab/wait"
)

// The breaking point of an installation is the number of jobs due in one second of every minute from which on it does
// not keep up. A number holds if at each of the first ticks all requests come within breakingWait, and 99 % within
// breakingP99.
const (
	breakingFirst = 500    // jobs of the first step, unless -jobs says another number
	breakingMost  = 32_000 // jobs of the last step, if all before it held
	breakingTicks = 3
	breakingP99   = time.Second
	breakingWait  = 50 * time.Second
	perCollection = 1000             // jobs: as many as the largest plan allows
	breakingCalm  = 10 * time.Second // before the first tick, in which nothing is created any more
)

// A search doubles a number until it breaks, and then bisects.
type search struct {
	first, most int
	held, broke int // the largest number that held, and the smallest that did not; 0: none
}

// next returns the number to try next; 0 if the breaking point is known to an eighth, or is beyond most.
func (s *search) next() int {
	switch {
	case s.held == 0 && s.broke == 0:
		return s.first
	case s.broke == 0 && 2*s.held > s.most:
		return 0
	case s.broke == 0:
		return 2 * s.held
	case s.broke-s.held <= max(1, s.broke/8):
		return 0
	}
	return (s.held + s.broke) / 2
}

// note notes whether a number held.
func (s *search) note(jobs int, held bool) {
	if held {
		s.held = jobs
	} else {
		s.broke = jobs
	}
}

// An installation is what a breaking point is sought of.
type installation struct {
	*systems.AlmanacAPI
	process *processes.Process // nil if it was running before
	perSec  float64            // jobs created a second, as last measured
}

// measureBreakingPoint seeks the breaking point of the Almanac at -api, or of an `almanac dev` in a process of its own.
func (b *bench) measureBreakingPoint(ctx context.Context) (err error) {
	in := &installation{perSec: createdPerSecond}
	if len(b.options.APIs) > 0 {
		in.AlmanacAPI = systems.NewAlmanac(b.receiver, b.options.APIs)
	} else {
		s, failed := b.startSystem(ctx, system.Options{
			Form: system.One, Flags: append([]string{"--log-level", "error"}, system.Unlimited...),
		})
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		in.process, in.AlmanacAPI = s.Server, systems.NewAlmanac(b.receiver, s.URLs())
	}
	s := search{first: cmp.Or(b.options.Jobs, breakingFirst), most: breakingMost}
	if b.options.Smoke {
		s.most = 2 * s.first
	}
	for jobs := s.next(); jobs > 0; jobs = s.next() {
		held, err := b.measureStep(ctx, in, jobs)
		if err != nil {
			return fmt.Errorf("%s: %w", report.CountOf(jobs, "job"), err)
		}
		s.note(jobs, held)
	}
	b.page.BreakingPoint = s.String()
	b.progress.Println(s.String())
	return nil
}

// String says what was found.
func (s *search) String() string {
	switch {
	case s.broke == 0:
		return fmt.Sprintf("%s in one second held at every tick; more were not tried.", report.CountOf(s.held, "job"))
	case s.held == 0:
		return fmt.Sprintf("Even %s in one second did not hold.", report.CountOf(s.broke, "job"))
	}
	return fmt.Sprintf("It breaks between %s and %s in one second.", report.Count(float64(s.held)),
		report.CountOf(s.broke, "job"))
}

// cpu returns the CPU time that the installation has used; 0 if it is not known.
func (in *installation) cpu(ctx context.Context) (float64, error) {
	if in.process == nil {
		return 0, nil
	}
	return in.process.Usage().CPU(ctx)
}

// measureStep reports whether so many jobs hold. It removes them.
func (b *bench) measureStep(ctx context.Context, in *installation, jobs int) (held bool, err error) {
	creating := time.Duration(float64(jobs) / (0.7 * in.perSec) * float64(time.Second))
	all := systems.Herd{Jobs: jobs, Every: time.Minute,
		First: time.Now().UTC().Add(creating + b.options.CreatedBefore + breakingCalm).Truncate(time.Second)}
	var herds []systems.Herd
	for left := jobs; left > 0; left -= perCollection {
		herds = append(herds, systems.Herd{
			Name: fmt.Sprintf("breaking-%d-%d", all.First.Unix(), len(herds)), Jobs: min(left, perCollection),
			First: all.First, Every: all.Every, Schedule: systems.Minutely,
		})
	}
	defer func() {
		err = errors.Join(err, b.remove(ctx, in, herds...))
		if in.process != nil {
			in.process.Usage().AwaitQuiet(ctx)
		}
	}()
	start := time.Now()
	for _, h := range herds {
		if err := in.Create(ctx, h); err != nil {
			return false, err
		}
	}
	in.perSec = float64(jobs) / time.Since(start).Seconds()
	if time.Until(all.First) < breakingCalm {
		return false, fmt.Errorf("created only %.0f jobs a second, so the first tick was near or over: pass a "+
			"larger -created-before", in.perSec)
	}
	return b.watchStep(ctx, in, all, herds)
}

// watchStep lets the first ticks of the herds pass, which are parts of one, and adds them to the report. It stops at
// the first that does not hold.
func (b *bench) watchStep(
	ctx context.Context, in *installation, all systems.Herd, herds []systems.Herd,
) (held bool, err error) {
	pause(ctx, time.Until(all.First.Add(-breakingCalm)))
	before, err := in.cpu(ctx)
	if err != nil {
		return false, err
	}
	ticks, why := 0, ""
	var came []record.Request
	for ; ticks < b.breakingTicks() && why == ""; ticks++ {
		until := all.First.Add(time.Duration(ticks)*all.Every + breakingWait)
		if err := wait.Until(ctx, time.Until(until),
			func() bool { return b.options.Smoke && b.receiver.Count(names(herds)...) >= all.Jobs }); err != nil {
			return false, err
		}
		came = append(came, b.take(herds)...)
		why = broken(systems.SortTicks(all, ticks+1, came)[ticks], all.Jobs)
	}
	after, err := in.cpu(ctx)
	if err != nil {
		return false, err
	}
	done := systems.SortTicks(all, ticks, came)
	b.page.LogTicks(report.CountOf(all.Jobs, "job"), done)
	b.page.MustBePunctual(report.CountOf(all.Jobs, "job"), done)
	cpu, worst := "–", systems.Worst(done)
	if n := worst.Lateness.N; in.process != nil && n > 0 {
		cpu = report.Milliseconds(1000 * (after - before) / float64(n))
	}
	rate := float64(worst.Lateness.N) / (time.Duration(ticks-1)*all.Every + breakingWait).Seconds()
	verdict := cmp.Or(why, "held")
	if why != "" {
		verdict = fmt.Sprintf("tick %d: %s", ticks, why)
	}
	b.page.Add(&b.page.Breaking, []string{report.Count(float64(all.Jobs)), report.Tenth(in.perSec),
		fmt.Sprint(done[ticks-1].Lateness.N)},
		worst.Lateness.Cells(), []string{report.Tenth(rate), cpu, verdict})
	return why == "", nil
}

// breakingTicks returns how many ticks a step has.
func (b *bench) breakingTicks() int {
	if b.options.Smoke {
		return 1
	}
	return breakingTicks
}

// broken returns how a tick of so many jobs does not hold; "" if it does.
func broken(t systems.Tick, jobs int) string {
	switch {
	case t.Missing > 0:
		return fmt.Sprintf("%s of %s requests within %g s", report.Count(float64(t.Lateness.N)),
			report.Count(float64(jobs)), breakingWait.Seconds())
	case t.Lateness.P99 > breakingP99:
		return "p99 " + report.Duration(t.Lateness.P99)
	}
	return ""
}

// names returns the names of herds.
func names(herds []systems.Herd) (all []string) {
	for _, h := range herds {
		all = append(all, h.Name)
	}
	return all
}

// take returns the requests that have come from herds.
func (b *bench) take(herds []systems.Herd) (all []record.Request) {
	for _, h := range herds {
		all = append(all, b.receiver.Take(h.Name)...)
	}
	return all
}
