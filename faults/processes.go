//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is one that the experiments start, stop and start again.
type process struct {
	name    string
	command []string
	env     []string
	ready   string // URL that answers 200 when the process can do its work; empty: it need not be asked
	address string // that it listens on
	says    string // what it prints when it can do its work; empty: ready tells
	log     io.Writer

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone
	said *listener
}

// A listener passes on what a process prints, and notes whether it said a word.
// It is no file, so that a limit on the process's files does not end its log.
type listener struct {
	to    io.Writer
	word  []byte
	heard atomic.Bool
}

// Write takes what a process printed, which is a line at a time.
func (l *listener) Write(text []byte) (int, error) {
	if bytes.Contains(text, l.word) {
		l.heard.Store(true)
	}
	return l.to.Write(text)
}

// starter starts processes from one thread that never ends: the kernel kills a
// child when the thread that started it ends, and so none outlives this command.
type starter struct{ requests chan startRequest }

type startRequest struct {
	cmd    *exec.Cmd
	result chan error
}

func newStarter() *starter {
	s := &starter{requests: make(chan startRequest)}
	go func() {
		runtime.LockOSThread()
		for r := range s.requests {
			r.result <- r.cmd.Start()
		}
	}()
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r := startRequest{cmd, make(chan error, 1)}
	s.requests <- r
	return <-r.result
}

var starts = sync.OnceValue(newStarter)

// start starts the process with some more arguments.
func (p *process) start(more ...string) error {
	cmd := exec.Command(p.command[0], slices.Concat(p.command[1:], more)...) //nolint:noctx // it is killed by hand
	cmd.Env = append(os.Environ(), p.env...)
	said := &listener{to: p.log, word: []byte(p.says)}
	cmd.Stdout, cmd.Stderr = said, said
	if err := starts().start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was killed, as a rule
		close(done)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.done, p.said = cmd, done, said
	return nil
}

// signal sends a signal to the process.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may be gone
	}
}

// end waits until the process is gone. One that does not end by itself is killed.
func (p *process) end(patience time.Duration) {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
		return
	case <-time.After(patience):
	}
	p.signal(syscall.SIGKILL)
	<-done
}

// kill ends the process as a power switch does.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.end(time.Minute)
}

// pid returns the number of the process, or 0.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// gone reports whether the process has ended.
func (p *process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// await waits until the process is ready.
func (p *process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := p.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready within %s: %w", p.name, startTime, err)
		case <-time.After(50 * time.Millisecond):
		}
		if p.gone() {
			return fmt.Errorf("%s ended by itself; its log says why", p.name)
		}
	}
}

// startTime is how long a process may take until it is ready.
const startTime = 3 * time.Minute

func (p *process) probe(ctx context.Context) error {
	if p.says != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.said.heard.Load() {
			return fmt.Errorf("it has not printed %q", p.says)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", p.ready, resp.Status)
	}
	return nil
}

// limitFiles sets the size beyond which the process cannot write to a file; 0
// lifts the limit. A write beyond it fails with EFBIG, as one to a full disk
// does with ENOSPC: the Go runtime ignores the signal that comes with it.
func (p *process) limitFiles(size uint64) error {
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if size == 0 {
		limit.Cur = unix.RLIM_INFINITY
	}
	return unix.Prlimit(p.pid(), unix.RLIMIT_FSIZE, &limit, nil)
}

// A system is all processes of Almanac, and what stands between them.
type system struct {
	form     string
	data     string
	all      []*process // in the order in which they are started
	server   *process   // that writes the database
	workers  []*process
	apis     []*process
	proxy    *proxy // nil in the form one
	frontend string // Temporal's own address
	logs     []io.Closer
	keys     *keyFile // nil: what Temporal stores is not encrypted
}

