// Package journal keeps outcomes of attempts in files of one machine.
//
// An outcome is known to the process that made the attempt before it is known to the server: under load half a minute.
// If that process is killed, another attempt would be sent although the first one has succeeded. Here the process that
// takes over finds the outcome, if it runs on the same machine with the same directory.
//
// A line is written when an attempt has ended, and survives the process. It may be lost with the machine, since it is
// not synchronized to disk: what is found is certain, what is not found is unknown.
package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"almanac/job"
)

const (
	// maxFile is the size in bytes at which a process begins another file. It keeps ownFiles of them, 16 MiB on disk at
	// most: at least the last 8 MiB, which are 30,000 successes, or 10,000 failures with the longest errors.
	maxFile  = 8 << 20
	ownFiles = 2

	// kept is how long a process keeps the files of those that have ended. The server gives their attempts to it within
	// minutes, from when both run: how long nothing ran does not matter. A process writes no more to a file of its own
	// that is older than half of it, so that nobody removes one that is written.
	kept = time.Hour

	// maxEnded is how many files are kept besides that are older than half of kept, so that processes which end within
	// it leave no more.
	maxEnded = 32

	// idle is how long after the last Find what was read is kept in memory.
	idle = 5 * time.Minute

	pattern = "outcomes-*.jsonl"
)

// A Key identifies an attempt.
type Key struct {
	Execution string `json:"execution"`
	Action    string `json:"action"`
	Number    int    `json:"number"` // from 1
}

// An Entry is the outcome of an attempt. It has no answer, which may be confidential, and only such an error as a log
// has.
type Entry struct {
	Key
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	Error     string    `json:"error,omitempty"` // "": it succeeded
	Permanent bool      `json:"permanent,omitempty"`
	// class and HTTP status of the answer to an attempt that failed; "" and 0: none
	Answer string        `json:"answer,omitempty"`
	Status int           `json:"status,omitempty"`
	After  time.Duration `json:"after,omitempty"` // the receiver asks for so long a pause

	job.Beginning // of a first attempt
}

// A Journal is a directory that any number of processes of this machine share. It is safe for concurrent use. A nil
// Journal keeps nothing.
type Journal struct {
	dir string

	mu   sync.Mutex
	file *os.File // nil: none could be made
	size int64
	own  []string // names of this process's files, oldest first

	opened  time.Time
	removed time.Time // when old files were removed last

	others map[string]*otherFile // by name
	found  time.Time             // when Find was called last
}

// An otherFile is what was read of a file of another process.
type otherFile struct {
	read  int64 // how far
	known map[Key]Entry
}

// Open makes the directory, if it is missing, and a file in it. Close ends it.
func Open(dir string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of outcomes: %w", err)
	}
	j := &Journal{dir: dir, opened: time.Now()}
	if err := j.next(); err != nil {
		return nil, err
	}
	return j, nil
}

// Close closes the journal. Its files stay for the process that follows.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// next begins another file. j.mu is held, or nobody else has j.
func (j *Journal) next() error {
	if j.file != nil {
		_ = j.file.Close() // every line was written by a call that returned
		j.file = nil
	}
	j.removeOwn()
	j.removeOld()
	file, err := os.CreateTemp(j.dir, pattern) // of mode 0600
	if err != nil {
		return fmt.Errorf("make a file of outcomes: %w", err)
	}
	j.file, j.size, j.own = file, 0, append(j.own, file.Name())
	return nil
}

// removeOwn removes a file of this process if there are too many: one without an outcome, or the oldest.
func (j *Journal) removeOwn() {
	n := len(j.own)
	if n < ownFiles {
		return
	}
	i := 0
	if j.size == 0 {
		i = n - 1
	}
	_ = os.Remove(j.own[i])
	j.own = slices.Delete(j.own, i, i+1)
}

// removeOld removes files of processes that have ended.
func (j *Journal) removeOld() {
	now := time.Now()
	j.removed = now
	type ended struct {
		name    string
		written time.Time
	}
	var all []ended
	for _, name := range j.names() {
		if info, err := os.Lstat(name); err == nil && now.Sub(info.ModTime()) > kept/2 && !slices.Contains(j.own, name) {
			all = append(all, ended{name, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b ended) int { return b.written.Compare(a.written) })
	for i, one := range all {
		if i >= maxEnded || now.Sub(one.written) > kept && now.Sub(j.opened) > kept {
			_ = os.Remove(one.name)
		}
	}
}

// names returns the names of all files.
func (j *Journal) names() (names []string) {
	entries, _ := os.ReadDir(j.dir)
	for _, e := range entries {
		if ok, _ := filepath.Match(pattern, e.Name()); ok {
			// which is well-formed, as the name of the directory may not be
			names = append(names, filepath.Join(j.dir, e.Name()))
		}
	}
	return names
}

// Keep writes an outcome. After an error it is not kept; the next one may be.
func (j *Journal) Keep(e *Entry) error {
	if j == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an outcome: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if time.Since(j.found) > idle {
		j.others = nil
	}
	if time.Since(j.removed) > kept {
		j.removeOld()
	}
	if j.full() {
		if err := j.next(); err != nil {
			return err
		}
	}
	n, err := j.file.Write(append(line, '\n'))
	if err != nil {
		_ = j.next() // part of a line may be written
		return fmt.Errorf("write an outcome: %w", err)
	}
	j.size += int64(n)
	return nil
}

// full reports whether the next outcome belongs in another file.
func (j *Journal) full() bool {
	if j.file == nil || j.size >= maxFile {
		return true
	}
	info, err := j.file.Stat()
	return err != nil || time.Since(info.ModTime()) > kept/2
}

// Find returns the outcome of an attempt that another process of this machine made, or an earlier one.
func (j *Journal) Find(key Key) (Entry, bool) {
	if j == nil {
		return Entry{}, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.found = time.Now()
	names := j.names()
	maps.DeleteFunc(j.others, func(name string, _ *otherFile) bool { return !slices.Contains(names, name) })
	for _, name := range names {
		if !slices.Contains(j.own, name) {
			j.readNew(name)
		}
	}
	for _, other := range j.others {
		if e, ok := other.known[key]; ok {
			return e, true
		}
	}
	return Entry{}, false
}

// readNew reads the lines of a file that were written since it was read last. Lines that cannot be read count as
// unknown. j.mu is held.
func (j *Journal) readNew(name string) {
	file, err := openOwn(name)
	if err != nil {
		return
	}
	defer file.Close()
	other := j.others[name]
	if other == nil {
		if j.others == nil {
			j.others = map[string]*otherFile{}
		}
		other = &otherFile{known: map[Key]Entry{}}
		j.others[name] = other
	}
	lines, err := io.ReadAll(io.NewSectionReader(file, other.read, 2*maxFile))
	if err != nil {
		return
	}
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1] // another process may be writing the rest
	other.read += int64(len(lines))
	for line := range bytes.Lines(lines) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.Execution != "" {
			other.known[e.Key] = e
		}
	}
}

// openOwn opens a file of outcomes. If others can write to the directory, one that is not a regular file of this
// process's user is not believed, and not waited for.
func openOwn(name string) (*os.File, error) {
	named, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(named, opened) || !ownedByUs(opened)) {
		err = fmt.Errorf("%s is not a file of this user", name)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
