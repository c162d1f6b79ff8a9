package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/console"
	"almanac/internal/apitest"
	"almanac/job"
)

const explanation = `{"id":"x","type":"t","name":"reports/nightly/1","properties":{"time":"2026-11-26T01:30:00Z","outcome":"missed","cause":"noWorker",
"sentence":"It was missed: no worker <b>checked in</b> between 01:10:40 and 01:54:05.","previousExecutionTime":"2026-11-25T01:30:00Z","nextExecutionTime":"2026-11-27T01:30:00Z",
"split":{"lateness":246.3,"worker":245.4,"server":0,"place":0.8,"send":0.1,"earlierAttempts":0},
"facts":[{"time":"2026-11-26T01:10:40Z","text":"worker-b checked in last.","source":"the workers on record"},
{"time":"2026-11-26T01:30:00Z","text":"This occurrence came due.","source":"history","id":"/subscriptions/s/resourceGroups/g/providers/p/jobCollections/reports/jobs/nightly/history/1"}],
"hazards":["412 others are due."],"unread":["The history is not kept."]}}`

func TestThePageOfAnExplanationHasItsSentenceItsFactsAndWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Records: history()})
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, answering(h, map[string]string{"/explain": explanation}), console.Options{})
	page := b.get("/console/jobs/reports/nightly/explain?at=2026-11-26+02:30").has("Why did it not run?", "no worker &lt;b&gt;checked in&lt;/b&gt;", "worker-b checked in last.",
		`href="/console/jobs/reports/nightly#history">history</a>`, "waited for a worker", "4 min 05 s", "412 others are due.", "The history is not kept.",
		"/explain?at=2026-11-25T01%3A30%3A00Z", "Europe/Stockholm, unless it has an offset", `value="2026-11-26T02:30"`)
	requireHarmless(t, page)
	b.get("/console/jobs/reports/nightly").has(`/explain?at=2026-11-26T01%3A12%3A20Z">Why?</a>`, "Why did it not run at")
	wrong := browse(t, answering(h, map[string]string{"/explain": `{"error":{"code":"BadRequest","message":"at: no time"}}`}), console.Options{}).
		get("/console/jobs/reports/nightly/explain?at=x")
	require.Equal(t, http.StatusBadRequest, wrong.status)
	require.Contains(t, wrong.text, "at: no time")
}

const report = `{"id":"x","type":"t","name":"reports/nightly","nextLink":null,"properties":{"from":"2026-11-25T02:12:20Z","until":"2026-11-26T02:12:20Z","jobs":1,"jobsRead":1,"complete":true,
"executions":1440,"percentiles":{"lateness":{"p50":0.02,"p90":0.05,"p95":0.1,"p99":0.75,"max":2560},"worker":{"p50":0,"p90":0,"p95":0,"p99":0.7,"max":1},
"server":{"p50":0,"p90":0,"p95":0,"p99":0,"max":0},"place":{"p50":0,"p90":0,"p95":0,"p99":0.1,"max":1},"send":{"p50":0,"p90":0,"p95":0,"p99":0,"max":0},
"earlierAttempts":{"p50":0,"p90":0,"p95":0,"p99":0,"max":0}},
"histogram":[{"below":0.01,"count":0},{"below":0.02,"count":902},{"below":0.05,"count":530},{"below":1,"count":0},{"count":8}],
"slowest":[{"id":"e","name":"reports/nightly","expectedExecutionTime":"2026-11-25T05:30:00Z","split":{"lateness":2560,"worker":2559,"server":0,"place":1,"send":0,"earlierAttempts":0}}]}}`

func TestTheLatenessOfAJobIsReadWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Status: func(job.Key) job.Status { return job.Status{NextExecutionTime: job.NewTime(now.Add(time.Hour))} }})
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, answering(h, map[string]string{"/lateness": report}), console.Options{})
	b.get("/console/jobs/reports/nightly").has("Choose a time").lacks("executions began")
	b.get("/console/jobs/reports/nightly?lateness=P1D").has("<b>1,440</b>", "<b>20 ms</b><span>p50", "750 ms", "42 min 40 s", "How late 1440 executions began", ">902<", "under 50 ms",
		"waited for a worker").lacks("under 10 ms")
}
