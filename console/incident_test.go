package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/internal/audit"
	"almanac/job"
)

// aNight has an execution that succeeded, one that succeeded late after a retry, one that failed twice, a missed, a
// skipped and a cancelled occurrence, a run by hand, and one that is outside of the window.
func aNight() []job.Record {
	at := func(due, late time.Duration, repeat, n int, outcome job.Outcome, message string) job.Record {
		begin := now.Add(due + late)
		return job.Record{Execution: job.Execution{Due: now.Add(due), Repeat: repeat, ActionName: job.MainAction},
			Attempt: job.Attempt{Number: n, Start: begin, End: begin.Add(time.Second), Outcome: outcome, Message: message}}
	}
	refused := "Http Action - Request to host 'ledger.example.com' failed: the connection was refused"
	byHand := at(-50*time.Minute, 0, 9, 1, job.OutcomeCompleted, "by hand")
	byHand.Caller = "ops"
	return []job.Record{
		at(-30*time.Minute, 10*time.Minute, 0, 0, job.OutcomeMissed, "nothing could run it when it was due"),
		at(-35*time.Minute, time.Minute, 4, 2, job.OutcomeFailed, refused), at(-35*time.Minute, 0, 4, 1, job.OutcomeFailed, refused),
		at(-40*time.Minute, 3*time.Minute, 3, 2, job.OutcomeCompleted, "fine"), at(-40*time.Minute, 2*time.Minute, 3, 1, job.OutcomeFailed, refused),
		byHand, at(-52*time.Minute, 0, 0, 0, job.OutcomeSkipped, "the one before it still ran"), at(-53*time.Minute, 0, 0, 0, job.OutcomeCancelled, "it was changed"),
		at(-55*time.Minute, 0, 2, 1, job.OutcomeCompleted, "fine"), at(-3*time.Hour, 0, 1, 1, job.OutcomeCompleted, "before"),
	}
}

const nightPath = "/console/incident?from=2026-11-26T01%3A00%3A00Z&to=2026-11-26T02%3A12%3A00Z"

// answers has an API that answers a path with a value.
func answers(h http.Handler, suffix string, value any) *meddler {
	return &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, suffix) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
		return true
	}}
}

func TestThePartsOfAReportAddUp(t *testing.T) {
	t.Parallel()
	trail := []audit.Change{{
		ID: "2", Time: now.Add(-20 * time.Minute), Operation: audit.DisableJob, Status: audit.Succeeded, Actor: audit.Actor{Caller: "ops-rotation"},
	}, {ID: "1", Time: now.Add(-5 * time.Hour), Operation: audit.WriteJob, Status: audit.Succeeded, Actor: audit.Actor{Caller: "too early"}}}
	c, h := stored(t, &apitest.Memory{Records: aNight(), Trail: trail})
	for _, name := range []string{"a", "b"} {
		_, err := c.PutJob(t.Context(), "reports", name, daily())
		require.NoError(t, err)
	}
	explained := client.Explanation{Properties: client.ExplanationProperties{Outcome: "missed", Sentence: "It was missed: no worker was there.", Facts: []client.Fact{
		{Time: now.Add(-31 * time.Minute), Source: "workers", Text: "No worker checked in between 2026-11-26T01:41:00Z and 2026-11-26T01:52:00Z, for 11 min."},
		{Time: now.Add(-30 * time.Minute), Source: "history", Text: "It is recorded as missed."},
	}}}
	b := browse(t, answers(h, "/explain", explained), console.Options{})
	shown := b.get(nightPath).has(
		"<b>12</b><span>due</span>", ">4</a></b>", "succeeded, 2 late", `<b class="bad"><a class="bad" href="#failed">2</a>`, `<b class="lost"><a class="lost" href="#missed">2</a>`,
		"No worker checked in between 01:41 and 01:52, for 11 min.", "2 were missed", "2 executions of 2 jobs failed", "2 began late",
		"2 runs by hand are not counted", "the connection was refused", "ledger.example.com", "ops-rotation", `class="c-band"`, "c-fail", "It was missed: no worker was there.",
		"/console/jobs/reports/a/explain?at=2026-11-26T01%3A42%3A20Z", "Thursday 26 November 2026, 01:00 to 02:12",
	)
	shown.lacks("too early", "It is recorded as missed")

	text := b.get(nightPath + "&as=markdown")
	require.Equal(t, "text/markdown; charset=utf-8", text.header.Get("Content-Type"))
	text.has("# Thursday 26 November 2026, 01:00 to 02:12", "**Balance**: 12 due = 4 succeeded, 2 late + 2 failed + 2 missed + 2 skipped + 2 cancelled.", "2 × the connection was refused, ledger.example.com",
		"<http://localhost/console/incident?from=2026-11-26T01%3A00%3A00Z&to=2026-11-26T02%3A12%3A00Z>", "ops-rotation: reports and 2 others disabled it")
}

