package systems

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"almanac/internal/wait"
)

// A Receiver receives the requests that jobs send and records when. A request's path names the job
// that sent it: /herd/number.
type Receiver struct {
	server *httptest.Server

	mu       sync.Mutex
	arrivals map[string][]Arrival // by herd
}

// An Arrival is a request that came.
type Arrival struct {
	Job int
	Due time.Time // of the occurrence, as the request says
	At  time.Time
}

// dueHeader holds the time an execution was due, in UTC and whole seconds.
const dueHeader = "x-ms-scheduler-expected-execution-time"

// NewReceiver starts a receiver on a free port of this machine.
func NewReceiver() *Receiver {
	r := &Receiver{arrivals: map[string][]Arrival{}}
	r.server = httptest.NewServer(r)
	return r
}

// Close stops the receiver.
func (r *Receiver) Close() { r.server.Close() }

// target returns the address that a job is to call.
func (r *Receiver) target(herd string, job int) string {
	return fmt.Sprintf("%s/%s/%d", r.server.URL, herd, job)
}

// ServeHTTP records a request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	herd, number, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	job, errJob := strconv.Atoi(number)
	due, errDue := time.Parse("2006-01-02T15:04:05", req.Header.Get(dueHeader))
	if errJob != nil || errDue != nil {
		http.Error(w, "the path must be /herd/number, and the header "+dueHeader+" a time", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.arrivals[herd] = append(r.arrivals[herd], Arrival{job, due, at})
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// Count returns how many requests of a herd have come.
func (r *Receiver) Count(herd string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.arrivals[herd])
}

// Await waits until so many requests of a herd have come. The error after that time says how many had.
func (r *Receiver) Await(ctx context.Context, herd string, requests int, within time.Duration) error {
	err := wait.Until(ctx, within, func() bool { return r.Count(herd) >= requests })
	if came := r.Count(herd); err == nil && came < requests {
		return fmt.Errorf("after %s, %d of %d requests have come", within, came, requests)
	}
	return err
}

// Take returns the requests of a herd that have come, and forgets them.
func (r *Receiver) Take(herd string) []Arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.arrivals[herd]
	delete(r.arrivals, herd)
	return all
}
