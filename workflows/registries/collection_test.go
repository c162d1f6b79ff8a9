package registries_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/quota"
	"almanac/workflows"
	"almanac/workflows/registries"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	t.Run("reserves the name of a new job", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		a, b := h.register(time.Second, "One", 2), h.register(2*time.Second, "two", 2)
		listed := h.listed(3 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		require.Equal(t, as("One", time.Second), a.registered(t))
		require.Equal(t, as("two", 2*time.Second), b.registered(t))
		require.Equal(t, []workflows.Listed{{Name: "One", Sequence: 1}, {Name: "two", Sequence: 2}}, *listed, "in the order in which they were created")
	})
	t.Run("shows an existing job as it was first written", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "NightlyÄ")
		a := h.register(time.Second, "nIGHTLYÄ", 1)
		names := h.names(2 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		require.Equal(t, as("NightlyÄ", time.Second), a.registered(t), "although the collection is full")
		require.Equal(t, []string{"NightlyÄ"}, *names)
	})
	t.Run("says whether the collection is disabled", func(t *testing.T) {
		t.Parallel()
		for _, state := range []job.CollectionState{job.CollectionDisabled, job.CollectionSuspended} {
			h := newCollectionEnv(t, state, "a")
			a, b := h.register(time.Second, "a", 5), h.register(time.Second, "b", 5)
			require.ErrorIs(t, h.run(10*time.Second), errStopped)
			require.Equal(t, as("a", time.Second), a.registered(t))
			for _, r := range []*reply{a, b} {
				require.True(t, r.ok(t).(workflows.RegisterAnswer).Collection.Disabled)
			}
			require.Equal(t, "b", b.registered(t)[0].Name)
		}
	})
	t.Run("is refused when the collection is full", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		a := h.register(time.Second, "c", 2)
		h.removed(2*time.Second, "A")
		b := h.register(3*time.Second, "c", 2)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		text := a.noRoom(t)
		require.Contains(t, text, "2 jobs")
		require.Contains(t, text, "'c'")
		require.Equal(t, as("c", 3*time.Second), b.registered(t), "a job has gone meanwhile")
	})
	t.Run("reserves several names at once, and refuses each by itself", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionDisabled, "a")
		limits := upTo(3)
		limits.Authentication = false
		all := h.update(time.Second, workflows.UpdateRegister, registering(limits,
			workflows.RegisterJob{Name: "b"}, workflows.RegisterJob{Name: "c", Requirements: quota.Requirements{Authenticates: true}},
			workflows.RegisterJob{Name: "A"}, workflows.RegisterJob{Name: "d"}, workflows.RegisterJob{Name: "e"}, workflows.RegisterJob{Name: "B"}))
		none := h.update(2*time.Second, workflows.UpdateRegister, registering(limits, workflows.RegisterJob{Name: "f"}, workflows.RegisterJob{Name: "g"}))
		names := h.names(3 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		results := all.registered(t)
		require.Len(t, results, 6)
		for i, name := range []string{"b", "", "a", "d", "", "b"} {
			require.Equal(t, name, results[i].Name)
			require.Equal(t, name == "", results[i].Refused != "")
		}
		require.Contains(t, results[1].Refused, "'c'")
		require.Contains(t, results[4].Refused, "quota of 3 jobs")
		for _, r := range none.registered(t) {
			require.Contains(t, r.Refused, "quota of 3 jobs")
		}
		require.Equal(t, []string{"a", "b", "d"}, *names)
	})
	t.Run("never exceeds the limit when all come at once", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		var replies []*reply
		for i := range 30 {
			replies = append(replies, h.register(time.Second, fmt.Sprint("job", i%20), 10)) // some twice
		}
		names := h.names(2 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		for i, r := range replies {
			if r.err != nil || r.registered(t)[0].Refused != "" {
				require.False(t, slices.Contains(*names, fmt.Sprint("job", i%20)))
			} else {
				require.Contains(t, *names, r.registered(t)[0].Name)
			}
		}
		require.Len(t, *names, 10)
	})
}

