package console_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/job"
)

const held = `{"held":3,"runs":1,"leftOut":2,"atOnce":1,"occurrences":[{"expectedExecutionTime":"2026-11-28T01:30:00Z","runs":false},
{"expectedExecutionTime":"2026-11-29T01:30:00Z","runs":false},{"expectedExecutionTime":"2026-11-30T01:30:00Z","runs":true}]}`

// queries notes what is asked of the API, and has previews answer with held.
type queries struct {
	sync.Mutex
	all []string
}

func (q *queries) before(h http.Handler, answers map[string]string) http.Handler {
	inner := answering(h, answers)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q.Lock()
		query := r.URL.Query()
		query.Del("api-version")
		q.all = append(q.all, r.Method+" "+r.URL.Path[strings.LastIndex(r.URL.Path, "/"):]+"?"+query.Encode())
		q.Unlock()
		inner.ServeHTTP(w, r)
	})
}

func (q *queries) last(verb string) string {
	q.Lock()
	defer q.Unlock()
	found := ""
	for _, one := range q.all {
		if strings.Contains(one, "/"+verb+"?") {
			found = one
		}
	}
	return found
}

func TestAPauseSaysWhatItHoldsBeforeItBegins(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	asked := new(queries)
	b := browse(t, asked.before(h, map[string]string{"/previewPause": held}), console.Options{})
	const page = nightly + "/pause"
	b.get(nightly).has("Pause…</a>").lacks("Enable…")
	b.get(page).has("Pause nightly", "Europe/Stockholm", "Tomorrow 06:00", "has no entry in the history", `name="listed" value="  0"`)
	form := url.Values{"note": {"<b>moves</b>"}, "until": {"2026-11-30T06:00"}, "recover": {"latest"}, "atOnce": {"2"}, "listed": {"  0"}}
	shown := b.post(page, page, form).has("Nothing was done yet", "3 runs would be held: at its end 1 of them would run, and 2 would be left out.", "runs when the pause ends",
		`value="2026-11-30T05:00:00Z latest 2"`, "&lt;b&gt;moves&lt;/b&gt;", "Mon 30 Nov 02:30")
	requireHarmless(t, shown)
	require.Equal(t, "POST /previewPause?action=disable&atOnce=2&recover=latest&until=2026-11-30T05%3A00%3A00Z", asked.last("previewPause"))
	require.Empty(t, asked.last("disable"), "another promise than the page had listed is listed first")
	form.Set("listed", "2026-11-30T05:00:00Z latest 2")
	require.Equal(t, nightly+"?done=paused", b.post(page, page, form).location)
	require.Equal(t, "POST /disable?atOnce=2&note=%3Cb%3Emoves%3C%2Fb%3E&recover=latest&until=2026-11-30T05%3A00%3A00Z", asked.last("disable"))

	form.Set("preset", "2026-11-27T06:00")
	b.post(page, page, form).has(`value="2026-11-27T06:00"`).lacks("Nothing was done yet")
	for wrong, values := range map[string]url.Values{
		"is over": {"until": {"2026-11-01T06:00"}}, "is not a time": {"until": {"soon<"}}, "the clock of Europe/Stockholm skips": {"until": {"2027-03-28T02:30"}},
		"from 1 to 100": {"atOnce": {"1000"}},
	} {
		values.Set("listed", "x")
		b.post(page, page, values).has(wrong, `role="alert"`)
	}
	b.get(page + "?until=2026-11-30T06:00&recover=all").has(`<option value="all" selected>`)
}

