package jobloop_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows"
)

func TestTheOutlineSaysSinceWhenAJobIsDisabledAndByAlmanacItself(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+noRetry+`},"recurrence":{`+minutely+`},"disableAfter":2`)
	w.failsAt(2, 3)
	w.update(10*time.Second, workflows.UpdateDisable)
	first := w.snapshot(20 * time.Second)
	w.update(30*time.Second, workflows.UpdateEnable)
	enabled := w.snapshot(40 * time.Second)
	halted := w.snapshot(10 * time.Minute)
	w.run(11 * time.Minute)
	require.Equal(t, &job.Disabling{At: newYear.Add(10 * time.Second)}, first.DisabledBy)
	require.Nil(t, enabled.DisabledBy)
	require.NotNil(t, halted.DisabledBy)
	require.Equal(t, audit.Itself, halted.DisabledBy.By)
	require.Equal(t, halted.DisabledBy, w.outlines[len(w.outlines)-1].DisabledBy)
	w.requireSound()
}

func TestTheOutlineHasTheRetryThatAnExecutionWaitsFor(t *testing.T) {
	t.Parallel()
	const slow = `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT10M","retryCount":4}`
	w := newJobEnv(t, `"action":{`+get+slow+`},"recurrence":{"frequency":"hour"}`)
	w.fails(func(s sentAttempt) bool { return s.at.Before(newYear.Add(5 * time.Minute)) })
	w.run(30 * time.Minute)
	with := slices.IndexFunc(w.outlines, func(o shownOutline) bool { return o.Retry != nil })
	require.GreaterOrEqual(t, with, 0, "%+v", w.outlines)
	require.Equal(t, 2, w.outlines[with].Retry.Attempt)
	require.Equal(t, 5, w.outlines[with].Retry.Max)
	require.WithinDuration(t, newYear.Add(10*time.Minute), w.outlines[with].Retry.Next, time.Second)
	require.Nil(t, w.outlines[len(w.outlines)-1].Retry)
	w.requireSound()
}
