package registries_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/quota"
	"almanac/workflows"
	"almanac/workflows/registries"
)

// The server's default limits. A payload is encrypted, which adds less than encryption.
const (
	maxPayload = 2 << 20
	maxMessage = 4 << 20
	encryption = 1000
)

// most is what a job can require, in its longest form.
var most = quota.Requirements{Spacing: 18 * 31 * 24 * time.Hour, Authenticates: true}

// fullOf returns a collection that takes no more names with a prefix, and whose members take as much as they can.
func fullOf(t *testing.T, prefix string) *collectionEnv {
	t.Helper()
	c := largest(t)
	var names []string
	for i := range min(10_000, registries.Capacity(&c, prefix+"1234")) {
		names = append(names, fmt.Sprintf("%s%04d", prefix, i))
	}
	h := newCollectionEnv(t, job.CollectionEnabled, names...)
	h.input.Collection = c
	h.input.State, h.input.Pause, h.input.Notifying = 1_000_000, time.Second, 1<<26-1
	for i := range h.input.Jobs.Entries {
		e := &h.input.Jobs.Entries[i]
		e.Sequence += 10_000_000
		e.From, e.Changes = number(-2*time.Hour), 1_000_000
		e.Requirements, e.Applied, e.Silent, e.Unverified = most, 999_999, true, true
	}
	h.input.Jobs.Sequence += 10_000_000
	byID := map[string]string{} // the ids of long names end in hashes
	for _, name := range names {
		byID[key.Collection.Job(name).WorkflowID()] = job.NormalizeName(name)
	}
	h.name = func(id string) string { return byID[id] }
	return h
}

// largest returns a collection whose properties take as much as an API allows with its default limits.
func largest(t *testing.T) job.Collection {
	t.Helper()
	c := job.Collection{Key: key.Collection, Generation: number(0), Properties: properties(job.CollectionEnabled), Location: "here"}
	for i := range 10 {
		c.Properties.Notifications = append(c.Properties.Notifications, job.Notification{
			Name: strings.Repeat("<", 62) + fmt.Sprint(i), On: []job.Event{job.EventFailed, job.EventRecovered, job.EventMissed, job.EventLate, job.EventDisabled, job.EventQuiet},
			After: 1000, LateBy: "PT1S", Within: "PT1M",
			Target: job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{Method: "POST", URI: "http://127.0.0.1/?" + strings.Repeat("&", 1400)}}},
		})
	}
	return c
}

func size(t *testing.T, v any) int {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return len(text)
}

func TestACollectionAtItsMaximumStaysWithinTheServersLimits(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{
		"short names":                      "j",
		"long ones":                        strings.Repeat("n", 250),
		"long ones that JSON escapes":      strings.Repeat("<", 250),
		"long ones of four bytes a letter": strings.Repeat("𒀭", 250),
	} {
		if testing.Short() && name != "long ones" {
			continue // with the race detector each takes half a minute
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fullOf(t, prefix)
			names := len(h.input.Jobs.Entries)
			require.Less(t, size(t, h.input), maxPayload-encryption, "though no member could take more")
			h.silent = func(string) bool { return true } // all, so that as many as possible are asked at a time
			var again []workflows.RegisterJob
			for _, e := range h.input.Jobs.Entries[:100] {
				again = append(again, workflows.RegisterJob{Name: e.Name, Requirements: most})
			}
			twice := h.update(time.Second, workflows.UpdateRegister, registering(upTo(10_000), again...))
			h.update(2*time.Second, workflows.UpdateDisable)
			full := h.register(3*time.Second, prefix+prefix+"another", 10_000)
			listed := h.listed(4 * time.Second)
			h.at(time.Minute, func() { h.silent = nil })
			next := h.handOver(2 * time.Minute)

			require.NoError(t, twice.err)
			require.NotEmpty(t, full.noRoom(t))
			require.Len(t, *listed, names)
			require.Len(t, next.Jobs.Entries, names, "no name is lost")
			require.Less(t, size(t, next), maxPayload-encryption)
			require.Less(t, size(t, workflows.JobList{Collection: key.Collection, Jobs: *listed}), maxPayload-encryption, "the answer of a query")
			require.NotEmpty(t, h.payloads)
			require.Less(t, slices.Max(h.payloads), maxMessage/8, "so that several activities fit into one task")
		})
	}
}

