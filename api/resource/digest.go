package resource

import (
	"almanac/job"
	"almanac/job/listing"
)

// A Digest tells whether a job is as somebody has it.
type Digest struct {
	Name   string    `json:"name"`
	ETag   string    `json:"etag,omitempty"`
	State  job.State `json:"state,omitempty"`
	Digest string    `json:"digest,omitempty"`

	Owner       string    `json:"owner,omitempty"`
	PruneAt     *job.Time `json:"pruneAt,omitempty"`
	FormerState job.State `json:"formerState,omitempty"`
	Once        bool      `json:"once,omitempty"`
}

// NewDigest returns the form of a digest.
func NewDigest(d listing.Digest) Digest {
	r := Digest{
		Name: jobName(d.Key), ETag: changeTag(d.Generation), State: d.State, Digest: d.Digest, Owner: d.Owner, Once: d.Once,
	}
	if d.Pruning != nil {
		r.PruneAt, r.FormerState = job.NewTime(d.Pruning.Until()), d.Pruning.State
	}
	return r
}
