package jobloop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/jobloop"
)

// never is longer than any test.
const never = 10_000 * time.Hour

// watchedDaily returns the properties of a job that runs each day and makes one attempt, with more properties.
func watchedDaily(more string) string {
	return `"action":{` + get + `,"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"day"}` + more
}

// alternate lets every other execution fail, so that each raises an alert.
func (w *jobEnv) alternate() {
	w.fails(func(s sentAttempt) bool { return s.Execution.Repeat%2 == 1 })
}

func TestAJobWhoseAlertsCannotBeHandedOverContinuesAsNewAndKeepsItsSchedule(t *testing.T) {
	t.Parallel()
	const minutes = 700 // more than a run has executions if it does not continue as new
	long := `,"headers":{"X":"` + strings.Repeat("x", 3000) + `"}`
	w := newJobEnv(t, watched(`,"notifications":[{"name":"ops","on":["failed","recovered"],"target":{"type":"Https","request":{"uri":"https://example.com/"`+long+`}}}]`))
	w.courier.raising = never
	w.alternate()
	w.run(minutes*time.Minute + 30*time.Second)
	require.Len(t, w.starts(), minutes+1)
	require.Len(t, w.runs, 1+minutes/jobloop.ExecutionsPerRun)
	require.LessOrEqual(t, w.courier.exchanges, 4*minutes)
	for _, r := range w.runs[1:] {
		text, err := json.Marshal(r.Alerts.Outbox)
		require.NoError(t, err)
		require.Less(t, len(text), notification.MaxOutbox+2*6<<10)
	}
	last, lost := w.runs[len(w.runs)-1].Alerts.Outbox, 0
	for _, r := range last.Notices {
		lost += r.Lost
	}
	require.Len(t, last.Notices, 1)
	require.Greater(t, len(last.Alerts), 10)
	raised := jobloop.ExecutionsPerRun * (len(w.runs) - 1)
	require.Equal(t, raised, len(last.Alerts)+lost, "each is in the outbox or counted")
	counted := 0
	for _, c := range w.counted.Counted() {
		if strings.HasPrefix(c, "almanac_alerts_lost") {
			counted++
		}
	}
	require.GreaterOrEqual(t, counted, lost)
}

func TestAlertsThatCouldNotBeHandedOverForALongTimeAreWhenTheyCanAndWhatWasDroppedIsReported(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed","recovered"]`)))
	w.courier.raising = never
	w.alternate()
	w.at(290*time.Minute+30*time.Second, func() { w.courier.raising = 0 })
	w.run(310*time.Minute + 30*time.Second)
	require.Positive(t, w.lost)
	require.Equal(t, 311, len(w.raised)-1+w.lost, "each is handed over or counted")
	ids := map[string]bool{}
	for _, id := range w.alertIDs {
		ids[id] = true
	}
	require.Len(t, ids, len(w.alertIDs), "each has an id of its own")
	w.requireSound()
}

func TestARunThatContinuesAsNewKeepsItsAlertsUntilTheyAreHandedOver(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed"]`)))
	w.courier.raising = 150 * time.Second
	w.suggest = time.Second
	w.failing(1)
	w.run(6 * time.Minute)
	require.Len(t, w.runs, 2+5)
	require.True(t, w.runs[1].start.Before(newYear.Add(2*time.Minute)), "it did not wait for the hand-over")
	require.Len(t, w.alerts, 1)
	ids := map[string]bool{}
	for _, r := range w.runs[1:4] {
		require.Len(t, r.Alerts.Outbox.Alerts, 1)
		ids[r.Alerts.Outbox.Alerts[0].Alert.ID] = true
	}
	require.Len(t, ids, 1)
	require.Empty(t, w.runs[5].Alerts.Outbox.Alerts)
}

func TestAJobLearnsThatAnAlertWasHandedOverWhenItIsDueNext(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed"]`)))
	w.courier.again = 30 * time.Second
	w.failing(1, 2, 4)
	w.run(6*time.Minute + 30*time.Second)
	require.Equal(t, []string{"00:00:00", "00:00:59", "00:03:00", "00:03:59"}, w.courier.askedAt, "when the next occurrence is dispatched")
	require.Len(t, w.alerts, 2)
}

