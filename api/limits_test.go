package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/ratelimit"
	"almanac/internal/web"
	"almanac/job"
)

// callerOf returns a request of a caller.
func callerOf(address, target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.RemoteAddr = address + ":1000"
	return r
}

func TestACallerThatSendsTooManyRequestsGets429(t *testing.T) {
	t.Parallel()
	description := loadContract(t)
	synctest.Test(t, func(t *testing.T) {
		o, log := logged()
		o.Callers = ratelimit.NewLimiter(ratelimit.Limits{Rate: 2})
		h := api.New(&fake{
			job:   func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil },
			ready: func(context.Context) error { return nil },
		}, o)
		for range 4 {
			require.Equal(t, http.StatusOK, serve(h, callerOf("192.0.2.1", jobPath)).status)
		}
		got := description.serve(t, h, callerOf("192.0.2.1", jobPath))
		require.Equal(t, http.StatusTooManyRequests, got.status)
		require.Equal(t, `{"error":{"code":"TooManyRequests","message":"The caller 192.0.2.1 sends more than 2 requests a second. Nothing was done: send the request again in 1 s."}}`, got.body)
		require.Equal(t, "1", got.header.Get("Retry-After"))
		require.Contains(t, log.String(), "status=429")

		require.Equal(t, http.StatusOK, serve(h, callerOf("192.0.2.2", jobPath)).status, "another caller is not affected")
		for _, probe := range []string{"/healthz", "/readyz"} {
			require.Equal(t, http.StatusOK, serve(h, callerOf("192.0.2.1", probe)).status, "probes are exempt")
		}
		require.Equal(t, http.StatusTooManyRequests, serve(h, callerOf("192.0.2.1", "/nowhere")).status, "what is not there is no way around it")
		time.Sleep(time.Second) // what Retry-After says, in a bubble
		require.Equal(t, http.StatusOK, serve(h, callerOf("192.0.2.1", jobPath)).status)
	})
}

func TestCallersAreToldApartAsTheOptionsSay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil }}, api.Options{
			Callers: ratelimit.NewLimiter(ratelimit.Limits{Rate: 1}),
			Caller:  func(r *http.Request) string { return r.Header.Get("X-Principal") },
		})
		ask := func(principal string) int {
			r := callerOf("192.0.2.1", jobPath)
			r.Header.Set("X-Principal", principal)
			return serve(h, r).status
		}
		for _, principal := range []string{"ci", "payroll"} {
			require.Equal(t, []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests}, []int{ask(principal), ask(principal), ask(principal)}, principal)
		}
	})
}

func TestAForgedXForwardedForIsNoWayAroundTheLimit(t *testing.T) {
	t.Parallel()
	proxies, err := web.ParseProxies("10.0.0.0/8")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		for connection, want := range map[string]string{"203.0.113.5": "203.0.113.5", "10.0.0.1": "198.51.100.9"} {
			h := proxies.Resolve(api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil }},
				api.Options{Callers: ratelimit.NewLimiter(ratelimit.Limits{Rate: 1})}))
			for i := range 4 {
				r := callerOf(connection, jobPath)
				r.Header.Add("X-Forwarded-For", fmt.Sprint("192.0.2.", i)) // another one each time
				r.Header.Add("X-Forwarded-For", "198.51.100.9")            // added by the proxy
				got := serve(h, r)
				if i < 2 {
					require.Equal(t, http.StatusOK, got.status)
					continue
				}
				require.Equal(t, http.StatusTooManyRequests, got.status)
				require.Contains(t, got.body, "The caller "+want+" sends")
			}
		}
	})
}

// Requests that wait hold no place of other callers.
func TestABulkLoadOfOneCallerDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
			if k.Name == "slow" {
				<-release
			}
			return daily(t, k), nil
		}}, api.Options{Callers: ratelimit.NewLimiter(ratelimit.Limits{InFlight: 2})})
		answers := make(chan int, 10)
		for range 10 {
			go func() { answers <- serve(h, callerOf("192.0.2.1", "/jobCollections/c/jobs/slow")).status }()
		}
		synctest.Wait()
		require.Equal(t, http.StatusOK, serve(h, callerOf("192.0.2.2", jobPath)).status)
		close(release)
		for range 10 {
			require.Equal(t, http.StatusOK, <-answers)
		}
	})
}

// The store takes one request at a time, 4 ms each, in the order in which they arrive.
func TestTheWaitBesideABulkLoadIsThatOfTheRequestsInFlight(t *testing.T) {
	t.Parallel()
	const service, parallel, load = 4 * time.Millisecond, 64, 640
	worst := func(t *testing.T, limits ratelimit.Limits) (longest time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			store := make(chan struct{}, 1) // those who wait for room get it in turn
			h := api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
				store <- struct{}{}
				time.Sleep(service) // in a bubble
				<-store
				return daily(t, k), nil
			}}, api.Options{Callers: ratelimit.NewLimiter(limits)})
			var bulk sync.WaitGroup
			for range parallel {
				bulk.Go(func() {
					for range load / parallel {
						if status := serve(h, callerOf("192.0.2.1", jobPath)).status; status != http.StatusOK {
							t.Errorf("a request of the bulk load is answered with %d", status)
						}
					}
				})
			}
			synctest.Wait()
			for range 20 {
				start := time.Now()
				require.Equal(t, http.StatusOK, serve(h, callerOf("192.0.2.2", jobPath)).status)
				longest = max(longest, time.Since(start))
				time.Sleep(10 * time.Millisecond)
			}
			bulk.Wait()
		})
		return longest
	}
	require.GreaterOrEqual(t, worst(t, ratelimit.Limits{}), parallel*service, "without limits it is behind the whole load")
	require.LessOrEqual(t, worst(t, ratelimit.Limits{InFlight: 16}), 17*service)
}

func BenchmarkTheLimitOfCallers(b *testing.B) {
	for name, limits := range map[string]ratelimit.Limits{"off": {}, "on": {Rate: 1_000_000, InFlight: 16}} {
		b.Run(name, func(b *testing.B) {
			h := api.New(&fake{}, api.Options{Callers: ratelimit.NewLimiter(limits)})
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), callerOf("192.0.2.1", "/"))
			}
		})
	}
}
