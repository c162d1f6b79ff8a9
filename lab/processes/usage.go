package processes

import (
	"context"
	"fmt"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"almanac/lab/wait"
)

// A Usage is what a running process uses of the machine, by its id.
type Usage int

// Usage returns the usage of the process, which was started.
func (p *Process) Usage() Usage { return Usage(p.PID()) }

// CPU returns the CPU time that the process has used in user and system mode, in seconds.
func (u Usage) CPU(ctx context.Context) (float64, error) {
	times, err := u.process().TimesWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", u, err)
	}
	return times.User + times.System, nil
}

// Memory returns the bytes of memory that are resident for the process.
func (u Usage) Memory(ctx context.Context) (float64, error) {
	info, err := u.process().MemoryInfoWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", u, err)
	}
	return float64(info.RSS), nil
}

func (u Usage) process() *process.Process { return &process.Process{Pid: int32(u)} }

// Rate returns how many seconds of CPU time the process uses in a second, from now on for d.
func (u Usage) Rate(ctx context.Context, d time.Duration) (float64, error) {
	before, err := u.CPU(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := wait.For(ctx, d); err != nil {
		return 0, err
	}
	after, err := u.CPU(ctx)
	return (after - before) / time.Since(start).Seconds(), err
}

// A process is quiet when it uses less than quietCPU of a core.
const (
	quietCPU    = 0.1
	quietFor    = 2 * time.Second
	quietWithin = 2 * time.Minute
)

// AwaitQuiet waits, for two minutes at most, until the process is quiet: until what one measurement left behind, such
// as workflows to delete, is done. An error is left to what follows.
func (u Usage) AwaitQuiet(ctx context.Context) {
	for end := time.Now().Add(quietWithin); time.Now().Before(end); {
		if used, err := u.Rate(ctx, quietFor); err != nil || used < quietCPU {
			return
		}
	}
}
