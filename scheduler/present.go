package scheduler

import (
	"context"

	"almanac/job/presence"
	"almanac/scheduler/core"
)

// Workers returns which workers were there, and when. The error is of type [job.Error].
func (s *Service) Workers(ctx context.Context) (log presence.Log, err error) {
	ctx, cancel := context.WithTimeout(ctx, core.HistoryTimeout)
	defer cancel()
	log, err = s.workers.Read(ctx)
	return log, s.core.Error(ctx, err, nil)
}
