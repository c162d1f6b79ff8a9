// Package refusals writes a log of refused calls, a line of JSON for each.
package refusals

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// maxText bounds the texts of a line that a caller chooses, in bytes.
const maxText = 2048

// A Refusal is a call that was refused. Its JSON is the schema of a line; all members are always there.
type Refusal struct {
	Time          time.Time `json:"time"`          // when it was answered, in UTC
	Principal     string    `json:"principal"`     // who called; empty if that is not known, or if there is no login
	Client        string    `json:"client"`        // IP address of the caller
	Method        string    `json:"method"`        // of the request, such as PUT
	Path          string    `json:"path"`          // of the request, without its query; up to 2,048 bytes
	Action        string    `json:"action"`        // what the caller was not allowed to do; empty if it was refused before that was looked at
	Status        int       `json:"status"`        // of the answer, such as 403
	Code          string    `json:"code"`          // of the error in the answer, such as AuthorizationFailed
	RequestID     string    `json:"requestId"`     // x-ms-request-id of the answer
	CorrelationID string    `json:"correlationId"` // x-ms-correlation-request-id of the answer, which the caller may choose
}

// A Log is a log of refused calls.
type Log struct {
	mutex sync.Mutex
	w     io.Writer
	lost  int // refused calls that could not be written
}

// New returns a log that is written to w.
func New(w io.Writer) *Log { return &Log{w: w} }

// Open returns a log that is appended to a file, which is created for this process's user alone if it is missing.
func Open(name string) (*Log, error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return New(f), nil
}

// Write writes the line of a refusal at once, so that no end of the process loses it.
func (l *Log) Write(r Refusal) error {
	r.Time = r.Time.UTC()
	for _, text := range []*string{&r.Principal, &r.Method, &r.Path, &r.Action} {
		*text = cut(*text)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if _, err := l.w.Write(append(line, '\n')); err != nil {
		l.lost++
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// Lost returns the number of refused calls that could not be written since the process began.
func (l *Log) Lost() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
