package jobloop_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/internal/visibility"
	"almanac/workflows/jobloop/alerts"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// executionsPerRun is the number of executions after which a run continues as new, drainAfter the one
// after which it drains.
const (
	executionsPerRun = 50
	drainAfter       = 600
)

func TestAMinutelyJobRunsEveryMinuteOnce(t *testing.T) {
	t.Parallel()
	minutes := 30 * 24 * 60
	switch {
	case os.Getenv("ALMANAC_YEAR") != "": // a whole year takes minutes
		minutes = 365 * 24 * 60
	case testing.Short():
		minutes = 24 * 60
	}
	w := newJobEnv(t, every(`"frequency":"minute"`))
	w.run(time.Duration(minutes)*time.Minute - time.Second)

	require.Len(t, w.sent, minutes)
	ids := make(map[string]bool, minutes)
	for i, s := range w.sent {
		due := newYear.Add(time.Duration(i) * time.Minute)
		if !s.Execution.Due.Equal(due) || !s.at.Equal(due) || s.Execution.Repeat != i+1 || ids[s.Execution.ID] {
			t.Fatalf("execution %d: %+v, sent at %s; want a new one, due and sent at %s", i+1, s.Execution, s.at, due)
		}
		ids[s.Execution.ID] = true
	}
	require.GreaterOrEqual(t, len(w.runs), minutes/executionsPerRun)
	for _, r := range w.runs {
		require.LessOrEqual(t, r.executions, executionsPerRun)
		require.LessOrEqual(t, size(t, r.Input), 4<<10, "what a run hands over does not grow")
	}
	require.Empty(t, w.dropped())
}

// size returns the size of v as JSON, in bytes.
func size(t *testing.T, v any) int {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return len(text)
}

func TestNoRunGrowsWithoutLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, recurrence   string
		arrange            func(*jobEnv)
		most               int // executions per run
		executions, missed int // per day of 1440 minutes
	}{
		// The last occurrence is still waiting at the end.
		{"when each execution outlasts the interval", `"frequency":"minute"`,
			func(w *jobEnv) { w.takes(90 * time.Second) }, executionsPerRun, 960, 479},
		{"when executions overlap all the time", `"frequency":"minute","overlapPolicy":"AllowAll"`,
			func(w *jobEnv) { w.takes(90 * time.Second) }, drainAfter, 1440, 0},
		{"when a manual run waits for its retries half a day", `"frequency":"minute"`,
			func(w *jobEnv) {
				w.signal(30*time.Second, workflows.UpdateRun, nil)
				w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 2 && s.attempt() < 3 })
			}, executionsPerRun, 1440 + 1, 0},
		{"when many executions wait for their retries", `"frequency":"minute","overlapPolicy":"AllowAll"`,
			func(w *jobEnv) {
				w.fails(func(s sentAttempt) bool { return s.Execution.Repeat%10 == 0 && s.attempt() < 3 })
			}, executionsPerRun, 1440, 0},
		{"when more executions wait than may run at once", `"frequency":"minute","overlapPolicy":"AllowAll"`,
			func(w *jobEnv) { w.fails(always) }, executionsPerRun, 200, 1240},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+`,"retryPolicy":{"retryInterval":"PT6H","retryCount":2}},"recurrence":{`+tt.recurrence+`}`)
			tt.arrange(w)
			w.run(24*time.Hour - time.Second)
			require.Greater(t, len(w.runs), 1, "runs")
			for _, r := range w.runs {
				require.LessOrEqual(t, r.executions, tt.most)
			}
			require.Len(t, w.executions(), tt.executions)
			require.Equal(t, tt.missed, w.missed())
			w.requireSound()
		})
	}
}

