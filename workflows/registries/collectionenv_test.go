package registries_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"almanac/activities/lookups"
	"almanac/job"
	"almanac/job/quota"
	"almanac/workflows"
	"almanac/workflows/registries"
)

// A collectionEnv runs a job collection in skipped time.
type collectionEnv struct {
	deliveryEnded []string // ids of the workflows that deliver alerts and were ended

	*registryEnv
	input   registries.CollectionInput
	absent  func(name string) bool // jobs that do not exist
	slow    time.Duration          // duration of the first signal, or call of the update activity
	planErr error                  // error of asking the subscription for a place
	full    string                 // the subscription's reason to refuse another plan
	silent  func(name string) bool // jobs that do not answer
	stuck   func(name string) bool // jobs that cannot be terminated

	updates []string                 // updates and signals received, such as "00:00:10 a collection true"
	sizes   []int                    // workflows per call of the update activity
	plans   []workflows.PlanChange   // requests to the subscription
	inForce []workflows.PlanChange   // signals to the subscription
	confirm error                    // the subscription's answer to a collection that was started late
	asks    []workflows.Registration // such questions
	left    []string                 // collections unregistered from the subscription
	asked   []string                 // updates of jobs that do not answer, such as "00:00:10 a collection false 2s"
	ended   []string                 // jobs terminated
}

func newCollectionEnv(t *testing.T, state job.CollectionState, names ...string) *collectionEnv {
	h := &collectionEnv{registryEnv: newRegistryEnv(t, func(id string) string {
		name, err := url.PathUnescape(id[strings.LastIndex(id, "/")+1:])
		require.NoError(t, err)
		return name
	})}
	h.absent = func(name string) bool { return slices.Contains(h.missing, name) }
	h.input.Collection = job.Collection{Key: key.Collection, Properties: properties(state), Generation: 1}
	h.input.Registration = number(0)
	h.input.Jobs = h.existing(names...)
	return h
}

// existing returns a registry of names that were registered an hour ago, and whose workflows exist.
func (s *registryEnv) existing(names ...string) (all registries.Names) {
	for i, name := range names {
		all.Last = number(-time.Hour) + i
		s.own(job.NormalizeName(name), all.Last)
		all.Entries = append(all.Entries, registries.Entry{Name: name, Sequence: i + 1, Claim: registries.Claim{Number: all.Last}})
	}
	all.Sequence = len(names)
	return all
}

func properties(state job.CollectionState) job.CollectionProperties {
	return job.CollectionProperties{SKU: job.SKU{Name: "Standard"}, State: state}
}

// upTo returns the rules of the plan Standard with a quota of jobs.
func upTo(jobs int) *quota.Limits {
	return &quota.Limits{Plan: "Standard", Jobs: jobs, MinRecurrence: time.Minute, Authentication: true, Collections: 100}
}

// tiers returns plans with which a collection has these limits.
func tiers(l *quota.Limits) quota.Tiers {
	return quota.Tiers{l.Plan: {Jobs: l.Jobs, MinRecurrence: l.MinRecurrence, Collections: l.Collections, Authentication: l.Authentication}}
}

func registering(limits *quota.Limits, jobs ...workflows.RegisterJob) workflows.RegisterRequest {
	return workflows.RegisterRequest{Jobs: jobs, Tiers: tiers(limits)}
}

// register registers a name whose workflow is then started.
func (h *collectionEnv) register(after time.Duration, name string, limit int) *reply {
	r := h.update(after, workflows.UpdateRegister, registering(upTo(limit), workflows.RegisterJob{Name: name}))
	h.starts(after, name)
	return r
}

func (h *collectionEnv) put(after time.Duration, state job.CollectionState) *reply {
	return h.update(after, workflows.UpdatePut, workflows.PutRequest{Collection: job.Collection{Properties: properties(state)}})
}

// query queries the jobs.
func (h *collectionEnv) query() []workflows.Listed {
	value, err := h.env.QueryWorkflow(workflows.QueryJobs)
	require.NoError(h.t, err)
	var list workflows.JobList
	require.NoError(h.t, value.Get(&list))
	require.Equal(h.t, key.Collection, list.Collection)
	return list.Jobs
}

// listed queries the jobs at a time.
func (h *collectionEnv) listed(after time.Duration) *[]workflows.Listed {
	got := []workflows.Listed{{Name: "not asked"}}
	h.at(after, func() { got = h.query() })
	return &got
}

// names queries the names of the jobs at a time.
func (h *collectionEnv) names(after time.Duration) *[]string {
	got := []string{"not asked"}
	h.at(after, func() {
		got = nil
		for _, l := range h.query() {
			got = append(got, l.Name)
		}
	})
	return &got
}

// errStopped means that the collection existed until the end of the test.
var errStopped = errors.New("the test is over")

