package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// ahead starts a job whose one occurrence is dispatched at once and held until
// it is due. It returns the workflow's id.
func (s *stack) ahead(t *testing.T, k job.Key, definition string, due time.Time) string {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	return s.started(t, "/jobs", definition, now, func(in *state.Input) {
		in.Key = k
		in.Plan = plan.Plan{Due: []time.Time{due}, Done: true}
		in.Lead = int(due.Sub(now).Milliseconds())
	})
}

// isHeld reports whether a worker has the activity of a workflow.
func (s *stack) isHeld(t *testing.T, id string) bool {
	t.Helper()
	found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil || len(found.GetPendingActivities()) != 1 {
		return false
	}
	return found.GetPendingActivities()[0].GetState() == enums.PENDING_ACTIVITY_STATE_STARTED
}

// held starts jobs that are due after a lead, and returns when they are due once workers have them all. Where a slow
// machine takes until the margin before, it starts others, with twice the lead; round counts from 0.
func (s *stack) held(t *testing.T, lead, margin time.Duration, start func(round int, due time.Time) (ids []string)) time.Time {
	t.Helper()
	for round := range 4 {
		due := time.Now().UTC().Truncate(time.Second).Add(lead)
		ids := start(round, due)
		eventually(t, "hold of all jobs", func() bool {
			ids = slices.DeleteFunc(ids, func(id string) bool { return s.isHeld(t, id) })
			return len(ids) == 0 || time.Until(due) < margin
		})
		if len(ids) == 0 && time.Until(due) >= margin {
			return due
		}
		lead *= 2
	}
	t.Fatalf("no worker has all jobs %s before they are due, %s after their start", margin, lead/2)
	return time.Time{}
}

// sleepUntil returns some time after an instant.
func sleepUntil(t *testing.T, at time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(at)):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// hourly is a job that calls a URL every hour.
func hourly(url string) string { return get(url, `,"recurrence":{"frequency":"hour"}`) }

// Until it is due, what a worker holds can be changed, and the change is
// answered before.
func TestAChangeTakesBackWhatAWorkerHolds(t *testing.T) {
	t.Parallel()
	var cases group
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, target, url string)
		sent   int // to the new address
	}{
		{"a new action", func(t *testing.T, target, url string) {
			ok(t, http.MethodPatch, url, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target+`"}}}}`)
		}, 1},
		{"a job that is disabled", func(t *testing.T, _, url string) {
			ok(t, http.MethodPatch, url, `{"properties":{"state":"disabled"}}`)
		}, 0},
		{"a job that is deleted", func(t *testing.T, _, url string) { ok(t, http.MethodDelete, url, "") }, 0},
	} {
		cases.run(t, tt.name, func(t *testing.T) {
			s, target := use(t), newSink(t, nil)
			jobs := s.collection(t) + "/jobs"
			var url, old string
			n := 0
			var due time.Time
			for _, lead := range []time.Duration{25 * time.Second, 3 * time.Minute} {
				// a slow machine takes longer to answer
				due = s.held(t, lead, lead*2/5, func(_ int, due time.Time) []string {
					n++
					name := fmt.Sprint("j", n)
					url, old = jobs+"/"+name, fmt.Sprint("/old", n)
					return []string{s.ahead(t, key(jobs, name), hourly(target.URL+old), due)}
				})
				r := call(t, http.MethodGet, url, "")
				if !time.Now().Before(due) {
					continue
				}
				require.InDelta(t, 0, r.get("properties.status.executionCount"), 0, r.body)
				require.Equal(t, due.Format(time.RFC3339), r.get("properties.status.nextExecutionTime"), r.body)
				tt.change(t, fmt.Sprint(target.URL, "/new", n), url)
				if time.Now().Before(due) {
					break
				}
			}
			require.True(t, time.Now().Before(due), "the answer does not wait for the due time")
			changed := fmt.Sprint("/new", n)
			if tt.sent > 0 {
				require.False(t, target.await(t, changed, tt.sent)[0].at.Before(due))
				status(t, url, "properties.status.executionCount", float64(tt.sent))
			}
			sleepUntil(t, due.Add(1500*time.Millisecond))
			require.Empty(t, target.got(old))
			require.Len(t, target.got(changed), tt.sent)
			if tt.sent > 0 {
				history := call(t, http.MethodGet, url+"/history", "")
				require.Equal(t, tt.sent, history.count("value"), history.body)
			}
			if r := call(t, http.MethodGet, url, ""); r.code == http.StatusOK {
				ok(t, http.MethodDelete, url, "")
			}
		})
	}
	cases.Wait()
}