func TestACollectionIsFullWhenItsNamesTakeTheMaximumSize(t *testing.T) {
	t.Parallel()
	batch := func(prefix string, n int) (jobs []workflows.RegisterJob) {
		for i := range n {
			jobs = append(jobs, workflows.RegisterJob{Name: fmt.Sprint(prefix, i), Requirements: quota.Requirements{Spacing: 30 * 24 * time.Hour, Authenticates: true}})
		}
		return jobs
	}
	for _, tt := range []struct {
		name, prefix string
		have         int // existing jobs; of 100 more, some are accepted
		why          string
	}{
		{"10,000 of short names", "job ", 9_950, "quota of 10000 jobs"},
		{"fewer of long ones", strings.Repeat("n", 250), 4_650, "is full"},
		{"and of such as take more in JSON", strings.Repeat("<", 250), 1_150, "is full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for i := range tt.have {
				names = append(names, fmt.Sprint(tt.prefix, "old", i))
			}
			h := newCollectionEnv(t, job.CollectionEnabled, names...)
			h.input.State = 1_000_000
			for i := range h.input.Jobs.Entries { // no further name fits
				e := &h.input.Jobs.Entries[i]
				e.Unverified, e.Changes, e.From, e.Applied = true, 1_000_000, number(0), 1_000_000
				e.Requirements = quota.Requirements{Spacing: 18 * 30 * 24 * time.Hour, Authenticates: true}
			}
			many := h.update(time.Second, workflows.UpdateRegister, registering(upTo(10_000), batch(tt.prefix, 100)...))
			another := h.register(2*time.Second, tt.prefix+"another", 10_000)
			again := h.register(3*time.Second, strings.ToUpper(names[0]), 10_000)
			next := h.handOver(25 * time.Second) // the clock goes on while names are looked up, as long as that takes
			results := many.registered(t)
			taken := slices.IndexFunc(results, func(r workflows.RegisterResult) bool { return r.Refused != "" })
			require.Positive(t, taken)
			for _, r := range results[taken:] {
				require.Contains(t, r.Refused, tt.why)
			}
			require.Contains(t, another.noRoom(t), tt.why)
			require.Equal(t, names[0], again.registered(t)[0].Name, "it has its place already")
			require.Len(t, next.Jobs.Entries, tt.have+taken)
			for i := range next.Jobs.Entries {
				next.Jobs.Entries[i].Silent = true
			}
			handedOver, err := json.Marshal(next)
			require.NoError(t, err)
			require.Less(t, len(handedOver), 2<<20-1000, "with what its encryption adds, the server takes it")
		})
	}
}

func TestAJobThatIsGoneLeavesTheRegistry(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled, "a", "B", "c")
	h.removed(time.Second, "b")
	h.removed(time.Second, "stranger")
	names := h.names(2 * time.Second)
	require.ErrorIs(t, h.run(10*time.Second), errStopped)
	require.Equal(t, []string{"a", "c"}, *names)
}

func TestANameIsRegisteredOnlyIfItIsNewWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	ifNew := func(names ...string) (r workflows.RegisterRequest) {
		r = registering(upTo(2))
		for _, name := range names {
			r.Jobs = append(r.Jobs, workflows.RegisterJob{Name: name, IfNew: true})
		}
		return r
	}
	h := newCollectionEnv(t, job.CollectionEnabled, "Old")
	alone := h.update(10*time.Second, workflows.UpdateRegister, ifNew("old"))
	together := h.update(11*time.Second, workflows.UpdateRegister, ifNew("a", "b", "OLD", "A"))
	h.starts(11*time.Second, "a")
	names := h.names(12 * time.Second)
	require.ErrorIs(t, h.run(time.Minute), errStopped)
	taken := func(r *reply) (taken []bool) {
		for _, j := range r.ok(t).(workflows.RegisterAnswer).Jobs {
			taken = append(taken, j.Taken)
		}
		return taken
	}
	require.Equal(t, []bool{true}, taken(alone))
	require.Equal(t, []bool{false, false, true, true}, taken(together))
	require.NotEmpty(t, together.value.(workflows.RegisterAnswer).Jobs[1].Refused, "the quota is two")
	require.Equal(t, []string{"Old", "a"}, *names)
	require.Equal(t, [][]string{{"old"}, {"a"}}, h.lookups, "to see whether there is room, and the new one; what was taken is as it was")
}