// run runs the collection's workflow once and returns its error: errStopped if it existed until the end.
func (h *collectionEnv) run(until time.Duration) error {
	h.prepare(workflows.TypeCollection, registries.Collection)
	var first sync.Once
	wait := func() (d time.Duration) {
		first.Do(func() { d = h.slow })
		return d
	}
	h.env.RegisterActivityWithOptions(h.tell, activity.RegisterOptions{Name: lookups.TypeUpdateAll})
	h.env.RegisterActivityWithOptions(h.updateSubscription, activity.RegisterOptions{Name: lookups.TypeUpdate})
	h.env.RegisterActivityWithOptions(h.terminate, activity.RegisterOptions{Name: lookups.TypeTerminate})
	if h.slow > 0 {
		h.env.OnActivity(lookups.TypeUpdateAll, mock.Anything, mock.Anything).AfterFn(wait).Return(h.tell).Maybe()
		h.env.OnActivity(lookups.TypeUpdate, mock.Anything, mock.Anything, mock.Anything, mock.Anything).AfterFn(wait).Return(h.updateSubscription).Maybe()
	}
	h.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, "", mock.Anything, mock.Anything).AfterFn(wait).
		Return(func(_, id, _, signal string, argument any) error { return h.signalled(id, signal, argument) }).Maybe()
	h.env.RegisterDelayedCallback(func() { h.stopped = true; h.env.CancelWorkflow() }, until)
	if err := h.play(workflows.TypeCollection, h.input); err != nil || !h.stopped {
		return err
	}
	return errStopped
}

// handOver makes the run continue as new at the given time, and returns the next run's input.
func (h *collectionEnv) handOver(at time.Duration) registries.CollectionInput {
	h.at(at-time.Millisecond, func() { h.env.SetContinueAsNewSuggested(true) })
	h.removed(at, "stranger") // wakes the loop
	return continued[registries.CollectionInput](h.t, h.run(time.Hour))
}

// receive records an update or signal of a job. It reports whether the job exists.
func (h *collectionEnv) receive(id, what string, argument any) bool {
	name := h.name(id)
	require.Equal(h.t, key.Collection.Job(name).WorkflowID(), id)
	if h.stopped || h.absent(name) {
		return false
	}
	line := clock(h.env.Now()) + " " + name + " " + what
	if argument != nil {
		line += fmt.Sprint(" ", argument)
	}
	h.updates = append(h.updates, line)
	return true
}

// tell is a fake of the activity that updates workflows.
func (h *collectionEnv) tell(_ context.Context, in lookups.UpdateInput) (r lookups.UpdateResult, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.payloads = append(h.payloads, size(h.t, in))
	for i, id := range in.Workflows {
		switch name := h.name(id); {
		case h.silent != nil && h.silent(name) && !h.stopped && !slices.Contains(h.ended, name):
			h.asked = append(h.asked, fmt.Sprint(clock(h.env.Now()), " ", name, " ", in.Update, " ", argument(in), " ", in.Patience))
			r.Failed, r.Reasons = append(r.Failed, i), append(r.Reasons, "no answer")
		case !h.receive(id, in.Update, argument(in)):
			r.Missing = append(r.Missing, i)
		}
	}
	if !h.stopped {
		h.sizes = append(h.sizes, len(in.Workflows))
	}
	return r, nil
}

// argument returns the argument of an update: whether the collection is enabled, and the rules of notifications if
// there are some.
func argument(in lookups.UpdateInput) any {
	c := in.Arguments[0].(map[string]any)
	if in.Update == workflows.UpdateDismiss {
		return nil
	}
	enabled := c["disabled"] != true
	if c["rules"] != nil {
		return fmt.Sprint(enabled, " ", c["rules"])
	}
	return enabled
}

// terminate is a fake of the activity that terminates workflows.
func (h *collectionEnv) terminate(_ context.Context, in lookups.TerminateInput) ([]int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	require.NotEmpty(h.t, in.Reason)
	still := []int{}
	for i, id := range in.Workflows {
		if name := h.name(id); h.stuck != nil && h.stuck(name) {
			still = append(still, i)
		} else {
			h.ended = append(h.ended, name)
		}
	}
	return still, nil
}

// updateSubscription is a fake of the activity that updates one workflow.
func (h *collectionEnv) updateSubscription(_ context.Context, id, update string, r workflows.PlanChange) error {
	require.Equal(h.t, job.SubscriptionWorkflowID(key.Collection.Subscription), id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if update == workflows.UpdateConfirm {
		h.asks = append(h.asks, r.Registration)
		return h.confirm
	}
	require.Equal(h.t, workflows.UpdateReserve, update)
	h.plans = append(h.plans, r)
	if h.planErr != nil {
		return h.planErr
	}
	if h.full != "" {
		return temporal.NewNonRetryableApplicationError(h.full, workflows.ErrTypeConflict, nil)
	}
	return nil
}

// signalled is a fake of the server's signal delivery.
func (h *collectionEnv) signalled(id, signal string, argument any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if signal == workflows.SignalEnd {
		h.deliveryEnded = append(h.deliveryEnded, id)
		return nil
	}
	if signal == workflows.SignalPlan {
		require.Equal(h.t, job.SubscriptionWorkflowID(key.Collection.Subscription), id)
		h.inForce = append(h.inForce, argument.(workflows.PlanChange))
		return nil
	}
	if signal == workflows.SignalRemoved {
		require.Equal(h.t, job.SubscriptionWorkflowID(key.Collection.Subscription), id)
		h.left = append(h.left, argument.(workflows.Registration).Name)
		return nil
	}
	if !h.receive(id, signal, argument) {
		return errors.New("there is no such workflow")
	}
	return nil
}

// received returns the updates and signals that jobs received; those of one time by name.
func (h *collectionEnv) received() []string {
	slices.Sort(h.updates)
	return h.updates
}

// answered records whether an update is answered by the given time.
func (h *collectionEnv) answered(by time.Duration, r *reply) *bool {
	var was bool
	h.at(by, func() { was = r.completed })
	return &was
}
