package jobloop_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

func stateAs(p job.Promise) workflows.StateRequest { return workflows.StateRequest{Promise: p} }

// minutes are the due times from one minute to another, both included.
func minutes(from, to int) (all []string) {
	for m := from; m <= to; m++ {
		all = append(all, fmt.Sprintf("00:%02d:00", m))
	}
	return all
}

func TestAPauseEndsByItselfAndRunsWhatItPromised(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		promise job.Promise
		starts  []string // of what was held, and the first regular one
		dropped []string
	}{
		"none": {
			job.Promise{Until: at(5), Note: "move"}, []string{"00:05:00 00:05:00"}, []string{"Skipped 4: 00:01:00 to 00:04:00"},
		},
		"none, and said so": {
			job.Promise{Until: at(5), Recover: job.RecoverNone}, []string{"00:05:00 00:05:00"}, []string{"Skipped 4: 00:01:00 to 00:04:00"},
		},
		"latest": {
			job.Promise{Until: at(5).Add(-time.Second), Recover: job.RecoverLatest}, []string{"00:04:00 00:04:59", "00:05:00 00:05:00"},
			[]string{"Skipped 3: 00:01:00 to 00:03:00"},
		},
		"all": {
			job.Promise{Until: at(5).Add(-time.Second), Recover: job.RecoverAll},
			[]string{"00:01:00 00:04:59", "00:02:00 00:04:59", "00:03:00 00:04:59", "00:04:00 00:04:59", "00:05:00 00:05:00"}, nil,
		},
	} {
		for kind, newEnv := range aheadEnvs {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t, every(minutely)+notified(`"on":["missed","late","quiet"],"lateBy":"PT1S","within":"PT2M"`))
				a := w.update(30*time.Second, workflows.UpdateDisable, stateAs(c.promise))
				during, after := w.snapshot(150*time.Second), w.snapshot(5*time.Minute+time.Second)
				w.run(5*time.Minute + 2*time.Second)
				require.Equal(t, job.StateDisabled, a.ok(t).Definition.State)
				require.Equal(t, c.promise, during.DisabledBy.Promise)
				require.Nil(t, during.Status.NextExecutionTime)
				require.Equal(t, job.StateEnabled, after.Definition.State)
				require.Equal(t, append([]string{"00:00:00 00:00:00"}, c.starts...), w.starts())
				if c.dropped == nil {
					c.dropped = []string{}
				}
				require.Equal(t, c.dropped, w.dropped())
				require.Empty(t, w.alerts, "nobody is alerted of what was asked for")
				for _, s := range w.sent {
					held := s.Execution.Due.After(newYear) && s.Execution.Due.Before(at(5))
					require.Equal(t, held, s.Execution.Recovered, clock(s.Execution.Due))
				}
				w.requireSound()
			})
		}
	}
}

func TestRecoveredOccurrencesRunAsManyAtOnceAsPromised(t *testing.T) {
	t.Parallel()
	for _, policy := range []job.OverlapPolicy{job.OverlapBufferOne, job.OverlapSkip, job.OverlapAllowAll} {
		for atOnce := range 4 {
			t.Run(fmt.Sprint(policy, " ", atOnce), func(t *testing.T) {
				t.Parallel()
				w := newJobEnv(t, every(minutely+`,"overlapPolicy":"`+string(policy)+`"`))
				w.takes(25 * time.Second)
				w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(10).Add(-10 * time.Second), Recover: job.RecoverAll, AtOnce: atOnce}))
				w.run(16 * time.Minute)
				limit := max(1, atOnce)
				var ends []time.Time // of recovered ones
				recovered, last := []string{}, time.Time{}
				for _, s := range w.sent {
					running := 0
					for _, end := range ends {
						if end.After(s.at) {
							running++
						}
					}
					if s.Execution.Recovered {
						require.Less(t, running, limit, "at %s", clock(s.at))
						recovered, ends, last = append(recovered, clock(s.Execution.Due)), append(ends, s.at.Add(25*time.Second)), s.at
					} else if s.at.After(at(1)) {
						require.False(t, s.at.Before(last), "a regular one waits behind them")
						require.Len(t, recovered, 9)
					}
				}
				require.Equal(t, minutes(1, 9), recovered)
				for _, d := range w.recorded.dropped {
					waited := d.First.Before(slices.MaxFunc(ends, time.Time.Compare))
					require.False(t, waited && d.Outcome == job.OutcomeSkipped, "what waited behind them is not left out for the overlap: %s", clock(d.First))
				}
				w.requireSound()
			})
		}
	}
}

