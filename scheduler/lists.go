package scheduler

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
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

	// listTime is when no more workflows of a list are asked, and none is given a second chance
	// any more: the next page goes on with them. Those that are asked together take about 4 s
	// if none of them answers.
	listTime = 22 * time.Second
	maxBatch = 128 // workflows that are asked together
)

// A lister says what a list consists of.
type lister[I, T any] struct {
	items   []I
	end     time.Time         // when the page has to do with what was found
	id      func(I) string    // of the item's workflow
	unread  func(I, string) T // the entry of an item that could not be read, and why
	matches func(*T) bool     // what is wanted
	after   func(I) string    // the continuation that goes on after an item
}

// A read is what became of an item of a list.
type read[T any] struct {
	value T
	err   error // that of [Service.status]
}

// collect returns a page of the items, in their order, and what continues it. Workflows that
// are gone, and what is not wanted, are left out. If many do not answer, the page is shorter
// than it might be, or empty, but it gets on by some items at least.
func collect[I, T any](ctx context.Context, s *Service, p job.Page, l lister[I, T]) (page []T, next string, err error) {
	var found []T
	var of []I // what was found
	asked := 0
	for asked < len(l.items) && len(found) <= p.Skip+p.Top && (asked == 0 || time.Now().Before(l.end)) {
		items := l.items[asked:]
		items = items[:min(max(p.Skip+p.Top+1-len(found), calls.MaxParallel), maxBatch, len(items))]
		ids := make([]string, len(items))
		for i, item := range items {
			ids[i] = l.id(item)
		}
		entries := statusesOf[T](ctx, s, ids, l.end)
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
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
				found, of = append(found, e.value), append(of, items[i])
			}
		}
		asked += len(items)
	}
	page, more := cut(found, p)
	switch {
	case more:
		next = l.after(of[p.Skip+p.Top-1])
	case asked < len(l.items):
		next = l.after(l.items[asked-1])
		if left := p.Skip - len(found); left > 0 {
			next += skipMark + strconv.Itoa(left)
		}
	}
	return page, next, nil
}

// skipMark is what follows a continuation whose page ended before it had left out as many
// entries as it was to: then comes the number of those that are left.
const skipMark = "~"

// resume returns a page that goes on as its continuation says.
func resume(p job.Page) (job.Page, error) {
	after, left, found := strings.Cut(p.After, skipMark)
	if !found {
		return p, nil
	}
	skip, err := strconv.ParseUint(left, 10, 31)
	if err != nil || skip == 0 || after == "" {
		return p, badToken()
	}
	p.After, p.Skip = after, int(skip)
	return p, nil
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
