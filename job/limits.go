package job

import (
	"encoding/json"
	"time"
)

// Limits bound what is accepted. An operator may loosen them, as far as maxStored
// leaves room. [DefaultLimits] are those of Azure Scheduler.
type Limits struct {
	JobBytes         int // size of the JSON of a job, or of a collection, as it is sent; and of a patched job
	URIBytes         int // length of a request's URI
	BodyBytes        int // length of a request's body, or of a message, in characters
	Headers          int // number of a request's headers
	HeaderBytes      int // length of all names and values of a request's headers
	MinRetryInterval time.Duration
	MaxRetryInterval time.Duration
	MaxRetryCount    int
	MaxCatchUpWindow time.Duration
	Plans            map[string]Plan // by the SKU's name

	// AllowSecretRetargeting lets a secret that a change leaves out be kept
	// although it will be sent to another target, as Azure Scheduler did.
	AllowSecretRetargeting bool
}

// eighteenMonths is the longest that Azure Scheduler lets anything take; no 18
// months are longer.
const eighteenMonths = 18 * 31 * day

// DefaultLimits returns the limits of Azure Scheduler.
func DefaultLimits() Limits {
	return Limits{
		JobBytes:         16 << 10,
		URIBytes:         2048,
		BodyBytes:        8192,
		Headers:          50,
		HeaderBytes:      4096,
		MinRetryInterval: 15 * time.Second,
		MaxRetryInterval: eighteenMonths,
		MaxRetryCount:    20,
		MaxCatchUpWindow: 60 * day,
		Plans:            defaultPlans(),
	}
}

// maxStored is how many bytes a job may take in Temporal, with its secrets. 150
// attempts of a job can begin in one step of its workflow. Each has a copy of the
// action, and Temporal ends a workflow that records more than 4 MiB in a step. So a job
// cannot have room for the longest PFX file that the service's documents name, 32,768
// characters; they also say that a job has 16 KiB.
const maxStored = 24 << 10

// checkStored refuses a job that takes more than maxStored.
func (d *Definition) checkStored() error {
	text, err := json.Marshal(d) //workflowcheck:ignore // it always writes the same definition alike, as Temporal's SDK does
	if err != nil {
		return err
	}
	if len(text) > maxStored {
		return badRequest("The job must be at most %d bytes as Temporal stores it, with stored secrets (got %d). Shorten the body or headers; <, > and & take 6 bytes each", maxStored, len(text))
	}
	return nil
}

// orDefault returns l, or the default limits where l is nil.
func (l *Limits) orDefault() *Limits {
	if l == nil {
		return new(DefaultLimits())
	}
	return l
}

// checkSize refuses a body that is larger than is taken.
func (l *Limits) checkSize(body []byte) error {
	if len(body) <= l.JobBytes {
		return nil
	}
	return badRequest("The body is %d bytes long, more than the %d that are taken", len(body), l.JobBytes)
}
