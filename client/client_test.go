package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/client"
	"almanac/internal/apitest"
)

// serving returns a client of a handler, over a connection.
func serving(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{Token: "secret"})
	require.NoError(t, err)
	return c
}

// filled returns a client of an API in this process, in which the collection reports has n jobs.
func filled(t *testing.T, m *apitest.Memory, n int) *client.Client {
	t.Helper()
	c, err := client.New("http://localhost", client.Options{Transport: client.ServedBy(api.New(m, api.Options{}))})
	require.NoError(t, err)
	_, err = c.PutCollection(t.Context(), "reports", client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}}})
	require.NoError(t, err)
	for i := range n {
		_, err := c.PutJob(t.Context(), "reports", fmt.Sprintf("job-%04d", i), hourly)
		require.NoError(t, err)
	}
	return c
}

func TestAListReadsAllPagesAndNoMoreThanItIsAskedFor(t *testing.T) {
	t.Parallel()
	c := filled(t, &apitest.Memory{Unread: map[string]string{"job-0003": "it did not answer in time"}}, 250)
	for _, tt := range []struct {
		list        client.List
		want        int
		first, last string
	}{
		{client.List{}, 249, "job-0000", "job-0249"},
		{client.List{Top: 3}, 3, "job-0000", "job-0002"},
		{client.List{Top: 4}, 3, "job-0000", "job-0002"}, // one of the four could not be read
		{client.List{Top: 100, Skip: 10}, 100, "job-0010", "job-0109"},
		{client.List{Top: 150, Skip: 10}, 150, "job-0010", "job-0159"},
		{client.List{Top: 240, Skip: 100}, 150, "job-0100", "job-0249"},
		{client.List{Filter: "startswith(name,'job-02')"}, 50, "job-0200", "job-0249"},
	} {
		var names []string
		unread := 0
		for job, err := range c.Jobs(t.Context(), "reports", tt.list) {
			if one, ok := errors.AsType[*client.UnreadError](err); ok {
				require.EqualError(t, one, "reports/job-0003: It could not be read: it did not answer in time.")
				unread++
				continue
			}
			require.NoError(t, err)
			_, name := job.Names()
			names = append(names, name)
		}
		require.Len(t, names, tt.want, "%+v", tt.list)
		require.Equal(t, []string{tt.first, tt.last}, []string{names[0], names[len(names)-1]})
		require.Equal(t, tt.list == client.List{} || tt.list.Top == 4, unread == 1, "%+v", tt.list)
	}
	for job, err := range c.Jobs(t.Context(), "reports", client.List{Skip: 10}) {
		require.NoError(t, err)
		require.Equal(t, "reports/job-0010", job.Name)
		break // reads one page, and leaves it
	}
	page, err := c.JobsPage(t.Context(), "reports", client.List{})
	require.NoError(t, err)
	require.Equal(t, []int{99, 1}, []int{len(page.Value), len(page.Unread)})
	page, err = c.JobsPage(t.Context(), "reports", client.List{Token: page.Next})
	require.NoError(t, err)
	require.Equal(t, "reports/job-0100", page.Value[0].Name)
}

func TestTheTokenGoesNowhereButToTheAPI(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	t.Cleanup(other.Close)
	asked := 0
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		switch asked++; {
		case r.URL.Path == "/jobCollections/moved":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case asked == 1:
			fmt.Fprintf(w, `{"value":[],"nextLink":"%s/jobCollections?%%24skiptoken=a%%2Fb"}`, other.URL)
		default:
			assert.Equal(t, "a/b", r.URL.Query().Get("$skiptoken"))
			fmt.Fprint(w, `{"value":[{"name":"c","properties":{"sku":{"name":"Free"}}}],"nextLink":null}`)
		}
	})
	count := 0
	for _, err := range c.Collections(t.Context(), client.List{}) {
		require.NoError(t, err)
		count++
	}
	require.Equal(t, 1, count)
	_, err := c.Collection(t.Context(), "moved")
	require.Equal(t, http.StatusTemporaryRedirect, client.StatusOf(err))
}

