package workflows

import "almanac/job"

// A BackfillChange changes a backfill.
type BackfillChange struct {
	Name   string             `json:"name"`
	Action job.BackfillAction `json:"action"`
}
