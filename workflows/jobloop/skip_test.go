package jobloop_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
)

func TestSkip(t *testing.T) {
	t.Parallel()
	t.Run("leaves the next occurrence out, and no other", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely+`,"count":3`))
		a := w.update(30*time.Second, workflows.UpdateSkip, time.Time{})
		end := w.snapshot(time.Hour)
		w.run(2 * time.Hour)
		require.Equal(t, job.NewTime(newYear.Add(2*time.Minute)), a.ok(t).Status.NextExecutionTime)
		require.Equal(t, []string{"00:00:00", "00:02:00", "00:03:00"}, w.dues(), "it does not use up count")
		require.Equal(t, []string{"Cancelled 1: 00:01:00 to 00:01:00"}, w.dropped())
		require.Equal(t, "a request skipped it", w.recorded.dropped[0].Why)
		require.Equal(t, 3, end.Status.ExecutionCount)
		require.Equal(t, job.StateCompleted, end.Definition.State)
		w.requireSound()
	})
	t.Run("is refused if the job was changed since", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		read := w.snapshot(time.Second)
		w.replace(10*time.Second, every(minutely+`,"count":9`))
		stale := w.update(30*time.Second, workflows.UpdateSkip, newYear.Add(time.Minute), &read.Generation)
		w.run(2 * time.Minute)
		refused, ok := errors.AsType[*temporal.ApplicationError](stale.err)
		require.True(t, ok, "%v", stale.err)
		require.Equal(t, workflows.ErrTypeStale, refused.Type())
		require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00"}, w.dues())
	})
	t.Run("leaves those of a new schedule that come before it", func(t *testing.T) {
		t.Parallel()
		for name, newEnv := range aheadEnvs {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t, `"action":{`+get+`},"recurrence":{"frequency":"hour"}`)
				w.update(time.Minute, workflows.UpdateSkip, time.Time{}) // 01:00:00
				changed := w.replace(2*time.Minute, `"action":{`+get+`},"recurrence":{"frequency":"minute","interval":20}`)
				w.run(90 * time.Minute)
				require.Equal(t, job.NewTime(newYear.Add(20*time.Minute)), changed.ok(t).At(newYear.Add(2*time.Minute)).Status.NextExecutionTime)
				require.Equal(t, []string{"00:00:00", "00:20:00", "00:40:00", "01:20:00"}, w.dues(), "what was skipped is on the new schedule, too")
				require.Equal(t, []string{"Cancelled 1: 01:00:00 to 01:00:00"}, w.dropped())
				w.requireSound()
			})
		}
	})
	t.Run("is passed over once, though the schedule changes when others have run", func(t *testing.T) {
		t.Parallel()
		for name, newEnv := range aheadEnvs {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t, `"action":{`+get+`},"recurrence":{"frequency":"hour"}`)
				w.update(time.Minute, workflows.UpdateSkip, time.Time{}) // 01:00:00
				w.replace(2*time.Minute, `"action":{`+get+`},"recurrence":{"frequency":"minute","interval":20}`)
				for _, at := range []time.Duration{40 * time.Minute, 40*time.Minute + 500*time.Millisecond, 41 * time.Minute} {
					w.replace(at, `"action":{`+get+`},"recurrence":{"frequency":"minute","interval":`+fmt.Sprint(5+int(at.Seconds())%2*5)+`}`)
				}
				w.run(62 * time.Minute)
				require.Equal(t, slices.Compact(slices.Clone(w.dues())), w.dues(), "none twice")
				require.Subset(t, w.dues(), []string{"00:00:00", "00:20:00", "00:40:00", "00:50:00"})
				require.NotContains(t, w.dues(), "01:00:00")
				w.requireSound()
			})
		}
	})
	t.Run("holds for several, also after a change of the schedule that they are on", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.suggest = 200 * time.Second
		for range 3 {
			w.update(30*time.Second, workflows.UpdateSkip, time.Time{}) // 00:01:00 to 00:03:00
		}
		changed := w.replace(90*time.Second, every(`"frequency":"minute","endTime":"2026-01-01T00:05:30Z"`))
		w.run(time.Hour)
		require.Equal(t, job.NewTime(newYear.Add(4*time.Minute)), changed.ok(t).Status.NextExecutionTime)
		require.Equal(t, []string{"00:00:00", "00:04:00", "00:05:00"}, w.dues())
		w.requireSound()
	})
	t.Run("holds for an occurrence that is skipped while another one is held that a change puts back", func(t *testing.T) {
		t.Parallel()
		for name, newEnv := range aheadEnvs {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t, `"action":{`+get+`},"recurrence":{"frequency":"hour"}`)
				w.update(time.Minute, workflows.UpdateSkip, time.Time{}) // 01:00:00
				w.replace(2*time.Minute, `"action":{`+get+`},"recurrence":{"frequency":"minute","interval":30}`)
				w.replace(30*time.Minute-500*time.Millisecond, `"action":`+call("/new")+`,"recurrence":{"frequency":"minute","interval":30}`)
				w.run(100 * time.Minute)
				require.Equal(t, []string{"00:00:00", "00:30:00", "01:30:00"}, w.dues())
				require.Equal(t, []string{"Cancelled 1: 01:00:00 to 01:00:00"}, w.dropped())
				w.requireSound()
			})
		}
	})
	t.Run("is refused if a hundred to come are skipped", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		var skips []*answer
		for n := range 100 {
			skips = append(skips, w.update(30*time.Second+time.Duration(n)*time.Millisecond, workflows.UpdateSkip, time.Time{}))
		}
		refused := w.update(40*time.Second, workflows.UpdateSkip, time.Time{})
		later := w.update(62*time.Second, workflows.UpdateSkip, time.Time{}) // 00:01:00 is over
		w.suggest = 100 * time.Second
		w.run(103 * time.Minute)
		for _, a := range append(skips, later) {
			a.ok(t)
		}
		requireType(t, refused.err, workflows.ErrTypeConflict)
		require.ErrorContains(t, refused.err, "100 occurrences that are to come are skipped already. Disable the job")
		require.Equal(t, []string{"00:00:00", "01:42:00", "01:43:00"}, w.dues())
		w.requireSound()
	})
	t.Run("takes one that a worker holds back from it", func(t *testing.T) {
		t.Parallel()
		w := newHoldEnv(t, every(minutely+`,"count":3`))
		a := w.update(30*time.Second, workflows.UpdateSkip, time.Time{})
		w.run(2 * time.Hour)
		require.Equal(t, job.NewTime(newYear.Add(2*time.Minute)), a.ok(t).At(newYear.Add(31*time.Second)).Status.NextExecutionTime)
		require.Less(t, a.at, 31*time.Second)
		require.Equal(t, []string{"00:00:00", "00:02:00", "00:03:00"}, w.dues())
		require.Equal(t, []string{"Cancelled 1: 00:01:00 to 00:01:00"}, w.dropped())
		w.requireSound()
	})
	t.Run("refuses one that may be on its way, which keeps its retries", func(t *testing.T) {
		t.Parallel()
		for name, newEnv := range aheadEnvs {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t, `"action":{`+get+twoRetries+`},"recurrence":{"frequency":"minute","count":2}`)
				w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 2 })
				a := w.update(51*time.Second, workflows.UpdateSkip, time.Time{})
				w.run(3 * time.Hour)
				requireType(t, a.err, workflows.ErrTypeConflict)
				require.ErrorContains(t, a.err, "The occurrence that is due at 2026-01-01T00:01:00Z may have been sent")
				require.Equal(t, []string{"00:00:00 MainAction#1", "00:01:00 MainAction#1", "00:02:00 MainAction#2", "00:03:00 MainAction#3"}, w.lines())
				require.Empty(t, w.dropped())
				w.requireSound()
			})
		}
	})
	t.Run("of a named occurrence skips no other when it is repeated", func(t *testing.T) {
		t.Parallel()
		w := newHoldEnv(t, every(minutely+`,"count":3`))
		one := newYear.Add(time.Minute)
		first := w.update(20*time.Second, workflows.UpdateSkip, one)
		again := w.update(30*time.Second, workflows.UpdateSkip, one)
		over := w.update(125*time.Second, workflows.UpdateSkip, one)
		w.run(2 * time.Hour)
		first.ok(t)
		again.ok(t)
		requireType(t, over.err, workflows.ErrTypeConflict)
		require.ErrorContains(t, over.err, "No occurrence that can be skipped is due at 2026-01-01T00:01:00Z. The nearest one is due at 2026-01-01T00:03:00Z.")
		require.Equal(t, []string{"00:00:00", "00:02:00", "00:03:00"}, w.dues())
		require.Equal(t, []string{"Cancelled 1: 00:01:00 to 00:01:00"}, w.dropped())
		w.requireSound()
	})
	t.Run("leaves executions alone that wait for a retry", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, `"action":{`+get+twoRetries+`},"recurrence":{"frequency":"hour"}`)
		w.fails(func(s sentAttempt) bool { return s.attempt() == 1 })
		a := w.update(30*time.Second, workflows.UpdateSkip, time.Time{})
		w.run(90 * time.Minute)
		a.ok(t)
		require.Equal(t, []string{"00:00:00 MainAction#1", "00:01:00 MainAction#2"}, w.lines())
		require.Equal(t, []string{"Cancelled 1: 01:00:00 to 01:00:00"}, w.dropped())
		w.requireSound()
	})
	t.Run("of an occurrence that waits for the one before it leaves that running", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely+`,"count":3`))
		w.takes(90 * time.Second)
		a := w.update(70*time.Second, workflows.UpdateSkip, time.Time{})
		w.run(time.Hour)
		a.ok(t)
		require.Equal(t, []string{"Cancelled 1: 00:01:00 to 00:01:00"}, w.dropped())
		require.Equal(t, []string{"00:00:00 00:00:00", "00:02:00 00:02:00", "00:03:00 00:03:30"}, w.starts())
		w.requireSound()
	})
	t.Run("of the last occurrence completes the job when that is over", func(t *testing.T) {
		t.Parallel()
		for name, newEnv := range aheadEnvs {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t, every(`"frequency":"minute","endTime":"2026-01-01T00:01:30Z"`))
				a := w.update(30*time.Second, workflows.UpdateSkip, time.Time{})
				before, after := w.snapshot(59*time.Second), w.snapshot(61*time.Second)
				w.run(time.Hour)
				require.Equal(t, job.StateEnabled, a.ok(t).Definition.State, "it may be unskipped")
				require.Equal(t, job.WhyAllSkipped, before.Status.Reason)
				require.Equal(t, job.StateCompleted, after.Definition.State)
				require.Equal(t, []string{"00:00:00"}, w.dues())
				require.Equal(t, []string{"Cancelled 1: 00:01:00 to 00:01:00"}, w.dropped())
				w.requireSound()
			})
		}
	})
	t.Run("is refused if nothing comes next", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely+`,"count":1`))
		completed := w.update(time.Minute, workflows.UpdateSkip, time.Time{})
		w.run(time.Hour)
		requireType(t, completed.err, workflows.ErrTypeConflict)

		w = newJobEnv(t, every(minutely)+`,"state":"disabled"`)
		disabled := w.update(time.Minute, workflows.UpdateSkip, time.Time{})
		w.run(time.Hour)
		requireType(t, disabled.err, workflows.ErrTypeConflict)
		require.ErrorContains(t, disabled.err, "so that no occurrence is next")
	})
}

