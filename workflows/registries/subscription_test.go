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

// newSubscriptionEnv returns the environment of a subscription with collections of the plan Standard, such as "g/Reports".
func newSubscriptionEnv(t *testing.T, names ...string) *subscriptionEnv {
	o := &subscriptionEnv{registryEnv: newRegistryEnv(t, func(id string) string { return strings.TrimPrefix(id, "collection/s/") })}
	o.input.Subscription = "S"
	for i, name := range names {
		o.input.Collections = append(o.input.Collections, registries.Registration{Name: name, Sequence: i + 1, Plan: "Standard"})
	}
	o.input.Sequence = len(names)
	return o
}

func (o *subscriptionEnv) register(after time.Duration, r workflows.RegisterCollectionRequest) *reply {
	return o.update(after, workflows.UpdateRegister, r)
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
		o.env.SignalWorkflow(workflows.SignalRemoved, "stranger") // wakes the loop
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
		require.Equal(t, "g/One", a.ok(t))
		require.Equal(t, "H/one", b.ok(t))
		require.Equal(t, []string{"g/One", "H/one"}, *names)
		require.Equal(t, []registries.Registration{
			{Name: "g/One", Sequence: 1, Plan: "Standard", Unverified: newYear.Add(time.Second)},
			{Name: "H/one", Sequence: 2, Plan: "Standard", Unverified: newYear.Add(2 * time.Second)},
		}, next.Collections)
	})
	t.Run("shows an existing one as it was first written", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/Reports")
		a := o.register(time.Second, standard("G/REPORTS", 1))
		names := o.names(2 * time.Second)
		require.NotNil(t, o.run(10*time.Second))
		require.Equal(t, "g/Reports", a.ok(t), "although there are enough of its plan")
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

func TestACollectionReservesAnotherPlan(t *testing.T) {
	t.Parallel()
	free := func(name string) workflows.RegisterCollectionRequest {
		return workflows.RegisterCollectionRequest{Name: name, Plan: "Free", Limit: 1, Reserve: true}
	}
	t.Run("and has its place then", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a", "g/b")
		a, again, b := o.register(time.Second, free("g/A")), o.register(2*time.Second, free("g/a")), o.register(3*time.Second, free("g/b"))
		freed := o.register(4*time.Second, standard("g/c", 2))
		next := o.run(10 * time.Second)
		a.ok(t)
		again.ok(t)
		b.failed(t, workflows.ErrTypeConflict)
		freed.ok(t)
		require.Equal(t, []registries.Registration{
			{Name: "g/a", Sequence: 1, Plan: "Free"}, {Name: "g/b", Sequence: 2, Plan: "Standard"},
			{Name: "g/c", Sequence: 3, Plan: "Standard", Unverified: newYear.Add(4 * time.Second)},
		}, next.Collections, "one that reservations a plan is there: it is not looked up")
	})
	t.Run("to no effect if it is not registered any more", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a")
		r := o.register(time.Second, free("g/gone"))
		names := o.names(2 * time.Second)
		require.NotNil(t, o.run(10*time.Second))
		r.ok(t)
		require.Equal(t, []string{"g/a"}, *names)
	})
}

func TestASubscriptionForgetsCollectionsThatDoNotExist(t *testing.T) {
	t.Parallel()
	t.Run("30 seconds after their registration", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/old")
		o.missing = []string{"g/lost", "g/old"}
		o.register(10*time.Second, standard("g/Lost", 9))
		o.register(10*time.Second, standard("g/there", 9))
		early, late := o.names(39*time.Second), o.names(41*time.Second)
		require.NotNil(t, o.run(time.Minute))
		require.Equal(t, []string{"g/old", "g/Lost", "g/there"}, *early)
		require.Equal(t, []string{"g/old", "g/there"}, *late)
		require.Equal(t, [][]string{{"g/lost", "g/there"}}, o.lookups, "and none that was seen before")
	})
	t.Run("but not because the one before of that name is gone", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a")
		o.register(10*time.Second, standard("g/a", 9))
		o.removed(11*time.Second, "g/a")
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
	o.input.Collections = append(o.input.Collections, registries.Registration{
		Name: "g/new", Sequence: 7, Plan: "Free", Unverified: newYear, Contested: true,
	})
	o.input.Sequence = 9
	next := o.run(10 * time.Second)
	require.NotNil(t, next)
	require.Equal(t, asJSON(t, o.input), asJSON(t, *next))
	require.Equal(t, newYear.Add(10*time.Second), o.env.Now().UTC())

	o = newSubscriptionEnv(t, "g/a")
	o.pass(500, "g/passing", standard("g/passing", 9))
	next = o.run(time.Hour)
	require.NotNil(t, next)
	require.Equal(t, o.input.Collections[0], next.Collections[0])
	require.LessOrEqual(t, len(next.Collections), 2)
	require.Less(t, o.env.Now().Sub(newYear), time.Minute, "after a thousand changes")
}
