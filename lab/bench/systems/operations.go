package systems

import (
	"context"
	"net/http"
	"time"

	"almanac/job"
)

// AtMinutes returns the schedule of jobs that are due every hour at so many minutes in a row, from the one of a time on.
func AtMinutes(first time.Time, minutes int) Object {
	var list []int
	for i := range minutes {
		list = append(list, first.Add(time.Duration(i)*time.Minute).Minute())
	}
	return Object{"recurrence": Object{"frequency": "hour", "schedule": Object{"minutes": list}}}
}

// Pause disables the jobs of a herd, or their collection, as the query says.
func (a *AlmanacAPI) Pause(ctx context.Context, h Herd, together bool, query string) error {
	if together {
		return a.Call(ctx, http.MethodPost, h.Path()+"/disable"+query, nil, nil)
	}
	return h.each(ctx, func(ctx context.Context, number int) error {
		return retryUnavailable(ctx, time.Minute, func() error {
			return a.Call(ctx, http.MethodPost, h.JobPath(number)+"/disable"+query, nil, nil)
		})
	})
}

// Backfill begins a backfill of the first job of a herd.
func (a *AlmanacAPI) Backfill(ctx context.Context, h Herd, query string) error {
	return a.Call(ctx, http.MethodPost, h.JobPath(0)+"/backfill"+query, nil, nil)
}

// ChangeBackfill pauses or resumes a backfill of the first job of a herd.
func (a *AlmanacAPI) ChangeBackfill(ctx context.Context, h Herd, name, action string) error {
	return a.Call(ctx, http.MethodPost, h.JobPath(0)+"/backfills/"+name+"?action="+action, nil, nil)
}

// BackfillLeft returns how many occurrences are left of the newest backfill of the first job of a herd; 0 if there is
// none.
func (a *AlmanacAPI) BackfillLeft(ctx context.Context, h Herd) (int, error) {
	var all struct {
		Value []struct{ Properties struct{ Left int } }
	}
	err := a.Call(ctx, http.MethodGet, h.JobPath(0)+"/backfills", nil, &all)
	if err != nil || len(all.Value) == 0 {
		return 0, err
	}
	return all.Value[0].Properties.Left, nil
}

// Starts returns when jobs with a flexible window start, after they are due.
func Starts(collection string, jobs int, name func(int) string, window time.Duration) (starts []time.Duration) {
	key := job.CollectionKey{Subscription: defaultSubscription, ResourceGroup: defaultResourceGroup, Name: collection}
	for i := range jobs {
		starts = append(starts, job.Spread(key.Job(name(i)), window))
	}
	return starts
}
