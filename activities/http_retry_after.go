package activities

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// withRetryAfter returns err, and with it how long the host wants to be left
// alone, where it answered so (RFC 9110, section 10.2.3).
func withRetryAfter(err error, resp *http.Response) error {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return err
	}
	if after := retryAfter(resp.Header); after > 0 {
		return &RetryAfterError{Err: err, After: after}
	}
	return err
}

// retryAfter returns what a Retry-After header asks for: a number of seconds,
// or a date. It is 0 where there is none, or none that can be read.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err == nil {
		return time.Duration(seconds) * time.Second
	}
	if errors.Is(err, strconv.ErrRange) {
		return maxRetryAfter
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date")) // by the host's own clock
	if err != nil {
		now = time.Now()
	}
	return until.Sub(now)
}
