package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOverlap(t *testing.T) {
	t.Parallel()
	// The first execution takes first, the others 5 seconds.
	long := func(first time.Duration) func(int) time.Duration {
		return func(n int) time.Duration {
			if n == 1 {
				return first
			}
			return 5 * time.Second
		}
	}
	for _, tt := range []struct {
		name, recurrence string
		first, until     time.Duration
		want, dropped    []string
	}{
		{"BufferOne, the default, lets one wait that runs right after", ``, 90 * time.Second, 200 * time.Second,
			[]string{"00:00:00 00:00:00", "00:01:00 00:01:30", "00:02:00 00:02:00", "00:03:00 00:03:00"}, []string{}},
		{"BufferOne records the others as missed", `,"overlapPolicy":"BufferOne"`, 210 * time.Second, 270 * time.Second,
			[]string{"00:00:00 00:00:00", "00:01:00 00:03:30", "00:04:00 00:04:00"}, []string{"Missed 2: 00:02:00 to 00:03:00"}},
		{"Skip runs none of them", `,"overlapPolicy":"Skip"`, 150 * time.Second, 270 * time.Second,
			[]string{"00:00:00 00:00:00", "00:03:00 00:03:00", "00:04:00 00:04:00"}, []string{"Skipped 2: 00:01:00 to 00:02:00"}},
		{"Skip does nothing to an execution that ends in time", `,"overlapPolicy":"Skip"`, 59 * time.Second, 150 * time.Second,
			[]string{"00:00:00 00:00:00", "00:01:00 00:01:00", "00:02:00 00:02:00"}, []string{}},
		{"AllowAll runs all at their times", `,"overlapPolicy":"AllowAll"`, 210 * time.Second, 270 * time.Second,
			[]string{"00:00:00 00:00:00", "00:01:00 00:01:00", "00:02:00 00:02:00", "00:03:00 00:03:00", "00:04:00 00:04:00"}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(`"frequency":"minute"`+tt.recurrence))
			w.took = long(tt.first)
			w.run(tt.until)
			require.Equal(t, tt.want, w.starts())
			require.Equal(t, tt.dropped, w.dropped())
			w.requireSound()
		})
	}
}

func TestAnOccurrenceThatWaitsForARetryCountsAsRunning(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+twoRetries+`},"recurrence":{"frequency":"minute","overlapPolicy":"Skip"}`)
	w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 1 })
	w.run(4*time.Minute + 30*time.Second)
	require.Equal(t, []string{
		"00:00:00 MainAction#1", "00:01:00 MainAction#2", "00:02:00 MainAction#3", "00:03:00 MainAction#1", "00:04:00 MainAction#1",
	}, w.lines())
	require.Equal(t, []string{"Skipped 2: 00:01:00 to 00:02:00"}, w.dropped())
}

// The worker of the first execution crashes after it recorded the outcome. 30 s later another worker reports it.
func TestAnExecutionCountsAsRunningUntilItsLastAttemptEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, overlap string
		first         time.Duration
		want, dropped []string
	}{
		{"so what came due after that is not skipped", "Skip", 45 * time.Second, []string{"00:00:00 00:00:00", "00:01:00 00:01:15", "00:02:00 00:02:00"}, []string{}},
		{"what came due before that is", "Skip", 61 * time.Second, []string{"00:00:00 00:00:00", "00:02:00 00:02:00"}, []string{"Skipped 1: 00:01:00 to 00:01:00"}},
		{"and BufferOne treats what came due after that as late", "BufferOne", 95 * time.Second,
			[]string{"00:00:00 00:00:00", "00:01:00 00:02:05", "00:02:00 00:02:10"}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(`"frequency":"minute","overlapPolicy":"`+tt.overlap+`"`))
			w.workerFate = fates(0, killedUnreported)
			w.took = func(n int) time.Duration {
				if n == 1 {
					return tt.first
				}
				return 5 * time.Second
			}
			w.run(150 * time.Second)
			require.Equal(t, tt.want, w.starts())
			require.Equal(t, tt.dropped, w.dropped())
			w.requireSound()
		})
	}
}

