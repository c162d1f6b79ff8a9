package system

import (
	"context"
	"errors"
	"os"
)

// A Temporary is a system in a directory that is removed in the end.
type Temporary struct {
	*System
	dir string
}

// StartTemporary builds and starts a system in a temporary directory. [Temporary.Close] ends it.
func StartTemporary(ctx context.Context, o Options) (_ *Temporary, err error) {
	if o.Dir, err = os.MkdirTemp("", "almanac-"+o.Form+"-"); err != nil {
		return nil, err
	}
	t := &Temporary{dir: o.Dir}
	if t.System, err = New(ctx, o); err == nil {
		err = t.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close ends the processes and removes the directory.
func (t *Temporary) Close() error {
	if t.System != nil {
		t.End()
	}
	return os.RemoveAll(t.dir)
}
