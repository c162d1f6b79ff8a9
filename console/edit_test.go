package console_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
)

// filled returns the values that the form of a page has, and those that a user writes.
func filled(t *testing.T, s *shown, id string, changes url.Values) url.Values {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(s.text))
	require.NoError(t, err)
	var form *html.Node
	for n := range doc.Descendants() {
		if n.Data == "form" && attribute(n, "id") == id {
			form = n
		}
	}
	require.NotNil(t, form, s.text)
	values := url.Values{}
	for n := range form.Descendants() {
		name := attribute(n, "name")
		switch {
		case name == "" || n.Data == "button" || attribute(n, "type") == "checkbox" && !has(n, "checked"):
		case n.Data == "textarea":
			values.Add(name, strings.ReplaceAll(textOf(n), "\n", "\r\n"))
		case n.Data == "select":
			values.Add(name, selected(n))
		case n.Data == "input":
			value := attribute(n, "value")
			if attribute(n, "type") == "checkbox" && value == "" {
				value = "on"
			}
			values.Add(name, value)
		}
	}
	maps.Copy(values, changes)
	return values
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func textOf(n *html.Node) (text string) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			text += c.Data
		}
	}
	return text
}

// selected returns the value of a select: of the option that is selected, or of the first.
func selected(n *html.Node) (value string) {
	first := true
	for o := range n.Descendants() {
		if o.Data != "option" {
			continue
		}
		if first || has(o, "selected") {
			value, first = textOf(o), false
			if has(o, "value") {
				value = attribute(o, "value")
			}
		}
	}
	return value
}

// whole returns a job with all that the form has, and some that it has not.
func whole() client.JobProperties {
	of := daily()
	of.Recurrence = &client.Recurrence{
		Frequency: "month", Interval: 2, TimeZone: "Europe/Stockholm", Count: 7, EndTime: "2027-12-31T00:00:00Z", OverlapPolicy: "Skip", CatchUpWindow: "PT6H",
		Schedule: &client.Schedule{Hours: []int{2, 14}, Minutes: []int{30}, Months: []int{1, 7}, MonthlyOccurrences: []client.MonthlyOccurrence{{Day: "friday", Occurrence: -1}, {Day: "monday"}}},
	}
	of.StartTime, of.DisableAfter = "2026-01-01T00:00:00Z", 5
	of.Action.Request.Headers, of.Action.Request.Body = map[string]string{"Content-Type": "text/plain", "X-A": "b: c"}, "<two>\nlines & more"
	of.Action.Request.FollowRedirects = new(false)
	of.Action.RetryPolicy = &client.RetryPolicy{RetryType: "fixed", RetryCount: 2, RetryInterval: "PT10M"}
	of.Notifications = []client.Notification{}
	return of
}

func TestAFormThatIsSentUnchangedChangesNothing(t *testing.T) {
	t.Parallel()
	week := daily()
	week.Recurrence = &client.Recurrence{Frequency: "week", Schedule: &client.Schedule{WeekDays: []string{"monday", "sunday"}}}
	week.State = client.JobDisabled
	once := daily()
	once.Recurrence, once.StartTime = nil, "2027-01-01T00:00:00Z"
	once.Action.Request.Method = ""
	queue := daily()
	queue.Action = client.Action{Type: "StorageQueue", QueueMessage: &client.QueueMessage{StorageAccount: "acc", QueueName: "queue", SASToken: "sv=2012-02-12&sig=x", Message: "hi"}}
	none := daily()
	none.Action.RetryPolicy = &client.RetryPolicy{RetryType: "none"}
	lines := daily()
	lines.Action.Request.Body = "\n\r\none\rtwo\r\nthree\n"
	for name, of := range map[string]client.JobProperties{"lines": lines, "whole": whole(), "week": week, "once": once, "queue": queue, "none": none, "daily": daily()} {
		c, h := stored(t, new(apitest.Memory))
		before, err := c.PutJob(t.Context(), "reports", name, of)
		require.NoError(t, err, name)
		b := browse(t, h, console.Options{})
		path := "/console/jobs/reports/" + name
		for _, form := range []string{"f", "j"} {
			got := b.send(http.MethodPost, path+"/edit", filled(t, b.get(path+"/edit").has("Edit "+name), form, url.Values{"do": {"save"}}), nil)
			require.Equal(t, path+"?done=saved", got.location, "%s: %s", name, got.text)
			after, err := c.Job(t.Context(), "reports", name)
			require.NoError(t, err)
			require.Equal(t, asJSON(t, before.Properties), asJSON(t, after.Properties), "%s %s", name, form)
		}
	}
}

