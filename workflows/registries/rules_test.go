package registries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/job/quota"
	"almanac/workflows"
)

// hourly are rules that require a recurrence of an hour or more, and no authentication.
var hourly = &quota.Limits{Plan: "Free", Jobs: 5, MinRecurrence: time.Hour, Collections: 1}

func TestACollectionKeepsItsRules(t *testing.T) {
	t.Parallel()
	asks := map[string]func(*collectionEnv, *quota.Limits, quota.Requirements) *reply{
		"a change of the collection": func(h *collectionEnv, limits *quota.Limits, d quota.Requirements) *reply {
			h.input.Jobs.Entries[0].Requirements = d
			return h.update(time.Second, workflows.UpdatePut, workflows.PutRequest{Collection: h.input.Collection, Limits: limits})
		},
		"a new job": func(h *collectionEnv, limits *quota.Limits, d quota.Requirements) *reply {
			h.input.Properties.SKU.Name = limits.Plan
			return h.update(time.Second, workflows.UpdateRegister, registering(limits, workflows.RegisterJob{Name: "b", Requirements: d}))
		},
		"a new job under a name that is registered": func(h *collectionEnv, limits *quota.Limits, d quota.Requirements) *reply {
			h.input.Properties.SKU.Name = limits.Plan
			return h.update(time.Second, workflows.UpdateRegister, registering(limits, workflows.RegisterJob{Name: "A", Requirements: d}))
		},
		"a change of a job": func(h *collectionEnv, limits *quota.Limits, d quota.Requirements) *reply {
			h.input.Properties.SKU.Name = limits.Plan
			return h.update(time.Second, workflows.UpdateReserve, workflows.ReserveRequest{Name: "a", Job: number(0), Tiers: tiers(limits), Requirements: d})
		},
	}
	for _, tt := range []struct {
		name         string
		requirements quota.Requirements
		want         []string // parts of the reason of refusal; none if accepted
	}{
		{"that requires nothing", quota.Requirements{}, nil},
		{"that recurs as often as is allowed", quota.Requirements{Spacing: time.Hour}, nil},
		{"that recurs too often", quota.Requirements{Spacing: time.Hour - time.Second}, []string{"recur less often", "Reports"}},
		{"that authenticates itself", quota.Requirements{Authenticates: true}, []string{"authenticat", "Free", "Reports"}},
	} {
		for who, ask := range asks {
			t.Run(who+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				h := newCollectionEnv(t, job.CollectionEnabled, "a")
				r := ask(h, hourly, tt.requirements)
				require.ErrorIs(t, h.run(time.Minute), errStopped)
				if tt.want == nil {
					r.ok(t)
					return
				}
				why := r.failed(t, workflows.ErrTypeConflict)
				require.Equal(t, who == "a change of the collection", r.accepted, "which looks first whether the job is there")
				for _, part := range tt.want {
					require.Contains(t, why, part)
				}
			})
		}
	}
	for _, tt := range []struct {
		name string
		jobs []string
		put  bool
		want string // the reason of refusal; "" if accepted
	}{
		{"a change of the collection to as many jobs as it has", []string{"a", "b"}, true, ""},
		{"a change of the collection to fewer jobs than it has", []string{"a", "b", "c"}, true, "has 3 jobs, more than the 2"},
		{"the last new job", []string{"a"}, false, ""},
		{"one job too many", []string{"a", "b"}, false, "quota of 2 jobs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled, tt.jobs...)
			r := h.update(time.Second, workflows.UpdateRegister, registering(upTo(2), workflows.RegisterJob{Name: "x"}))
			if tt.put {
				h.events = nil
				r = h.update(time.Second, workflows.UpdatePut, workflows.PutRequest{Collection: h.input.Collection, Limits: upTo(2)})
			}
			require.ErrorIs(t, h.run(time.Minute), errStopped)
			if tt.want == "" {
				r.ok(t)
				return
			}
			if tt.put {
				require.Contains(t, r.failed(t, workflows.ErrTypeConflict), tt.want)
			} else {
				require.Contains(t, r.noRoom(t), tt.want)
			}
		})
	}
}

