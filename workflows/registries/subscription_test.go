package registries_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/workflows"
	"almanac/workflows/registries"
)

// A subscriptionEnv runs a subscription in skipped time.
type subscriptionEnv struct {
	*registryEnv
	input registries.SubscriptionInput
}

// newSubscriptionEnv returns the environment of a subscription with collections of the plan Standard, such as
// "g/Reports".
func newSubscriptionEnv(t *testing.T, names ...string) *subscriptionEnv {
	o := &subscriptionEnv{registryEnv: newRegistryEnv(t, func(id string) string { return strings.TrimPrefix(id, "collection/s/") })}
	o.input.Subscription = "S"
	o.input.Collections = o.existing(names...)
	for i := range names {
		o.input.Collections.Entries[i].Plans = []string{"Standard"}
	}
	return o
}

func (o *subscriptionEnv) register(after time.Duration, r workflows.RegisterCollectionRequest) *reply {
	reply := o.update(after, workflows.UpdateRegister, r)
	o.starts(after, r.Name)
	return reply
}

// standard returns a request for a name under the plan Standard.
func standard(name string, limit int) workflows.RegisterCollectionRequest {
	return workflows.RegisterCollectionRequest{Name: name, Plan: "Standard", Limit: limit}
}

// names queries the collections.
func (o *subscriptionEnv) names(after time.Duration) *[]string {
	got := []string{"not asked"}
	o.at(after, func() {
		value, err := o.env.QueryWorkflow(workflows.QueryCollections)
		require.NoError(o.t, err)
		got = nil
		require.NoError(o.t, value.Get(&got))
	})
	return &got
}

// run runs the workflow until it ends or, at the given time, must continue as new. It returns the next
// run's input, nil if there is none.
func (o *subscriptionEnv) run(until time.Duration) *registries.SubscriptionInput {
	o.t.Helper()
	o.prepare(workflows.TypeSubscription, registries.Subscription)
	o.at(until, func() {
		o.env.SetContinueAsNewSuggested(true)
		o.env.SignalWorkflow(workflows.SignalRemoved, workflows.Registration{Name: "stranger"}) // wakes the loop
	})
	err := o.play(workflows.TypeSubscription, o.input)
	if err == nil {
		return nil
	}
	next := continued[registries.SubscriptionInput](o.t, err)
	return &next
}

func TestRegisterACollection(t *testing.T) {
	t.Parallel()
	t.Run("reserves the name of a new one", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t)
		a, b := o.register(time.Second, standard("g/One", 9)), o.register(2*time.Second, standard("H/one", 9))
		names := o.names(3 * time.Second)
		next := o.run(10 * time.Second)
		require.Equal(t, workflows.Registration{Name: "g/One", Number: number(time.Second)}, a.ok(t))
		require.Equal(t, workflows.Registration{Name: "H/one", Number: number(2 * time.Second)}, b.ok(t))
		require.Equal(t, []string{"g/One", "H/one"}, *names)
		require.Equal(t, []registries.Entry{
			{Name: "g/One", Sequence: 1, Claim: registries.Claim{Number: number(time.Second), Plans: []string{"Standard"}}, Unverified: true},
			{Name: "H/one", Sequence: 2, Claim: registries.Claim{Number: number(2 * time.Second), Plans: []string{"Standard"}}, Unverified: true},
		}, next.Collections.Entries)
	})
	t.Run("shows an existing one as it was first written", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/Reports")
		a := o.register(time.Second, standard("G/REPORTS", 1))
		names := o.names(2 * time.Second)
		require.NotNil(t, o.run(10*time.Second))
		require.Equal(t, workflows.Registration{Name: "g/Reports", Number: number(time.Second)}, a.ok(t), "although there are enough of its plan")
		require.Equal(t, []string{"g/Reports"}, *names)
	})
	t.Run("is refused when there are enough of the plan", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a", "g/b")
		full := o.register(time.Second, standard("g/c", 2))
		other := o.register(2*time.Second, workflows.RegisterCollectionRequest{Name: "g/free", Plan: "Free", Limit: 1})
		second := o.register(3*time.Second, workflows.RegisterCollectionRequest{Name: "g/second", Plan: "Free", Limit: 1})
		o.removed(4*time.Second, "G/A")
		room := o.register(5*time.Second, standard("g/c", 2))
		names := o.names(6 * time.Second)
		require.NotNil(t, o.run(10*time.Second))
		why := full.failed(t, workflows.ErrTypeConflict)
		for _, part := range []string{"'S'", "2 job collections", "Standard", "Delete one"} {
			require.Contains(t, why, part)
		}
		other.ok(t)
		second.refused(t, workflows.ErrTypeConflict)
		room.ok(t)
		require.Equal(t, []string{"g/b", "g/free", "g/c"}, *names)
	})
}