// newSystem prepares the processes.
func newSystem(o options, data string, keys *keyFile) (*system, error) {
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	s := &system{form: o.form, data: data, frontend: address(0), keys: keys}
	add := func(p *process) (*process, error) {
		log, err := os.OpenFile(filepath.Join(o.out, p.name+".log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		p.log = log
		s.logs = append(s.logs, log)
		s.all = append(s.all, p)
		return p, nil
	}
	if o.form == formOne {
		p, err := add(&process{
			name: "almanac", address: address(1), ready: "http://" + address(1) + "/readyz",
			command: append([]string{
				o.almanac, "dev", "--data", data, "--listen", address(1), "--temporal-listen", address(0), "--ui-listen", "",
				"--plans", "unlimited", "--synchronous", "normal",
			}, keys.flags()...),
		})
		s.server, s.workers, s.apis = p, []*process{p}, []*process{p}
		return s, err
	}
	s.proxy, err = newProxy(address(1), address(0))
	if err != nil {
		return nil, err
	}
	if s.server, err = add(&process{name: "temporal", says: "Temporal 127.0.0.1", command: []string{o.temporal, "-data", data, "-listen", address(0)}}); err != nil {
		return nil, err
	}
	env := []string{"TEMPORAL_ADDRESS=" + address(1), "ALMANAC_EGRESS=any", "ALMANAC_PLANS=unlimited", "ALMANAC_LOG_LEVEL=warn"}
	for i := range o.workers {
		p, err := add(&process{name: fmt.Sprintf("worker%d", i+1), says: "Worker  (", command: append([]string{o.almanac, "worker"}, keys.flags()...), env: env})
		if err != nil {
			return nil, err
		}
		s.workers = append(s.workers, p)
	}
	for i := range o.workers {
		p, err := add(&process{
			name: fmt.Sprintf("api%d", i+1), address: address(2 + i), ready: "http://" + address(2+i) + "/readyz",
			command: append([]string{o.almanac, "api", "--listen", address(2 + i)}, keys.flags()...), env: env,
		})
		if err != nil {
			return nil, err
		}
		s.apis = append(s.apis, p)
	}
	return s, nil
}

// freePorts returns ports below those that the kernel gives to connections, so
// that none is taken while a process is down.
func freePorts(n int) ([]int, error) {
	var ports []int
	base := 20000 + os.Getpid()%5000*2
	for port := base; port < 32000 && len(ports) < n; port++ {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		ports = append(ports, port)
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	if len(ports) < n {
		return nil, fmt.Errorf("only %d of %d ports between %d and 32000 are free", len(ports), n, base)
	}
	return ports, nil
}

// start starts all processes and waits until they are ready.
func (s *system) start(ctx context.Context) error {
	for _, p := range s.all {
		if err := p.start(); err != nil {
			return err
		}
		if p == s.server {
			if err := p.await(ctx); err != nil {
				return err
			}
		}
	}
	return s.await(ctx)
}

// await waits until all processes are ready.
func (s *system) await(ctx context.Context) error {
	errs := make([]error, len(s.all))
	var group sync.WaitGroup
	for i, p := range s.all {
		group.Go(func() { errs[i] = p.await(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// stop kills everything.
func (s *system) stop() {
	for _, p := range slices.Backward(s.all) {
		p.kill()
	}
	if s.proxy != nil {
		s.proxy.close()
	}
	for _, l := range s.logs {
		_ = l.Close()
	}
}

// api returns the URL of the API of that number.
func (s *system) api(i int) string { return "http://" + s.apis[i%len(s.apis)].address }

// check reports a process that ended by itself.
func (s *system) check() error {
	for _, p := range s.all {
		if p.gone() {
			return fmt.Errorf("%s ended by itself; its log says why", p.name)
		}
	}
	return nil
}

// build builds a program of this module.
func build(ctx context.Context, path, into string) (string, error) {
	out := filepath.Join(into, filepath.Base(path))
	text, err := exec.CommandContext(ctx, "go", "build", "-o", out, "almanac/"+path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s (run in the module's directory): %w\n%s", path, err, text)
	}
	return out, nil
}
