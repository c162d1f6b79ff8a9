package scheduler

import (
	"context"
	"errors"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/quota"
	"almanac/scheduler/core"
	"almanac/workflows"
	"almanac/workflows/registries"
)

// Collection returns a collection.
func (s *Service) Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	return s.core.Collection(ctx, k)
}

// PutCollection creates a collection, or replaces its properties. created reports which. c must be as
// [almanac/job/input.ParseCollection] returns it, with a key.
//
// Unless check is nil, it is called with the collection that is then replaced, or with nil before a new one is made.
// An error of it is returned.
func (s *Service) PutCollection(
	ctx context.Context, c job.Collection, check func(current *job.Collection) error,
) (stored job.Collection, created bool, err error) {
	if err := c.Key.Validate(); err != nil {
		return job.Collection{}, false, err
	}
	next, err := s.turns.Take(ctx, c.Key.WorkflowID())
	if err != nil {
		return job.Collection{}, false, err
	}
	defer next()
	stored, created, err = put(ctx,
		func() (job.Collection, error) {
			if err := s.core.Reach(ctx); err != nil {
				return job.Collection{}, err
			}
			generation, err := s.checkCollection(ctx, c.Key, check)
			if err != nil {
				return job.Collection{}, err
			}
			return s.replaceCollection(ctx, c, generation, c.Properties.Blackouts == nil)
		},
		func() (job.Collection, error) {
			if check != nil {
				if err := check(nil); err != nil {
					return job.Collection{}, err
				}
			}
			if err := s.requireSpace(); err != nil {
				return job.Collection{}, err
			}
			return startInTime(ctx, func(ctx context.Context) (job.Collection, error) { return s.createCollection(ctx, c) })
		})
	return stored, created, s.core.Error(ctx, err, core.MissingCollection(c.Key))
}

// PatchCollection replaces a collection's properties with those that edit returns, which must be as
// [almanac/job/input.MergeCollection] returns them. edit is called again if the collection was changed meanwhile.
func (s *Service) PatchCollection(
	ctx context.Context, k job.CollectionKey, edit func(current job.Collection) (job.Collection, error),
) (stored job.Collection, err error) {
	next, err := s.turns.Take(ctx, k.WorkflowID())
	if err != nil {
		return job.Collection{}, err
	}
	defer next()
	err = core.UntilUncontended(ctx, func() error {
		current, err := s.Collection(ctx, k)
		if err != nil {
			return err
		}
		edited, err := edit(current)
		if err != nil {
			return err
		}
		stored, err = s.replaceCollection(ctx, edited, current.Generation, false)
		return err
	})
	return stored, s.core.Error(ctx, err, core.MissingCollection(k))
}

// checkCollection calls check with the collection and returns its generation, which the change then has to name. It
// returns 0, which stands for any, if there is nothing to check.
func (s *Service) checkCollection(
	ctx context.Context, k job.CollectionKey, check func(current *job.Collection) error,
) (generation int, err error) {
	if check == nil {
		return 0, nil
	}
	current, err := s.Collection(ctx, k)
	if err != nil {
		return 0, err
	}
	return current.Generation, check(&current)
}

// DeleteCollection is [operations.Operations.DeleteCollection] with a check, as for [Service.PutCollection].
func (s *Service) DeleteCollection(
	ctx context.Context, k job.CollectionKey, check func(current *job.Collection) error,
) (operation *job.Operation, err error) {
	err = core.UntilUncontended(ctx, func() error {
		generation, err := s.checkCollection(ctx, k, check)
		if err == nil {
			operation, err = s.Operations.DeleteCollection(ctx, k, generation)
		}
		return err
	})
	return operation, err
}

// replaceCollection replaces the properties of a collection, but for its blackouts if it keeps them. It fails if expected
// is not 0 and the collection's generation is a different one.
func (s *Service) replaceCollection(
	ctx context.Context, c job.Collection, expected int, keep bool,
) (stored job.Collection, err error) {
	err = s.core.Update(ctx, c.Key.WorkflowID(), workflows.UpdatePut, &stored,
		workflows.PutRequest{
			Collection: c, Limits: new(quota.LimitsOf(&c.Properties, s.limits.Tiers[c.Properties.SKU.Name])), Expected: expected,
			Retarget: s.limits.AllowSecretRetargeting, KeepBlackouts: keep,
		})
	return stored, err
}

// createCollection registers the collection's name in its subscription and starts its workflow. The name
// counts against the quota from then on. If the start fails, the subscription forgets the name.
func (s *Service) createCollection(ctx context.Context, c job.Collection) (job.Collection, error) {
	complete, err := input.KeepCollectionSecrets(c.Properties, job.CollectionProperties{}, false)
	if err != nil {
		return job.Collection{}, err
	}
	if c.Properties = complete; len(c.Properties.Blackouts) == 0 {
		c.Properties.Blackouts = nil
	}
	limits := quota.LimitsOf(&c.Properties, s.limits.Tiers[c.Properties.SKU.Name])
	registered, err := s.registerCollection(ctx, c.Key.Subscription,
		workflows.RegisterCollectionRequest{Name: c.Key.Path(), Plan: limits.Plan, Limit: limits.Collections})
	if err != nil {
		return job.Collection{}, err
	}
	c.Generation = registered.Number // greater than that of any earlier collection of the name
	return c, s.start(ctx, client.StartWorkflowOptions{
		ID:            c.Key.WorkflowID(),
		StaticSummary: "job collection " + c.Key.Name,
		StaticDetails: "`" + c.Key.ARMID() + "`",
		Memo: map[string]any{
			workflows.MemoText: "job collection " + c.Key.Name, workflows.MemoID: c.Key.ARMID(),
			workflows.MemoRegistration: registered.Number,
		},
		TypedSearchAttributes: temporal.NewSearchAttributes(collectionAttributes(c.Key)...),
		Priority:              collectionPriority,
	}, workflows.TypeCollection, registries.CollectionInput{Collection: c, Registration: registered.Number})
}

// collectionPriority is the priority of the tasks of collections and subscriptions, ahead of those of jobs:
// callers that create jobs wait for them, and a herd of due jobs may queue thousands.
var collectionPriority = temporal.Priority{PriorityKey: 1}

// registerCollection registers a collection in its subscription. It starts the subscription's workflow if
// that does not exist yet.
func (s *Service) registerCollection(
	ctx context.Context, subscription string, r workflows.RegisterCollectionRequest,
) (registered workflows.Registration, err error) {
	ctx, cancel := context.WithTimeout(ctx, core.TryTimeout)
	defer cancel()
	id := job.SubscriptionWorkflowID(subscription)
	for {
		err := s.core.Update(ctx, id, workflows.UpdateRegister, &registered, r)
		if !wfclient.IsGone(err) {
			return registered, err
		}
		err = s.start(ctx, client.StartWorkflowOptions{
			ID: id, StaticSummary: "subscription " + subscription, Priority: collectionPriority,
			Memo: map[string]any{workflows.MemoSubscription: subscription},
		},
			workflows.TypeSubscription, registries.SubscriptionInput{Subscription: subscription})
		if err != nil && !errors.Is(err, core.ErrLost) {
			return registered, err
		}
	}
}