// change is a change of the plan of a collection that exists, the i-th.
func (o *subscriptionEnv) change(i, generation int, plan string, limit int) workflows.PlanChange {
	e := &o.input.Collections.Entries[i]
	return workflows.PlanChange{Registration: workflows.Registration{Name: e.Name, Number: e.Number}, Plan: plan, Limit: limit, Generation: e.Number + generation}
}

func TestACollectionThatChangesItsPlanCountsForBothUntilItSaysWhichIsInForce(t *testing.T) {
	t.Parallel()
	o := newSubscriptionEnv(t, "g/a", "g/b")
	toFree := o.change(0, 1, "Free", 1)
	a, again := o.update(time.Second, workflows.UpdateReserve, toFree), o.update(2*time.Second, workflows.UpdateReserve, toFree)
	b := o.update(3*time.Second, workflows.UpdateReserve, o.change(1, 1, "Free", 1))
	before := o.register(4*time.Second, standard("g/c", 2))
	o.signal(5*time.Second, workflows.SignalPlan, toFree)
	freed := o.register(65*time.Second, standard("g/c", 2))
	stranger := o.change(1, 1, "Free", 2)
	stranger.Name = "g/gone"
	gone := o.update(66*time.Second, workflows.UpdateReserve, stranger)
	next := o.run(67 * time.Second)
	for _, r := range []*reply{a, again, freed, gone} {
		r.ok(t)
	}
	for _, r := range []*reply{b, before} {
		r.failed(t, workflows.ErrTypeConflict)
	}
	var plans [][]string
	for _, e := range next.Collections.Entries {
		plans = append(plans, e.Plans)
	}
	require.Equal(t, [][]string{{"Free"}, {"Standard"}, {"Standard"}}, plans)
}

func TestACollectionThatDidNotChangeItsPlanAfterAllCountsForTheOldOne(t *testing.T) {
	t.Parallel()
	o := newSubscriptionEnv(t, "g/a")
	first := o.update(time.Second, workflows.UpdateReserve, o.change(0, 1, "Free", 1))
	o.signal(2*time.Second, workflows.SignalPlan, o.change(0, 2, "Standard", 0))
	late := o.update(3*time.Second, workflows.UpdateReserve, o.change(0, 1, "Free", 1))
	next := o.run(10 * time.Second)
	first.ok(t)
	late.ok(t)
	require.Equal(t, []string{"Standard"}, next.Collections.Entries[0].Plans)
}

