package setup

import (
	"context"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/workflows"
)

// adviceTimeout is the time limit of the calls that only serve advice.
const adviceTimeout = 5 * time.Second

// advise prints what the dynamic settings of Temporal's server lack, as far as clients can see them: whether
// workflows take updates, and the partitions of the task queue.
func (o Options) advise(ctx context.Context, capabilities *namespace.NamespaceInfo_Capabilities) {
	if capabilities != nil && !capabilities.GetSyncUpdate() {
		o.print("setting            frontend.enableUpdateWorkflowExecution is off: jobs can be neither changed nor deleted. Set it to true")
	}
	ctx, cancel := context.WithTimeout(ctx, adviceTimeout)
	defer cancel()
	found, err := o.Client.WorkflowService().ListTaskQueuePartitions(ctx, &workflowservice.ListTaskQueuePartitionsRequest{
		Namespace: o.Namespace, TaskQueue: &taskqueue.TaskQueue{Name: workflows.TaskQueue},
	})
	if err != nil {
		return // some servers do not show them
	}
	if n := max(len(found.GetWorkflowTaskQueuePartitions()), len(found.GetActivityTaskQueuePartitions())); n > 1 {
		o.print("setting            the task queue %q has %d partitions. With one, jobs are more punctual unless they are many: set matching.numTaskqueueReadPartitions and matching.numTaskqueueWritePartitions to 1 for it",
			workflows.TaskQueue, n)
	}
	o.print("setting            others cannot be seen from here: compare the table in docs/tuning.md, \"Temporal's server\"")
}
