// Package e2e_test tells the whole story of Almanac against a real Temporal
// server, real workers and real receivers, over HTTP.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/api"
	"almanac/devserver"
	"almanac/internal/audit/header"
	"almanac/internal/codec"
	"almanac/internal/egress"
	"almanac/job/input"
	"almanac/scheduler"
	"almanac/worker"
)

// A stack is all of Almanac in this process.
type stack struct {
	url      string
	address  string // of Temporal
	temporal client.Client
	service  *scheduler.Service

	stopWorker func()
}

var shared struct {
	once  sync.Once
	stack *stack
	stop  func()
	err   error
}

// parallel is how many tests run at a time, unless -parallel says otherwise.
const parallel = 14

func TestMain(m *testing.M) {
	// The default is the number of cores, and these tests wait most of the time: for due times, retries and timeouts.
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	if almanac.dir != "" {
		os.RemoveAll(almanac.dir)
	}
	os.Exit(code)
}

// computing has an entry for each test that keeps a core busy now.
var computing = make(chan struct{}, runtime.GOMAXPROCS(0))

// compute runs what keeps a core busy: a build, the start of a server or a program, hundreds of calls at once. No more
// of these run at a time than there are cores, so that the other tests have what they wait for in time.
func compute(do func()) {
	computing <- struct{}{}
	defer func() { <-computing }()
	do()
}

// use returns the stack that all tests share.
func use(t *testing.T) *stack {
	t.Helper()
	shared.once.Do(func() { compute(func() { shared.stack, shared.stop, shared.err = start() }) })
	require.NoError(t, shared.err)
	return shared.stack
}

func start() (*stack, func(), error) {
	data, err := os.MkdirTemp("", "almanac-e2e-")
	if err != nil {
		return nil, nil, err
	}
	s, stop, err := setup{data: data}.start(context.Background())
	if err != nil {
		return nil, nil, err
	}
	return s, func() {
		stop()
		os.RemoveAll(data)
	}, nil
}

// refusedHost is what the egress rules of every stack deny.
const refusedHost = "refused.example"

// A setup is what a stack is made with.
type setup struct {
	data     string // the directory of its database
	keys     *codec.KeyRing
	outbound senders.Options // but for its guard, which allows everything but refusedHost
	log      *slog.Logger    // nil: errors, to standard error
	skew     time.Duration   // how far the worker's clock is ahead
	slots    int             // of the worker; 0 means its default
	perHost  int             // likewise

	server    *devserver.Server // nil for one of its own
	namespace string            // of the server; "" means the default one
}

// newStack starts a stack of the test's own.
func newStack(t *testing.T, o setup) *stack {
	t.Helper()
	var s *stack
	compute(func() {
		started, stop, err := o.start(t.Context())
		require.NoError(t, err)
		t.Cleanup(stop)
		s = started
	})
	return s
}

