package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// A List says which entries of a list are read. The zero value stands for all.
type List struct {
	// Filter has conditions, in the language of the API, such as "state eq enabled". Not every list has one.
	Filter string

	// Top is how many entries are read at most; 0 means all, and for a method whose name ends in Page 100.
	Top int

	// Skip is how many entries are left out. Lists of many jobs have none.
	Skip int

	// Token is where a page begins, as [Page] has it.
	Token string
}

// A Page is a part of a list.
type Page[T any] struct {
	Value  []T
	Unread []*UnreadError // entries of this page that could not be read
	Next   string         // the token of the next page; "" if there is none
}

// query returns the parameters of a page.
func (l List) query() url.Values {
	q := url.Values{}
	if l.Filter != "" {
		q.Set("$filter", l.Filter)
	}
	if l.Top > 0 {
		q.Set("$top", strconv.Itoa(min(l.Top, maxPage)))
	}
	if l.Token != "" {
		q.Set("$skiptoken", l.Token)
	} else if l.Skip > 0 {
		q.Set("$skip", strconv.Itoa(l.Skip))
	}
	return q
}

// maxPage is how many entries a page has at most.
const maxPage = 100

// A wirePage is a page as the API answers it.
type wirePage struct {
	Value    []json.RawMessage `json:"value"`
	NextLink string            `json:"nextLink"`
}

// page reads a page of a list.
func page[T any](ctx context.Context, c *Client, method string, at place, query url.Values, conditions ...Condition) (p Page[T], err error) {
	a, err := c.call(ctx, message{method: method, at: at, query: query, conditions: conditions}, nil)
	if err != nil {
		return p, err
	}
	return pageIn[T](a.body)
}

// pageIn returns the page that is the body of an answer.
func pageIn[T any](body []byte) (p Page[T], err error) {
	var found wirePage
	if err := json.Unmarshal(body, &found); err != nil {
		return p, fmt.Errorf("a list cannot be read: %w", err)
	}
	for _, raw := range found.Value {
		if unread := unreadOf(raw); unread != nil {
			p.Unread = append(p.Unread, unread)
			continue
		}
		var one T
		if err := json.Unmarshal(raw, &one); err != nil {
			return p, err
		}
		p.Value = append(p.Value, one)
	}
	p.Next, err = tokenOf(found.NextLink)
	return p, err
}

// tokenOf returns the token of a link to the next page. The rest of the link is not used: a proxy may have changed where
// the API is, and the token of the caller goes nowhere else.
func tokenOf(link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	return u.Query().Get("$skiptoken"), nil
}

// An unreadEntry is an entry that could not be read.
type unreadEntry struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Properties map[string]json.RawMessage
}

// unreadOf returns why an entry could not be read; nil if it could: then its status is a word, or not all that it has.
func unreadOf(raw json.RawMessage) *UnreadError {
	var e unreadEntry
	if json.Unmarshal(raw, &e) != nil || len(e.Properties) != 1 {
		return nil
	}
	var status struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(e.Properties["status"], &status) != nil || status.Reason == "" {
		return nil
	}
	return &UnreadError{ID: e.ID, Name: e.Name, Reason: status.Reason}
}

// all returns all entries of a list, page by page.
func all[T any](ctx context.Context, c *Client, method string, at place, l List, conditions ...Condition) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		query, left := l.query(), l.Top
		query.Del("$top") // a page with it has no link to the next
		for {
			if l.Top > 0 && left <= maxPage {
				query.Set("$top", strconv.Itoa(left))
			}
			p, err := page[T](ctx, c, method, at, query, conditions...)
			if err != nil {
				yield(none, err)
				return
			}
			for _, unread := range p.Unread {
				if !yield(none, unread) {
					return
				}
			}
			for _, one := range p.Value {
				if !yield(one, nil) {
					return
				}
			}
			left -= len(p.Value) + len(p.Unread)
			if p.Next == "" || l.Top > 0 && left <= 0 {
				return
			}
			query.Del("$skip")
			query.Set("$skiptoken", p.Next)
		}
	}
}

// lists returns the entries of a list that is read by GET.
func lists[T any](ctx context.Context, c *Client, at place, query url.Values, l List) iter.Seq2[T, error] {
	at.query = with(at.query, query)
	return all[T](ctx, c, http.MethodGet, at, l)
}

// pageOf returns a page of a list that is read by GET.
func pageOf[T any](ctx context.Context, c *Client, at place, query url.Values, l List) (Page[T], error) {
	at.query = with(at.query, query)
	return page[T](ctx, c, http.MethodGet, at, l.query())
}

// with returns a query with further parameters.
func with(query, more url.Values) url.Values {
	merged := url.Values{}
	for _, from := range []url.Values{query, more} {
		maps.Copy(merged, from)
	}
	return merged
}