func asJSON(t *testing.T, of client.JobProperties) string {
	t.Helper()
	of.Status = nil
	text, err := json.Marshal(of)
	require.NoError(t, err)
	return string(text)
}

func TestWhatTheFormChangesIsInTheJobAndItsJSON(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	changes := url.Values{
		"frequency": {"week"}, "weekDays": {"monday", "friday"}, "hours": {"0, 12"}, "minutes": {"15"}, "timeZone": {"UTC"}, "method": {"PUT"},
		"headers": {"A: 1\r\nB: x:y"}, "body": {"a\r\nb"}, "auth": {"Basic"}, "username": {"elf"}, "password": {"hush"}, "retryCount": {"2"}, "disableAfter": {"3"},
	}
	checked := b.send(http.MethodPost, path, filled(t, b.get(path), "f", with(changes, "do", "check")), nil)
	checked.has("every week on Monday and Friday at 00:15 and 12:15", "Fri 27 Nov", "<ins>12:15</ins>", "Next runs, was and will be", "&#34;weekDays&#34;: [").lacks("fields are wrong")
	found, err := c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Equal(t, "day", found.Properties.Recurrence.Frequency, "a check saves nothing")
	got := b.send(http.MethodPost, path, filled(t, b.get(path), "f", with(changes, "do", "save")), nil)
	require.Equal(t, http.StatusSeeOther, got.status, got.text)
	found, err = c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Equal(t, []string{"monday", "friday"}, found.Properties.Recurrence.Schedule.WeekDays)
	require.Equal(t, map[string]string{"A": "1", "B": "x:y"}, found.Properties.Action.Request.Headers)
	require.Equal(t, "a\nb", found.Properties.Action.Request.Body)
	require.Equal(t, "elf", *found.Properties.Action.Request.Authentication.Username)
	require.Equal(t, []any{2, 3, "PUT"}, []any{found.Properties.Action.RetryPolicy.RetryCount, found.Properties.DisableAfter, found.Properties.Action.Request.Method})
	b.get(path).lacks("hush")
}

func TestASecretThatWasWrittenIsOnNoPage(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	of := daily()
	of.Action.Request.Headers = map[string]string{"Secret": "no secret"}
	_, err := c.PutJob(t.Context(), "reports", "nightly", of)
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	basic := url.Values{"auth": {"Basic"}, "username": {"elf"}, "password": {"hush"}}
	text := `{"properties":{"startTime":"2026-01-01","action":{"type":"Https","request":{"uri":"https://example.com/","authentication":{"type":"Basic","username":"elf","password":"hush"}}},` +
		`"recurrence":{"frequency":"day","interval":NUMBER}}}`
	for name, got := range map[string]*shown{
		"form":         b.send(http.MethodPost, path, filled(t, b.get(path), "f", with(basic, "do", "check")), nil),
		"refused form": b.send(http.MethodPost, path, filled(t, b.get(path), "f", with(with(basic, "interval", "many"), "do", "save")), nil),
		"JSON":         b.send(http.MethodPost, path, filled(t, b.get(path), "j", url.Values{"do": {"check"}, "json": {strings.Replace(text, "NUMBER", "1", 1)}}), nil),
		"refused JSON": b.send(http.MethodPost, path, filled(t, b.get(path), "j", url.Values{"do": {"save"}, "json": {strings.Replace(text, "NUMBER", "-1", 1)}}), nil),
	} {
		require.NotContains(t, got.text, "hush", name)
		require.Contains(t, got.text, "Write the secrets again.", name)
		require.Contains(t, got.text, `value="elf"`, name)
	}
	b.get(path).has("Secret: no secret").lacks("Write the secrets again.")
}

func TestAJobWithAStoredSecretShowsItsNextRuns(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	of := daily()
	of.Action.Request.Authentication = &client.Authentication{Type: "Basic", Username: new("elf"), Password: "hush"}
	_, err := c.PutJob(t.Context(), "reports", "nightly", of)
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	b.get(path).has("every day at 02:30", "Next runs, was and will be", "No run changes.").lacks("It would never run.", "wrong")
	b.send(http.MethodPost, path, filled(t, b.get(path), "f", url.Values{"do": {"check"}, "hours": {"5"}}), nil).has("every day at 05:30", "<b>04:30</b>")
}