func TestTheAddressOfAReportSaysTheSameToEveryone(t *testing.T) {
	t.Parallel()
	_, h := stored(t, &apitest.Memory{})
	b := browse(t, h, console.Options{})
	b.post("/console/", "/console/zone", url.Values{"zone": {"Europe/Stockholm"}})
	for asked, want := range map[string]string{
		"": "/console/incident?from=2026-11-25T14%3A13%3A00Z&to=2026-11-26T02%3A13%3A00Z",
		"?from=2026-11-26+02:00&to=2026-11-26T03:10": "/console/incident?from=2026-11-26T01%3A00%3A00Z&to=2026-11-26T02%3A10%3A00Z",
		"?from=2026-11-26+02:00&scope=reports":       "/console/incident?from=2026-11-26T01%3A00%3A00Z&scope=reports&to=2026-11-26T13%3A00%3A00Z",
	} {
		to := b.get("/console/incident" + asked)
		require.Equal(t, http.StatusSeeOther, to.status)
		require.Equal(t, want, to.location)
		b.get(want).has("Nothing is recorded that was due then.", "times in Europe/Stockholm")
	}
	for asked, text := range map[string]string{
		"?from=yesterday": "from: must be a date and a time, such as",
		"?from=2026-11-26+02:00&to=2026-11-26+01:00": "to: must be after from",
		"?from=2026-11-01&to=2026-11-26":             "at most 7 days apart",
		"?from=2026-11-28&to=2026-11-29":             "must not be in the future",
	} {
		wrong := b.get("/console/incident" + asked)
		require.Equal(t, http.StatusBadRequest, wrong.status)
		require.Contains(t, wrong.text, text)
	}
}

func TestAReportSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Records: aNight()})
	for _, name := range []string{"a", "b"} {
		_, err := c.PutJob(t.Context(), "reports", name, daily())
		require.NoError(t, err)
	}
	m := &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		broken := strings.HasSuffix(r.URL.Path, "/changes") || strings.HasSuffix(r.URL.Path, "/notifications")
		if broken {
			http.Error(w, `{"error":{"code":"Broken","message":"it is broken"}}`, http.StatusInternalServerError)
		}
		return broken
	}}
	browse(t, m, console.Options{}).get(nightPath).has("Not all changes could be read: ", "Not all could be read: ", "it is broken", "<span>due</span>")

	silent := map[string]any{"value": []any{map[string]any{"id": "/x", "name": "reports/b", "properties": map[string]any{"status": map[string]any{"error": "Unread", "reason": "Its worker does not answer."}}}}}
	b := browse(t, answers(h, "/history", silent), console.Options{})
	b.get(nightPath).has("1 of 2 jobs read</b>.", "such as that of reports/b: Its worker does not answer.")
	b.get("/console/activity").has("1 of 2 jobs read.")
	browse(t, h, console.Options{}).get("/console/activity").has("2 of 2 jobs read: it is complete for jobs that exist")
}

// A reader sees the whole report, and markup in what is shown stays text.
func TestAReaderReadsTheReport(t *testing.T) {
	t.Parallel()
	records := aNight()
	records[0].Message = `<img src=x onerror=alert(1)> *bold* | [link](javascript:alert(1))`
	c, h := stored(t, &apitest.Memory{Records: records})
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	may := func(a access.Action, _ access.Scope) bool { return access.Reader.Allows(a) }
	b := browse(t, h, console.Options{Who: func(*http.Request) (console.Caller, error) {
		return console.Caller{Name: "guest", ID: "guest", Known: true, May: may}, nil
	}})
	b.get(nightPath).has("for guest", "&lt;img src=x").lacks("<img src=x")
	b.get(nightPath + "&as=markdown").has(`&lt;img src=x onerror=alert(1)&gt; \*bold\* \| \[link\](javascript:alert(1))`)
}

// Which workers came and went is what the API has on record.
func TestAReportSaysWhichWorkersCameAndWent(t *testing.T) {
	t.Parallel()
	at := func(before time.Duration) time.Time { return now.Add(-before) }
	c, h := stored(t, &apitest.Memory{Records: aNight()})
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	workers := client.Workers{From: at(72 * time.Minute), Until: now, Since: at(24 * time.Hour),
		Absences: []client.TimeSpan{{From: at(31 * time.Minute), To: at(20 * time.Minute)}},
		Value: []client.Worker{
			{Name: "1@gone", Version: "1.0.0", ZoneInfo: "2026b", FirstCheckIn: at(5 * time.Hour), LastCheckIn: at(31 * time.Minute), End: "lost"},
			{Name: "2@<here>", Version: "1.1.0", FirstCheckIn: at(20 * time.Minute), LastCheckIn: at(0), Gaps: []client.TimeSpan{{From: at(15 * time.Minute), To: at(14 * time.Minute)}}},
		}}
	b := browse(t, answers(h, "/workers", workers), console.Options{})
	b.get(nightPath).has("No worker checked in between 01:41:20 and 01:52:20, for 11 min.", `class="c-band"`, "The worker 1@gone checked in for the last time, and was lost",
		"The worker 2@&lt;here&gt; checked in for the first time", "1.0.0, time zones 2026b", "1 gap, 1 min in all", "1 of 1 job read</b>: it is complete for jobs that exist")
	b.get(nightPath+"&as=markdown").has("No worker checked in between 01:41:20 and 01:52:20", "1 of 1 job read: it is complete for jobs that exist")

	denied := &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/workers") {
			return false
		}
		http.Error(w, `{"error":{"code":"AuthorizationFailed","message":"no"}}`, http.StatusForbidden)
		return true
	}}
	browse(t, denied, console.Options{}).get(nightPath).has("which you may not see.")
}
