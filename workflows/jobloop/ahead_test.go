package jobloop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
	"almanac/workflows"
)

// window is the lead of the occurrences in these tests.
const window = 10 * time.Second

// Heartbeat timeouts: how long an attempt may be silent before it counts as lost.
const (
	silence     = activities.MaxHeldLoss // after the due time, if held, while the loss time is not known
	longSilence = activities.SentLoss    // after the start, if sent at once
)

// takeover is the time until another worker has a lost attempt; it doubles with each loss.
const takeover = 100 * time.Millisecond

// newLeadEnv returns a jobEnv that dispatches occurrences ahead by window.
func newLeadEnv(t *testing.T, properties string) *jobEnv {
	t.Helper()
	w := newJobEnv(t, properties)
	w.next.Lead = int(window.Milliseconds())
	return w
}

// newHoldEnv returns a jobEnv that holds occurrences from the end of the one before, if due within a minute.
func newHoldEnv(t *testing.T, properties string) *jobEnv {
	t.Helper()
	w := newJobEnv(t, properties)
	w.next.Hold = int(time.Minute.Milliseconds())
	w.nextHold = func(sentAttempt) int { return w.next.Hold }
	return w
}

// aheadEnvs are the ways to dispatch an occurrence ahead.
var aheadEnvs = map[string]func(*testing.T, string) *jobEnv{
	"dispatched by its lead":  newLeadEnv,
	"held for all of the way": newHoldEnv,
}

// callEveryMinute returns the properties of a job that calls a path every minute.
func callEveryMinute(path string) string { return callsEvery(path, minutely) }

func callsEvery(path, recurrence string) string {
	return `"action":` + call(path) + `,"recurrence":{` + recurrence + `}`
}

func call(path string) string {
	return `{"type":"Http","request":{"uri":"http://127.0.0.1` + path + `","method":"GET"}}`
}

// requests returns the paths of the attempts and their times, such as "/old 00:01:00".
func (w *jobEnv) requests() []string {
	out := []string{}
	for _, s := range w.sent {
		out = append(out, s.Action.Request.URI[len("http://127.0.0.1"):]+" "+s.at.Format("15:04:05.999"))
	}
	return out
}

// fates returns the fates of successive activities of the occurrence due at a given time; later ones are sent.
func fates(due time.Duration, fate ...workerFate) func(sentAttempt) workerFate {
	return func(s sentAttempt) workerFate {
		if len(fate) == 0 || !s.Execution.Due.Equal(newYear.Add(due)) {
			return sent
		}
		next := fate[0]
		fate = fate[1:]
		return next
	}
}

func TestAnOccurrenceIsDispatchedAheadAndSentWhenItIsDue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lead int // milliseconds
		want time.Duration
	}{
		{"by its lead", 10_000, 50 * time.Second},
		{"by a short lead if the lead is longer than workers hold", 200_000, 40 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			w.next.Lead = tt.lead
			w.run(90 * time.Second)
			require.Len(t, w.sent, 2)
			require.Equal(t, newYear.Add(tt.want), w.sent[1].began)
			require.Equal(t, newYear.Add(time.Minute), w.sent[1].at)
			w.requireSound()
		})
	}
}

func TestAnOccurrenceThatIsDueSoonIsDispatchedAtOnce(t *testing.T) {
	t.Parallel()
	none := int(activities.NoHold.Milliseconds())
	always := func(hold time.Duration) func(sentAttempt) int {
		return func(sentAttempt) int { return int(hold.Milliseconds()) }
	}
	for _, tt := range []struct {
		name       string
		recurrence string
		arrange    func(*jobEnv)
		began      time.Duration // start of the third execution's attempt
	}{
		{"once the one before it has ended", minutely, func(w *jobEnv) { w.nextHold = always(time.Minute) }, time.Minute},
		{"once the one before it has ended, which took its time", minutely,
			func(w *jobEnv) { w.nextHold = always(time.Minute); w.takes(5 * time.Second) }, 65 * time.Second},
		{"but not where that is longer than it may be held", minutely,
			func(w *jobEnv) { w.nextHold = always(time.Minute - time.Millisecond) }, 2*time.Minute - window},
		{"but not where it is far", minutely + `,"interval":2`, func(w *jobEnv) { w.nextHold = always(time.Minute) }, 4*time.Minute - window},
		{"but not where workers hold too much", minutely, func(w *jobEnv) {
			w.nextHold = func(s sentAttempt) int { return map[int]int{1: 60_000, 2: none}[s.Execution.Repeat] }
		}, 2*time.Minute - window},
		{"after a failure as well", minutely, func(w *jobEnv) {
			w.nextHold = always(time.Minute)
			w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 2 })
		}, time.Minute},
		{"after a loss, which carries no hold, as before it", minutely, func(w *jobEnv) {
			w.nextHold = func(s sentAttempt) int { return map[int]int{1: 60_000}[s.Execution.Repeat] }
			w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 2 })
		}, time.Minute},
		{"but not beside another one", minutely + `,"overlapPolicy":"AllowAll"`, func(w *jobEnv) {
			w.nextHold = always(time.Minute)
			w.took = func(n int) time.Duration { return map[int]time.Duration{2: 100 * time.Second}[n] }
		}, 2*time.Minute - window},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+tt.recurrence+`}`)
			tt.arrange(w)
			w.run(250 * time.Second)
			third := w.executions()[2]
			require.Equal(t, newYear.Add(tt.began), third.began)
			require.Equal(t, third.Execution.Due, third.at)
			w.requireSound()
		})
	}
}

func TestTheHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, job string
		arrange   func(*jobEnv)
	}{
		{"with the first execution", every(minutely), func(*jobEnv) {}},
		{"with one that is decided late", every(minutely), func(w *jobEnv) { w.now = newYear.Add(50*time.Second + time.Millisecond) }},
		{"after executions that took long", every(minutely), func(w *jobEnv) { w.takes(20 * time.Second) }},
		{"after retries", `"action":{` + get + `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT15S","retryCount":1}},"recurrence":{` + minutely + `}`,
			func(w *jobEnv) { w.fails(func(s sentAttempt) bool { return s.attempt() == 1 }) }},
		{"with an error action", withErrorAction(noRetry, "") + `,"recurrence":{` + minutely + `}`,
			func(w *jobEnv) { w.fails(func(s sentAttempt) bool { return s.Execution.ActionName == job.MainAction }) }},
		{"with a manual run", every(minutely), func(w *jobEnv) { w.update(30*time.Second, workflows.UpdateRun) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, tt.job)
			tt.arrange(w)
			w.run(140 * time.Second)
			require.Greater(t, len(w.sent), 2)
			for _, s := range w.sent {
				if s.number > 1 {
					continue // the timeout is the first attempt's
				}
				want := longSilence
				if held := s.Execution.Due.Sub(s.began); held > 0 {
					want = held + silence
				}
				require.InDelta(t, want, s.options.HeartbeatTimeout, float64(2*time.Millisecond))
			}
			w.requireSound()
		})
	}
}

func TestAHeldOccurrenceIsNotCountedYet(t *testing.T) {
	t.Parallel()
	at := func(after time.Duration) *job.Time { return job.NewTime(newYear.Add(after)) }
	t.Run("an occurrence", func(t *testing.T) {
		t.Parallel()
		w := newLeadEnv(t, every(minutely))
		held := w.snapshot(55 * time.Second)
		ended := w.snapshot(65 * time.Second)
		w.run(70 * time.Second)
		require.NotNil(t, held.Ahead)
		require.Equal(t, held.At(newYear.Add(55*time.Second)).Status, held.Status, "a query, which has no clock, answers the same as the API")
		require.Equal(t, counted(held.At(newYear.Add(65*time.Second)).Status), counted(ended.Status), "once it has ended as well")
		require.Equal(t, job.Status{LastExecutionTime: at(0), NextExecutionTime: at(time.Minute), ExecutionCount: 1},
			counted(held.At(newYear.Add(time.Minute-time.Nanosecond)).Status))
		require.Equal(t, job.Status{LastExecutionTime: at(time.Minute), NextExecutionTime: at(2 * time.Minute), ExecutionCount: 2},
			counted(held.At(newYear.Add(time.Minute)).Status))
		require.Nil(t, held.At(newYear).Ahead)
	})
	t.Run("the last one", func(t *testing.T) {
		t.Parallel()
		w := newLeadEnv(t, every(minutely+`,"count":2`))
		held := w.snapshot(55 * time.Second)
		end := w.snapshot(70 * time.Second)
		w.run(80 * time.Second)
		require.Equal(t, job.StateEnabled, held.Definition.State)
		require.Equal(t, at(time.Minute), held.At(newYear.Add(55*time.Second)).Status.NextExecutionTime)
		require.Nil(t, held.At(newYear.Add(time.Minute)).Status.NextExecutionTime)
		require.Equal(t, job.StateCompleted, end.Definition.State)
	})
	t.Run("beside a manual run, which has", func(t *testing.T) {
		t.Parallel()
		w := newLeadEnv(t, every(minutely))
		run := w.update(55*time.Second, workflows.UpdateRun)
		held := w.snapshot(55*time.Second + time.Millisecond)
		w.run(70 * time.Second)
		run.ok(t)
		require.Equal(t, held.At(newYear.Add(55*time.Second)).Status, held.Status)
		require.Equal(t, job.Status{LastExecutionTime: at(55 * time.Second), NextExecutionTime: at(time.Minute), ExecutionCount: 2},
			counted(held.At(newYear.Add(55*time.Second)).Status))
		require.Equal(t, job.Status{LastExecutionTime: at(time.Minute), NextExecutionTime: at(2 * time.Minute), ExecutionCount: 3},
			counted(held.At(newYear.Add(time.Minute)).Status))
	})
	t.Run("one at a time", func(t *testing.T) {
		t.Parallel()
		w := newLeadEnv(t, every(minutely+`,"overlapPolicy":"AllowAll"`))
		w.next.Lead, w.next.Hold = 150_000, 150_000
		held := w.snapshot(45 * time.Second)
		w.run(130 * time.Second)
		require.Equal(t, job.Status{LastExecutionTime: at(0), NextExecutionTime: at(time.Minute), ExecutionCount: 1},
			counted(held.At(newYear.Add(45*time.Second)).Status))
		require.Equal(t, newYear.Add(time.Minute), w.sent[2].began, "the next one is dispatched when this one is due")
		w.requireSound()
	})
}