func TestEnablingDecidesWhatIsHeld(t *testing.T) {
	t.Parallel()
	until := at(40)
	for name, c := range map[string]struct {
		disable, enable job.Promise
		held            []string // that run
		dropped         []string
	}{
		"as promised":         {job.Promise{Until: until, Recover: job.RecoverLatest}, job.Promise{}, minutes(4, 4), []string{"Skipped 3: 00:01:00 to 00:03:00"}},
		"otherwise":           {job.Promise{Until: until, Recover: job.RecoverLatest}, job.Promise{Recover: job.RecoverAll}, minutes(1, 4), []string{}},
		"not at all":          {job.Promise{Until: until, Recover: job.RecoverAll}, job.Promise{Recover: job.RecoverNone}, nil, []string{"Skipped 4: 00:01:00 to 00:04:00"}},
		"held without an end": {job.Promise{Recover: job.RecoverLatest}, job.Promise{}, minutes(4, 4), []string{"Skipped 3: 00:01:00 to 00:03:00"}},
		"nothing was said":    {job.Promise{}, job.Promise{Recover: job.RecoverAll}, minutes(1, 4), []string{}},
		"nor is anything now": {job.Promise{Note: "why"}, job.Promise{}, nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			w.suggest = 100 * time.Second
			w.update(30*time.Second, workflows.UpdateDisable, stateAs(c.disable))
			w.update(270*time.Second, workflows.UpdateEnable, stateAs(c.enable))
			w.run(5*time.Minute + time.Second)
			want := append([]string{"00:00:00"}, c.held...)
			require.Equal(t, append(want, "00:05:00"), w.dues())
			require.Equal(t, c.dropped, w.dropped())
			w.requireSound()
		})
	}
}

func TestAPauseOfTheCollectionEndsInItsJobs(t *testing.T) {
	t.Parallel()
	promise := job.Promise{Until: at(5).Add(-time.Second), Recover: job.RecoverLatest}
	paused := workflows.CollectionState{Generation: 2, Disabled: true, Pause: &job.Disabling{At: at(0), By: "eve", Promise: promise}}
	for name, c := range map[string]struct {
		more    func(w *jobEnv)
		dues    []string
		dropped []string
	}{
		"alone": {func(*jobEnv) {}, []string{"00:00:00", "00:04:00", "00:05:00", "00:06:00"}, []string{"Skipped 3: 00:01:00 to 00:03:00"}},
		"and the state comes late again": {
			func(w *jobEnv) { w.update(310*time.Second, workflows.UpdateCollection, paused) },
			[]string{"00:00:00", "00:04:00", "00:05:00", "00:06:00"}, []string{"Skipped 3: 00:01:00 to 00:03:00"},
		},
		"while the job is disabled": {
			func(w *jobEnv) {
				w.update(90*time.Second, workflows.UpdateDisable)
				w.update(350*time.Second, workflows.UpdateEnable, stateAs(job.Promise{Recover: job.RecoverAll, AtOnce: 9}))
			}, []string{"00:00:00", "00:05:00", "00:06:00"}, []string{"Skipped 4: 00:01:00 to 00:04:00"},
		},
		"the collection is enabled before": {
			func(w *jobEnv) {
				w.update(190*time.Second, workflows.UpdateCollection, workflows.CollectionState{Generation: 3, Recover: &job.Promise{Recover: job.RecoverNone}})
			}, []string{"00:00:00", "00:04:00", "00:05:00", "00:06:00"}, []string{"Skipped 3: 00:01:00 to 00:03:00"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			w.update(30*time.Second, workflows.UpdateCollection, paused)
			c.more(w)
			shown := w.snapshot(60 * time.Second)
			w.run(6*time.Minute + time.Second)
			require.True(t, shown.CollectionDisabled)
			require.Equal(t, promise, shown.CollectionPause.Promise)
			require.Equal(t, c.dues, w.dues())
			require.Equal(t, c.dropped, w.dropped())
			w.requireSound()
		})
	}
}

func TestAChangedScheduleHoldsNothingOfTheOldOne(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(20), Recover: job.RecoverAll}))
	w.replace(150*time.Second, every(`"frequency":"minute","interval":5`)+`,"state":"disabled"`)
	w.run(26 * time.Minute)
	require.Equal(t, []string{"Cancelled 2: 00:01:00 to 00:02:00"}, w.dropped())
	require.Equal(t, []string{"00:00:00", "00:05:00", "00:10:00", "00:15:00", "00:20:00", "00:25:00"}, w.dues())
	w.requireSound()
}

