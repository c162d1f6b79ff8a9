package registries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/job/quota"
	"almanac/workflows"
	"almanac/workflows/registries"
)

// claim registers a job that requires something, and starts no workflow.
func (h *collectionEnv) claim(after time.Duration, name string, needs quota.Requirements) *reply {
	return h.update(after, workflows.UpdateRegister, registering(upTo(9), workflows.RegisterJob{Name: name, Requirements: needs}))
}

// isStarted has the workflow of a registration exist from a time on; 0: none does.
func (h *collectionEnv) isStarted(after time.Duration, name string, number int) {
	h.at(after, func() {
		h.own(name, number)
		h.missing = nil
		if number == 0 {
			h.missing = []string{name}
		}
	})
}

var (
	daily  = quota.Requirements{Spacing: 24 * time.Hour}
	minute = quota.Requirements{Spacing: time.Minute, Authenticates: true}
)

// toFree changes the plan to one that allows daily and not minute.
func (h *collectionEnv) toFree(after time.Duration) *reply {
	to := h.input.Collection
	to.Properties.SKU.Name = "Free"
	return h.update(after, workflows.UpdatePut, workflows.PutRequest{Collection: to, Limits: hourly})
}

func TestANameThatIsRegisteredTwiceRequiresWhatBothJobsDo(t *testing.T) {
	t.Parallel()
	older, newer := number(time.Second), number(2*time.Second)
	for _, tt := range []struct {
		name          string
		first, second quota.Requirements
		lives         int // the registration with a workflow, 0 for none
		allowed       bool
		left          []string
	}{
		{"until it is known that the newer lives, which requires less", minute, daily, newer, true, []string{"a"}},
		{"until it is known that the older lives, which requires less", daily, minute, older, true, []string{"a"}},
		{"and it is the older that lives, which requires more", minute, daily, older, false, []string{"a"}},
		{"and it is the newer that lives, which requires more", daily, minute, newer, false, []string{"a"}},
		{"until it is known that neither lives", minute, minute, 0, true, nil},
		{"until it is known that a stranger has the workflow", minute, minute, number(-time.Hour), true, nil},
		{"and if nobody can say which lives, it stays so", minute, daily, 1, false, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled)
			first, second := h.claim(time.Second, "a", tt.first), h.claim(2*time.Second, "a", tt.second)
			h.isStarted(3*time.Second, "a", tt.lives)
			early, late := h.toFree(20*time.Second), h.toFree(2*time.Minute)
			names := h.names(3 * time.Minute)
			require.ErrorIs(t, h.run(5*time.Minute), errStopped)
			require.Equal(t, as("a", time.Second), first.registered(t))
			require.Equal(t, as("a", 2*time.Second), second.registered(t))
			early.failed(t, workflows.ErrTypeConflict)
			if tt.allowed {
				late.ok(t)
			} else {
				late.failed(t, workflows.ErrTypeConflict)
			}
			require.Equal(t, tt.left, *names)
		})
	}
	t.Run("three times, which is no different", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.claim(time.Second, "a", daily)
		h.claim(2*time.Second, "a", minute)
		h.claim(3*time.Second, "a", daily)
		h.isStarted(4*time.Second, "a", number(time.Second))
		late := h.toFree(2 * time.Minute)
		h.removed(3*time.Minute, "a")
		names := h.names(3*time.Minute + time.Second)
		require.ErrorIs(t, h.run(5*time.Minute), errStopped)
		require.Contains(t, late.failed(t, workflows.ErrTypeConflict), "'a'", "the first two count together")
		require.Empty(t, *names)
	})
}

func TestAChangeOfAJobWhoseNameIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	older, newer := number(-time.Hour), number(time.Second)
	change := func(h *collectionEnv, after time.Duration, generation int, needs quota.Requirements, final bool) *reply {
		return h.update(after, workflows.UpdateReserve,
			workflows.ReserveRequest{Name: "a", Job: generation, Requirements: needs, Final: final, Tiers: tiers(upTo(9))})
	}
	begin := func(t *testing.T) *collectionEnv {
		t.Helper()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.input.Jobs.Entries[0].Requirements = daily
		h.claim(time.Second, "a", daily)
		return h
	}
	t.Run("counts for the job that was there", func(t *testing.T) {
		t.Parallel()
		h := begin(t)
		r := change(h, 2*time.Second, older+1, minute, false)
		later := h.toFree(time.Minute)
		require.ErrorIs(t, h.run(2*time.Minute), errStopped)
		r.ok(t)
		later.failed(t, workflows.ErrTypeConflict)
	})
	t.Run("counts for the new job, and shows that the old one is gone", func(t *testing.T) {
		t.Parallel()
		h := begin(t)
		h.input.Jobs.Entries[0].Requirements = minute
		r := change(h, 2*time.Second, newer+1, daily, true)
		later := h.toFree(3 * time.Second)
		next := h.handOver(10 * time.Second)
		r.ok(t)
		later.ok(t)
		require.Equal(t, registries.Claim{Number: newer, Changes: 1, Requirements: daily}, next.Jobs.Entries[0].Claim)
	})
	t.Run("of a job before both is refused, and its late report changes nothing", func(t *testing.T) {
		t.Parallel()
		h := begin(t)
		r, final := change(h, 2*time.Second, older-1, minute, false), change(h, 3*time.Second, older-1, minute, true)
		later := h.toFree(4 * time.Second)
		require.ErrorIs(t, h.run(2*time.Minute), errStopped)
		r.refused(t, workflows.ErrTypeStale)
		final.ok(t)
		later.ok(t)
	})
	t.Run("of a job that is not registered is refused", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		r := change(h, time.Second, older, daily, false)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		r.refused(t, workflows.ErrTypeStale)
	})
}

func TestOnlyTheEndOfTheRegisteredJobFreesItsName(t *testing.T) {
	t.Parallel()
	gone := func(h *collectionEnv, after time.Duration, number int) {
		h.signal(after, workflows.SignalRemoved, workflows.Registration{Name: "a", Number: number})
	}
	older, newer := number(time.Second), number(10*time.Second)
	t.Run("not that of one before, which is reported late", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.claim(time.Second, "a", daily)
		gone(h, 2*time.Second, older)
		h.claim(10*time.Second, "a", daily)
		gone(h, 11*time.Second, older)
		gone(h, 12*time.Second, number(0))
		names, after := h.names(13*time.Second), h.names(15*time.Second)
		gone(h, 14*time.Second, newer)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *names)
		require.Empty(t, *after)
	})
	t.Run("not if an earlier registration may still get a workflow", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.claim(time.Second, "a", minute)
		h.claim(10*time.Second, "a", daily)
		gone(h, 11*time.Second, newer)
		h.isStarted(12*time.Second, "a", older)
		names, plan := h.names(13*time.Second), h.toFree(time.Minute)
		require.ErrorIs(t, h.run(2*time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *names)
		plan.failed(t, workflows.ErrTypeConflict)
	})
	t.Run("and then at once if the one before it was there for long", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.claim(10*time.Second, "a", daily)
		gone(h, 11*time.Second, newer)
		names := h.names(12 * time.Second)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Empty(t, *names)
	})
	t.Run("of one that did not answer: after a lookup", func(t *testing.T) {
		t.Parallel()
		for _, there := range []bool{true, false} {
			h := newCollectionEnv(t, job.CollectionEnabled, "a")
			if !there {
				h.missing = []string{"a"}
			}
			gone(h, 10*time.Second, 0)
			names := h.names(11 * time.Second)
			require.ErrorIs(t, h.run(time.Minute), errStopped)
			require.Equal(t, there, len(*names) == 1)
			require.Equal(t, [][]string{{"a"}}, h.lookups)
		}
	})
}

func TestAJobThatWasStartedLateAsksWhetherItIsRegistered(t *testing.T) {
	t.Parallel()
	asks := func(h *collectionEnv, after time.Duration, name string, number int) *reply {
		return h.update(after, workflows.UpdateConfirm, workflows.Registration{Name: name, Number: number})
	}
	h := newCollectionEnv(t, job.CollectionEnabled)
	h.claim(time.Second, "kept", daily)
	h.claim(2*time.Second, "forgotten", daily)
	h.claim(3*time.Second, "taken", daily)
	h.claim(4*time.Second, "twice", minute)
	h.claim(20*time.Second, "twice", daily)
	h.at(5*time.Second, func() {
		h.missing = []string{"forgotten", "taken"}
		h.alive["kept"], h.alive["twice"] = number(time.Second), number(4*time.Second)
	})
	h.claim(50*time.Second, "taken", daily)
	kept, twice := asks(h, 21*time.Second, "KEPT", number(time.Second)), asks(h, 22*time.Second, "twice", number(4*time.Second))
	stays := h.toFree(23 * time.Second)
	refused := []*reply{
		asks(h, time.Minute, "forgotten", number(2*time.Second)), asks(h, time.Minute, "taken", number(3*time.Second)),
		asks(h, time.Minute, "unknown", number(0)), asks(h, 2*time.Minute, "twice", number(20*time.Second)),
	}
	require.ErrorIs(t, h.run(5*time.Minute), errStopped)
	kept.ok(t)
	twice.ok(t)
	stays.failed(t, workflows.ErrTypeConflict)
	for _, r := range refused {
		require.Contains(t, r.failed(t, workflows.ErrTypeUnregistered), "started later than 15s after its name was registered")
	}
	require.NotContains(t, h.lookups[0], "kept", "it needs no lookup any more")
}

