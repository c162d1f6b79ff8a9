package bench

import (
	"context"
	"errors"
	"os"

	"almanac/lab/system"
)

// A running system has processes of its own, and a directory that is removed in the end.
type running struct {
	*system.System
	dir string
}

// unlimited are flags of a program all of whose jobs are created by one caller.
var unlimited = []string{"--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0"}

// startSystem builds and starts a system in a temporary directory.
func (b *bench) startSystem(ctx context.Context, o system.Options) (_ *running, err error) {
	if o.Dir, err = os.MkdirTemp("", "almanac-bench-"); err != nil {
		return nil, err
	}
	r := &running{dir: o.Dir}
	b.progress.Print("building and starting a system")
	if r.System, err = system.New(ctx, o); err == nil {
		err = r.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// close ends the processes and removes the directory.
func (r *running) close() error {
	if r.System != nil {
		r.End()
	}
	return os.RemoveAll(r.dir)
}
