package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/internal/apitest"
)

func TestSubscriptionsAndResourceGroupsAreListedForWhoMaySeeSomethingInThem(t *testing.T) {
	t.Parallel()
	const inA = "/subscriptions/a/resourceGroups/one/providers/Microsoft.Scheduler/jobCollections/reports"
	callers := tokenHolders{
		"all": with(t, access.Reader, "/"), "a": with(t, access.Reader, "/subscriptions/A"), "group": with(t, access.Reader, "/subscriptions/a/resourceGroups/two"),
		"job": with(t, access.Operator, inA+"/jobs/nightly"), "nowhere": with(t, access.Owner, "/subscriptions/c"), "none": with(t, 0, "/"),
		"default": with(t, access.Owner, "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/default"),
	}
	h := api.New(filled(t), api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{callers}}})
	list := func(caller, path string) (names []string) {
		got := as(h, caller, http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, got.status, got.body)
		for part := range strings.SplitSeq(got.body, `"id":"`) {
			if id, _, ok := strings.Cut(part, `"`); ok && strings.HasPrefix(id, "/") {
				names = append(names, id)
			}
		}
		return names
	}
	for caller, want := range map[string][2][]string{
		"all":     {{"/subscriptions/A", "/subscriptions/b"}, {"/subscriptions/a/resourceGroups/One", "/subscriptions/a/resourceGroups/two"}},
		"a":       {{"/subscriptions/A"}, {"/subscriptions/a/resourceGroups/One", "/subscriptions/a/resourceGroups/two"}},
		"group":   {{"/subscriptions/A"}, {"/subscriptions/a/resourceGroups/two"}},
		"job":     {{"/subscriptions/A"}, {"/subscriptions/a/resourceGroups/One"}},
		"nowhere": {}, "none": {}, "default": {},
	} {
		require.Equal(t, want[0], list(caller, "/subscriptions"), caller)
		require.Equal(t, want[1], list(caller, "/subscriptions/a/resourcegroups?api-version=2016-03-01"), caller)
	}
	require.Empty(t, list("all", "/subscriptions/c/resourceGroups"))
	require.Contains(t, as(h, "all", http.MethodGet, "/subscriptions?$top=1", "").body, `"nextLink":null`)
	require.Equal(t, http.StatusBadRequest, as(h, "all", http.MethodGet, "/subscriptions/a:b/resourceGroups", "").status)
}

// filled returns a scheduler with job collections in three resource groups of two subscriptions.
func filled(t *testing.T) *apitest.Memory {
	t.Helper()
	m := new(apitest.Memory)
	h := api.New(m, api.Options{})
	for _, path := range []string{"A/resourceGroups/One", "A/resourceGroups/two", "b/resourceGroups/one"} {
		got := send(h, http.MethodPut, "/subscriptions/"+path+"/providers/Microsoft.Scheduler/jobCollections/reports"+version, `{"properties":{"sku":{"name":"Free"}}}`)
		require.Equal(t, http.StatusCreated, got.status, got.body)
	}
	return m
}
