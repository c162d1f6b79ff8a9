package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/token"
	"almanac/api"
	"almanac/api/guard"
	"almanac/job"
)

// What it adds to a request that its caller is known by one of 1,000 tokens, and has a role by one of 10,000
// assignments. p50-ns is the median of single requests; the difference between the two is what counts.
func BenchmarkALogin(b *testing.B) {
	read := &fake{job: func(_ context.Context, k job.Key) (job.Job, error) { return job.Job{Key: k}, nil }}
	secret, login := loginOf(b)
	for _, bm := range []struct {
		name   string
		access *guard.Access
	}{{"off", nil}, {"on", login}} {
		b.Run(bm.name, func(b *testing.B) {
			h := api.New(read, api.Options{Access: bm.access})
			r := httptest.NewRequest(http.MethodGet, jobPath, nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			require.Equal(b, http.StatusOK, serve(h, r).status)
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				h.ServeHTTP(httptest.NewRecorder(), r)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
		})
	}
}

// loginOf returns the token of a caller, and who may call.
func loginOf(b *testing.B) (secret string, login *guard.Access) {
	b.Helper()
	defaults := access.Defaults{Subscription: job.NilSubscription, ResourceGroup: "default"}
	secret = token.New()
	file := token.Append(nil, token.Entry{Name: "caller-0", Hash: token.HashOf(secret)}, "")
	for i := range 999 {
		file = token.Append(file, token.Entry{Name: fmt.Sprint("caller-", i+1), Hash: token.HashOf(token.New())}, "")
	}
	tokens, err := token.Parse(file, defaults)
	require.NoError(b, err)
	var assignments []access.Assignment
	for i := range 10_000 {
		assignments = append(assignments, access.Assignment{
			Principal: access.Selector{Kind: access.KindToken, Value: fmt.Sprint("caller-", i%1000)},
			Grant:     access.Grant{Role: access.Reader, Scope: access.NewScope(defaults.Subscription, defaults.ResourceGroup, fmt.Sprint("c", i), "")},
		})
	}
	everything, err := access.ParseScope("/subscriptions/"+defaults.Subscription, defaults)
	require.NoError(b, err)
	assignments = append(assignments, access.Assignment{
		Principal: access.Selector{Kind: access.KindToken, Value: "caller-0"}, Grant: access.Grant{Role: access.Reader, Scope: everything}})
	policy := access.NewPolicy(assignments)
	return secret, &guard.Access{
		Authenticators: []access.Authenticator{&token.Authenticator{Tokens: func() *token.Set { return tokens }}},
		Policy:         func() *access.Policy { return policy },
	}
}
