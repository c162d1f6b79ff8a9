package scheduler

import (
	"context"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
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
	uses, err := s.CalendarUses(ctx, k.Collection, j.Definition.Recurrence)
	if err != nil {
		return held, err
	}
	return preview.OfState(&j, uses, state, &p, s.core.Now())
}

// PreviewStates is [Service.PreviewState] for some jobs of a collection, in their order. One that does not answer in time
// has an error.
func (s *Service) PreviewStates(
	ctx context.Context, k job.CollectionKey, names []string, state job.State, p job.Promise,
) ([]preview.Held, []error) {
	ctx, cancel := context.WithTimeout(ctx, heldTime)
	defer cancel()
	held, errs := make([]preview.Held, len(names)), make([]error, len(names))
	wfclient.Each(len(names), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			held[i], errs[i] = s.PreviewState(ctx, k.Job(names[i]), state, p)
		}
	})
	return held, errs
}

// heldTime is how long jobs are asked what is held of them; what is missing then is said to be.
const heldTime = 20 * time.Second

// heldPage is how many jobs are asked in a page.
const heldPage = 500

// PreviewCollectionState is [Service.PreviewState] for all jobs of a collection that is enabled or disabled. It says how
// many there are of which it knows that, if some do not answer or there are too many for a request.
func (s *Service) PreviewCollectionState(
	ctx context.Context, k job.CollectionKey, state job.CollectionState, p job.Promise,
) (all preview.HeldOfCollection, err error) {
	deadline := s.core.Now().Add(heldTime)
	all = preview.HeldOfCollection{Complete: true}
	page := listing.Page{Top: heldPage}
	for {
		jobs, next, err := s.Jobs(ctx, k, page)
		if err != nil {
			return all, err
		}
		for i := range jobs {
			one, held := p, preview.Held{}
			uses, err := s.CalendarUses(ctx, k, jobs[i].Definition.Recurrence)
			if err == nil {
				held, err = preview.OfCollection(&jobs[i], uses, state, &one, s.core.Now())
			}
			if jobs[i].Unread != "" || err != nil {
				all.Complete = false
				continue
			}
			all.Add(jobs[i].Key, &held)
		}
		if page.After = next; next == "" {
			return all, nil
		}
		if s.core.Now().After(deadline) {
			all.Complete = false
			return all, nil
		}
	}
}
