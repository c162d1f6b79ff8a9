package systems

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"almanac/internal/wait"
)

// module is the directory of Almanac's own module, from that of the benchmark.
const module = ".."

// A Program is one of Almanac's programs, in a process of its own.
type Program struct {
	Process
	APIs []string // addresses

	cmd *exec.Cmd
}

// Build builds a program of Almanac's module in a directory, and returns its path.
func Build(ctx context.Context, dir, pkg string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, pkg)
	cmd.Dir = module
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s (the benchmark must run in its directory): %w\n%s", pkg, err, text)
	}
	return path, nil
}

// Start starts a program, and returns once it has printed a line with the addresses of its APIs.
func Start(ctx context.Context, path string, args ...string) (*Program, error) {
	return StartWith(ctx, nil, path, args...)
}

// StartWith is Start with further environment variables.
func StartWith(ctx context.Context, env []string, path string, args ...string) (*Program, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it ends what it started
	cmd.Dir, cmd.Stderr = module, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Program{Process: newProcess(cmd.Process.Pid), cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addresses, ok := strings.CutPrefix(lines.Text(), "API "); ok {
			p.APIs = strings.Fields(addresses)
			go func() { _, _ = io.Copy(io.Discard, out) }() // or it would block once the pipe is full
			return p, nil
		}
	}
	p.End(os.Kill)
	return nil, errors.Join(fmt.Errorf("%s did not print the address of its API", filepath.Base(path)), lines.Err())
}

// End sends the program a signal to end, and waits until it has.
func (p *Program) End(signal os.Signal) {
	_ = p.cmd.Process.Signal(signal) // it may have ended by itself
	_ = p.cmd.Wait()                 // which reports the signal
}

// A Process is one whose use of the machine is measured.
type Process struct{ process *process.Process }

func newProcess(pid int) Process { return Process{&process.Process{Pid: int32(pid)}} }

// CPU returns the CPU time that the process has used in user and system mode, in seconds.
func (p Process) CPU(ctx context.Context) (float64, error) {
	times, err := p.process.TimesWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", p.process.Pid, err)
	}
	return times.User + times.System, nil
}

// Memory returns the bytes of memory that are resident for the process.
func (p Process) Memory(ctx context.Context) (float64, error) {
	info, err := p.process.MemoryInfoWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", p.process.Pid, err)
	}
	return float64(info.RSS), nil
}

// Rate returns how many seconds of CPU time the process uses in a second, from now on for d.
func (p Process) Rate(ctx context.Context, d time.Duration) (float64, error) {
	before, err := p.CPU(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := wait.For(ctx, d); err != nil {
		return 0, err
	}
	after, err := p.CPU(ctx)
	return (after - before) / time.Since(start).Seconds(), err
}

// A process is quiet when it uses less than quietCPU of a core.
const (
	quietCPU    = 0.1
	quietFor    = 2 * time.Second
	quietWithin = 2 * time.Minute
)

// AwaitQuiet waits, for two minutes at most, until the process is quiet: until what one measurement
// left behind, such as workflows to delete, is done. An error is left to what follows.
func (p Process) AwaitQuiet(ctx context.Context) {
	for end := time.Now().Add(quietWithin); time.Now().Before(end); {
		if used, err := p.Rate(ctx, quietFor); err != nil || used < quietCPU {
			return
		}
	}
}
