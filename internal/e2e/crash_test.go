package e2e_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// almanac is the program, built once for all tests.
var almanac struct {
	once sync.Once
	dir  string
	path string
	err  error
}

func program(t *testing.T) string {
	t.Helper()
	almanac.once.Do(func() { compute(func() { build(t) }) })
	require.NoError(t, almanac.err)
	return almanac.path
}

func build(t *testing.T) {
	t.Helper()
	// Not the test's own: the program serves all tests.
	if almanac.dir, almanac.err = os.MkdirTemp("", "almanac-bin-"); almanac.err != nil { //nolint:usetesting
		return
	}
	almanac.path = filepath.Join(almanac.dir, "almanac")
	// As in releases, it has no information for debuggers, which takes long to link.
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", almanac.path, "almanac/cmd/almanac").CombinedOutput()
	if almanac.err = err; err != nil {
		t.Logf("%s", out)
	}
}

// A process is a running `almanac dev`.
type process struct {
	*exec.Cmd
	url    string
	output []string
}

// dev starts `almanac dev` and waits until it says where it is.
func dev(t *testing.T, data string, more ...string) *process {
	t.Helper()
	return devTo(t, os.Stderr, data, more...)
}

func devTo(t *testing.T, stderr io.Writer, data string, more ...string) *process {
	t.Helper()
	return devIn(t, nil, stderr, data, more...)
}

// devIn is devTo with further environment variables.
func devIn(t *testing.T, variables []string, stderr io.Writer, data string, more ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program(t), append([]string{"dev", "--data", data,
		"--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0"}, more...)...)}
	p.Env, p.Stderr = append(os.Environ(), variables...), stderr
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	lines := bufio.NewScanner(out)
	compute(func() {
		require.NoError(t, p.Start())
		t.Cleanup(func() { p.kill(t) })
		for lines.Scan() {
			p.output = append(p.output, lines.Text())
			if address, ok := strings.CutPrefix(lines.Text(), "API "); ok {
				p.url = strings.TrimSpace(address)
			}
			if strings.HasPrefix(lines.Text(), "Try:") {
				break
			}
		}
	})
	require.NotEmpty(t, p.url, "almanac dev did not say where its API is")
	go func() { // keep the pipe empty
		for lines.Scan() {
		}
	}()
	return p
}

// kill ends the process as a power switch does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if p.ProcessState != nil {
		return
	}
	_ = p.Process.Kill()
	_ = p.Wait()
}

// A job that sleeps, one whose call is under way and one that waits for a
// retry all survive kill -9.
func TestKillNineLosesNothing(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var calls sync.Map
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		_, again := calls.LoadOrStore(r.URL.Path, true)
		switch {
		case r.URL.Path == "/under-way" && !again:
			<-release
		case r.URL.Path == "/retry" && !again, r.URL.Path == "/once":
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	t.Cleanup(func() { close(release) })
	data := t.TempDir()
	p := dev(t, data)
	jobs := p.url + "/jobCollections/default/jobs"

	due := time.Now().UTC().Add(8 * time.Second).Truncate(time.Second)
	put := func(name, more, policy string) {
		r := call(t, http.MethodPut, jobs+"/"+name, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+
			target.URL+"/"+name+`"},"retryPolicy":`+policy+`}`+more+`}}`)
		require.Equal(t, http.StatusCreated, r.code, r.body)
	}
	const fixed = `{"retryType":"fixed","retryInterval":"PT15S","retryCount":2}`
	put("asleep", `,"startTime":"`+due.Format(time.RFC3339)+`"`, fixed)
	put("under-way", "", fixed)
	put("retry", "", fixed)
	put("once", "", `{"retryType":"none"}`)
	target.await(t, "/under-way", 1)
	target.await(t, "/once", 1)
	first := target.await(t, "/retry", 1)[0]
	status(t, jobs+"/once", "properties.state", "faulted")

	p.kill(t)
	p = dev(t, data)
	jobs = p.url + "/jobCollections/default/jobs"

	require.Equal(t, 4, call(t, http.MethodGet, jobs, "").count("value"))
	asleep := target.await(t, "/asleep", 1)
	require.False(t, asleep[0].at.Before(due))

	retried := target.await(t, "/retry", 2)
	require.Equal(t, first.key, retried[1].key)
	require.GreaterOrEqual(t, retried[1].at.Sub(first.at), 15*time.Second)
	status(t, jobs+"/retry", "properties.state", "completed")

	// The call that was cut off counts as lost when its time is up.
	under := target.await(t, "/under-way", 2)
	require.Equal(t, under[0].key, under[1].key)
	status(t, jobs+"/under-way", "properties.state", "completed")
	history := call(t, http.MethodGet, jobs+"/under-way/history", "")
	require.Equal(t, 2, history.count("value"), history.body)
	require.Equal(t, "Failed", history.get("value.1.properties.status"))

	for path, n := range map[string]int{"/asleep": 1, "/retry": 2, "/under-way": 2, "/once": 1} {
		require.Len(t, target.got(path), n, path)
	}
}

func TestDevStopsCleanlyAndGoesOn(t *testing.T) {
	t.Parallel()
	target := newSink(t, nil)
	data := t.TempDir()
	p := dev(t, data)
	require.Len(t, p.output, 7, "five lines say where everything is, and one what to try: %q", p.output)
	r := call(t, http.MethodPut, p.url+"/jobCollections/default/jobs/tick", get(target.URL+"/tick", `,"recurrence":{"frequency":"hour"}`))
	require.Equal(t, http.StatusCreated, r.code, r.body)
	target.await(t, "/tick", 1)

	other := exec.Command(program(t), "dev", "--data", data, "--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "")
	out, err := other.CombinedOutput()
	require.Error(t, err, "two processes cannot share a data directory")
	require.Contains(t, string(out), data)

	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.NoError(t, p.Wait())
	p = dev(t, data)
	r = status(t, p.url+"/jobCollections/default/jobs/tick", "properties.status.executionCount", float64(1))
	require.NotNil(t, r.get("properties.status.nextExecutionTime"))
	require.Len(t, target.got("/tick"), 1)
}
