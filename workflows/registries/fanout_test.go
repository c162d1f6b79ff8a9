package registries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/quota"
	"almanac/workflows"
)

// only returns a predicate for the given names.
func only(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func TestAJobThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	t.Run("delays no other job, and the answer names it", func(t *testing.T) {
		t.Parallel()
		var names []string
		for i := range 450 {
			names = append(names, fmt.Sprintf("job%03d", i))
		}
		h := newCollectionEnv(t, job.CollectionEnabled, names...)
		h.silent = only("job000", "job001", "job002", "job003", "job004", "job300")
		a := h.update(10*time.Second, workflows.UpdateDisable)
		got := h.handOver(11*time.Second - time.Millisecond)
		why := a.failed(t, workflows.ErrTypeSilent)
		for _, part := range []string{"Disabled", "6 of its 450 jobs", "'job000' (no answer)", "'job004' (no answer) and 1 more"} {
			require.Contains(t, why, part)
		}
		require.Equal(t, []int{200, 200, 50, 6}, h.sizes, "those that did not answer are asked once more, after all others")
		require.Len(t, h.updates, 444)
		require.Equal(t, "00:00:10 job000 collection false 2s", h.asked[0])
		require.Equal(t, "00:00:10 job000 collection false 12s", h.asked[6], "a killed worker keeps a task for 10 s")
		require.Equal(t, job.CollectionDisabled, got.Properties.State)
	})
	t.Run("at first is no failure", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.silent = func(name string) bool { return name == "a" && len(h.asked) == 0 }
		a := h.update(10*time.Second, workflows.UpdateDisable)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		a.ok(t)
		require.Equal(t, []string{"00:00:10 a collection false", "00:00:10 b collection false"}, h.received())
	})
	t.Run("is updated again, at growing intervals, until it answers", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.silent = func(name string) bool { return name == "a" && h.env.Now().Before(newYear.Add(time.Minute)) }
		h.update(10*time.Second, workflows.UpdateDisable)
		require.ErrorIs(t, h.run(time.Hour), errStopped)
		var at []string
		for _, asked := range h.asked[2:] {
			require.Contains(t, asked, "a collection false 2s")
			at = append(at, strings.Fields(asked)[0])
		}
		require.Equal(t, []string{"00:00:11", "00:00:13", "00:00:17", "00:00:25", "00:00:41"}, at)
		require.Equal(t, []string{"00:00:10 b collection false", "00:01:13 a collection false"}, h.received(), "and never again")
	})
	t.Run("is updated at least every five minutes, across runs", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionDisabled, "a")
		h.input.Jobs.Entries[0].Silent = true
		h.input.Pause = 4 * time.Minute
		h.silent = only("a")
		next := h.handOver(30 * time.Minute)
		var at []string
		for _, asked := range h.asked {
			at = append(at, strings.Fields(asked)[0])
		}
		require.Equal(t, []string{"00:04:00", "00:09:00", "00:14:00", "00:19:00", "00:24:00", "00:29:00"}, at)
		require.True(t, next.Jobs.Entries[0].Silent)
		require.Equal(t, 5*time.Minute, next.Pause)
	})
	t.Run("is updated in turn if there are many", func(t *testing.T) {
		t.Parallel()
		var names []string
		for i := range 450 {
			names = append(names, fmt.Sprintf("job%03d", i))
		}
		h := newCollectionEnv(t, job.CollectionDisabled, names...)
		for i := range h.input.Jobs.Entries {
			h.input.Jobs.Entries[i].Silent = true
		}
		h.silent = func(name string) bool { return name != "job449" }
		next := h.handOver(3500 * time.Millisecond)
		require.Equal(t, []int{200, 200, 50}, h.sizes)
		require.Equal(t, []string{"00:00:03 job449 collection false"}, h.received())
		require.False(t, next.Jobs.Entries[449].Silent)
	})
	t.Run("gets the present state although another one was sent before", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.silent = func(string) bool { return h.env.Now().Before(newYear.Add(time.Minute)) }
		h.update(10*time.Second, workflows.UpdateDisable)
		// the job's last known state, if it did not apply the other
		a := h.update(20*time.Second, workflows.UpdateEnable)
		require.ErrorIs(t, h.run(time.Hour), errStopped)
		a.failed(t, workflows.ErrTypeSilent)
		require.Len(t, h.updates, 1)
		require.Contains(t, h.updates[0], "a collection true")
	})
	t.Run("is not waited for by changes that do not concern it", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionDisabled, "a")
		h.input.Jobs.Entries[0].Silent = true
		h.input.Pause = time.Minute
		h.silent = only("a")
		a := h.put(10*time.Second, job.CollectionSuspended)
		b := h.register(11*time.Second, "b", 9)
		require.ErrorIs(t, h.run(20*time.Second), errStopped)
		a.ok(t)
		b.ok(t)
		require.Empty(t, h.asked)
	})
	t.Run("does not end the collection when its registration is verified", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.absent = func(string) bool { return h.env.Now().Before(newYear.Add(20 * time.Second)) }
		h.silent = func(name string) bool { return !h.absent(name) }
		h.register(time.Second, "a", 9)
		h.update(2*time.Second, workflows.UpdateDisable)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.NotEmpty(t, h.asked)
	})
	t.Run("is terminated when the collection is deleted", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b", "c")
		h.silent = only("a", "c")
		a := h.update(10*time.Second, workflows.UpdateDelete)
		require.NoError(t, h.run(time.Minute))
		a.ok(t)
		require.Equal(t, []string{"00:00:10 b dismiss"}, h.received())
		require.Equal(t, []string{"a", "c"}, h.ended)
		require.Equal(t, []string{"g/Reports"}, h.left)
	})
	t.Run("and is not terminated either is tried again", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.silent = only("a")
		h.stuck = func(string) bool { return h.env.Now().Before(newYear.Add(20 * time.Second)) }
		a := h.update(10*time.Second, workflows.UpdateDelete)
		early := h.answered(19*time.Second, a)
		require.NoError(t, h.run(time.Minute))
		a.ok(t)
		require.False(t, *early)
		require.Equal(t, []string{"a"}, h.ended)
	})
}

