package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/job"
	"almanac/workflows"
)

// window is how far ahead the occurrences of these tests are dispatched.
const window = 10 * time.Second

// How long nothing may be heard of an attempt until its worker counts as killed.
const (
	silence     = 4 * time.Second  // after its due time, if it is held
	longSilence = 30 * time.Second // after its start, if it is sent at once
)

// newAhead is a world in which occurrences are dispatched ahead by the window.
func newAhead(t *testing.T, properties string) *world {
	t.Helper()
	w := newWorld(t, properties)
	w.next.Lead = int(window.Milliseconds())
	return w
}

// newHeld is a world in which occurrences are held from the end of the one before
// on, if they are due within a minute.
func newHeld(t *testing.T, properties string) *world {
	t.Helper()
	w := newWorld(t, properties)
	w.next.Hold = int(time.Minute.Milliseconds())
	w.holds = func(sending) int { return w.next.Hold }
	return w
}

// aheads are the ways in which an occurrence comes to be dispatched ahead.
var aheads = map[string]func(*testing.T, string) *world{
	"dispatched by its lead":  newAhead,
	"held for all of the way": newHeld,
}

// calls are the properties of a job that calls a path every minute.
func calls(path string) string { return callsEvery(path, minutely) }

func callsEvery(path, recurrence string) string {
	return `"action":` + call(path) + `,"recurrence":{` + recurrence + `}`
}

func call(path string) string {
	return `{"type":"Http","request":{"uri":"http://127.0.0.1` + path + `","method":"GET"}}`
}

// calledAt returns what was called and when, such as "/old 00:01:00".
func (w *world) calledAt() []string {
	out := []string{}
	for _, s := range w.sent {
		out = append(out, s.Action.Request.URI[len("http://127.0.0.1"):]+" "+s.at.Format("15:04:05.999"))
	}
	return out
}

// of tells what becomes of the activities of the occurrence due at an instant,
// one after another; those after them are sent.
func of(due time.Duration, becomes ...fate) func(sending) fate {
	return func(s sending) fate {
		if len(becomes) == 0 || !s.Execution.Due.Equal(newYear.Add(due)) {
			return sent
		}
		next := becomes[0]
		becomes = becomes[1:]
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
		{"as far as was learnt", 10_000, 50 * time.Second},
		{"a little, where nothing was learnt", 500, 59_500 * time.Millisecond},
		{"not at all in a run that began before there was such a thing", 0, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, every(minutely))
			w.next.Lead = tt.lead
			w.run(90 * time.Second)
			require.Len(t, w.sent, 2)
			require.Equal(t, newYear.Add(tt.want), w.sent[1].began)
			require.Equal(t, newYear.Add(time.Minute), w.sent[1].at)
			require.Equal(t, tt.lead, w.sent[1].Lead)
			w.requireSound()
		})
	}
}

