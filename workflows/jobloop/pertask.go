package jobloop

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/workflows/internal/await"
)

// What one workflow task does at most. The server terminates a workflow whose task takes more than 4 MiB in all. The
// requests of the updates that it accepts are among that, and bounded by the server's setting
// history.maxInFlightUpdatePayloads or by the number of updates in flight.
const (
	activitiesPerTask = 50 // of actions: 1.6 MB with the largest definition, names and texts
	answersPerTask    = 25 // of updates: 0.7 MB with the largest definition
)

// A perTask counts what one workflow task does. Time stands still within a task.
type perTask struct {
	turns await.Turns
	task  time.Time
	done  int
}

// await waits for a later task if this one has done so much already, or until ctx is cancelled.
func (p *perTask) await(ctx workflow.Context, most int) {
	if p.turns.Wait(ctx) != nil {
		return
	}
	defer p.turns.End()
	if now := workflow.Now(ctx); !now.Equal(p.task) {
		p.task, p.done = now, 0
	}
	if p.done == most {
		if workflow.Sleep(ctx, time.Millisecond) != nil {
			return
		}
		p.task, p.done = workflow.Now(ctx), 0
	}
	p.done++
}