// A job that continues as new more often does the same.
func TestContinuingAsNewChangesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties string
		arrange          func(*jobEnv)
	}{
		{"of a plain series", every(minutely), func(*jobEnv) {}},
		{"of a series that ends by count", every(minutely + `,"count":20`), func(*jobEnv) {}},
		{"of a series that ends by its end time", every(minutely + `,"endTime":"2026-01-01T00:20:00Z"`), func(*jobEnv) {}},
		{"of occurrences that wait", every(minutely), func(w *jobEnv) { w.takes(100 * time.Second) }},
		{"of occurrences that are skipped", every(minutely + `,"overlapPolicy":"Skip"`), func(w *jobEnv) { w.takes(100 * time.Second) }},
		{"of catching up", every(minutely + `,"catchUpWindow":"PT10M"`), func(w *jobEnv) {
			w.now = newYear.Add(15 * time.Minute)
			w.takes(10 * time.Second)
		}},
		{"of retries, error actions and failures", withErrorAction(twoRetries, noRetry) + `,"recurrence":{"frequency":"minute","count":9}`,
			func(w *jobEnv) { w.fails(func(s sentAttempt) bool { return s.Execution.Repeat%3 == 0 }) }},
		{"of manual runs", every(minutely), func(w *jobEnv) {
			for i := range 20 {
				w.signal(time.Duration(5+50*i)*time.Second, workflows.UpdateRun, nil)
			}
		}},
		{"of changes", every(minutely), func(w *jobEnv) {
			w.takes(20 * time.Second)
			w.replace(130*time.Second, every(minutely+`,"interval":2`))
			w.signal(400*time.Second, workflows.UpdateDisable, nil)
			w.signal(500*time.Second, workflows.UpdateEnable, nil)
			w.update(700*time.Second, workflows.UpdateCollection, collectionIs(false))
			w.replace(710*time.Second, every(minutely+`,"interval":3`))
			w.update(800*time.Second, workflows.UpdateCollection, collectionIs(true))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			live := func(suggest time.Duration) (*jobEnv, job.Job) {
				w := newJobEnv(t, tt.properties)
				tt.arrange(w)
				w.suggest = suggest
				read := w.snapshot(25*time.Minute - time.Second)
				w.run(25*time.Minute - 500*time.Millisecond)
				w.requireSound()
				if read.Running != nil {
					read.Running.Run = ""
					for i := range read.Running.Executions {
						read.Running.Executions[i].Activity = ""
					}
				}
				for i := range w.sent {
					w.sent[i].options.ActivityID = "" // unique within a run
				}
				return w, *read
			}
			whole, want := live(0)
			require.Len(t, whole.runs, 1)
			for _, suggest := range []time.Duration{500 * time.Millisecond, 7 * time.Second, 90 * time.Second, 5 * time.Minute} {
				cut, got := live(suggest)
				require.Greater(t, len(cut.runs), 1)
				require.Equal(t, want, got)
				require.Equal(t, whole.executions(), cut.executions())
				require.Equal(t, whole.lines(), cut.lines())
				require.Equal(t, whole.dropped(), cut.dropped())
			}
		})
	}
}

func TestNothingIsLostAtTheBoundariesOfRuns(t *testing.T) {
	t.Parallel()
	const step = 499 * time.Millisecond
	w := newJobEnv(t, every(minutely))
	w.takes(2 * time.Second)
	w.suggest = time.Second // every run ends with its first execution, 2 s after the minute
	manual, interval := 0, 0
	var runs, replaces []*answer
	for minute := range 30 {
		for i := range 12 { // from 1 s before the minute to 4.5 s after it
			at := time.Duration(minute+1)*time.Minute - time.Second + time.Duration(i)*step
			switch (minute + i) % 3 {
			case 0:
				runs = append(runs, w.update(at, workflows.UpdateRun))
			case 1:
				w.signal(at, workflows.UpdateRun, nil)
			case 2:
				interval++
				replaces = append(replaces, w.replace(at, `"action":{`+get+`},"recurrence":{"frequency":"minute","catchUpWindow":"PT`+strconv.Itoa(interval)+`M"}`))
				continue
			}
			manual++
		}
	}
	read := w.snapshot(40*time.Minute - time.Second)
	w.run(40*time.Minute - 600*time.Millisecond)

	require.Greater(t, len(w.runs), 20)
	for _, a := range slices.Concat(runs, replaces) {
		a.ok(t)
	}
	require.Equal(t, registration+len(replaces), read.Generation)
	require.Equal(t, "PT"+strconv.Itoa(interval)+"M", string(read.Definition.Recurrence.CatchUpWindow))
	occurrences := 0
	for _, s := range w.executions() {
		if s.Execution.Due.Equal(s.Execution.Due.Truncate(time.Minute)) {
			occurrences++
		}
	}
	require.Equal(t, manual+40, read.Status.ExecutionCount)
	require.Len(t, w.executions(), manual+40)
	require.GreaterOrEqual(t, occurrences, 40)
	require.Empty(t, w.dropped())
}

func TestARunDoesNotEndBeforeAnUpdateIsAnswered(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.takes(10 * time.Second)
	w.lookTakes = time.Second
	w.suggest = time.Second
	// being handled when the execution ends
	a := w.replace(9500*time.Millisecond, every(minutely+`,"overlapPolicy":"Skip"`))
	w.run(65 * time.Second)
	require.Equal(t, job.OverlapSkip, a.ok(t).Definition.Recurrence.OverlapPolicy)
	require.Equal(t, newYear.Add(a.at), w.runs[1].start.UTC())
	require.Equal(t, 10500*time.Millisecond, a.at)
	require.Equal(t, []string{"00:00:00", "00:01:00"}, w.dues())
}

