package plan

import (
	"hash/fnv"
	"time"

	"almanac/job"
)

// The lead of a new job lies between these, by a hash of its name, so that a herd of new jobs is
// dispatched over 12 s.
const (
	leastFirstLead = 8 * time.Second
	mostFirstLead  = 20 * time.Second
)

// FirstLead returns how long before its due time the first occurrence of a new job is dispatched, in
// milliseconds.
func FirstLead(k job.Key) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(k.WorkflowID()))
	return int(leastFirstLead.Milliseconds()) + int(hash.Sum32()%uint32((mostFirstLead-leastFirstLead).Milliseconds()))
}