// A held occurrence that has not passed its fence returns to the plan, and the change is answered at once.
func TestAChangeReturnsAHeldOccurrenceToThePlan(t *testing.T) {
	t.Parallel()
	const at = 55 * time.Second
	for _, tt := range []struct {
		name       string
		properties string
		change     func(*jobEnv) *answer
		count      int // at the time of the answer
		want       []string
	}{
		{"and sends it by a new action", callEveryMinute("/old"),
			func(w *jobEnv) *answer { return w.replace(at, callEveryMinute("/new")) }, 1,
			[]string{"/old 00:00:00", "/new 00:01:00", "/new 00:02:00"}},
		{"and sends it by a new schedule that holds it as well", callsEvery("/old", `"frequency":"hour","schedule":{"minutes":[1,2]}`),
			func(w *jobEnv) *answer {
				return w.replace(at, callsEvery("/new", `"frequency":"hour","schedule":{"minutes":[1,3]}`))
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:00"}},
		{"and sends it where the new schedule begins with it", callEveryMinute("/old"),
			func(w *jobEnv) *answer {
				return w.replace(at, callsEvery("/new", minutely+`,"interval":5`)+`,"startTime":"2026-01-01T00:01:00Z"`)
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:00"}},
		{"and sends what the new schedule has instead", callEveryMinute("/old"),
			func(w *jobEnv) *answer {
				return w.replace(at, callsEvery("/new", minutely)+`,"startTime":"2026-01-01T00:00:58Z"`)
			}, 1,
			[]string{"/old 00:00:00", "/new 00:00:58", "/new 00:01:58"}},
		{"and does not send it where the new schedule does not hold it", callEveryMinute("/old"),
			func(w *jobEnv) *answer { return w.replace(at, callsEvery("/new", minutely+`,"interval":2`)) }, 1,
			[]string{"/old 00:00:00", "/new 00:02:00"}},
		{"by being disabled", callEveryMinute("/old"),
			func(w *jobEnv) *answer { return w.update(at, workflows.UpdateDisable) }, 1,
			[]string{"/old 00:00:00"}},
		{"by being disabled, and sends it once the job is enabled in time", callEveryMinute("/old"),
			func(w *jobEnv) *answer {
				w.update(at, workflows.UpdateDisable)
				return w.update(at+time.Second, workflows.UpdateEnable)
			}, 1,
			[]string{"/old 00:00:00", "/old 00:01:00", "/old 00:02:00"}},
		{"by being disabled, and does not send it once the job is enabled too late", callEveryMinute("/old"),
			func(w *jobEnv) *answer {
				w.update(at, workflows.UpdateDisable)
				return w.update(at+10*time.Second, workflows.UpdateEnable)
			}, 1,
			[]string{"/old 00:00:00", "/old 00:02:00"}},
		{"by its collection being disabled, and sends it once that is enabled in time", callEveryMinute("/old"),
			func(w *jobEnv) *answer {
				w.update(at, workflows.UpdateCollection, collectionIs(false))
				return w.update(at+time.Second, workflows.UpdateCollection, collectionIs(true))
			}, -1,
			[]string{"/old 00:00:00", "/old 00:01:00", "/old 00:02:00"}},
		{"by its collection being disabled", callEveryMinute("/old"),
			func(w *jobEnv) *answer { return w.update(at, workflows.UpdateCollection, collectionIs(false)) }, -1,
			[]string{"/old 00:00:00"}},
		{"by being deleted", callEveryMinute("/old"),
			func(w *jobEnv) *answer { return w.update(at, workflows.UpdateDelete) }, 1,
			[]string{"/old 00:00:00"}},
		{"by its collection being deleted", callEveryMinute("/old"),
			func(w *jobEnv) *answer { return w.update(at, workflows.UpdateDismiss) }, -1,
			[]string{"/old 00:00:00"}},
		{"and it uses up none of the count", callsEvery("/old", minutely+`,"count":2`),
			func(w *jobEnv) *answer {
				return w.replace(at, callsEvery("/new", minutely+`,"count":2`)+`,"startTime":"2026-01-01T00:01:30Z"`)
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:30"}},
		{"where it is the last one before the end time", callsEvery("/old", minutely+`,"endTime":"2026-01-01T00:01:00Z"`),
			func(w *jobEnv) *answer {
				return w.replace(at, callsEvery("/new", minutely+`,"endTime":"2026-01-01T00:01:00Z"`))
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:00"}},
		{"of a job that runs once, which runs once it is enabled", `"action":` + call("/old") + `,"startTime":"2026-01-01T00:01:00Z"`,
			func(w *jobEnv) *answer {
				w.update(at, workflows.UpdateDisable)
				return w.update(100*time.Second, workflows.UpdateEnable)
			}, 0,
			[]string{"/old 00:01:40"}},
	} {
		for way, newJobEnv := range aheadEnvs {
			t.Run(tt.name+", "+way, func(t *testing.T) {
				t.Parallel()
				w := newJobEnv(t, tt.properties)
				a := tt.change(w)
				end := w.snapshot(135 * time.Second)
				w.run(145 * time.Second)
				j := a.ok(t)
				if tt.count >= 0 {
					require.Equal(t, tt.count, j.At(newYear.Add(a.at)).Status.ExecutionCount)
				}
				require.Equal(t, tt.want, w.requests())
				require.Empty(t, w.dropped(), "what has not happened is not listed")
				if end.Generation > 0 { // not deleted
					seen := end.At(newYear.Add(135 * time.Second)).Status
					require.Equal(t, len(tt.want), seen.ExecutionCount)
					require.Zero(t, seen.FailureCount)
				}
				w.requireSound()
			})
		}
	}
}

func TestAChangeIsAnsweredAtOnceWhileAnOccurrenceIsHeld(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*jobEnv){
		"by a worker":                           func(*jobEnv) {},
		"by a worker that was killed":           func(w *jobEnv) { w.workerFate = fates(time.Minute, killedHeld) },
		"by nobody yet":                         func(w *jobEnv) { w.next.Lead = 20_000; w.queued = 8 * time.Second },
		"though the server does not answer yet": func(w *jobEnv) { w.lookFails = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calm, changed := newLeadEnv(t, callEveryMinute("/old")), newLeadEnv(t, callEveryMinute("/old"))
			arrange(changed)
			calm.run(75 * time.Second)
			asked := changed.lookFails
			a := changed.replace(55*time.Second, callEveryMinute("/new"))
			end := changed.snapshot(74 * time.Second)
			changed.run(75 * time.Second)
			require.Equal(t, 55*time.Second+time.Duration(asked)*time.Second, a.at)
			require.Equal(t, 1, a.ok(t).At(newYear.Add(a.at)).Status.ExecutionCount)
			last := changed.sent[len(changed.sent)-1]
			again := calm.sent[1].Execution
			again.Repeat = 3 // 2 is the one that returned to the plan
			require.Equal(t, again, last.Execution, "the occurrence keeps its id")
			require.Equal(t, "http://127.0.0.1/new", last.Action.Request.URI)
			require.Len(t, changed.sent, 2)
			require.Equal(t, 2, end.Status.ExecutionCount)
			require.Empty(t, changed.dropped())
			changed.requireSound()
		})
	}
}

// The host is full at 00:01, so the server retries at 00:01:11.25. Nothing can be sent before.
func TestAChangeReturnsAnOccurrenceWhoseHostIsFullToThePlan(t *testing.T) {
	t.Parallel()
	const again = time.Minute + hostWait + hostPause
	once := []workerFate{hostFull}
	for _, tt := range []struct {
		name  string
		at    time.Duration // of the change
		fates []workerFate
		want  string
	}{
		{"and sends it at once by the new action", 65 * time.Second, once, "/new 00:01:05"},
		{"once it has left its worker", 60500 * time.Millisecond, once, "/new 00:01:01.3"},
		{"until shortly before it is made again", again - 1001*time.Millisecond, once, "/new 00:01:10.249"},
		{"if it is put off once more while the change waits for that", again - 900*time.Millisecond, []workerFate{hostFull, hostFull}, "/new 00:01:11.35"},
		{"but not if it is sent meanwhile", again - 900*time.Millisecond, once, "/old 00:01:11.25"},
	} {
		for way, newJobEnv := range aheadEnvs {
			t.Run(tt.name+", "+way, func(t *testing.T) {
				t.Parallel()
				w := newJobEnv(t, callEveryMinute("/old"))
				w.workerFate = fates(time.Minute, tt.fates...)
				a := w.replace(tt.at, callEveryMinute("/new"))
				end := w.snapshot(135 * time.Second)
				w.run(145 * time.Second)
				a.ok(t)
				require.Equal(t, []string{"/old 00:00:00", tt.want, "/new 00:02:00"}, w.requests())
				require.Empty(t, w.dropped(), "what has not happened is not listed")
				require.Equal(t, 3, end.At(newYear.Add(135*time.Second)).Status.ExecutionCount)
				require.Zero(t, end.Status.FailureCount)
				w.requireSound()
			})
		}
	}
}

// It is deferred between the server's answer and its cancellation.
func TestAnOccurrenceWhoseHostIsFullDuringAChangeIsNoFailure(t *testing.T) {
	t.Parallel()
	for after := time.Duration(0); after < 2*time.Second; after += 50 * time.Millisecond {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, callEveryMinute("/old"))
			w.workerFate = fates(time.Minute, hostFull)
			w.lookAges = 50 * time.Millisecond
			a := w.replace(time.Minute+after, callEveryMinute("/new"))
			end := w.snapshot(90 * time.Second)
			w.run(95 * time.Second)
			a.ok(t)
			require.Less(t, a.at, time.Minute+after+2*time.Second)
			require.Len(t, w.sent, 2)
			require.Equal(t, "http://127.0.0.1/new", w.sent[1].Action.Request.URI)
			require.Equal(t, newYear.Add(a.at), w.sent[1].at)
			require.Empty(t, w.dropped())
			require.Zero(t, end.Status.FailureCount)
			w.requireSound()
		})
	}
}

// The server's answer that a worker has the occurrence is old when the workflow gets it. By then the worker
// seems to have crashed, but it has given up on the full host, and the server waits to retry.
func TestAnOccurrenceIsNotAFailureSinceItsWorkerSeemsToHaveCrashed(t *testing.T) {
	t.Parallel()
	w := newLeadEnv(t, callEveryMinute("/old"))
	w.workerFate = fates(time.Minute, hostFull)
	w.lookAges = 400 * time.Millisecond
	a := w.replace(time.Minute+hostWait-50*time.Millisecond, callEveryMinute("/new"))
	end := w.snapshot(90 * time.Second)
	w.run(95 * time.Second)
	a.ok(t)
	require.Equal(t, []string{"/old 00:00:00"}, w.requests())
	require.Equal(t, []string{"Cancelled 1: 00:01:00 to 00:01:00"}, w.dropped())
	require.Equal(t, "the job was changed when it was due; whether it was sent is not known", w.recorded.dropped[0].Why)
	require.Equal(t, 1, end.At(newYear.Add(90*time.Second)).Status.ExecutionCount)
	require.Zero(t, end.Status.FailureCount)
	w.requireSound()
}

// No worker has the occurrence when it is cancelled, so the server may have forgotten an attempt that failed.
func TestAnOccurrenceCancelledWhenItWasDueIsNotCalledUnsent(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, callEveryMinute("/old"))
	w.queued = 8 * time.Second
	a := w.replace(time.Second, callEveryMinute("/new"))
	end := w.snapshot(50 * time.Second)
	w.run(55 * time.Second)
	a.ok(t)
	require.Less(t, a.at, 8*time.Second)
	require.Empty(t, w.sent)
	require.Equal(t, []string{"Cancelled 1: 00:00:00 to 00:00:00"}, w.dropped())
	require.Equal(t, "the job was changed when it was due; whether it was sent is not known", w.recorded.dropped[0].Why)
	require.Zero(t, end.Status.ExecutionCount)
	w.requireSound()
}

// A due occurrence may be sent at any time, so a change waits for it, but only shortly: its worker may
// have crashed.
func TestAChangeOfADueOccurrenceIsAnsweredSoonAfterAWorkerCrash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after, answer time.Duration
		sent          string
	}{
		{0, 1600 * time.Millisecond, "/new 00:01:01.6"},
		{500 * time.Millisecond, 1500 * time.Millisecond, "/new 00:01:01.5"},
		{1500 * time.Millisecond, 1500 * time.Millisecond, "/new 00:01:01.5"},
		{1900 * time.Millisecond, 1900 * time.Millisecond, "/new 00:01:01.9"},
		{2400 * time.Millisecond, 2400 * time.Millisecond, "/new 00:01:02.4"},
		{2500 * time.Millisecond, 3300 * time.Millisecond, "/old 00:01:03.1"}, // another worker gets it
		{2900 * time.Millisecond, 3300 * time.Millisecond, "/old 00:01:03.1"},
		{3050 * time.Millisecond, 3250 * time.Millisecond, "/old 00:01:03.1"},
	} {
		t.Run(tt.after.String()+" after", func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, callEveryMinute("/old"))
			w.workerFate = fates(time.Minute, killedHeld)
			a := w.replace(time.Minute+tt.after, callEveryMinute("/new"))
			w.run(75 * time.Second)
			a.ok(t)
			require.Equal(t, time.Minute+tt.answer, a.at)
			require.Equal(t, []string{"/old 00:00:00", tt.sent}, w.requests())
			w.requireSound()
		})
	}
}

