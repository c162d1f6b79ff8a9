//go:build linux

// Package nemesis injects faults into the system under test, one at a time: it kills, pauses and stops
// processes, fills the disk, disturbs the network and overloads the system, at aimed moments.
package nemesis

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"almanac/faults/receiver"
	"almanac/faults/record"
	"almanac/faults/system"
	"almanac/faults/wait"
	"almanac/faults/workload"
	"almanac/internal/processes"
)

// Options configure a [Nemesis].
type Options struct {
	Faults []string      // kinds of fault; see [Kinds]
	Aims   []string      // of kill, pause and stop; see [Aims]
	Quiet  time.Duration // minimum time between two faults; up to as much again is added at random
	Down   time.Duration // length of the fault down
}

// A Nemesis injects faults.
type Nemesis struct {
	options  Options
	system   *system.System
	receiver *receiver.Receiver
	workload *workload.Workload
	random   *rand.Rand
	progress *log.Logger

	mu      sync.Mutex
	faults  []record.Fault
	current string // the fault that is in force
}

// New returns a nemesis of a system. It logs each fault when it is over.
func New(o Options, s *system.System, r *receiver.Receiver, w *workload.Workload, random *rand.Rand, progress *log.Logger) *Nemesis {
	return &Nemesis{options: o, system: s, receiver: r, workload: w, random: random, progress: progress}
}

// undisturbed is the time without other faults before and after a long downtime. Without it, nothing would be
// certain about the occurrences that were due in the downtime.
const undisturbed = 80 * time.Second

// Run injects faults until a time. Between two faults there is a quiet time, in which the system can recover.
func (n *Nemesis) Run(ctx context.Context, until time.Time) error {
	plans := n.plans()
	least := time.Duration(0) // minimum quiet time after the last fault
	for time.Now().Before(until) {
		quiet := max(least, n.options.Quiet+time.Duration(n.random.Int64N(int64(n.options.Quiet))))
		if len(plans) > 0 && plans[0].isLong() {
			quiet = max(quiet, undisturbed)
		}
		if err := wait.For(ctx, min(quiet, time.Until(until))); err != nil {
			return err
		}
		if len(plans) == 0 || time.Until(until) < 0 {
			continue
		}
		p := plans[0]
		if plans = plans[1:]; len(plans) == 0 {
			plans = n.plans()
		}
		if time.Until(until) < p.length && len(n.faults) > 0 {
			continue // it would last too long
		}
		if least = 0; p.isLong() {
			least = undisturbed
		}
		if err := n.inject(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// inject injects a fault, and returns when all processes are ready again.
func (n *Nemesis) inject(ctx context.Context, p plan) error {
	if p.burst > 0 {
		n.workload.Burst(ctx, p.burst, 20*time.Second)
	}
	j := n.aim(ctx, &p)
	f := record.Fault{Kind: p.kind, Target: p.target.name, Aim: p.aim, Stops: p.target.stops, Start: time.Now().UTC()}
	if j != (record.Job{}) {
		f.Job = j.String()
	}
	n.setCurrent(fmt.Sprintf("%s of %s (%s)", p.kind, p.target.name, p.aim))
	defer n.setCurrent("")
	if err := n.force(ctx, p, &f); err != nil {
		return fmt.Errorf("%s of %s: %w", p.kind, p.target.name, err)
	}
	if f.Restart.IsZero() {
		f.Restart = time.Now().UTC()
	}
	if err := n.system.Recover(ctx); err != nil {
		return fmt.Errorf("after %s of %s: %w", p.kind, p.target.name, err)
	}
	f.End = time.Now().UTC()
	n.mu.Lock()
	n.faults = append(n.faults, f)
	n.mu.Unlock()
	n.progress.Printf("%s, %s", &f, f.End.Sub(f.Start).Round(100*time.Millisecond))
	return nil
}

func signal(all []*processes.Process, s syscall.Signal) {
	for _, p := range all {
		p.Signal(s)
	}
}

// force carries out a plan, up to the end of the fault.
func (n *Nemesis) force(ctx context.Context, p plan, f *record.Fault) error {
	switch p.kind {
	case record.FaultKill:
		signal(p.target.processes, syscall.SIGKILL)
		return n.restart(ctx, p, f)
	case record.FaultStop, record.FaultFlags, record.FaultKeys:
		signal(p.target.processes, syscall.SIGTERM)
		return n.restart(ctx, p, f)
	case record.FaultOverload:
		return n.workload.Overload(ctx, p.herd, n.random)
	case record.FaultDisk:
		return n.fillDisk(ctx, p.length)
	case record.FaultPause:
		signal(p.target.processes, syscall.SIGSTOP)
		defer signal(p.target.processes, syscall.SIGCONT)
	case record.FaultSlow:
		n.system.Proxy.Slow(time.Duration(50+n.random.IntN(450)) * time.Millisecond)
		defer n.system.Proxy.Slow(0)
	case record.FaultBlackhole:
		n.system.Proxy.Blackhole(true)
		defer n.system.Proxy.Blackhole(false)
	case record.FaultCut:
		n.system.Proxy.Cut(true)
		defer n.system.Proxy.Cut(false)
	}
	return wait.For(ctx, p.length)
}

// fillDisk limits the size of the server's files for a while. The server may end because of that.
func (n *Nemesis) fillDisk(ctx context.Context, length time.Duration) error {
	server := n.system.Server
	if err := server.LimitFiles(4096); err != nil {
		return err
	}
	err := wait.For(ctx, length)
	if server.Gone() {
		return err
	}
	if failed := server.LimitFiles(0); failed != nil && !server.Gone() {
		return failed
	}
	return err
}

// stopTime is how long a process may take to end after SIGTERM before it is killed.
const stopTime = 2 * time.Minute

// restart waits until the processes are gone and starts them again after a while.
func (n *Nemesis) restart(ctx context.Context, p plan, f *record.Fault) error {
	for _, one := range p.target.processes {
		one.End(stopTime)
	}
	f.Gone = time.Now().UTC()
	if p.kind == record.FaultKeys {
		if err := n.system.Keys.Rotate(); err != nil {
			return err
		}
	}
	if err := wait.For(ctx, p.length); err != nil {
		return err
	}
	f.Restart = time.Now().UTC()
	for _, one := range p.target.processes {
		if err := one.Start(p.flags...); err != nil {
			return err
		}
		if one == n.system.Server && len(p.target.processes) > 1 {
			if err := one.Await(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Nemesis) setCurrent(fault string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current = fault
}

// Progress returns the number of faults so far, and the one that is in force, if any.
func (n *Nemesis) Progress() (int, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.faults), n.current
}

// Faults returns the faults. Run must have returned.
func (n *Nemesis) Faults() []record.Fault { return n.faults }