func TestARequestDecidedByOutdatedPropertiesIsRefused(t *testing.T) {
	t.Parallel()
	asks := map[string]func(*collectionEnv, int) *reply{
		"a change of the collection": func(h *collectionEnv, generation int) *reply {
			return h.update(time.Second, workflows.UpdatePut, workflows.PutRequest{Collection: h.input.Collection, Limits: upTo(9), Expected: generation})
		},
	}
	for who, ask := range asks {
		for _, tt := range []struct {
			name       string
			generation int
			stale      bool
		}{
			{"by those in force is taken", 7, false},
			{"by whichever is taken", 0, false},
			{"by older ones is refused", 6, true},
		} {
			t.Run(who+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				h := newCollectionEnv(t, job.CollectionEnabled, "a")
				h.input.Generation = 7
				r := ask(h, tt.generation)
				require.ErrorIs(t, h.run(time.Minute), errStopped)
				if tt.stale {
					r.refused(t, workflows.ErrTypeStale)
					return
				}
				r.ok(t)
			})
		}
	}
	t.Run("though they were in force when it began to wait", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.slow = 5 * time.Second // the subscription's answer
		first, second := h.change(10*time.Second, hourly, 1), h.change(11*time.Second, upTo(9), 1)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, 2, first.ok(t).(job.Collection).Generation)
		second.failed(t, workflows.ErrTypeStale)
	})
}

// change requests another plan.
func (h *collectionEnv) change(at time.Duration, limits *quota.Limits, expected int) *reply {
	to := h.input.Collection
	to.Properties.SKU.Name = limits.Plan
	return h.update(at, workflows.UpdatePut, workflows.PutRequest{Collection: to, Limits: limits, Expected: expected})
}

func TestAChangeOfThePlan(t *testing.T) {
	t.Parallel()
	t.Run("asks the subscription", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		r := h.change(10*time.Second, hourly, 0)
		same := h.change(20*time.Second, hourly, 0)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, "Free", r.ok(t).(job.Collection).Properties.SKU.Name)
		same.ok(t)
		require.Equal(t, []workflows.PlanChange{{Registration: workflows.Registration{Name: "g/Reports", Number: number(0)}, Plan: "Free", Limit: 1, Generation: 2}}, h.plans,
			"once: the other is no change of the plan")
		require.Equal(t, h.plans, h.inForce)
	})
	t.Run("is refused if the subscription has no place", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.full = "The subscription has enough of them."
		r := h.change(10*time.Second, hourly, 0)
		by := h.update(20*time.Second, workflows.UpdateRegister,
			registering(upTo(9), workflows.RegisterJob{Name: "b", Requirements: quota.Requirements{Spacing: time.Minute}}))
		got := h.handOver(40 * time.Second)
		require.Equal(t, h.full+" (type: Conflict, retryable: false)", r.failed(t, workflows.ErrTypeConflict), "without the activity's part in it")
		require.Equal(t, h.input.Collection, got.Collection)
		by.ok(t)
	})
	t.Run("is made if there is no subscription, for nothing counts then", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.planErr = temporal.NewNonRetryableApplicationError("there is none", workflows.ErrTypeGone, nil)
		r := h.change(10*time.Second, hourly, 0)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, "Free", r.ok(t).(job.Collection).Properties.SKU.Name)
	})
	t.Run("does not hold up the collection for long if the subscription does not answer", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.planErr = errors.New("no answer")
		r := h.change(10*time.Second, hourly, 0)
		next := h.update(11*time.Second, workflows.UpdateDisable)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Contains(t, r.failed(t, workflows.ErrTypeConflict), "Nothing was changed; try again.")
		next.ok(t)
		require.Len(t, h.inForce, 1)
		require.Equal(t, "Standard", h.inForce[0].Plan, "the subscription may count it for the other plan yet")
		require.Greater(t, h.inForce[0].Generation, h.input.Generation)
	})
	t.Run("lets no job in meanwhile that the new plan forbids", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.slow = 5 * time.Second // the subscription's answer
		changed := h.change(10*time.Second, hourly, 0)
		const during = 12 * time.Second
		minute := quota.Requirements{Spacing: time.Minute}
		register := func(name string, d quota.Requirements) *reply {
			return h.update(during, workflows.UpdateRegister, registering(upTo(9), workflows.RegisterJob{Name: name, Requirements: d}))
		}
		reserve := func(d quota.Requirements) *reply {
			return h.update(during, workflows.UpdateReserve, workflows.ReserveRequest{Name: "a", Job: number(0), Tiers: tiers(upTo(9)), Requirements: d})
		}
		refused := []*reply{register("b", minute), reserve(minute)}
		taken := []*reply{register("c", quota.Requirements{Spacing: time.Hour}), reserve(quota.Requirements{Spacing: 2 * time.Hour})}
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		for _, r := range refused {
			require.Contains(t, r.refused(t, workflows.ErrTypeConflict), "Free")
		}
		for _, r := range taken {
			r.ok(t)
		}
		changed.ok(t)
	})
}