func TestAnOccurrenceThatIsDueSoonIsDispatchedAtOnce(t *testing.T) {
	t.Parallel()
	always := func(hold time.Duration) func(sending) int {
		return func(sending) int { return int(hold.Milliseconds()) }
	}
	for _, tt := range []struct {
		name       string
		recurrence string
		arrange    func(*world)
		began      time.Duration // the attempt of the third execution
		lead       int           // that it was told
	}{
		{"once the one before it has ended", minutely, func(w *world) { w.holds = always(time.Minute) }, time.Minute, 0},
		{"once the one before it has ended, which took its time", minutely,
			func(w *world) { w.holds = always(time.Minute); w.takes(5 * time.Second) }, 65 * time.Second, 0},
		{"but not where that is longer than it may be held", minutely,
			func(w *world) { w.holds = always(time.Minute - time.Millisecond) }, 2*time.Minute - window, int(window.Milliseconds())},
		{"but not where it is far", minutely + `,"interval":2`, func(w *world) { w.holds = always(time.Minute) }, 4*time.Minute - window, int(window.Milliseconds())},
		{"but not where workers hold too much", minutely, func(w *world) {
			w.holds = func(s sending) int { return map[int]int{1: 60_000}[s.Execution.Repeat] }
		}, 2*time.Minute - window, int(window.Milliseconds())},
		{"but not after a failure, which tells nothing of the worker", minutely, func(w *world) {
			w.holds = always(time.Minute)
			w.fails(func(s sending) bool { return s.Execution.Repeat == 2 })
		}, 2*time.Minute - window, int(window.Milliseconds())},
		{"but not beside another one", minutely + `,"overlapPolicy":"AllowAll"`, func(w *world) {
			w.holds = always(time.Minute)
			w.took = func(n int) time.Duration { return map[int]time.Duration{2: 100 * time.Second}[n] }
		}, 2*time.Minute - window, int(window.Milliseconds())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAhead(t, `"action":{`+get+noRetry+`},"recurrence":{`+tt.recurrence+`}`)
			tt.arrange(w)
			w.run(250 * time.Second)
			third := w.executions()[2]
			require.Equal(t, newYear.Add(tt.began), third.began)
			require.Equal(t, third.Execution.Due, third.at)
			require.Equal(t, tt.lead, third.Lead)
			w.requireSound()
		})
	}
}

func TestANewRunIsHandedALead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, every(minutely))
	w.next.Lead = 0
	w.suggest = 30 * time.Second
	w.run(90 * time.Second)
	require.Zero(t, w.runs[0].Lead)
	require.Equal(t, int(activities.FirstLead.Milliseconds()), w.runs[1].Lead)
	w.requireSound()
}

func TestAJobLearnsFromItsExecutions(t *testing.T) {
	t.Parallel()
	failing := func(details ...any) func(sending) error {
		return func(s sending) error {
			if s.Execution.Repeat == 2 {
				return temporal.NewNonRetryableApplicationError("it failed", activities.ErrTypeFailed, nil, details...)
			}
			return nil
		}
	}
	for _, tt := range []struct {
		name   string
		second func(*world) // what is special about the execution at 00:01
		lead   time.Duration
	}{
		{"a lead", func(w *world) { w.learns = func(sending) int { return 12_000 } }, 12 * time.Second},
		{"a lead from a failure", func(w *world) { w.act = failing([]job.Attempt{{Number: 1}}, 12_000) }, 12 * time.Second},
		{"nothing from a failure of an older worker", func(w *world) { w.act = failing([]job.Attempt{{Number: 1}}) }, window},
		{"nothing from a failure that tells nothing", func(w *world) { w.act = failing() }, window},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAhead(t, `"action":{`+get+`,"retryPolicy":{"retryType":"fixed","retryInterval":"PT15S","retryCount":1}},"recurrence":{`+minutely+`}`)
			tt.second(w)
			w.run(150 * time.Second)
			require.Equal(t, newYear.Add(2*time.Minute-tt.lead), w.executions()[2].began)
			w.requireSound()
		})
	}
	t.Run("nothing from one that was decided late", func(t *testing.T) {
		t.Parallel()
		w := newAhead(t, every(minutely))
		w.now = newYear.Add(150*time.Second + time.Millisecond) // nothing ran until then
		w.run(190 * time.Second)
		require.Equal(t, newYear.Add(3*time.Minute), w.sent[len(w.sent)-1].at)
		require.Zero(t, w.sent[0].Lead, "there was no timer that could have been too late")
	})
	t.Run("and error actions and runs on demand have no lead", func(t *testing.T) {
		t.Parallel()
		w := newAhead(t, withErrorAction(noRetry, "")+`,"recurrence":{`+minutely+`}`)
		w.fails(func(s sending) bool { return s.Execution.Repeat > 1 && s.Execution.ActionName == job.MainAction })
		w.update(20*time.Second, workflows.UpdateRun)
		w.run(30 * time.Second)
		require.Len(t, w.sent, 3)
		for _, s := range w.sent[1:] {
			require.Zero(t, s.Lead)
		}
	})
}