func TestAJobThatIsNotDueSoonAsksWhenTheCourierSays(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watchedDaily(notified(`"on":["failed"]`)))
	w.courier.again = 45 * time.Second
	w.failing(1)
	w.run(23 * time.Hour)
	require.Equal(t, []string{"00:00:00", "00:00:45"}, w.courier.askedAt)
	require.Equal(t, []string{"00:00:00 own ops: Job 'Nightly' failed: it failed"}, w.alerts)
}

func TestAnAlertThatWasLostWithItsWorkerIsHandedOverByTheNext(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watchedDaily(notified(`"on":["failed"]`)))
	w.courier.raising = 25 * time.Second
	w.failing(1)
	w.at(20*time.Second, func() { w.courier.offered = map[string]time.Time{} })
	w.run(23 * time.Hour)
	require.Equal(t, []string{"00:00:00", "00:00:30", "00:01:30"}, w.courier.askedAt)
	require.Len(t, w.alerts, 1)
}

func TestAJobAsksLessAndLessOftenForAnAlertThatCannotBeHandedOver(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watchedDaily(notified(`"on":["failed"]`)))
	w.courier.raising = never
	w.failing(1)
	w.run(45 * time.Minute)
	require.Equal(t, []string{
		"00:00:00", "00:00:30", "00:01:30", "00:03:30", "00:07:30", "00:15:30", "00:25:30", "00:35:30", "00:45:00",
	}, w.courier.askedAt, "the last time when it was deleted")
}

func TestAJobWithoutACourierKeepsItsAlerts(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed"]`)))
	w.noCourier, w.suggest, w.removal = true, 90*time.Second, 100*time.Millisecond
	w.failing(1)
	w.run(3 * time.Minute)
	require.Len(t, w.runs[1].Alerts.Outbox.Alerts, 1)
	require.Len(t, w.left, 1)
}

func TestAJobThatDoesNotFailHandsNothingOver(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed","recovered"]`)))
	w.run(60 * time.Minute)
	require.Zero(t, w.courier.exchanges)
	text, err := json.Marshal(w.runs[1].Alerts)
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(text))
}

func TestADeletedJobEndsAtOnceAndSendsWhatItCouldNotHandOver(t *testing.T) {
	t.Parallel()
	for _, unreachable := range []bool{false, true} {
		t.Run(fmt.Sprintf("unreachable=%v", unreachable), func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, watched(notified(`"on":["failed"]`)))
			w.courier.raising, w.unreachable, w.removal = never, unreachable, 100*time.Millisecond
			w.fails(always)
			w.run(2*time.Minute + 30*time.Second)
			require.Equal(t, "00:02:30", clock(w.env.Now()))
			require.Equal(t, 1, w.removed)
			if unreachable {
				require.Empty(t, w.left)
				require.Equal(t, []string{"almanac_alerts_lost  "}, w.counted.Counted(), "nobody knows whether it arrives")
				return
			}
			require.Len(t, w.left, 1)
			require.Equal(t, job.EventFailed, w.left[0].Alert.Event)
			require.Empty(t, w.counted.Counted())
		})
	}
}

func TestAJobIsDeletedBeforeItKnowsThatItsAlertsWereHandedOver(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watchedDaily(notified(`"on":["failed"]`)))
	w.unreachable = true
	w.failing(1)
	w.run(10 * time.Second)
	require.Len(t, w.alerts, 1)
	require.Empty(t, w.left)
	require.Empty(t, w.counted.Counted(), "it asks before it ends")
}

func TestAlertsOfAnExecutionFindRoomAsSoonAsEarlierOnesWereHandedOver(t *testing.T) {
	t.Parallel()
	long := `,"headers":{"X":"` + strings.Repeat("x", 3000) + `"}`
	w := newJobEnv(t, watched(`,"notifications":[{"name":"ops","on":["failed","recovered"],"target":{"type":"Https","request":{"uri":"https://example.com/"`+long+`}}}]`))
	w.courier.again = 10 * time.Hour // it does not ask by itself
	w.alternate()
	w.run(200*time.Minute + 30*time.Second)
	require.Len(t, w.alerts, 201)
	require.Empty(t, w.counted.Counted())
}

func TestAJobOfADeletedCollectionEndsWithoutItsAlerts(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, watched(notified(`"on":["failed"]`)))
	w.courier.raising = never
	w.fails(always)
	a := w.update(90*time.Second, workflows.UpdateDismiss)
	w.run(10 * time.Minute)
	a.ok(t)
	require.Less(t, w.env.Now().Sub(newYear), 2*time.Minute)
	require.Empty(t, w.left)
}
