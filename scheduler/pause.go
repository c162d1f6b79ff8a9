package scheduler

import (
	"cmp"
	"context"
	"time"

	"almanac/job"
	"almanac/job/preview"
	"almanac/job/timetable"
)

// PreviewState returns which occurrences of a job would be held if it was disabled with a promise, or are held if it is
// disabled, and what would become of them.
func (s *Service) PreviewState(
	ctx context.Context, k job.Key, state job.State, p job.Promise,
) (held preview.Held, err error) {
	j, err := s.Job(ctx, k)
	if err != nil {
		return held, err
	}
	t, err := timetable.Of(&j.Definition, j.Created)
	if err != nil {
		return held, err
	}
	now := s.core.Now()
	active := j.Definition.State == job.StateEnabled && !j.CollectionDisabled
	from, until := now, now
	if !active {
		from = j.Decided
	}
	if state == job.StateDisabled {
		if until = p.Until; !until.IsZero() {
			until = until.Add(-time.Second) // what is due at the end runs
		}
	} else if active {
		return preview.Held{AtOnce: cmp.Or(p.AtOnce, 1)}, nil
	}
	if d := j.DisabledBy; d != nil && p.Recover == "" {
		p.Recover, p.AtOnce = d.Recover, cmp.Or(p.AtOnce, d.AtOnce)
	}
	return preview.HeldBetween(t.Without(j.Skips, j.SkipWindows...), from, until, &p), nil
}
