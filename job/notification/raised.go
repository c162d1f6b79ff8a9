package notification

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"almanac/job"
)

// A Raised is an alert and the notifications by which it is sent: those of its job, with their targets, or the keys of
// those of the collection.
type Raised struct {
	Alert   Alert              `json:"alert"`
	Own     []job.Notification `json:"own,omitempty"`
	Inherit []string           `json:"inherit,omitempty"`
	Lost    int                `json:"lost,omitempty"` // not an alert, but a notice that the job dropped so many
}

// Shards is the number of the workflows that deliver the alerts of a collection's jobs to the targets of these jobs.
// Each holds 1.5 MB, so together they hold the alerts of 10,000 jobs that fail at once, each with a target of its own
// and 1.8 kB in size, if all targets hang. They are few, so that the alerts of a storm come many at a time to each.
const Shards = 12

// A Shard is one of the workflows that deliver the alerts of a collection's jobs. Shard 0 delivers to the targets of
// the collection, which are at most ten. Those from 1 to [Shards] deliver to the targets of jobs, and each target
// belongs to one of them.
type Shard struct {
	Collection job.CollectionKey `json:"collection"`
	Number     int               `json:"shard,omitempty"`
}

// WorkflowID returns the ID of the shard's workflow.
func (s Shard) WorkflowID() string { return s.Collection.NotificationsWorkflowID(s.Number) }

// TargetID returns what targets have in common that get their messages together: a hash.
func TargetID(target *job.Target) string {
	v := writerOf(target).identity(target)
	text, _ := json.Marshal(v) //workflowcheck:ignore // of types without maps it is deterministic, and has no error
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// shardOf returns the number of the shard that delivers to a target of a job.
func shardOf(target *job.Target) int {
	sum, _ := hex.DecodeString(TargetID(target)[:2])
	return 1 + int(sum[0])%Shards
}

// Split returns the parts of raised alerts, by the number of the shard that delivers them.
func Split(raised []Raised) [1 + Shards][]Raised {
	var parts [1 + Shards][]Raised
	for _, r := range raised {
		if len(r.Own) == 0 {
			parts[0] = append(parts[0], r)
			continue
		}
		var own [1 + Shards][]job.Notification
		for _, n := range r.Own {
			shard := shardOf(&n.Target)
			own[shard] = append(own[shard], n)
		}
		for shard, some := range own {
			if len(some) > 0 {
				parts[shard] = append(parts[shard], Raised{Alert: r.Alert, Own: some})
			}
		}
	}
	return parts
}
