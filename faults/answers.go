//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"almanac/faults/laws"
)

// faultNone makes no fault: what changes take by themselves.
const faultNone = "none"

// faultsBeforeChanges are the faults after which changes can be measured.
var faultsBeforeChanges = []string{faultNone, faultKill, faultPause}

const (
	changeClients = 4                     // that change jobs at the same time
	clientPause   = 50 * time.Millisecond // between two changes of one of them
	fencesBefore  = 8 * time.Second       // no occurrence passes its fence so long before it is due
)

// A timedChange is one change, and the occurrence that it was closest to.
type timedChange struct {
	laws.Try
	due time.Time // from 3 s before the change on, for an occurrence may still be under way then
}

// measureChanges has jobs that recur every minute held by two workers, half of them for
// the minute and half for 30 s later. Some time after the minute it kills or pauses one of
// the workers, and then has each job changed once. It writes how long the answers took.
func measureChanges(ctx context.Context, o *options, s *system, r *receiver, out io.Writer, progress *log.Logger) error {
	minute := time.Now().UTC().Add(time.Duration(o.jobs) * 25 * time.Millisecond).Truncate(time.Minute).Add(time.Minute)
	var subjects []*subject
	for i := range o.jobs {
		d := laws.Definition{Version: 1, Start: minute.Add(time.Duration(i%2) * 30 * time.Second), Overlap: "bufferOne", Behaviour: "ok"}
		if i%3 > 0 {
			d.Retries, d.RetryInterval = 1, 15*time.Second
		}
		subjects = append(subjects, &subject{at: laws.Job{Collection: "faults0", Name: fmt.Sprintf("j%05d", i), Life: 1}, definition: d})
	}
	c := newChanger(newCaller(s), r, subjects, stream(o.seed, 2))
	if err := c.create(ctx); err != nil {
		return err
	}
	fault := minute.Add(time.Minute + o.faultAt) // by then all have run
	progress.Printf("%d jobs are created; the fault comes at %s", o.jobs, fault.Format(time.TimeOnly))
	if err := pause(ctx, time.Until(fault)); err != nil {
		return err
	}
	switch o.changesAfter {
	case faultKill:
		s.workers[0].Kill()
	case faultPause:
		s.workers[0].Signal(syscall.SIGSTOP)
		defer s.workers[0].Signal(syscall.SIGCONT)
	}
	begin := time.Now()
	changes := c.changeAll(ctx)
	progress.Printf("they are changed, within %s", round(time.Since(begin)))
	writeChanges(out, changes)
	return nil
}

// changeAll changes each job once: of five, three get another action, one is disabled
// and one deleted.
func (c *changer) changeAll(ctx context.Context) []timedChange {
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(c.subjects))
	all := make([]timedChange, len(order))
	numbers := make(chan int)
	var group sync.WaitGroup
	for range changeClients {
		group.Go(func() {
			for i := range numbers {
				all[i] = c.timed(ctx, i, c.subjects[order[i]])
				_ = pause(ctx, clientPause)
			}
		})
	}
	for i := range order {
		numbers <- i
	}
	close(numbers)
	group.Wait()
	return all
}

func (c *changer) timed(ctx context.Context, number int, s *subject) timedChange {
	d := s.definition
	d.Version++
	kind, body := laws.ChangeAction, encode(properties{Action: c.receiver.action(s.at, d)})
	switch number % 5 {
	case 3:
		kind, body = laws.Disable, encode(properties{State: "disabled"})
	case 4:
		kind, body = laws.Delete, ""
	}
	method, path := request(kind, s.at)
	due, _ := s.next(time.Now().Add(-3 * time.Second))
	t, _, _ := c.caller.call(ctx, number, method, path, body)
	return timedChange{t, due}
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
		case until > fencesBefore:
			add("due in more than 8 s, or more than 3 s ago", took)
		case until > 0:
			add("due within 8 s", took)
			add("due within 8 s: from the due time on", c.Answered.Sub(c.due))
		default:
			add("due up to 3 s ago", took)
			add("due up to 3 s ago: from the due time on", c.Answered.Sub(c.due))
		}
	}
	writeSamples(w, laws.Samples(times), false)
	fmt.Fprintf(w, "not answered with success: %d\n", failed)
	slow := slices.SortedFunc(slices.Values(all), func(a, b timedChange) int { return int(b.Answered.Sub(b.Issued) - a.Answered.Sub(a.Issued)) })
	fmt.Fprint(w, "the slowest:")
	for _, c := range slow[:min(10, len(slow))] {
		fmt.Fprintf(w, " %s", round(c.Answered.Sub(c.Issued)))
	}
	fmt.Fprintln(w)
}
