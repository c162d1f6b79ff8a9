package client

import (
	"context"
	"iter"
	"time"
)

// A Digest tells whether a job is as somebody has it. All but Name are "" if that is not known: then the job has to be
// read.
type Digest struct {
	Name   string   `json:"name"`           // of the job collection and of the job
	ETag   string   `json:"etag,omitempty"` // for [IfMatch] of a change
	State  JobState `json:"state,omitempty"`
	Digest string   `json:"digest,omitempty"` // of what users write, without secrets and state

	Owner       string    `json:"owner,omitempty"`       // as in [JobStatus]
	PruneAt     time.Time `json:"pruneAt,omitzero"`      // likewise
	FormerState JobState  `json:"formerState,omitempty"` // likewise
	Once        bool      `json:"once,omitempty"`        // it runs once
}

// Digests returns the digests of the jobs of a job collection, sorted by their names, as of some seconds ago.
func (c *Client) Digests(ctx context.Context, collection string) iter.Seq2[Digest, error] {
	return lists[Digest](ctx, c, c.collectionAt(collection, "digests"), nil, List{})
}
