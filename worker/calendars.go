package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/calendarcache"
	"almanac/internal/calendarusers"
	"almanac/internal/wfclient"
	"almanac/workflows"
	"almanac/workflows/jobloop"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// calendarReader returns what reads calendars for the plans of this worker's jobs.
func calendarReader(c client.Client) jobloop.CalendarReader {
	var once sync.Once
	var reader *calendarcache.Reader
	return func(ctx context.Context, r *plan.Request) (*plan.Calendars, error) {
		once.Do(func() { reader = calendarcache.New(wfclient.NewQueries(c, activity.GetInfo(ctx).Namespace)) })
		return reader.For(ctx, r)
	}
}

// A job that is due within dueSoon is told of a changed calendar before others, each of which is told tellPause after
// the one before: each plans again.
const (
	dueSoon   = 10 * time.Minute
	tellPause = 5 * time.Millisecond
)

// A teller tells jobs that a calendar has changed.
type teller struct {
	client    client.Client
	converter converter.DataConverter
	now       func() time.Time
}

func newTeller(o *Options) *teller {
	t := &teller{
		client: o.Client.Client, converter: cmp.Or(o.Converter, converter.GetDefaultDataConverter()), now: time.Now,
	}
	if o.Now != nil {
		t.now = o.Now
	}
	return t
}

// Tell is the activity that tells the jobs that use a calendar that it has changed, those that are due soonest first. It
// returns how many. A job that knows already does nothing.
func (t *teller) Tell(ctx context.Context, c workflows.CalendarChange) (told int, err error) {
	users, err := calendarusers.Of(ctx, t.client, t.converter, c.Key)
	if err != nil {
		return 0, err
	}
	now := t.now()
	next := map[string]time.Time{}
	for i := range users {
		at, ok := users[i].Next(now)
		if !ok {
			at = now.AddDate(1000, 0, 0)
		}
		next[users[i].WorkflowID] = at
	}
	slices.SortFunc(users, func(a, b calendarusers.User) int {
		return next[a.WorkflowID].Compare(next[b.WorkflowID])
	})
	var failed error
	for i := range users {
		u := &users[i]
		if err := t.tell(ctx, u, c); err != nil && !wfclient.IsNotFound(err) {
			failed = errors.Join(failed, err)
			if ctx.Err() != nil {
				return told, ctx.Err()
			}
		} else {
			told++
		}
		activity.RecordHeartbeat(ctx, told)
		if next[u.WorkflowID].Sub(now) > dueSoon {
			if err := wfclient.Sleep(ctx, tellPause); err != nil {
				return told, err
			}
		}
	}
	return told, failed
}

// tell tells a job. One whose start is delayed begins, as with [zones.ask].
func (t *teller) tell(ctx context.Context, u *calendarusers.User, c workflows.CalendarChange) error {
	if !u.Delayed {
		return t.client.SignalWorkflow(ctx, u.WorkflowID, "", workflows.SignalCalendar, c)
	}
	_, err := t.client.SignalWithStartWorkflow(ctx, u.WorkflowID, workflows.SignalCalendar, c, client.StartWorkflowOptions{
		ID: u.WorkflowID, TaskQueue: workflows.TaskQueue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflows.TypeJob, state.Input{}) // it starts none: a workflow with this input would end at once
	return err
}
