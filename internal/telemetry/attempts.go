package telemetry

import (
	"cmp"
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Values of the label outcome.
const (
	completed = "completed"
	failed    = "failed"
)

// Attempts observes the attempts of a worker. A nil Attempts observes nothing.
type Attempts struct {
	executions, errorActions, attempts *prometheus.CounterVec
	lateness, durations                *prometheus.HistogramVec
	inFlight                           prometheus.Gauge
	retries                            retries
	load                               load

	tracer      trace.Tracer
	traced      bool
	registry    *prometheus.Registry
	collections *collections // nil: no such label
}

// Attempts returns the observer of a worker's attempts, once for a process.
func (t *Telemetry) Attempts() *Attempts {
	a := &Attempts{tracer: t.Tracer(), traced: t.Traces(), registry: t.Registry, load: load{log: t.log}}
	var more []string
	if t.collections {
		a.collections, more = new(collections), []string{"collection"}
	}
	a.executions = counter("almanac_executions_total", "Executions that ended, by the outcome of the main action.",
		append([]string{"kind", "outcome"}, more...)...)
	a.errorActions = counter("almanac_error_actions_total", "Error actions that ended.", "kind", "outcome")
	a.attempts = counter("almanac_attempts_total", "Attempts that ended, by what the receiver answered.", "kind", "action", "answer")
	a.lateness = histogram("almanac_execution_lateness_seconds", "Time from when an execution was due until its first attempt began.", "kind")
	a.durations = histogram("almanac_attempt_duration_seconds", "Time that an attempt took.", "kind")
	a.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{Name: "almanac_attempts_in_flight", Help: "Attempts that are being made."})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "almanac_retries_waiting", Help: "Retries of attempts that failed at this worker whose time has not come.",
	}, func() float64 { return float64(a.retries.waiting(time.Now())) })
	t.Registry.MustRegister(a.executions, a.errorActions, a.attempts, a.lateness, a.durations, a.inFlight, waiting)
	t.Registry.MustRegister(a.load.collectors()...)
	t.load = &a.load
	return a
}

// ObserveHeld shows the number of actions that the worker holds until they are due.
func (a *Attempts) ObserveHeld(held func() int) {
	if a == nil {
		return
	}
	a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "almanac_actions_held", Help: "Actions that the worker holds until they are due.",
	}, func() float64 { return float64(held()) }))
}

// An Attempt is what is known of an attempt before it begins.
type Attempt struct {
	Execution, Job, Collection string
	Kind                       string // of the action; "" for an unknown kind
	Host                       string // of the receiver, without a path
	Number                     int    // from 1, over all activities of the action
	ErrorAction                bool
	Due                        time.Time
}

// first reports whether it is the first attempt of a main action, which is to be made when the execution is due.
func (e *Attempt) first() bool { return e.Number == 1 && !e.ErrorAction }

func (e *Attempt) kind() string { return cmp.Or(e.Kind, "other") }

// An Observed is an attempt that is being made, or has ended. A nil Observed is of an attempt that this process did not
// make.
type Observed struct {
	attempt         Attempt
	execution, span trace.Span // nil: no traces
	counted         atomic.Bool
}

// Wait observes that the worker has an attempt to make. Call done when it will not begin it any more.
func (a *Attempts) Wait(e Attempt) (done func()) {
	if a == nil || !e.first() {
		return func() {}
	}
	a.load.wait(e.Execution, e.Due)
	return func() { a.load.leave(e.Execution) }
}

// Begin observes the beginning of an attempt. The context is for the request: it has the attempt's span.
func (a *Attempts) Begin(ctx context.Context, e Attempt) (context.Context, *Observed) {
	if a == nil {
		return ctx, nil
	}
	o := &Observed{attempt: e}
	a.inFlight.Inc()
	if e.first() {
		a.load.send(e.Execution, e.Due, time.Now())
	}
	if a.traced {
		ctx, o.execution = startExecution(ctx, a.tracer, &e)
		ctx, o.span = startAttempt(ctx, a.tracer, &e)
	}
	return ctx, o
}