func TestRegistrationsAreVerified(t *testing.T) {
	t.Parallel()
	t.Run("30 to 40 seconds after, together", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "old")
		h.missing = []string{"lost", "old"}
		h.register(10*time.Second, "there", 9)
		h.register(19*time.Second, "lost", 9)
		h.register(21*time.Second, "later", 9)
		early, names := h.names(49*time.Second), h.names(51*time.Second)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"old", "there", "lost", "later"}, *early)
		require.Equal(t, []string{"old", "there", "later"}, *names)
		require.Equal(t, [][]string{{"there", "lost"}, {"later"}}, h.lookups, "each once, and none that was seen before")
	})
	t.Run("unless the API has told that they were started", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.missing = []string{"lost"}
		h.register(10*time.Second, "there", 9)
		h.register(11*time.Second, "lost", 9)
		h.register(12*time.Second, "anew", 9)
		h.removed(13*time.Second, "anew")
		h.register(14*time.Second, "anew", 9)
		next := registering(upTo(9), workflows.RegisterJob{Name: "next"})
		next.Started = []workflows.Registration{{Name: "there", Number: number(10 * time.Second)}, {Name: "anew", Number: number(12 * time.Second)}, {Name: "stranger", Number: 1}}
		h.update(15*time.Second, workflows.UpdateRegister, next)
		h.starts(15*time.Second, "next")
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, [][]string{{"lost", "anew", "next"}}, h.lookups)
	})
	t.Run("even then, if the state of the collection has changed since", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.absent = func(string) bool { return h.env.Now().Before(newYear.Add(32 * time.Second)) } // it is started late
		h.register(10*time.Second, "a", 9)
		h.update(11*time.Second, workflows.UpdateDisable)
		next := registering(upTo(9), workflows.RegisterJob{Name: "a", IfNew: true})
		next.Started = []workflows.Registration{{Name: "a", Number: number(10 * time.Second)}}
		h.update(33*time.Second, workflows.UpdateRegister, next)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"00:00:50 a collection false"}, h.received())
	})
	t.Run("and again when a name is registered anew", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.missing = []string{"a"}
		h.register(time.Second, "a", 9)
		h.removed(20*time.Second, "a")
		h.register(21*time.Second, "a", 9)
		names := h.names(60 * time.Second)
		gone := h.names(62 * time.Second)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *names, "its time has begun anew")
		require.Empty(t, *gone)
	})
	t.Run("but not by a lookup that began before they were made", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.missing = []string{"a"}
		h.lookupTakes = 10 * time.Second
		h.register(time.Second, "a", 9) // looked up between 41 and 51 seconds
		h.removed(43*time.Second, "a")
		h.register(44*time.Second, "a", 9)
		names, gone := h.names(80*time.Second), h.names(95*time.Second)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *names)
		require.Empty(t, *gone)
	})
	t.Run("across runs", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.input.Jobs = registries.Names{Entries: []registries.Entry{
			{Name: "b", Sequence: 1, Claim: registries.Claim{Number: number(-time.Hour)}, Unverified: true},
			{Name: "a", Sequence: 2, Claim: registries.Claim{Number: number(-10 * time.Second)}, Unverified: true},
		}}
		h.missing = []string{"a", "b"}
		first, second := h.names(29*time.Second), h.names(31*time.Second)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *first)
		require.Empty(t, *second)
	})
}

