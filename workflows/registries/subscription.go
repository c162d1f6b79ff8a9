package registries

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/input"
	"almanac/workflows"
)

// SubscriptionInput is the input of a run of [Subscription].
type SubscriptionInput struct {
	Subscription string         `json:"sub"`
	Collections  []Registration `json:"collections,omitempty"` // Name is "resource group/name"
	Sequence     int            `json:"seq,omitempty"`
}

// Subscription is the registry of one subscription's collections. It ends when the last one is gone.
func Subscription(ctx workflow.Context, in SubscriptionInput) error {
	if in.Subscription == "" {
		return workflows.ErrForeign
	}
	s := &subscription{name: in.Subscription}
	s.registry = newRegistry(ctx, in.Collections, in.Sequence, func(name string) string {
		return job.CollectionWorkflowID(s.name, name)
	})
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryCollections, func() ([]string, error) { return s.names(), nil },
			workflow.QueryHandlerOptions{Description: "the subscription's job collections, each with its resource group"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateRegister, s.register,
			workflow.UpdateHandlerOptions{Validator: s.mayRegister, Description: "reserve a name for a new job collection"}),
	)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

type subscription struct {
	*registry
	name string
}

func (s *subscription) run(ctx workflow.Context) error {
	over := func() bool { return len(s.entries) == 0 && s.changes > 0 && s.quiet(ctx) }
	for {
		s.changed = false
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("subscription %s: %d job collections", s.name, len(s.entries)))
		switch {
		case over():
			return nil
		case s.quiet(ctx) && s.long(ctx):
			return workflow.NewContinueAsNewError(ctx, workflows.TypeSubscription,
				SubscriptionInput{Subscription: s.name, Collections: s.entries, Sequence: s.sequence})
		}
		verify, err := s.wait(ctx, over)
		if verify {
			err = s.verify(ctx, false)
		}
		if temporal.IsCanceledError(err) { // cancellation is ignored while collections are registered, so that they stay listed
			ctx, _ = workflow.NewDisconnectedContext(ctx)
			continue
		}
		if err != nil {
			return err
		}
	}
}

// mayRegister refuses a collection whose plan is misspelled or without room, before the update is written to the history.
func (s *subscription) mayRegister(ctx workflow.Context, r workflows.RegisterCollectionRequest) error {
	err := input.CheckSpelling(&r) //workflowcheck:ignore // a validator is not replayed
	if err != nil {
		return workflows.Refuse(workflows.ErrTypeInvalid, err.Error())
	}
	if s.mayRecount(ctx) {
		return nil
	}
	return s.room(&r)
}

// room returns an error if the quota or the registry's size leaves no room for the collection.
func (s *subscription) room(r *workflows.RegisterCollectionRequest) error {
	at, have := s.find(r.Name), 0
	for i, e := range s.entries {
		if e.Plan == r.Plan && i != at {
			have++
		}
	}
	if at < 0 && !r.Reserve && s.full(r.Name) {
		return workflows.Refuse(workflows.ErrTypeConflict, fmt.Sprintf("The subscription '%s' is full: it has %d job collections, whose names take as much as can be kept together. "+
			"Delete one, or use another subscription.", s.name, len(s.entries)))
	}
	if have >= r.Limit {
		return workflows.Refuse(workflows.ErrTypeConflict, fmt.Sprintf(
			"The subscription '%s' has %d job collections of the plan %s already, and may have %d. Delete one, or choose another plan.",
			s.name, have, r.Plan, r.Limit))
	}
	return nil
}

// register registers the collection and returns its name as first written.
func (s *subscription) register(ctx workflow.Context, r workflows.RegisterCollectionRequest) (string, error) {
	if err := s.afterRecount(ctx, func() error { return s.room(&r) }); err != nil {
		return "", err
	}
	i := s.find(r.Name)
	switch {
	case i < 0 && r.Reserve: // the collection is about to be deleted
		return r.Name, nil
	case i < 0:
		s.add(Registration{Name: r.Name, Plan: r.Plan, Unverified: workflow.Now(ctx)})
		return r.Name, nil
	case !r.Reserve:
		s.contest(ctx, i)
	}
	s.note()
	s.entries[i].Plan = r.Plan
	return s.entries[i].Name, nil
}
