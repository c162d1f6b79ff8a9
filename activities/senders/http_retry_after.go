package senders

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"almanac/activities"
)

// withRetryAfter wraps err in a [RetryAfterError] if a 429 or 503 response has a Retry-After header
// (RFC 9110, section 10.2.3).
func withRetryAfter(err error, resp *http.Response) error {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return err
	}
	if after := retryAfter(resp.Header); after > 0 {
		return &activities.RetryAfterError{Err: err, After: after}
	}
	return err
}

// retryAfter returns the value of a Retry-After header, given as seconds or as a date; 0 if it is
// absent or malformed.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err == nil {
		return time.Duration(seconds) * time.Second
	}
	if errors.Is(err, strconv.ErrRange) {
		return activities.MaxRetryAfter
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date")) // the host's own clock
	if err != nil {
		now = time.Now()
	}
	return until.Sub(now)
}
