package overview

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
)

// What is ordered says which of two comes first.
type ordered[T any] interface{ comes(before T) bool }

var (
	_ ordered[*stream] = (*stream)(nil)
	_ ordered[*cursor] = (*cursor)(nil)
)

// A queue is a heap, whose first element comes before all others.
type queue[T ordered[T]] []T

func (q queue[T]) Len() int           { return len(q) }
func (q queue[T]) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q queue[T]) Less(i, j int) bool { return q[i].comes(q[j]) }
func (q *queue[T]) Push(x any)        { *q = append(*q, x.(T)) }
func (q *queue[T]) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// before reports whether a time is earlier than another or, if they are equal, whether the IDs are in this order.
func before(a, b time.Time, idA, idB string) bool { return a.Before(b) || a.Equal(b) && idA < idB }

// A token is where a page ended, and what the pages after it have in common with it. Its text is opaque to callers.
type token struct {
	// From and Until are the bounds of the first page, which had them from the time at which it was read.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`

	place         // of the last entry; zero if the page had none but unread ones
	Unread string `json:"unread,omitempty"` // the last entry that could not be read, if the page ended among them
}

// A place is that of an entry: its time, the workflow ID of its job, and its place among those of the job that start at
// the same time.
type place struct {
	At      time.Time `json:"at,omitzero"`
	ID      string    `json:"id,omitempty"`
	Ordinal int64     `json:"n,omitempty"`
}

// listOf returns the name of a list of that kind in a scope, as for [core.Token].
func listOf(kind string, s listing.Scope) string {
	return kind + " " + job.NormalizeName(s.Subscription+"/"+s.ResourceGroup+"/"+s.Collection)
}

// parseToken returns the token of a page of a list. The zero token, that of the first page, is before all entries.
func parseToken(list string, p listing.Page) (t token, err error) {
	if err := core.Open(list, &p); err != nil || p.After == "" {
		return t, err
	}
	plain, err := base64.RawURLEncoding.DecodeString(p.After)
	if err == nil {
		err = json.Unmarshal(plain, &t)
	}
	if err != nil || t.From.IsZero() {
		return t, core.BadToken()
	}
	return t, nil
}

// paged returns a page of at most top entries after a token, what could not be read first, and the continuation, which
// is empty if the page has all.
func paged[T any](
	t token, top int, failed *failures, all []T, of func(failure) T, at func(*T) place,
) (page []T, next string) {
	unread := failed.after(t.Unread)
	for i := range len(unread) + len(all) {
		if len(page) >= top {
			text, _ := json.Marshal(t) // it has no value that JSON lacks
			return page, base64.RawURLEncoding.EncodeToString(text)
		}
		if i < len(unread) {
			page, t.Unread = append(page, of(unread[i])), unread[i].id
			continue
		}
		e := all[i-len(unread)]
		page, t.Unread, t.place = append(page, e), "", at(&e)
	}
	return page, ""
}
