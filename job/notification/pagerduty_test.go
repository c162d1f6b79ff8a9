package notification_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

const key = "0123456789abcdef0123456789ABCDEF"

// An incident is the body of a request to PagerDuty.
type incident struct {
	RoutingKey string         `json:"routing_key"`
	Action     string         `json:"event_action"`
	Key        string         `json:"dedup_key"`
	Payload    map[string]any `json:"payload"`
}

// toPagerDuty returns the requests that send a message to PagerDuty, and their bodies.
func toPagerDuty(t *testing.T, m *notification.Message) ([]notification.Post, []incident) {
	t.Helper()
	target := job.Target{Type: kind.Duty, Own: kind.Own{PagerDuty: &kind.PagerDuty{RoutingKey: key}}}
	posts, err := m.Posts(&target)
	require.NoError(t, err)
	require.Len(t, posts, m.PostCount(&target))
	require.Nil(t, target.Request)
	ids := map[string]bool{}
	bodies := make([]incident, len(posts))
	for i, p := range posts {
		require.Equal(t, "POST https://events.pagerduty.com/v2/enqueue", p.Action.Request.Method+" "+p.Action.Request.URI)
		require.Less(t, len(p.Action.Request.Body), 512<<10)
		require.NoError(t, json.Unmarshal([]byte(p.Action.Request.Body), &bodies[i]))
		require.Equal(t, key, bodies[i].RoutingKey)
		require.LessOrEqual(t, len(bodies[i].Key), 255)
		ids[p.ID] = true
	}
	require.Len(t, ids, len(posts), "each request has an id of its own")
	return posts, bodies
}

func event(name string, e job.Event) *notification.Alert {
	a := notification.Alert{Event: e, Job: collection.Job(name), Time: noon}
	a.Identify("run", string(e))
	a.Describe("it is full")
	return &a
}

// added returns a message of alerts for PagerDuty.
func added(open *notification.Incidents, alerts ...*notification.Alert) *notification.Message {
	m := &notification.Message{ID: "m1", Collection: collection}
	for _, a := range alerts {
		open.Add(m, a)
	}
	return m
}

func TestPagerDutyGetsAnIncidentForEachJobAndEvent(t *testing.T) {
	t.Parallel()
	var open notification.Incidents
	fails := failed("Nightly")
	_, got := toPagerDuty(t, added(&open, &fails))
	require.Len(t, got, 1)
	require.Equal(t, "trigger", got[0].Action)
	require.Equal(t, "almanac/failed/"+fails.Job.WorkflowID(), got[0].Key)
	require.Equal(t, map[string]any{
		"summary": "Job 'Nightly' failed 3 times in a row: 500 Internal Server Error: <none>", "severity": "error", "timestamp": "2026-01-01T12:00:00Z",
		"source": fails.Job.ARMID(), "component": "Nightly", "group": "Reports", "class": "failed", "custom_details": got[0].Payload["custom_details"],
	}, got[0].Payload)
	require.Equal(t, "e1", got[0].Payload["custom_details"].(map[string]any)["executionId"])

	severities := map[job.Event]string{
		job.EventMissed: "error", job.EventLate: "warning", job.EventQuiet: "error", job.EventDisabled: "critical", notification.EventTest: "info",
	}
	for e, severity := range severities {
		_, got := toPagerDuty(t, added(&open, event("Nightly", e)))
		require.Equal(t, []string{"trigger", severity}, []string{got[0].Action, got[0].Payload["severity"].(string)})
		require.Equal(t, "almanac/"+string(e)+"/"+fails.Job.WorkflowID(), got[0].Key)
	}
}

func TestARecoveryResolvesTheIncidentsOfItsJobThatItEnds(t *testing.T) {
	t.Parallel()
	var open notification.Incidents
	added(&open, event("a", job.EventFailed), event("a", job.EventLate), event("a", job.EventDisabled), event("b", job.EventFailed))
	_, got := toPagerDuty(t, added(&open, event("a", job.EventRecovered)))
	var resolved []string
	for _, e := range got {
		require.Nil(t, e.Payload)
		resolved = append(resolved, e.Action+" "+e.Key)
	}
	id := collection.Job("a").WorkflowID()
	require.Equal(t, []string{"resolve almanac/failed/" + id, "resolve almanac/disabled/" + id}, resolved)
	require.Zero(t, added(&open, event("a", job.EventRecovered)).Total(), "nothing of it is open any more")
	require.Zero(t, added(&open, event("c", job.EventRecovered)).Total(), "it had no incident")
}

