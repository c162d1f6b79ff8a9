package faults

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"almanac/lab/faults/workload"
	"almanac/lab/processes"
	"almanac/lab/record"
	"almanac/lab/report"
	"almanac/lab/wait"
)

// faultNone is no fault: changes are measured without one.
const faultNone = "none"

// changesAfterFaults are the faults after which changes can be measured.
var changesAfterFaults = []string{faultNone, record.FaultKill, record.FaultPause}

const (
	changeClients = 4                     // clients that change jobs at the same time
	clientPause   = 50 * time.Millisecond // between two changes of a client
	afterDue      = 3 * time.Second       // how long after its due time an occurrence may still be under way
)

// A timedChange is a change, and the due time closest to it, from afterDue before it on.
type timedChange struct {
	record.Try
	due time.Time
}

// measureChanges creates jobs that are due every minute, half of them on the minute and half 30 s later. Some
// time after the minute it kills or pauses one of two workers and then changes each job once. It writes how
// long the answers took.
func (x *experiment) measureChanges(ctx context.Context, out io.Writer) error {
	w, err := x.awaitFault(ctx)
	if err != nil {
		return err
	}
	inject(x.options.changesAfter, x.system.Workers[0])
	defer x.system.Workers[0].Signal(syscall.SIGCONT)
	begin := time.Now()
	changes := changeAll(ctx, w)
	x.progress.Printf("all jobs are changed, within %s", report.Duration(time.Since(begin)))
	writeChanges(out, changes)
	return nil
}

// awaitFault creates jobs that are due every minute, in some seconds of it, and waits until they have run and it is
// time for the fault.
func (x *experiment) awaitFault(ctx context.Context) (*workload.Workload, error) {
	o := x.options
	minute := time.Now().UTC().Add(time.Duration(o.jobs) * 25 * time.Millisecond).Truncate(time.Minute).Add(time.Minute)
	w := workload.New(x.client, x.receiver, workload.NewUniformJobs(o.jobs, minute, o.spread), stream(o.seed, 2))
	if err := w.Create(ctx); err != nil {
		return nil, err
	}
	fault := minute.Add(time.Minute + o.faultAt)
	x.progress.Printf("%d jobs are created; the fault comes at %s", o.jobs, record.Clock(fault))
	return w, wait.For(ctx, time.Until(fault))
}

// inject kills or pauses a process, as the kind of fault says.
func inject(kind string, p *processes.Process) {
	switch kind {
	case record.FaultKill:
		p.Kill()
	case record.FaultPause:
		p.Signal(syscall.SIGSTOP)
	}
}

// changeAll changes each job once.
func changeAll(ctx context.Context, w *workload.Workload) []timedChange {
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(w.Jobs))
	all := make([]timedChange, len(order))
	wait.Calls(len(order), changeClients, func(i int) {
		j := w.Jobs[order[i]]
		due, _ := j.Next(time.Now().Add(-afterDue))
		all[i] = timedChange{w.ChangeOnce(ctx, i, j), due}
		_ = wait.For(ctx, clientPause)
	})
	return all
}

// writeChanges writes how long changes took.
func writeChanges(w io.Writer, all []timedChange) {
	times := map[string][]time.Duration{}
	add := func(name string, d time.Duration) { times[name] = append(times[name], max(0, d)) }
	failed := 0
	for _, c := range all {
		if c.Status/100 != 2 {
			failed++
		}
		took := c.Answered.Sub(c.Issued)
		add("all", took)
		switch until := c.due.Sub(c.Issued); {
		case until > fenceAhead:
			add("due in more than 8 s, or more than 3 s ago", took)
		case until > 0:
			add("due within 8 s", took)
			add("due within 8 s: from the due time on", c.Answered.Sub(c.due))
		default:
			add("due up to 3 s ago", took)
			add("due up to 3 s ago: from the due time on", c.Answered.Sub(c.due))
		}
	}
	writeSamples(w, samples(times))
	fmt.Fprintf(w, "not answered with success: %d\n", failed)
	slow := slices.SortedFunc(slices.Values(all),
		func(a, b timedChange) int { return int(b.Answered.Sub(b.Issued) - a.Answered.Sub(a.Issued)) })
	fmt.Fprint(w, "the slowest:")
	for _, c := range slow[:min(10, len(slow))] {
		fmt.Fprintf(w, " %s", report.Duration(c.Answered.Sub(c.Issued)))
	}
	fmt.Fprintln(w)
}
