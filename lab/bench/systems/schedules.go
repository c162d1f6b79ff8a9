package systems

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/lab/receiver"
	"almanac/workflows"
)

// schedules are Temporal's own: each starts a workflow when it is due, and that workflow sends.
type schedules struct {
	temporal client.Client
	receiver *receiver.Receiver
}

const (
	typeScheduled = "BenchScheduled"

	// schedulerID is what Temporal puts before a schedule's ID to name the workflow behind it.
	schedulerID = "temporal-sys-scheduler:"
)

// scheduledStart is the attribute that holds the schedule's time that a workflow was started for.
var scheduledStart = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

func scheduled(ctx workflow.Context, id, url string) error {
	due, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(scheduledStart)
	if !ok {
		return errors.New("the workflow was not started by a schedule")
	}
	return send(ctx, id, url, due)
}

func (*schedules) Name() string { return Schedules }

func (s *schedules) Create(ctx context.Context, h Herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		id := h.ID(number)
		o := client.ScheduleOptions{ID: id, Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: typeScheduled, TaskQueue: workflows.TaskQueue,
			Args: []any{id, h.target(s.receiver, number)},
		}}
		if h.Backlog > 0 { // a backfill is how a schedule executes what it missed
			now := time.Now()
			o.Spec.Intervals = []client.ScheduleIntervalSpec{{Every: time.Minute}}
			o.ScheduleBackfill = []client.ScheduleBackfill{
				{Start: now.Add(-h.Backlog), End: now, Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL},
			}
			o.Paused = true // stops what comes due, but not the backfill
		} else {
			offset := time.Duration(h.First.Unix()) * time.Second % h.Every
			o.Spec.Intervals = []client.ScheduleIntervalSpec{{Every: h.Every, Offset: offset}}
			o.Spec.StartAt = h.First
		}
		_, err := s.temporal.ScheduleClient().Create(ctx, o)
		return err
	})
}

func (s *schedules) Remove(ctx context.Context, h Herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		return ignoreNotFound(s.temporal.ScheduleClient().GetHandle(ctx, h.ID(number)).Delete(ctx))
	})
}

func ignoreNotFound(err error) error {
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return nil
	}
	return err
}

// workflows returns the schedule's own workflow and those that it started.
func (*schedules) workflows(h Herd, number int, due []time.Time) []string {
	ids := []string{schedulerID + h.ID(number)}
	for _, t := range due {
		ids = append(ids, fmt.Sprintf("%s-%s", h.ID(number), t.Format(time.RFC3339)))
	}
	return ids
}