func TestADeletionWaitsUntilATerminatedJobCanSendNothing(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
	certain := func() bool { return !h.env.Now().Before(newYear.Add(40 * time.Second)) }
	h.stuck = func(string) bool { return !certain() }
	terminated := func() bool { return !h.env.Now().Before(newYear.Add(12 * time.Second)) }
	h.silent = func(name string) bool { return name == "a" && !terminated() }
	h.absent = func(name string) bool { return name == "a" && terminated() }
	a := h.update(10*time.Second, workflows.UpdateDelete)
	require.NoError(t, h.run(2*time.Minute))
	a.ok(t)
	require.True(t, certain(), "the collection ended at %s", h.env.Now())
}

func TestAJobThatReplacesATerminatedOneIsUpdatedToo(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionSuspended, "a")
	h.input.Jobs.Entries[0].Applied-- // terminated before the collection was disabled
	h.register(10*time.Second, "a", 9)
	h.update(11*time.Second, workflows.UpdateEnable)
	require.ErrorIs(t, h.run(30*time.Second), errStopped)
	require.Contains(t, h.received(), "00:00:11 a collection true")
}

func TestATerminatedJobMakesRoom(t *testing.T) {
	t.Parallel()
	t.Run("for the next one", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.missing = []string{"a"}
		r := h.register(time.Second, "c", 2)
		names := h.names(2 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		require.Equal(t, "c", r.registered(t)[0].Name)
		require.Equal(t, []string{"b", "c"}, *names)
	})
	t.Run("within a minute", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		first, second := h.register(time.Second, "c", 2), h.register(2*time.Second, "c", 2)
		h.at(3*time.Second, func() { h.missing = []string{"a"} })
		soon, later := h.register(60*time.Second, "c", 2), h.register(61*time.Second, "c", 2)
		require.ErrorIs(t, h.run(2*time.Minute), errStopped)
		first.noRoom(t)
		second.refused(t, workflows.ErrTypeConflict)
		soon.refused(t, workflows.ErrTypeConflict)
		require.Equal(t, "c", later.registered(t)[0].Name)
		require.Equal(t, [][]string{{"a", "b"}, {"a", "b"}}, h.lookups[:2])
	})
	t.Run("for whoever comes while it is looked for", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b", "c")
		h.missing = []string{"a", "b"}
		h.lookupTakes = 5 * time.Second
		first, second, late := h.register(time.Second, "d", 3), h.register(2*time.Second, "e", 3), h.register(7*time.Second, "f", 3)
		early := h.answered(5*time.Second, second)
		names := h.names(8 * time.Second)
		require.ErrorIs(t, h.run(20*time.Second), errStopped)
		require.Equal(t, "d", first.registered(t)[0].Name)
		require.Equal(t, "e", second.registered(t)[0].Name)
		require.False(t, *early)
		late.refused(t, workflows.ErrTypeConflict)
		require.Equal(t, []string{"c", "d", "e"}, *names)
		require.Equal(t, [][]string{{"a", "b", "c"}}, h.lookups, "once for all")
	})
	t.Run("for whoever comes while collections are looked for, too", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a", "g/b")
		o.missing = []string{"g/a", "g/b"}
		o.lookupTakes = 5 * time.Second
		first, second := o.register(time.Second, standard("g/c", 2)), o.register(2*time.Second, standard("g/d", 2))
		require.NotNil(t, o.run(10*time.Second))
		first.ok(t)
		second.ok(t)
	})
	t.Run("for a quota that the others keep to", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b", "c")
		h.missing = []string{"a", "b"}
		h.lookupTakes = 5 * time.Second
		first := h.change(time.Second, upTo(1), 1)
		names := h.names(7 * time.Second)
		second := h.change(8*time.Second, upTo(0), 0)
		require.ErrorIs(t, h.run(20*time.Second), errStopped)
		require.Equal(t, 2, first.ok(t).(job.Collection).Generation)
		require.Equal(t, []string{"c"}, *names)
		require.Contains(t, second.refused(t, workflows.ErrTypeConflict), "has 1 jobs", "it looked less than a minute ago")
	})
	t.Run("for a plan whose rules the others keep to", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.input.Jobs.Entries[0].Requirements = quota.Requirements{Authenticates: true}
		h.missing = []string{"a"}
		r := h.change(time.Second, hourly, 0)
		require.ErrorIs(t, h.run(20*time.Second), errStopped)
		require.Equal(t, "Free", r.ok(t).(job.Collection).Properties.SKU.Name)
	})
	t.Run("but the collection does not look where nothing is refused", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.missing = []string{"a"}
		r := h.change(time.Second, upTo(2), 0)
		require.ErrorIs(t, h.run(20*time.Second), errStopped)
		r.ok(t)
		require.Empty(t, h.lookups)
	})
	t.Run("but not for what a collection that was deleted meanwhile asks", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.missing = []string{"a"}
		h.lookupTakes = 5 * time.Second
		r := h.change(time.Second, upTo(1), 0)
		deleted := h.update(2*time.Second, workflows.UpdateDelete)
		require.NoError(t, h.run(20*time.Second))
		r.failed(t, workflows.ErrTypeGone)
		deleted.ok(t)
	})
	t.Run("and so does a terminated collection", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/a")
		o.missing = []string{"g/a"}
		r := o.register(time.Second, standard("g/b", 1))
		names := o.names(2 * time.Second)
		require.NotNil(t, o.run(10*time.Second))
		r.ok(t)
		require.Equal(t, []string{"g/b"}, *names)
	})
}
