//go:build linux

package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"almanac/faults/laws"
	"almanac/internal/processes"
)

// A breaker makes faults, one at a time.
type breaker struct {
	options  options
	system   *system
	receiver *receiver
	changer  *changer
	random   *rand.Rand
	progress *log.Logger

	mu     sync.Mutex
	faults []laws.Fault
	now    string // the fault that is in force
}

// A plan is one fault that is to be made.
type plan struct {
	kind   string
	target target
	aim    string
	length time.Duration // of a pause, of a downtime, of a fault of the network or the disk
	flags  []string
	burst  int        // changes around it
	herd   []laws.Job // that are due together during an overload
}

// A target is what a fault hits.
type target struct {
	name      string
	processes []*processes.Process
	stops     []string
}

// targets returns what processes a fault may hit.
func (b *breaker) targets() []target {
	s := b.system
	if s.form == formOne {
		return []target{{"almanac", s.all, []string{laws.API, laws.Server, laws.Workers, laws.Worker}}}
	}
	everything := target{"everything", s.all, []string{laws.API, laws.Server, laws.Workers, laws.Worker}}
	all := []target{
		everything,
		{"temporal", s.temporal, []string{laws.Server}},
		{"workers", s.workers, []string{laws.Workers, laws.Worker}},
		{s.apis[0].Name, s.apis[:1], []string{laws.API}},
	}
	if len(s.temporal) > 1 {
		for _, p := range s.temporal {
			all = append(all, target{p.Name, []*processes.Process{p}, []string{laws.Server}})
		}
	}
	for _, w := range s.workers { // these are hit most
		one := target{w.Name, []*processes.Process{w}, []string{laws.Worker}}
		all = append(all, one, one)
	}
	return all
}

// deck returns every fault that may be made, in random order.
func (b *breaker) deck() []plan {
	var all []plan
	seconds := func(least, most float64) time.Duration {
		return time.Duration((least + b.random.Float64()*(most-least)) * float64(time.Second))
	}
	aim := func() string { return executionStages[b.random.IntN(len(executionStages))] }
	targets := b.targets()
	network := target{"network", nil, []string{laws.Server}}
	disk := target{"disk", []*processes.Process{b.system.server}, []string{laws.Server}}
	if b.system.form == formOne {
		disk.stops = targets[0].stops
	}
	for _, kind := range b.options.faults {
		switch kind {
		case faultKill:
			for _, a := range b.options.aims { // the most important ones
				all = append(all, plan{kind: kind, target: b.target(targets, a), aim: a, length: seconds(0, 15), burst: b.random.IntN(12)})
			}
		case faultPause:
			for _, a := range b.someAims(6) {
				all = append(all, plan{kind: kind, target: b.target(targets, a), aim: a, length: seconds(2, 60), burst: 4 + b.random.IntN(12)})
			}
		case faultStop:
			for _, a := range b.someAims(4) {
				all = append(all, plan{kind: kind, target: b.target(targets, a), aim: a, length: seconds(0, 10), burst: b.random.IntN(8)})
			}
		case faultDown:
			all = append(all, plan{kind: faultKill, target: targets[0], aim: aim(), length: b.options.down})
		case faultDisk:
			all = append(all, plan{kind: kind, target: disk, aim: aim(), length: seconds(3, 20), burst: b.random.IntN(8)})
		case faultSlow:
			all = append(all, plan{kind: kind, target: network, aim: aim(), length: seconds(10, 40), burst: b.random.IntN(8)})
		case faultBlackhole, faultCut:
			all = append(all, plan{kind: kind, target: network, aim: aim(), length: seconds(3, 40), burst: b.random.IntN(8)})
		case faultFlags:
			flags := [][]string{{"--max-hold", "0s"}, {"--min-lead", "2s"}, {"--max-hold", "5s", "--max-lead", "3s"}, {"--max-cached-workflows", "20"}}
			all = append(all, plan{kind: kind, target: b.workersTarget(), aim: aimRandom, flags: flags[b.random.IntN(len(flags))], burst: b.random.IntN(8)})
		case faultKeys:
			all = append(all, plan{kind: kind, target: b.encryptingTarget(), aim: aim(), burst: b.random.IntN(8)})
		case faultOverload:
			all = append(all, plan{kind: kind, target: target{name: "load"}, aim: aimHerd, burst: b.random.IntN(8)})
		}
	}
	b.random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all
}

// workersTarget returns the processes that read the workers' flags.
func (b *breaker) workersTarget() target {
	if b.system.form == formOne {
		return b.targets()[0]
	}
	return target{"workers", b.system.workers, []string{laws.Workers, laws.Worker}}
}

// encryptingTarget returns the processes that read the encryption keys.
func (b *breaker) encryptingTarget() target {
	if b.system.form == formOne {
		return b.targets()[0]
	}
	return target{"workers and APIs", slices.Concat(b.system.workers, b.system.apis), []string{laws.API, laws.Workers, laws.Worker}}
}

