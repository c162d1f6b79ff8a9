package overview

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/api/workflow/v1"

	"almanac/internal/wfclient"
	"almanac/job/listing"
)

const (
	// A forecast covers forecastFor, and is made every forecastEvery.
	forecastFor, forecastEvery = time.Hour, 15 * time.Minute
	// It reads forecastPage jobs at a time, and pauses for forecastPause after each page, or forecastRest times as long
	// as the page took: so it takes little from jobs that are due meanwhile, and the less, the busier the server is.
	forecastPage, forecastPause, forecastRest = 100, 100 * time.Millisecond, 4
)

// A Forecast is the fullest second of the next hour.
type Forecast struct {
	Second time.Time // the first one, of several that are as full; zero if nothing is due
	Due    int       // occurrences that come due in it
}

// KeepForecasting makes a forecast every 15 minutes until ctx ends, the first one at once, and calls show with each.
// One that fails is left out.
func (v *Overview) KeepForecasting(ctx context.Context, show func(Forecast)) {
	for {
		f, err := v.Forecast(ctx)
		switch {
		case err == nil:
			show(f)
		case ctx.Err() == nil:
			v.o.Log.DebugContext(ctx, "no forecast was made", slog.Any("error", err))
		}
		if wfclient.Sleep(ctx, forecastEvery) != nil {
			return
		}
	}
}

// Forecast returns the fullest second of the next hour, over the jobs of all subscriptions, by their timetables as
// Temporal's lists show them. Jobs that are disabled or whose collection is, and those with calendars or blackouts, are left out,
// occurrences beyond a job's count are not.
func (v *Overview) Forecast(ctx context.Context) (f Forecast, err error) {
	from := v.o.Now()
	due := map[time.Time]int{}
	count := func(id string, e *workflow.WorkflowExecutionInfo) {
		o := v.decode(id, e, nil)
		if o == nil || o.Disabled || o.Inactive || o.ByDays() {
			return
		}
		for at, ok := o.timetable.After(from); ok && at.Sub(from) <= forecastFor; at, ok = o.timetable.After(at) {
			due[at.Add(o.Delay).Truncate(time.Second)]++
		}
	}
	rest := func(took time.Duration) error { return wfclient.Sleep(ctx, max(forecastPause, forecastRest*took)) }
	if err := v.list(ctx, query(listing.Scope{}), forecastPage, rest, count); err != nil {
		return Forecast{}, err
	}
	for at, n := range due {
		if n > f.Due || n == f.Due && at.Before(f.Second) {
			f = Forecast{Second: at, Due: n}
		}
	}
	return f, nil
}
