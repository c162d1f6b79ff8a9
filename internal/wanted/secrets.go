package wanted

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"almanac/job/jobfile"
)

// Secrets resolve the references of job files. Nothing that they return is ever printed.
type Secrets struct {
	Getenv func(string) (string, bool)

	// Files is the directory below which files of secrets are; "" means that there are none. A symbolic link that leads
	// out of it is refused.
	Files string

	// Exec allows references to programs.
	Exec bool

	mu  sync.Mutex
	ran map[string]string // what programs printed
}

const (
	maxSecret = 64 << 10
	execTime  = 30 * time.Second
)

// resolve returns the secrets of a job by their paths. The error joins a [*jobfile.Problem] for each that is missing.
func (s *Secrets) resolve(ctx context.Context, j *jobfile.Job) (map[string]string, error) {
	var all []error
	found := map[string]string{}
	for _, r := range j.References() {
		value, err := s.value(ctx, r)
		if err == nil && value == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			all = append(all, &jobfile.Problem{At: r.At, Message: fmt.Sprintf("%s: %s: %v", r.Path, r, err)})
			continue
		}
		found[r.Path] = value
	}
	return found, errors.Join(all...)
}

// value resolves a reference. Its errors say nothing of what was read.
func (s *Secrets) value(ctx context.Context, r jobfile.Reference) (string, error) {
	switch r.Kind {
	case jobfile.EnvReference:
		value, ok := s.Getenv(r.Args[0])
		if !ok {
			return "", errors.New("the variable is not set")
		}
		return value, nil
	case jobfile.FileReference:
		return s.file(r)
	case jobfile.ExecReference:
		if !s.Exec {
			return "", errors.New("programs are run with --allow-exec only")
		}
		return s.output(ctx, r.Args)
	}
	return "", errors.New("it is no reference")
}

// file reads a file below the directory of secrets, whatever links there are.
func (s *Secrets) file(r jobfile.Reference) (string, error) {
	if s.Files == "" {
		return "", errors.New("files of secrets need --secrets-dir, as the jobs are in no directory")
	}
	path := filepath.FromSlash(r.Args[0])
	if filepath.IsAbs(path) {
		base, err := filepath.Abs(s.Files)
		if err != nil {
			return "", err
		}
		if path, err = filepath.Rel(base, path); err != nil {
			return "", errors.New("the file is not below " + s.Files)
		}
	}
	if !filepath.IsLocal(path) {
		return "", errors.New("the file is not below " + s.Files)
	}
	root, err := os.OpenRoot(s.Files)
	if err != nil {
		return "", reason(err)
	}
	defer root.Close()
	if info, err := root.Stat(path); err != nil {
		return "", reason(err)
	} else if !info.Mode().IsRegular() { // to open a pipe would wait for somebody who writes
		return "", errors.New("it is no file")
	}
	f, err := root.Open(path)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", reason(err)
	}
	if strings.HasSuffix(strings.ToLower(r.Path), ".pfx") && !utf8.Valid(content) && len(content) <= maxSecret {
		return base64.StdEncoding.EncodeToString(content), nil // a PFX file as it is
	}
	return checked(content)
}

// reason returns the reason of an error with a path, without the path.
func reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// output runs a program, once for all references to it.
func (s *Secrets) output(ctx context.Context, args []string) (string, error) {
	key := strings.Join(args, "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.ran[key]; ok {
		return value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, execTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	printed, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("the program failed: %s", exit.ProcessState)
	}
	if err != nil {
		return "", fmt.Errorf("the program could not be run: %w", err)
	}
	value, err := checked(printed)
	if err != nil {
		return "", err
	}
	if s.ran == nil {
		s.ran = map[string]string{}
	}
	s.ran[key] = value
	return value, nil
}

// checked returns a text without the line break at its end.
func checked(content []byte) (string, error) {
	if len(content) > maxSecret {
		return "", fmt.Errorf("it has more than %d bytes", maxSecret)
	}
	if !utf8.Valid(content) {
		return "", errors.New("it is no text in UTF-8")
	}
	content = bytes.TrimSuffix(content, []byte("\n"))
	return string(bytes.TrimSuffix(content, []byte("\r"))), nil
}

// hidden returns a text without secrets.
func hidden(text string, secrets map[string]string) string {
	const shortest = 4 // a shorter one would hide parts of words
	values := slices.SortedFunc(maps.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, value := range values { // the longest first: one may be the beginning of another
		if len(value) >= shortest {
			text = strings.ReplaceAll(text, value, "[secret]")
		}
	}
	return text
}
