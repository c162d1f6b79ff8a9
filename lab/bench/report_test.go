package bench

import (
	"io"
	"log"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/bench/page"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

// late returns a tick of that lateness, in InMilliseconds.
func late(jobs int, p50, p99 time.Duration) systems.Tick {
	return systems.Tick{Lateness: report.Spread{N: jobs, P50: p50 * time.Millisecond, P99: p99 * time.Millisecond,
		Max: p99 * time.Millisecond}}
}

func TestTheReportHoldsWhatWasMeasuredAndNothingElse(t *testing.T) {
	t.Parallel()
	logger := log.New(io.Discard, "", 0)
	empty, r := page.Page{Progress: logger}, page.Page{Progress: logger}
	text, err := empty.Markdown(page.Machine{Hardware: "2 cores", Command: "go run . -ticks 3"})
	require.NoError(t, err)
	require.Contains(t, text, "`go run . -ticks 3`")
	require.NotContains(t, text, "##", "no part was measured")

	for system, one := range map[string]systems.Tick{
		systems.Almanac: late(1000, 41, 74), systems.Loop: late(1000, 4000, 9000),
		systems.Schedules: late(1000, 18_000, 36_000),
	} {
		addHerd(&r, system, 1000, []systems.Tick{one}, 0)
	}
	addScenario(&r, scenario{label: "every minute", jobs: 1000, first: 250 * time.Millisecond}, 200,
		[]systems.Tick{late(1000, 41, 260), late(1000, 40, 90), late(1000, 40, 90)})
	addScenario(&r, scenario{label: "once, on a cluster with Temporal's own settings", jobs: 500,
		first: 200 * time.Millisecond}, 170, []systems.Tick{late(500, 41, 260)})
	addTotal(&r, systems.Almanac, total{executions: 1000, cpu: 22, bytes: 3_300_000, events: 110, sampled: 10})
	addTotal(&r, systems.Schedules, total{executions: 1000, cpu: 66, bytes: 26_400_000, events: 350, sampled: 10})
	r.Compare(page.MetricSustained, report.Tenth, systems.Almanac, 91)
	r.Compare(page.MetricSustained, report.Tenth, systems.Loop, 100)
	addTenant(&r, []systems.Call{{Name: "get a job"}}, []systems.CallAnswer{
		{Call: "get a job", Stage: stageCreating, Took: 20 * time.Millisecond},
		{Call: "get a job", Stage: stageCreating, Took: 2 * time.Second, Failed: true},
		{Call: "get a job", Stage: stageQuiet, Took: 30 * time.Millisecond},
	}, "2,000 jobs", late(10, 9, 12))
	text, err = r.Markdown(page.Machine{})
	require.NoError(t, err)
	for _, row := range []string{
		`\| 1,000 jobs every minute +\| first tick +\| 200\.0 +\| 41 ms +\| 260 ms +\|`,
		`\| 1,000 jobs every minute +\| worst of 2 more +\| +\| 40 ms +\| 90 ms +\|`,
		`\| 1,000 jobs every minute, p99 of the first tick +\| at most 250 ms +\| 260 ms +\| missed +\|`,
		`\| 500 jobs once, on a cluster with Temporal's own settings, p99 of the first tick +\| at most 200 ms +\| 260 ms +\| missed +\|`,
		`\| lateness of 1,000 jobs, p99 +\| 74 ms +\| 9\.0 s +\| 36\.0 s +\| 122 × +\| 486 × +\|`,
		`\| CPU an execution +\| 22 ms +\| – +\| 66 ms +\| – +\| 3\.00 × +\|`,
		`\| bytes in the database an execution +\| 3,300 +\| – +\| 26,400 +\| – +\| 8\.00 × +\|`,
		`\| executions/s, sustained +\| 91\.0 +\| 100\.0 +\| – +\| 0\.91 × +\| – +\|`,
		`\| get a job +\| creating +\| 2 +\| 20 ms +\| 2\.0 s +\| 2\.0 s +\| 1 +\|`,
		`\| get a job +\| quiet +\| 1 +\| 30 ms +\| 30 ms +\| 30 ms +\| 0 +\|`,
		`\| calls beside 2,000 jobs, creating, p99 of the slowest kind +\| at most 1\.0 s +\| 2\.0 s +\| missed +\|`,
		`\| calls beside 2,000 jobs, firing, not answered by 2xx +\| at most 0 +\| 0 +\| met +\|`,
		`\| ten jobs beside 2,000 jobs, worst p99 +\| at most 250 ms +\| 12 ms +\| met +\|`,
		`\| CPU an execution, beside Temporal Schedules +\| at least 4\.00 × +\| 3\.00 × +\| missed +\|`,
		`\| lateness of 1,000 jobs, p99 +\| at most 100 ms +\| 74 ms +\| met +\|`,
	} {
		require.Regexp(t, row, text)
	}
}

func TestWhatAlmanacMustNeverDoIsAnError(t *testing.T) {
	t.Parallel()
	r := page.Page{Progress: log.New(io.Discard, "", 0)}
	tooEarly := late(5, 1, 2)
	tooEarly.Early = 1
	addHerd(&r, systems.Schedules, 5, []systems.Tick{tooEarly}, 0)
	addHerd(&r, systems.Almanac, 5, []systems.Tick{late(5, 1, 2)}, 0)
	require.Empty(t, r.Violations, "the others may")
	addHerd(&r, systems.Almanac, 20, []systems.Tick{tooEarly}, 0)
	require.Len(t, r.Violations, 1)
	require.ErrorContains(t, r.Violations[0], "early")
}