func at(minute int) time.Time { return newYear.Add(time.Duration(minute) * time.Minute) }

func TestOccurrencesToComeAreSkippedAndUnskipped(t *testing.T) {
	t.Parallel()
	type when struct {
		at      time.Duration
		update  string
		request job.SkipRequest
		refused string // what the error has; "" if it is allowed
	}
	skip, unskip := workflows.UpdateSkip, workflows.UpdateUnskip
	const half = 30 * time.Second
	window := func(from, until int) job.SkipRequest { return job.SkipRequest{From: at(from), Until: at(until)} }
	for name, c := range map[string]struct {
		requests []when
		dues     []string
		dropped  []string
	}{
		"a later one": {
			[]when{{half, skip, job.SkipRequest{Due: at(3)}, ""}},
			[]string{"00:00:00", "00:01:00", "00:02:00", "00:04:00", "00:05:00", "00:06:00"},
			[]string{"Cancelled 1: 00:03:00 to 00:03:00"},
		},
		"several": {
			[]when{{half, skip, job.SkipRequest{Next: 2}, ""}, {half + time.Second, skip, job.SkipRequest{Next: 1}, ""}},
			[]string{"00:00:00", "00:04:00", "00:05:00", "00:06:00"},
			[]string{"Cancelled 1: 00:01:00 to 00:01:00", "Cancelled 1: 00:02:00 to 00:02:00", "Cancelled 1: 00:03:00 to 00:03:00"},
		},
		"a window": {
			[]when{{half, skip, window(2, 5), ""}},
			[]string{"00:00:00", "00:01:00", "00:05:00", "00:06:00"},
			[]string{"Cancelled 1: 00:02:00 to 00:02:00", "Cancelled 1: 00:03:00 to 00:03:00", "Cancelled 1: 00:04:00 to 00:04:00"},
		},
		"undone before it is due": {
			[]when{{half, skip, job.SkipRequest{Due: at(3)}, ""}, {100 * time.Second, unskip, job.SkipRequest{Due: at(3)}, ""}},
			[]string{"00:00:00", "00:01:00", "00:02:00", "00:03:00", "00:04:00", "00:05:00", "00:06:00"}, nil,
		},
		"the next undone": {
			[]when{{half, skip, job.SkipRequest{Next: 3}, ""}, {half + time.Second, unskip, job.SkipRequest{}, ""}},
			[]string{"00:00:00", "00:01:00", "00:04:00", "00:05:00", "00:06:00"},
			[]string{"Cancelled 1: 00:02:00 to 00:02:00", "Cancelled 1: 00:03:00 to 00:03:00"},
		},
		"one of a window undone": {
			[]when{{half, skip, window(2, 6), ""}, {half + time.Second, unskip, job.SkipRequest{Due: at(4)}, ""}},
			[]string{"00:00:00", "00:01:00", "00:04:00", "00:06:00"},
			[]string{"Cancelled 1: 00:02:00 to 00:02:00", "Cancelled 1: 00:03:00 to 00:03:00", "Cancelled 1: 00:05:00 to 00:05:00"},
		},
		"a window undone while it lasts": {
			[]when{{half, skip, window(1, 6), ""}, {150 * time.Second, unskip, window(0, 9), ""}},
			[]string{"00:00:00", "00:03:00", "00:04:00", "00:05:00", "00:06:00"},
			[]string{"Cancelled 1: 00:01:00 to 00:01:00", "Cancelled 1: 00:02:00 to 00:02:00"},
		},
		"undone too late": {
			[]when{{half, skip, job.SkipRequest{Due: at(2)}, ""}, {121 * time.Second, unskip, job.SkipRequest{Due: at(2)}, "No occurrence to come is skipped."}},
			[]string{"00:00:00", "00:01:00", "00:03:00", "00:04:00", "00:05:00", "00:06:00"},
			[]string{"Cancelled 1: 00:02:00 to 00:02:00"},
		},
		"none": {
			[]when{
				{half, skip, job.SkipRequest{Due: at(3).Add(20 * time.Second)}, "No occurrence that can be skipped is due at 2026-01-01T00:03:20Z. The nearest one is due at 2026-01-01T00:03:00Z."},
				{half, skip, job.SkipRequest{Due: at(9)}, "The nearest one is due at 2026-01-01T00:06:00Z."},
				{half, skip, job.SkipRequest{From: at(3).Add(time.Second), Until: at(3).Add(9 * time.Second)}, "is due from 2026-01-01T00:03:01Z until 2026-01-01T00:03:09Z. The nearest one is due at 2026-01-01T00:03:00Z."},
				{half, unskip, job.SkipRequest{}, "No occurrence to come is skipped."},
				{half + time.Second, skip, job.SkipRequest{Due: at(5)}, ""},
				{half + 2*time.Second, unskip, job.SkipRequest{Due: at(3)}, ""}, // it is not skipped, so nothing is to be done
				{half + 3*time.Second, unskip, job.SkipRequest{Due: at(3).Add(time.Second)}, "No skipped occurrence is due at 2026-01-01T00:03:01Z. The nearest one that is to come is due at 2026-01-01T00:05:00Z."},
				{half + 4*time.Second, unskip, job.SkipRequest{Due: at(5)}, ""},
			},
			[]string{"00:00:00", "00:01:00", "00:02:00", "00:03:00", "00:04:00", "00:05:00", "00:06:00"}, nil,
		},
	} {
		for kind, newEnv := range aheadEnvs {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t, every(`"frequency":"minute","endTime":"2026-01-01T00:06:00Z"`))
				var answers []*answer
				for _, r := range c.requests {
					answers = append(answers, w.update(r.at, r.update, r.request))
				}
				w.run(time.Hour)
				for i, a := range answers {
					if refused := c.requests[i].refused; refused != "" {
						requireType(t, a.err, workflows.ErrTypeConflict)
						require.ErrorContains(t, a.err, refused)
						continue
					}
					a.ok(t)
				}
				require.Equal(t, c.dues, w.dues())
				if c.dropped == nil {
					c.dropped = []string{}
				}
				require.ElementsMatch(t, c.dropped, w.dropped())
				w.requireSound()
			})
		}
	}
}

