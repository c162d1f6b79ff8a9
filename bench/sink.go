package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A sink receives what the systems send and notes when. A request's path says
// which job sent it: /herd/number.
type sink struct {
	url    string
	server *http.Server
	served chan error

	mu       sync.Mutex
	arrivals map[string][]arrival // by herd
}

// An arrival is a request as the sink saw it come.
type arrival struct {
	job int
	due time.Time // which occurrence it is, as its sender says
	at  time.Time
}

// dueHeader holds the time an execution was due, in UTC and whole seconds.
const dueHeader = "x-ms-scheduler-expected-execution-time"

func newSink(ctx context.Context) (*sink, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for what the jobs send: %w", err)
	}
	s := &sink{url: "http://" + l.Addr().String(), served: make(chan error, 1), arrivals: map[string][]arrival{}}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { s.served <- s.server.Serve(l) }()
	return s, nil
}

// close stops the sink; the error says if it had failed before.
func (s *sink) close() error {
	_ = s.server.Close()
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the sink failed: %w", err)
	}
	return nil
}

// target returns the address that a job is to call.
func (s *sink) target(herd string, job int) string {
	return s.url + "/" + herd + "/" + strconv.Itoa(job)
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	herd, number, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	job, errJob := strconv.Atoi(number)
	due, errDue := time.Parse("2006-01-02T15:04:05", r.Header.Get(dueHeader))
	if errJob != nil || errDue != nil {
		http.Error(w, "want /herd/number and the header "+dueHeader, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.arrivals[herd] = append(s.arrivals[herd], arrival{job, due, at})
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// count returns how many requests of a herd have come.
func (s *sink) count(herd string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.arrivals[herd])
}

// await waits until so many requests of a herd have come; the error says how
// many had when the time was over.
func (s *sink) await(ctx context.Context, herd string, requests int, within time.Duration) error {
	for end := time.Now().Add(within); s.count(herd) < requests; {
		if time.Now().After(end) {
			return fmt.Errorf("after %s, %d of %d executions have come", within, s.count(herd), requests)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// take returns the requests of a herd that have come, and forgets them.
func (s *sink) take(herd string) []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.arrivals[herd]
	delete(s.arrivals, herd)
	return all
}