func TestWhatIsNoJSONObjectIsRefused(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	for _, text := range []string{"null", "[]", "5", `"x"`, ""} {
		for _, do := range []string{"check", "save"} {
			got := b.send(http.MethodPost, path, filled(t, b.get(path), "f", url.Values{"do": {do}, "definition": {text}}), nil)
			require.Equal(t, http.StatusBadRequest, got.status, text)
			got = b.send(http.MethodPost, path, filled(t, b.get(path), "j", url.Values{"do": {do}, "json": {text}}), nil)
			require.Equal(t, http.StatusBadRequest, got.status, text)
			require.Contains(t, got.text, "The JSON ", text)
		}
	}
	for _, text := range []string{`{"properties":null}`, `{"properties":[]}`, `{"properties":{"action":null,"recurrence":5}}`} {
		got := b.send(http.MethodPost, path, filled(t, b.get(path), "f", url.Values{"do": {"save"}, "definition": {text}}), nil)
		require.Equal(t, http.StatusBadRequest, got.status, text)
	}
}

func with(of url.Values, name, value string) url.Values {
	more := url.Values{name: {value}}
	maps.Copy(more, of)
	return more
}

func TestErrorsStandAtTheirFieldsInTheWordsOfTheAPI(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	got := b.send(http.MethodPost, path, filled(t, b.get(path), "f", url.Values{"do": {"save"}, "interval": {"many"}, "hours": {"24"}, "uri": {"no address"}}), nil)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.text, "3 fields are wrong.")
	for _, field := range []string{"interval", "hours", "uri"} {
		require.Regexp(t, `name="`+field+`"[^>]*aria-invalid="true" aria-describedby="e-`+field+`"`, got.text)
		require.Equal(t, 1, strings.Count(got.text, `<div id="e-`+field+`"><p class="err">`))
		require.Contains(t, got.text, `href="#f-`+field+`"`)
	}
	require.Contains(t, got.text, `value="many"`, "what was written stays")
	got = b.send(http.MethodPost, path, filled(t, b.get(path), "j", url.Values{"do": {"save"}, "json": {"{\n  \"properties\": {,}\n}"}}), nil)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.text, "The JSON cannot be read in line 2")
	require.Contains(t, got.text, "{,}")
	b.send(http.MethodPost, path, filled(t, b.get(path), "f", url.Values{"do": {"check"}, "hours": {"24"}}), nil).has("1 field is wrong.")
}

func TestSomebodyElsesChangeIsShownAndNotOverwritten(t *testing.T) {
	t.Parallel()
	trail := audit.Change{ID: "1", Time: now, Operation: audit.WriteJob, Status: audit.Succeeded, Actor: audit.Actor{Caller: "ci-deploy"},
		Differences: []audit.Difference{{Path: "properties.recurrence.interval", From: 1, To: 3}}}
	c, h := stored(t, &apitest.Memory{Trail: []audit.Change{trail}})
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	mine := filled(t, b.get(path), "f", url.Values{"do": {"save"}, "hours": {"5"}})
	_, err = c.PatchJob(t.Context(), "reports", "nightly", map[string]any{"properties": map[string]any{"recurrence": map[string]any{"interval": 3}}})
	require.NoError(t, err)
	got := b.send(http.MethodPost, path, mine, nil)
	require.Equal(t, http.StatusPreconditionFailed, got.status)
	for _, text := range []string{"ci-deploy changed this job at", "<ins>3</ins>", "Nothing was saved.", `name="hours" value="5"`} {
		require.Contains(t, got.text, text)
	}
	got = b.send(http.MethodPost, path, filled(t, got, "f", url.Values{"do": {"save"}}), nil)
	require.Equal(t, http.StatusSeeOther, got.status, "saved again, it replaces that change")
	found, err := c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Equal(t, []any{1, []int{5}}, []any{found.Properties.Recurrence.Interval, found.Properties.Recurrence.Schedule.Hours})
	mine = filled(t, b.get(path), "f", url.Values{"do": {"save"}})
	require.NoError(t, c.DeleteJob(t.Context(), "reports", "nightly"))
	require.Contains(t, b.send(http.MethodPost, path, mine, nil).text, "deleted while you were editing")
}

func TestANewJobIsCreatedOnceAndMayBeACopy(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	page := b.get("/console/new?collection=reports").has("New job", "every day at 09:00", "<option selected>reports</option>")
	got := b.send(http.MethodPost, "/console/new", filled(t, page, "f", url.Values{"do": {"save"}, "uri": {"https://example.com/"}}), nil)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.text, "name: required")
	form := filled(t, page, "f", url.Values{"do": {"save"}, "uri": {"https://example.com/"}, "name": {"first"}})
	require.Equal(t, "/console/jobs/reports/first?done=created", b.send(http.MethodPost, "/console/new", form, nil).location)
	plain := filled(t, page, "f", url.Values{"do": {"save"}, "uri": {"http://example.com/"}, "name": {"plain"}})
	require.Equal(t, "/console/jobs/reports/plain?done=created", b.send(http.MethodPost, "/console/new", plain, nil).location, "an address need not begin with https")
	got = b.send(http.MethodPost, "/console/new", form, nil)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.text, "there is a job of this name already")
	page = b.get("/console/new?collection=reports&from=first").has("A copy of <b>first</b>")
	got = b.send(http.MethodPost, "/console/new", filled(t, page, "j", url.Values{"do": {"save"}, "name": {"second"}}), nil)
	require.Equal(t, "/console/jobs/reports/second?done=created", got.location, got.text)
	found, err := c.Job(t.Context(), "reports", "second")
	require.NoError(t, err)
	require.Equal(t, "https://example.com/", found.Properties.Action.Request.URI)
}

