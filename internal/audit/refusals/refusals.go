// Package refusals writes a log of refused calls: a line of JSON for each, or for several of one caller. The log grows
// by at most 600 lines a minute.
package refusals

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"almanac/internal/ratelimit"
	"almanac/internal/redact"
)

// Limits of the texts of a line that a caller chooses, in bytes of JSON.
const (
	maxText   = 512
	maxMethod = 20
)

// Limits of the lines that are written within a minute. What exceeds them is in one more line of each caller at the end
// of the minute.
const (
	window     = time.Minute
	maxLines   = 300 // of all callers
	maxOfOne   = 60  // of one caller
	maxCallers = 300 // with an entry of their own; the others share one
)

// A Refusal is a call that was refused. Its JSON is the schema of a line; all members are always there.
type Refusal struct {
	Time      time.Time `json:"time"`      // when it was answered, in UTC
	Principal string    `json:"principal"` // who called; empty if that is not known, or if there is no login
	Client    string    `json:"client"`    // IP address of the caller
	Method    string    `json:"method"`    // of the request, such as PUT
	Path      string    `json:"path"`      // of the request, without its query; cut after 512 bytes
	// what the caller was not allowed to do; empty if it was refused before that was looked at
	Action    string `json:"action"`
	Status    int    `json:"status"`    // of the answer, such as 403
	Code      string `json:"code"`      // of the error in the answer, such as AuthorizationFailed
	RequestID string `json:"requestId"` // x-ms-request-id of the answer
	// x-ms-correlation-request-id of the answer, which the caller may choose
	CorrelationID string `json:"correlationId"`
	// of refused calls for which the line stands: 1, or all of a caller that have no line of their own
	Count int `json:"count"`
}

// A Log is a log of refused calls. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	w      io.Writer
	torn   bool // the last line may have been written in part
	lost   int  // refused calls that could not be written
	failed *failure

	lines   int // in this minute
	callers map[string]*caller
	timer   *time.Timer // ends the minute; nil if there is none
}

// A caller is what is known of a caller's refused calls in this minute.
type caller struct {
	lines, more int
	last        Refusal // of those that have no line
}

// A failure says since when the log cannot be written, and how many refused calls are missing.
type failure struct {
	since time.Time
	lost  int
}

// New returns a log that is written to w.
func New(w io.Writer) *Log { return &Log{w: w, callers: map[string]*caller{}} }

// Open returns a log that is appended to a file, which is created for this process's user alone if it is missing.
func Open(name string) (*Log, error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return New(f), nil
}

// Write writes the line of a refusal at once, so that no end of the process loses it, or counts it for the line at the
// end of the minute.
func (l *Log) Write(r Refusal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		l.timer = time.AfterFunc(window, func() { _ = l.Flush() }) // Problem says what failed
	}
	c := l.caller(&r)
	if c.lines >= maxOfOne || l.lines >= maxLines {
		c.last, c.more = r, c.more+1
		return nil
	}
	c.lines++
	l.lines++
	r.Count = 1
	return l.write(&r)
}

// caller returns what is known of the caller of a refused call.
func (l *Log) caller(r *Refusal) *caller {
	name := r.Client
	if address, err := netip.ParseAddr(name); err == nil {
		name = ratelimit.KeyOf(address) // one owner has many addresses
	}
	if r.Principal != "" {
		name = "principal " + r.Principal
	}
	c := l.callers[name]
	if c == nil && len(l.callers) >= maxCallers {
		c = l.callers[""]
		name = ""
	}
	if c == nil {
		c = new(caller)
		l.callers[name] = c
	}
	return c
}

// Flush writes the lines that stand for several refused calls, and begins another minute.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []*Refusal
	for name, c := range l.callers {
		if c.more == 0 {
			continue
		}
		if c.last.Count = c.more; name == "" { // of several callers
			c.last = Refusal{Time: c.last.Time, Status: c.last.Status, Count: c.more}
		}
		rest = append(rest, &c.last)
	}
	slices.SortFunc(rest, func(a, b *Refusal) int { return a.Time.Compare(b.Time) })
	l.lines, l.callers = 0, map[string]*caller{}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	var failed error
	for _, r := range rest {
		if err := l.write(r); err != nil {
			failed = err
		}
	}
	return failed
}

func (l *Log) write(r *Refusal) error {
	r.Time = r.Time.UTC()
	for _, text := range []*string{&r.Principal, &r.Path, &r.Action} {
		*text = redact.CutJSON(*text, maxText)
	}
	r.Method = redact.CutJSON(r.Method, maxMethod)
	line, err := json.Marshal(r)
	if err != nil {
		return l.fail(r, err)
	}
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.w.Write(append(line, '\n'))
	if l.torn = err != nil && (n > 0 || l.torn); err != nil {
		return l.fail(r, err)
	}
	l.failed = nil
	return nil
}

func (l *Log) fail(r *Refusal, err error) error {
	l.lost += r.Count
	if l.failed == nil {
		l.failed = &failure{since: time.Now()}
	}
	l.failed.lost += r.Count
	return fmt.Errorf("write the audit log: %w", err)
}

// Lost returns the number of refused calls that could not be written since the process began. A nil Log has lost none.
func (l *Log) Lost() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Problem says that the log cannot be written; "" if it can be, or if that is not known. A nil Log has no problem.
func (l *Log) Problem() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		return ""
	}
	return fmt.Sprintf("the log of refused calls cannot be written since %s, and %d of them are missing in it; the log of the process says why",
		l.failed.since.UTC().Format(time.RFC3339), l.failed.lost)
}
