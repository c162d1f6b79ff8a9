package workload

import (
	"context"
	"fmt"
	"time"

	"almanac/lab/record"
	"almanac/lab/wait"
)

// Jobs of a collection with a quota of its own are created and deleted at the same time, more of them than it may have.
// None of them is due during the run.

// NewContending returns twice as many jobs as their collection may have.
func NewContending(quota int, begin time.Time) []*Job {
	var all []*Job
	for i := range 2 * quota {
		all = append(all, &Job{ID: record.Job{Collection: record.QuotaCollection, Name: fmt.Sprintf("q%05d", i), Incarnation: 1},
			Definition: oneTime(begin.Add(30 * 24 * time.Hour))})
	}
	return all
}

// runQuotas starts to create and delete the jobs of the collection with a quota.
func (w *Workload) runQuotas(ctx, base context.Context) {
	for _, j := range w.Contending {
		w.open.Go(func() {
			for wait.For(ctx, w.between(0, 12*time.Second)) == nil {
				w.contend(ctx, base, j)
			}
		})
	}
}

// contend creates a job and, unless the quota refuses it, deletes it after a while. If the run ends before, it stays.
func (w *Workload) contend(ctx, base context.Context, j *Job) {
	if j.created {
		return
	}
	if w.create(base, j, maxTries) != record.Refused {
		if j.created = wait.For(ctx, w.between(0, 15*time.Second)) != nil; j.created {
			return
		}
		w.change(base, record.Delete, j.ID, nil, nil)
	}
	j.ID.Incarnation++
}
