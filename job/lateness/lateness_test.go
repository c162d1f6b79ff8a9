package lateness_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/lateness"
)

var due = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func attempt(repeat, number int, start time.Duration, outcome job.Outcome) job.Record {
	return job.Record{
		Execution: job.Execution{Due: due, Repeat: repeat, ActionName: job.MainAction},
		Attempt:   job.Attempt{Number: number, Start: due.Add(start), End: due.Add(start + time.Second), Outcome: outcome},
	}
}

func TestPercentilesAreRightWithinSixPercent(t *testing.T) {
	t.Parallel()
	var s lateness.Stats
	var records []job.Record
	for i := range 1000 {
		records = append(records, attempt(i+1, 1, time.Duration(i+1)*time.Millisecond, job.OutcomeCompleted))
	}
	s.Add("j", 1, records)
	require.Equal(t, 1000, s.Count)
	for _, p := range []float64{1, 50, 90, 99, 100} {
		want, got := time.Duration(p*10)*time.Millisecond, s.Lateness.Percentile(p)
		require.GreaterOrEqual(t, got, want)
		require.LessOrEqual(t, float64(got), float64(want)*1.065, "%g", p)
	}
	require.Equal(t, 1000, s.Lateness.Below(-1))
	require.InDelta(t, 100, s.Lateness.Below(100*time.Millisecond), 7)
	require.Zero(t, lateness.Histogram{}.Percentile(50))
}

func TestAHistogramIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var s, again lateness.Stats
	for i, late := range []time.Duration{0, time.Millisecond, time.Second, 1 << 62} {
		s.Add("j", 1, []job.Record{attempt(i+1, 1, late, job.OutcomeCompleted)})
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, s, again)
}

func TestCountsThatNothingMakesAreAnError(t *testing.T) {
	t.Parallel()
	for _, pairs := range [][]uint64{{1}, {1 << 40, 1}, {1 << 63, 1}, {1, 0}, {1, 1, 0, 1}, {1, 1 << 62}} {
		var text []byte
		for _, one := range pairs {
			text = binary.AppendUvarint(text, one)
		}
		written, err := json.Marshal(text)
		require.NoError(t, err)
		var h lateness.Histogram
		require.Error(t, json.Unmarshal(written, &h), pairs)
	}
}

func TestTheSlowestTenAreKeptInOrder(t *testing.T) {
	t.Parallel()
	var s lateness.Stats
	for i := range 100 {
		s.Add(fmt.Sprint("j", i), 7, []job.Record{attempt(1, 1, time.Duration(i*37%100)*time.Second, job.OutcomeCompleted)})
	}
	require.Len(t, s.Slowest, 10)
	for i, one := range s.Slowest {
		require.Equal(t, time.Duration(99-i)*time.Second, one.Lateness)
		require.Equal(t, 7, one.Registration)
	}
}

func TestWhatFailedBeforeAndWhatDidNotRun(t *testing.T) {
	t.Parallel()
	missed := attempt(0, 1, time.Hour, job.OutcomeMissed)
	first := attempt(1, 1, 2*time.Second, job.OutcomeFailed)
	first.Taken, first.Sent = 1500, 300
	second := attempt(1, 2, time.Minute, job.OutcomeCompleted)
	apology := attempt(2, 1, time.Minute, job.OutcomeCompleted)
	apology.ActionName = job.ErrorAction
	var s lateness.Stats
	s.Add("j", 1, []job.Record{second, missed, apology, first})
	require.Equal(t, 1, s.Count, "of those that began")
	one := s.Slowest[0]
	require.Equal(t, 2*time.Second, one.Lateness)
	require.Equal(t, 58*time.Second, one.Earlier)
	require.Equal(t, job.Split{Worker: 1500 * time.Millisecond, Place: 500 * time.Millisecond, Send: 300 * time.Microsecond}, one.Split)
}

func TestStatsAreSmallHoweverManyTheyCount(t *testing.T) {
	t.Parallel()
	var s lateness.Stats
	for i := range 200_000 {
		r := attempt(i+1, 1, time.Duration(i)*time.Duration(i)*time.Microsecond, job.OutcomeCompleted)
		r.Taken, r.Asked, r.Sent = i/2, i/4, i
		s.Add("a job with a long name, as names can be", 1_790_000_000_000_000, []job.Record{r})
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Less(t, len(text), 32<<10)
	var again lateness.Stats
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, s.Lateness.Percentile(99), again.Lateness.Percentile(99))
	t.Logf("%d bytes", len(text))
}