func TestTheFirstJobEndsInAWatchedRun(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	b := browse(t, h, console.Options{})
	got := b.post("/console/", "/console/start", url.Values{"name": {"hello"}, "uri": {"https://example.com/"}, "method": {"GET"}, "when": {"week"}})
	require.Equal(t, "/console/jobs/reports/hello/executions/1-1", got.location, got.text)
	found, err := c.Job(t.Context(), "reports", "hello")
	require.NoError(t, err)
	require.Equal(t, []string{"monday"}, found.Properties.Recurrence.Schedule.WeekDays)
}

func TestHomeSaysWhatFailsWhatIsDueAndWhatIsPaused(t *testing.T) {
	t.Parallel()
	k := job.CollectionKey{Subscription: client.DefaultSubscription, ResourceGroup: client.DefaultResourceGroup, Name: "reports"}
	m := &apitest.Memory{
		Records: history(),
		Due:     []listing.Occurrence{{Key: k.Job("fine"), Due: now.Add(10 * time.Minute)}, {Key: k.Job("fails"), Due: now.Add(10 * time.Minute)}, {Key: k.Job("fine"), Due: now.Add(30 * time.Minute)}},
		Trail:   []audit.Change{{ID: "1", Time: now.Add(-48 * time.Hour), Operation: audit.DisableJob, Status: audit.Succeeded, Actor: audit.Actor{Caller: "ci-deploy"}}},
		Marks: func(k job.Key) []job.Mark {
			return []job.Mark{{Due: now.Add(-time.Hour), Outcome: map[bool]job.Outcome{true: job.OutcomeFailed, false: job.OutcomeCompleted}[k.Name != "fine"]}}
		},
		Status: func(k job.Key) (s job.Status) {
			if k.Name != "fine" {
				s.LastError = &job.LastError{Message: "the connection was refused", EndTime: job.NewTime(now)}
				s.ConsecutiveFailures, s.FailingSince = 1, job.NewTime(now.Add(-time.Hour))
			}
			return s
		},
	}
	c, h := stored(t, m)
	for _, name := range []string{"fine", "fails", "fails-too", "off"} {
		of := daily()
		if name == "off" {
			of.State = client.JobDisabled
		}
		_, err := c.PutJob(t.Context(), "reports", name, of)
		require.NoError(t, err)
	}
	b := browse(t, h, console.Options{})
	b.get("/console/").has("3 of 4 jobs</b></a> are failing.", "<b>3 ×</b> the connection was refused", "<b>3</b></a> occurrences are due", "02:22:20",
		"Thursday 26 November 2026, 02:12 UTC", "disabled by ci-deploy", "Tue 24 Nov 02:12:20", "4 occurrences</b></a> were missed", "3 failing</a>")
	_, err := c.DisableCollection(t.Context(), "reports")
	require.NoError(t, err)
	b.get("/console/").has(`<span class="dim">collection</span>`)
	b.get("/console/jobs/reports").has("Collection disabled", "Enable collection", "its collection is disabled")
	require.Equal(t, "/console/jobs/reports?done=enabled", b.post("/console/jobs/reports", "/console/jobs/reports/enable", nil).location)
}

func TestActivityHasWhatDidNotGoWellByCause(t *testing.T) {
	t.Parallel()
	c, h := stored(t, &apitest.Memory{Records: history()})
	for _, name := range []string{"a", "b"} {
		_, err := c.PutJob(t.Context(), "reports", name, daily())
		require.NoError(t, err)
	}
	b := browse(t, h, console.Options{})
	b.get("/console/activity").has("<b>6</b> entries did not go well", "for 2 causes", "Failed</span> 4 ×", "Missed</span> 2 ×", "2 jobs", "reports 4",
		"run", "by hand, by ops", "attempt 2; the connection was refused")
	b.get("/console/activity?outcome=missed").has("Outcome: missed", "2 ×").lacks("the connection was refused")
	b.get("/console/activity?by=time&name=b").has("By time", "name begins with b").lacks("By cause</h2>", `reports/</span>a<`)
	require.Regexp(t, `aria-current="true">By time`, b.get("/console/activity?by=time").text)
}
