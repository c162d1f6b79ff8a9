package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/internal/calls"
	"almanac/internal/redact"
)

// UpdateWorkflow sends an update to one workflow and waits until that has applied it.
// The error is the workflow's refusal, as the workflow put it, is of the type
// [calls.ErrTypeGone] if there is none, or says that it did not answer.
func (l *Lookups) UpdateWorkflow(ctx context.Context, id, update string, argument any) error {
	err := send(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: update, Args: []any{argument}})
	if calls.IsGone(err) {
		return temporal.NewNonRetryableApplicationError("there is no open workflow of that id", calls.ErrTypeGone, err)
	}
	return asRefusal(err)
}

// asRefusal marks a workflow's refusal of an update as nothing to be alarmed
// about: whoever asked for it is told.
func asRefusal(err error) error {
	refused, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(refused.Message(), refused.Type(), temporal.ApplicationErrorOptions{
		NonRetryable: refused.NonRetryable(), Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// send sends an update and waits until it is applied.
func send(ctx context.Context, o client.UpdateWorkflowOptions) error {
	o.WaitForStage = client.WorkflowUpdateStageCompleted
	handle, err := calls.Update(ctx, activity.GetClient(ctx), o)
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// An UpdateInput is an update that several workflows are sent.
type UpdateInput struct {
	Workflows []string      `json:"ids"`
	Update    string        `json:"update"`
	ID        string        `json:"id"`            // of the update: a workflow takes it once, however often it is sent
	Argument  any           `json:"arg,omitempty"` // nil for none
	Patience  time.Duration `json:"patience"`      // how long each may take to answer
}

// An UpdateResult tells the workflows apart, by their indexes, that did not apply an update.
type UpdateResult struct {
	Missing []int    `json:"missing,omitempty"` // they are not there, or about to end
	Failed  []int    `json:"failed,omitempty"`  // they did not answer, or refused
	Reasons []string `json:"reasons,omitempty"` // why the first of these failed; without secrets
}

const (
	// maxReasons bounds how many reasons a result holds, and reasonBytes each of them.
	maxReasons  = 10
	reasonBytes = 200
)

// UpdateWorkflows sends an update to workflows and waits until all of them have
// applied it, or their time is over. One that does not answer keeps none of the others
// from being asked; the update may still be applied later.
func (l *Lookups) UpdateWorkflows(ctx context.Context, in UpdateInput) (UpdateResult, error) {
	o := client.UpdateWorkflowOptions{UpdateName: in.Update, UpdateID: in.ID}
	if in.Argument != nil {
		o.Args = []any{in.Argument}
	}
	errs := make([]error, len(in.Workflows))
	calls.Each(len(errs), func(i int) {
		ctx, cancel := context.WithTimeout(ctx, in.Patience)
		defer cancel()
		o := o
		o.WorkflowID = in.Workflows[i]
		errs[i] = send(ctx, o)
	})
	if ctx.Err() != nil {
		return UpdateResult{}, ctx.Err()
	}
	var r UpdateResult
	for i, err := range errs {
		switch {
		case err == nil:
		case calls.IsGone(err):
			r.Missing = append(r.Missing, i)
		default:
			r.Failed = append(r.Failed, i)
			if len(r.Reasons) < maxReasons {
				r.Reasons = append(r.Reasons, redact.Cut(unansweredFor(err, in.Patience), reasonBytes))
				activity.GetLogger(ctx).Warn("a workflow did not apply an update", "id", in.Workflows[i], "update", in.Update, slog.Any("error", err))
			}
		}
	}
	return r, nil
}

// unansweredFor returns why a workflow did not apply an update that it had so long for.
func unansweredFor(err error, patience time.Duration) string {
	refused, isRefusal := errors.AsType[*temporal.ApplicationError](err)
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)
	switch {
	case isRefusal:
		return "refused: " + refused.Message()
	case notReady:
		return "its workflow task fails"
	case calls.IsTimeout(err):
		return fmt.Sprintf("no answer within %s", patience)
	}
	return "it could not be asked"
}
