package cli_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/apitest"
	"almanac/job"
)

// through puts a server between a user and the API, which answers itself where a path ends so.
func (u *user) through(t *testing.T, answers map[string]int) {
	t.Helper()
	to, err := url.Parse(u.vars["ALMANAC_URL"])
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for ending, status := range answers {
			if strings.HasSuffix(r.Method+" "+r.URL.Path, ending) {
				w.WriteHeader(status)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	u.vars["ALMANAC_URL"] = server.URL
}

func TestAnAPIThatIsAwayHasRefusedNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "a", "http://example.com/", "--every", "5m", "--start", "2026-12-01")
	u.must(t, "job", "create", "b", "http://example.com/", "--every", "5m", "--start", "2026-12-01")
	u.through(t, map[string]int{"PATCH /jobCollections/default/jobs/b": http.StatusBadGateway})
	out, problems, status := u.types(t, "job", "edit", "a", "b", "--every", "10m", "--yes", "-o", "jsonpath=$[*].status")
	require.Equal(t, exit.Unreachable, status, problems)
	require.Equal(t, "Done\nUnreachable\n", out)
}

func TestEachJobCollectionHasAResult(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	for _, name := range []string{"a", "b", "c"} {
		u.must(t, "collection", "create", name)
	}
	u.through(t, map[string]int{"POST /jobCollections/b/disable": http.StatusBadGateway})
	out, problems, status := u.types(t, "collection", "disable", "a", "b", "c", "--yes", "-o", "jsonpath=$[*].status")
	require.Equal(t, exit.Unreachable, status, problems)
	require.Equal(t, "disabled\nnot disabled\ndisabled\n", out)
}

func TestAFlagIsOnHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{Marks: func(k job.Key) (marks []job.Mark) {
		if k.Name == "b" {
			marks = append(marks, job.Mark{Outcome: job.OutcomeFailed})
		}
		return marks
	}})
	u.must(t, "job", "create", "a", "http://example.com/", "--start", "2026-12-01")
	u.must(t, "job", "create", "b", "http://example.com/", "--start", "2026-12-01")
	for _, flag := range []string{"--failed", "--failed=1", "--failed=TRUE"} {
		require.Equal(t, "b\n", u.must(t, "job", "list", flag, "-o", "name"), flag)
	}
}

func TestARunThatIsNotWaitedForToItsEndHasItsExecution(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "a", "http://example.com/", "--start", "2026-12-01")
	out, problems, status := u.types(t, "job", "run", "a", "--wait", "--within", "1s", "-o", "json")
	require.Equal(t, exit.Failed, status, problems)
	require.JSONEq(t, `{"name":"default/a","status":"Done","execution":"1-1","outcome":"Unknown",
		"error":"it has not ended within the time of --within"}`, out)
	out, _, status = u.types(t, "job", "run", "a", "--wait", "--within", "1s")
	require.Equal(t, exit.Failed, status)
	require.Contains(t, out, "execution 1-2: it has not ended")
}
