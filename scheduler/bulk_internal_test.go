package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestABulkPauseLeavesDisabledJobsAlone(t *testing.T) {
	t.Parallel()
	pause := job.Promise{Until: time.Unix(1_800_000_000, 0), Recover: job.RecoverLatest}
	longer := pause
	longer.Until = pause.Until.Add(time.Hour)
	disabled := job.Definition{State: job.StateDisabled}
	for name, c := range map[string]struct {
		current job.Job
		is      bool
	}{
		"by somebody":       {job.Job{Definition: disabled, DisabledBy: &job.Disabling{By: "eve"}}, true},
		"with a note":       {job.Job{Definition: disabled, DisabledBy: &job.Disabling{Promise: job.Promise{Note: "why"}}}, true},
		"by whom is gone":   {job.Job{Definition: disabled}, true},
		"paused so":         {job.Job{Definition: disabled, DisabledBy: &job.Disabling{Promise: pause}}, true},
		"paused for longer": {job.Job{Definition: disabled, DisabledBy: &job.Disabling{Promise: longer}}, false},
		"enabled":           {job.Job{Definition: job.Definition{State: job.StateEnabled}}, false},
	} {
		require.Equal(t, c.is, isSo(&c.current, job.BulkDisable, &job.BulkJob{Promise: &pause}), name)
	}
}
