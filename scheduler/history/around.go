package history

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"almanac/job"
	"almanac/job/listing"
)

const (
	// before is how many entries before a time [Reader.Around] reads: those of the executions that may have run then.
	before = 20
	// maxAround is how many entries it reads at most.
	maxAround = 5_000
	// aroundPage is how many it reads at a time.
	aroundPage = 500
)

// windows are the times after it within which what became of an occurrence is looked for, one after another. An entry
// of one that was not run begins when that was decided, which may be long after.
var windows = []time.Duration{2 * time.Minute, 15 * time.Minute, 2 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// Around returns the entries of a job's history around a time, in no order: some that begin before it, and those after
// it until one is of an occurrence that is due later. By then it is decided what became of one that was due at the time.
// An execution of it that has failed less often than it is attempted has not ended: its next attempt may begin long after
// others. complete is false if there are too many, or the older ones are not kept any more.
func (r *Reader) Around(
	ctx context.Context, described *workflowservice.DescribeWorkflowExecutionResponse, at, now time.Time, attempts int,
) (records []job.Record, complete bool, err error) {
	records, _, err = r.ReadDescribed(ctx, described, listing.Page{
		Top: before, Filter: listing.Filter{Start: listing.Period{Before: at.Add(-Skew)}},
	})
	from, decided := at.Add(-Skew), false
	for i := 0; err == nil && from.Before(now); i++ {
		window := listing.Period{From: from}
		if i < len(windows) {
			window.Before = at.Add(windows[i])
		}
		p := listing.Page{Top: aroundPage, Filter: listing.Filter{Start: window}}
		for {
			var page []job.Record
			var next string
			page, next, err = r.ReadDescribed(ctx, described, p)
			if err != nil {
				return nil, false, err
			}
			records = append(records, page...)
			for _, one := range page {
				decided = decided || one.Due.After(at) && one.Due.Nanosecond() == 0 && one.Start.Before(now)
			}
			if next == "" {
				break
			}
			if p.After = next; len(records) >= maxAround {
				return records, false, nil
			}
		}
		if decided && !retried(records, at, attempts) || window.Before.IsZero() {
			break
		}
		from = window.Before
	}
	return records, true, err
}

// retried reports whether another attempt follows those of the execution that was due at a time.
func retried(records []job.Record, at time.Time, attempts int) bool {
	var last *job.Record
	for i := range records {
		one := &records[i]
		if one.Due.Truncate(time.Second).Equal(at) && one.Outcome.Ran() && one.ActionName == job.MainAction &&
			(last == nil || one.Ordinal() > last.Ordinal()) {
			last = one
		}
	}
	return last != nil && last.Outcome.Failed() && last.Number < attempts
}
