package scheduler

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/lateness"
)

// It is part of an address, of which proxies allow 8 kB.
func TestTheContinuationOfAReportIsShortAndChecked(t *testing.T) {
	t.Parallel()
	token := latenessToken{After: 10_000, Read: 10_000, From: time.Now(), Until: time.Now()}
	random := rand.New(rand.NewPCG(1, 2))
	wait := func() time.Duration {
		return time.Duration(random.ExpFloat64() * random.ExpFloat64() * float64(time.Minute))
	}
	for i := range 200_000 {
		late := wait()
		r := job.Record{Execution: job.Execution{Due: time.Now(), Repeat: i + 1, ActionName: job.MainAction}}
		r.Number, r.Outcome, r.Start = 1, job.OutcomeCompleted, r.Due.Add(late)
		r.Taken, r.Asked, r.Sent = int(late.Milliseconds()/2), int(wait().Milliseconds()), int(wait().Microseconds())
		token.Stats.Add("a-job-with-a-long-name-as-names-can-be", 1_790_000_000_000_000, []job.Record{r})
	}
	text := token.String()
	t.Logf("%d bytes", len(text))
	require.Less(t, len(text), maxLatenessToken)
	again, err := parseLatenessToken(text)
	require.NoError(t, err)
	require.Equal(t, token.Stats.Count, again.Stats.Count)

	token.Stats.Place = lateness.Histogram{{-1, 1}}
	_, err = parseLatenessToken(token.String())
	require.Error(t, err)
	token.Stats.Place, token.Stats.Slowest = nil, make([]lateness.Slow, 11)
	_, err = parseLatenessToken(token.String())
	require.Error(t, err)
	_, err = parseLatenessToken("x" + text)
	require.Error(t, err)
}
