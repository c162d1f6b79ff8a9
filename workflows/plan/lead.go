package plan

import (
	"hash/fnv"
	"time"

	"almanac/job"
)

// The lead of a job that sleeps is how long before its due time an occurrence is dispatched. It follows from the job's
// name, so that the dispatches of a herd, each of which costs the server three writes, are spread over more than four
// minutes, and end before the fences begin. If workers hold nothing for so long, the lead is short, and spread over 15
// s.
const (
	leastLead = 40 * time.Second
	mostLead  = 5 * time.Minute

	leastShortLead = 15 * time.Second
	mostShortLead  = 30 * time.Second
)

// Lead returns the lead of a job.
func Lead(k job.Key) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(k.WorkflowID()))
	span := uint32((mostLead - leastLead).Milliseconds())
	return leastLead + time.Duration(hash.Sum32()%span)*time.Millisecond
}

// Shorten returns lead or, if workers hold nothing for as long, a short lead that follows from it.
func Shorten(lead, hold time.Duration) time.Duration {
	if lead <= max(hold, mostShortLead) {
		return lead
	}
	return leastShortLead + lead%(mostShortLead-leastShortLead)
}
