package listing

import (
	"time"

	"almanac/job"
)

// A Digest tells whether a job is as somebody has it: see [job.Definition.Digest]. Only Key is set if that is not known.
type Digest struct {
	Key        job.Key
	Generation int
	State      job.State
	Digest     string

	Owner   string       // see [job.Definition.Owner]
	Pruning *job.Pruning // of a pruned job
	Once    bool         // it runs once
}

// Digests are a page of digests, sorted by the names of the jobs.
type Digests struct {
	Page []Digest
	Next string    // the continuation; empty on the last page
	AsOf time.Time // when the jobs were read from Temporal's lists
}

// MaxDigests is how many digests a page has at most.
const MaxDigests = 5000
