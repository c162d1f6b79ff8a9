package scheduler

import (
	"context"

	"almanac/job"
	"almanac/job/preview"
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
	return preview.OfState(&j, state, &p, s.core.Now())
}