func TestAFailureAndItsEndInOneMessageAreSentInOrder(t *testing.T) {
	t.Parallel()
	var open notification.Incidents
	m := added(&open, event("a", job.EventFailed), event("a", job.EventRecovered))
	_, got := toPagerDuty(t, m)
	require.Equal(t, []string{"trigger", "resolve"}, []string{got[0].Action, got[1].Action})
	require.Equal(t, got[0].Key, got[1].Key)
	open.Delivered(m)
	require.Empty(t, open)
}

func TestAStormOpensFewIncidentsAndAllOfThemAreResolved(t *testing.T) {
	t.Parallel()
	var open notification.Incidents
	var storm, calm []*notification.Alert
	for i := range 1000 {
		storm = append(storm, event(fmt.Sprint("job", i), job.EventFailed))
		// in another order
		calm = append([]*notification.Alert{event(fmt.Sprint("job", i), job.EventRecovered)}, calm...)
	}
	m := added(&open, storm...)
	_, got := toPagerDuty(t, m)
	require.Len(t, got, notification.MaxListed+1)
	triggered := map[string]bool{}
	for _, e := range got[:notification.MaxListed] {
		triggered[e.Key] = true
	}
	rest := got[notification.MaxListed]
	require.Equal(t, "980 more of 1000 events in job collection 'Reports': 1000 failed", rest.Payload["summary"])
	require.Equal(t, "almanac/digest/"+collection.WorkflowID(), rest.Key)
	require.Equal(t, 1000, m.Total())

	m = added(&open, calm...)
	_, got = toPagerDuty(t, m)
	require.Len(t, got, notification.MaxListed)
	for _, e := range got {
		require.Equal(t, "resolve", e.Action)
		require.True(t, triggered[e.Key])
	}
	require.True(t, open.Unresolved())
	open.Delivered(m)
	require.Empty(t, open)
}

func TestOpenIncidentsAreBounded(t *testing.T) {
	t.Parallel()
	var open notification.Incidents
	for i := range 10 * notification.MaxIncidents {
		added(&open, event(fmt.Sprint("job", i), job.EventFailed))
	}
	require.Len(t, open, notification.MaxIncidents)
	require.Positive(t, added(&open, event(fmt.Sprint("job", 10*notification.MaxIncidents-1), job.EventRecovered)).Total(), "the newest are kept")
}

func TestLongNamesAreWithinTheLimitsOfPagerDuty(t *testing.T) {
	t.Parallel()
	var open notification.Incidents
	a, b := event(strings.Repeat("ä", 250)+"a", job.EventFailed), event(strings.Repeat("ä", 250)+"b", job.EventFailed)
	a.Text = strings.Repeat("ä", 2000)
	_, got := toPagerDuty(t, added(&open, a, b))
	require.NotEqual(t, got[0].Key, got[1].Key)
	require.Len(t, []rune(got[0].Payload["summary"].(string)), 1024)
}

func TestARecoveryThatWasNotDeliveredIsRepeatedUntilItIsOrTheJobFailsAgain(t *testing.T) {
	t.Parallel()
	var open notification.Incidents
	added(&open, event("a", job.EventFailed), event("a", job.EventDisabled), event("b", job.EventFailed))
	undelivered := added(&open, event("a", job.EventRecovered), event("b", job.EventRecovered))
	_, first := toPagerDuty(t, undelivered)
	require.Len(t, first, 3)

	added(&open, event("b", job.EventFailed)) // b fails again, so its incident goes on
	next := added(&open, event("c", job.EventLate))
	open.Repeat(next, noon)
	open.Repeat(next, noon) // once
	_, got := toPagerDuty(t, next)
	var sent []string
	for _, e := range got {
		sent = append(sent, e.Action+" "+e.Key)
	}
	a := collection.Job("a").WorkflowID()
	require.Equal(t, []string{"trigger almanac/late/" + collection.Job("c").WorkflowID(), "resolve almanac/failed/" + a, "resolve almanac/disabled/" + a}, sent)
	open.Delivered(undelivered) // of b, after it has failed again
	require.False(t, open.Unresolved())
	require.Len(t, open, 1, "that of b")
}
