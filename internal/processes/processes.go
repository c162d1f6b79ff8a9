//go:build linux

// Package processes starts, stops and watches processes of this machine, for
// experiments with all of Almanac. It needs Linux.
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

// A Process is one that is started, stopped and started again.
type Process struct {
	Name    string
	Command []string
	Env     []string // on top of this process's
	Says    string   // what it prints when it can do its work; empty: Ready tells
	Ready   string   // URL that answers 200 then; empty: it takes connections then
	Address string   // that it listens on
	Log     io.Writer
	User    *syscall.Credential // who runs it; nil: whoever runs this

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

func (s *starter) start(cmd *exec.Cmd, user *syscall.Credential) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: user}
	r := startRequest{cmd, make(chan error, 1)}
	s.requests <- r
	return <-r.result
}

var starts = sync.OnceValue(newStarter)

// Start starts the process with some more arguments.
func (p *Process) Start(more ...string) error {
	cmd := exec.Command(p.Command[0], slices.Concat(p.Command[1:], more)...) //nolint:noctx // it is killed by hand
	cmd.Env = append(os.Environ(), p.Env...)
	said := &listener{to: p.Log, word: []byte(p.Says)}
	cmd.Stdout, cmd.Stderr = said, said
	if err := starts().start(cmd, p.User); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
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

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may be gone
	}
}

// End waits until the process is gone. One that does not end by itself is killed.
func (p *Process) End(patience time.Duration) {
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
	p.Signal(syscall.SIGKILL)
	<-done
}

// Kill ends the process as a power switch does.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	p.End(time.Minute)
}

// PID returns the number of the process, or 0.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Gone reports whether the process has ended.
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

// Await waits until the process is ready.
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
			return fmt.Errorf("%s ended by itself; its log says why", p.Name)
		}
	}
}

// startTime is how long a process may take until it is ready.
const startTime = 3 * time.Minute

func (p *Process) probe(ctx context.Context) error {
	if p.Says != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.said.heard.Load() {
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

// LimitFiles sets the size beyond which the process cannot write to a file; 0
// lifts the limit. A write beyond it fails with EFBIG, as one to a full disk
// does with ENOSPC: the Go runtime ignores the signal that comes with it.
func (p *Process) LimitFiles(size uint64) error {
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if size == 0 {
		limit.Cur = unix.RLIM_INFINITY
	}
	return unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, &limit, nil)
}

// ports is where [FreePorts] goes on.
var ports = struct {
	mu   sync.Mutex
	next int
}{next: 20000 + os.Getpid()%5000*2}

const maxPort = 32000

// FreePorts returns ports below those that the kernel gives to connections, so
// that none is taken while a process is down. It returns none twice.
func FreePorts(n int) ([]int, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	var free []int
	for ; ports.next < maxPort && len(free) < n; ports.next++ {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", ports.next))
		if err != nil {
			continue
		}
		free = append(free, ports.next)
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	if len(free) < n {
		return nil, fmt.Errorf("only %d of %d ports below %d are free", len(free), n, maxPort)
	}
	return free, nil
}
