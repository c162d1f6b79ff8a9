// Package nemesis injects faults into the system under test, one at a time: it kills, pauses and stops
// processes, fills the disk, disturbs the network and overloads the system, at aimed moments.
package nemesis

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"syscall"
	"time"

	"almanac/lab/faults/workload"
	"almanac/lab/processes"
	"almanac/lab/receiver"
	"almanac/lab/record"
	"almanac/lab/system"
	"almanac/lab/wait"
)

// A Nemesis injects faults.
type Nemesis struct {
	Faults   []string      // kinds of fault; see [Kinds]
	Aims     []string      // of kill, pause and stop; see [Aims]
	Quiet    time.Duration // minimum time between two faults; up to as much again is added at random
	Down     time.Duration // length of the fault down
	System   *system.System
	Receiver *receiver.Receiver
	Workload *workload.Workload
	Random   *rand.Rand
	Progress *log.Logger // gets the begin and the end of each fault
}

// quietAroundDowntime is the time without other faults before and after a long downtime. Without it, nothing would be
// certain about the occurrences that were due in the downtime.
const quietAroundDowntime = 80 * time.Second

// Run injects faults until a time, and returns them. Between two faults the system has time to recover.
func (n *Nemesis) Run(ctx context.Context, until time.Time) (faults []record.Fault, err error) {
	plans := n.plans()
	minQuiet := time.Duration(0) // minimum quiet time after the last fault
	for time.Now().Before(until) {
		quiet := max(minQuiet, n.Quiet+time.Duration(n.Random.Int64N(int64(n.Quiet))))
		if len(plans) > 0 && plans[0].isLong() {
			quiet = max(quiet, quietAroundDowntime)
		}
		if err := wait.For(ctx, min(quiet, time.Until(until))); err != nil {
			return faults, err
		}
		if len(plans) == 0 || time.Until(until) < 0 {
			continue
		}
		p := plans[0]
		if plans = plans[1:]; len(plans) == 0 {
			plans = n.plans()
		}
		if time.Until(until) < p.length && len(faults) > 0 {
			continue // it would last too long
		}
		if minQuiet = 0; p.isLong() {
			minQuiet = quietAroundDowntime
		}
		f, err := n.inject(ctx, p)
		if err != nil {
			return faults, err
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// inject injects a fault, and returns when all processes are ready again.
func (n *Nemesis) inject(ctx context.Context, p plan) (record.Fault, error) {
	if p.burst > 0 {
		n.Workload.Burst(ctx, p.burst, 20*time.Second)
	}
	j := n.aim(ctx, &p)
	f := record.Fault{Kind: p.kind, Target: p.target.name, Aim: p.aim, Stops: p.target.stops, Start: time.Now().UTC()}
	if j != (record.Job{}) {
		f.Job = j.String()
	}
	n.Progress.Printf("%s of %s (%s)", p.kind, p.target.name, p.aim)
	if err := n.carryOut(ctx, p, &f); err != nil {
		return f, fmt.Errorf("%s of %s: %w", p.kind, p.target.name, err)
	}
	if f.Restart.IsZero() {
		f.Restart = time.Now().UTC()
	}
	if err := n.System.Recover(ctx); err != nil {
		return f, fmt.Errorf("after %s of %s: %w", p.kind, p.target.name, err)
	}
	f.End = time.Now().UTC()
	n.Progress.Printf("%s, %s", &f, f.End.Sub(f.Start).Round(100*time.Millisecond))
	return f, nil
}

func signal(all []*processes.Process, s syscall.Signal) {
	for _, p := range all {
		p.Signal(s)
	}
}

// carryOut carries out a plan, up to the end of the fault.
func (n *Nemesis) carryOut(ctx context.Context, p plan, f *record.Fault) error {
	switch p.kind {
	case record.FaultKill:
		return n.restart(ctx, p, f, syscall.SIGKILL)
	case record.FaultStop, record.FaultFlags, record.FaultKeys:
		return n.restart(ctx, p, f, syscall.SIGTERM)
	case record.FaultOverload:
		return n.Workload.Overload(ctx, p.herd, n.Random)
	case record.FaultDisk:
		return n.fillDisk(ctx, p.length)
	case record.FaultPause:
		signal(p.target.processes, syscall.SIGSTOP)
		defer signal(p.target.processes, syscall.SIGCONT)
	case record.FaultStorm:
		n.Receiver.Storm(true)
		defer n.Receiver.Storm(false)
	case record.FaultSlow:
		n.System.Proxy.Slow(time.Duration(50+n.Random.IntN(450)) * time.Millisecond)
		defer n.System.Proxy.Slow(0)
	case record.FaultBlackhole:
		n.System.Proxy.Blackhole(true)
		defer n.System.Proxy.Blackhole(false)
	case record.FaultCut:
		n.System.Proxy.Cut(true)
		defer n.System.Proxy.Cut(false)
	}
	return wait.For(ctx, p.length)
}

// fillDisk limits the size of the server's files for a while. The server may end because of that.
func (n *Nemesis) fillDisk(ctx context.Context, length time.Duration) error {
	server := n.System.Server
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

// restart ends the processes by a signal, and starts them again after a while.
func (n *Nemesis) restart(ctx context.Context, p plan, f *record.Fault, s syscall.Signal) error {
	signal(p.target.processes, s)
	for _, one := range p.target.processes {
		one.End(stopTime)
	}
	f.Gone = time.Now().UTC()
	if p.kind == record.FaultKeys {
		if err := n.System.Keys.Rotate(); err != nil {
			return err
		}
	}
	if err := wait.For(ctx, p.length); err != nil {
		return err
	}
	f.Restart = time.Now().UTC()
	return n.System.Launch(ctx, p.target.processes, p.flags...)
}