// A name may be registered again while the job before is ending. The signal that a job is gone may then
// be from either, and only a lookup can tell.
func TestANameThatIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	contest := func(t *testing.T, missing ...string) (h *collectionEnv, soon, later *[]string) {
		t.Helper()
		h = newCollectionEnv(t, job.CollectionEnabled, "A")
		h.missing = missing
		h.register(10*time.Second, "a", 1)
		h.removed(11*time.Second, "a") // from the job before
		h.at(12*time.Second, func() { h.own("a", number(10*time.Second)) })
		soon, later = h.names(49*time.Second), h.names(51*time.Second)
		h.removed(60*time.Second, "a") // from the current job
		return h, soon, later
	}
	t.Run("outlives the job before it", func(t *testing.T) {
		t.Parallel()
		h, soon, later := contest(t)
		end := h.names(61 * time.Second)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"A"}, *soon)
		require.Equal(t, []string{"A"}, *later)
		require.Equal(t, [][]string{{"a"}}, h.lookups)
		require.Empty(t, *end, "what was looked up can leave by itself again")
	})
	t.Run("is forgotten if its job did not start", func(t *testing.T) {
		t.Parallel()
		h, soon, later := contest(t, "a")
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"A"}, *soon)
		require.Empty(t, *later)
	})
}

func TestWordsThatTheAPIStoresDifferentlyAreRefused(t *testing.T) {
	t.Parallel()
	t.Run("in an update", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		r := h.put(time.Second, "disabled")
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		require.Contains(t, r.refused(t, workflows.ErrTypeInvalid), `properties.state: "disabled" is not supported; allowed: Disabled`)
	})
	t.Run("in the input of a start", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, "disabled")
		require.ErrorContains(t, h.run(10*time.Second), `properties.state: "disabled" is not supported; allowed: Disabled`)
	})
	t.Run("in a subscription", func(t *testing.T) {
		t.Parallel()
		o := newSubscriptionEnv(t, "g/one")
		r := o.register(time.Second, workflows.RegisterCollectionRequest{Name: "g/two", Plan: "free", Limit: 1})
		o.run(10 * time.Second)
		require.Contains(t, r.refused(t, workflows.ErrTypeInvalid), `plan: "free" is not supported; allowed: Free`)
	})
}

func TestPut(t *testing.T) {
	t.Parallel()
	t.Run("replaces the properties", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		to := job.Collection{
			Key:        job.CollectionKey{Subscription: "S", ResourceGroup: "G", Name: "REPORTS"},
			Location:   "here",
			Properties: job.CollectionProperties{SKU: job.SKU{Name: "Free"}, State: job.CollectionEnabled, Quota: &job.Quota{MaxJobCount: 3}},
		}
		a := h.update(time.Second, workflows.UpdatePut, workflows.PutRequest{Collection: to})
		var read job.Collection
		h.at(2*time.Second, func() {
			value, err := h.env.QueryWorkflow(workflows.QueryStatus)
			require.NoError(t, err)
			require.NoError(t, value.Get(&read))
		})
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		to.Key = key.Collection // names stay as first written
		to.Generation = 2
		require.Equal(t, to, a.ok(t))
		require.Equal(t, to, read)
		require.Empty(t, h.updates, "no job is updated")
	})
	t.Run("that disables or enables updates every job", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "B")
		h.put(10*time.Second, job.CollectionDisabled)
		h.put(20*time.Second, job.CollectionSuspended)
		h.put(30*time.Second, job.CollectionEnabled)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{
			"00:00:10 a collection false", "00:00:10 b collection false",
			"00:00:30 a collection true", "00:00:30 b collection true",
		}, h.received(), "Suspended is no news to jobs that rest")
	})
	t.Run("is answered when every job is updated", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
		h.slow = 5 * time.Second
		a := h.put(10*time.Second, job.CollectionDisabled)
		before := h.answered(14*time.Second, a)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		a.ok(t)
		require.False(t, *before)
	})
	t.Run("does not wait for a job that is gone", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a", "gone")
		h.missing = []string{"gone"}
		a := h.put(10*time.Second, job.CollectionDisabled)
		soon := h.answered(10500*time.Millisecond, a)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		a.ok(t)
		require.True(t, *soon)
		require.Equal(t, []string{"00:00:10 a collection false"}, h.received())
	})
	t.Run("waits for a job that is about to be started, and reaches it", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		started := false
		h.absent = func(string) bool { return !started }
		registered := h.register(time.Second, "a", 9)
		a := h.put(2*time.Second, job.CollectionDisabled) // before the job's workflow exists
		before, after := h.answered(3900*time.Millisecond, a), h.answered(4100*time.Millisecond, a)
		h.at(3500*time.Millisecond, func() { started = true })
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.False(t, registered.ok(t).(workflows.RegisterAnswer).Collection.Disabled)
		require.Equal(t, []string{"00:00:04 a collection false"}, h.received())
		require.False(t, *before)
		require.True(t, *after)
	})
	t.Run("waits no longer than a job may take to be started", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		h.absent = func(string) bool { return true }
		h.missing = []string{"a"}
		h.register(time.Second, "a", 9)
		a := h.put(2*time.Second, job.CollectionDisabled)
		certain := time.Second + workflows.StartWithin
		before, after := h.answered(certain-100*time.Millisecond, a), h.answered(certain+1100*time.Millisecond, a)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.False(t, *before)
		require.True(t, *after)
		require.Empty(t, h.updates)
	})
	t.Run("updates a job that no update could reach before", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		started := false
		h.absent = func(string) bool { return !started }
		h.register(time.Second, "a", 9)
		h.put(2*time.Second, job.CollectionDisabled)
		h.at(20*time.Second, func() { started = true })
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{"00:00:41 a collection false"}, h.received())
	})
	t.Run("never overtakes the one before it", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.slow = 5 * time.Second
		h.put(10*time.Second, job.CollectionDisabled)
		h.put(11*time.Second, job.CollectionEnabled)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{"00:00:15 a collection false", "00:00:15 a collection true"}, h.received())
	})
}