// run makes faults until an instant, with quiet times in between, in which the
// system can recover.
func (b *breaker) run(ctx context.Context, until time.Time) error {
	deck := b.deck()
	after := time.Duration(0) // the least quiet time after the last fault
	for time.Now().Before(until) {
		quiet := max(after, b.options.quiet+time.Duration(b.random.Int64N(int64(b.options.quiet))))
		if len(deck) > 0 && deck[0].long() {
			quiet = max(quiet, undisturbed)
		}
		if err := pause(ctx, min(quiet, time.Until(until))); err != nil {
			return err
		}
		if len(deck) == 0 || time.Until(until) < 0 {
			continue
		}
		p := deck[0]
		if deck = deck[1:]; len(deck) == 0 {
			deck = b.deck()
		}
		if time.Until(until) < p.length && len(b.faults) > 0 {
			continue // it would take too long
		}
		if after = 0; p.long() {
			after = undisturbed
		}
		if err := b.make(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// undisturbed is how long nothing else goes wrong before and after a long
// downtime, so that it is certain what must become of what came due in it.
const undisturbed = 80 * time.Second

// long reports whether the fault is a long downtime.
func (p *plan) long() bool { return p.kind == faultKill && p.length > time.Minute }

// make makes one fault.
func (b *breaker) make(ctx context.Context, p plan) error {
	if p.burst > 0 {
		b.changer.burst(ctx, p.burst, 20*time.Second)
	}
	j := b.aim(ctx, &p)
	f := laws.Fault{Kind: p.kind, Target: p.target.name, Aim: p.aim, Stops: p.target.stops, Start: time.Now().UTC()}
	if j != (laws.Job{}) {
		f.Job = j.String()
	}
	b.show(fmt.Sprintf("%s of %s (%s)", p.kind, p.target.name, p.aim))
	defer b.show("")
	if err := b.force(ctx, p, &f); err != nil {
		return fmt.Errorf("%s of %s: %w", p.kind, p.target.name, err)
	}
	if f.Restart.IsZero() {
		f.Restart = time.Now().UTC()
	}
	if err := b.revive(ctx); err != nil {
		return fmt.Errorf("after %s of %s: %w", p.kind, p.target.name, err)
	}
	f.End = time.Now().UTC()
	b.mu.Lock()
	b.faults = append(b.faults, f)
	b.mu.Unlock()
	b.progress.Printf("%s, %s", &f, f.End.Sub(f.Start).Round(100*time.Millisecond))
	return nil
}

// revive starts again what ended by itself, as a full disk may make it, and waits
// until everything is ready.
func (b *breaker) revive(ctx context.Context) error {
	var err error
	for range 3 { // a process may end while it is waited for
		for _, p := range b.system.all {
			if p.Gone() {
				if err := p.Start(); err != nil {
					return err
				}
			}
		}
		if err = b.system.await(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// force does what the plan says, up to the end of the fault.
func (b *breaker) force(ctx context.Context, p plan, f *laws.Fault) error {
	switch p.kind {
	case faultKill:
		for _, one := range p.target.processes {
			one.Signal(syscall.SIGKILL)
		}
		return b.restart(ctx, p, f)
	case faultStop, faultFlags, faultKeys:
		for _, one := range p.target.processes {
			one.Signal(syscall.SIGTERM)
		}
		return b.restart(ctx, p, f)
	case faultOverload:
		return b.overload(ctx, p)
	case faultPause:
		for _, one := range p.target.processes {
			one.Signal(syscall.SIGSTOP)
		}
		err := pause(ctx, p.length)
		for _, one := range p.target.processes {
			one.Signal(syscall.SIGCONT)
		}
		return err
	case faultDisk:
		if err := b.system.server.LimitFiles(4096); err != nil {
			return err
		}
		err := pause(ctx, p.length)
		if b.system.server.Gone() {
			return err
		}
		if failed := b.system.server.LimitFiles(0); failed != nil && !b.system.server.Gone() {
			return failed
		}
		return err
	case faultSlow:
		b.system.proxy.slow(time.Duration(50+b.random.IntN(450)) * time.Millisecond)
		defer b.system.proxy.slow(0)
	case faultBlackhole:
		b.system.proxy.blackhole(true)
		defer b.system.proxy.blackhole(false)
	case faultCut:
		b.system.proxy.sever(true)
		defer b.system.proxy.sever(false)
	}
	return pause(ctx, p.length)
}

// stopTime is how long a process may take to stop in an orderly way before it is killed.
const stopTime = 2 * time.Minute

// restart waits until the processes are gone and starts them again after a while.
func (b *breaker) restart(ctx context.Context, p plan, f *laws.Fault) error {
	for _, one := range p.target.processes {
		one.End(stopTime)
	}
	f.Gone = time.Now().UTC()
	if p.kind == faultKeys {
		if err := b.system.keys.rotate(); err != nil {
			return err
		}
	}
	if err := pause(ctx, p.length); err != nil {
		return err
	}
	f.Restart = time.Now().UTC()
	for _, one := range p.target.processes {
		flags := p.flags
		if len(flags) > 0 && one == b.system.server && b.system.form != formOne {
			flags = nil
		}
		if err := one.Start(flags...); err != nil {
			return err
		}
		if one == b.system.server && len(p.target.processes) > 1 {
			if err := one.Await(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *breaker) show(now string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
}

// state returns the number of faults so far and the one that is in force.
func (b *breaker) state() (int, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.faults), b.now
}
