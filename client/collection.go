package client

import (
	"context"
	"iter"
	"net/http"
)

// A Collection is a job collection. The API ignores ID, Type and Name in requests: the path has the name.
type Collection struct {
	ID         string               `json:"id,omitempty"`
	Type       string               `json:"type,omitempty"`
	Name       string               `json:"name,omitempty"`
	Location   string               `json:"location,omitempty"`
	Tags       map[string]string    `json:"tags,omitempty"`
	Properties CollectionProperties `json:"properties"`

	ETag    string `json:"-"` // for [IfMatch]; entries of lists have none
	Warning string `json:"-"` // what may keep its notifications from being sent; only after a change
}

// CollectionProperties are the plan of a job collection, its quota, and whether its jobs run.
type CollectionProperties struct {
	SKU            SKU             `json:"sku"`
	State          CollectionState `json:"state,omitempty"` // CollectionEnabled by default
	Quota          *Quota          `json:"quota,omitempty"`
	Notifications  []Notification  `json:"notifications,omitempty"`
	FlexibleWindow string          `json:"flexibleWindow,omitempty"` // of jobs that have none
	Blackouts      []Blackout      `json:"blackouts,omitempty"`      // in which no occurrence of its jobs starts
	Disabled       *Disabled       `json:"disabled,omitempty"`       // ignored in requests
}

// A SKU names a plan: Free, Standard, Premium, P10Premium or P20Premium.
type SKU struct {
	Name string `json:"name"`
}

// A CollectionState says whether the jobs of a job collection run.
type CollectionState string

// The states of a job collection. Occurrences run in CollectionEnabled only.
const (
	CollectionEnabled   CollectionState = "Enabled"
	CollectionDisabled  CollectionState = "Disabled"
	CollectionSuspended CollectionState = "Suspended"
)

// A Quota lowers the limits of the plan.
type Quota struct {
	MaxJobCount   int            `json:"maxJobCount,omitempty"`
	MaxRecurrence *MaxRecurrence `json:"maxRecurrence,omitempty"`
}

// MaxRecurrence is the shortest time between two occurrences of a job.
type MaxRecurrence struct {
	Frequency string `json:"frequency"`          // minute, hour, day, week or month
	Interval  int    `json:"interval,omitempty"` // 1 by default
}

// Collections returns the job collections of the resource group, sorted by name.
func (c *Client) Collections(ctx context.Context, l List) iter.Seq2[Collection, error] {
	return lists[Collection](ctx, c, c.group("jobCollections"), nil, l)
}

// CollectionsPage returns a page of the job collections of the resource group.
func (c *Client) CollectionsPage(ctx context.Context, l List) (Page[Collection], error) {
	return pageOf[Collection](ctx, c, c.group("jobCollections"), nil, l)
}

// AllCollections returns the job collections of all resource groups of the subscription.
func (c *Client) AllCollections(ctx context.Context, l List) iter.Seq2[Collection, error] {
	return lists[Collection](ctx, c, c.wholeSubscription("jobCollections"), nil, l)
}

// Collection returns a job collection.
func (c *Client) Collection(ctx context.Context, name string, conditions ...Condition) (Collection, error) {
	return collectionOf(get[Collection](ctx, c, c.collectionAt(name), conditions...))
}

// PutCollection creates or replaces a job collection.
func (c *Client) PutCollection(
	ctx context.Context, name string, of Collection, conditions ...Condition,
) (Collection, error) {
	return collectionOf(send[Collection](ctx, c, http.MethodPut, c.collectionAt(name), of, conditions))
}

// PutCollectionBody is [Client.PutCollection] for any body, such as a [encoding/json.RawMessage].
func (c *Client) PutCollectionBody(
	ctx context.Context, name string, body any, conditions ...Condition,
) (Collection, error) {
	return collectionOf(send[Collection](ctx, c, http.MethodPut, c.collectionAt(name), body, conditions))
}

// PatchCollection changes parts of a job collection. Objects of the patch merge member by member, null removes a member,
// and lists and plain values replace what was there.
func (c *Client) PatchCollection(
	ctx context.Context, name string, patch any, conditions ...Condition,
) (Collection, error) {
	return collectionOf(send[Collection](ctx, c, http.MethodPatch, c.collectionAt(name), patch, conditions))
}

// collectionOf adds the headers of an answer to a collection.
func collectionOf(found Collection, a *answer, err error) (Collection, error) {
	if err == nil {
		found.ETag, found.Warning = a.header.Get("ETag"), a.header.Get("Warning")
	}
	return found, err
}

// send sends a body, and decodes the answer.
func send[T any](
	ctx context.Context, c *Client, method string, at place, body any, conditions []Condition,
) (result T, a *answer, err error) {
	a, err = c.call(ctx, message{method: method, at: at, body: body, conditions: conditions}, &result)
	return result, a, err
}

// DeleteCollection deletes a job collection with all its jobs. A nil operation means that it is done; otherwise see
// [Client.Wait].
func (c *Client) DeleteCollection(ctx context.Context, name string, conditions ...Condition) (*Operation, error) {
	return c.begin(ctx, name, message{method: http.MethodDelete, at: c.collectionAt(name), conditions: conditions})
}
