package scheduler

import (
	"context"
	"log/slog"
	"time"

	"almanac/internal/calls"
	"almanac/job"
)

// A list asks each workflow how it stands. One that cannot answer, since no worker can
// read its history, say, must not keep the others from being shown: it gets a second
// chance when the others have answered, and then is shown as one that could not be read.
const (
	// patience is how long a workflow has to answer, and lastPatience where it did not at
	// first: a worker that is killed keeps a task for 10 s.
	patience     = 2 * time.Second
	lastPatience = 12 * time.Second

	// listTime is when no workflow of a list is given a second chance any more.
	listTime = 25 * time.Second
)

// A lister says what a list consists of.
type lister[I, T any] struct {
	items   []I
	id      func(I) string    // of the item's workflow
	unread  func(I, string) T // the entry of an item that could not be read, and why
	matches func(*T) bool     // what is wanted
}

// A read is what became of an item of a list.
type read[T any] struct {
	value T
	err   error // that of [Service.status]
}

// collect asks the workflows of that many items, in their order, as make a page
// and one more. Workflows that are gone, and what is not wanted, are left out.
func collect[I, T any](ctx context.Context, s *Service, p job.Page, l lister[I, T]) ([]T, error) {
	end := time.Now().Add(listTime)
	var found []T
	for items := l.items; len(items) > 0 && len(found) <= p.Skip+p.Top; {
		n := min(max(p.Skip+p.Top+1-len(found), calls.MaxParallel), len(items))
		ids := make([]string, n)
		for i, item := range items[:n] {
			ids[i] = l.id(item)
		}
		entries := statusesOf[T](ctx, s, ids, end)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i, e := range entries {
			switch {
			case calls.IsGone(e.err):
				continue
			case e.err != nil:
				s.log.WarnContext(ctx, "a workflow that is listed could not be read", slog.String("id", ids[i]), slog.Any("error", e.err))
				e.value = l.unread(items[i], whyUnread(e.err))
			}
			if l.matches(&e.value) {
				found = append(found, e.value)
			}
		}
		items = items[n:]
	}
	return found, nil
}

// statusesOf returns what workflows say of themselves. Those that do not answer are asked
// once more, until the end at most.
func statusesOf[T any](ctx context.Context, s *Service, ids []string, end time.Time) []read[T] {
	entries := make([]read[T], len(ids))
	all := make([]int, len(ids))
	for i := range ids {
		all[i] = i
	}
	ask := func(indexes []int, patience time.Duration) (again []int) {
		calls.Each(len(indexes), func(n int) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			e := &entries[indexes[n]]
			e.err = s.status(ctx, ids[indexes[n]], &e.value)
		})
		for _, i := range indexes {
			if err := entries[i].err; err != nil && calls.IsTimeout(err) {
				again = append(again, i)
			}
		}
		return again
	}
	again := ask(all, patience)
	if left := min(lastPatience, time.Until(end)); len(again) > 0 && left > 0 && ctx.Err() == nil {
		ask(again, left)
	}
	return entries
}