func (o setup) start(ctx context.Context) (_ *stack, _ func(), err error) {
	var stops []func()
	stop := func() {
		for _, f := range slices.Backward(stops) {
			f()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if o.log == nil {
		o.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	server := o.server
	if server == nil {
		server, err = devserver.Start(ctx, devserver.Options{
			DataDir: o.data, Listen: "127.0.0.1:0", Synchronous: devserver.SynchronousNormal,
			SearchAttributes: scheduler.SearchAttributes(), Log: o.log,
		})
		if err != nil {
			return nil, nil, err
		}
		stops = append(stops, server.Stop)
	}
	data, failures := o.keys.Converters()
	c, err := worker.Dial(ctx, client.Options{
		HostPort: server.Address(), ConnectionOptions: server.ConnectionOptions(), Namespace: o.namespace,
		DataConverter: data, FailureConverter: failures, Logger: sdklog.NewStructuredLogger(o.log),
		Interceptors: []interceptor.ClientInterceptor{header.ForClient(data)},
	}, 0)
	if err != nil {
		return nil, nil, err
	}
	stops = append(stops, c.Close)
	o.outbound.Version = "e2e"
	if o.outbound.Guard, err = egress.Parse(egress.ModeAny, nil, []string{refusedHost}); err != nil {
		return nil, nil, err
	}
	all, err := senders.New(o.outbound)
	if err != nil {
		return nil, nil, err
	}
	stops = append(stops, all.Close)
	limits := input.DefaultLimits()
	limits.MinRetryInterval = time.Second // tests do not wait 15 s
	service := scheduler.New(scheduler.Options{Client: c, Converter: data, Limits: &limits, Log: o.log})
	w := worker.New(worker.Options{
		Bulk:    service.Bulk,
		Version: "e2e",
		Client:  c, Converter: data, Senders: all.ByType(), Notifies: all.Notifications(), Log: o.log, Slots: o.slots, PerHost: o.perHost, MaxHold: activities.DefaultMaxHold,
		Now: func() time.Time { return time.Now().Add(o.skew) },
	})
	if err := w.Start(); err != nil {
		return nil, nil, err
	}
	stopWorker := sync.OnceFunc(w.Stop)
	stops = append(stops, stopWorker)
	front := httptest.NewServer(api.New(service, api.Options{Limits: &limits, CheckTarget: all.Check, Log: o.log}))
	stops = append(stops, front.Close)
	return &stack{url: front.URL, address: server.Address(), temporal: c.Client, service: service, stopWorker: stopWorker}, stop, nil
}

// A reply is an answer of the API.
type reply struct {
	code int
	body string
	head http.Header
}

// get returns the value at a path of members, such as properties.status.executionCount.
func (r reply) get(path string) any {
	var value any
	if json.Unmarshal([]byte(r.body), &value) != nil {
		return nil
	}
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// count returns the length of the list at a path.
func (r reply) count(path string) int {
	list, _ := r.get(path).([]any)
	return len(list)
}

// call calls an API.
func call(t *testing.T, method, url, body string) reply {
	t.Helper()
	r, err := tryCall(t.Context(), method, url, body)
	require.NoError(t, err)
	return r
}

func tryCall(ctx context.Context, method, url, body string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(text), resp.Header}, err
}

// collection makes a collection of the test's own and returns its URL.
func (s *stack) collection(t *testing.T) string {
	t.Helper()
	name := strings.NewReplacer("/", "-").Replace(t.Name())
	url := s.url + "/jobCollections/" + name
	const body = `{"location":"here","properties":{"sku":{"name":"P20Premium"}}}`
	if expect(t, http.StatusCreated, http.MethodPut, url, body) != nil {
		// on a slow machine the API tries again itself, and finds it
		ok(t, http.MethodPut, url, body)
	}
	return url
}

// A sink receives what jobs send.
type sink struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
	answer   func(http.ResponseWriter, *http.Request)
}

type received struct {
	at     time.Time
	method string
	path   string
	key    string
	header http.Header
	body   string
}

func newSink(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *sink {
	s := &sink{answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = io.Copy(&body, r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, received{time.Now(), r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header, body.String()})
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(w, r)
	}
}

// all returns what was received so far.
func (s *sink) all() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// got returns what was received so far at a path.
func (s *sink) got(path string) []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []received
	for _, r := range s.requests {
		if r.path == path {
			out = append(out, r)
		}
	}
	return out
}

// await returns what was received at a path once that are n.
func (s *sink) await(t *testing.T, path string, n int) []received {
	t.Helper()
	var got []received
	eventually(t, fmt.Sprintf("%d requests to %s", n, path), func() bool {
		got = s.got(path)
		return len(got) >= n
	})
	return got
}

// patience is how long a test waits for what is to come: far longer than a slow machine takes, since a test that passes
// does not wait for its end. What has to come by some time is compared with that time.
const patience = 5 * time.Minute

// eventually waits until a condition holds. It looks less and less often: to look keeps a core busy, too.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for pause := firstPause; !holds(); pause = min(2*pause, longestPause) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %s", what, patience)
		}
		select {
		case <-time.After(pause):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// The pauses of those who wait for a condition.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 160 * time.Millisecond
)

// status waits until the job's status is as wanted and returns the job.
func status(t *testing.T, url, path string, want any) reply {
	t.Helper()
	var last reply
	deadline := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		last = call(t, http.MethodGet, url, "")
		if last.get(path) == want {
			return last
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s of %s is %v, want %v: %s", path, url, last.get(path), want, last.body)
		}
		<-time.After(pause)
	}
}

// get is a job that calls a URL; more is added to its properties.
func get(url, more string) string {
	return `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + url + `"}}` + more + `}}`
}

// A group runs subtests at the same time, in the place of their test among those that run at a time: they wait more
// than they compute, and would wait for places of their own.
type group struct{ sync.WaitGroup }

func (g *group) run(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	g.Go(func() { t.Run(name, f) })
}
