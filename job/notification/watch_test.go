package notification_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/notification"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// lives runs executions one after another, "x" for one that failed and "." for one that succeeded, and returns the
// events of each.
func live(rules []notification.Rule, w *notification.Watch, executions string) (events []string) {
	failures := 0
	for _, e := range executions {
		failed := e == 'x'
		text := ""
		for _, m := range w.Ended(rules, &job.ExecutionEnd{Failed: failed, FailedBefore: failures}) {
			text += fmt.Sprint(m.Event, m.Keys)
		}
		events = append(events, text)
		if failures++; !failed {
			failures = 0
		}
	}
	return events
}

func TestFailedIsRaisedOnceForAStreakAndRecoveredAtItsEnd(t *testing.T) {
	t.Parallel()
	both := []job.Event{job.EventFailed, job.EventRecovered}
	for _, tt := range []struct {
		name       string
		rules      []notification.Rule
		executions string
		want       []string
	}{
		{"after the first failure by default", []notification.Rule{{Key: "a", On: both}}, "xx.x.", []string{"failed[a]", "", "recovered[a]", "failed[a]", "recovered[a]"}},
		{"after the third", []notification.Rule{{Key: "a", On: both, After: 3}}, "xx.xxxx.", []string{"", "", "", "", "", "failed[a]", "", "recovered[a]"}},
		{"each rule by its own number", []notification.Rule{{Key: "a", On: both}, {Key: "b", On: both, After: 2}}, "xx.", []string{"failed[a]", "failed[b]", "recovered[a b]"}},
		{"only what is asked for", []notification.Rule{{Key: "a", On: both[1:]}, {Key: "b", On: both[:1]}}, "x.", []string{"failed[b]", "recovered[a]"}},
		{"nothing without failures", []notification.Rule{{Key: "a", On: both}}, "...", []string{"", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, live(tt.rules, new(notification.Watch), tt.executions))
		})
	}
}

func TestRecoveredIsRaisedAfterQuietWasAlsoWithoutAFailure(t *testing.T) {
	t.Parallel()
	rules := []notification.Rule{
		{Key: "a", On: []job.Event{job.EventQuiet, job.EventRecovered}, Within: "PT1H"},
		{Key: "b", On: []job.Event{job.EventRecovered}},
	}
	w := new(notification.Watch)
	w.Rest(noon)
	require.Equal(t, []string{"a"}, w.Silent(rules, time.Time{}, noon.Add(time.Hour)))
	require.Equal(t, []string{"recovered[a]", ""}, live(rules, w, ".."))
}

func TestARuleThatIsAddedDuringAStreakIsRaisedAtTheNextFailure(t *testing.T) {
	t.Parallel()
	w := new(notification.Watch)
	live(nil, w, "xxx")
	rules := []notification.Rule{{Key: "a", On: []job.Event{job.EventFailed}, After: 2}}
	require.Equal(t, []notification.Match{{Event: job.EventFailed, Keys: []string{"a"}}}, w.Ended(rules, &job.ExecutionEnd{Failed: true, FailedBefore: 3}))
	require.Empty(t, w.Ended(rules, &job.ExecutionEnd{Failed: true, FailedBefore: 4}))
}

func TestLateIsRaisedForEachExecutionThatBeganLate(t *testing.T) {
	t.Parallel()
	rules := []notification.Rule{{Key: "a", On: []job.Event{job.EventLate}, LateBy: "PT1M"}}
	w := new(notification.Watch)
	late := func(d time.Duration, manual bool) int {
		return len(w.Ended(rules, &job.ExecutionEnd{Execution: job.Execution{Due: noon}, Began: noon.Add(d), Manual: manual}))
	}
	require.Zero(t, late(time.Minute, false))
	require.Equal(t, 1, late(time.Minute+time.Nanosecond, false))
	require.Equal(t, 1, late(time.Hour, false), "each time")
	require.Zero(t, late(time.Hour, true), "a manual run has no due time")
}

func TestAJobIsQuietOnceUntilItSucceeds(t *testing.T) {
	t.Parallel()
	rules := []notification.Rule{{Key: "a", On: []job.Event{job.EventQuiet}, Within: "PT1H"}, {Key: "b", On: []job.Event{job.EventQuiet}, Within: "PT2H"}}
	var w notification.Watch
	require.Zero(t, w.Next(rules, time.Time{}), "nothing is known of the job")
	w.Rest(noon)
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	require.Equal(t, at(time.Hour), w.Next(rules, time.Time{}))
	require.Empty(t, w.Silent(rules, time.Time{}, at(time.Hour-1)))
	require.Equal(t, []string{"a"}, w.Silent(rules, time.Time{}, at(time.Hour)))
	require.Equal(t, at(2*time.Hour), w.Next(rules, time.Time{}))
	require.Equal(t, []string{"b"}, w.Silent(rules, time.Time{}, at(3*time.Hour)))
	require.Zero(t, w.Next(rules, time.Time{}))

	w.Ended(rules, &job.ExecutionEnd{Failed: true})
	require.Zero(t, w.Next(rules, time.Time{}), "a failure is no success")
	w.Ended(rules, &job.ExecutionEnd{})
	success := at(4 * time.Hour)
	require.Equal(t, success.Add(time.Hour), w.Next(rules, success))
	w.Rest(at(10 * time.Hour))
	require.Equal(t, at(11*time.Hour), w.Next(rules, success), "it was not due meanwhile")
}