// The run drains after a manual run whose workers all crash before anything is sent. The next run of
// the workflow makes it, unless the job is changed.
func TestAManualRunThatWasCancelledIsNotSentInTheNextRun(t *testing.T) {
	t.Parallel()
	const manual = (drainAfter-1)*time.Minute + 30*time.Second - time.Minute
	live := func(change time.Duration) (*jobEnv, job.Job) {
		w := newJobEnv(t, every(minutely+`,"overlapPolicy":"AllowAll"`))
		w.takes(90 * time.Second)
		w.workerFate = func(s sentAttempt) workerFate {
			if s.Execution.Repeat == drainAfter && (change > 0 || len(w.runs) == 1) {
				return killedHeld
			}
			return sent
		}
		w.signal(manual, workflows.UpdateRun, nil)
		if change > 0 {
			w.signal(change, workflows.UpdateDisable, nil)
		}
		read := w.snapshot(manual + 9*time.Minute)
		w.run(manual + 10*time.Minute)
		require.Len(t, w.runs, 2)
		require.Len(t, w.runs[1].Waiting, 1)
		return w, *read
	}
	due := clock(newYear.Add(manual))

	w, _ := live(0)
	require.Contains(t, w.dues(), due, "it is sent in the end")
	w.requireSound()

	w, read := live(manual + 5*time.Minute) // in the next run
	require.True(t, w.runs[1].start.Before(newYear.Add(manual+5*time.Minute)))
	require.NotContains(t, w.dues(), due)
	require.Zero(t, read.Status.FailureCount, "nothing was sent")
	require.Equal(t, len(w.executions()), read.Status.ExecutionCount)
	require.Contains(t, w.dropped(), "Cancelled 1: "+due+" to "+due)
}

