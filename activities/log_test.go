package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
	"almanac/job/kind"
)

// logged runs a task and returns its log, a map per line.
func logged(t *testing.T, k *task, s activities.Sender, in activities.Input) []map[string]any {
	t.Helper()
	var b bytes.Buffer
	r := runner(s)
	r.Log = slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, _ = k.execute(t, r, in)
	require.NotContains(t, b.String(), "topsecret")
	var lines []map[string]any
	for d := json.NewDecoder(&b); d.More(); {
		var line map[string]any
		require.NoError(t, d.Decode(&line))
		lines = append(lines, line)
	}
	return lines
}

func TestTheReasonOfAFailureIsInTheLogAndInItsErrorAndNotItsHeaders(t *testing.T) {
	t.Parallel()
	const reason = `500 Internal Server Error: {"error":"invoice 4711 has no customer"}`
	sender := sendFunc(func(context.Context) (string, error) {
		failed := activities.AnsweredWith(errors.New("the host answered 500 InternalServerError"), http.StatusInternalServerError)
		return "Http Action - Response from host 'a': 'InternalServerError' Response Headers: …", &activities.ReasonError{Reason: reason, Err: failed}
	})
	for _, attempts := range []int{1, 3} {
		in := due(-time.Second, attempts)
		require.Equal(t, reason, logged(t, new(task), sender, in)[0]["error"])
		var k task
		_, err := k.run(t, runner(sender), in)
		require.ErrorContains(t, err, reason)
		end := activities.EndingOf(err, time.Time{}, time.Time{})
		require.Equal(t, reason, end.Why())
		require.Contains(t, end.Attempts[0].Message, "Response Headers")
		if attempts > 1 {
			again := task{attempt: 2, earlier: k.server.handedOver()}
			_, err = again.run(t, runner(fails("refused")), in)
			end = activities.EndingOf(err, time.Time{}, time.Time{})
			require.Equal(t, "refused", end.Why())
			require.Empty(t, end.Attempts[0].Reason, "it is kept of the newest attempt alone")
		}
	}
}

func TestAnAttemptThatIsEndedAtItsTimeLimitSaysWhatItAskedFor(t *testing.T) {
	t.Parallel()
	r := runner(sendFunc(func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return activities.Fail(kind.HTTP, "Request to host 'a' failed: "+context.Cause(ctx).Error(), context.Cause(ctx))
	}))
	r.Timeout = 20 * time.Millisecond
	_, err := new(task).run(t, r, input(1))
	end := activities.EndingOf(err, time.Time{}, time.Time{})
	require.Equal(t, "Request to host 'a' failed: timed out: not complete after 0.02 s", end.Why())
}

func TestEveryAttemptIsLogged(t *testing.T) {
	t.Parallel()
	takes := func(err error) activities.Sender {
		return sendFunc(func(context.Context) (string, error) {
			time.Sleep(20 * time.Millisecond)
			return "Body: topsecret", err
		})
	}
	busy := errors.New("the host answered 503 ServiceUnavailable")
	for _, tt := range []struct {
		name   string
		task   task
		sender activities.Sender
		change func(*activities.Input)
		level  string
		msg    string
		number int
		error  any
		next   string
	}{
		{name: "a success", sender: takes(nil), level: "DEBUG", msg: "attempt completed", number: 1},
		{name: "a failure before the last", sender: takes(busy), level: "INFO", msg: "attempt failed", number: 1, error: busy.Error(), next: `^retried at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`},
		{name: "the last one", sender: takes(busy), change: func(in *activities.Input) { in.SentBefore = 2 }, level: "WARN", msg: "execution failed", number: 3, error: busy.Error(), next: "^given up$"},
		{name: "one that is not repeated", sender: takes(&activities.PermanentError{Err: busy}), level: "WARN", msg: "execution failed", number: 1, error: busy.Error(), next: "^given up$"},
		{name: "the last one before the error action", sender: takes(busy), change: func(in *activities.Input) { in.SentBefore, in.Compensated = 2, true },
			level: "WARN", msg: "execution failed", number: 3, error: busy.Error(), next: "^the error action follows$"},
		{name: "the last one of the error action", sender: takes(busy), change: func(in *activities.Input) { in.SentBefore, in.Execution.ActionName = 2, job.ErrorAction },
			level: "WARN", msg: "error action failed", number: 3, error: busy.Error(), next: "^given up$"},
		{name: "one whose job was changed", sender: takes(busy), task: task{server: &server{answer: func(n int) error {
			if n > 1 { // the first one is the fence
				return errCancelled
			}
			return nil
		}}}, level: "INFO", msg: "attempt failed", number: 1, error: busy.Error(), next: "^none, for the job was changed$"},
		{name: "one that was lost", task: task{sent: true}, level: "INFO", msg: "attempt failed", number: 1, error: lost, next: "^retried at "},
		{name: "the last one, lost", task: task{sent: true}, change: func(in *activities.Input) { in.SentBefore = 2 }, level: "WARN", msg: "execution failed", number: 3, error: lost, next: "^given up$"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := due(-time.Second, 3)
			in.Execution.ActionName = job.MainAction
			in.Action.Request = &kind.Request{URI: "https://me:topsecret@Target.example:8443/topsecret?sig=topsecret"}
			if tt.change != nil {
				tt.change(&in)
			}
			tt.task.scheduled = in.Execution.Due
			lines := logged(t, &tt.task, tt.sender, in)
			require.Len(t, lines, 1)
			line := lines[0]
			require.Equal(t, tt.level, line["level"])
			require.Equal(t, tt.msg, line["msg"])
			require.Equal(t, tt.error, line["error"])
			if tt.next != "" {
				require.Regexp(t, tt.next, line["next"])
			}
			require.Equal(t, "reports", line["collection"])
			require.Equal(t, "nightly", line["job"])
			require.Equal(t, execution.ID, line["execution"])
			require.Equal(t, "target.example:8443", line["host"])
			require.Equal(t, []any{float64(tt.number), float64(3)}, []any{line["attempt"], line["of"]})
			at, err := time.Parse(time.RFC3339Nano, line["due"].(string))
			require.NoError(t, err)
			require.True(t, at.Equal(in.Execution.Due))
			if tt.sender != nil {
				require.GreaterOrEqual(t, line["late"], float64(1), "seconds")
				require.GreaterOrEqual(t, line["seconds"], 0.02)
			}
		})
	}
}
