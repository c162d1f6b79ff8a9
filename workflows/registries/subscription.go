package registries

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/input"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

// SubscriptionInput is the input of a run of [Subscription].
type SubscriptionInput struct {
	Subscription string `json:"sub"`
	Collections  Names  `json:"collections"` // each "resource group/name"
}

// Subscription is the registry of one subscription's collections. It ends when the last one is gone.
func Subscription(ctx workflow.Context, in SubscriptionInput) error {
	if in.Subscription == "" {
		return workflows.ErrForeign
	}
	s := &subscription{name: in.Subscription}
	s.registry = newRegistry(ctx, in.Collections, func(name string) string {
		return job.CollectionWorkflowID(s.name, name)
	})
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryCollections, func() ([]string, error) { return s.names(), nil },
			workflow.QueryHandlerOptions{Description: "the subscription's job collections, each with its resource group"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateRegister, s.register,
			workflow.UpdateHandlerOptions{Validator: s.mayRegister, Description: "reserve a name for a new job collection"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateConfirm, s.confirm,
			workflow.UpdateHandlerOptions{Description: "whether a name is registered for the job collection that asks"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateReserve, s.reserve,
			workflow.UpdateHandlerOptions{Validator: s.mayReserve, Description: "reserve a place for a job collection that changes its plan"}),
	)
	s.plans = await.Signals(ctx, workflows.SignalPlan, "the plan of a job collection after it was to change")
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var r workflows.PlanChange
			s.plans.Receive(ctx, &r)
			s.count(r, true)
		}
	})
	if err != nil {
		return err
	}
	return s.run(ctx)
}

type subscription struct {
	*registry
	name  string
	plans workflow.ReceiveChannel
}

func (s *subscription) run(ctx workflow.Context) error {
	over := func() bool { return len(s.entries) == 0 && s.changes > 0 && s.idle(ctx) }
	for {
		s.changed = false
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("subscription %s: %d job collections", s.name, len(s.entries)))
		switch {
		case over():
			return nil
		case s.idle(ctx) && s.long(ctx):
			return workflow.NewContinueAsNewError(ctx, workflows.TypeSubscription,
				SubscriptionInput{Subscription: s.name, Collections: s.handOver()})
		}
		verify, err := s.wait(ctx, over)
		if verify {
			err = s.verify(ctx, false)
		}
		if temporal.IsCanceledError(err) {
			// cancellation is ignored while collections are registered, so that they stay listed
			ctx, _ = workflow.NewDisconnectedContext(ctx)
			continue
		}
		if err != nil {
			return err
		}
	}
}

// mayRegister refuses a collection whose plan is misspelled or without room, before the update is written to the
// history.
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

// idle reports whether no update or signal is pending or being handled.
func (s *subscription) idle(ctx workflow.Context) bool {
	return s.plans.Len() == 0 && s.handlersFinished(ctx)
}

// room returns an error if the quota or the registry's size leaves no room for the collection.
func (s *subscription) room(r *workflows.RegisterCollectionRequest) error {
	if s.full(r.Name) {
		return workflows.Refusef(workflows.ErrTypeConflict,
			"The subscription '%s' is full: it has %d job collections, whose names take as much as can be kept together. "+
				"Delete one, or use another subscription.", s.name, len(s.entries))
	}
	return s.place(r.Name, r.Plan, r.Limit)
}

// place returns an error if a plan's quota leaves no place for a collection.
func (s *subscription) place(name, plan string, limit int) error {
	at, have := s.find(name), 0
	for i := range s.entries {
		if e := &s.entries[i]; i != at && (slices.Contains(e.Plans, plan) || e.Before != nil && slices.Contains(e.Before.Plans, plan)) {
			have++
		}
	}
	if have >= limit {
		return workflows.Refusef(workflows.ErrTypeConflict,
			"The subscription '%s' has %d job collections of the plan %s already, and may have %d. Delete one, or choose another plan.",
			s.name, have, plan, limit)
	}
	return nil
}

// register registers the collection.
func (s *subscription) register(ctx workflow.Context, r workflows.RegisterCollectionRequest) (workflows.Registration, error) {
	if err := s.afterRecount(ctx, func() error { return s.room(&r) }); err != nil {
		return workflows.Registration{}, err
	}
	return s.registry.register(ctx, r.Name, Claim{Plans: []string{r.Plan}}), nil
}

func (s *subscription) mayReserve(ctx workflow.Context, r workflows.PlanChange) error {
	err := input.CheckSpelling(&r) //workflowcheck:ignore // a validator is not replayed
	if err != nil {
		return workflows.Refuse(workflows.ErrTypeInvalid, err.Error())
	}
	if s.mayRecount(ctx) {
		return nil
	}
	return s.place(r.Name, r.Plan, r.Limit)
}

// reserve counts a collection for the plan that it is about to have, and for the one that it has.
func (s *subscription) reserve(ctx workflow.Context, r workflows.PlanChange) error {
	if err := s.afterRecount(ctx, func() error { return s.place(r.Name, r.Plan, r.Limit) }); err != nil {
		return err
	}
	s.count(r, false)
	return nil
}

// count records the plan of a collection, if that is registered: otherwise it is about to be deleted.
func (s *subscription) count(r workflows.PlanChange, final bool) {
	s.note()
	i := s.find(r.Name)
	if i < 0 {
		return
	}
	claim := s.entries[i].of(r.Generation)
	if claim == nil {
		return
	}
	plans := []string{r.Plan}
	if !final {
		plans = union(claim.Plans, plans)
	}
	claim.reserve(r.Generation, Claim{Plans: plans}, final)
}
