package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"
)

// interval is how often a file is read. A change is in force when it was read twice, within three times that: an editor
// or a tool may be about to write the rest.
const interval = 500 * time.Millisecond

// A Watched is a file of the operator, parsed anew when it changes. It is safe for concurrent use.
//
// The file is read each time, and its content compared: notifications do not exist on every file system, and miss what
// Kubernetes does to a mounted file, which is to replace a symbolic link of a directory above. A file of a megabyte
// takes a tenth of a millisecond.
type Watched[T any] struct {
	name    string
	parse   func(text []byte) (T, error)
	current atomic.Pointer[T]
	problem atomic.Pointer[string]

	text    []byte // that was parsed last, whether or not it was good
	next    []byte // that was read last, if it differs
	bad     error  // of text
	failure string // why the file cannot be used, as it was logged; "" if it can be
}

// Open reads a file. It fails if the file cannot be read or parsed.
func Open[T any](name string, parse func(text []byte) (T, error)) (*Watched[T], error) {
	f := &Watched[T]{name: name, parse: parse}
	text, err := Read(name)
	if err != nil {
		return nil, err
	}
	if err := f.take(text); err != nil {
		return nil, err
	}
	return f, nil
}

// Value returns what was parsed from the newest content that was good.
func (f *Watched[T]) Value() T { return *f.current.Load() }

// Problem says that the newest content is not in force; "" if it is. It shows nothing of the content.
func (f *Watched[T]) Problem() string {
	if p := f.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// Watch reads the file again and again until ctx ends, and logs what changed. It must be called once at most.
func (f *Watched[T]) Watch(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look(ctx, log)
		}
	}
}

// look reads the file, and logs whether what is in it now is in force.
func (f *Watched[T]) look(ctx context.Context, log *slog.Logger) {
	changed, err := f.read()
	failure := ""
	switch {
	case errors.Is(err, errUnsettled):
		return
	case err != nil:
		failure = err.Error()
	}
	if !changed && failure == f.failure {
		return
	}
	f.failure = failure
	if err == nil {
		f.problem.Store(nil)
		log.InfoContext(ctx, "a changed file is in force", slog.String("file", f.name))
		return
	}
	f.problem.Store(new(fmt.Sprintf("the file %s cannot be used since %s; what it had before stays in force, and the log says why",
		filepath.Base(f.name), time.Now().UTC().Format(time.RFC3339))))
	log.ErrorContext(ctx, "a file cannot be used; what it had before stays in force", slog.String("file", f.name), slog.Any("error", err))
}

// errUnsettled is the error of a content that was read for the first time.
var errUnsettled = errors.New("the file is changing")

// read parses the file if its content is not what was parsed last, but what was read last. changed reports whether it
// did.
func (f *Watched[T]) read() (changed bool, err error) {
	text, err := Read(f.name)
	if err != nil {
		return false, err
	}
	if bytes.Equal(text, f.text) {
		f.next = nil
		return false, f.bad
	}
	if f.next == nil || !bytes.Equal(text, f.next) {
		f.next = append([]byte{}, text...) // not nil
		return false, errUnsettled
	}
	f.next = nil
	return true, f.take(text)
}

// take parses a text, which is in force from now on if it is good.
func (f *Watched[T]) take(text []byte) error {
	value, err := f.parse(text)
	if f.text, f.bad = text, nil; err != nil {
		f.bad = fmt.Errorf("%s: %w", f.name, err)
		return f.bad
	}
	f.current.Store(&value)
	return nil
}
