package jobloop_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// randomMinutes is the duration of a random job's life, and looked when its state is looked at.
const (
	randomMinutes = 12
	looked        = randomMinutes*time.Minute - 30*time.Second
)

// seeds is the number of random jobs. Set it higher after a change of the job's loop.
var seeds = flag.Uint64("seeds", 500, "number of random jobs")

// A randomJob is changed at random times around its due times.
type randomJob struct {
	*jobEnv
	versions []version
	states   []change // enabled or disabled
	rests    []change // of its collection
	killed   map[time.Time]bool
}

// A version is a definition of the job that calls its own path.
type version struct {
	path   string
	answer *answer
}

// A change of state takes effect at one time and was answered at another.
type change struct {
	on     bool
	at     time.Duration
	answer *answer
}

func newRandomJob(t *testing.T, random *rand.Rand) *randomJob {
	t.Helper()
	overlap := []job.OverlapPolicy{job.OverlapBufferOne, job.OverlapSkip, job.OverlapAllowAll}[random.IntN(3)]
	more := fmt.Sprintf(`,"overlapPolicy":%q`, overlap)
	if random.IntN(3) == 0 {
		more += `,"count":7`
	}
	properties := func(path, state string) string { return callsEvery(path, minutely+more) + `,"state":"` + state + `"` }
	l := &randomJob{jobEnv: newJobEnv(t, properties("/0", "enabled")), killed: map[time.Time]bool{}}
	l.next.Lead = 500 + random.IntN(20_000)
	hold := random.IntN(3) * random.IntN(100_000)
	l.nextHold = func(sentAttempt) int { return hold }
	l.took = func(int) time.Duration {
		return []time.Duration{0, 20 * time.Millisecond, 900 * time.Millisecond, 4 * time.Second, 70 * time.Second}[min(random.IntN(9), random.IntN(9))%5]
	}
	l.workerFate = func(s sentAttempt) workerFate {
		fate := []workerFate{sent, sent, sent, pausedFenced, released, killedHeld, killedFenced, killedSent}[random.IntN(8)]
		if fate == killedFenced || fate == killedSent {
			l.killed[s.Execution.Due] = true
		}
		return fate
	}
	if random.IntN(3) == 0 {
		l.suggest = time.Duration(1+random.IntN(300)) * time.Second
	}
	if random.IntN(3) == 0 {
		l.queued = time.Duration(random.IntN(2000)) * time.Millisecond
	}
	if random.IntN(2) == 0 {
		l.fences = []time.Duration{2 * time.Second, 6 * time.Second, 30 * time.Second}[random.IntN(3)]
		l.releasing = []time.Duration{0, 10 * time.Millisecond, time.Second, 2500 * time.Millisecond}[random.IntN(4)]
	}
	l.lookFails = random.IntN(4) * random.IntN(2)
	l.lookTakes = time.Duration(random.IntN(3)) * 100 * time.Millisecond
	l.states, l.rests = []change{{on: true}}, []change{{on: true}}
	l.changeAround(random, properties)
	return l
}

// changeAround plans changes, most of them close to a due time.
func (l *randomJob) changeAround(random *rand.Rand, properties func(path, state string) string) {
	var instants []time.Duration
	for range 4 + random.IntN(12) {
		close := time.Duration(1+random.IntN(4000)-3000) * time.Millisecond
		if random.IntN(3) == 0 {
			close *= 7
		}
		instants = append(instants, time.Duration(1+random.IntN(randomMinutes-2))*time.Minute+close+time.Microsecond)
	}
	slices.Sort(instants)
	state, rest := "enabled", false
	for _, at := range slices.Compact(instants) {
		switch random.IntN(8) {
		case 0, 1:
			path := fmt.Sprintf("/%d", len(l.versions)+1)
			l.versions = append(l.versions, version{path, l.replace(at, properties(path, state))})
		case 2, 3:
			name := workflows.UpdateDisable
			if state == "disabled" {
				name = workflows.UpdateEnable
			}
			state = map[string]string{"enabled": "disabled", "disabled": "enabled"}[state]
			l.states = append(l.states, change{state == "enabled", at, l.update(at, name)})
		case 4:
			rest = !rest
			l.rests = append(l.rests, change{!rest, at, l.update(at, workflows.UpdateCollection, collectionIs(!rest))})
		case 5:
			l.update(at, workflows.UpdateRun)
		case 6:
			request := job.SkipRequest{}
			if random.IntN(3) == 0 {
				request.From = newYear.Add(at).Truncate(time.Minute)
				request.Until = request.From.Add(time.Duration(1+random.IntN(4)) * time.Minute)
			}
			l.update(at, workflows.UpdateSkip, request)
		case 7:
			l.update(at, workflows.UpdateUnskip, job.SkipRequest{Next: 1 + random.IntN(2)})
		}
	}
}

