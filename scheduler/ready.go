package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/workflows"
)

// A worker counts as alive if it polled within pollerFresh. A poll lasts up to a minute.
const pollerFresh = 90 * time.Second

// Ready returns nil if jobs can be stored and run: Temporal answers, the namespace exists, a worker polls
// both task queues, and Temporal accepts writes. Otherwise the error says what is missing. It returns
// within readyTimeout.
func (s *Service) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	_, err := s.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.namespace})
	if err != nil {
		return fmt.Errorf("temporal does not answer, or the namespace %q is not there", s.namespace)
	}
	for _, kind := range []enums.TaskQueueType{enums.TASK_QUEUE_TYPE_WORKFLOW, enums.TASK_QUEUE_TYPE_ACTIVITY} {
		queue, err := s.client.DescribeTaskQueue(ctx, workflows.TaskQueue, kind)
		if err != nil {
			return errors.New("temporal does not say whether a worker polls")
		}
		alive := false
		for _, p := range queue.GetPollers() {
			alive = alive || s.now().Sub(p.GetLastAccessTime().AsTime()) < pollerFresh
		}
		if !alive {
			return fmt.Errorf("no worker polls the task queue %q", workflows.TaskQueue)
		}
	}
	return s.takesWrites(ctx)
}

// SearchAttributes returns the search attributes that workflows are started with. The namespace must have
// them.
func SearchAttributes() map[string]enums.IndexedValueType {
	attributes := map[string]enums.IndexedValueType{}
	for _, name := range []string{
		workflows.AttributeSubscription, workflows.AttributeResourceGroup, workflows.AttributeCollection,
		workflows.AttributeJob, workflows.AttributeState,
	} {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	return attributes
}

// RegisterSearchAttributes adds the search attributes that the namespace lacks.
func (s *Service) RegisterSearchAttributes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	operator := s.client.OperatorService()
	known, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: s.namespace})
	if err != nil {
		return fmt.Errorf("list the search attributes of namespace %q: %w", s.namespace, err)
	}
	missing := SearchAttributes()
	for name := range known.GetCustomAttributes() {
		delete(missing, name)
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: s.namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("add search attributes to namespace %q: %w", s.namespace, err)
	}
	return nil
}
