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

	"github.com/shirou/gopsutil/v4/process"
)

// module is the directory of Almanac's own module, from that of the benchmark.
const module = ".."

// A Program is one of Almanac's programs, in a process of its own.
type Program struct {
	APIs []string // addresses

	cmd     *exec.Cmd
	process *process.Process
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
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it ends what it started
	cmd.Dir, cmd.Stderr = module, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Program{cmd: cmd}
	if p.process, err = process.NewProcessWithContext(ctx, int32(cmd.Process.Pid)); err != nil {
		p.Kill()
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addresses, ok := strings.CutPrefix(lines.Text(), "API "); ok {
			p.APIs = strings.Fields(addresses)
			go func() { _, _ = io.Copy(io.Discard, out) }() // or it would block once the pipe is full
			return p, nil
		}
	}
	p.Kill()
	return nil, errors.Join(fmt.Errorf("%s did not print the address of its API", filepath.Base(path)), lines.Err())
}

// Kill ends the program as a power failure does.
func (p *Program) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	_ = p.cmd.Wait()         // which reports the kill
}

// Stop has the program end, and waits until it has.
func (p *Program) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.cmd.Wait()
}

// CPU returns the CPU time that the program has used, in seconds.
func (p *Program) CPU(ctx context.Context) (float64, error) { return cpuSeconds(ctx, p.process) }

// Memory returns the bytes of memory that are resident for the program.
func (p *Program) Memory(ctx context.Context) (uint64, error) {
	info, err := p.process.MemoryInfoWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", p.process.Pid, err)
	}
	return info.RSS, nil
}