func TestAnOccurrenceBeforeOneThatIsHeldCanBeUnskipped(t *testing.T) {
	t.Parallel()
	w := newHoldEnv(t, every(minutely+`,"count":4`))
	w.update(20*time.Second, workflows.UpdateSkip, job.SkipRequest{Due: at(1)})
	undone := w.update(40*time.Second, workflows.UpdateUnskip, job.SkipRequest{Due: at(1)})
	w.run(time.Hour)
	undone.ok(t)
	require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00", "00:03:00"}, w.dues())
	require.Empty(t, w.dropped())
	w.requireSound()
}

func TestALongWindowIsSkippedFromRunToRun(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.suggest = 9 * time.Minute
	w.update(30*time.Second, workflows.UpdateSkip, job.SkipRequest{From: at(5), Until: at(65)})
	shown := w.snapshot(40 * time.Minute)
	w.run(67*time.Minute + time.Second)
	require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00", "00:03:00", "00:04:00", "01:05:00", "01:06:00", "01:07:00"}, w.dues())
	require.Len(t, w.dropped(), 60)
	require.Equal(t, []job.SkipWindow{{From: at(5), Until: at(65)}}, shown.SkipWindows)
	require.Equal(t, job.NewTime(at(65)), shown.Status.NextExecutionTime)
	require.Greater(t, len(w.runs), 1)
	w.requireSound()
}

func TestWhatIsSkippedWhileTheJobIsDisabledHasNoEntry(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"minute","endTime":"2026-01-01T00:06:00Z"`))
	w.update(30*time.Second, workflows.UpdateSkip, job.SkipRequest{From: at(1), Until: at(5)})
	w.update(90*time.Second, workflows.UpdateDisable)
	w.update(190*time.Second, workflows.UpdateEnable)
	w.run(time.Hour)
	require.Equal(t, []string{"00:00:00", "00:05:00", "00:06:00"}, w.dues())
	require.ElementsMatch(t, []string{"Cancelled 1: 00:01:00 to 00:01:00", "Cancelled 1: 00:04:00 to 00:04:00"}, w.dropped())
	w.requireSound()
}
