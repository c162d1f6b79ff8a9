package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestAPromiseSaysWhenWhatWasHeldRuns(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 2, 6, 0, 0, 0, time.UTC)
	for want, p := range map[string]job.Promise{
		"until 2026-01-02T06:00:00Z; then the latest held occurrence runs":            {Until: until, Recover: job.RecoverLatest},
		"when it is enabled the latest held occurrence runs; note: move":              {Recover: job.RecoverLatest, Note: "move"},
		"when it is enabled all held occurrences run, 3 at once":                      {Recover: job.RecoverAll, AtOnce: 3},
		"until 2026-01-02T06:00:00Z; then all held occurrences run, 1 at once":        {Until: until, Recover: job.RecoverAll},
		"until 2026-01-02T06:00:00Z; what comes due is left out; note: the wrong one": {Until: until, Recover: job.RecoverNone, Note: "the wrong one"},
	} {
		require.Equal(t, want, p.Text())
	}
}
