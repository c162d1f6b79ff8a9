package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

// The next attempt may begin when later occurrences have run.
func TestAnExecutionThatIsRetriedHasNotEnded(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	attempt := func(number int, outcome job.Outcome, action job.ActionName) job.Record {
		return job.Record{
			Execution: job.Execution{Due: due, Repeat: 1, ActionName: action},
			Attempt:   job.Attempt{Number: number, Outcome: outcome},
		}
	}
	failed, second := attempt(1, job.OutcomeFailed, job.MainAction), attempt(2, job.OutcomeFailed, job.MainAction)
	other := failed
	other.Due = due.Add(time.Minute)
	for _, tt := range []struct {
		name    string
		records []job.Record
		want    bool
	}{
		{"none", nil, false},
		{"of another one", []job.Record{other}, false},
		{"the first failed", []job.Record{failed}, true},
		{"all failed", []job.Record{second, failed}, false},
		{"all failed, and the error action too", []job.Record{second, failed, attempt(1, job.OutcomeFailed, job.ErrorAction)}, false},
		{"the second succeeded", []job.Record{failed, attempt(2, job.OutcomeCompleted, job.MainAction)}, false},
	} {
		require.Equal(t, tt.want, retried(tt.records, due, 2), tt.name)
	}
}
