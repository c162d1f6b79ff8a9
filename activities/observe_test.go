package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/internal/telemetry"
)

func TestAttemptsAreCountedByWhatTheReceiverAnswered(t *testing.T) {
	t.Parallel()
	measured, err := telemetry.Start(t.Context(), telemetry.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { measured.Stop(t.Context()) })
	observe := measured.Attempts()
	answered := func(err error) sendFunc { return func(context.Context) (string, error) { return "", err } }
	five := &activities.AnsweredError{Err: errors.New("busy"), Answer: activities.StatusAnswer(503)}
	for _, tt := range []struct {
		sender sendFunc
		task   task
	}{
		{sender: answered(nil)},
		{sender: answered(five)},
		{sender: answered(&activities.PermanentError{Err: five})},
		{sender: answered(&activities.RetryAfterError{Err: five, After: time.Minute})},
		{sender: answered(&activities.PermanentError{Err: errors.New("refused here")})},
		{sender: fails("no connection")},
		{sender: func(context.Context) (string, error) { panic("bug") }},
		{task: task{sent: true}},
	} {
		r := runner(tt.sender)
		r.Observe = observe
		in := due(-time.Second, 1)
		tt.task.scheduled = in.Execution.Due
		_, _ = tt.task.run(t, r, in)
	}
	r := runner(sendFunc(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }))
	r.Observe, r.Timeout = observe, 10*time.Millisecond
	_, _ = new(task).run(t, r, due(-time.Second, 1))

	w := httptest.NewRecorder()
	measured.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, telemetry.Path, nil))
	var counted []string
	for line := range strings.Lines(w.Body.String()) {
		if text, ok := strings.CutPrefix(line, `almanac_attempts_total{action="main",answer="`); ok {
			answer, rest, _ := strings.Cut(text, `"`)
			counted = append(counted, answer+rest[strings.LastIndex(rest, " "):])
		}
	}
	require.Equal(t, []string{"2xx 1\n", "5xx 3\n", "internal 1\n", "lost 1\n", "none 1\n", "timeout 1\n", "unsent 1\n"}, counted)
	require.Contains(t, w.Body.String(), "almanac_attempts_in_flight 0\n")
	require.Regexp(t, `almanac_executions_total\{kind="[A-Za-z]+",outcome="failed"\} 8\n`, w.Body.String())
}