func TestTheEndOfAPauseSaysFirstWhatWouldRunAtOnce(t *testing.T) {
	t.Parallel()
	until := job.NewTime(now.Add(52 * time.Hour))
	c, h := withJob(t, &apitest.Memory{Status: func(job.Key) job.Status {
		return job.Status{Disabled: &job.DisabledStatus{Time: job.NewTime(now.Add(-time.Hour)), Caller: "anna", Note: "<i>moves</i>", Until: until, Recover: job.RecoverAll, AtOnce: 2}}
	}})
	_, err := c.DisableJob(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	asked := new(queries)
	b := browse(t, asked.before(h, map[string]string{"/previewPause": held}), console.Options{})
	shown := b.get(nightly).has("It is paused until", `data-rel="end">in 2 d 4 h`, "By anna, since", "When it ends, all that it holds runs, 2 at once.", "<q>&lt;i&gt;moves&lt;/i&gt;</q>", "Enable…</a>", "Change the pause…")
	requireHarmless(t, shown)
	const page = nightly + "/resume"
	b.get(page).has("Enable nightly", "as was promised: all that it holds runs", "3 runs are held: 1 would run now, and 2 would be left out.", "runs at once")
	require.Equal(t, nightly+"?done=resumed", b.post(page, page, url.Values{"recover": {"none"}, "listed": {" none 0"}}).location)
	require.Equal(t, "POST /enable?recover=none", asked.last("enable"))
}

func TestACollectionIsPausedWithAPromise(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	asked := new(queries)
	b := browse(t, asked.before(h, map[string]string{"/previewPause": `{"jobs":3,"holding":1,"held":3,"runs":1,"leftOut":2,"complete":false,"most":[{"name":"reports/nightly","held":3,"runs":1}]}`}), console.Options{})
	const list, page = "/console/jobs/reports", "/console/pause/reports"
	b.get(list).has(`href="/console/pause/reports"`)
	b.get(page).has("Pause reports", ">nightly</a>", "does not run")
	form := url.Values{"until": {"2026-11-30T06:00"}, "recover": {"latest"}, "listed": {"2026-11-30T06:00:00Z latest 0"}}
	require.Equal(t, list+"?done=paused", b.post(page, page, form).location)
	require.Equal(t, "POST /disable?recover=latest&until=2026-11-30T06%3A00%3A00Z", asked.last("disable"))
	b.get("/console/resume/reports").has("Enable reports", "3 runs are held: 1 would run now, and 2 would be left out. That is of 1 job of 3. Not all jobs", "3 runs are held, 1 would run now")
	require.Equal(t, http.StatusNotFound, b.get("/console/pause/none").status)
}

func TestManyJobsArePausedWithAPromise(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	asked := new(queries)
	var body string
	api := asked.before(h, map[string]string{"/previewPause": held, "/bulkDisable": bulkDone})
	b := browse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/bulkPreview") {
			text, _ := io.ReadAll(r.Body)
			body = string(text)
			_, _ = io.WriteString(w, strings.ReplaceAll(bulkAsked, `"effect":"changes"`, `"effect":"changes","held":`+held))
			return
		}
		api.ServeHTTP(w, r)
	}), console.Options{})
	const list = "/console/jobs/reports"
	form := url.Values{"action": {"disable"}, "job": {"a", "b"}, "note": {"moves"}, "until": {"2026-11-30T06:00"}, "recover": {"latest"}, "do": {"check"}}
	b.post(list, list+"/bulk", form).has("6 runs would be held: at its end 2 of them would run, 1 at once, and 4 would be left out.", "3 runs would be held, 1 would run at its end", `name="job" value="b"`)
	require.JSONEq(t, `{"action":"disable","names":["a","b"],"note":"moves","until":"2026-11-30T06:00:00Z","recover":"latest","held":true}`, body)
	form.Del("do")
	form["selection"], form["listed"] = []string{"s1"}, []string{"  0"}
	b.post(list, list+"/bulk/do", form).has("Nothing was done yet")
	form.Set("listed", "2026-11-30T06:00:00Z latest 0")
	b.post(list, list+"/bulk/do", form).has("1 done")
}

// A reader sees how something is paused, and neither page nor button to change that.
func TestAReaderPausesNothing(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	b := browse(t, h, console.Options{Who: func(*http.Request) (console.Caller, error) {
		return console.Caller{Known: true, May: func(a access.Action, _ access.Scope) bool { return access.Reader.Allows(a) }}, nil
	}})
	b.get(nightly).lacks("Pause…", "/pause")
	b.get("/console/jobs/reports").lacks("/pause/")
	for _, path := range []string{nightly + "/pause", nightly + "/resume", "/console/pause/reports", "/console/resume/reports"} {
		require.Equal(t, http.StatusForbidden, b.get(path).status, path)
	}
}

func TestListsAndHomeSayWhoPausedAJobUntilWhen(t *testing.T) {
	t.Parallel()
	c, h := withJob(t, new(apitest.Memory))
	_, err := c.DisableJob(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	paused := `{"total":1,"matching":1,"counts":{"states":{"disabled":1}},"asOf":"2026-11-26T02:12:00Z","value":[{"id":"x","name":"reports/nightly","properties":{"state":"disabled","when":"every day",
"disabled":{"time":"2026-11-26T01:12:00Z","caller":"anna","note":"<i>moves</i>","until":"2026-11-28T06:12:20Z","recover":"latest"},"recent":[]}}]}`
	b := browse(t, answering(h, map[string]string{"/jobSummaries": paused, "/summaries": paused}), console.Options{})
	requireHarmless(t, b.get("/console/jobs/reports").has("paused by anna, ends", "in 2 d 4 h", "&lt;i&gt;moves&lt;/i&gt;"))
	requireHarmless(t, b.get("/console/").has("disabled by anna", "in 2 d 4 h", "&lt;i&gt;moves&lt;/i&gt;", "then the latest of what it holds runs"))
}
