package e2e_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The machine that the worker runs on has a wrong clock; Temporal's and the
// receiver's are right.
func TestAWorkerWhoseClockIsWrongIsOnTime(t *testing.T) {
	t.Parallel()
	server := newServer(t, t.TempDir(), quiet)
	var cases group
	for _, skew := range []time.Duration{-time.Hour, -time.Minute, -1500 * time.Millisecond, 1500 * time.Millisecond, time.Minute, time.Hour} {
		cases.run(t, fmt.Sprintf("by %s", skew), func(t *testing.T) {
			log := &logged{}
			s := newStack(t, setup{server: server, namespace: newNamespace(t, server.Address()), skew: skew, log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			target := newSink(t, nil)
			jobs := s.collection(t) + "/jobs"
			now := time.Now().UTC().Truncate(time.Second)
			first, second := now.Add(5*time.Second), now.Add(15*time.Second)
			for i := range 5 {
				created(t, fmt.Sprintf("%s/at-once-%d", jobs, i), get(target.URL+"/at-once", ""))
				created(t, fmt.Sprintf("%s/first-%d", jobs, i), get(target.URL+"/first", `,"startTime":"`+first.Format(time.RFC3339)+`"`))
				created(t, fmt.Sprintf("%s/second-%d", jobs, i), get(target.URL+"/second", `,"startTime":"`+second.Format(time.RFC3339)+`"`))
			}
			url := jobs + "/second-0"
			sleepUntil(t, second.Add(-2*time.Second))
			ok(t, http.MethodPatch, url, `{"properties":{"action":{"request":{"uri":"`+target.URL+`/changed"}}}}`)
			inTime := time.Now().Before(second) // on a machine that is too busy, the job is changed after it has run
			target.await(t, "/first", 5)
			eventually(t, "second or changed request of each job", func() bool {
				return len(target.got("/second"))+len(target.got("/changed")) == 5
			})
			for path, due := range map[string]time.Time{"/first": first, "/second": second, "/changed": second} {
				for _, r := range target.got(path) {
					require.False(t, r.at.Before(due), "%s was sent %s early", path, due.Sub(r.at))
				}
			}
			require.Len(t, target.got("/first"), 5)
			if inTime {
				require.Len(t, target.got("/changed"), 1)
			}
			require.Contains(t, log.String(), "differs from the Temporal server's")
		})
	}
	cases.Wait()
}
