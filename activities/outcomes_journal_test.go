package activities_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/completions"
	"almanac/activities/journal"
)

// The first worker is killed after it sent and before the server has the outcome, which the second one finds in their
// journal.
func TestAWorkerReportsWhatAKilledOneKeptInTheJournal(t *testing.T) {
	t.Parallel()
	refused := &activities.AnsweredError{Err: errors.New("503 Service Unavailable"), Answer: activities.AnswerServerError, Status: 503}
	for _, tt := range []struct {
		name     string
		attempts int
		message  string
		err      error
		history  string
		want     string // the error after it, "" for none
	}{
		{"a success", 3, "fine", nil, "1 Completed The receiver accepted it. What it answered was lost, since the worker stopped before it recorded it.\n", ""},
		{"a success of a job without retries", 1, "fine", nil, "1 Completed The receiver accepted it. What it answered was lost, since the worker stopped before it recorded it.\n", ""},
		{"a failure", 3, "a long answer", refused, "1 Failed 503 Service Unavailable\n", "503 Service Unavailable"},
		{"a failure for good", 3, "", &activities.PermanentError{Err: refused}, "1 Failed 503 Service Unavailable\n", "503 Service Unavailable"},
		{"a pause that the receiver asks for", 3, "", &activities.RetryAfterError{Err: refused, After: time.Hour}, "1 Failed 503 Service Unavailable\n", "503 Service Unavailable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, sent := t.TempDir(), 0
			worker := func() *activities.Runner {
				r := runner(sendFunc(func(context.Context) (string, error) { sent++; return tt.message, tt.err }))
				kept, err := journal.Open(dir)
				require.NoError(t, err)
				t.Cleanup(func() { _ = kept.Close() })
				r.Journal = kept
				return r
			}
			in := due(-time.Minute, tt.attempts)
			direct, directErr := new(task).run(t, worker(), in)
			k := task{attempt: 2, sent: true}
			found, err := k.run(t, worker(), in)
			require.Equal(t, 1, sent)
			if tt.want == "" {
				require.NoError(t, err)
				require.Equal(t, tt.history, history(found))
				require.Len(t, direct, 1)
				require.Equal(t, direct[0].Start, found[0].Start)
				require.Equal(t, direct[0].End, found[0].End)
				return
			}
			require.ErrorContains(t, err, tt.want)
			end, asReported := activities.EndingOf(err, in.Execution.Due, time.Now()), activities.EndingOf(directErr, in.Execution.Due, time.Now())
			require.Equal(t, tt.history, history(end.Attempts))
			require.Equal(t, asReported.How, end.How)
		})
	}
}

func TestAWorkerThatCannotWriteItsJournalSendsNevertheless(t *testing.T) {
	t.Parallel()
	r := newTimedRunner(0)
	dir := filepath.Join(t.TempDir(), "outcomes")
	kept, err := journal.Open(dir)
	require.NoError(t, err)
	require.NoError(t, kept.Close())
	require.NoError(t, os.RemoveAll(dir))
	r.Journal = kept
	attempts, err := new(task).run(t, r.Runner, due(-time.Minute, 3))
	require.NoError(t, err)
	require.Equal(t, "1 Completed fine\n", history(attempts))
}

func TestAnOutcomeInTheJournalOfTheOnlyWorkerNeedsNoHeartbeatOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		only, full bool
		beats      int // the fence's among them
	}{
		"the only worker": {only: true, beats: 1}, "one of several, which may be on other machines": {beats: 2},
		"the only worker, whose journal cannot be written": {only: true, full: true, beats: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "outcomes")
			kept, err := journal.Open(dir)
			require.NoError(t, err)
			t.Cleanup(func() { _ = kept.Close() })
			if tt.full {
				require.NoError(t, kept.Close())
				require.NoError(t, os.RemoveAll(dir))
			}
			synctest.Test(t, func(t *testing.T) {
				r := runner(sendFunc(func(context.Context) (string, error) { return "fine", nil }))
				r.Completions, r.Journal, r.OnlyWorker = completions.New(nil), kept, tt.only
				fill(t, r)
				k := task{heartbeat: activities.SentLoss, stop: make(chan struct{}), server: &server{}}
				time.AfterFunc(10*time.Second, func() { close(k.stop) })
				_, err := k.run(t, r, due(0, 5))
				require.NoError(t, err)
				require.Len(t, k.server.beats(), tt.beats)
			})
		})
	}
}
