package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"almanac/job"
	"almanac/workflows"
)

// maxParallel bounds how many workflows one list asks at once.
const maxParallel = 16

func missingCollection(k job.CollectionKey) *job.Error {
	return job.NotFound("jobcollections/"+k.Name, k.ResourceGroup)
}

// Collection returns a collection.
func (s *Service) Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	if err := k.Validate(); err != nil {
		return job.Collection{}, err
	}
	var c job.Collection
	err := s.query(ctx, k.WorkflowID(), workflows.QueryStatus, &c)
	return c, s.fail(ctx, err, missingCollection(k))
}

// PutCollection creates a collection, or replaces its properties. It reports
// whether it was created.
func (s *Service) PutCollection(ctx context.Context, k job.CollectionKey, body []byte) (job.Collection, bool, error) {
	if err := k.Validate(); err != nil {
		return job.Collection{}, false, err
	}
	c, err := job.ParseCollection(body, s.limits)
	if err != nil {
		return job.Collection{}, false, err
	}
	for {
		c.Key = k
		var stored job.Collection
		err := s.update(ctx, updateTimeout, k.WorkflowID(), workflows.UpdatePut, &stored, c)
		if err == nil || !isGone(err) {
			return stored, false, s.fail(ctx, err, missingCollection(k))
		}
		err = s.startCollection(ctx, c)
		if !errors.Is(err, errLost) || ctx.Err() != nil {
			return c, err == nil, s.fail(ctx, err, missingCollection(k))
		}
		// It was created meanwhile, or is still being deleted.
		if err := sleep(ctx, retryPause); err != nil {
			return job.Collection{}, false, s.fail(ctx, err, nil)
		}
	}
}

// retryPause is the pause before something is tried again that lost a race.
const retryPause = 50 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) startCollection(ctx context.Context, c job.Collection) error {
	err := s.start(ctx, client.StartWorkflowOptions{
		ID:                    c.Key.WorkflowID(),
		StaticSummary:         "job collection " + c.Key.Name,
		StaticDetails:         "`" + c.Key.ARMID() + "`",
		Memo:                  map[string]any{workflows.MemoText: "job collection " + c.Key.Name, workflows.MemoID: c.Key.ARMID()},
		TypedSearchAttributes: temporal.NewSearchAttributes(collectionAttributes(c.Key)...),
	}, workflows.TypeCollection, workflows.CollectionInput{Collection: c})
	if err != nil {
		return err
	}
	s.awaitListed(ctx, c.Key, true)
	return nil
}

func collectionAttributes(k job.CollectionKey) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	return []temporal.SearchAttributeUpdate{
		keyword(workflows.AttributeSubscription).ValueSet(job.Fold(k.Subscription)),
		keyword(workflows.AttributeResourceGroup).ValueSet(job.Fold(k.ResourceGroup)),
		keyword(workflows.AttributeCollection).ValueSet(job.Fold(k.Name)),
	}
}

// DeleteCollection deletes a collection and its jobs. When it returns without
// an error, all are gone.
func (s *Service) DeleteCollection(ctx context.Context, k job.CollectionKey) error {
	if err := k.Validate(); err != nil {
		return err
	}
	err := s.update(ctx, deleteTimeout, k.WorkflowID(), workflows.UpdateDelete, nil)
	if err == nil {
		s.awaitListed(ctx, k, false)
	}
	return s.fail(ctx, err, missingCollection(k))
}

// Collections returns the collections of a subscription, or of one of its
// resource groups, sorted by name.
func (s *Service) Collections(ctx context.Context, subscription, resourceGroup string) ([]job.Collection, error) {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running' AND %s = '%s'",
		workflows.TypeCollection, workflows.AttributeSubscription, quote(subscription))
	if resourceGroup != "" {
		query += fmt.Sprintf(" AND %s = '%s'", workflows.AttributeResourceGroup, quote(resourceGroup))
	}
	ids, err := s.list(ctx, query)
	if err != nil {
		return nil, s.fail(ctx, err, nil)
	}
	found, err := queryAll[job.Collection](ctx, s, ids)
	if err != nil {
		return nil, s.fail(ctx, err, nil)
	}
	slices.SortFunc(found, func(a, b job.Collection) int {
		return cmp.Or(strings.Compare(job.Fold(a.Key.Name), job.Fold(b.Key.Name)), strings.Compare(job.Fold(a.Key.ResourceGroup), job.Fold(b.Key.ResourceGroup)))
	})
	return found, nil
}

// quote prepares a name for a string in a visibility query.
func quote(name string) string { return strings.ReplaceAll(job.Fold(name), "'", "''") }

// list returns the ids of the workflows that a visibility query finds.
func (s *Service) list(ctx context.Context, query string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	var ids []string
	var token []byte
	for {
		page, err := s.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: token})
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			ids = append(ids, e.GetExecution().GetWorkflowId())
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return ids, nil
		}
	}
}

// queryAll asks workflows for their status, in parallel. The answers keep the
// order; workflows that are gone are left out.
func queryAll[T any](ctx context.Context, s *Service, ids []string) ([]T, error) {
	answers, there := make([]T, len(ids)), make([]bool, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for i, id := range ids {
		group.Go(func() error {
			err := s.query(ctx, id, workflows.QueryStatus, &answers[i])
			there[i] = err == nil
			if isGone(err) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	present := answers[:0]
	for i, ok := range there {
		if ok {
			present = append(present, answers[i])
		}
	}
	return present, nil
}

// awaitListed waits until the visibility store, which lags behind by some
// milliseconds, knows that a collection is there, or gone, so that a list right
// after a write shows it. A store that is slow beyond measure does not make the
// write fail.
func (s *Service) awaitListed(ctx context.Context, k job.CollectionKey, there bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	query := fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Running'", quote(k.WorkflowID()))
	for {
		ids, err := s.list(ctx, query)
		if err == nil && (len(ids) > 0) == there {
			return
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			s.log.WarnContext(ctx, "the list of collections lags behind", "collection", k.ARMID())
			return
		}
	}
}
