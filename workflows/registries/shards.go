package registries

import (
	"go.temporal.io/sdk/workflow"

	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

// A shards is a set of the workflows that deliver the alerts of a collection's jobs, with a bit for each number of a
// [notification.Shard].
type shards uint32

// noteShards notes the shards that begin.
func (c *collection) noteShards(ctx workflow.Context) {
	begun := await.Signals(ctx, workflows.SignalNotifying, "alerts of jobs are delivered")
	c.commands = append(c.commands, begun)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			number := 0
			begun.Receive(ctx, &number)
			if number >= 0 && number <= notification.Shards {
				c.Notifying |= 1 << number
			}
			c.note()
		}
	})
}

// endShards ends the delivery of alerts. Shards that have never begun are not asked.
func (c *collection) endShards(ctx workflow.Context) {
	var ended []workflow.Future
	for number := range 1 + notification.Shards {
		if c.Notifying&(1<<number) != 0 {
			shard := notification.Shard{Collection: c.Key, Number: number}
			ended = append(ended, workflow.SignalExternalWorkflow(ctx, shard.WorkflowID(), "", workflows.SignalEnd, nil))
		}
	}
	for _, e := range ended {
		_ = e.Get(ctx, nil) // it may have ended
	}
}
