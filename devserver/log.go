package devserver

import (
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// noHTTPPort begins the warning that each start would give: the frontend's HTTP
// API is left out on purpose, as it would be one more open port.
const noHTTPPort = "HTTP API port has not been set."

// serverLog passes the server's warnings and errors on to an slog.Logger. What
// the server does in detail is of no interest to whoever runs it embedded.
type serverLog struct {
	log   *slog.Logger
	muted *atomic.Bool // shared by all loggers derived from one
}

func newServerLog(l *slog.Logger) *serverLog {
	return &serverLog{log: l.With(slog.String("component", "temporal-server")), muted: new(atomic.Bool)}
}

// mute drops everything but fatal errors from now on.
func (l *serverLog) mute() { l.muted.Store(true) }

func (l *serverLog) Debug(string, ...tag.Tag) {}
func (l *serverLog) Info(string, ...tag.Tag)  {}

func (l *serverLog) Warn(msg string, tags ...tag.Tag) {
	if !l.muted.Load() && !strings.HasPrefix(msg, noHTTPPort) {
		l.log.Warn(msg, attrs(tags)...)
	}
}

func (l *serverLog) Error(msg string, tags ...tag.Tag) {
	if !l.muted.Load() {
		l.log.Error(msg, attrs(tags)...)
	}
}

// DPanic reports what would be a panic in the server's own tests.
func (l *serverLog) DPanic(msg string, tags ...tag.Tag) { l.Error(msg, tags...) }

func (l *serverLog) Panic(msg string, tags ...tag.Tag) {
	l.log.Error(msg, attrs(tags)...)
	panic("temporal server: " + msg)
}

// Fatal ends the process, as the server relies on it not returning. Nothing
// acknowledged is lost by that.
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