func TestAnErrorHasWhatTheAnswerSays(t *testing.T) {
	t.Parallel()
	c := filled(t, new(apitest.Memory), 1)
	_, err := c.Job(t.Context(), "reports", "none")
	require.True(t, client.IsNotFound(err))
	require.Equal(t, "ResourceNotFound", client.CodeOf(err))
	e, ok := errors.AsType[*client.Error](fmt.Errorf("read it: %w", err))
	require.True(t, ok)
	require.NotEmpty(t, e.RequestID)
	require.Empty(t, e.Field())
	require.Equal(t, "GET /jobCollections/reports/jobs/none", e.Method+" "+e.Path)
	_, err = c.PutJob(t.Context(), "reports", "job-0000", hourly, client.IfAbsent())
	require.True(t, client.IsChanged(err))
	found, err := c.Job(t.Context(), "reports", "job-0000")
	require.NoError(t, err)
	_, err = c.Job(t.Context(), "reports", "job-0000", client.IfNoneMatch(found.ETag))
	require.ErrorIs(t, err, client.ErrNotModified)
	require.NoError(t, c.DeleteJob(t.Context(), "reports", "job-0000", client.IfMatch(found.ETag)))
	require.True(t, client.IsNotFound(c.DeleteJob(t.Context(), "reports", "job-0000")))
	_, err = c.PutJob(t.Context(), "reports", "j", hourly, client.IfExists())
	require.True(t, client.IsChanged(err))
}

func TestAnAnswerOfAProxyIsAnErrorWithoutACode(t *testing.T) {
	t.Parallel()
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "<html>", http.StatusBadGateway)
	})
	_, err := c.Job(t.Context(), "c", "j")
	require.EqualError(t, err, "GET /jobCollections/c/jobs/j was answered with 502 Bad Gateway, and not by Almanac")
	e, _ := errors.AsType[*client.Error](err)
	require.Equal(t, 7*time.Second, e.RetryAfter)
	require.Empty(t, client.CodeOf(err))
	_, err = c.Ready(t.Context())
	require.Equal(t, http.StatusBadGateway, client.StatusOf(err))
}

func TestAnAPIThatIsNotReadyIsNoError(t *testing.T) {
	t.Parallel()
	c := filled(t, &apitest.Memory{NotReady: errors.New("no worker polls")}, 0)
	health, err := c.Ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, "not ready", health.Status)
	require.NotEmpty(t, health.Missing)
	health, err = c.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, "alive", health.Status)
	require.NotNil(t, health.Build)
}

func TestAClientWaitsForAnOperation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		end := `{"id":"x","name":"o1","status":"Failed","error":{"code":"JobsDidNotAnswer","message":"1 job did not answer."}}`
		c, err := client.New("http://h", client.Options{Transport: client.ServedBy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.Header().Set("Location", "http://elsewhere/jobCollections/c/operationResults/o1")
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(http.StatusAccepted)
				return
			}
			assert.Equal(t, "/jobCollections/c/operations/o1", r.URL.Path)
			if asked++; asked < 3 {
				fmt.Fprint(w, `{"id":"x","name":"o1","status":"InProgress"}`)
				return
			}
			fmt.Fprint(w, end)
		}))})
		require.NoError(t, err)
		o, err := c.DisableCollection(t.Context(), "c")
		require.NoError(t, err)
		err = c.Wait(t.Context(), "c", o)
		require.Equal(t, "JobsDidNotAnswer", client.CodeOf(err))
		require.Equal(t, 3, asked)
		end = `{"id":"x","name":"o1","status":"Succeeded"}`
		require.NoError(t, c.Wait(t.Context(), "c", o))
		require.NoError(t, c.Wait(t.Context(), "c", nil))
		stopped, stop := context.WithCancel(t.Context())
		stop()
		require.ErrorIs(t, c.Wait(stopped, "c", o), context.Canceled)
	})
}