func TestAPauseCanBeMadeLongerOrForever(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(3), Recover: job.RecoverAll}))
	w.update(60*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(5), Recover: job.RecoverLatest}))
	w.update(240*time.Second, workflows.UpdateDisable)
	still := w.snapshot(9 * time.Minute)
	w.update(590*time.Second, workflows.UpdateEnable)
	w.run(10*time.Minute + time.Second)
	require.Equal(t, job.StateDisabled, still.Definition.State)
	require.Equal(t, []string{"00:00:00", "00:09:00", "00:10:00"}, w.dues(), "what was promised of what is held holds")
	require.Equal(t, []string{"Skipped 8: 00:01:00 to 00:08:00"}, w.dropped())
	w.requireSound()
}

func TestAPauseIsRefusedThatCannotBeKept(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	var refused []*answer
	for _, p := range []job.Promise{{Until: at(0)}, {Recover: "some"}, {AtOnce: 101}, {AtOnce: -1}, {Note: fmt.Sprintf("%201d", 1)}} {
		refused = append(refused, w.update(30*time.Second, workflows.UpdateDisable, stateAs(p)))
	}
	w.run(time.Minute + time.Second)
	for _, a := range refused {
		a.refused(t, workflows.ErrTypeInvalid)
	}
	require.Equal(t, []string{"00:00:00", "00:01:00"}, w.dues())
}

func TestAtMostAThousandHeldOccurrencesRun(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(1101).Add(-time.Second), Recover: job.RecoverAll, AtOnce: job.MaxAtOnce}))
	w.run(1102*time.Minute - time.Second)
	recovered := slices.DeleteFunc(slices.Clone(w.sent), func(s sentAttempt) bool { return !s.Execution.Recovered })
	require.Len(t, recovered, job.MaxHeld)
	require.Equal(t, at(101), recovered[0].Execution.Due.UTC())
	require.Equal(t, []string{"Skipped 100: 00:01:00 to 01:40:00"}, w.dropped())
	require.Contains(t, w.recorded.dropped[0].Why, "only the newest 1000 run")
	w.requireSound()
}

func TestACollectionThatIsDisabledForGoodAfterAPauseStaysSo(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	promise := job.Promise{Until: at(5), Recover: job.RecoverAll}
	w.update(30*time.Second, workflows.UpdateCollection, workflows.CollectionState{Generation: 2, Disabled: true, Pause: &job.Disabling{At: at(0), Promise: promise}})
	w.update(90*time.Second, workflows.UpdateCollection, workflows.CollectionState{Generation: 3, Disabled: true})
	still := w.snapshot(9 * time.Minute)
	w.update(570*time.Second, workflows.UpdateCollection, workflows.CollectionState{Generation: 4, Recover: &job.Promise{Recover: job.RecoverLatest}})
	w.run(10*time.Minute + time.Second)
	require.True(t, still.CollectionDisabled)
	require.Equal(t, []string{"00:00:00", "00:09:00", "00:10:00"}, w.dues())
	w.requireSound()
}

func TestAPauseHoldsNothingFromBeforeItBegan(t *testing.T) {
	t.Parallel()
	pause := func(until int) workflows.CollectionState {
		return workflows.CollectionState{Generation: 2, Disabled: true, Pause: &job.Disabling{At: at(0), Promise: job.Promise{Until: at(until), Recover: job.RecoverAll}}}
	}
	for name, c := range map[string]struct {
		do      func(w *jobEnv)
		dues    []string
		dropped []string
	}{
		"of a job that was disabled": {func(w *jobEnv) {
			w.update(30*time.Second, workflows.UpdateDisable)
			w.update(210*time.Second, workflows.UpdateCollection, pause(6))
			w.update(510*time.Second, workflows.UpdateEnable)
		}, append([]string{"00:00:00"}, minutes(9, 10)...), []string{}},
		"of a job that is paused when it was disabled": {func(w *jobEnv) {
			w.update(30*time.Second, workflows.UpdateDisable)
			w.update(210*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(6), Recover: job.RecoverAll}))
		}, append([]string{"00:00:00"}, minutes(4, 10)...), []string{}},
		"of a job whose collection is disabled": {func(w *jobEnv) {
			w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(3), Recover: job.RecoverAll}))
			w.update(90*time.Second, workflows.UpdateCollection, collectionIs(false))
			w.update(510*time.Second, workflows.UpdateCollection, collectionIs(true))
		}, append([]string{"00:00:00"}, minutes(9, 10)...), []string{"Skipped 2: 00:01:00 to 00:02:00"}},
		"of a job that is enabled while its collection is paused": {func(w *jobEnv) {
			w.update(30*time.Second, workflows.UpdateDisable)
			w.update(90*time.Second, workflows.UpdateCollection, pause(8))
			w.update(210*time.Second, workflows.UpdateEnable)
		}, append([]string{"00:00:00"}, minutes(4, 10)...), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			c.do(w)
			w.run(10*time.Minute + time.Second)
			require.Equal(t, c.dues, w.dues())
			require.Equal(t, c.dropped, w.dropped())
			w.requireSound()
		})
	}
}

