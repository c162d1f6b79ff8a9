package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// refusal returns the refusal of an admission, which is nil if it was admitted; then it is done.
func refusal(t *testing.T, l *Limiter, name string) *Refusal {
	t.Helper()
	done, err := l.Admit(t.Context(), name)
	if err == nil {
		done()
		return nil
	}
	r, ok := errors.AsType[*Refusal](err)
	require.True(t, ok, err)
	return r
}

func TestACallerMaySendABurstAndThenItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Rate: 5})
		for range 10 {
			require.Nil(t, refusal(t, l, "a"))
		}
		r := refusal(t, l, "a")
		require.NotNil(t, r)
		require.EqualError(t, r, "the caller sends more than 5 requests a second")
		require.Equal(t, 200*time.Millisecond, r.RetryAfter)
		require.Equal(t, 1, r.Seconds())
		require.Nil(t, refusal(t, l, "b"), "another caller is not affected")

		time.Sleep(time.Second)
		for range 5 {
			require.Nil(t, refusal(t, l, "a"))
		}
		require.NotNil(t, refusal(t, l, "a"), "refused requests have cost nothing, and were given nothing")
	})
}

func TestRequestsBeyondThoseInFlightWaitTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{InFlight: 2})
		inside, most := 0, 0
		var mutex sync.Mutex
		var all sync.WaitGroup
		for range 2 + 2*waitingPerFlight {
			all.Go(func() {
				done, err := l.Admit(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				mutex.Lock()
				inside++
				most = max(most, inside)
				mutex.Unlock()
				time.Sleep(100 * time.Millisecond)
				mutex.Lock()
				inside--
				mutex.Unlock()
			})
		}
		synctest.Wait()
		r := refusal(t, l, "a")
		require.NotNil(t, r)
		require.EqualError(t, r, "the caller has more than 2 requests in progress, and too many that wait")
		require.Equal(t, 1, r.Seconds())
		require.Nil(t, refusal(t, l, "b"))
		all.Wait()
		require.Equal(t, 2, most)
		require.Nil(t, refusal(t, l, "a"))
	})
}

func TestARequestThatWaitsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{InFlight: 1})
		done, err := l.Admit(t.Context(), "a")
		require.NoError(t, err)
		start := time.Now()
		require.NotNil(t, refusal(t, l, "a"))
		require.Equal(t, maxWait, time.Since(start))

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = l.Admit(ctx, "a")
		require.ErrorIs(t, err, context.Canceled, "its caller has left")
		done()
		require.Nil(t, refusal(t, l, "a"), "requests that waited in vain hold no place")
	})
}

func TestWithoutLimitsEverythingIsAdmitted(t *testing.T) {
	t.Parallel()
	l := NewLimiter(Limits{})
	for range 10_000 {
		require.Nil(t, refusal(t, l, "a"))
	}
}

func TestIdleCallersAreForgottenAndTheirNumberIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Rate: 1, InFlight: 1})
		busy, err := l.Admit(t.Context(), "busy")
		require.NoError(t, err)
		for i := range 2 * maxCallers {
			_ = refusal(t, l, fmt.Sprint("caller ", i))
		}
		require.Len(t, l.callers.entries, maxCallers)
		require.NotNil(t, refusal(t, l, "one more"), "callers beyond the bound share one entry")
		require.Nil(t, refusal(t, l, "caller 1"), "one that was known is not affected")

		time.Sleep(sweepEvery)
		require.Nil(t, refusal(t, l, "one more"))
		require.Len(t, l.callers.entries, 2, "the busy one, and one more")
		busy()
		time.Sleep(sweepEvery)
		require.Nil(t, refusal(t, l, "one more"))
		require.NotContains(t, l.callers.entries, "busy")
	})
}

func TestACallerThatIsForgottenHasGainedNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logins := NewLogins()
		for range loginBurst {
			logins.Failed("a")
		}
		time.Sleep(sweepEvery) // refills one of ten
		require.Nil(t, logins.Check("a"))
		logins.Failed("a")
		require.NotNil(t, logins.Check("a"))
	})
}

func TestFailedLoginsAreSlowedDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logins := NewLogins()
		for range loginBurst {
			require.Nil(t, logins.Check("a"))
			require.Nil(t, logins.Check("a"), "a check costs nothing")
			logins.Failed("a")
		}
		r := logins.Check("a")
		require.NotNil(t, r)
		require.EqualError(t, r, "the caller has failed to log in too often")
		require.Equal(t, 6, r.Seconds())
		require.Nil(t, logins.Check("b"))
		time.Sleep(loginEvery)
		require.Nil(t, logins.Check("a"))
		logins.Failed("a")
		require.NotNil(t, logins.Check("a"))
	})
}

func TestLoginsThatFailAtTheSameTimeAreAllCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logins := NewLogins()
		for range 50 {
			require.Nil(t, logins.Check("a"))
		}
		for range 50 {
			logins.Failed("a")
		}
		require.Equal(t, 41*loginEvery, logins.Check("a").RetryAfter)
		for range 10_000 {
			logins.Failed("a")
		}
		require.LessOrEqual(t, logins.Check("a").RetryAfter, 11*time.Minute, "a caller is not locked out for ever")
	})
}

func TestRetryAfterIsInWholeSeconds(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int{0: 1, time.Millisecond: 1, time.Second: 1, time.Second + 1: 2, 90 * time.Second: 90} {
		require.Equal(t, want, (&Refusal{RetryAfter: wait}).Seconds(), wait)
	}
}

func TestACallerIsAnAddressOrANetworkOfIPv6(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:1000": "192.0.2.1", "[::ffff:192.0.2.1]:1000": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:1000": "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::1]:1": "2001:db8:1:2::/64", "[2001:db8:1:3::1]:1": "2001:db8:1:3::/64", "[::1]:80": "::1", "[fe80::1%eth0]:80": "fe80::/64", "@": "", "": "",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		require.Equal(t, want, ByAddress(r), remote)
	}
}

func BenchmarkAdmit(b *testing.B) {
	for _, bm := range []struct {
		name    string
		callers int
	}{{"one caller", 1}, {"10,000 callers", maxCallers}} {
		b.Run(bm.name, func(b *testing.B) {
			l := NewLimiter(Limits{Rate: 1 << 30, InFlight: 1 << 10})
			names := make([]string, bm.callers)
			for i := range names {
				names[i] = fmt.Sprint("10.0.0.", i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				done, err := l.Admit(b.Context(), names[i%len(names)])
				if err != nil {
					b.Fatal(err)
				}
				done()
				i++
			}
		})
	}
}

func BenchmarkMemoryOfACaller(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := NewLimiter(Limits{Rate: 500, InFlight: 32})
		for i := range maxCallers {
			l.callers.use(fmt.Sprint("10.0.0.", i), time.Now(), func(*caller) {})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/maxCallers, "B/caller")
		runtime.KeepAlive(l)
	}
}
