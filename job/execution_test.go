package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestAJobAsItStandsAtAnInstant(t *testing.T) {
	t.Parallel()
	nine := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return nine.Add(time.Duration(minutes) * time.Minute) }
	shown := func(minutes int) *job.Time { return job.NewTime(at(minutes)) }
	status := func(count int, last, next *job.Time) job.Status {
		return job.Status{ExecutionCount: count, LastExecutionTime: last, NextExecutionTime: next, FailureCount: 1}
	}
	one := &job.Ahead{Due: []time.Time{at(0)}, Next: shown(10)}
	two := &job.Ahead{Due: []time.Time{at(0), at(10)}, Next: shown(20)}
	for _, tt := range []struct {
		name   string
		status job.Status
		ahead  *job.Ahead
		now    time.Time
		want   job.Status
	}{
		{"is as it is where nothing is ahead", status(7, shown(0), shown(10)), nil, at(-1), status(7, shown(0), shown(10))},
		{"has not done what is ahead", status(6, shown(-10), shown(0)), one, at(0).Add(-1), status(6, shown(-10), shown(0))},
		{"has done it when it is due", status(6, shown(-10), shown(0)), one, at(0), status(7, shown(0), shown(10))},
		{"has done it later", status(6, shown(-10), shown(0)), one, at(5), status(7, shown(0), shown(10))},
		{"has done it before a run on demand", status(7, shown(3), shown(0)), one, at(5), status(8, shown(3), shown(10))},
		{"has not done the first thing ever", status(0, nil, shown(0)), &job.Ahead{Due: []time.Time{at(0)}}, at(-1), status(0, nil, shown(0))},
		{"has done the first thing ever", status(0, nil, shown(0)), &job.Ahead{Due: []time.Time{at(0)}}, at(0), status(1, shown(0), nil)},
		{"has done none of two", status(5, shown(-10), shown(0)), two, at(-1), status(5, shown(-10), shown(0))},
		{"has done one of two", status(5, shown(-10), shown(0)), two, at(0), status(6, shown(0), shown(10))},
		{"has done both", status(5, shown(-10), shown(0)), two, at(10), status(7, shown(10), shown(20))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := job.Job{Status: tt.status, Ahead: tt.ahead, Generation: 3}
			ran := tt.want.ExecutionCount - tt.status.ExecutionCount
			want := job.Job{Status: tt.want, Generation: 3, Started: ran}
			if ran > 0 {
				want.Decided = tt.ahead.Due[ran-1]
			}
			require.Equal(t, want, j.At(tt.now))
			require.Equal(t, job.Job{Status: tt.status, Ahead: tt.ahead, Generation: 3}, j, "the job itself is not changed")
			require.Equal(t, j.At(tt.now), j.At(tt.now).At(at(99)), "what was told apart is settled")
		})
	}
}