// No worker has run since the job was created.
func TestOccurrencesThatCameDueWhileNothingCouldRunThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties string
		away             time.Duration
		want, dropped    []string // due and start time of each execution in the next 90 s, and the dropped ones
	}{
		{"one occurrence runs as soon as it can", every(`"frequency":"hour"`), 10 * time.Minute,
			[]string{"00:00:00 00:10:00"}, []string{}},
		{"a job that runs once runs as soon as it can", once + `,"startTime":"2026-01-01T00:00:30Z"`, 10 * time.Minute,
			[]string{"00:00:30 00:10:00"}, []string{}},
		{"without a window only the latest runs", every(`"frequency":"minute"`), 5*time.Minute + 30*time.Second,
			[]string{"00:05:00 00:05:30", "00:06:00 00:06:00", "00:07:00 00:07:00"}, []string{"Missed 5: 00:00:00 to 00:04:00"}},
		{"without a window the one due right now is the latest", every(`"frequency":"minute","catchUpWindow":"PT0S"`), 5 * time.Minute,
			[]string{"00:05:00 00:05:00", "00:06:00 00:06:00"}, []string{"Missed 5: 00:00:00 to 00:04:00"}},
		{"those within the window run one after another, oldest first", every(`"frequency":"minute","catchUpWindow":"PT3M"`), 5*time.Minute + 30*time.Second,
			[]string{"00:03:00 00:05:30", "00:04:00 00:05:35", "00:05:00 00:05:40", "00:06:00 00:06:00", "00:07:00 00:07:00"},
			[]string{"Missed 3: 00:00:00 to 00:02:00"}},
		{"the window's first instant is within it", every(`"frequency":"minute","catchUpWindow":"PT3M"`), 5 * time.Minute,
			[]string{"00:02:00 00:05:00", "00:03:00 00:05:05", "00:04:00 00:05:10", "00:05:00 00:05:15", "00:06:00 00:06:00"},
			[]string{"Missed 2: 00:00:00 to 00:01:00"}},
		{"a window longer than the absence misses none", every(`"frequency":"minute","catchUpWindow":"P1D"`), 2*time.Minute + 30*time.Second,
			[]string{"00:00:00 00:02:30", "00:01:00 00:02:35", "00:02:00 00:02:40", "00:03:00 00:03:00", "00:04:00 00:04:00"}, []string{}},
		{"the latest runs where the window holds none", every(`"frequency":"hour","catchUpWindow":"PT10M"`), 150 * time.Minute,
			[]string{"02:00:00 02:30:00"}, []string{"Missed 2: 00:00:00 to 01:00:00"}},
		{"missed occurrences do not use up count", every(`"frequency":"minute","count":2`), 5*time.Minute + 30*time.Second,
			[]string{"00:05:00 00:05:30", "00:06:00 00:06:00"}, []string{"Missed 5: 00:00:00 to 00:04:00"}},
		{"the latest runs where count leaves one", every(`"frequency":"minute","count":1`), 5*time.Minute + 30*time.Second,
			[]string{"00:05:00 00:05:30"}, []string{"Missed 5: 00:00:00 to 00:04:00"}},
		{"count ends catching up", every(`"frequency":"minute","count":2,"catchUpWindow":"PT3M"`), 5*time.Minute + 30*time.Second,
			[]string{"00:03:00 00:05:30", "00:04:00 00:05:35"}, []string{"Missed 3: 00:00:00 to 00:02:00"}},
		{"an end time that passed meanwhile still leaves the last one", every(`"frequency":"minute","endTime":"2026-01-01T00:02:30Z"`), time.Hour,
			[]string{"00:02:00 01:00:00"}, []string{"Missed 2: 00:00:00 to 00:01:00"}},
		{"Skip lets those within the window run too", every(`"frequency":"minute","catchUpWindow":"PT2M","overlapPolicy":"Skip"`), 5*time.Minute + 30*time.Second,
			[]string{"00:04:00 00:05:30", "00:05:00 00:05:35", "00:06:00 00:06:00", "00:07:00 00:07:00"},
			[]string{"Missed 4: 00:00:00 to 00:03:00"}},
		{"AllowAll runs those within the window one after another too", every(`"frequency":"minute","catchUpWindow":"PT3M","overlapPolicy":"AllowAll"`), 5*time.Minute + 30*time.Second,
			[]string{"00:03:00 00:05:30", "00:04:00 00:05:35", "00:05:00 00:05:40", "00:06:00 00:06:00", "00:07:00 00:07:00"},
			[]string{"Missed 3: 00:00:00 to 00:02:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, tt.properties)
			w.now = newYear.Add(tt.away)
			w.takes(5 * time.Second)
			w.run(tt.away + 91*time.Second)
			require.Equal(t, tt.want, w.starts())
			require.Equal(t, tt.dropped, w.dropped())
			w.requireSound()
		})
	}
}

