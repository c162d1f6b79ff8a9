// Package receiver is the web server that all jobs call. It answers as the URI of a request says, and records every
// request.
package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"almanac/lab/record"
	"almanac/lab/wait"
)

// A Receiver receives requests. Its methods may be called concurrently.
type Receiver struct {
	server *http.Server
	url    string
	seed   uint64

	mu     sync.Mutex
	storm  chan struct{} // nil: there is none; closed at its end
	alerts int           // notifications that were answered
	told   []record.Alert
	came   map[string]*collection
	waiter *waiter
}

// A collection is what came from the jobs of a collection.
type collection struct {
	requests []*record.Request
	seen     map[string]int // number of requests, by execution and action
}

// The moments of an execution that can be waited for.
const (
	Requested   = "request"      // the receiver has the request of the action
	Answered    = "answered"     // it has answered, and the outcome is not recorded yet
	RetryWait   = "retry wait"   // between two attempts
	ErrorAction = "error action" // the receiver has the request of the error action
)

// A waiter waits until an execution reaches a moment.
type waiter struct {
	moment  string
	reached chan record.Job // has room for one
}

// Start starts a receiver on a free port. The seed determines which requests of flaky jobs fail.
func Start(seed uint64) (*Receiver, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := New("http://"+l.Addr().String(), seed)
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }() // until it is closed
	return r, nil
}

// New returns a receiver that is reached at a URL, once that is served.
func New(url string, seed uint64) *Receiver {
	return &Receiver{url: url, seed: seed, came: map[string]*collection{}}
}

// Close closes a receiver that was started.
func (r *Receiver) Close() { _ = r.server.Close() }

// URI returns the URI of an action of a job, of one of its versions. A behaviour is one of
//   - ok: 200 at once
//   - slow-N: 200 after N seconds
//   - fail: 500
//   - flaky-N: 500 for N of 100 requests, otherwise 200
//   - throttle-N: 429 or 503 with Retry-After N for the first request of an execution's action, then 200
func (r *Receiver) URI(j record.Job, version int, action, behaviour string) string {
	return fmt.Sprintf("%s/%s/%s/%d/%d/%s?do=%s", r.url, j.Collection, j.Name, j.Incarnation, version, action,
		behaviour)
}

// Failing makes the requests to a URI of [Receiver.Target] be answered by 500.
const Failing = "?do=fail"

// Slow makes them be answered after a second.
const Slow = "?do=slow-1"

// Target returns the URI of a job whose requests are all answered by 204 at once.
func (r *Receiver) Target(collection, name string) string {
	return fmt.Sprintf("%s/%s/%s", r.url, collection, name)
}

// The header with the due time of the occurrence, in UTC and whole seconds.
const (
	dueHeader = "x-ms-scheduler-expected-execution-time"
	dueLayout = "2006-01-02T15:04:05"
)

// Parse reads which execution a request belongs to.
func Parse(req *http.Request, arrived time.Time) (record.Request, error) {
	r := record.Request{Arrived: arrived, ID: req.Header.Get("Idempotency-Key")}
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if len(parts) != 2 && len(parts) != 5 {
		return r, fmt.Errorf("the path must have 2 or 5 parts (got %d)", len(parts))
	}
	r.Collection, r.Name, r.Action = parts[0], parts[1], record.MainAction
	if len(parts) == 5 {
		var errIncarnation, errVersion error
		r.Incarnation, errIncarnation = strconv.Atoi(parts[2])
		r.Version, errVersion = strconv.Atoi(parts[3])
		if err := errors.Join(errIncarnation, errVersion); err != nil {
			return r, err
		}
		r.Action = parts[4]
	}
	var err error
	r.Due, err = time.Parse(dueLayout, req.Header.Get(dueHeader))
	return r, err
}

// An answer is what the receiver does with a request.
type answer struct {
	after      time.Duration
	status     int
	retryAfter time.Duration
}

// decide returns the answer to the nth request, from 1 on, of an execution's action; the same each time.
func decide(seed uint64, behaviour, id, action string, nth int) answer {
	name, number, _ := strings.Cut(behaviour, "-")
	n, _ := strconv.Atoi(number)
	switch name {
	case "":
		return answer{status: http.StatusNoContent}
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
			return answer{status: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[n%2],
				retryAfter: time.Duration(n) * time.Second}
		}
	}
	return answer{status: http.StatusOK}
}

// alertPath is where the URIs of notifications begin.
const alertPath = "/alerts/"

// AlertURI returns the URI that gets the notifications of a job.
func (r *Receiver) AlertURI(j record.Job) string {
	return r.url + alertPath + j.Collection + "/" + j.Name
}

// Storm makes the receiver answer all requests with 500 from now on, or no longer. Meanwhile it does not answer a third
// of the notifications.
func (r *Receiver) Storm(begins bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if begins {
		r.storm = make(chan struct{})
	} else if r.storm != nil {
		close(r.storm)
		r.storm = nil
	}
}

func (r *Receiver) stormEnd() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.storm
}

// alert answers a notification.
func (r *Receiver) alert(req *http.Request) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(req.URL.Path))
	if end := r.stormEnd(); end != nil && h.Sum32()%3 == 0 {
		select {
		case <-end:
		case <-req.Context().Done():
			return
		}
	}
	told := alertsIn(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alerts++
	r.told = append(r.told, told...)
}