func TestAChangedJobReservesItsRequirements(t *testing.T) {
	t.Parallel()
	reserve := func(generation int, spacing time.Duration, final bool) workflows.ReserveRequest {
		return workflows.ReserveRequest{Name: "A", Job: number(-time.Hour) + generation - 1, Requirements: quota.Requirements{Spacing: spacing}, Final: final}
	}
	authenticating := workflows.ReserveRequest{Name: "A", Job: number(-time.Hour) + 1, Requirements: quota.Requirements{Authenticates: true}}
	for _, tt := range []struct {
		name         string
		reservations []workflows.ReserveRequest
		want         quota.Requirements
		generation   int // of the job with these requirements
	}{
		{"a job is changed", []workflows.ReserveRequest{reserve(2, time.Minute, false)}, quota.Requirements{Spacing: time.Minute}, 2},
		{"of contenders for one change, all count", []workflows.ReserveRequest{reserve(2, time.Hour, false), reserve(2, time.Minute, false), authenticating},
			quota.Requirements{Spacing: time.Minute, Authenticates: true}, 2},
		{"what came into force counts alone", []workflows.ReserveRequest{reserve(2, time.Minute, false), authenticating, reserve(2, 2*time.Hour, true)},
			quota.Requirements{Spacing: 2 * time.Hour}, 2},
		{"a later change counts alone", []workflows.ReserveRequest{reserve(2, time.Minute, false), reserve(3, 2*time.Hour, false)},
			quota.Requirements{Spacing: 2 * time.Hour}, 3},
		{"word of an older change comes late", []workflows.ReserveRequest{reserve(3, time.Hour, false), reserve(2, time.Minute, false), reserve(2, 2*time.Hour, true)},
			quota.Requirements{Spacing: time.Hour}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled, "a")
			h.input.Jobs.Entries[0].Requirements = quota.Requirements{Spacing: 24 * time.Hour}
			var replies []*reply
			for i, c := range tt.reservations {
				c.Tiers = tiers(upTo(9))
				replies = append(replies, h.update(time.Duration(i+1)*time.Second, workflows.UpdateReserve, c))
			}
			next := h.handOver(time.Minute)
			for _, r := range replies {
				r.ok(t)
			}
			require.Len(t, next.Jobs.Entries, 1)
			require.Equal(t, tt.want, next.Jobs.Entries[0].Requirements)
			require.Equal(t, tt.generation, 1+next.Jobs.Entries[0].Changes)
		})
	}
}