func TestOccurrencesMissedInYearsAreAllCounted(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"minute"`))
	away := 3*365*24*time.Hour + 30*time.Second
	w.now = newYear.Add(away)
	w.run(away + time.Minute)
	require.Equal(t, []string{"2028-12-31 00:00:00", "2028-12-31 00:01:00"}, w.dues())
	require.Equal(t, 3*365*24*60, w.missed())
	steps := w.recorded.dropped
	require.Greater(t, len(steps), 50)
	for _, d := range steps {
		require.LessOrEqual(t, len(d.Newest), 50, "what is recorded is bounded")
	}
	late := w.sent[0].at.Sub(newYear.Add(away))
	require.Equal(t, time.Duration(len(steps)-1)*time.Millisecond, late, "each step is a workflow task of its own, a millisecond after the one before")
}

func TestAnOccurrenceThatAChangeRemovedIsNotMissed(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"day","schedule":{"hours":[0],"minutes":[2,3,4]}`))
	w.next.Plan.Due = w.next.Plan.Due[1:] // as if enabled in the second of its creation
	w.now = newYear.Add(5 * time.Minute)
	w.run(10 * time.Minute)
	require.Equal(t, []string{"00:04:00 00:05:00"}, w.starts())
	require.Equal(t, []string{"Missed 2: 00:02:00 to 00:03:00"}, w.dropped())
}

func TestAnOccurrenceThatAChangeRemovedIsNotSkipped(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"day","schedule":{"hours":[0],"minutes":[2,3,4]},"overlapPolicy":"Skip"`))
	w.next.Plan.Due = w.next.Plan.Due[1:]
	w.next.BusyUntil = newYear.Add(3*time.Minute + 30*time.Second) // as after a long run
	w.now = newYear.Add(210 * time.Second)
	w.run(10 * time.Minute)
	require.Equal(t, []string{"00:04:00 00:04:00"}, w.starts())
	require.Equal(t, []string{"Skipped 2: 00:02:00 to 00:03:00"}, w.dropped())
}

func TestOccurrencesThatComeDueWhileOthersAreCaughtUpFollowTheOverlapPolicy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy        string
		want, dropped []string
	}{
		{"BufferOne", []string{"00:02:00 00:02:00", "00:03:00 00:03:30"}, []string{"Missed 2: 00:00:00 to 00:01:00"}},
		{"Skip", []string{"00:02:00 00:02:00", "00:04:00 00:04:00"}, []string{"Missed 2: 00:00:00 to 00:01:00", "Skipped 1: 00:03:00 to 00:03:00"}},
		{"AllowAll", []string{"00:02:00 00:02:00", "00:03:00 00:03:00", "00:04:00 00:04:00"}, []string{"Missed 2: 00:00:00 to 00:01:00"}},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(`"frequency":"minute","overlapPolicy":"`+tt.policy+`"`))
			w.now = newYear.Add(2 * time.Minute)
			w.takes(90 * time.Second)
			w.run(4*time.Minute + 30*time.Second)
			require.Equal(t, tt.want, w.starts())
			require.Equal(t, tt.dropped, w.dropped())
			w.requireSound()
		})
	}
}

// The execution at 00:00 failed and is tried again after an hour. Nothing runs from 00:00:30 to 00:04:10.
func TestAllowAllRunsBesideARetryThatWaitsAfterADowntime(t *testing.T) {
	t.Parallel()
	w := newLeadEnv(t, `"action":{`+get+`,"retryPolicy":{"retryType":"fixed","retryInterval":"PT1H","retryCount":2}},"recurrence":{`+minutely+`,"overlapPolicy":"AllowAll"}`)
	w.fails(func(s sentAttempt) bool { return s.Execution.Repeat == 1 })
	w.workerFate = fates(time.Minute, killedHeld)
	w.downUntil = newYear.Add(4*time.Minute + 10*time.Second)
	w.run(8*time.Minute + 30*time.Second)
	require.Equal(t, []string{"00:00:00 00:00:00", "00:04:00 00:04:10", "00:05:00 00:05:00", "00:06:00 00:06:00", "00:07:00 00:07:00", "00:08:00 00:08:00"}, w.starts())
}

// Executions take 90 s. Nothing runs before 00:05:30, so those due until then run one after the other.
func TestAllowAllIsOnTimeAgainWhenAllAreCaughtUp(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"minute","catchUpWindow":"PT10M","overlapPolicy":"AllowAll"`))
	w.now = newYear.Add(5*time.Minute + 30*time.Second)
	w.takes(90 * time.Second)
	w.run(30 * time.Minute)
	require.Empty(t, w.dropped())
	require.Equal(t, "00:05:00 00:13:00", w.starts()[5], "the last one that is caught up")
	onTime := newYear.Add(14 * time.Minute)
	for _, s := range w.executions() {
		if !s.Execution.Due.Before(onTime) {
			require.Equal(t, s.Execution.Due, s.at)
		}
	}
	require.Equal(t, "00:29:00 00:29:00", w.starts()[29])
}