func TestASubscriptionForgetsCollectionsThatDoNotExist(t *testing.T) {
	t.Parallel()
	t.Run("30 seconds after their registration", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/old")
		o.missing = []string{"g/lost", "g/old"}
		o.register(10*time.Second, standard("g/Lost", 9))
		o.register(11*time.Second, standard("g/there", 9))
		early, late := o.names(39*time.Second), o.names(42*time.Second)
		require.NotNil(t, o.run(time.Minute))
		require.Equal(t, []string{"g/old", "g/Lost", "g/there"}, *early)
		require.Equal(t, []string{"g/old", "g/there"}, *late)
		require.Equal(t, [][]string{{"g/lost"}, {"g/there"}}, o.lookups, "and none that was seen before")
	})
	t.Run("but not because the one before of that name is gone", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a")
		o.register(10*time.Second, standard("g/a", 9))
		o.removed(11*time.Second, "g/a")
		o.at(12*time.Second, func() { o.own("g/a", number(10*time.Second)) })
		during, after := o.names(12*time.Second), o.names(41*time.Second)
		o.removed(50*time.Second, "g/a")
		require.Nil(t, o.run(time.Minute), "it leaves by itself again once it was seen")
		require.Equal(t, []string{"g/a"}, *during)
		require.Equal(t, []string{"g/a"}, *after)
	})
}

func TestASubscriptionEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		arrange func(*subscriptionEnv)
		end     time.Duration
	}{
		{"with its last collection", func(o *subscriptionEnv) {
			o.register(5*time.Second, standard("g/a", 9))
			o.register(6*time.Second, standard("g/b", 9))
			o.removed(7*time.Second, "g/a")
			o.removed(8*time.Second, "g/b")
		}, 8 * time.Second},
		{"when its only collection did not come into being", func(o *subscriptionEnv) {
			o.missing = []string{"g/a"}
			o.register(5*time.Second, standard("g/a", 9))
		}, 35 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newSubscriptionEnv(t)
			tt.arrange(o)
			require.Nil(t, o.run(time.Minute))
			require.Equal(t, newYear.Add(tt.end), o.env.Now().UTC())
		})
	}
	t.Run("but not before its first collection comes", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t)
		o.register(time.Hour, standard("g/a", 9))
		names := o.names(time.Hour + time.Second)
		require.NotNil(t, o.run(time.Hour+2*time.Second))
		require.Equal(t, []string{"g/a"}, *names)
	})
	t.Run("but not when its workflow is cancelled", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a")
		o.missing = []string{"g/lost"}
		o.register(10*time.Second, standard("g/lost", 9))
		o.at(20*time.Second, func() { o.env.CancelWorkflow() })
		r := o.register(25*time.Second, standard("g/b", 9))
		early, late := o.names(39*time.Second), o.names(41*time.Second)
		require.NotNil(t, o.run(time.Minute))
		r.ok(t)
		require.Equal(t, []string{"g/a", "g/lost", "g/b"}, *early)
		require.Equal(t, []string{"g/a", "g/b"}, *late, "what is registered is still verified")
	})
}

func TestASubscriptionContinuesAsNewWithItsRegistry(t *testing.T) {
	t.Parallel()
	o := newSubscriptionEnv(t, "g/a")
	twice := registries.Claim{Number: number(-time.Second), Plans: []string{"Free"}}
	o.input.Collections.Entries = append(o.input.Collections.Entries, registries.Entry{
		Name: "g/new", Sequence: 7, Claim: registries.Claim{Number: number(0), Plans: []string{"Standard"}}, Unverified: true, Before: &twice,
	})
	o.input.Collections.Sequence, o.input.Collections.Last = 9, number(0)
	next := o.run(10 * time.Second)
	require.NotNil(t, next)
	require.Equal(t, asJSON(t, o.input), asJSON(t, *next))
	require.Equal(t, newYear.Add(10*time.Second), o.env.Now().UTC())

	o = newSubscriptionEnv(t, "g/a")
	o.pass(500, "g/passing", standard("g/passing", 9))
	next = o.run(time.Hour)
	require.NotNil(t, next)
	require.Equal(t, o.input.Collections.Entries[0], next.Collections.Entries[0])
	require.LessOrEqual(t, len(next.Collections.Entries), 2)
	require.Less(t, o.env.Now().Sub(newYear), time.Minute, "after a thousand changes")
}