// Drop observes that the request of a begun attempt did not leave. Nothing is counted, and no span is sent.
func (a *Attempts) Drop(o *Observed) {
	if o != nil {
		a.inFlight.Dec()
	}
}

// End observes the end of a begun attempt. answer is the class of the receiver's answer, failure is empty if the
// attempt succeeded; it must not hold a secret.
func (a *Attempts) End(o *Observed, answer, failure string, end time.Time) {
	if o == nil {
		return
	}
	a.inFlight.Dec()
	if o.span != nil {
		o.span.SetAttributes(attribute.String("almanac.answer", answer))
		endSpan(o.span, failure, end)
	}
}

// Context returns a context with the attempt's span, for the log.
func (o *Observed) Context(ctx context.Context) context.Context {
	if o == nil || o.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, o.span)
}

// An EndedAttempt is an attempt that has ended, and how.
type EndedAttempt struct {
	Attempt
	Start, End time.Time
	Answer     string    // class of what the receiver answered
	Failure    string    // "" if the attempt succeeded; without secrets
	Retry      time.Time // when another attempt begins; zero if none follows
}

// Count counts an attempt that ended, and what ended with it. An attempt is counted once, however often its outcome is
// reported. o is nil if the attempt was lost.
func (a *Attempts) Count(o *Observed, r *EndedAttempt) {
	if a == nil || o != nil && o.counted.Swap(true) {
		return
	}
	kind, action, outcome := r.kind(), "main", completed
	if r.Failure != "" {
		outcome = failed
	}
	if r.ErrorAction {
		action = "error"
	}
	a.attempts.WithLabelValues(kind, action, r.Answer).Inc()
	if o != nil {
		a.durations.WithLabelValues(kind).Observe(r.End.Sub(r.Start).Seconds())
		if r.first() {
			a.lateness.WithLabelValues(kind).Observe(max(0, r.Start.Sub(r.Due)).Seconds())
		}
	}
	switch {
	case !r.Retry.IsZero():
		a.retries.add(r.Retry, time.Now())
	case r.ErrorAction:
		a.errorActions.WithLabelValues(kind, outcome).Inc()
	default:
		a.executions.WithLabelValues(a.labels(r, kind, outcome)...).Inc()
		if o != nil && o.execution != nil {
			endSpan(o.execution, r.Failure, r.End)
		}
	}
}

func (a *Attempts) labels(r *EndedAttempt, values ...string) []string {
	if a.collections != nil {
		values = append(values, a.collections.label(r.Collection))
	}
	return values
}

// maxCollections is the number of values of the label collection. Further collections share the value "other".
const maxCollections = 50

// collections are the names of collections that are labels, the first ones that had an execution.
type collections struct {
	mu    sync.Mutex
	known map[string]bool
}

func (c *collections) label(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]bool{}
	}
	if !c.known[name] && len(c.known) >= maxCollections {
		return "other"
	}
	c.known[name] = true
	return name
}

// retries are the times of retries, the next one first. The zero value is ready for use.
type retries struct {
	mu    sync.Mutex
	times timeHeap
}

func (r *retries) add(at, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(now)
	heap.Push(&r.times, at)
}

func (r *retries) waiting(now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(now)
	return len(r.times)
}

// forget removes the times that have come. r.mu is held.
func (r *retries) forget(now time.Time) {
	for len(r.times) > 0 && !r.times[0].After(now) {
		heap.Pop(&r.times)
	}
}

// timeHeap implements [heap.Interface].
type timeHeap []time.Time

func (h timeHeap) Len() int           { return len(h) }
func (h timeHeap) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h timeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timeHeap) Push(at any)       { *h = append(*h, at.(time.Time)) }
func (h *timeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