func TestAHandlerInTheProcessSeesWhoSentTheRequestThatACallIsMadeFor(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	c, err := client.New("http://internal/p", client.Options{Transport: client.ServedBy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header()["x-ms-request-id"] = []string{"r1"}
		w.WriteHeader(http.StatusTeapot)
	}))})
	require.NoError(t, err)
	from := func(method, site, mode string) {
		r := httptest.NewRequest(method, "https://jobs.example.com/console/", nil)
		r.RemoteAddr = "192.0.2.7:4000"
		r.Header.Set("Cookie", "almanac-session=x")
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("X-Forwarded-For", "forged")
		_, err = c.RunJob(client.WithCaller(t.Context(), r), "c", "j")
		e, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		require.Equal(t, "r1", e.RequestID)
	}
	from(http.MethodGet, "cross-site", "navigate")
	require.Equal(t, []any{"192.0.2.7:4000", "jobs.example.com", "almanac-session=x", "same-origin", "", "/p/jobCollections/c/jobs/j/run"},
		[]any{seen.RemoteAddr, seen.Host, seen.Header.Get("Cookie"), seen.Header.Get("Sec-Fetch-Site"), seen.Header.Get("X-Forwarded-For"), seen.RequestURI})
	require.NotNil(t, seen.TLS)
	from(http.MethodGet, "cross-site", "no-cors")
	require.Equal(t, "cross-site", seen.Header.Get("Sec-Fetch-Site"), "another site has embedded the page")
	from(http.MethodPost, "cross-site", "navigate")
	require.Equal(t, "cross-site", seen.Header.Get("Sec-Fetch-Site"), "another site has posted a form")

	_, err = c.RunJob(t.Context(), "c", "j")
	require.Error(t, err)
	require.Equal(t, "127.0.0.1:0", seen.RemoteAddr)
	require.Nil(t, seen.TLS)
}

func TestAHandlerInTheProcessThatGivesUpIsAnError(t *testing.T) {
	t.Parallel()
	c, err := client.New("http://h", client.Options{Transport: client.ServedBy(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))})
	require.NoError(t, err)
	_, err = c.Index(t.Context())
	require.ErrorIs(t, err, http.ErrAbortHandler)
}

func TestNamesAreEscapedOnce(t *testing.T) {
	t.Parallel()
	w := new(wire)
	c, err := client.New("https://h", client.Options{Transport: w})
	require.NoError(t, err)
	_, err = c.Job(t.Context(), "täglich + mehr", "50% off")
	require.NoError(t, err)
	require.Equal(t, "/jobCollections/t%C3%A4glich%20+%20mehr/jobs/50%25%20off", w.last.URL.EscapedPath())
	require.Equal(t, "täglich + mehr", must(client.NamesOf("täglich + mehr/nightly/0251:0922")))
}

func must(collection, _ string) string { return collection }

func TestAClientNeedsAURL(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "localhost:8080", "ftp://h", "http://", "http://h?x=1", "http://h#x", "http://%zz"} {
		_, err := client.New(bad, client.Options{})
		require.ErrorContains(t, err, "the URL of the API", bad)
	}
	_, err := client.New("http://h", client.Options{Subscription: "s"})
	require.ErrorContains(t, err, "needs a resource group")
}

func TestTimesAndAttempts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	require.Equal(t, client.Time("2026-01-02T03:04:05.6Z"), client.At(at.In(time.FixedZone("x", 3600))))
	require.Equal(t, at, client.At(at).Instant())
	require.Zero(t, client.Time("2026-01-02T03:04:05").Instant(), "a local time")
	require.Empty(t, client.At(time.Time{}))
	require.Equal(t, client.Duration("PT90S"), client.Lasting(90*time.Second))
	require.Equal(t, []int{5, 5, 1, 3}, []int{
		(*client.RetryPolicy)(nil).Attempts(), (&client.RetryPolicy{}).Attempts(),
		(&client.RetryPolicy{RetryType: "none", RetryCount: 3}).Attempts(), (&client.RetryPolicy{RetryCount: 2}).Attempts(),
	})
	entry := client.HistoryProperties{Status: client.OutcomeFailed, ActionName: client.MainAction, StartTime: at.Add(time.Second), ExpectedExecutionTime: at}
	late, ok := entry.Lateness()
	require.True(t, ok)
	require.Equal(t, time.Second, late)
	entry.RetryCount = 1
	_, ok = entry.Lateness()
	require.False(t, ok)
}