// alertsIn returns the alerts in a notification: one, or those that a digest lists.
func alertsIn(req *http.Request) []record.Alert {
	type alert struct {
		Event            string
		Job              string
		JobCollection    string
		Due, First, Last time.Time
		Alerts           []json.RawMessage
	}
	var event struct{ Data json.RawMessage }
	var told []record.Alert
	add := func(text json.RawMessage) (inside []json.RawMessage) {
		var a alert
		if json.Unmarshal(text, &a) == nil && a.Event != "" {
			told = append(told, record.Alert{Collection: a.JobCollection, Name: a.Job, Event: a.Event,
				Due: a.Due, First: a.First, Last: a.Last, Arrived: time.Now().UTC()})
		}
		return a.Alerts
	}
	if json.NewDecoder(req.Body).Decode(&event) == nil {
		for _, text := range add(event.Data) {
			add(text)
		}
	}
	return told
}

// Told returns what the receiver was notified of.
func (r *Receiver) Told() []record.Alert {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

// Alerts returns the number of notifications that were answered.
func (r *Receiver) Alerts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alerts
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasPrefix(req.URL.Path, alertPath) {
		r.alert(req)
		return
	}
	got, err := Parse(req, time.Now().UTC())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := decide(r.seed, req.URL.Query().Get("do"), got.ID, got.Action, r.add(&got))
	if r.stormEnd() != nil {
		a = answer{status: http.StatusInternalServerError}
	}
	switch {
	case got.Action == record.ErrorAction:
		r.reach(ErrorAction, got.Job)
	case a.after > 0:
		time.AfterFunc(a.after/2, func() { r.reach(Requested, got.Job) })
	default:
		r.reach(Requested, got.Job)
	}
	if a.after > 0 && wait.For(req.Context(), a.after) != nil {
		r.end(&got, a, true)
		return
	}
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(a.retryAfter.Seconds())))
	}
	w.WriteHeader(a.status)
	if a.status != http.StatusNoContent {
		_, _ = w.Write([]byte("ok\n")) // Flush reports the error
	}
	flushed := http.NewResponseController(w).Flush()
	r.end(&got, a, flushed != nil || req.Context().Err() != nil)
	r.reach(Answered, got.Job)
	if a.status/100 != 2 {
		time.AfterFunc(5*time.Second, func() { r.reach(RetryWait, got.Job) })
	}
}

// add records a request. It returns how many came of its execution's action.
func (r *Receiver) add(got *record.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.came[got.Collection]
	if c == nil {
		c = &collection{seen: map[string]int{}}
		r.came[got.Collection] = c
	}
	c.requests = append(c.requests, got)
	c.seen[got.ID+got.Action]++
	return c.seen[got.ID+got.Action]
}

// end records that a request was answered, or cut off before.
func (r *Receiver) end(got *record.Request, a answer, cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now().UTC(); cut {
		got.Cut = now
	} else {
		got.Answered, got.Status = now, a.status
	}
}

// reach reports that a job has reached a moment.
func (r *Receiver) reach(moment string, j record.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiter == nil || r.waiter.moment != moment {
		return
	}
	r.waiter.reached <- j
	r.waiter = nil
}

// Await waits until an execution reaches a moment, at most for the time limit. It returns its job.
func (r *Receiver) Await(ctx context.Context, moment string, limit time.Duration) (record.Job, bool) {
	w := &waiter{moment: moment, reached: make(chan record.Job, 1)}
	r.setWaiter(w)
	defer r.setWaiter(nil)
	select {
	case j := <-w.reached:
		return j, true
	case <-time.After(limit):
	case <-ctx.Done():
	}
	return record.Job{}, false
}

func (r *Receiver) setWaiter(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiter = w
}

// Count returns the number of requests from some collections so far.
func (r *Receiver) Count(collections ...string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range collections {
		n += len(r.of(c))
	}
	return n
}

// of returns the requests from a collection. The receiver must be locked.
func (r *Receiver) of(collection string) []*record.Request {
	if c := r.came[collection]; c != nil {
		return c.requests
	}
	return nil
}

// all yields all requests. The receiver must be locked.
func (r *Receiver) all() iter.Seq[*record.Request] {
	return func(yield func(*record.Request) bool) {
		for _, c := range r.came {
			for _, one := range c.requests {
				if !yield(one) {
					return
				}
			}
		}
	}
}

// AwaitCount waits until so many requests of a collection have come. The error after that time says how many had.
func (r *Receiver) AwaitCount(ctx context.Context, collection string, requests int, within time.Duration) error {
	err := wait.Until(ctx, within, func() bool { return r.Count(collection) >= requests })
	if came := r.Count(collection); err == nil && came < requests {
		return fmt.Errorf("after %s, %d of %d requests have come", within, came, requests)
	}
	return err
}

// AwaitRequests waits until each of some jobs has sent a request, at most for the time limit.
func (r *Receiver) AwaitRequests(ctx context.Context, jobs []record.Job, limit time.Duration) error {
	return wait.Until(ctx, limit, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		found := map[record.Job]bool{}
		for one := range r.all() {
			found[one.Job] = true
		}
		return !slices.ContainsFunc(jobs, func(j record.Job) bool { return !found[j] })
	})
}

// AwaitIdle waits until every request is answered or cut off, at most for the time limit.
func (r *Receiver) AwaitIdle(ctx context.Context, limit time.Duration) error {
	return wait.Until(ctx, limit, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for one := range r.all() {
			if one.Answered.IsZero() && one.Cut.IsZero() {
				return false
			}
		}
		return true
	})
}

// Requests returns a copy of all requests, in the order in which they came.
func (r *Receiver) Requests() []record.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []record.Request
	for one := range r.all() {
		all = append(all, *one)
	}
	slices.SortStableFunc(all, func(a, b record.Request) int { return a.Arrived.Compare(b.Arrived) })
	return all
}

// Take returns a copy of the requests of a collection, and forgets them.
func (r *Receiver) Take(collection string) []record.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []record.Request
	for _, one := range r.of(collection) {
		all = append(all, *one)
	}
	delete(r.came, collection)
	return all
}
