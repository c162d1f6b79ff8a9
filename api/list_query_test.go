package api_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
)

// paged is a scheduler that records the requested page, and always has a next one.
func paged() (f *fake, asked *listing.Page) {
	const next = "a+b/c="
	asked = new(listing.Page)
	return &fake{
		collections: func(_ context.Context, _, _ string, p listing.Page) ([]job.Collection, string, error) {
			*asked = p
			return nil, next, nil
		},
		jobs: func(_ context.Context, _ job.CollectionKey, p listing.Page) ([]job.Job, string, error) {
			*asked = p
			return nil, next, nil
		},
		history: func(_ context.Context, _ job.Key, p listing.Page) ([]job.Record, string, error) {
			*asked = p
			return nil, next, nil
		},
		historyAcross: func(_ context.Context, _ listing.Scope, p listing.Page) ([]listing.JobRecord, string, error) {
			*asked = p
			return nil, next, nil
		},
		upcoming: func(_ context.Context, _ listing.Scope, _ time.Time, p listing.Page) ([]listing.Occurrence, string, error) {
			*asked = p
			return nil, next, nil
		},
	}, asked
}

const (
	jobsPath    = "/jobCollections/c/jobs"
	historyPath = "/jobCollections/c/jobs/j/history"
)

func TestPageIsReadFromTheQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, target string
		want         listing.Page
	}{
		{"nothing asked for", jobsPath, listing.Page{Top: 100}},
		{"top and skip", jobsPath + "?$top=5&$skip=10", listing.Page{Top: 5, Skip: 10}},
		{"escaped", jobsPath + "?%24top=5&%24skip=10", listing.Page{Top: 5, Skip: 10}},
		{"names in another case", jobsPath + "?$Top=5&$SKIP=10", listing.Page{Top: 5, Skip: 10}},
		{"the most", jobsPath + "?$top=100&$skip=2147483647", listing.Page{Top: 100, Skip: 2147483647}},
		{"of collections", "/jobCollections?$top=5&$skip=10", listing.Page{Top: 5, Skip: 10}},
		{"after another", jobsPath + "?$skiptoken=a%2Bb%2Fc%3D", listing.Page{Top: 100, After: "a+b/c="}},
		{"after another, of collections", "/jobCollections?$skipToken=x", listing.Page{Top: 100, After: "x"}},
		{"after another, in part", historyPath + "?$skiptoken=x&$top=3", listing.Page{Top: 3, After: "x"}},
		{"jobs that meet a filter", jobsPath + "?$filter=state%20eq%20Enabled", listing.Page{Top: 100, Filter: listing.Filter{State: job.StateEnabled}}},
		{"history that meets a filter", historyPath + "?$filter=status+eq+failed&$top=1", listing.Page{Top: 1, Filter: listing.Filter{Status: job.OutcomeFailed}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, asked := paged()
			got := get(f, tt.target)
			require.Equal(t, http.StatusOK, got.status, got.body)
			require.Equal(t, tt.want, *asked)
		})
	}
}

func TestBadPageIsRefusedWithTheGoodValues(t *testing.T) {
	t.Parallel()
	const (
		wantTop  = "an integer from 1 to 100"
		wantSkip = "an integer from 0 to 2147483647"
	)
	for _, tt := range []struct{ name, target, field, value, want string }{
		{"top too small", jobsPath + "?$top=0", "$top", "0", wantTop},
		{"top too large", jobsPath + "?$top=101", "$top", "101", wantTop},
		{"top negative", historyPath + "?$top=-1", "$top", "-1", wantTop},
		{"top no number", jobsPath + "?$top=ten", "$top", "ten", wantTop},
		{"top with a sign", jobsPath + "?$top=%2B1", "$top", "+1", wantTop},
		{"skip with a sign", jobsPath + "?$skip=-0", "$skip", "-0", "an integer from 0 to 2147483647"},
		{"top empty", jobsPath + "?$top=", "$top", "", wantTop},
		{"top twice", jobsPath + "?$top=1&$Top=2", "$top", "2,1", "one value"},
		{"top no integer", jobsPath + "?$top=1.0", "$top", "1.0", wantTop},
		{"skip negative", jobsPath + "?$skip=-1", "$skip", "-1", wantSkip},
		{"skip endless", historyPath + "?$skip=99999999999999999999", "$skip", "99999999999999999999", wantSkip},
		{"skip too large", historyPath + "?$skip=2147483648", "$skip", "2147483648", wantSkip},
		{"skip of collections negative", "/jobCollections?$skip=-1", "$skip", "-1", wantSkip},
		{"skip token empty", jobsPath + "?$skiptoken=", "$skiptoken", "", "the value from the nextLink of the previous page"},
		{"skip token twice", jobsPath + "?$skiptoken=a&$skiptoken=b", "$skiptoken", "a,b", "one value"},
		{"skip token and skip", historyPath + "?$skiptoken=a&$skip=0", "$skiptoken", "a", "no $skip beside it: the page begins where the previous one ended"},
		{"filter twice", jobsPath + "?$filter=a&$filter=b", "$filter", "a,b", "one value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := get(&fake{}, tt.target)
			require.Equal(t, http.StatusBadRequest, got.status)
			detail := tt.field + `: \"` + tt.value + `\" is not valid; allowed: ` + tt.want
			require.Equal(t, `{"error":{"code":"BadRequest","message":"The query is not valid: `+detail+`",`+
				`"details":[{"code":"Invalid","target":"`+tt.field+`","message":"`+detail+`"}]}}`, got.body)
		})
	}
}