func TestHowLongAWorkerMayBeSilent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, job string
		arrange   func(*world)
	}{
		{"with the first execution", every(minutely), func(*world) {}},
		{"with one that is decided late", every(minutely), func(w *world) { w.now = newYear.Add(50*time.Second + time.Millisecond) }},
		{"after executions that took long", every(minutely), func(w *world) { w.takes(20 * time.Second) }},
		{"after retries", `"action":{` + get + `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT15S","retryCount":1}},"recurrence":{` + minutely + `}`,
			func(w *world) { w.fails(func(s sending) bool { return s.attempt == 1 }) }},
		{"with an error action", withErrorAction(noRetry, "") + `,"recurrence":{` + minutely + `}`,
			func(w *world) { w.fails(func(s sending) bool { return s.Execution.ActionName == job.MainAction }) }},
		{"with a run on demand", every(minutely), func(w *world) { w.update(30*time.Second, workflows.UpdateRun) }},
		{"in a run that began before occurrences were dispatched ahead", every(minutely), func(w *world) { w.next.Lead = 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAhead(t, tt.job)
			tt.arrange(w)
			w.run(140 * time.Second)
			require.Greater(t, len(w.sent), 2)
			for _, s := range w.sent {
				if s.attempt > 1 {
					continue // the timeout is the first one's
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

func TestWhatIsHeldHasNotHappenedYet(t *testing.T) {
	t.Parallel()
	at := func(after time.Duration) *job.Time { return job.NewTime(newYear.Add(after)) }
	t.Run("an occurrence", func(t *testing.T) {
		t.Parallel()
		w := newAhead(t, every(minutely))
		held := w.snapshot(55 * time.Second)
		w.run(70 * time.Second)
		require.Equal(t, job.Status{LastExecutionTime: at(0), NextExecutionTime: at(time.Minute), ExecutionCount: 1},
			held.At(newYear.Add(time.Minute-time.Nanosecond)).Status)
		require.Equal(t, job.Status{LastExecutionTime: at(time.Minute), NextExecutionTime: at(2 * time.Minute), ExecutionCount: 2},
			held.At(newYear.Add(time.Minute)).Status)
		require.Nil(t, held.At(newYear).Ahead)
	})
	t.Run("the last one", func(t *testing.T) {
		t.Parallel()
		w := newAhead(t, every(minutely+`,"count":2`))
		held := w.snapshot(55 * time.Second)
		end := w.snapshot(70 * time.Second)
		w.run(80 * time.Second)
		require.Equal(t, job.StateEnabled, held.Definition.State)
		require.Equal(t, at(time.Minute), held.At(newYear.Add(55*time.Second)).Status.NextExecutionTime)
		require.Nil(t, held.At(newYear.Add(time.Minute)).Status.NextExecutionTime)
		require.Equal(t, job.StateCompleted, end.Definition.State)
	})
	t.Run("beside a run on demand, which has", func(t *testing.T) {
		t.Parallel()
		w := newAhead(t, every(minutely))
		run := w.update(55*time.Second, workflows.UpdateRun)
		w.run(70 * time.Second)
		held := run.ok(t)
		require.Equal(t, job.Status{LastExecutionTime: at(55 * time.Second), NextExecutionTime: at(time.Minute), ExecutionCount: 2},
			held.At(newYear.Add(55*time.Second)).Status)
		require.Equal(t, job.Status{LastExecutionTime: at(time.Minute), NextExecutionTime: at(2 * time.Minute), ExecutionCount: 3},
			held.At(newYear.Add(time.Minute)).Status)
	})
	t.Run("several that are held at once", func(t *testing.T) {
		t.Parallel()
		w := newAhead(t, every(minutely+`,"overlapPolicy":"AllowAll"`))
		w.next.Lead = 150_000
		held := w.snapshot(45 * time.Second)
		w.run(50 * time.Second)
		require.Equal(t, job.Status{LastExecutionTime: at(0), NextExecutionTime: at(time.Minute), ExecutionCount: 1},
			held.At(newYear.Add(45*time.Second)).Status)
		require.Equal(t, job.Status{LastExecutionTime: at(2 * time.Minute), NextExecutionTime: at(3 * time.Minute), ExecutionCount: 3},
			held.At(newYear.Add(130*time.Second)).Status)
		require.Len(t, w.sent, 1, "the deletion took back the others")
		w.requireSound()
	})
}

// A change whose answer is at hand while an occurrence is held takes it back.
func TestAChangeTakesBackWhatIsHeld(t *testing.T) {
	t.Parallel()
	const at = 55 * time.Second
	for _, tt := range []struct {
		name       string
		properties string
		change     func(*world) *answer
		count      int // executions as of the answer
		want       []string
	}{
		{"and sends it by a new action", calls("/old"),
			func(w *world) *answer { return w.replace(at, calls("/new")) }, 1,
			[]string{"/old 00:00:00", "/new 00:01:00", "/new 00:02:00"}},
		{"and sends it by a new schedule that holds it as well", callsEvery("/old", `"frequency":"hour","schedule":{"minutes":[1,2]}`),
			func(w *world) *answer {
				return w.replace(at, callsEvery("/new", `"frequency":"hour","schedule":{"minutes":[1,3]}`))
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:00"}},
		{"and sends it where the new schedule begins with it", calls("/old"),
			func(w *world) *answer {
				return w.replace(at, callsEvery("/new", minutely+`,"interval":5`)+`,"startTime":"2026-01-01T00:01:00Z"`)
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:00"}},
		{"and sends what the new schedule has instead", calls("/old"),
			func(w *world) *answer {
				return w.replace(at, callsEvery("/new", minutely)+`,"startTime":"2026-01-01T00:00:58Z"`)
			}, 1,
			[]string{"/old 00:00:00", "/new 00:00:58", "/new 00:01:58"}},
		{"and does not send it where the new schedule does not hold it", calls("/old"),
			func(w *world) *answer { return w.replace(at, callsEvery("/new", minutely+`,"interval":2`)) }, 1,
			[]string{"/old 00:00:00", "/new 00:02:00"}},
		{"by being disabled", calls("/old"),
			func(w *world) *answer { return w.update(at, workflows.UpdateDisable) }, 1,
			[]string{"/old 00:00:00"}},
		{"by being disabled, and sends it once the job is enabled in time", calls("/old"),
			func(w *world) *answer {
				w.update(at, workflows.UpdateDisable)
				return w.update(at+time.Second, workflows.UpdateEnable)
			}, 1,
			[]string{"/old 00:00:00", "/old 00:01:00", "/old 00:02:00"}},
		{"by being disabled, and does not send it once the job is enabled too late", calls("/old"),
			func(w *world) *answer {
				w.update(at, workflows.UpdateDisable)
				return w.update(at+10*time.Second, workflows.UpdateEnable)
			}, 1,
			[]string{"/old 00:00:00", "/old 00:02:00"}},
		{"by its collection being disabled, and sends it once that is enabled in time", calls("/old"),
			func(w *world) *answer {
				w.update(at, workflows.UpdateCollection, false)
				return w.update(at+time.Second, workflows.UpdateCollection, true)
			}, -1,
			[]string{"/old 00:00:00", "/old 00:01:00", "/old 00:02:00"}},
		{"by its collection being disabled", calls("/old"),
			func(w *world) *answer { return w.update(at, workflows.UpdateCollection, false) }, -1,
			[]string{"/old 00:00:00"}},
		{"by being deleted", calls("/old"),
			func(w *world) *answer { return w.update(at, workflows.UpdateDelete) }, 1,
			[]string{"/old 00:00:00"}},
		{"by its collection being deleted", calls("/old"),
			func(w *world) *answer { return w.update(at, workflows.UpdateDismiss) }, -1,
			[]string{"/old 00:00:00"}},
		{"and it uses up none of the count", callsEvery("/old", minutely+`,"count":2`),
			func(w *world) *answer {
				return w.replace(at, callsEvery("/new", minutely+`,"count":2`)+`,"startTime":"2026-01-01T00:01:30Z"`)
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:30"}},
		{"where it is the last one before the end time", callsEvery("/old", minutely+`,"endTime":"2026-01-01T00:01:00Z"`),
			func(w *world) *answer {
				return w.replace(at, callsEvery("/new", minutely+`,"endTime":"2026-01-01T00:01:00Z"`))
			}, 1,
			[]string{"/old 00:00:00", "/new 00:01:00"}},
		{"of a job that runs once, which runs once it is enabled", `"action":` + call("/old") + `,"startTime":"2026-01-01T00:01:00Z"`,
			func(w *world) *answer {
				w.update(at, workflows.UpdateDisable)
				return w.update(100*time.Second, workflows.UpdateEnable)
			}, 0,
			[]string{"/old 00:01:40"}},
	} {
		for way, newWorld := range aheads {
			t.Run(tt.name+", "+way, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, tt.properties)
				a := tt.change(w)
				end := w.snapshot(135 * time.Second)
				w.run(145 * time.Second)
				j := a.ok(t)
				if tt.count >= 0 {
					require.Equal(t, tt.count, j.At(newYear.Add(a.at)).Status.ExecutionCount)
				}
				require.Equal(t, tt.want, w.calledAt())
				require.Empty(t, w.dropped(), "what has not happened is not listed")
				if end.Generation > 0 { // it is not deleted
					seen := end.At(newYear.Add(135 * time.Second)).Status
					require.Equal(t, len(tt.want), seen.ExecutionCount)
					require.Zero(t, seen.FailureCount)
				}
				w.requireSound()
			})
		}
	}
}

func TestAnOccurrenceThatWasTakenBackKeepsItsID(t *testing.T) {
	t.Parallel()
	calm, changed := newAhead(t, calls("/old")), newAhead(t, calls("/old"))
	calm.run(70 * time.Second)
	a := changed.replace(55*time.Second, calls("/new"))
	changed.run(70 * time.Second)
	require.Equal(t, 55*time.Second, a.at, "it is answered at once")
	require.Equal(t, calm.sent[1].Execution, changed.sent[1].Execution)
}

func TestAChangeThatComesWithTheDueTimeDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, time.Millisecond, 400 * time.Millisecond, 999 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		for name, change := range map[string]func(*world) *answer{
			"of the action": func(w *world) *answer { return w.replace(time.Minute+after, calls("/new")) },
			"of the schedule": func(w *world) *answer {
				return w.replace(time.Minute+after, callsEvery("/new", minutely+`,"interval":2`))
			},
			"of the start time": func(w *world) *answer {
				return w.replace(time.Minute+after, callsEvery("/new", minutely+`,"interval":1`)+`,"startTime":"2026-01-01T00:01:00Z"`)
			},
			"of the state":                   func(w *world) *answer { return w.update(time.Minute+after, workflows.UpdateDisable) },
			"of the state of the collection": func(w *world) *answer { return w.update(time.Minute+after, workflows.UpdateCollection, false) },
		} {
			for _, took := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second} {
				t.Run(fmt.Sprintf("%s, %s after it, when an attempt takes %s", name, after, took), func(t *testing.T) {
					t.Parallel()
					w := newAhead(t, calls("/old"))
					w.takes(took)
					a := change(w)
					got := w.snapshot(75 * time.Second)
					w.run(80 * time.Second)
					require.NoError(t, a.err)
					require.True(t, a.completed)
					require.LessOrEqual(t, a.at, time.Minute+max(after, time.Second))
					require.Len(t, w.sent, 2)
					if took > 0 && after > 0 {
						require.Equal(t, []string{"/old 00:00:00", "/old 00:01:00"}, w.calledAt())
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

// What another worker holds cannot be taken back: the answer waits until it is
// certain whether it was sent.
func TestAnAnswerWaitsForWhatAnotherWorkerHolds(t *testing.T) {
	t.Parallel()
	const at = 55 * time.Second
	disable := func(w *world) *answer { return w.update(at, workflows.UpdateDisable) }
	for _, tt := range []struct {
		name    string
		arrange func(*world)
		change  func(*world) *answer
		answer  time.Duration
		want    []string
		count   int // executions in the end
	}{
		{"which sends it quickly", nil, disable, time.Minute, []string{"/old 00:00:00", "/old 00:01:00"}, 2},
		{"which sends it slowly", func(w *world) { w.takes(3 * time.Second) }, disable, 61 * time.Second,
			[]string{"/old 00:00:00", "/old 00:01:00"}, 2},
		{"and a new action is not sent for the same occurrence", nil,
			func(w *world) *answer { return w.replace(at, calls("/new")) }, time.Minute,
			[]string{"/old 00:00:00", "/old 00:01:00", "/new 00:02:00"}, 3},
		{"and a new action is not sent for the same occurrence, though that is sent slowly",
			func(w *world) { w.takes(3 * time.Second) },
			func(w *world) *answer { return w.replace(at, calls("/new")) }, 61 * time.Second,
			[]string{"/old 00:00:00", "/old 00:01:00", "/new 00:02:00"}, 3},
		{"and what a new schedule has before it is missed", nil,
			func(w *world) *answer {
				return w.replace(at, callsEvery("/new", minutely)+`,"startTime":"2026-01-01T00:00:58Z"`)
			}, time.Minute,
			[]string{"/old 00:00:00", "/old 00:01:00", "/new 00:01:58"}, 3},
		{"where it is the last one", func(w *world) { w.next.Definition.Recurrence.Count = 2 },
			func(w *world) *answer { return w.replace(at, callsEvery("/new", minutely+`,"count":2`)) }, time.Minute,
			[]string{"/old 00:00:00", "/old 00:01:00"}, 2},
		{"unless its worker stops", func(w *world) { w.fate = of(time.Minute, released, sent) },
			disable, 55 * time.Second, []string{"/old 00:00:00"}, 1},
		{"unless no worker has it yet", func(w *world) { w.fate, w.queued = nil, 8*time.Second },
			disable, at, []string{"/old 00:00:08"}, 1},
		{"though nobody answers when asked for it", func(w *world) { w.fate, w.recallFails = nil, true },
			disable, time.Minute, []string{"/old 00:00:00", "/old 00:01:00"}, 2},
		{"though nobody answers in time when asked for it", func(w *world) { w.fate, w.recallFails, w.recallTakes = nil, true, 7*time.Second },
			disable, 62 * time.Second, []string{"/old 00:00:00", "/old 00:01:00"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAhead(t, calls("/old"))
			w.fate = of(time.Minute, elsewhere)
			if tt.arrange != nil {
				tt.arrange(w)
			}
			a := tt.change(w)
			end := w.snapshot(140 * time.Second)
			w.run(145 * time.Second)
			a.ok(t)
			require.Equal(t, tt.answer, a.at)
			require.Equal(t, tt.want, w.calledAt())
			require.Equal(t, tt.count, end.Status.ExecutionCount)
			require.Equal(t, 1, w.recalls)
			w.requireSound()
		})
	}
}

func TestATakingBackThatComesToNothingLosesNothing(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{0, 500 * time.Millisecond, 5 * time.Second} {
		t.Run(fmt.Sprintf("when an attempt takes %s", took), func(t *testing.T) {
			t.Parallel()
			w := newAhead(t, calls("/old"))
			w.takes(took)
			w.recallTakes, w.recallFails = 2*time.Second, true
			a := w.replace(59500*time.Millisecond, calls("/new")) // it takes until after the due time
			end := w.snapshot(100 * time.Second)
			w.run(101 * time.Second)
			a.ok(t)
			require.Equal(t, []string{"/old 00:00:00", "/old 00:01:00"}, w.calledAt())
			require.Equal(t, 2, end.Status.ExecutionCount)
			require.Zero(t, end.Status.FailureCount)
			w.requireSound()
		})
	}
}

func TestSeveralThatAreHeldAreTakenBackTogether(t *testing.T) {
	t.Parallel()
	hourly := func(path, minutes string) string {
		return callsEvery(path, `"frequency":"hour","schedule":{"minutes":[`+minutes+`]},"overlapPolicy":"AllowAll"`)
	}
	for _, tt := range []struct {
		name   string
		fate   func(sending) fate
		change func(*world) *answer
		answer time.Duration
		want   []string
	}{
		{"and sent by a new action", nil, func(w *world) *answer { return w.replace(30*time.Second, hourly("/new", "1,2,3")) }, 30 * time.Second,
			[]string{"/old 00:00:00", "/new 00:01:00", "/new 00:02:00", "/new 00:03:00"}},
		{"but for those that a new schedule does not hold", nil,
			func(w *world) *answer { return w.replace(30*time.Second, hourly("/new", "2,4")) }, 30 * time.Second,
			[]string{"/old 00:00:00", "/new 00:02:00", "/new 00:04:00"}},
		{"for good", nil, func(w *world) *answer { return w.update(30*time.Second, workflows.UpdateDisable) }, 30 * time.Second,
			[]string{"/old 00:00:00"}},
		{"but for the first, which another worker holds", of(time.Minute, elsewhere),
			func(w *world) *answer { return w.replace(30*time.Second, hourly("/new", "1,2,3")) }, time.Minute,
			[]string{"/old 00:00:00", "/old 00:01:00", "/new 00:02:00", "/new 00:03:00"}},
		{"but for the last, which another worker holds", of(3*time.Minute, elsewhere),
			func(w *world) *answer { return w.update(30*time.Second, workflows.UpdateDelete) }, 3 * time.Minute,
			[]string{"/old 00:00:00", "/old 00:03:00"}},
		{"but for those that are due", nil,
			func(w *world) *answer { return w.update(90*time.Second, workflows.UpdateDisable) }, 90 * time.Second,
			[]string{"/old 00:00:00", "/old 00:01:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAhead(t, hourly("/old", "1,2,3"))
			w.next.Lead = 200_000
			w.fate = tt.fate
			a := tt.change(w)
			end := w.snapshot(10 * time.Minute)
			w.run(11 * time.Minute)
			a.ok(t)
			require.Equal(t, tt.answer, a.at)
			require.Equal(t, tt.want, w.calledAt())
			require.Empty(t, w.dropped())
			if end.Generation > 0 {
				require.Equal(t, len(tt.want), end.Status.ExecutionCount)
			}
			w.requireSound()
		})
	}
}

func TestTwoChangesInOneWindow(t *testing.T) {
	t.Parallel()
	w := newAhead(t, calls("/old"))
	first := w.replace(52*time.Second, calls("/new"))
	second := w.replace(55*time.Second, calls("/newer"))
	off := w.update(57*time.Second, workflows.UpdateDisable)
	on := w.update(58*time.Second, workflows.UpdateEnable)
	w.run(90 * time.Second)
	for _, a := range []*answer{first, second, off, on} {
		require.Equal(t, 1, a.ok(t).At(newYear.Add(a.at)).Status.ExecutionCount)
	}
	require.Equal(t, []string{"/old 00:00:00", "/newer 00:01:00"}, w.calledAt())
	require.Equal(t, []int{1, 2}, []int{w.sent[0].Execution.Repeat, w.sent[1].Execution.Repeat})
	w.requireSound()
}

func TestAChangeWhileAnAnswerWaits(t *testing.T) {
	t.Parallel()
	w := newAhead(t, calls("/old"))
	w.fate = of(time.Minute, elsewhere)
	first := w.replace(52*time.Second, calls("/new"))
	second := w.replace(55*time.Second, calls("/newer"))
	run := w.update(56*time.Second, workflows.UpdateRun)
	w.run(125 * time.Second)
	require.Equal(t, time.Minute, first.at)
	second.ok(t)
	require.Equal(t, 56*time.Second, run.at, "a run on demand has nothing to wait for")
	require.Equal(t, []string{"/old 00:00:00", "/newer 00:00:56", "/old 00:01:00", "/newer 00:02:00"}, w.calledAt())
	require.GreaterOrEqual(t, second.at, time.Minute, "nothing is sent by an older definition once it is answered")
	w.requireSound()
}

func TestAnOccurrenceWhoseWorkerWasKilledIsTakenOver(t *testing.T) {
	t.Parallel()
	const none, retries = noRetry, `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT30S","retryCount":2}`
	lost := func(times time.Duration) string { // the first time while it was held
		return clock(newYear.Add(5*time.Minute + silence + (times-1)*longSilence))
	}
	for _, tt := range []struct {
		name, policy string
		fates        []fate
		fails        func(sending) bool
		want         []string // of the occurrence at 00:05, its attempts
		failed       int
	}{
		{"at once", retries, []fate{killedHeld}, nil, []string{lost(1) + " MainAction#2"}, 0},
		{"as often as it has attempts", retries, []fate{killedHeld, killedSent, killedSent}, nil,
			[]string{lost(1) + " MainAction#2", lost(2) + " MainAction#3"}, 1},
		{"and again after it was sent, for it may have attempts", retries, []fate{killedSent}, nil,
			[]string{"00:05:00 MainAction#1", lost(1) + " MainAction#2"}, 0},
		{"and keeps to its attempts in all", retries, []fate{killedHeld}, func(s sending) bool { return s.Execution.Repeat == 2 },
			[]string{lost(1) + " MainAction#2", clock(newYear.Add(5*time.Minute+silence+30*time.Second)) + " MainAction#3"}, 1},
		{"with a single attempt, where that was not announced", none, []fate{killedHeld}, nil, []string{lost(1) + " MainAction#1"}, 0},
		{"with a single attempt, again and again", none, []fate{killedHeld, killedHeld}, nil, []string{lost(2) + " MainAction#1"}, 0},
		{"with a single attempt, never where that was announced", none, []fate{killedSent}, nil, []string{"00:05:00 MainAction#1"}, 1},
		{"when it stops", retries, []fate{released}, nil, []string{"00:05:00 MainAction#1"}, 0},
		{"when one after another stops", none, []fate{released, released, released}, nil, []string{"00:05:00 MainAction#1"}, 0},
		{"when it stops, and the next one is killed", none, []fate{released, killedHeld}, nil, []string{lost(1) + " MainAction#1"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAhead(t, `"action":{`+get+tt.policy+`},"recurrence":{`+minutely+`,"interval":5}`)
			w.fate = of(5*time.Minute, tt.fates...)
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
				require.LessOrEqual(t, s.Before+int(s.options.RetryPolicy.MaximumAttempts), s.MaxAttempts)
			}
		})
	}
}

func TestALossTeachesNoPatience(t *testing.T) {
	t.Parallel()
	w := newAhead(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`}`)
	w.fate = of(time.Minute, killedHeld, killedHeld)
	w.run(125 * time.Second)
	third := w.executions()[2]
	require.Equal(t, newYear.Add(2*time.Minute), third.at)
	require.Equal(t, silence, third.began.Add(third.options.HeartbeatTimeout).Sub(third.at))
	w.requireSound()
}

func TestAChangeOfAJobWhoseWorkerWasKilled(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"", noRetry} {
		w := newAhead(t, `"action":{`+get+policy+`},"recurrence":{`+minutely+`}`)
		w.fate = of(time.Minute, killedHeld)
		a := w.update(55*time.Second, workflows.UpdateDisable)
		end := w.snapshot(110 * time.Second)
		w.run(2 * time.Minute)
		a.ok(t)
		require.Equal(t, 61*time.Second, a.at, "another worker might have sent it")
		require.Len(t, w.sent, 1, "what was withdrawn is not taken over")
		require.Equal(t, job.Status{LastExecutionTime: job.NewTime(newYear.Add(time.Minute)), ExecutionCount: 2, FailureCount: 1}, end.Status)
	}
}
