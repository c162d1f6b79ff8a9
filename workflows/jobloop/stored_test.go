package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// fifthTuesday is the fifth Tuesday of a February, which only leap years have, every 17 months from September 2026:
// 2028-02-29, and then 2980-02-29.
const fifthTuesday = `"action":{` + get + `},"startTime":"2026-09-01T00:00:00Z",` +
	`"recurrence":{"frequency":"month","interval":17,"schedule":{"months":[2],"monthlyOccurrences":[{"day":"Tuesday","occurrence":5}]}}`

// The rules for accepting a schedule refuse one that is not due within 100 years.
func TestAScheduleThatWasAcceptedIsPlannedThoughItIsNextDueInCenturies(t *testing.T) {
	t.Parallel()
	due := time.Date(2028, time.February, 29, 0, 0, 0, 0, time.UTC).Sub(newYear)
	w := newJobEnv(t, fifthTuesday)
	w.update(due+24*time.Hour, workflows.UpdateRun)
	manual := w.snapshot(due + 24*time.Hour + time.Millisecond)
	w.update(due+25*time.Hour, workflows.UpdateDisable)
	enabled := w.update(due+26*time.Hour, workflows.UpdateEnable)
	skipped := w.update(due+27*time.Hour, workflows.UpdateSkip, time.Time{})
	w.run(due + 5*365*24*time.Hour)
	require.Len(t, w.dues(), 2)
	next := job.NewTime(time.Date(2980, time.February, 29, 0, 0, 0, 0, time.UTC))
	require.Equal(t, next, manual.Status.NextExecutionTime)
	require.Equal(t, next, enabled.ok(t).Status.NextExecutionTime)
	require.Equal(t, 3048, skipped.ok(t).Status.NextExecutionTime.Year())
	require.Len(t, w.runs, 1)
	w.requireSound()
}

func TestAStoredDefinitionIsPlannedByWhatItSaysThoughItWouldBeRefusedNow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		alter func(*job.Definition)
		want  []string
	}{
		{"a start that is too far away", func(d *job.Definition) { d.StartTime = job.NewTime(newYear.AddDate(3, 0, 0)) },
			[]string{"2029-01-01 00:00:00", "2030-02-05 00:00:00"}},
		{"an interval that is too long", func(d *job.Definition) { d.Recurrence.Interval = 600 },
			[]string{"2026-01-01 00:00:00", "2027-08-24 00:00:00", "2029-04-15 00:00:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(`"frequency":"day","interval":400`)+`,"startTime":"2026-01-01T00:00:00Z"`)
			w.next.Plan.Due, w.next.Plan.Done = nil, false
			tt.alter(&w.next.Definition)
			w.run(time.Date(2030, time.March, 1, 0, 0, 0, 0, time.UTC).Sub(newYear))
			var dues []string
			for _, s := range w.executions() {
				dues = append(dues, s.Execution.Due.Format(time.DateTime))
			}
			require.Equal(t, tt.want, dues)
		})
	}
}