// The server ends an activity that no worker has at once, without its records.
func TestAChangeAwaitsAnOverdueOccurrenceThatNoWorkerHasYet(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, callsEvery("/old", minutely+`,"overlapPolicy":"bufferOne"`))
	w.queued = 500 * time.Millisecond
	w.takes(60900 * time.Millisecond)
	a := w.replace(61700*time.Millisecond, callsEvery("/new", minutely+`,"overlapPolicy":"bufferOne"`))
	w.run(80 * time.Second)
	a.ok(t)
	require.Equal(t, []string{"/old 00:00:00.5", "/old 00:01:01.9"}, w.requests())
	require.Empty(t, w.dropped())
	w.requireSound()
}

// An occurrence that passed its fence is an attempt: a change waits for its outcome, at most until its
// lease is over.
func TestAChangeAfterTheFenceWaitsForTheOutcome(t *testing.T) {
	t.Parallel()
	const at = 59900 * time.Millisecond
	const leaseOver = time.Minute + leaseAfter + 500*time.Millisecond
	for _, tt := range []struct {
		name    string
		arrange func(*jobEnv)
		answer  time.Duration
		want    []string
		status  job.Status // final counts
		dropped []string
	}{
		{"of a request that is answered quickly", func(*jobEnv) {}, time.Minute, []string{"/old 00:00:00", "/old 00:01:00"},
			job.Status{ExecutionCount: 2}, []string{}},
		{"but not for one that takes long", func(w *jobEnv) { w.takes(20 * time.Second) }, leaseOver, []string{"/old 00:00:00", "/old 00:01:00"},
			job.Status{ExecutionCount: 2}, []string{}},
		{"but not for one that fails late, which is not tried again", func(w *jobEnv) {
			w.takes(20 * time.Second)
			w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 2 })
		}, leaseOver, []string{"/old 00:00:00", "/old 00:01:00"}, job.Status{ExecutionCount: 2, FailureCount: 1}, []string{}},
		{"but not for a worker that was killed, and it may have been sent", func(w *jobEnv) { w.workerFate = fates(time.Minute, killedFenced) },
			leaseOver, []string{"/old 00:00:00"}, job.Status{ExecutionCount: 2, FailureCount: 1}, []string{}},
		{"but not for a worker that is paused, which sends nothing any more", func(w *jobEnv) { w.workerFate = fates(time.Minute, pausedFenced) },
			leaseOver, []string{"/old 00:00:00"}, job.Status{ExecutionCount: 1}, []string{"Cancelled 1: 00:01:00 to 00:01:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, callEveryMinute("/old"))
			tt.arrange(w)
			a := w.update(at, workflows.UpdateDisable)
			end := w.snapshot(110 * time.Second)
			w.run(111 * time.Second)
			a.ok(t)
			require.Equal(t, tt.answer, a.at)
			require.Equal(t, tt.want, w.requests())
			require.Equal(t, tt.dropped, w.dropped())
			counts := counted(end.At(newYear.Add(110 * time.Second)).Status)
			counts.LastExecutionTime, counts.NextExecutionTime = nil, nil
			require.Equal(t, tt.status, counts)
			w.requireSound()
		})
	}
	t.Run("and the new definition does not send the same occurrence", func(t *testing.T) {
		t.Parallel()
		w := newLeadEnv(t, callEveryMinute("/old"))
		w.takes(3 * time.Second)
		w.replace(at, callEveryMinute("/new"))
		w.run(125 * time.Second)
		require.Equal(t, []string{"/old 00:00:00", "/old 00:01:00", "/new 00:02:00"}, w.requests())
		w.requireSound()
	})
}

func TestAChangeAtTheDueTimeSendsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{-260 * time.Millisecond, 0, time.Millisecond, 400 * time.Millisecond, 999 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		for name, change := range map[string]func(*jobEnv) *answer{
			"of the action": func(w *jobEnv) *answer { return w.replace(time.Minute+after, callEveryMinute("/new")) },
			"of the schedule": func(w *jobEnv) *answer {
				return w.replace(time.Minute+after, callsEvery("/new", `"frequency":"hour","schedule":{"minutes":[1,3]}`))
			},
			"of the start time": func(w *jobEnv) *answer {
				return w.replace(time.Minute+after, callsEvery("/new", minutely+`,"interval":2`)+`,"startTime":"2026-01-01T00:01:00Z"`)
			},
		} {
			for _, took := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second} {
				t.Run(fmt.Sprintf("%s, %s after it, when an attempt takes %s", name, after, took), func(t *testing.T) {
					t.Parallel()
					w := newLeadEnv(t, callEveryMinute("/old"))
					w.takes(took)
					a := change(w)
					got := w.snapshot(75 * time.Second)
					w.run(80 * time.Second)
					a.ok(t)
					require.LessOrEqual(t, a.at, time.Minute+max(after, leaseAfter+500*time.Millisecond))
					if after < 0 {
						require.Equal(t, []string{"/old 00:00:00", "/new 00:01:00"}, w.requests())
					} else {
						require.Equal(t, []string{"/old 00:00:00", "/old 00:01:00"}, w.requests())
					}
					require.Empty(t, w.dropped())
					require.Equal(t, 2, got.Status.ExecutionCount)
					require.Zero(t, got.Status.FailureCount)
					w.requireSound()
				})
			}
		}
	}
}

