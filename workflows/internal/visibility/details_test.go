package visibility_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows/internal/visibility"
)

func TestTheDetailsOfAJobBeginWithWhyItFails(t *testing.T) {
	t.Parallel()
	at := job.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	failing := job.Outcomes{
		LastOutcome: &job.LastOutcome{Status: job.OutcomeFailed, EndTime: at}, ConsecutiveFailures: 3, FailingSince: at,
		LastError: &job.LastError{Message: "500 Internal Server Error: no customer", EndTime: at},
	}
	recovered := failing
	recovered.LastOutcome, recovered.ConsecutiveFailures, recovered.FailingSince = &job.LastOutcome{Status: job.OutcomeCompleted, EndTime: at}, 0, nil
	once := failing
	once.ConsecutiveFailures = 1
	for name, tt := range map[string]struct {
		status job.Status
		want   string
	}{
		"that never ran": {job.Status{NextExecutionTime: at}, "**nightly** (enabled)\n\nGET https://example.com/, every day\n\n" +
			"- next execution: 2026-01-01T12:00:00Z\n- last execution: never\n- last outcome: none\n- executions: 0, failures: 0, faulted: 0"},
		"that fails": {job.Status{NextExecutionTime: at, LastExecutionTime: at, ExecutionCount: 4, FailureCount: 3, FaultedCount: 3, Outcomes: failing},
			"**nightly** (enabled) fails, 3 executions in a row since 2026-01-01T12:00:00Z\n\n500 Internal Server Error: no customer\n\nGET https://example.com/, every day\n\n" +
				"- next execution: 2026-01-01T12:00:00Z\n- last execution: 2026-01-01T12:00:00Z\n- last outcome: Failed, 2026-01-01T12:00:00Z\n- executions: 4, failures: 3, faulted: 3"},
		"that failed once, and is over": {job.Status{Reason: "It is over.", Outcomes: once},
			"**nightly** (enabled) fails since 2026-01-01T12:00:00Z\n\n500 Internal Server Error: no customer\n\nGET https://example.com/, every day\n\n" +
				"- next execution: none. It is over.\n- last execution: never\n- last outcome: Failed, 2026-01-01T12:00:00Z\n- executions: 0, failures: 0, faulted: 0"},
		"that waits for another attempt": {job.Status{ExecutionCount: 1, FailureCount: 1, Outcomes: job.Outcomes{LastError: failing.LastError},
			Retry: &job.Retry{ActionName: job.MainAction, Attempt: 2, MaxAttempts: 5, NextAttemptTime: at}},
			"**nightly** (enabled), waits for attempt 2 of 5 at 2026-01-01T12:00:00Z\n\n500 Internal Server Error: no customer\n\nGET https://example.com/, every day\n\n" +
				"- next execution: none\n- last execution: never\n- last outcome: none\n- executions: 1, failures: 1, faulted: 0"},
		"that fails, and waits for another attempt of its error action": {job.Status{Outcomes: failing,
			Retry: &job.Retry{ActionName: job.ErrorAction, Attempt: 3, MaxAttempts: 4, NextAttemptTime: at}},
			"**nightly** (enabled) fails, 3 executions in a row since 2026-01-01T12:00:00Z, waits for attempt 3 of 4 of its error action at 2026-01-01T12:00:00Z\n\n" +
				"500 Internal Server Error: no customer\n\nGET https://example.com/, every day\n\n" +
				"- next execution: none\n- last execution: never\n- last outcome: Failed, 2026-01-01T12:00:00Z\n- executions: 0, failures: 0, faulted: 0"},
		"that has recovered": {job.Status{Outcomes: recovered}, "**nightly** (enabled)\n\nGET https://example.com/, every day\n\n" +
			"- next execution: none\n- last execution: never\n- last outcome: Completed, 2026-01-01T12:00:00Z\n- executions: 0, failures: 0, faulted: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job.Job{Key: job.CollectionKey{Name: "c"}.Job("nightly"), Definition: job.Definition{State: job.StateEnabled}, Status: tt.status}
			require.Equal(t, tt.want, visibility.Details(&j, "GET https://example.com/, every day"))
		})
	}
}