// manual reports whether the execution is a manual run, which is never due at a whole second.
func (s *sentAttempt) manual() bool { return s.Execution.Due.Nanosecond() != 0 }

// requireChangesApplied requires that no replaced version sends anything, and that nothing due while the job
// or its collection is disabled is sent.
func (l *randomJob) requireChangesApplied() {
	l.t.Helper()
	for _, s := range l.sent {
		at := s.at.Sub(newYear)
		var number int
		_, err := fmt.Sscanf(s.Action.Request.URI, "http://127.0.0.1/%d", &number)
		require.NoError(l.t, err)
		for i, v := range l.versions {
			if v.answer.err == nil && v.answer.completed && at > v.answer.at {
				require.GreaterOrEqual(l.t, number, i+1, "sent at %s, %s was answered at %s", at, v.path, v.answer.at)
			}
		}
		for _, changes := range [][]change{l.states, l.rests} {
			for i, c := range changes {
				if s.manual() || c.on || !c.answer.completed || c.answer.err != nil || at <= c.answer.at {
					continue
				}
				if i+1 == len(changes) || at < changes[i+1].at {
					require.Failf(l.t, "sent while disabled", "at %s, due %s, disabled at %s", at, clock(s.Execution.Due), c.at)
				}
			}
		}
	}
}

// requireSkipped requires that what is recorded as skipped is recorded once, and is not sent.
func (l *randomJob) requireSkipped() {
	l.t.Helper()
	skipped := map[time.Time]bool{}
	for _, d := range l.recorded.dropped {
		if d.Why == "a request skipped it" {
			for _, due := range d.Newest {
				require.False(l.t, skipped[due.UTC()], "%s is recorded twice", clock(due))
				skipped[due.UTC()] = true
			}
		}
	}
	for _, s := range l.sent {
		require.False(l.t, skipped[s.Execution.Due.UTC()] && !s.manual(), "%s was skipped and sent", clock(s.Execution.Due))
	}
}

// on reports whether the state is certainly enabled at a given time: its last change was answered, and
// no other was requested.
func on(changes []change, at time.Duration) bool {
	for _, c := range slices.Backward(changes) {
		if c.at <= at {
			return c.on && (c.answer == nil || c.answer.at <= at)
		}
	}
	return false
}

// requireNothingLost requires that every occurrence due while the job is enabled was sent, recorded as
// dropped, lost in a worker crash, or is the last one, which may not have been sent yet.
func (l *randomJob) requireNothingLost(end *job.Job) {
	l.t.Helper()
	told := map[time.Time]bool{}
	if last := end.Status.LastExecutionTime; last != nil {
		told[last.UTC()] = true
	}
	occurrences := 0
	for _, s := range l.executions() {
		told[s.Execution.Due.UTC()] = true
		if !s.manual() {
			occurrences++
		}
	}
	for _, d := range l.recorded.dropped {
		for _, due := range d.Newest {
			if !told[due.UTC()] && mayHaveRun(&d) {
				occurrences++
			}
			told[due.UTC()] = true
		}
	}
	limit := end.Definition.Recurrence.Count
	if limit > 0 {
		require.LessOrEqual(l.t, occurrences, limit)
		if occurrences+len(l.killed) >= limit {
			return
		}
	}
	require.False(l.t, end.Definition.State.Final(), "it is not at its end")
	for minute := range randomMinutes {
		due := time.Duration(minute) * time.Minute
		at := newYear.Add(due)
		if next := end.Status.NextExecutionTime; next != nil && !at.Before(next.Time) {
			break // waits for the one before
		}
		if on(l.states, due) && on(l.rests, due) && !l.killed[at] {
			require.True(l.t, told[at], "%s is lost", clock(at))
		}
	}
}

// requireCounted requires that each execution is counted once, and the last one perhaps before it is sent.
func (l *randomJob) requireCounted(end *job.Job) {
	l.t.Helper()
	ids, sent, underway := map[string]bool{}, map[time.Time]bool{}, 0
	for _, s := range l.sent {
		if s.at.Sub(newYear) < looked {
			ids[s.Execution.ID], sent[s.Execution.Due.UTC()] = true, true
		}
	}
	if last := end.Status.LastExecutionTime; last != nil && !sent[last.UTC()] {
		underway = 1
	}
	require.GreaterOrEqual(l.t, end.Status.ExecutionCount, len(ids))
	require.LessOrEqual(l.t, end.Status.ExecutionCount, len(ids)+len(l.killed)+underway)
}

func TestRandomChangesAroundDueTimesLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	for seed := range *seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			l := newRandomJob(t, rand.New(rand.NewPCG(seed, 0)))
			last := l.snapshot(looked)
			l.run(looked + time.Second)
			end := new(last.At(newYear.Add(looked)))
			l.requireSound()
			l.requireOutlined()
			l.requireChangesApplied()
			l.requireSkipped()
			l.requireNothingLost(end)
			l.requireCounted(end)
		})
	}
}