// A worker is killed that holds the occurrences of many jobs: another one has
// them soon, and what must not be sent twice is not.
func TestAnotherWorkerTakesOverWhatAKilledOneHeld(t *testing.T) {
	t.Parallel()
	const each = 10 // jobs of each policy
	policies := map[string]string{
		"often": `{"retryType":"fixed","retryInterval":"PT15S","retryCount":4}`,
		"once":  `{"retryType":"none"}`,
	}
	server := newServer(t, t.TempDir(), quiet) // its own, for all its workers are killed
	var cases group
	for n, tt := range []struct {
		name   string
		killed time.Duration // before the due time
		beside bool          // whether the other worker is there already
		asked  bool          // whether the server heard of it just before, and expects it to take what comes
	}{
		{"that is started then", 2 * time.Second, false, false},
		{"that was there already", 2 * time.Second, true, false},
		{"while they are being sent", 50 * time.Millisecond, true, false},
		{"at work until then", 200 * time.Millisecond, true, true},
	} {
		cases.run(t, tt.name, func(t *testing.T) {
			namespace := newNamespace(t, server.Address())
			c, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address(), Namespace: namespace, Logger: sdklog.NewStructuredLogger(quiet)})
			require.NoError(t, err)
			t.Cleanup(c.Close)
			s, target := &stack{temporal: c}, newSink(t, nil)
			worker := func() *half { return startHalfIn(t, server.Address(), namespace, "", "worker") }
			killed := worker()
			if tt.beside {
				worker()
			}
			collection := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: fmt.Sprintf("killed-%d", n)}
			var ids map[string]string // by path
			due := s.held(t, 18*time.Second, 4*time.Second, func(round int, due time.Time) []string {
				ids = map[string]string{}
				for i := range each {
					for kind, policy := range policies {
						path := fmt.Sprintf("/%s/%d-%d", kind, round, i)
						ids[path] = s.ahead(t, collection.Job(fmt.Sprintf("%s-%d-%d", kind, round, i)), `{"properties":{"action":{"type":"Http",
							"request":{"method":"GET","uri":"`+target.URL+path+`"},"retryPolicy":`+policy+`},"recurrence":{"frequency":"hour"}}}`, due)
					}
				}
				return slices.Collect(maps.Values(ids))
			})
			if tt.asked {
				sleepUntil(t, due.Add(-tt.killed-time.Second))
				for _, id := range ids {
					_, err := c.QueryWorkflow(t.Context(), id, "", workflows.QueryStatus)
					require.NoError(t, err)
				}
			}
			sleepUntil(t, due.Add(-tt.killed))
			killed.kill(t)
			if !tt.beside {
				worker()
			}

			last := due
			for path, id := range ids {
				var state string
				eventually(t, "end of "+path, func() bool {
					found, err := c.DescribeWorkflow(t.Context(), id, "")
					if err == nil {
						state, _ = found.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState))
					}
					return job.State(state).Final()
				})
				got := target.got(path)
				once := strings.HasPrefix(path, "/once/")
				if once {
					require.LessOrEqual(t, len(got), 1, "%s was sent twice", path)
				}
				if len(got) == 0 {
					require.True(t, once && tt.killed < time.Second, "%s is lost", path)
					require.Equal(t, string(job.StateFaulted), state, "it is unknown whether it was sent, and the job says so")
				}
				for _, r := range got {
					require.Equal(t, got[0].key, r.key)
					require.False(t, r.at.Before(due), path)
					if r.at.After(last) {
						last = r.at
					}
				}
			}
			t.Logf("the last one came %s after it was due", last.Sub(due))
		})
	}
	cases.Wait()
}
