package calendar_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/calendar"
)

// A calendar warns of each horizon three times, and behind it not any more.
func TestACalendarWarnsBeforeItsHorizon(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	day := func(month time.Month, d int) time.Duration {
		return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC).Sub(start)
	}
	put := func(until string) workflows.PutCalendarRequest {
		return workflows.PutCalendarRequest{Calendar: job.Calendar{WeekendDays: []string{"sunday"}, CompleteUntil: until}}
	}
	for _, tt := range []struct {
		name  string
		until string
		puts  map[time.Duration]string
		want  []string
	}{
		{"far away", "2026-12-31", nil, []string{"2026-10-02 90", "2026-12-01 30", "2026-12-24 7"}},
		{"near", "2026-07-20", nil, []string{"2026-07-01 30", "2026-07-13 7"}},
		{"today", "2026-07-01", nil, []string{"2026-07-01 7"}},
		{"past", "2026-06-30", nil, nil},
		{"none", "", nil, nil},
		{"very far away", "9999-12-31", nil, nil},
		{"moved on before the second warning", "2026-12-31", map[time.Duration]string{day(11, 1): "2027-12-31"}, []string{"2026-10-02 90", "2027-10-02 90"}},
		{"changed without another horizon", "2026-12-31", map[time.Duration]string{day(10, 3): "2026-12-31"}, []string{"2026-10-02 90", "2026-12-01 30", "2026-12-24 7"}},
		{"given one later", "", map[time.Duration]string{day(12, 3): "2026-12-31"}, []string{"2026-12-03 30", "2026-12-24 7"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := newEnv()
			env.SetStartTime(start)
			confirms(env)
			env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, "", workflows.SignalRemoved, mock.Anything).Return(nil)
			var warned []string
			env.OnActivity(workflows.ActivityWarn, mock.Anything, mock.Anything).Return(func(_ context.Context, w workflows.HorizonWarning) (int, error) {
				warned = append(warned, env.Now().Format(time.DateOnly)+" "+map[int]string{90: "90", 30: "30", 7: "7"}[w.Days])
				return 1, nil
			})
			for at, until := range tt.puts {
				r := put(until)
				r.Calendar.Description = at.String()
				update(env, at, at.String(), workflows.UpdatePut, r)
			}
			update(env, day(12, 31)+300*24*time.Hour, "end", workflows.UpdateDelete, 0)
			in := kept()
			in.Calendar.CompleteUntil = tt.until
			env.ExecuteWorkflow(calendar.Workflow, in)
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, tt.want, warned)
		})
	}
}
