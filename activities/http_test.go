package activities_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/template"
)

// sender makes web requests.
var sender = senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, Version: "1.2.3"})

func action(r kind.Request) *job.Action {
	return &job.Action{Type: "Http", Content: kind.Content{Request: &r}}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestEveryAttemptHasTheSameIdempotencyKey(t *testing.T) {
	t.Parallel()
	var keys []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	in := input(3)
	in.Action = *action(kind.Request{URI: s.URL, Method: "POST", Body: "x"})
	var earlier []job.Attempt
	for n := range int32(3) {
		k := task{attempt: n + 1, earlier: earlier}
		_, err := k.run(t, runner(sender), in)
		require.ErrorContains(t, err, "503 Service Unavailable")
		earlier = k.server.handedOver()
	}
	require.Equal(t, []string{execution.ID, execution.ID, execution.ID}, keys)
}

func TestTimeOfTheRecordIsTheAttempts(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	in := input(1)
	in.Action = *action(kind.Request{URI: s.URL})
	before := time.Now().UTC()
	var k task
	attempts, err := k.run(t, runner(sender), in)
	require.NoError(t, err)
	require.WithinRange(t, attempts[0].Start, before, attempts[0].End)
	require.WithinRange(t, attempts[0].End, attempts[0].Start, time.Now().UTC())
}

func TestPlaceholdersAreFilledInForEachAttempt(t *testing.T) {
	t.Parallel()
	var got []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.RequestURI+" "+r.Header.Get("X-Attempt")+" "+string(body))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	in := input(3)
	in.SentBefore = 1
	in.LastSuccess = execution.Due.Add(-time.Hour)
	in.Action = *action(kind.Request{
		URI: s.URL + "/{{.Job.Collection}}?id={{.Execution.ID}}", Method: "POST", Body: `{"job":"{{.Job.Name}}","due":"{{.Due}}","since":"{{.LastSuccess}}"}`,
		Headers: job.Members{{Name: "X-Attempt", Value: "{{.Attempt}}"}}, Template: true,
	})
	var earlier []job.Attempt
	for n := range int32(2) {
		k := task{attempt: n + 1, earlier: earlier}
		_, err := k.run(t, runner(sender), in)
		require.ErrorContains(t, err, "503 Service Unavailable")
		earlier = k.server.handedOver()
	}
	path, body := "/reports?id="+execution.ID, `{"job":"nightly","due":"2015-09-10T00:00:00Z","since":"2015-09-09T23:00:00Z"}`
	require.Equal(t, []string{path + " 2 " + body, path + " 3 " + body}, got)
	require.Equal(t, "{{.Attempt}}", in.Action.Request.Headers[0].Value)
}

func TestAnErrorActionSaysWhatFailed(t *testing.T) {
	t.Parallel()
	var got []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
		if r.URL.Path == "/fails" {
			http.Error(w, `"gone" with a <secret>`, http.StatusNotFound)
		}
	})
	in := input(1)
	in.Explain = true
	in.Action = *action(kind.Request{URI: s.URL + "/fails", Method: "POST"})
	_, err := new(task).run(t, runner(sender), in)
	end := activities.EndingOf(err, time.Time{}, time.Time{})
	in.Failure = in.FailureAfter(&end, 1)
	in.Explain = false
	in.Action = *action(kind.Request{
		URI: s.URL, Method: "POST", Headers: job.Members{{Name: "Content-Type", Value: "application/json"}},
		Body: `["{{.Failure.Error}}", {{.Failure.Status}}, {{.Failure.Attempts}}, "{{.Failure.Message}}"]`, Template: true,
	})
	_, err = new(task).run(t, runner(sender), in)
	require.NoError(t, err)
	var said []any
	require.NoError(t, json.Unmarshal([]byte(got[1]), &said))
	require.Equal(t, []any{`404 Not Found: "gone" with a <secret>`, 404.0, 1.0}, said[:3])
	require.Contains(t, said[3], "'NotFound' Response Headers: ")
	require.Contains(t, said[3], `Body: "gone" with a <secret>`)
}

func TestTheStatusOfAFailureIsReportedToThoseWhoExplainIt(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for _, explain := range []bool{false, true} {
		in := input(1)
		in.Explain = explain
		in.Action = *action(kind.Request{URI: s.URL})
		_, err := new(task).run(t, runner(sender), in)
		end := activities.EndingOf(err, time.Time{}, time.Time{})
		require.Equal(t, explain, end.Status == http.StatusTeapot)
		require.Equal(t, explain, in.FailureAfter(&end, 1) != nil, "other jobs keep nothing")
	}
}

func TestATemplateThatBecomesTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	in := input(3)
	in.Failure = &template.Failure{Message: strings.Repeat("x", 2048)}
	in.Action = *action(kind.Request{URI: s.URL, Body: strings.Repeat("{{.Failure.Message}}", 33), Template: true})
	attempts, err := new(task).run(t, runner(sender), in)
	require.True(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed request.body is longer than 65536 bytes with its placeholders filled in\n", history(attempts))
}
