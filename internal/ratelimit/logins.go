package ratelimit

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// loginBurst is how many logins may fail at once.
	loginBurst = 10
	// loginEvery is the time after which one more may.
	loginEvery = 6 * time.Second
	// maxDebt is how many failures are counted of logins that were checked at the same time; they are waited for later,
	// up to 10 minutes.
	maxDebt = 100
)

// Logins limit how many logins of a caller may fail: 10 at once, and then one in 6 s. A login that succeeds costs
// nothing. The caller should be an address, since a login may be tried with any name.
type Logins struct{ buckets *table[rate.Limiter] }

// NewLogins returns Logins without failures.
func NewLogins() *Logins {
	return &Logins{newTable(func() *rate.Limiter { return rate.NewLimiter(rate.Every(loginEvery), loginBurst) }, isFull)}
}

// Check returns nil if a login of a caller may fail, and otherwise says when it may. The refusal takes the place of the
// reason why the login failed; logins that succeed are never refused, since good callers may share an address with a
// bad one.
func (l *Logins) Check(name string) *Refusal {
	now := time.Now()
	var missing float64 // tokens
	l.buckets.use(name, now, func(b *rate.Limiter) { missing = 1 - b.TokensAt(now) })
	if missing <= 0 {
		return nil
	}
	return &Refusal{Reason: "has failed to log in too often", RetryAfter: time.Duration(missing * float64(loginEvery))}
}

// Failed counts a login of a caller that failed. Logins that began before others had failed may exceed the limit, and
// then delay the next one.
func (l *Logins) Failed(name string) {
	now := time.Now()
	l.buckets.use(name, now, func(b *rate.Limiter) {
		if b.TokensAt(now) > -maxDebt {
			b.ReserveN(now, 1)
		}
	})
}