// A name that is registered twice takes more. Fewer names may be than there are.
func TestACollectionTakesNoMoreNamesTwiceThanFit(t *testing.T) {
	t.Parallel()
	h := fullOf(t, strings.Repeat("n", 250))
	var replies []*reply
	for i, some := range slices.Collect(slices.Chunk(h.input.Jobs.Entries[:900], 100)) {
		var jobs []workflows.RegisterJob
		for _, e := range some {
			jobs = append(jobs, workflows.RegisterJob{Name: e.Name, Requirements: most})
		}
		replies = append(replies, h.update(time.Second+time.Duration(i)*time.Millisecond, workflows.UpdateRegister, registering(upTo(10_000), jobs...)))
	}
	next := h.handOver(10 * time.Second)
	taken, refused := 0, 0
	for _, r := range replies {
		for _, one := range r.registered(t) {
			if one.Refused == "" {
				taken++
			} else {
				require.Contains(t, one.Refused, "is full")
				refused++
			}
		}
	}
	require.Positive(t, refused)
	require.Greater(t, taken, 400)
	require.Less(t, size(t, next), maxPayload-encryption)
}

// The limit of Temporal's SDK for one workflow task is a second. It is checked here as in production, so nothing of
// this package runs beside it, and one of three attempts is enough, since other programs may keep the machine busy. The
// race detector, which makes it ten times slower, is left a minute.
func TestAFullCollectionForgetsAllItsNamesInOneTask(t *testing.T) { //nolint:paralleltest // see above
	limit := time.Second
	if testing.Short() {
		limit = workflowtest.Deadlock
	}
	h := fullOf(t, "j")
	var gone []workflows.Registration // the signals of jobs that were deleted while no worker was there
	for _, e := range h.input.Jobs.Entries {
		gone = append(gone, workflows.Registration{Name: e.Name, Number: e.Number})
	}
	var env *testsuite.TestWorkflowEnvironment
	for range 3 {
		env = workflowtest.NewEnvironment()
		env.SetStartTime(newYear)
		env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: limit})
		env.RegisterWorkflow(registries.RemoveAll)
		env.ExecuteWorkflow(registries.RemoveAll, h.input.Jobs, gone)
		if env.GetWorkflowError() == nil {
			break
		}
	}
	require.NoError(t, env.GetWorkflowError())
	var left int
	require.NoError(t, env.GetWorkflowResult(&left))
	require.Zero(t, left)
}

func TestASubscriptionAtItsMaximumStaysWithinTheServersLimits(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"short names": "g/c", "long ones that JSON escapes": strings.Repeat("<", 90) + "/" + strings.Repeat("<", 95)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSubscriptionEnv(t)
			all := []string{"Free", "P10Premium", "P20Premium", "Premium", "Standard"}
			var refused int
			for i := range 10_000 { // as many as the plans allow
				e := registries.Entry{Name: fmt.Sprint(prefix, i), Sequence: 10_000_000 + i, Unverified: true}
				e.Number, e.From, e.Changes, e.Plans = number(-time.Hour)+i, number(-2*time.Hour), math.MaxInt32, all
				o.input.Collections.Entries = append(o.input.Collections.Entries, e)
				if size(t, o.input.Collections.Entries[len(o.input.Collections.Entries)-1:])*(i+1) > 1_990_000 {
					refused = i
					break
				}
			}
			o.input.Collections.Sequence, o.input.Collections.Last = 20_000_000, number(0)
			r := o.register(time.Second, standard(prefix+"another", 10_000))
			next := o.run(10 * time.Second)
			require.NotNil(t, next)
			require.Less(t, size(t, next), maxPayload-encryption)
			if refused > 0 {
				require.Contains(t, r.failed(t, workflows.ErrTypeConflict), "is full")
			}
		})
	}
}
