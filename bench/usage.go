package main

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

// usage tells what this process has used: all systems, server and sink run in it.
type usage struct {
	process *process.Process
	db      *sql.DB
}

// A reading is what was used up to an instant.
type reading struct {
	at  time.Time
	cpu float64 // seconds, in user and system mode
	db  int64   // bytes in use in the database
}

// newUsage watches this process and a database.
func newUsage(file string) (*usage, error) {
	self, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return nil, err
	}
	name := url.URL{Path: filepath.ToSlash(file)}
	db, err := sql.Open("sqlite", "file:"+name.EscapedPath()+"?mode=ro&_pragma=busy_timeout=10000")
	if err != nil {
		return nil, err
	}
	return &usage{process: self, db: db}, nil
}

func (u *usage) close() error { return u.db.Close() }

func (u *usage) read(ctx context.Context) (reading, error) {
	r := reading{at: time.Now()}
	var err error
	if r.cpu, err = cpuSeconds(ctx, u.process); err != nil {
		return r, err
	}
	// Pages that are in use, in the file or still in the write-ahead log. Those
	// that were emptied are left out: what is written next fills them.
	const query = `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`
	if err := u.db.QueryRowContext(ctx, query).Scan(&r.db); err != nil {
		return r, fmt.Errorf("read the size of the database: %w", err)
	}
	return r, nil
}

// idle returns the CPU seconds a second that this process uses with nothing to do.
func (u *usage) idle(ctx context.Context, d time.Duration) (float64, error) {
	before, err := u.read(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, d); err != nil {
		return 0, err
	}
	after, err := u.read(ctx)
	if err != nil {
		return 0, err
	}
	return (after.cpu - before.cpu) / after.at.Sub(before.at).Seconds(), nil
}

// A process is quiet when it uses less than quietCPU of a core. What one
// measurement leaves behind, such as workflows to be deleted, is waited for as
// long as quietWithin before the next.
const (
	quietCPU    = 0.1
	quietFor    = 2 * time.Second
	quietWithin = 2 * time.Minute
)

// awaitQuiet waits until nothing goes on, or long enough.
func (u *usage) awaitQuiet(ctx context.Context) error {
	for end := time.Now().Add(quietWithin); time.Now().Before(end); {
		used, err := u.idle(ctx, quietFor)
		if err != nil {
			return err
		}
		if used < quietCPU {
			return nil
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