func TestSeveralChangesWhileAnOccurrenceIsHeld(t *testing.T) {
	t.Parallel()
	w := newLeadEnv(t, callEveryMinute("/old"))
	first := w.replace(52*time.Second, callEveryMinute("/new"))
	second := w.replace(55*time.Second, callEveryMinute("/newer"))
	off := w.update(57*time.Second, workflows.UpdateDisable)
	on := w.update(58*time.Second, workflows.UpdateEnable)
	w.run(90 * time.Second)
	for _, a := range []*answer{first, second, off, on} {
		require.Equal(t, 1, a.ok(t).At(newYear.Add(a.at)).Status.ExecutionCount)
	}
	require.Equal(t, []string{"/old 00:00:00", "/newer 00:01:00"}, w.requests())
	require.Equal(t, []int{1, 5}, []int{w.sent[0].Execution.Repeat, w.sent[1].Execution.Repeat}, "none of three that returned to the plan gives its number back")
	w.requireSound()
}

func TestChangesAreAppliedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	const at = 59900 * time.Millisecond
	w := newLeadEnv(t, callEveryMinute("/old"))
	w.takes(5 * time.Second)
	first := w.replace(at, callEveryMinute("/new"))
	stale := w.update(at+100*time.Millisecond, workflows.UpdateReplace,
		workflows.ReplaceRequest{Definition: definition(t, callEveryMinute("/stale")), Generation: registration})
	second := w.replace(at+200*time.Millisecond, callEveryMinute("/newer"))
	run := w.update(at+300*time.Millisecond, workflows.UpdateRun)
	w.run(125 * time.Second)
	require.Equal(t, registration+1, first.ok(t).Generation)
	require.True(t, stale.completed)
	requireType(t, stale.err, workflows.ErrTypeStale)
	require.Equal(t, registration+2, second.ok(t).Generation)
	run.ok(t)
	require.Equal(t, []string{"/old 00:00:00", "/old 00:01:00", "/newer 00:01:01.5", "/newer 00:02:00"}, w.requests(),
		"what waits for the first change is applied in the order in which it arrived")
	require.GreaterOrEqual(t, run.at, second.at)
	w.requireSound()
}

