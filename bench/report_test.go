package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/bench/engines"
)

func TestTheReportHoldsWhatWasMeasuredAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newResults(options{synchronous: "full"}, machine{Hardware: "2 cores"}, "go run . -ticks 3")
	text, err := r.markdown()
	require.NoError(t, err)
	require.Contains(t, text, "`go run . -ticks 3`")
	require.NotContains(t, text, "##", "no part was measured")

	r.herds = []herdResult{late(nameAlmanac, 1000, 41, 74), late(nameLoop, 1000, 4000, 9000), late(nameSchedules, 1000, 18_000, 36_000)}
	first, later := late(nameAlmanac, 1000, 41, 260).ticks[0], late(nameAlmanac, 1000, 40, 90).ticks[0]
	r.scenes = []sceneResult{
		{scene: scene{name: "every minute", jobs: 1000}, perSecond: 200, ticked: []tick{first, later, later}},
		{scene: scene{name: "once, on a cluster with Temporal's own settings", jobs: 500, limit: 200 * time.Millisecond}, perSecond: 170, ticked: []tick{first}},
	}
	r.costs[nameAlmanac] = cost{executions: 1000, cpu: 22, bytes: 3_300_000, events: 110, sampled: 10}
	r.costs[nameSchedules] = cost{executions: 1000, cpu: 66, bytes: 26_400_000, events: 350, sampled: 10}
	r.sustained[nameAlmanac], r.sustained[nameLoop] = []float64{90, 99, 91}, []float64{100}
	r.engines = []engines.Result{{Schedule: "last Friday", Distance: "near", Engine: engines.RRule, Nanoseconds: 12345.6, Allocs: 7}}
	r.sleep = &sleepResult{jobs: 10_000, idleCPU: 0.012, first: 5 * time.Second}
	get := kindResult{"get a job", map[string][]answer{
		stageCreating: {{took: 20 * time.Millisecond, code: 200}, {took: 2 * time.Second, code: 503}},
		stageFiring:   {{took: 30 * time.Millisecond, code: 200}},
	}}
	r.isolation = &isolationResult{jobs: 2000, kinds: []kindResult{get}, ten: []tick{late(nameAlmanac, 10, 9, 12).ticks[0]}}
	text, err = r.markdown()
	require.NoError(t, err)
	for _, row := range []string{
		`\| 1,000 jobs every minute +\| +first tick \| +200\.0 \| +41 ms \| +260 ms \|`,
		`\| 1,000 jobs every minute +\| +worst of 2 more \| +\| +40 ms \| +90 ms \|`,
		`\| 1,000 jobs every minute, p99 of the first tick +\| +at most 250 ms \| +260 ms \| +missed \|`,
		`\| 500 jobs once, on a cluster with Temporal's own settings, p99 of the first tick +\| +at most 200 ms \| +260 ms \| +missed \|`,
		`\| lateness of 1,000 jobs, p99 +\| +74 ms \| +9\.0 s \| +36\.0 s \| +122 × \| +486 × \|`,
		`\| CPU an execution +\| +22 ms \| +– \| +66 ms \| +– \| +3\.00 × \|`,
		`\| bytes in the database an execution +\| +3,300 \| +– \| +26,400 \| +– \| +8\.00 × \|`,
		`\| executions/s, sustained +\| +91\.0 \| +100\.0 \| +– \| +0\.91 × \| +– \|`,
		`\| last Friday +\| +near \| +– \| +– \| +12,346 ns, 7 allocs \|`,
		`\| get a job \| +creating \| +2 \| +20 ms \| +2\.0 s \| +2\.0 s \| +1 \|`,
		`\| calls beside 2,000 jobs, creating, p99 of the slowest kind +\| +at most 1\.0 s \| +2\.0 s \| +missed \|`,
		`\| calls beside 2,000 jobs, firing, not answered by 2xx +\| +at most 0 \| +0 \| +met \|`,
		`\| ten jobs beside 2,000 jobs, worst p99 +\| +at most 250 ms \| +12 ms \| +met \|`,
		`\| 10,000 sleeping jobs, idle CPU +\| +at most 5\.0 % \| +1\.2 % \| +met \|`,
		`\| lateness of 1,000 jobs, p99 +\| +at most 100 ms \| +74 ms \| +met \|`,
	} {
		require.Regexp(t, row, text)
	}
}

func TestWhatAlmanacMustNeverDoIsAnError(t *testing.T) {
	t.Parallel()
	r := newResults(options{}, machine{}, "")
	r.herds = []herdResult{late(nameSchedules, 5, 1, 2), late(nameAlmanac, 5, 1, 2)}
	r.herds[0].ticks[0].early = 1
	require.NoError(t, r.check(), "the others may")
	r.herds[1].ticks[0].early = 1
	require.ErrorContains(t, r.check(), "early")
}
