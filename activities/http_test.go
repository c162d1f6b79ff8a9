package activities_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
)

// sender makes web requests.
var sender = senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, Version: "1.2.3"})

func action(r job.Request) *job.Action { return &job.Action{Type: "Http", Request: &r} }

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
	in.Action = *action(job.Request{URI: s.URL, Method: "POST", Body: "x"})
	var earlier []job.Attempt
	for n := range int32(3) {
		k := task{attempt: n + 1, earlier: earlier}
		_, err := k.run(t, runner(sender), in)
		require.ErrorContains(t, err, "503 ServiceUnavailable")
		earlier = k.server.handedOver()
	}
	require.Equal(t, []string{execution.ID, execution.ID, execution.ID}, keys)
}

func TestTimeOfTheRecordIsTheAttempts(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	in := input(1)
	in.Action = *action(job.Request{URI: s.URL})
	before := time.Now().UTC()
	var k task
	attempts, err := k.run(t, runner(sender), in)
	require.NoError(t, err)
	require.WithinRange(t, attempts[0].Start, before, attempts[0].End)
	require.WithinRange(t, attempts[0].End, attempts[0].Start, time.Now().UTC())
}