func TestARecoveredOccurrenceWaitsForARegularOneThatRuns(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"overlapPolicy":"Skip"`))
	w.took = func(n int) time.Duration {
		if n == 1 {
			return 10 * time.Minute
		}
		return 0
	}
	w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(5).Add(-time.Second), Recover: job.RecoverLatest}))
	w.run(11*time.Minute + time.Second)
	require.Equal(t, "00:04:00 00:10:00", w.starts()[1])
	w.requireSound()
}

func TestALongPauseEndsInManyWorkflowTasks(t *testing.T) {
	t.Parallel()
	for choice, runs := range map[job.Recover]int{job.RecoverNone: 0, job.RecoverAll: job.MaxHeld} {
		t.Run(string(choice), func(t *testing.T) {
			t.Parallel()
			const held = 45_000
			w := newJobEnv(t, every(minutely))
			end := newYear.Add((held + 1) * time.Minute).Add(-time.Second)
			w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: end, Recover: choice, AtOnce: job.MaxAtOnce}))
			w.suggest = time.Millisecond
			w.run(end.Sub(newYear) + 2*time.Second)
			count, last := 0, time.Time{}
			for i, d := range w.recorded.dropped {
				require.Equal(t, job.OutcomeSkipped, d.Outcome)
				require.True(t, w.recorded.droppedAt[i].After(last), "each step has a workflow task of its own")
				count, last = count+d.Count, w.recorded.droppedAt[i]
			}
			require.Equal(t, held-runs, count)
			require.True(t, slices.ContainsFunc(w.runs, func(r run) bool { return r.Releasing != nil }), "a new run goes on")
			require.Len(t, w.dues(), 2+runs, "and the regular ones before and after it")
			w.requireSound()
		})
	}
}

func TestWhatWaitedBehindRecoveredOnesRunsOneAfterAnother(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"overlapPolicy":"AllowAll"`))
	w.takes(40 * time.Second)
	w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(150).Add(-time.Second), Recover: job.RecoverAll}))
	w.run(8 * time.Hour)
	require.Equal(t, minutes(0, 59), w.dues()[:60])
	require.Equal(t, 8*60+1, len(w.dues()), "each runs, in its turn") //nolint:testifylint // Len prints all
	require.Empty(t, w.dropped())
	for i, s := range w.sent[3:] { // the last few that waited may run beside each other
		require.False(t, s.at.Before(w.sent[i].at.Add(40*time.Second)), "%s beside three others", clock(s.Execution.Due))
	}
	last := w.sent[len(w.sent)-1]
	require.Equal(t, last.Execution.Due, last.at, "and they are on time again")
	w.requireSound()
}

func TestAPauseOfTheCollectionEndsInACompletedJob(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"count":1`))
	pause := &job.Disabling{At: at(0), Promise: job.Promise{Until: at(5)}}
	w.update(30*time.Second, workflows.UpdateCollection, workflows.CollectionState{Generation: 2, Disabled: true, Pause: pause})
	during, after := w.snapshot(4*time.Minute), w.snapshot(6*time.Minute)
	w.run(7 * time.Minute)
	require.Equal(t, job.StateCompleted, after.Definition.State)
	require.True(t, during.CollectionDisabled)
	require.False(t, after.CollectionDisabled)
	require.Nil(t, after.CollectionPause)
	require.Equal(t, []string{"00:00:00"}, w.dues())
}

// The state of the collection arrives late, when its pause is over.
func TestWhatCameDueAfterAPauseWasNotHeld(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"catchUpWindow":"PT1H"`))
	pause := job.Disabling{At: at(0), Promise: job.Promise{Until: at(20), Recover: job.RecoverNone}}
	w.update(30*time.Second, workflows.UpdateCollection, workflows.CollectionState{Generation: 2, Disabled: true, Pause: &pause})
	over := pause
	over.Until = at(3)
	w.update(330*time.Second, workflows.UpdateCollection, workflows.CollectionState{Generation: 3, Disabled: true, Pause: &over})
	w.run(6*time.Minute + time.Second)
	require.Equal(t, append([]string{"00:00:00"}, minutes(3, 6)...), w.dues())
	require.Equal(t, []string{"Skipped 2: 00:01:00 to 00:02:00"}, w.dropped())
	w.requireSound()
}

