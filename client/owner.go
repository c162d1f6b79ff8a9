package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// An Owner is a directory of job files, as a job collection has it on record.
type Owner struct {
	ID          string   `json:"id"`          // a UUID
	Collections []string `json:"collections"` // the names of those that the files are about
}

// BindOwner puts an owner on record in a job collection, which is one of those that it names. Later it may name more;
// with rebind, any.
func (c *Client) BindOwner(ctx context.Context, collection string, o Owner, rebind bool) (bound Owner, err error) {
	body := struct {
		Owner
		Rebind bool `json:"rebind,omitempty"`
	}{o, rebind}
	m := message{method: http.MethodPost, at: c.collectionAt(collection, "bindOwner"), body: body}
	_, err = c.call(ctx, m, &bound)
	return bound, err
}

// PutOwnedJob is [Client.PutJobBody] of an owner, to whom a new job belongs; with adopt, one that has no owner, too.
func (c *Client) PutOwnedJob(
	ctx context.Context, collection, name, owner string, adopt bool, body json.RawMessage, conditions ...Condition,
) (stored Job, err error) {
	m := message{method: http.MethodPut, at: c.jobAt(collection, name), body: body, conditions: conditions, query: url.Values{}}
	if owner != "" {
		m.query.Set("owner", owner)
	}
	if adopt && owner != "" {
		m.query.Set("adopt", "true")
	}
	a, err := c.call(ctx, m, &stored)
	return jobOf(stored, a, err)
}

// PruneJob prunes a job of an owner that is on record: it is disabled, and deletes itself in a week.
func (c *Client) PruneJob(ctx context.Context, collection, name, owner string, conditions ...Condition) (Job, error) {
	by := struct {
		Owner string `json:"owner"`
	}{owner}
	return jobOf(send[Job](ctx, c, http.MethodPost, c.jobAt(collection, name, "prune"), by, conditions))
}

// RestoreJob takes a pruned job back, in the state that it had. One that is not pruned stays as it is.
func (c *Client) RestoreJob(ctx context.Context, collection, name string, conditions ...Condition) (Job, error) {
	return jobOf(post[Job](ctx, c, c.jobAt(collection, name, "restore"), nil, conditions...))
}

// CompareSecrets reports whether the secrets of a definition, with the body of a PUT, are those that a job has. The API
// refuses what is asked too often.
func (c *Client) CompareSecrets(ctx context.Context, collection, name string, body json.RawMessage) (same bool, err error) {
	var answered struct {
		Secrets string `json:"secrets"`
	}
	m := message{method: http.MethodPost, at: c.jobAt(collection, name, "compareSecrets"), body: body}
	_, err = c.call(ctx, m, &answered)
	return answered.Secrets == "same", err
}
