package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// pageTime is how long a page that reads across jobs asks the API at most. What it lacks then is said on it.
const pageTime = 10 * time.Second

// limit ends the page's calls of the API after pageTime, or when the function that it returns is called.
func (p *page) limit() context.CancelFunc { return p.limitTo(pageTime) }

// limitTo is limit with another time.
func (p *page) limitTo(most time.Duration) context.CancelFunc {
	ctx, cancel := context.WithTimeout(p.ctx, most)
	p.ctx, p.most = ctx, most
	return cancel
}

// each calls do for each index, at most eight at a time, and returns the first error.
func each(n int, do func(i int) error) error { return firstOf(eachOf(n, do)) }

// eachOf calls do for each index, at most eight at a time, and returns the errors by index. A panic is an error.
func eachOf(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = guarded(func() error { return do(i) })
		})
	}
	all.Wait()
	return errs
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A panicError is a panic while a part of a page was made.
type panicError struct {
	value any
	stack []byte
}

// Error returns the panic and where it was.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// guarded calls do, and returns a panic as an error.
func guarded(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value, debug.Stack()}
		}
	}()
	return do()
}

// lost returns why a part of a page is missing, for people.
func (p *page) lost(err error) string {
	if _, panicked := errors.AsType[*panicError](err); panicked {
		p.console.Log.ErrorContext(p.ctx, "a part of a page of the console panicked", slog.Any("error", err))
		return "An internal error happened; the log of the API has it."
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("It took longer than %d s. What was read is remembered for a while: load the page again.", p.most/time.Second)
	}
	return err.Error()
}