// Nothing ran from before both pauses were over until now: what is held is decided by the one that ended last, as it
// would have been.
func TestOfTwoPausesThatEndedMeanwhileTheLastOneDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job, collection job.Promise
		dues            []string // that were held
	}{
		"that of the collection": {job.Promise{Until: at(-6), Recover: job.RecoverNone}, job.Promise{Until: at(-4), Recover: job.RecoverAll},
			[]string{"2025-12-31 23:51:00", "2025-12-31 23:52:00", "2025-12-31 23:53:00", "2025-12-31 23:54:00", "2025-12-31 23:55:00"}},
		"that of the job": {job.Promise{Until: at(-4), Recover: job.RecoverLatest}, job.Promise{Until: at(-6), Recover: job.RecoverAll},
			[]string{"2025-12-31 23:55:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"startTime":"2025-12-31T23:00:00Z",`+every(minutely+`,"catchUpWindow":"PT1H"`))
			w.next.Created, w.next.Decided = at(-10), at(-10)
			w.next.Definition.State, w.next.DisabledBy = job.StateDisabled, &job.Disabling{At: at(-9), Promise: c.job}
			w.next.CollectionDisabled, w.next.CollectionPause = true, &job.Disabling{At: at(-9), Promise: c.collection}
			w.next.Held = &job.Promise{Recover: c.job.Recover}
			w.run(30 * time.Second)
			require.Equal(t, append(c.dues, "2025-12-31 23:56:00", "2025-12-31 23:57:00", "2025-12-31 23:58:00", "2025-12-31 23:59:00", "00:00:00"), w.dues())
			w.requireSound()
		})
	}
}

func TestAJobThatWasCreatedDisabledCanBePaused(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely)+`,"state":"disabled"`)
	a := w.update(150*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Note: "move", Until: at(5), Recover: job.RecoverAll}))
	w.run(5*time.Minute + time.Second)
	require.Equal(t, "move", a.ok(t).DisabledBy.Note)
	require.Equal(t, minutes(3, 5), w.dues())
	w.requireSound()
}

func TestHowManyRunAtOnceCanBeChangedDuringAPause(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.takes(5 * time.Second)
	w.update(30*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Recover: job.RecoverAll}))
	w.update(60*time.Second, workflows.UpdateDisable, stateAs(job.Promise{Until: at(5).Add(-time.Second), AtOnce: 4}))
	w.run(5*time.Minute + time.Second)
	require.Equal(t, []string{"00:01:00 00:04:59", "00:02:00 00:04:59", "00:03:00 00:04:59", "00:04:00 00:04:59"}, w.starts()[1:])
	w.requireSound()
}

// Nothing ran from before the end of the pause until now, and a change is there before the job has looked at the time.
func TestAChangeThatComesAfterTheEndOfAPauseFindsItEnded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*jobEnv) *answer{
		"it is enabled": func(w *jobEnv) *answer { return w.update(2*time.Second, workflows.UpdateEnable) },
		"what was held is to run": func(w *jobEnv) *answer {
			return w.update(2*time.Second, workflows.UpdateEnable, stateAs(job.Promise{Recover: job.RecoverAll}))
		},
		"it is disabled": func(w *jobEnv) *answer { return w.update(2*time.Second, workflows.UpdateDisable) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"startTime":"2025-12-31T23:00:00Z",`+every(minutely+`,"catchUpWindow":"PT1H"`))
			w.next.Created, w.next.Decided, w.next.Registration = at(-10), at(-10), int(at(-10).UnixMicro())
			w.next.Definition.State = job.StateDisabled
			w.next.DisabledBy = &job.Disabling{At: at(-9), Promise: job.Promise{Until: at(-4)}}
			w.next.Held, w.confirms = new(job.Promise), 5*time.Second
			a := change(w)
			w.run(30 * time.Second)
			a.ok(t)
			require.Equal(t, "Skipped 5: 2025-12-31 23:51:00 to 2025-12-31 23:55:00", w.dropped()[0])
			if name == "it is disabled" {
				require.Equal(t, "Cancelled 5: 2025-12-31 23:56:00 to 00:00:00", w.dropped()[1])
				require.Contains(t, w.recorded.dropped[1].Why, job.WhyJobChanged)
				return
			}
			require.Len(t, w.dropped(), 1)
			require.Equal(t, minutes(0, 0), w.dues()[4:])
			require.Len(t, w.dues(), 5, "what came due after the pause runs")
			w.requireSound()
		})
	}
}
