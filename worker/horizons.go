package worker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.temporal.io/sdk/activity"

	"almanac/internal/calendarcache"
	"almanac/internal/calendarusers"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
)

// A warner raises alerts of calendars whose days are known for few days more.
type warner struct {
	*teller

	once    sync.Once
	queries *wfclient.Queries
	reader  *calendarcache.Reader
}

// Warn is the activity that raises an alert of each job collection whose jobs use a calendar. It returns how many
// collections these are. An alert that is raised again, since the activity is, has the same ID.
func (w *warner) Warn(ctx context.Context, h workflows.HorizonWarning) (warned int, err error) {
	w.once.Do(func() {
		w.queries = wfclient.NewQueries(w.client, activity.GetInfo(ctx).Namespace)
		w.reader = calendarcache.New(w.queries)
	})
	users, err := calendarusers.Of(ctx, w.client, w.converter, h.Key)
	if err != nil {
		return 0, err
	}
	jobs := map[job.CollectionKey]int{}
	for i := range users {
		jobs[users[i].Key.Collection]++
	}
	byID := func(a, b job.CollectionKey) int { return cmp.Compare(a.ARMID(), b.ARMID()) }
	for _, k := range slices.SortedFunc(maps.Keys(jobs), byID) {
		uses, err := w.uses(ctx, k, &h)
		if err == nil && uses {
			err = w.raise(ctx, k, &h, jobs[k])
			warned++
		}
		if err != nil {
			return warned, fmt.Errorf("%s: %w", k.ARMID(), err)
		}
		activity.RecordHeartbeat(ctx, warned)
	}
	return warned, nil
}

// uses reports whether the calendar is meant by jobs of a collection that name it: one of the collection takes the place
// of one of the subscription.
func (w *warner) uses(ctx context.Context, k job.CollectionKey, h *workflows.HorizonWarning) (bool, error) {
	found, err := w.reader.Read(ctx, k, []string{h.Key.Name})
	if job.KindOf(err) == job.KindNotFound {
		return false, nil
	}
	return err == nil && found[0].Key.WorkflowID() == h.Key.WorkflowID(), err
}

// raise raises the alert of a collection by its notifications; none if they do not have the event.
func (w *warner) raise(ctx context.Context, k job.CollectionKey, h *workflows.HorizonWarning, jobs int) error {
	var c job.Collection
	err := w.queries.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, &c)
	if wfclient.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	keys := notification.On(notification.Rules(c.Properties.Notifications), job.EventHorizon)
	if len(keys) == 0 {
		return nil
	}
	now, left := w.now().UTC(), h.Days
	known := job.Calendar{CompleteUntil: h.Horizon}
	if s := known.Status(now); s != nil {
		left = s.DaysLeft
	}
	a := notification.Alert{Event: job.EventHorizon, Job: c.Key.Job(""), Time: now}
	a.Identify("", fmt.Sprintf("%s %d %s %d", h.Key.ARMID(), h.Registration, h.Horizon, h.Days))
	a.Describe(h.Key.HorizonText(h.Horizon, left, jobs))
	return sendAlerts(ctx, w.client, notification.Shard{Collection: c.Key}, []notification.Raised{{Alert: a, Inherit: keys}})
}
