package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
)

func TestWhyAJobHasNoOccurrenceLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties string
		started          int
		want             string
	}{
		{"it ran once, as it was to", `{"action":` + httpAction + `}`, 1,
			"The job was to run once, at 2026-01-10T12:00:00Z, which has passed."},
		{"its count is used up", `{"action":` + httpAction + `,"recurrence":{"frequency":"day","count":3,"endTime":"2026-01-09"}}`, 3, "The job's count, 3, is used up."},
		{"its end time was changed to one before its creation", `{"action":` + httpAction + `,"recurrence":{"frequency":"day","endTime":"2026-01-09"}}`, 2,
			"No occurrence is left at or before the job's endTime, 2026-01-09T00:00:00Z."},
		{"its end time was past when it was created", `{"action":` + httpAction + `,"recurrence":{"frequency":"day","endTime":"2026-01-09"}}`, 0,
			"The job never runs: its endTime, 2026-01-09T00:00:00Z, was past when it was created."},
		{"its end time came before its count was used up", `{"action":` + httpAction + `,"recurrence":{"frequency":"day","count":3,"endTime":"2026-01-11"}}`, 1,
			"No occurrence is left at or before the job's endTime, 2026-01-11T00:00:00Z."},
		{"it was changed to start in the past", `{"action":` + httpAction + `,"startTime":"2026-01-09"}`, 0,
			"The job was to run once, at 2026-01-09T00:00:00Z. That had passed when the job was changed, and a change runs nothing at once."},
		{"it was changed after its time, which was its creation", `{"action":` + httpAction + `}`, 0,
			"The job was to run once, at 2026-01-10T12:00:00Z. That had passed when the job was changed, and a change runs nothing at once."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := input.ParseDefinition([]byte(tt.properties), input.ParseOptions{Now: now})
			require.NoError(t, err)
			require.Equal(t, tt.want, d.WhyOver(now.Truncate(time.Second), tt.started))
		})
	}
}
