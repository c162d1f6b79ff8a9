package systems

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	_ "modernc.org/sqlite" // the driver "sqlite", which the server uses as well
)

// Usage reads what this process uses, in which all systems, the server and the receiver run.
type Usage struct {
	process *process.Process
	db      *sql.DB
}

// A Reading is what was used up to an instant.
type Reading struct {
	At    time.Time
	CPU   float64 // seconds, in user and system mode
	Bytes int64   // in use in the database
}

// newUsage reads this process and a database.
func newUsage(file string) (*Usage, error) {
	self, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return nil, err
	}
	name := url.URL{Path: filepath.ToSlash(file)}
	db, err := sql.Open("sqlite", "file:"+name.EscapedPath()+"?mode=ro&_pragma=busy_timeout=10000")
	if err != nil {
		return nil, err
	}
	return &Usage{process: self, db: db}, nil
}

// Read returns what was used until now.
func (u *Usage) Read(ctx context.Context) (r Reading, err error) {
	r.At = time.Now()
	if r.CPU, err = cpuSeconds(ctx, u.process); err != nil {
		return r, err
	}
	// Pages that are in use, in the file or still in the write-ahead log. Those that were emptied do
	// not count: what is written next fills them.
	const query = `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`
	if err := u.db.QueryRowContext(ctx, query).Scan(&r.Bytes); err != nil {
		return r, fmt.Errorf("read the size of the database: %w", err)
	}
	return r, nil
}

// CPU returns the CPU time that this process has used, in seconds.
func (u *Usage) CPU(ctx context.Context) (float64, error) { return cpuSeconds(ctx, u.process) }

// Rate returns how many seconds of CPU time are used in a second, from now on for d.
func Rate(ctx context.Context, cpu func(context.Context) (float64, error), d time.Duration) (float64, error) {
	before, err := cpu(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := Pause(ctx, d); err != nil {
		return 0, err
	}
	after, err := cpu(ctx)
	return (after - before) / time.Since(start).Seconds(), err
}

// A process is quiet when it uses less than quietCPU of a core.
const (
	quietCPU    = 0.1
	quietFor    = 2 * time.Second
	quietWithin = 2 * time.Minute
)

// AwaitQuiet waits, for two minutes at most, until the process is quiet: until what one measurement
// left behind, such as workflows to delete, is done.
func (u *Usage) AwaitQuiet(ctx context.Context) error {
	for end := time.Now().Add(quietWithin); time.Now().Before(end); {
		used, err := Rate(ctx, u.CPU, quietFor)
		if err != nil || used < quietCPU {
			return err
		}
	}
	return nil
}

// cpuSeconds returns the CPU time that a process has used.
func cpuSeconds(ctx context.Context, p *process.Process) (float64, error) {
	times, err := p.TimesWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", p.Pid, err)
	}
	return times.User + times.System, nil
}
