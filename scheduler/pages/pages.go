// Package pages reads pages of lists whose entries have to be asked for, each of its workflow.
//
// A workflow that cannot answer, for example because no worker can replay its history, must not hide the others: it is
// queried once more after the others have answered, and is then listed with the reason.
package pages

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"almanac/internal/wfclient"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/workflows"
)

const (
	// patience is the limit for a workflow's first answer, lastPatience for the second attempt: a crashed
	// worker keeps a workflow task for 10 s.
	patience     = 2 * time.Second
	lastPatience = 12 * time.Second

	// After timeLimit a page queries no further workflows, and none a second time; the next page continues
	// with them. A batch in which no workflow answers takes about 4 s.
	timeLimit = 22 * time.Second
	maxBatch  = 128 // workflows queried together
)

// Deadline returns the [Source.Deadline] of a page that is asked for now.
func Deadline() time.Time { return time.Now().Add(timeLimit) }

// A Source describes the items of a list.
type Source[I, T any] struct {
	List         string // its name, as for [core.Token]
	Items        []I
	Deadline     time.Time         // no further workflows are queried after it; see [Deadline]
	ID           func(I) string    // the workflow ID of an item
	Query        string            // that returns the entry of an item; "": [workflows.QueryStatus]
	Unreadable   func(I, string) T // the entry of an item that could not be read, with the reason
	Matches      func(*T) bool     // the page's filter
	Continuation func(I) string    // the continuation of a page that ends with the item
}

// An entry is the result of reading the workflow of one item.
type entry[T any] struct {
	status T
	err    error // of [core.Client.AskOnce]
}

// Read returns a page of the items, in their order, and its continuation. Closed workflows and entries
// that the filter rejects are left out. If many workflows do not answer, the page may be short or empty,
// but it covers at least one batch of items.
func Read[I, T any](
	ctx context.Context, c *core.Client, p listing.Page, l Source[I, T],
) (page []T, next string, err error) {
	var found []T
	var of []I // the items of found
	asked := 0
	for asked < len(l.Items) && len(found) <= p.Skip+p.Top && (asked == 0 || time.Now().Before(l.Deadline)) {
		items := l.Items[asked:]
		items = items[:min(max(p.Skip+p.Top+1-len(found), wfclient.MaxParallel), maxBatch, len(items))]
		ids := make([]string, len(items))
		for i, item := range items {
			ids[i] = l.ID(item)
		}
		entries := readEntries[T](ctx, c, ids, cmp.Or(l.Query, workflows.QueryStatus), l.Deadline)
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		for i, e := range entries {
			switch {
			case wfclient.IsGone(e.err):
				continue
			case e.err != nil:
				c.Log.WarnContext(
					ctx, "a job, a job collection or a calendar in a list could not be read", slog.String("id", ids[i]), slog.Any("error", e.err),
				)
				e.status = l.Unreadable(items[i], core.Why(e.err))
			}
			if l.Matches(&e.status) {
				found, of = append(found, e.status), append(of, items[i])
			}
		}
		asked += len(items)
	}
	page = found[min(p.Skip, len(found)):]
	switch {
	case len(page) > p.Top:
		page = page[:p.Top]
		next = l.Continuation(of[p.Skip+p.Top-1])
	case asked < len(l.Items):
		next = l.Continuation(l.Items[asked-1])
		if left := p.Skip - len(found); left > 0 {
			next += skipMark + strconv.Itoa(left)
		}
	}
	return page, core.Token(l.List, next), nil
}

// skipMark separates a continuation from the number of entries still to be skipped, on a page that ended
// before it had skipped them all.
const skipMark = "~"

// Resume applies the continuation in p.After to the page of the list with that name.
func Resume(list string, p listing.Page) (listing.Page, error) {
	if err := core.Open(list, &p); err != nil {
		return p, err
	}
	after, left, found := strings.Cut(p.After, skipMark)
	if !found {
		return p, nil
	}
	skip, err := strconv.ParseUint(left, 10, 31)
	if err != nil || skip == 0 || after == "" {
		return p, core.BadToken()
	}
	p.After, p.Skip = after, int(skip)
	return p, nil
}

// readEntries reads the statuses of workflows. Those that do not answer in time are queried once more, until
// deadline at most.
func readEntries[T any](
	ctx context.Context, c *core.Client, ids []string, query string, deadline time.Time,
) []entry[T] {
	entries := make([]entry[T], len(ids))
	all := make([]int, len(ids))
	for i := range ids {
		all[i] = i
	}
	ask := func(indexes []int, patience time.Duration) (again []int) {
		wfclient.Each(len(indexes), func(n int) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			e := &entries[indexes[n]]
			e.err = c.AskOnce(ctx, ids[indexes[n]], query, &e.status)
		})
		for _, i := range indexes {
			if err := entries[i].err; err != nil && wfclient.IsTimeout(err) {
				again = append(again, i)
			}
		}
		return again
	}
	again := ask(all, patience)
	if left := min(lastPatience, time.Until(deadline)); len(again) > 0 && left > 0 && ctx.Err() == nil {
		ask(again, left)
	}
	return entries
}
