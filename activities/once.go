package activities

import (
	"context"
	"time"

	"almanac/job"
	"almanac/job/template"
)

// SendOnce performs an action once, within a time limit, beside the executions of jobs, and returns the record. Its
// requests count towards the limit of the host. If that has no place within fullWait, nothing is sent, and the error is
// [ErrHostFull]. There is no lease, so its activity must not be repeated.
func (r *Runner) SendOnce(
	ctx context.Context, e job.Execution, f template.Facts, a *job.Action, limit time.Duration,
) (job.Attempt, error) {
	key := hostKey(a)
	place, cancel := context.WithTimeout(ctx, fullWait)
	defer cancel()
	leave, err := r.hosts.Enter(place, key, r.PerHost)
	if err != nil {
		r.hosts.Warn(r.Log, key, a.Host(), r.PerHost)
		return job.Attempt{}, ErrHostFull
	}
	defer leave()
	began := time.Now()
	o := &outcome{start: r.Clock.Now()}
	values := template.Values{Facts: f, Execution: e, Attempt: 1}
	o.message, o.err = r.perform(ctx, a, values, limit, func() (stop func()) { return func() {} })
	o.end = o.start.Add(time.Since(began))
	return o.record(1), nil
}