func TestJobsAreUpdatedInChunks(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 450 {
		names = append(names, fmt.Sprintf("job%03d", i))
	}
	h := newCollectionEnv(t, job.CollectionEnabled, names...)
	h.missing = []string{"job000", "job300"}
	h.put(10*time.Second, job.CollectionDisabled)
	h.at(15*time.Second, func() { h.missing = nil })
	h.update(20*time.Second, workflows.UpdateDisable)
	require.ErrorIs(t, h.run(time.Minute), errStopped)
	require.Equal(t, []int{200, 200, 50, 2}, h.sizes)
	require.Len(t, h.updates, 450)
	require.Equal(t, []string{"00:00:20 job000 collection false", "00:00:20 job300 collection false"}, h.received()[448:],
		"only those that were missing are updated again")
}

func TestACollectionIsEnabledAndDisabled(t *testing.T) {
	t.Parallel()
	for by, send := range map[string]func(*collectionEnv, time.Duration, string){
		"by update": func(h *collectionEnv, at time.Duration, name string) { h.update(at, name) },
		"by signal": func(h *collectionEnv, at time.Duration, name string) { h.signal(at, name, nil) },
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled, "a")
			h.input.Location = "here"
			send(h, 10*time.Second, workflows.UpdateDisable)
			send(h, 20*time.Second, workflows.UpdateDisable) // no change
			send(h, 30*time.Second, workflows.UpdateEnable)
			send(h, 40*time.Second, workflows.UpdateDisable)
			got := h.handOver(50 * time.Second)
			require.Equal(t, []string{"00:00:10 a collection false", "00:00:30 a collection true", "00:00:40 a collection false"}, h.received())
			want := h.input.Collection
			want.Properties.State, want.Generation = job.CollectionDisabled, 4
			require.Equal(t, want, got.Collection, "nothing else changed")
		})
	}
}

