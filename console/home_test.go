package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/job"
)

// A meddler is an API that answers some calls otherwise, and remembers which there were.
type meddler struct {
	http.Handler
	instead func(w http.ResponseWriter, r *http.Request) bool // it answered

	mu    sync.Mutex
	calls []string // paths and filters
}

func (m *meddler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.calls = append(m.calls, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("$filter"))
	m.mu.Unlock()
	if m.instead == nil || !m.instead(w, r) {
		m.Handler.ServeHTTP(w, r)
	}
}

// with returns how many calls had a text.
func (m *meddler) with(text string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, call := range m.calls {
		if strings.Contains(call, text) {
			n++
		}
	}
	return n
}

func lateMarks(job.Key) []job.Mark {
	return []job.Mark{{Due: now.Add(-time.Hour), Outcome: job.OutcomeCompleted, Late: 7 * time.Second}, {Due: now, Outcome: job.OutcomeCompleted, Late: -1, Assumed: true}}
}

func TestNoPageAsksForHistoriesThatOrdinaryOccurrencesAreIn(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Records: history(), Marks: lateMarks})
	for _, name := range []string{"a", "b"} {
		_, err := c.PutJob(t.Context(), "reports", name, daily())
		require.NoError(t, err)
	}
	m := &meddler{Handler: h}
	b := browse(t, m, console.Options{})
	b.get("/console/jobs").has("Last 2: 1 succeeded, 1 assumed to have succeeded", `class="b-maybe"`)
	b.get("/console/").has("<b>2</b></a> ran late since yesterday", "began more than 5 s after it was due", "/console/activity?by=time&amp;outcome=late")
	require.Zero(t, m.with("lateness"), "the summaries have how many were late")
	b.get("/console/activity").has("late by more than 5 s")
	require.Equal(t, 1, m.with("lateness"))
	require.Equal(t, 1, m.with("lateness gt PT5S"), "the index covers what was late by less")
}

func TestASectionThatCannotBeReadSaysSoAndTheOthersAreThere(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Records: history()})
	off := daily()
	off.State = client.JobDisabled
	_, err := c.PutJob(t.Context(), "reports", "off", off)
	require.NoError(t, err)
	for part, texts := range map[string][]string{
		"/forecast":         {"it is broken", "Disabled", "P20Premium"},
		"/history":          {"it is broken", "What was missed could not be read.", "Nothing is due.", "P20Premium"},
		"/jobCollections ":  {"it is broken", "Nothing is due.", "Disabled"},
		"/readyz":           {"Whether jobs can be stored and run could not be read.", "P20Premium"},
		"/changes":          {"not known", "P20Premium"},
		"state eq disabled": {"it is broken", "P20Premium", "Nothing is due."},
	} {
		m := &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path+" "+r.URL.Query().Get("$filter"), part) {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			_, err := w.Write([]byte(`{"error":{"code":"ServiceUnavailable","message":"it is broken"}}`))
			assert.NoError(t, err)
			return true
		}}
		browse(t, m, console.Options{}).get("/console/").has(texts...)
		require.NotZero(t, m.with(part), part)
	}
}

func TestAPageWaitsTenSecondsForWhatIsSlowAndHomeATenthForCauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, h := stored(t, &apitest.Memory{Records: history()})
		_, err := c.PutJob(t.Context(), "reports", "a", daily())
		require.NoError(t, err)
		m := &meddler{Handler: h, instead: func(_ http.ResponseWriter, r *http.Request) bool {
			slow := strings.HasSuffix(r.URL.Path, "/history")
			if slow {
				<-r.Context().Done()
			}
			return slow
		}}
		b := browse(t, m, console.Options{})
		begin := time.Now()
		b.get("/console/").has("Their causes are being read.", "1 occurrence</b></a> was missed", `data-reload="2"`, "Nothing is due.", "P20Premium").lacks("http://localhost")
		require.Equal(t, 100*time.Millisecond, time.Since(begin), "the histories are read on")
		time.Sleep(10 * time.Second)
		b.get("/console/").has("It took longer than 10 s.", "1 occurrence</b></a> was missed").lacks("being read", "data-reload")
		begin = time.Now()
		require.NotEqual(t, http.StatusOK, b.get("/console/activity").status)
		require.Equal(t, 10*time.Second, time.Since(begin))
	})
}

func TestTheNextHourIsCountedAgainAfterAChange(t *testing.T) {
	t.Parallel()
	_, h := withJob(t, new(apitest.Memory))
	m := &meddler{Handler: h}
	b := browse(t, m, console.Options{})
	b.get("/console/").has("occurrences are due")
	b.get("/console/").has("occurrences are due")
	require.Equal(t, 1, m.with("/forecast"))
	require.Equal(t, http.StatusSeeOther, b.post(nightly, nightly+"/disable", nil).status)
	b.get("/console/").has("occurrences are due")
	require.Equal(t, 2, m.with("/forecast"))
}

func TestLinksOfActivityKeepWhatWasChosen(t *testing.T) {
	t.Parallel()
	records := history()
	for i := range 40 {
		r := records[len(records)-1]
		r.Start = r.Start.Add(-time.Duration(i) * time.Minute)
		records = append(records, r)
	}
	c, h := stored(t, &apitest.Memory{Records: records})
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	b.get("/console/activity?collection=reports&name=a").has(
		`href="/console/activity?by=time&amp;collection=reports&amp;name=a&amp;outcome=missed">By time`,
		`href="/console/activity?by=time&amp;collection=reports&amp;name=a">Older`)
	b.get("/console/activity?outcome=missed").has(`href="/console/activity?by=time&amp;outcome=missed">Older`)
}

func TestTheFirstJobIsSentOnce(t *testing.T) {
	t.Parallel()
	form := url.Values{"name": {"hello"}, "uri": {"https://example.com/"}, "method": {"GET"}, "when": {"minute"}}
	c, h := stored(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	require.Equal(t, "/console/jobs/reports/hello/executions/1-1", b.post("/console/", "/console/start", form).location)
	found, err := c.Job(t.Context(), "reports", "hello")
	require.NoError(t, err)
	require.Equal(t, client.At(now), found.Properties.StartTime, "without it the creation would be an occurrence")

	_, h = stored(t, new(apitest.Memory))
	b = browse(t, &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		broken := strings.HasSuffix(r.URL.Path, "/run")
		if broken {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return broken
	}}, console.Options{})
	require.Equal(t, "/console/jobs/reports/hello", b.post("/console/", "/console/start", form).location, "the job is there")
}

func TestTheFirstPageNeedsNotEveryCollection(t *testing.T) {
	t.Parallel()
	_, h := stored(t, new(apitest.Memory))
	m := &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		list := strings.HasSuffix(r.URL.Path, "/jobCollections")
		if list {
			_, err := w.Write([]byte(`{"value":[{"name":"aside","properties":{"status":{"reason":"it is broken"}}},{"name":"reports","properties":{"sku":{"name":"Standard"}}}],"nextLink":null}`))
			assert.NoError(t, err)
		}
		return list
	}}
	browse(t, m, console.Options{}).get("/console/").has("Your first job", "The job goes to the collection <b>reports</b>")
}
