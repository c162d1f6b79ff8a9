// Package bulk holds the activity that changes many jobs of a collection, a few at a time.
package bulk

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"almanac/internal/audit"
	"almanac/internal/redact"
	"almanac/job"
)

// TypeChange is the activity type of [Activities.Change].
const TypeChange = "ChangeJobs"

// maxMessage is the size limit of why a job was refused, in bytes as JSON has them.
const maxMessage = 300

// attempts is how often jobs are changed that do not answer. What was done is not done again.
const attempts = 4

// Input says what is done to which jobs, and who asked for it.
type Input struct {
	Collection job.CollectionKey `json:"collection"`
	Action     job.BulkAction    `json:"action"`
	Jobs       []job.BulkJob     `json:"jobs"`
	Request    string            `json:"request"` // names the selection
	Actor      audit.Actor       `json:"actor,omitzero"`
	// Promise is that of all jobs, which have none of their own.
	Promise *job.Promise `json:"promise,omitempty"`
}

// An Outcome is what became of a job.
type Outcome struct {
	Status    job.BulkStatus `json:"status"`
	Execution string         `json:"execution,omitempty"`
	Code      string         `json:"code,omitempty"` // of why it was refused, as is Message
	Message   string         `json:"message,omitempty"`
}

// Err returns why the job was refused; nil if it was not.
func (o *Outcome) Err() error {
	if o.Code == "" {
		return nil
	}
	return &job.Error{Kind: job.KindConflict, Code: o.Code, Message: o.Message}
}

// Activities change jobs. Do is required; it is safe to repeat with the same request.
type Activities struct {
	Do func(
		ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string,
	) []job.BulkResult
}

// Change changes the jobs of the input, and returns what became of each in their order. It fails, to be repeated, if
// some do not answer.
func (a *Activities) Change(ctx context.Context, in Input) ([]Outcome, error) {
	for i := range in.Jobs {
		in.Jobs[i].Promise = in.Promise
	}
	results := a.Do(audit.WithActor(ctx, in.Actor), in.Collection, in.Action, in.Jobs, in.Request)
	outcomes := make([]Outcome, len(results))
	for i, r := range results {
		if job.KindOf(r.Err) == job.KindUnavailable && activity.GetInfo(ctx).Attempt < attempts || ctx.Err() != nil {
			return nil, errors.New("some jobs did not answer")
		}
		outcomes[i] = Outcome{Status: r.Status, Execution: r.Execution}
		if r.Err != nil {
			outcomes[i].Code, outcomes[i].Message = "InternalServerError", "internal error"
		}
		if shown, ok := errors.AsType[*job.Error](r.Err); ok {
			body := shown.Body()
			outcomes[i].Code, outcomes[i].Message = body.Code, redact.CutJSON(body.Message, maxMessage)
		}
	}
	return outcomes, nil
}
