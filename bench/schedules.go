package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/workflows"
)

// schedules are Temporal's own: each starts a workflow when it is due, and the
// workflow sends.
type schedules struct {
	temporal client.Client
	sink     *sink
}

const (
	typeScheduled = "BenchScheduled"

	// schedulerID is what Temporal puts before a schedule's id to name the
	// workflow behind it.
	schedulerID = "temporal-sys-scheduler:"

	// largeHerd is a number of jobs that schedules cannot start within a minute
	// on two cores.
	largeHerd = 1000
)

// scheduledStart is the attribute by which a workflow learns which of the
// schedule's times it was started for.
var scheduledStart = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

type scheduledInput struct {
	ID  string
	URL string
}

func scheduled(ctx workflow.Context, in scheduledInput) error {
	due, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(scheduledStart)
	if !ok {
		return errors.New("the workflow was not started by a schedule")
	}
	return send(ctx, in.ID, in.URL, due)
}

func newSchedules(c client.Client, w worker.Registry, s *sink) *schedules {
	w.RegisterWorkflowWithOptions(scheduled, workflow.RegisterOptions{Name: typeScheduled})
	return &schedules{temporal: c, sink: s}
}

func (*schedules) name() string { return nameSchedules }

func (*schedules) every(jobs int) time.Duration {
	if jobs < largeHerd {
		return time.Minute
	}
	return 2 * time.Minute
}

func (s *schedules) create(ctx context.Context, h herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		o := s.options(h, number)
		o.Spec.StartAt = h.first
		_, err := s.temporal.ScheduleClient().Create(ctx, o)
		return err
	})
}

// createOverdue backfills: the way in which a schedule does what it missed.
func (s *schedules) createOverdue(ctx context.Context, h herd, backlog time.Duration) error {
	h.first = time.Unix(0, 0) // at the beginning of a minute
	return h.each(ctx, func(ctx context.Context, number int) error {
		o := s.options(h, number)
		o.Paused = true // which stops what comes due, and not what is filled in
		now := time.Now()
		o.ScheduleBackfill = []client.ScheduleBackfill{
			{Start: now.Add(-backlog), End: now, Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL},
		}
		_, err := s.temporal.ScheduleClient().Create(ctx, o)
		return err
	})
}

func (s *schedules) options(h herd, number int) client.ScheduleOptions {
	id := h.id(number)
	return client.ScheduleOptions{
		ID: id,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{
			Every:  h.every,
			Offset: time.Duration(h.first.Unix()) * time.Second % h.every,
		}}},
		Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: typeScheduled, TaskQueue: workflows.TaskQueue,
			Args: []any{scheduledInput{ID: id, URL: s.sink.target(h.name, number)}},
		},
	}
}

func (s *schedules) remove(ctx context.Context, h herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		return orGone(s.temporal.ScheduleClient().GetHandle(ctx, h.id(number)).Delete(ctx))
	})
}

// events adds up the schedule's own workflow and those that it started.
func (s *schedules) events(ctx context.Context, h herd, number int, due []time.Time) (int64, error) {
	total, err := historyLength(ctx, s.temporal, schedulerID+h.id(number))
	if err != nil {
		return 0, err
	}
	for _, t := range due {
		n, err := historyLength(ctx, s.temporal, fmt.Sprintf("%s-%s", h.id(number), t.Format(time.RFC3339)))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
