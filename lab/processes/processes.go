// Package processes starts, stops and watches processes on this machine, for experiments
// with a whole system. It needs Linux.
package processes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Process is a process that can be started and ended repeatedly. Its methods may be
// called concurrently.
type Process struct {
	Name    string
	Command []string
	Env     []string // added to the environment of this process
	Says    string   // what it prints when it is ready; empty: see Ready
	Ready   string   // URL that answers 200 when it is ready; empty: it is ready when Address accepts connections
	Address string   // that it listens on
	Log     io.Writer
	User    *syscall.Credential // nil: the user of this process

	mu     sync.Mutex
	cmd    *exec.Cmd
	done   chan struct{} // closed when the process is gone
	output *output
}

// An output forwards the output of a process to its log, and notes whether it contained
// some words. It is not a file, so that a limit on the process's files does not stop the log.
type output struct {
	log   io.Writer
	words []byte
	found atomic.Bool
}

// Write implements [io.Writer]. It is called with whole lines.
func (o *output) Write(text []byte) (int, error) {
	if bytes.Contains(text, o.words) {
		o.found.Store(true)
	}
	return o.log.Write(text)
}

// A starter starts processes from a thread that lasts as long as this process. The kernel
// kills a child when the thread that started it ends, so no child outlives this process.
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

func (s *starter) start(cmd *exec.Cmd, user *syscall.Credential) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: user}
	r := startRequest{cmd, make(chan error, 1)}
	s.requests <- r
	return <-r.result
}

var processStarter = sync.OnceValue(newStarter)

// Start starts the process, with some additional arguments.
func (p *Process) Start(more ...string) error {
	cmd := exec.Command(p.Command[0], slices.Concat(p.Command[1:], more)...) //nolint:noctx // it outlives the call
	cmd.Env = append(os.Environ(), p.Env...)
	out := &output{log: p.Log, words: []byte(p.Says)}
	cmd.Stdout, cmd.Stderr = out, out
	if err := processStarter().start(cmd, p.User); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the error says only how it ended
		close(done)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.done, p.output = cmd, done, out
	return nil
}

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may be gone
	}
}

// End waits until the process is gone, and kills it after the time limit.
func (p *Process) End(limit time.Duration) {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
		return
	case <-time.After(limit):
	}
	p.Signal(syscall.SIGKILL)
	<-done
}

// Kill kills the process with SIGKILL, and waits until it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	p.End(time.Minute)
}

// PID returns the id of the process, 0 before the first start.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Gone reports whether the process, which was started, has ended.
func (p *Process) Gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Await waits until the process is ready, for three minutes at most.
func (p *Process) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := p.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready within %s: %w", p.Name, startTime, err)
		case <-time.After(50 * time.Millisecond):
		}
		if p.Gone() {
			return fmt.Errorf("%s ended by itself; see its log", p.Name)
		}
	}
}

// startTime is how long a process may take until it is ready.
const startTime = 3 * time.Minute

func (p *Process) probe(ctx context.Context) error {
	if p.Says != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.output.found.Load() {
			return fmt.Errorf("it has not printed %q", p.Says)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if p.Ready == "" {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", p.Address)
		if err != nil {
			return err
		}
		return c.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Ready, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", p.Ready, resp.Status)
	}
	return nil
}

// LimitFiles sets the maximum size of the files that the process writes, in bytes; 0 means
// no limit. A write beyond it fails with EFBIG, like one to a full disk with ENOSPC: the Go
// runtime ignores the signal that comes with it.
func (p *Process) LimitFiles(size uint64) error {
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if size == 0 {
		limit.Cur = unix.RLIM_INFINITY
	}
	return unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, &limit, nil)
}