func TestEveryBadParameterIsReported(t *testing.T) {
	t.Parallel()
	got := get(&fake{}, jobsPath+"?$top=x&$skip=y&$skiptoken=&$filter=z")
	var body struct {
		Error struct {
			Details []struct{ Target string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &body))
	require.Len(t, body.Error.Details, 4)
}

func TestMalformedQueryIsRefused(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"$top=%zz": `invalid URL escape \"%zz\"`, "a;b": "invalid semicolon separator in query", "%": `invalid URL escape \"%\"`,
	} {
		r := httptest.NewRequest(http.MethodGet, jobsPath, nil)
		r.URL.RawQuery = raw
		got := serve(api.New(&fake{}, api.Options{}), r)
		require.Equal(t, http.StatusBadRequest, got.status)
		require.Equal(t, `{"error":{"code":"BadRequest","message":"The query is not valid: `+want+`"}}`, got.body)
	}
}

func TestNextLinkLeadsToTheNextPage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, target, want string }{
		{"of the long path", "http://api.example" + group + jobsPath + version,
			`"http://api.example` + group + jobsPath + `?$skiptoken=a%2Bb%2Fc%3D&api-version=2016-03-01"`},
		{"of the short path", "http://api.example:8080" + jobsPath, `"http://api.example:8080` + jobsPath + `?$skiptoken=a%2Bb%2Fc%3D"`},
		{"of collections", "http://api.example" + group + "/jobCollections" + version,
			`"http://api.example` + group + `/jobCollections?$skiptoken=a%2Bb%2Fc%3D&api-version=2016-03-01"`},
		{"from a later page", "http://api.example" + jobsPath + "?$skipToken=200", `"http://api.example` + jobsPath + `?$skiptoken=a%2Bb%2Fc%3D"`},
		{"without what was skipped, with its filter", "http://api.example" + historyPath + "?$filter=status%20eq%20Failed&$skip=7",
			`"http://api.example` + historyPath + `?$filter=status+eq+Failed&$skiptoken=a%2Bb%2Fc%3D"`},
		{"with an escaped name", "http://api.example/jobCollections/c/jobs/a%20b%C3%A5/history",
			`"http://api.example/jobCollections/c/jobs/a%20b%C3%A5/history?$skiptoken=a%2Bb%2Fc%3D"`},
		{"with what an explicit page lacks", "http://api.example" + jobsPath + "?$top=5&$skip=7", `"http://api.example` + jobsPath + `?$skiptoken=a%2Bb%2Fc%3D&$top=5"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, _ := paged()
			require.Equal(t, `{"value":[],"nextLink":`+tt.want+`}`, get(f, tt.target).body)
		})
	}
}

func TestAnExplicitPageHasANextLinkOnlyWhereItIsShort(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"?$top=3":                       "null",
		"?$top=3&$skip=5":               "null",
		"?$top=3&$skiptoken=x":          "null",
		"?$top=5&$skiptoken=x":          `"http://api.example` + jobsPath + `?$skiptoken=next&$top=2"`,
		"?$filter=state%20eq%20enabled": `"http://api.example` + jobsPath + `?$filter=state+eq+enabled&$skiptoken=next"`,
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			f := &fake{jobs: func(_ context.Context, k job.CollectionKey, _ listing.Page) ([]job.Job, string, error) {
				return []job.Job{{Key: k.Job("a")}, {Key: k.Job("b")}, {Key: k.Job("c")}}, "next", nil
			}}
			got := get(f, "http://api.example"+jobsPath+target)
			require.Contains(t, got.body, `"nextLink":`+want+`}`)
		})
	}
}

func TestNextLinkStartsWhereTheCallerReachesTheAPI(t *testing.T) {
	t.Parallel()
	link := func(o api.Options, change func(*http.Request)) string {
		f, _ := paged()
		r := httptest.NewRequest(http.MethodGet, "http://inner:8080"+jobsPath, nil)
		r.Header.Set("X-Forwarded-Host", "evil.example")
		r.Header.Set("X-Forwarded-Proto", "gopher")
		r.Header.Set("X-Forwarded-Prefix", "/evil")
		change(r)
		var page struct{ NextLink string }
		require.NoError(t, json.Unmarshal([]byte(serve(api.New(f, o), r).body), &page))
		return page.NextLink
	}
	asIs := func(*http.Request) {}
	require.Equal(t, "http://inner:8080/jobCollections/c/jobs?$skiptoken=a%2Bb%2Fc%3D", link(api.Options{}, asIs))
	require.Equal(t, "https://inner:8080/jobCollections/c/jobs?$skiptoken=a%2Bb%2Fc%3D",
		link(api.Options{}, func(r *http.Request) { r.TLS = &tls.ConnectionState{} }))
	public, err := url.Parse("https://jobs.example/almanac/")
	require.NoError(t, err)
	require.Equal(t, "https://jobs.example/almanac/jobCollections/c/jobs?$skiptoken=a%2Bb%2Fc%3D", link(api.Options{PublicURL: public}, asIs))
}

func TestFollowingNextLinksVisitsEveryJobOnce(t *testing.T) {
	t.Parallel()
	const all = 250
	f := &fake{jobs: func(_ context.Context, k job.CollectionKey, p listing.Page) ([]job.Job, string, error) {
		first := 0
		if p.After != "" {
			var err error
			if first, err = strconv.Atoi(p.After); err != nil {
				return nil, "", err
			}
		}
		last, next := min(first+p.Top, all), ""
		if last < all {
			next = strconv.Itoa(last)
		}
		var page []job.Job
		for n := range last - first {
			page = append(page, job.Job{Key: k.Job("j" + strconv.Itoa(first+n)), Definition: job.Definition{State: job.StateDisabled}})
		}
		return page, next, nil
	}}
	seen := map[string]bool{}
	var sizes []int
	for next := "http://example.com" + jobsPath; next != ""; {
		var page struct {
			Value    []struct{ Name string }
			NextLink string
		}
		require.NoError(t, json.Unmarshal([]byte(get(f, next).body), &page))
		for _, j := range page.Value {
			require.False(t, seen[j.Name], j.Name)
			seen[j.Name] = true
		}
		sizes = append(sizes, len(page.Value))
		next = page.NextLink
	}
	require.Equal(t, []int{100, 100, 50}, sizes)
	require.Len(t, seen, all)
}

func FuzzListQuery(f *testing.F) {
	for _, seed := range []string{
		"", "$top=5&$skip=5", "$filter=state%20eq%20Enabled", "$filter=state eq 'enabled'", "$top=-1", "$skip=99999999999999999999",
		"$filter=%", "api-version=2016-03-01&$filter=%27", "$top=1;$skip=2", "$filter=state+eq+", "$TOP=+5", "$skiptoken=a%26b&x=1",
		"$filter=startTime+ge+2016-01-01T00:00:00+01:00",
	} {
		f.Add(seed)
	}
	scheduler, asked := paged()
	h := api.New(scheduler, api.Options{}) // made once, because it takes longer than a request
	f.Fuzz(func(t *testing.T, raw string) {
		*asked = listing.Page{}
		r := &http.Request{
			Method: http.MethodGet, URL: &url.URL{Path: jobsPath, RawQuery: raw}, Host: "h", Header: http.Header{}, Body: http.NoBody,
		}
		got := serve(h, r)
		var body struct {
			Value    []any
			NextLink *string
		}
		require.NoError(t, json.Unmarshal([]byte(got.body), &body), "a body that is no JSON")
		if got.status != http.StatusOK {
			require.Equal(t, http.StatusBadRequest, got.status)
			return
		}
		states := []job.State{"", job.StateEnabled, job.StateDisabled, job.StateCompleted, job.StateFaulted}
		require.True(t, asked.Top >= 1 && asked.Top <= 100 && asked.Skip >= 0 && slices.Contains(states, asked.Filter.State), "%+v", *asked)
		require.True(t, asked.Skip == 0 || asked.After == "", "%+v", *asked)
		require.Empty(t, asked.Filter.Status)
		if body.NextLink == nil {
			return
		}
		want := listing.Page{Top: asked.Top, After: "a+b/c=", Filter: asked.Filter}
		next := send(h, http.MethodGet, *body.NextLink, "")
		require.Equal(t, http.StatusOK, next.status, next.body)
		require.Equal(t, want, *asked, "the next link leads elsewhere")
	})
}
