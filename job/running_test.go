package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestNamesOfExecutionsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	registration, repeat, ok := job.ParseExecutionName(job.ExecutionName(1767225600000000, 12))
	require.True(t, ok)
	require.Equal(t, []int{1767225600000000, 12}, []int{registration, repeat})
	registration, repeat, ok = job.ParseExecutionName("1A-2")
	require.Equal(t, []any{26, 2, true}, []any{registration, repeat, ok}, "names compare without case")
	for _, name := range []string{"", "-", "12", "1-", "-1", "1-0", "1--1", "01-2", "1-02", "1-+2", "1-2-3", "g-1", "ffffffffffffffffffff-1", "1-99999999999999999999", " 1-2"} {
		_, _, ok := job.ParseExecutionName(name)
		require.False(t, ok, name)
	}
}

func TestAStatusShowsTheNewestFailureAndTheAttemptThatComesFirst(t *testing.T) {
	t.Parallel()
	at := func(seconds int) *job.Time { return job.NewTime(time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)) }
	failed := func(text string, end int) *job.LastError { return &job.LastError{Message: text, EndTime: at(end)} }
	s := job.Status{FailureCount: 3, Outcomes: job.Outcomes{LastError: failed("before", 5)}}
	s.AddFailure(failed("older", 4), &job.Retry{Attempt: 2, NextAttemptTime: at(40)})
	require.Equal(t, "before", s.LastError.Message)
	s.AddFailure(failed("newer", 6), &job.Retry{Attempt: 3, NextAttemptTime: at(30)})
	s.AddFailure(failed("last", 7), &job.Retry{Attempt: 4, NextAttemptTime: at(50)})
	require.Equal(t, []any{6, "last", 3}, []any{s.FailureCount, s.LastError.Message, s.Retry.Attempt})
	s.AddFailure(nil, &job.Retry{Attempt: 5})
	s.AddFailure(nil, nil)
	s.AddFailure(&job.LastError{Message: "its end is not known"}, nil)
	s.FailureCount--
	require.Equal(t, []any{8, "last", 5}, []any{s.FailureCount, s.LastError.Message, s.Retry.Attempt}, "one that is being made comes first")
}
