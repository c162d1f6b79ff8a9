// Package history reads the history of a job from the event histories of its workflow's runs. No event is
// written for it, and it goes back as far as the namespace's retention.
package history

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
)

// A Reader reads histories of jobs. It is safe for concurrent use.
type Reader struct{ core *core.Client }

// New returns a Reader.
func New(c *core.Client) *Reader { return &Reader{core: c} }

// Read returns a page of the history of the job with that workflow, newest first, and its continuation,
// which is empty on the last page. The error is a [serviceerror.NotFound] if no workflow with that ID is
// open, and [core.BadToken] if the page is after no entry of this history.
func (r *Reader) Read(ctx context.Context, workflowID string, p listing.Page) ([]job.Record, string, error) {
	return r.page(ctx, p, func() (*workflowservice.DescribeWorkflowExecutionResponse, error) {
		return r.core.Temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	})
}

// ReadDescribed is as Read, of the workflow that was described. The page has what was in the history then, and may have
// what came later.
func (r *Reader) ReadDescribed(
	ctx context.Context, described *workflowservice.DescribeWorkflowExecutionResponse, p listing.Page,
) ([]job.Record, string, error) {
	return r.page(ctx, p, func() (*workflowservice.DescribeWorkflowExecutionResponse, error) { return described, nil })
}

func (r *Reader) page(
	ctx context.Context, p listing.Page, describe func() (*workflowservice.DescribeWorkflowExecutionResponse, error),
) ([]job.Record, string, error) {
	after, err := parsePosition(p.After)
	if err != nil || p.Filter.Status.Never() {
		return nil, "", err
	}
	described, err := describe()
	if err != nil {
		return nil, "", err
	}
	found, err := r.entries(ctx, described, p, after)
	if err != nil {
		return nil, "", err
	}
	page := found[min(p.Skip, len(found)):]
	more := len(page) > p.Top
	page = page[:min(p.Top, len(page))]
	records := make([]job.Record, len(page))
	for i, e := range page {
		records[i] = e.Record
	}
	if !more {
		return records, "", nil
	}
	return records, page[len(page)-1].String(), nil
}

// Skew is the bound of how far entries are out of order: no entry starts later than one that is listed before it, by
// more than this. Attempts start by the clock of their worker, which agrees with the server's within a second.
const Skew = 5 * time.Second

// pageSize returns how many events to request at once for a page: 11 for each execution, eventsPerPage at most.
func pageSize(p listing.Page) int32 {
	return int32(min(eventsPerPage, 24+11*min(p.Skip+p.Top, eventsPerPage)))
}

// A position is the place of an entry in the event histories. It never changes.
type position struct {
	run   string
	event int64
	index int // of the attempt, or of the dropped occurrence
}

func (p position) String() string { return fmt.Sprintf("%s.%d.%d", p.run, p.event, p.index) }

// parsePosition is the inverse of String. The zero position, for "", is before all entries.
func parsePosition(text string) (position, error) {
	if text == "" {
		return position{}, nil
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 || uuid.Validate(parts[0]) != nil {
		return position{}, core.BadToken()
	}
	event, err := strconv.ParseInt(parts[1], 10, 64)
	index, errIndex := strconv.Atoi(parts[2])
	if err != nil || errIndex != nil {
		return position{}, core.BadToken()
	}
	return position{parts[0], event, index}, nil
}

// An entry is a record and its position.
type entry struct {
	job.Record
	position
}

// entries returns the entries after a position, one more than the page needs.
func (r *Reader) entries(
	ctx context.Context, described *workflowservice.DescribeWorkflowExecutionResponse, p listing.Page, after position,
) ([]entry, error) {
	info := described.GetWorkflowExecutionInfo()
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, serviceerror.NewNotFound("the workflow is closed")
	}
	var entries []entry
	over := false // what is left is older than the filter allows
	enough := func(batch []entry) bool {
		for _, e := range batch {
			over = over || e.Start.Before(p.Filter.Start.From.Add(-Skew))
			switch {
			case after != position{}:
				if e.position == after {
					after = position{}
				}
			case p.Filter.MatchesRecord(&e.Record):
				entries = append(entries, e)
			}
		}
		return over && after == (position{}) || len(entries) > p.Skip+p.Top
	}
	workflowID := info.GetExecution().GetWorkflowId()
	run := r.run(workflowID, info.GetExecution().GetRunId(), pageSize(p))
	if after.run != "" && after.run != run.runID {
		run.runID = after.run
	} else {
		if began := described.GetWorkflowExtendedInfo().GetOriginalStartTime(); began != nil {
			run.began = began.AsTime()
		}
		run.expectPending(described.GetPendingActivities())
	}
	for run.runID != "" {
		before, err := run.skip(ctx, p.Filter.Start.Before)
		if err == nil && before == nil {
			before, err = run.read(ctx, enough)
		}
		if wfclient.IsNotFound(err) {
			break // the retention of closed runs is over
		}
		if err != nil || before == nil || before.began.Before(p.Filter.Start.From) {
			return entries, err
		}
		run = r.run(workflowID, before.previous, run.pageSize)
		if p.Filter.Status.Failed() {
			run.runID = before.failed
		}
	}
	if after != (position{}) {
		return nil, core.BadToken()
	}
	return entries, nil
}