func TestTheNextRunGetsTheWholeState(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return newYear.Add(time.Duration(minutes) * time.Minute) }
	in := state.Input{
		Key: key, Created: newYear, Definition: definition(t, every(minutely)), Generation: registration + 6, Registration: registration, CollectionDisabled: true,
		Unconfirmed: true, Collection: 3,
		Plan:    plan.Plan{Due: []time.Time{at(10), at(11)}, Done: true, More: true, Dropped: &plan.Dropped{Count: 1}},
		Decided: at(9), BusyUntil: at(8), CatchUp: at(7), Started: 6, ManualRuns: 5, Failed: true, Final: at(4), FailedRun: "run 3", ChangedRun: "run 3",
		Irregular: at(20), OutlineChanged: true, Skips: []time.Time{at(9), at(30)}, SkipWindows: []job.SkipWindow{{From: at(40), Until: at(50)}}, SkipsNoted: at(9), FlexibleWindow: "PT0S", Blackouts: []job.Blackout{{Name: "b", OnMatch: "skip", From: "22:00", Until: "23:00"}}, Backfills: []plan.Backfill{{Backfill: job.Backfill{State: job.BackfillPaused}}}, CollectionPause: &job.Disabling{At: at(1), Promise: job.Promise{Until: at(99)}}, Held: &job.Promise{Recover: job.RecoverAll, AtOnce: 2}, Recovery: &plan.Recovery{Until: at(8), AtOnce: 2, Begun: at(9)}, PutOffs: []state.PutOff{{Due: at(10), Times: 2}},
		Lead: 700, Hold: 3000, Loss: 1350, Last: at(2), Numbered: 12, ExecutionCount: 11, FailureCount: 10, FaultedCount: 9,
		Outcomes: job.Outcomes{
			LastOutcome: &job.LastOutcome{Status: job.OutcomeFailed, ExpectedExecutionTime: job.NewTime(at(2)), EndTime: job.NewTime(at(3))},
			LastError:   &job.LastError{Message: "it failed", EndTime: job.NewTime(at(3))}, ConsecutiveFailures: 8, LastSuccessTime: job.NewTime(at(1)),
			FailingSince: job.NewTime(at(2)),
		},
		Recent: job.Recent{Marks: []byte{1, 2, 3, 4, 5, 6}, Hours: []byte{0, 7, 125, 144}},
		Listed: job.OutcomeCompleted, ShowNext: true, ListedNext: at(10), Optional: visibility.Optional{Recorded: true},
		Applied: state.Requests{{Hash: "a", At: at(4).Unix()}}, Reruns: state.Requests{{Hash: "b", At: at(3).Unix()}},
		OutlineDue: true, Outlined: at(4), ManualOutlined: at(3),
		Behind: "2026a", Unread: "it does not answer", Halted: "it failed too often", Forgiven: 3, DisabledBy: &job.Disabling{At: at(3), By: "ada"},
		Compared: state.Compares{Since: at(2), Count: 4},
		Pruning:  &job.Pruning{At: at(3), By: "ada", State: job.StateEnabled},
		Alerts: alerts.State{
			Watch:     notification.Watch{Failed: []string{"a"}, Quiet: []string{"b"}, Since: at(3)},
			Inherited: []notification.Rule{{Key: "a", On: []job.Event{job.EventFailed}, After: 2}},
			Outbox: notification.Outbox{
				Alerts:  []notification.Raised{{Alert: notification.Alert{ID: "a1", Job: key}, Inherit: []string{"a"}}},
				Notices: []notification.Raised{{Alert: notification.Alert{ID: "a2", Job: key}, Lost: 3}},
			},
		},
		Waiting: []state.Waiting{{
			Execution: job.Execution{ID: "e", Due: at(1), Repeat: 3, ActionName: job.MainAction, Job: "Nightly", Collection: "Reports"},
			Manual:    true, Sent: true, Tried: 2, Next: at(60), PutOff: 3, Began: at(50), Error: "it failed", ErrorEnd: at(51),
		}, {
			Execution: job.Execution{ID: "f", Due: at(2), Repeat: 4, ActionName: job.MainAction, Job: "Nightly", Collection: "Reports"}, Next: at(61),
		}},
	}
	require.NoError(t, json.Unmarshal([]byte(`{"decided":"2026-01-01T00:01:00Z","last":"2026-01-01T00:02:00Z"}`), &in.Waiting[1].Undo))
	for field, value := range reflect.ValueOf(in).Fields() {
		// a run starts with these: see TestManualRunsThatAlwaysOverlapAreAllMade, TestALongPauseEndsInManyWorkflowTasks
		if field.Name != "Deferred" && field.Name != "Releasing" {
			require.False(t, value.IsZero(), "the test lacks %s", field.Name)
		}
	}
	w := newJobEnv(t, once)
	w.next, w.now = in, at(5)
	w.suggest, w.courier.raising, w.courier.again, w.confirms = time.Second, never, time.Hour, time.Hour
	// an old one, which wakes the loop
	w.update(6*time.Minute, workflows.UpdateCollection, workflows.CollectionState{Generation: 2})
	w.run(7 * time.Minute)
	require.Len(t, w.runs, 2)
	require.NotEqual(t, in.ChangedRun, w.runs[1].ChangedRun)
	in.ChangedRun = w.runs[1].ChangedRun // by the update
	require.Len(t, w.outlines, 2)
	in.OutlineChanged, in.OutlineDue, in.Outlined = false, false, at(5) // it was shown
	in.ListedNext = time.Time{}                                         // nothing is next while the collection is disabled
	want, err := json.Marshal(in)
	require.NoError(t, err)
	got, err := json.Marshal(w.runs[1].Input)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	require.Empty(t, w.sent)
}

func TestTheNextRunGetsTheRunOfTheNewestFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fails func(sentAttempt) bool
		want  string // the FailedRun in the last run's input
	}{
		{"nowhere", func(sentAttempt) bool { return false }, "before"},
		{"in an execution that failed", func(s sentAttempt) bool { return s.Execution.Repeat == 2 }, "this"},
		{"in an attempt that was repeated", func(s sentAttempt) bool { return s.Execution.Repeat == 2 && s.attempt() == 1 }, "this"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"action":{`+get+`,"retryPolicy":{"retryInterval":"PT15S","retryCount":1}},"recurrence":{`+minutely+`}`)
			w.next.FailedRun = "before"
			w.fails(tt.fails)
			w.suggest = 2 * time.Minute
			w.run(3 * time.Minute)
			require.Len(t, w.runs, 2)
			want := tt.want
			if want == "this" {
				want = w.runs[0].id
			}
			require.Equal(t, want, w.runs[1].FailedRun)
		})
	}
}

func TestTheNextRunGetsTheRunOfTheNewestChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		earlier string // the ChangedRun in the input
		update  bool
		want    string // the ChangedRun in the next run's input
	}{
		{"before", "before", false, "before"},
		{"this one, with an update", "before", true, "this"},
		{"this one, which created the job", "", false, "this"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			w.next.ChangedRun = tt.earlier
			if tt.update {
				// changes nothing, but was asked for
				w.update(90*time.Second, workflows.UpdateCollection, collectionIs(true))
			}
			w.suggest = 2 * time.Minute
			w.run(3 * time.Minute)
			require.Len(t, w.runs, 2)
			want := tt.want
			if want == "this" {
				want = w.runs[0].id
			}
			require.Equal(t, want, w.runs[1].ChangedRun)
		})
	}
}