func TestACollectionThatWasStartedLate(t *testing.T) {
	t.Parallel()
	late := func(t *testing.T) *collectionEnv {
		t.Helper()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.input.Registration = number(-workflows.StartWithin - time.Millisecond)
		return h
	}
	t.Run("takes no job until its subscription has confirmed it", func(t *testing.T) {
		t.Parallel()
		h := late(t)
		h.slow = 10 * time.Second
		early, then := h.claim(5*time.Second, "a", daily), h.claim(11*time.Second, "a", daily)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []workflows.Registration{{Name: "g/Reports", Number: h.input.Registration}}, h.asks)
		early.refused(t, workflows.ErrTypeGone)
		then.ok(t)
	})
	t.Run("ends if it is not registered", func(t *testing.T) {
		t.Parallel()
		h := late(t)
		h.confirm = temporal.NewNonRetryableApplicationError("the name was given up", workflows.ErrTypeUnregistered, nil)
		requireType(t, h.run(time.Minute), workflows.ErrTypeUnregistered)
		require.Equal(t, newYear, h.env.Now().UTC())
		require.Empty(t, h.left, "the name may be another's")
	})
	t.Run("in time asks nobody", func(t *testing.T) {
		t.Parallel()
		h := late(t)
		h.input.Registration = number(-workflows.StartWithin)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Empty(t, h.asks)
	})
}

func TestASubscriptionCountsACollectionThatIsRegisteredTwiceForBothPlans(t *testing.T) {
	t.Parallel()
	o := newSubscriptionEnv(t)
	free := func(name string) workflows.RegisterCollectionRequest {
		return workflows.RegisterCollectionRequest{Name: name, Plan: "Free", Limit: 1}
	}
	o.register(time.Second, free("g/a"))
	o.update(2*time.Second, workflows.UpdateRegister, standard("g/a", 9)) // its caller crashed
	other := o.update(3*time.Second, workflows.UpdateRegister, free("g/b"))
	known := o.update(2*time.Minute, workflows.UpdateRegister, free("g/b"))
	stillFree := o.update(2*time.Minute, workflows.UpdateRegister, standard("g/c", 1))
	require.NotNil(t, o.run(2*time.Minute+time.Second))
	other.failed(t, workflows.ErrTypeConflict)
	known.failed(t, workflows.ErrTypeConflict)
	stillFree.ok(t)
}

// The answer of one of two jobs of a name says nothing about the other.
func TestTheNewJobOfANameGetsTheStateThatTheOldOneHad(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled, "a")
	registered := h.claim(9*time.Second, "a", daily)
	h.put(10*time.Second, job.CollectionDisabled) // the old job applies it
	h.at(11*time.Second, func() {                 // and the new one starts with what its registration answered
		require.False(t, registered.ok(t).(workflows.RegisterAnswer).Collection.Disabled)
		h.own("a", number(9*time.Second))
	})
	next := h.handOver(2 * time.Minute)
	require.Equal(t, []string{"00:00:10 a collection false", "00:00:49 a collection false"}, h.received())
	require.Equal(t, next.State, next.Jobs.Entries[0].Applied)
}

func TestAFewChangesOfAJobDoNotReachTheGenerationOfAnotherOneThatWasRegisteredAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled)
	first, second := h.claim(time.Second, "a", daily), h.claim(time.Second, "a", daily)
	changed := h.update(2*time.Second, workflows.UpdateReserve, workflows.ReserveRequest{
		Name: "a", Job: number(time.Second) + 999, Requirements: minute, Final: true,
	})
	h.isStarted(3*time.Second, "a", number(time.Second)+1000)
	early, late := h.toFree(20*time.Second), h.toFree(2*time.Minute)
	require.ErrorIs(t, h.run(5*time.Minute), errStopped)
	changed.ok(t)
	require.Equal(t, number(time.Second), first.registered(t)[0].Number)
	require.Equal(t, number(time.Second)+1000, second.registered(t)[0].Number)
	early.failed(t, workflows.ErrTypeConflict) // the job that was registered first may be there
	late.ok(t)                                 // it is not, and its requirements are not the other's
}
