package input

import (
	"encoding/json"
	"time"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/quota"
)

// Limits bound the input. [DefaultLimits] are those of Azure Scheduler. An operator may raise them, as far
// as maxStored allows.
type Limits struct {
	JobBytes         int // size of a job's or a collection's JSON, as sent and after a patch
	URIBytes         int // length of a request's URI
	BodyBytes        int // length of a request's body or of a message, in characters
	Headers          int // number of a request's headers
	HeaderBytes      int // total length of the names and values of a request's headers
	MinRetryInterval time.Duration
	MaxRetryInterval time.Duration
	MaxRetryCount    int
	MaxCatchUpWindow time.Duration
	Tiers            quota.Tiers // by SKU name

	// AllowSecretRetargeting keeps a secret that a change leaves out even if it is then sent to another
	// target, as Azure Scheduler did.
	AllowSecretRetargeting bool
}

const day = 24 * time.Hour

// eighteenMonths is Azure Scheduler's upper limit for durations. No 18 calendar months are longer.
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
		Tiers:            defaultTiers(),
	}
}

// kinds returns the limits of the parameters of actions and targets.
func (l *Limits) kinds() kind.Limits {
	return kind.Limits{URIBytes: l.URIBytes, BodyBytes: l.BodyBytes, Headers: l.Headers, HeaderBytes: l.HeaderBytes}
}

// maxStored is the size limit of a job in Temporal, with its secrets, in bytes. In one workflow task, 150
// attempts of a job can begin, each with a copy of the action, and Temporal terminates a workflow that
// records more than 4 MiB in one. So there is no room for the longest PFX file in the service's
// documentation, 32,768 characters. The documentation also limits a job to 16 KiB.
const maxStored = 24 << 10

// checkStored returns an error if a job takes more than maxStored.
func checkStored(d *job.Definition) error {
	text, err := json.Marshal(d) //workflowcheck:ignore // it always writes the same definition alike, as Temporal's SDK does
	if err != nil {
		return err
	}
	if len(text) > maxStored {
		return badRequest("The job must be at most %d bytes as Temporal stores it, with stored secrets (got %d). Shorten the body or headers; <, > and & take 6 bytes each", maxStored, len(text))
	}
	return nil
}

// orDefault returns l, or the default limits if l is nil.
func (l *Limits) orDefault() *Limits {
	if l == nil {
		return new(DefaultLimits())
	}
	return l
}
