package devserver

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// The starts of warnings that are not logged.
var unlogged = []string{
	"HTTP API port has not been set.",                       // on purpose: it would be one more open port
	"Context timeout is lower than critical value for long", // of each poll of a worker in another process
	// of each page that the Web UI reads; the server shortens it
	"GetHistory page size is larger than threshold",
}

// isNoise reports whether a message says nothing to an operator: one of unlogged, or the error of a call whose caller
// gave up, such as a browser that left a page. What made the caller give up is logged by the caller.
func isNoise(msg string, tags []tag.Tag) bool {
	for _, start := range unlogged {
		if strings.HasPrefix(msg, start) {
			return true
		}
	}
	for _, t := range tags {
		if text := fmt.Sprint(t.Value()); t.Key() == "error" && strings.HasSuffix(text, context.Canceled.Error()) {
			return true
		}
	}
	return false
}

// serverLog passes the server's warnings and errors to an slog.Logger and drops the levels below.
type serverLog struct {
	log   *slog.Logger
	muted *atomic.Bool // shared by all loggers from With
}

func newServerLog(l *slog.Logger) *serverLog {
	return &serverLog{log: l.With(slog.String("component", "temporal-server")), muted: new(atomic.Bool)}
}

// mute drops all later warnings and errors except panics and fatal errors.
func (l *serverLog) mute() { l.muted.Store(true) }

func (l *serverLog) Debug(string, ...tag.Tag) {}
func (l *serverLog) Info(string, ...tag.Tag)  {}

func (l *serverLog) Warn(msg string, tags ...tag.Tag) {
	if !l.muted.Load() && !isNoise(msg, tags) {
		l.log.Warn(msg, attrs(tags)...)
	}
}

func (l *serverLog) Error(msg string, tags ...tag.Tag) {
	if !l.muted.Load() && !isNoise(msg, tags) {
		l.log.Error(msg, attrs(tags)...)
	}
}

// DPanic logs what panics only in the server's own tests.
func (l *serverLog) DPanic(msg string, tags ...tag.Tag) { l.Error(msg, tags...) }

func (l *serverLog) Panic(msg string, tags ...tag.Tag) {
	l.log.Error(msg, attrs(tags)...)
	panic("temporal server: " + msg)
}

// Fatal ends the process: the server relies on it not to return. No acknowledged write is lost.
func (l *serverLog) Fatal(msg string, tags ...tag.Tag) {
	l.log.Error(msg, attrs(tags)...)
	os.Exit(1)
}

func (l *serverLog) With(tags ...tag.Tag) log.Logger {
	return &serverLog{log: l.log.With(attrs(tags)...), muted: l.muted}
}

func attrs(tags []tag.Tag) []any {
	result := make([]any, len(tags))
	for i, t := range tags {
		result[i] = slog.Any(t.Key(), t.Value())
	}
	return result
}
