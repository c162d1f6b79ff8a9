package scheduler

import (
	"context"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// PreviewBackfill returns which occurrences of a job a backfill would run.
func (s *Service) PreviewBackfill(
	ctx context.Context, k job.Key, r job.BackfillRequest,
) (found job.BackfillPreview, err error) {
	j, err := s.Job(ctx, k)
	if err != nil {
		return found, err
	}
	uses, err := s.CalendarUses(ctx, k.Collection, j.Definition.Recurrence)
	if err != nil {
		return found, err
	}
	t, err := timetable.NominalTimes(j.Definition.Under(j.SharedBlackouts), j.Created, uses)
	if err != nil {
		return found, err
	}
	return plan.PreviewBackfill(t.FromAnchor().By(uses, time.Time{}, nil), r.From, r.Until), nil
}

// Backfill begins to run the occurrences of a time, and returns the job. The error is of kind [job.KindConflict] if
// there are none, or too many, or if another backfill of the job has not ended.
func (s *Service) Backfill(ctx context.Context, k job.Key, r job.BackfillRequest) (j job.Job, err error) {
	err = s.core.UpdateJob(ctx, k, workflows.UpdateBackfill, &j, r)
	return s.changed(ctx, j, err), err
}

// ChangeBackfill pauses, resumes or ends a backfill, and returns the job. The error is of kind [job.KindConflict] if
// there is none that can be changed so.
func (s *Service) ChangeBackfill(
	ctx context.Context, k job.Key, name string, action job.BackfillAction,
) (j job.Job, err error) {
	err = s.core.UpdateJob(ctx, k, workflows.UpdateChangeBackfill, &j, workflows.BackfillChange{Name: name, Action: action})
	return s.changed(ctx, j, err), err
}