func TestDeletingACollection(t *testing.T) {
	t.Parallel()
	deletions := map[string]func(*collectionEnv) *reply{
		"by update": func(h *collectionEnv) *reply { return h.update(10*time.Second, workflows.UpdateDelete) },
		"by signal": func(h *collectionEnv) *reply {
			h.signal(10*time.Second, workflows.UpdateDelete, nil)
			return &reply{completed: true}
		},
		"by cancelling the workflow": func(h *collectionEnv) *reply {
			h.at(10*time.Second, func() { h.env.CancelWorkflow() })
			return &reply{completed: true}
		},
	}
	for by, remove := range deletions {
		t.Run(by+" deletes its jobs first", func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled, "a", "b")
			h.slow = 2 * time.Second
			a := remove(h)
			require.NoError(t, h.run(time.Minute))
			a.ok(t)
			require.Equal(t, []string{"00:00:12 a dismiss", "00:00:12 b dismiss"}, h.received())
			require.Equal(t, []string{"g/Reports"}, h.left, "the subscription is notified")
			require.Equal(t, newYear.Add(12*time.Second), h.env.Now().UTC())
		})
		t.Run(by+" does not wait for jobs that do not exist", func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled, "a", "ghost")
			h.missing = []string{"ghost"}
			a := remove(h)
			require.NoError(t, h.run(time.Minute))
			a.ok(t)
			require.Equal(t, newYear.Add(10*time.Second), h.env.Now().UTC())
		})
		t.Run(by+" reaches a job that starts late", func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled)
			started := false
			h.absent = func(string) bool { return !started }
			h.register(9*time.Second, "a", 9)
			a := remove(h)
			h.at(15500*time.Millisecond, func() { started = true })
			require.NoError(t, h.run(5*time.Minute))
			a.ok(t)
			require.Equal(t, []string{"00:00:16 a dismiss"}, h.received())
			require.Equal(t, newYear.Add(16*time.Second), h.env.Now().UTC())
		})
		t.Run(by+" waits for a job that never starts until that is certain", func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled)
			h.absent = func(string) bool { return true }
			h.register(9*time.Second, "a", 9)
			a := remove(h)
			require.NoError(t, h.run(5*time.Minute))
			a.ok(t)
			require.Equal(t, newYear.Add(10*time.Second+workflows.StartWithin), h.env.Now().UTC(), "by the first look after it")
		})
		t.Run(by+" works while registrations are verified", func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled)
			h.input.Jobs = registries.Names{Entries: []registries.Entry{ // verified from 00:00:05 on
				{Name: "a", Sequence: 1, Claim: registries.Claim{Number: number(-35 * time.Second)}, Unverified: true},
			}}
			h.lookupTakes = 8 * time.Second
			a := remove(h)
			require.NoError(t, h.run(time.Minute))
			a.ok(t)
			require.Equal(t, []string{"00:00:10 a dismiss"}, h.received())
		})
		t.Run(by+" works while jobs are being updated", func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled, "a")
			h.slow = 5 * time.Second
			h.put(9*time.Second, job.CollectionDisabled)
			a := remove(h)
			require.NoError(t, h.run(time.Minute))
			a.ok(t)
			require.Contains(t, h.received(), clock(h.env.Now())+" a dismiss", "as the last of all")
		})
	}
	t.Run("that holds no job ends it at once", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled)
		a := h.update(10*time.Second, workflows.UpdateDelete)
		require.NoError(t, h.run(time.Minute))
		a.ok(t)
		require.Equal(t, newYear.Add(10*time.Second), h.env.Now().UTC())
	})
	t.Run("twice answers both", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.slow = 5 * time.Second
		a, b := h.update(10*time.Second, workflows.UpdateDelete), h.update(11*time.Second, workflows.UpdateDelete)
		early := h.answered(14*time.Second, b)
		require.NoError(t, h.run(time.Minute))
		a.ok(t)
		b.ok(t)
		require.False(t, *early, "neither before the jobs are gone")
		require.Equal(t, []string{"00:00:15 a dismiss"}, h.received())
		require.Equal(t, []string{"g/Reports"}, h.left)
	})
	t.Run("goes on when the workflow is cancelled meanwhile", func(t *testing.T) {
		t.Parallel()
		h := newCollectionEnv(t, job.CollectionEnabled, "a")
		h.slow = 5 * time.Second
		h.update(10*time.Second, workflows.UpdateDelete)
		h.at(12*time.Second, func() { h.env.CancelWorkflow() })
		require.NoError(t, h.run(time.Minute))
		require.NotEmpty(t, h.updates)
		require.Equal(t, []string{"g/Reports"}, h.left)
	})
}

