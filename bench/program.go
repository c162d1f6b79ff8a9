package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// moduleDir returns the directory of the module that this one is a part of.
func moduleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "almanac").Output()
	if err != nil {
		return "", fmt.Errorf("find the module almanac (run in its directory bench): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build builds a program of that module, and returns its path.
func build(ctx context.Context, dir, pkg string) (string, error) {
	module, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, pkg)
	cmd.Dir = module
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return path, nil
}

// A program is a running `almanac dev`.
type program struct {
	cmd *exec.Cmd
	api *rest
}

// start starts `almanac dev` and waits until it says where it is.
func start(ctx context.Context, path, data, synchronous string) (*program, error) {
	cmd := exec.CommandContext(ctx, path, "dev", "--data", data, "--synchronous", synchronous,
		"--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "API "); ok {
			p.api = newREST(strings.TrimSpace(address))
			go func() { _, _ = io.Copy(io.Discard, out) }() // so that it never waits for its reader
			return p, nil
		}
	}
	p.kill()
	return nil, errors.Join(errors.New("almanac dev did not say where its API is"), lines.Err())
}

// kill ends the program as a power switch does.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may have ended itself
	_ = p.cmd.Wait()         // which reports the kill
	if p.api != nil {
		p.api.close()
	}
}

// cpu returns the CPU seconds that the program has used.
func (p *program) cpu(ctx context.Context) (float64, error) {
	found, err := process.NewProcessWithContext(ctx, int32(p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return cpuSeconds(ctx, found)
}

// memory returns the bytes of memory that are resident for the program.
func (p *program) memory(ctx context.Context) (uint64, error) {
	found, err := process.NewProcessWithContext(ctx, int32(p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	info, err := found.MemoryInfoWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", p.cmd.Process.Pid, err)
	}
	return info.RSS, nil
}

// diskUsage returns the bytes of the files in a directory.
func diskUsage(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}
