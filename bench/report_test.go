package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/bench/engines"
	"almanac/bench/systems"
)

// late returns a herd whose measured tick has that lateness, in milliseconds.
func late(system string, jobs int, p50, p99 float64) herdResult {
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	return herdResult{system: system, jobs: jobs, ticks: []tick{{lateness: spread{n: jobs, p50: ms(p50), p99: ms(p99), max: ms(p99)}}}}
}

func TestTheReportHoldsWhatWasMeasuredAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newResults()
	text, err := r.markdown(machine{Hardware: "2 cores", Command: "go run . -ticks 3"}, options{})
	require.NoError(t, err)
	require.Contains(t, text, "`go run . -ticks 3`")
	require.NotContains(t, text, "##", "no part was measured")

	r.herds = []herdResult{late(systems.Almanac, 1000, 41, 74), late(systems.Loop, 1000, 4000, 9000), late(systems.Schedules, 1000, 18_000, 36_000)}
	first, later := late(systems.Almanac, 1000, 41, 260).ticks[0], late(systems.Almanac, 1000, 40, 90).ticks[0]
	r.scenarios = []scenarioResult{
		{scenario: scenario{label: "every minute", jobs: 1000, first: 250 * time.Millisecond}, perSecond: 200, ticks: []tick{first, later, later}},
		{scenario: scenario{label: "once, on a cluster with Temporal's own settings", jobs: 500, first: 200 * time.Millisecond}, perSecond: 170, ticks: []tick{first}},
	}
	r.costs[systems.Almanac] = cost{executions: 1000, cpu: 22, bytes: 3_300_000, events: 110, sampled: 10}
	r.costs[systems.Schedules] = cost{executions: 1000, cpu: 66, bytes: 26_400_000, events: 350, sampled: 10}
	r.sustained[systems.Almanac], r.sustained[systems.Loop] = []float64{90, 99, 91}, []float64{100}
	r.engines = []engines.Result{{Schedule: "last Friday", Distance: "near", Engine: engines.RRule, Nanoseconds: 12345.6, Allocs: 7}}
	r.sleep = &sleepResult{jobs: 10_000, idleCPU: 0.012, first: 5 * time.Second}
	start := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	created, due := start.Add(10*time.Second), start.Add(time.Minute)
	get := sortByStage("get a job", []answer{
		{asked: start.Add(time.Second), took: 20 * time.Millisecond},
		{asked: start.Add(12 * time.Second), took: 2 * time.Second, failed: true},
		{asked: start.Add(130 * time.Second), took: 30 * time.Millisecond},
	}, func(a answer) string { return stageOf(a.asked, start, created, due) })
	r.isolation = &isolationResult{jobs: 2000, calls: get, ten: []tick{late(systems.Almanac, 10, 9, 12).ticks[0]}}
	text, err = r.markdown(machine{}, options{})
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
		`\| last Friday +\| near +\| – +\| – +\| 12,346 ns, 7 allocs +\|`,
		`\| get a job +\| creating +\| 2 +\| 20 ms +\| 2\.0 s +\| 2\.0 s +\| 1 +\|`,
		`\| calls beside 2,000 jobs, creating, p99 of the slowest kind +\| at most 1\.0 s +\| 2\.0 s +\| missed +\|`,
		`\| calls beside 2,000 jobs, firing, not answered by 2xx +\| at most 0 +\| 0 +\| met +\|`,
		`\| ten jobs beside 2,000 jobs, worst p99 +\| at most 250 ms +\| 12 ms +\| met +\|`,
		`\| 10,000 sleeping jobs, idle CPU +\| at most 5\.0 % +\| 1\.2 % +\| met +\|`,
		`\| lateness of 1,000 jobs, p99 +\| at most 100 ms +\| 74 ms +\| met +\|`,
	} {
		require.Regexp(t, row, text)
	}
}

func TestWhatAlmanacMustNeverDoIsAnError(t *testing.T) {
	t.Parallel()
	r := newResults()
	r.herds = []herdResult{late(systems.Schedules, 5, 1, 2), late(systems.Almanac, 5, 1, 2)}
	r.herds[0].ticks[0].early = 1
	require.NoError(t, r.check(), "the others may")
	r.herds[1].ticks[0].early = 1
	require.ErrorContains(t, r.check(), "early")
}