func TestAnOccurrenceWhoseWorkerIsLostIsSentByAnother(t *testing.T) {
	t.Parallel()
	const none, retries = noRetry, `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT30S","retryCount":2}`
	at := func(after time.Duration) string { return clock(newYear.Add(5*time.Minute + after)) }
	const detected = silence + window - fenceAhead + takeover // after the due time, if it passed the fence
	for _, tt := range []struct {
		name, policy string
		fates        []workerFate
		fails        func(sentAttempt) bool
		want         []string // attempts of the occurrence at 00:05
		failed       int
	}{
		{"at once", retries, []workerFate{killedHeld}, nil, []string{at(silence) + " MainAction#1"}, 0},
		{"again and again", retries, []workerFate{killedHeld, killedHeld}, nil, []string{at(2*silence+window+takeover) + " MainAction#1"}, 0},
		{"so often that the occurrence is decided again", retries, []workerFate{killedHeld, killedHeld, killedHeld}, nil, []string{at(3*silence+2*window+7*takeover) + " MainAction#1"}, 0},
		{"with all of its attempts", retries, []workerFate{killedHeld}, func(s sentAttempt) bool { return s.Execution.Repeat == 2 },
			[]string{at(silence) + " MainAction#1", at(silence+30*time.Second) + " MainAction#2", at(silence+60*time.Second) + " MainAction#3"}, 1},
		{"with all of its attempts, although the server makes no more of them", retries, []workerFate{sent, killedHeld, killedHeld, killedHeld, killedHeld},
			func(s sentAttempt) bool { return s.Execution.Repeat == 2 },
			[]string{at(0) + " MainAction#1", at(85*time.Second) + " MainAction#2", at(115*time.Second) + " MainAction#3"}, 1},
		{"as the next attempt if it may have been sent", retries, []workerFate{killedFenced}, nil,
			[]string{at(detected+30*time.Second) + " MainAction#2"}, 0},
		{"as the next attempt if it was sent", retries, []workerFate{killedSent}, nil,
			[]string{at(0) + " MainAction#1", at(detected+30*time.Second) + " MainAction#2"}, 0},
		{"as often as it has attempts", retries, []workerFate{killedFenced, killedSent, killedSent}, nil, []string{
			at(detected+30*time.Second) + " MainAction#2", at(detected+30*time.Second+longSilence+takeover+30*time.Second) + " MainAction#3",
		}, 1},
		{"with a single attempt, if that was not sent", none, []workerFate{killedHeld}, nil, []string{at(silence) + " MainAction#1"}, 0},
		{"with a single attempt, never if that may have been sent", none, []workerFate{killedFenced}, nil, []string{}, 1},
		{"with a single attempt, never if that was sent", none, []workerFate{killedSent}, nil, []string{at(0) + " MainAction#1"}, 1},
		{"when it stops", retries, []workerFate{released}, nil, []string{at(0) + " MainAction#1"}, 0},
		{"when one after another stops", none, []workerFate{released, released, released}, nil, []string{at(0) + " MainAction#1"}, 0},
		{"when it stops, and the next one is killed", none, []workerFate{released, killedHeld}, nil, []string{at(silence) + " MainAction#1"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, `"action":{`+get+tt.policy+`},"recurrence":{`+minutely+`,"interval":5}`)
			w.workerFate = fates(5*time.Minute, tt.fates...)
			if tt.fails != nil {
				w.fails(tt.fails)
			}
			end := w.snapshot(9 * time.Minute)
			w.run(9*time.Minute + time.Second)
			require.Equal(t, tt.want, w.lines()[1:])
			require.Equal(t, 2, end.Status.ExecutionCount)
			require.Equal(t, tt.failed, end.Status.FaultedCount)
			for _, s := range w.sent[1:] {
				require.Equal(t, w.sent[1].Execution, s.Execution)
				require.LessOrEqual(t, s.attempt(), s.MaxAttempts)
			}
		})
	}
}

// The first attempt failed and was recorded, but its worker crashed before the server had the failure
// itself.
func TestAFailureWhoseReportIsLostIsFollowedByTheRetryInterval(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`,"retryPolicy":{"retryType":"fixed","retryInterval":"PT40S","retryCount":1}},"recurrence":{"frequency":"hour"}`)
	w.workerFate = fates(0, killedRecorded)
	end := w.snapshot(30 * time.Minute)
	w.run(31 * time.Minute)
	require.Equal(t, []string{"00:00:00 MainAction#1", "00:00:40 MainAction#2"}, w.lines(), "the loss is detected after 30 s")
	require.Zero(t, end.Status.FaultedCount)
}

// The worker that made the attempt at 00:01 crashes after it recorded the outcome, before it could report it.
func TestAnOutcomeWhoseReportIsLostIsKnown(t *testing.T) {
	t.Parallel()
	const lossDetected = time.Minute + silence + window
	fails := func(w *jobEnv) {
		w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 2 && s.attempt() == 1 })
	}
	succeeds := func(*jobEnv) {}
	for _, tt := range []struct {
		name    string
		arrange func(*jobEnv)
		policy  string
		disable time.Duration // 0: never
		want    []string
		status  job.Status // final counts
	}{
		{"to the worker that takes over", succeeds, noRetry, 0, []string{"/a 00:00:00", "/a 00:01:00"}, job.Status{ExecutionCount: 2}},
		{"a failure as well", fails, noRetry, 0, []string{"/a 00:00:00", "/a 00:01:00"}, job.Status{ExecutionCount: 2, FailureCount: 1, FaultedCount: 1}},
		{"and a failure is followed by its retry", fails, `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT2M","retryCount":1}`, 0,
			[]string{"/a 00:00:00", "/a 00:01:00", "/a 00:03:00"}, job.Status{ExecutionCount: 2}},
		{"to a change before the loss is detected", succeeds, noRetry, time.Minute + time.Second, []string{"/a 00:00:00", "/a 00:01:00"}, job.Status{ExecutionCount: 2}},
		{"to a change before another worker has it", succeeds, noRetry, lossDetected + takeover/2, []string{"/a 00:00:00", "/a 00:01:00"}, job.Status{ExecutionCount: 2}},
		{"to a change, if it failed", fails, noRetry, lossDetected + takeover/2, []string{"/a 00:00:00", "/a 00:01:00"}, job.Status{ExecutionCount: 2, FailureCount: 1}},
		{"to a change, which stops its retry", fails, `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT2M","retryCount":1}`, time.Minute + time.Second,
			[]string{"/a 00:00:00", "/a 00:01:00"}, job.Status{ExecutionCount: 2, FailureCount: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			action := strings.TrimSuffix(call("/a"), "}") + tt.policy + "}"
			w := newLeadEnv(t, `"action":`+action+`,"recurrence":{`+minutely+`,"count":2}`)
			w.workerFate = fates(time.Minute, killedUnreported)
			tt.arrange(w)
			var a *answer
			if tt.disable > 0 {
				a = w.update(tt.disable, workflows.UpdateDisable)
			}
			end := w.snapshot(10 * time.Minute)
			w.run(11 * time.Minute)
			if tt.disable > 0 {
				a.ok(t)
				require.Equal(t, tt.disable, a.at, "there is nothing to wait for")
			}
			require.Equal(t, tt.want, w.requests())
			require.Empty(t, w.dropped())
			counts := counted(end.At(newYear.Add(10 * time.Minute)).Status)
			counts.LastExecutionTime, counts.NextExecutionTime = nil, nil
			require.Equal(t, tt.status, counts)
		})
	}
}

