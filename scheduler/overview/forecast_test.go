package overview_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/scheduler/overview"
)

func TestAForecastHasTheFullestSecondOfTheNextHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it pauses between its pages
		w := newTown(t)
		add := func(n int, name string, o job.Outline) {
			o.Created = at("2026-01-01T00:00:00Z")
			for i := range n {
				w.outline(w.add("c", fmt.Sprint(name, i), nil), o, noon)
			}
		}
		repeated := func(r job.Recurrence, start string) job.Outline {
			return job.Outline{Recurrence: &r, StartTime: job.NewTime(at(start))}
		}
		forecast := func() overview.Forecast {
			f, err := w.overview(noon).Forecast(t.Context())
			require.NoError(t, err)
			return f
		}
		require.Zero(t, forecast())

		add(30, "quarter", repeated(minutes(15), "2026-03-01T12:00:00Z")) // noon itself is past
		require.Equal(t, overview.Forecast{Second: noon.Add(15 * time.Minute), Due: 30}, forecast(), "the first of four")

		add(20, "half", repeated(minutes(30), "2026-03-01T12:00:00Z"))
		add(45, "once", job.Outline{StartTime: job.NewTime(noon.Add(7 * time.Second))})
		add(999, "later", job.Outline{StartTime: job.NewTime(noon.Add(time.Hour + time.Second))})
		skipped := job.Outline{StartTime: job.NewTime(noon.Add(7 * time.Second)), Skips: []time.Time{noon.Add(7 * time.Second)}}
		add(99, "skipped", skipped)
		add(99, "disabled", job.Outline{StartTime: skipped.StartTime, Disabled: true})
		add(99, "resting", job.Outline{StartTime: skipped.StartTime, Inactive: true})
		w.add("c", "unreadable", nil)
		require.Equal(t, overview.Forecast{Second: noon.Add(30 * time.Minute), Due: 50}, forecast())

		w.unlist = true
		_, err := w.overview(noon).Forecast(t.Context())
		require.Error(t, err)
		require.Zero(t, w.queried.Load(), "no job is asked")
	})
}