func TestRequestsToACollectionThatIsBeingDeletedAreRefused(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled, "a")
	h.slow = time.Second
	deleted := h.update(10*time.Second, workflows.UpdateDelete)
	during := 10*time.Second + 500*time.Millisecond
	refused := []*reply{
		h.register(during, "b", 9), h.register(during, "a", 9), h.put(during, job.CollectionDisabled),
		h.update(during, workflows.UpdateReserve, workflows.ReserveRequest{Name: "a", Job: number(0), Tiers: tiers(upTo(9))}),
	}
	failed := []*reply{h.update(during, workflows.UpdateEnable), h.update(during, workflows.UpdateDisable)}
	h.signal(during, workflows.UpdateDisable, nil)
	for _, query := range []string{workflows.QueryStatus, workflows.QueryJobs} {
		h.at(during, func() {
			_, err := h.env.QueryWorkflow(query)
			requireType(t, err, workflows.ErrTypeGone)
		})
	}
	require.NoError(t, h.run(time.Minute))
	deleted.ok(t)
	for _, r := range refused {
		r.refused(t, workflows.ErrTypeGone)
	}
	for _, r := range failed {
		r.failed(t, workflows.ErrTypeGone)
	}
	require.Equal(t, []string{"00:00:11 a dismiss"}, h.received())
}

func TestACollectionContinuesAsNewWithItsRegistry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		arrange func(*collectionEnv)
		most    time.Duration
		passes  bool // names were registered and removed
	}{
		{"after a thousand changes", func(h *collectionEnv) {
			h.pass(500, "passing", registering(upTo(4), workflows.RegisterJob{Name: "passing"}))
		}, 10 * time.Second, true},
		{"when the server suggests it", func(h *collectionEnv) {
			h.at(time.Second, func() { h.env.SetContinueAsNewSuggested(true) })
			h.removed(2*time.Second, "stranger")
		}, 2 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionDisabled, "a", "B")
			twice := registries.Claim{Number: number(-time.Second), From: number(-2 * time.Second), Requirements: quota.Requirements{Spacing: time.Hour}}
			h.input.Jobs.Entries = append(h.input.Jobs.Entries, registries.Entry{
				Name: "new", Sequence: 7, Unverified: true, Before: &twice,
				Claim: registries.Claim{Number: number(0), Requirements: quota.Requirements{Spacing: time.Hour, Authenticates: true}, Changes: 3, Applied: 2},
			})
			h.input.Jobs.Sequence, h.input.Jobs.Last, h.input.State = 7, number(0), 2
			for i := range h.input.Jobs.Entries {
				h.input.Jobs.Entries[i].Applied = 2
			}
			tt.arrange(h)
			got := continued[registries.CollectionInput](t, h.run(time.Hour))
			require.Equal(t, tt.passes, got.Jobs.Sequence > h.input.Jobs.Sequence)
			require.Equal(t, tt.passes, got.Jobs.Last > h.input.Jobs.Last)
			got.Jobs.Sequence, got.Jobs.Last = h.input.Jobs.Sequence, h.input.Jobs.Last
			got.Jobs.Entries = slices.DeleteFunc(got.Jobs.Entries, func(r registries.Entry) bool { return r.Name == "passing" })
			require.Equal(t, asJSON(t, h.input), asJSON(t, got))
			require.LessOrEqual(t, h.env.Now().Sub(newYear), tt.most)
		})
	}
}

func TestSequencesAreGivenOnceInOneRunAndTheNext(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled)
	h.input.Jobs = h.existing("a", "b")
	h.input.Jobs.Entries[0].Sequence, h.input.Jobs.Entries[1].Sequence, h.input.Jobs.Sequence = 4, 6, 9
	want := []workflows.Listed{{Name: "a", Sequence: 4}, {Name: "new", Sequence: 10}}
	h.removed(time.Second, "b")
	h.register(2*time.Second, "new", 9)
	listed := h.listed(3 * time.Second)
	next := h.handOver(10 * time.Second)
	require.Equal(t, want, *listed)

	after := newCollectionEnv(t, job.CollectionEnabled)
	after.input = next
	listed = after.listed(time.Second)
	require.ErrorIs(t, after.run(time.Minute), errStopped)
	require.Equal(t, want, *listed)
}