// The worker that holds 00:01 crashes, and none runs until 00:04:10.
func TestCatchUpTreatsHeldOccurrencesLikeOthers(t *testing.T) {
	t.Parallel()
	const back = "00:04:10"
	for _, gone := range []workerFate{killedHeld, released} {
		for _, overlap := range []job.OverlapPolicy{job.OverlapBufferOne, job.OverlapSkip, job.OverlapAllowAll} {
			for _, tt := range []struct {
				window        string
				want, dropped []string
			}{
				{"PT0S", []string{"00:04:00 " + back}, []string{"Missed 3: 00:01:00 to 00:03:00"}},
				{"PT2M", []string{"00:03:00 " + back, "00:04:00 " + back}, []string{"Missed 2: 00:01:00 to 00:02:00"}},
				{"PT1H", []string{"00:01:00 " + back, "00:02:00 " + back, "00:03:00 " + back, "00:04:00 " + back}, []string{}},
			} {
				for way, newJobEnv := range aheadEnvs {
					t.Run(fmt.Sprintf("%d, %s, %s, %s", gone, overlap, tt.window, way), func(t *testing.T) {
						t.Parallel()
						w := newJobEnv(t, every(fmt.Sprintf(`%s,"overlapPolicy":%q,"catchUpWindow":%q`, minutely, overlap, tt.window)))
						w.workerFate = fates(time.Minute, gone)
						w.downUntil = newYear.Add(4*time.Minute + 10*time.Second)
						end := w.snapshot(4*time.Minute + 30*time.Second)
						w.run(4*time.Minute + 31*time.Second)
						require.Equal(t, append([]string{"00:00:00 00:00:00"}, tt.want...), w.starts())
						require.Equal(t, tt.dropped, w.dropped())
						require.Equal(t, 1+len(tt.want), end.At(newYear.Add(4*time.Minute+30*time.Second)).Status.ExecutionCount)
						w.requireSound()
					})
				}
			}
		}
	}
}

func TestALostAttemptDoesNotChangeTheHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	w := newLeadEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`}`)
	w.workerFate = fates(time.Minute, killedHeld)
	w.run(125 * time.Second)
	third := w.executions()[2]
	require.Equal(t, newYear.Add(2*time.Minute), third.at)
	require.Equal(t, silence, third.began.Add(third.options.HeartbeatTimeout).Sub(third.at))
	w.requireSound()
}

func TestAHeldOccurrenceIsLostAfterTheLossTimeThatAnExecutionReturned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		loss   time.Duration
		report time.Duration // beside the time of the action
	}{
		{"the shortest", activities.MinHeldLoss, 10 * time.Second},
		{"a little longer", activities.MaxHeldLoss - time.Millisecond, 10 * time.Second},
		{"of a large herd, whose outcomes have more time to be reported", activities.MaxHeldLoss, 80 * time.Second},
		{"while outcomes wait long, which then have more time to be reported", 20 * time.Second, 80 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, every(minutely))
			w.nextLoss = int(tt.loss.Milliseconds())
			w.workerFate = fates(2*time.Minute, killedHeld)
			w.run(150 * time.Second)
			require.Equal(t, []string{"00:00:00 00:00:00", "00:01:00 00:01:00", "00:02:00 " + clock(newYear.Add(2*time.Minute+tt.loss+takeover))}, w.starts())
			options := w.executions()[2].options
			require.Equal(t, activities.DefaultTimeout+tt.report, options.StartToCloseTimeout-(options.HeartbeatTimeout-tt.loss))
			w.requireSound()
		})
	}
}

func TestAnAttemptThatIsNotHeldIsLostSoonWhenFewAreHeld(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		loss time.Duration // that executions return
		at   time.Duration // of a manual run
		want time.Duration
	}{
		{"when few are held", activities.MinHeldLoss, 90 * time.Second, activities.UnsentLoss},
		{"when many are held", activities.MinHeldLoss + time.Millisecond, 90 * time.Second, activities.SentLoss},
		{"when outcomes wait long to be reported", activities.MaxHeldLoss + time.Millisecond, 90 * time.Second, activities.BusyLoss},
		{"before an execution has told how many are", 0, 90 * time.Second, activities.SentLoss},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newLeadEnv(t, every(minutely))
			w.nextLoss = int(tt.loss.Milliseconds())
			w.update(tt.at, workflows.UpdateRun)
			w.run(tt.at + time.Second)
			last := w.sent[len(w.sent)-1]
			require.Equal(t, newYear.Add(tt.at), last.Execution.Due)
			require.Equal(t, tt.want, last.options.HeartbeatTimeout)
		})
	}
}

// The worker passes the fence 1.6 s after the due time, and the request fails at once. The server forgets it, since
// the job is changed at that time.
func TestAnOccurrenceThatMayHaveBeenSentUsesUpCount(t *testing.T) {
	t.Parallel()
	w := newLeadEnv(t, callsEvery("/old", minutely+`,"count":2`))
	w.workerFate = fates(time.Minute, late)
	w.fails(func(s sentAttempt) bool { return s.Execution.Due.Equal(newYear.Add(time.Minute)) })
	w.lookAges = 400 * time.Millisecond
	a := w.replace(time.Minute+hostWait-50*time.Millisecond, callsEvery("/new", minutely+`,"count":2`))
	w.run(6 * time.Minute)
	a.ok(t)
	require.Len(t, w.executions(), 2, "%v", w.requests())
}
