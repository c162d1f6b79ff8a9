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
// complete is false if there are too many, or the older ones are not kept any more.
func (r *Reader) Around(
	ctx context.Context, described *workflowservice.DescribeWorkflowExecutionResponse, at, now time.Time,
) (records []job.Record, complete bool, err error) {
	records, _, err = r.ReadDescribed(ctx, described, listing.Page{
		Top: before, Filter: listing.Filter{Start: listing.Period{Before: at.Add(-Skew)}},
	})
	from := at.Add(-Skew)
	for i := 0; err == nil && from.Before(now); i++ {
		window := listing.Period{From: from}
		if i < len(windows) {
			window.Before = at.Add(windows[i])
		}
		p := listing.Page{Top: aroundPage, Filter: listing.Filter{Start: window}}
		decided := false
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
		if decided || window.Before.IsZero() {
			break
		}
		from = window.Before
	}
	return records, true, err
}
