package faults

import (
	"context"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"almanac/lab/faults/workload"
	"almanac/lab/processes"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// measureLateness creates jobs that are due every minute, spread over some seconds of it. Then it kills or pauses
// workers, and writes how late the occurrences that were due in the following minute arrived.
func (x *experiment) measureLateness(ctx context.Context, out io.Writer) error {
	w, err := x.awaitFault(ctx)
	if err != nil {
		return err
	}
	victims := x.system.Workers[:x.options.victims]
	defer resume(victims)
	fault := time.Now()
	for i, p := range victims {
		if i > 0 {
			if err := wait.For(ctx, x.options.apart); err != nil {
				return err
			}
		}
		inject(x.options.latenessAfter, p)
	}
	if err := wait.For(ctx, time.Until(fault.Add(faultLength))); err != nil {
		return err
	}
	resume(victims)
	if err := wait.For(ctx, afterFault); err != nil {
		return err
	}
	writeLateness(out, w.Jobs, x.receiver.Requests(), fault)
	return nil
}

// resume has processes go on that were paused.
func resume(all []*processes.Process) {
	for _, p := range all {
		p.Signal(syscall.SIGCONT)
	}
}

const (
	faultLength = time.Minute
	afterFault  = 75 * time.Second // the longest that an occurrence is waited for
)

// writeLateness writes how late the occurrences were that were due in the minute after the fault, and in the one
// before.
func writeLateness(w io.Writer, jobs []*workload.Job, requests []record.Request, fault time.Time) {
	type occurrence struct {
		job record.Job
		due int64
	}
	first := map[occurrence]time.Time{}
	count := map[occurrence]int{}
	for _, r := range requests {
		k := occurrence{r.Job, r.Due.Unix()}
		count[k]++
		if t, ok := first[k]; !ok || r.Arrived.Before(t) {
			first[k] = r.Arrived
		}
	}
	times, missing, twice := map[string][]time.Duration{}, 0, 0
	for _, j := range jobs {
		for due := j.Definition.Start; due.Before(fault.Add(faultLength)); due = due.Add(time.Minute) {
			k := occurrence{j.ID, due.Unix()}
			name := "after the fault"
			switch {
			case due.Before(fault.Add(-faultLength)):
				continue
			case due.Before(fault):
				name = "before"
			}
			arrived, ok := first[k]
			if !ok {
				missing++
				continue
			}
			if count[k] > 1 {
				twice++
			}
			times[name] = append(times[name], max(0, arrived.Sub(due)))
		}
	}
	writeSamples(w, samples(times))
	fmt.Fprintf(w, "not sent: %d, sent twice: %d\n", missing, twice)
	writeTenths(w, times["after the fault"])
}

// writeTenths writes how many arrived in each tenth of a second.
func writeTenths(w io.Writer, late []time.Duration) {
	slices.Sort(late)
	fmt.Fprint(w, "arrived in the tenth of a second from:")
	const tenth = time.Second / 10
	for len(late) > 0 {
		from := late[0].Truncate(tenth)
		n, _ := slices.BinarySearch(late, from+tenth)
		fmt.Fprintf(w, " %g s: %d", from.Seconds(), n)
		late = late[n:]
	}
	fmt.Fprintln(w)
}
