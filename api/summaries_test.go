package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/listing"
)

// asked is a scheduler that records what its summaries are asked for.
func asked(t *testing.T) (f *fake, s *listing.Scope, q *listing.SummaryQuery) {
	t.Helper()
	s, q = new(listing.Scope), new(listing.SummaryQuery)
	return &fake{summaries: func(_ context.Context, scope listing.Scope, query listing.SummaryQuery) (listing.Summaries, error) {
		*s, *q = scope, query
		k := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job("j")
		return summaries(k), nil
	}}, s, q
}

func TestSummariesAreAskedForAsTheQuerySays(t *testing.T) {
	t.Parallel()
	f, scope, q := asked(t)
	got := get(f, "/jobCollections/c/summaries?search=Every%20HOST&$orderby=NextExecutionTime%20DESC&$top=40&$filter=host%20eq%20'API.example.com'%20and%20lastOutcome%20eq%20missed%20and%20lateness%20ge%20PT1M")
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, "c", scope.Collection)
	require.Equal(t, listing.SummaryQuery{
		Search: []string{"every", "host"}, Sort: listing.SortNext, Descending: true,
		Page: listing.Page{Top: 40, Filter: listing.Filter{
			Host: "api.example.com", LastOutcome: job.OutcomeMissed, Lateness: listing.Span{From: time.Minute, Before: listing.Unlimited},
		}},
	}, *q)
	require.Contains(t, got.body, `"nextLink":"http://example.com/jobCollections/c/summaries?`, "though $top was given")
	require.Contains(t, got.body, "&$skiptoken=n&$top=40&search=Every+HOST")

	require.Equal(t, http.StatusOK, get(f, "/subscriptions/s/providers/Microsoft.Scheduler/summaries"+version).status)
	require.Equal(t, listing.Scope{Subscription: "s"}, *scope)
	require.Equal(t, listing.SummaryQuery{Page: listing.Page{Top: 100}}, *q)
}

func TestAQueryOfSummariesThatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	f, _, _ := asked(t)
	for query, want := range map[string]string{
		"$orderby=":                           "$orderby",
		"$orderby=size":                       "name, nextExecutionTime, lateness, state or host, and desc after it for the other direction",
		"$orderby=name%20down":                "$orderby",
		"$orderby=name&$orderby=host":         "$orderby",
		"search=a&search=b":                   "one text of 1 to 200 bytes",
		"search=a%00b":                        "without control characters",
		"$skip=3":                             "unknown query parameter",
		"$top=101":                            "an integer from 1 to 100",
		"$filter=host%20ge%20'a'":             "eq instead of",
		"$filter=startTime%20ge%202026-01-01": "state, lastOutcome, nextExecutionTime, lateness, host or name instead of",
	} {
		got := get(f, "/summaries?"+query)
		require.Equal(t, http.StatusBadRequest, got.status, query)
		require.Contains(t, got.body, want, query)
	}
}
