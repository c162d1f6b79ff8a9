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
}

// NewDigest returns the form of a digest.
func NewDigest(d listing.Digest) Digest {
	return Digest{Name: jobName(d.Key), ETag: changeTag(d.Generation), State: d.State, Digest: d.Digest}
}
