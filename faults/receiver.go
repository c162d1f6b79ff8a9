//go:build linux

package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"almanac/faults/laws"
)

// A receiver gets what jobs send, and writes it down.
type receiver struct {
	server *http.Server
	url    string
	seed   uint64

	mu       sync.Mutex
	requests []*laws.Request
	seen     map[string]int // requests of an execution's action
	hook     *hook
}

// A hook waits for an execution to reach a stage.
type hook struct {
	stage string
	reach chan laws.Job // gets the job that has reached it
}

func newReceiver(seed uint64) (*receiver, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String(), seed: seed, seen: map[string]int{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }() // until it is closed
	return r, nil
}

// uri returns where an action of a job's version goes.
func (r *receiver) uri(j laws.Job, version int, action, behaviour string) string {
	return fmt.Sprintf("%s/%s/%s/%d/%d/%s?do=%s", r.url, j.Collection, j.Name, j.Life, version, action, behaviour)
}

// dueLayout is the form of the header that tells when an execution is due.
const dueLayout = "2006-01-02T15:04:05"

// read reads what a request says of itself.
func read(req *http.Request, at time.Time) (laws.Request, error) {
	r := laws.Request{Arrived: at, ID: req.Header.Get("Idempotency-Key")}
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if len(parts) != 5 {
		return r, fmt.Errorf("the path has %d parts, 5 are right", len(parts))
	}
	var err error
	r.Collection, r.Name, r.Action = parts[0], parts[1], parts[4]
	if r.Life, err = strconv.Atoi(parts[2]); err != nil {
		return r, err
	}
	if r.Version, err = strconv.Atoi(parts[3]); err != nil {
		return r, err
	}
	r.Due, err = time.Parse(dueLayout, req.Header.Get("x-ms-scheduler-expected-execution-time"))
	return r, err
}

// An answer is what the receiver does with a request.
type answer struct {
	after      time.Duration
	status     int
	retryAfter time.Duration
}

// decide returns what a behaviour does with the nth request, from 1, of an
// execution's action. It depends on nothing else, so that a log can be
// recomputed.
func decide(seed uint64, behaviour, id, action string, nth int) answer {
	name, number, _ := strings.Cut(behaviour, "-")
	n, _ := strconv.Atoi(number)
	switch name {
	case "slow":
		return answer{after: time.Duration(n) * time.Second, status: http.StatusOK}
	case "fail":
		return answer{status: http.StatusInternalServerError}
	case "flaky":
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %s %d", seed, id, action, nth)
		if h.Sum64()%100 < uint64(n) {
			return answer{status: http.StatusInternalServerError}
		}
	case "throttle":
		if nth == 1 {
			return answer{status: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[n%2], retryAfter: time.Duration(n) * time.Second}
		}
	}
	return answer{status: http.StatusOK}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	got, err := read(req, time.Now().UTC())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.requests = append(r.requests, &got)
	key := got.ID + got.Action
	r.seen[key]++
	nth := r.seen[key]
	r.mu.Unlock()
	a := decide(r.seed, req.URL.Query().Get("do"), got.ID, got.Action, nth)
	switch {
	case got.Action == laws.Error:
		r.reached(aimError, got.Job)
	case a.after > 0:
		time.AfterFunc(a.after/2, func() { r.reached(aimRequest, got.Job) })
	default:
		r.reached(aimRequest, got.Job)
	}
	if a.after > 0 {
		select {
		case <-time.After(a.after):
		case <-req.Context().Done():
			r.mu.Lock()
			got.Cut = time.Now().UTC()
			r.mu.Unlock()
			return
		}
	}
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(a.retryAfter.Seconds())))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte("ok\n"))                   // who is gone is seen below
	flushed := http.NewResponseController(w).Flush() // likewise
	r.mu.Lock()
	if now := time.Now().UTC(); flushed != nil || req.Context().Err() != nil {
		got.Cut = now
	} else {
		got.Answered, got.Status = now, a.status
	}
	r.mu.Unlock()
	r.reached(aimAnswered, got.Job)
	if a.status != http.StatusOK {
		time.AfterFunc(5*time.Second, func() { r.reached(aimRetry, got.Job) })
	}
}

// reached tells who waits for a stage that a job has reached it.
func (r *receiver) reached(stage string, j laws.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hook == nil || r.hook.stage != stage {
		return
	}
	r.hook.reach <- j // there is room for one
	r.hook = nil
}

// await waits until an execution reaches a stage.
func (r *receiver) await(ctx context.Context, stage string, patience time.Duration) (laws.Job, bool) {
	h := &hook{stage: stage, reach: make(chan laws.Job, 1)}
	r.mu.Lock()
	r.hook = h
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.hook = nil
		r.mu.Unlock()
	}()
	select {
	case j := <-h.reach:
		return j, true
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return laws.Job{}, false
}

// count returns how many requests came so far.
func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

// arrived waits until requests of all of some jobs have come.
func (r *receiver) arrived(ctx context.Context, jobs []laws.Job, patience time.Duration) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && r.lacks(jobs); {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// lacks reports whether no request came of one of some jobs.
func (r *receiver) lacks(jobs []laws.Job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[laws.Job]bool{}
	for _, one := range r.requests {
		found[one.Job] = true
	}
	return slices.ContainsFunc(jobs, func(j laws.Job) bool { return !found[j] })
}

// idle waits until every request is answered.
func (r *receiver) idle(ctx context.Context, patience time.Duration) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && r.open() > 0; {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// open returns how many requests are not answered yet.
func (r *receiver) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, one := range r.requests {
		if one.Answered.IsZero() && one.Cut.IsZero() {
			n++
		}
	}
	return n
}

// log returns a copy of all requests.
func (r *receiver) log() []laws.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]laws.Request, len(r.requests))
	for i, one := range r.requests {
		all[i] = *one
	}
	return all
}
