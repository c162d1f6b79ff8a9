package lookups

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

	"almanac/internal/redact"
	"almanac/internal/wfclient"
)

// UpdateWorkflow sends an update to one workflow and waits until it is applied. The error is the workflow's
// refusal, has type [wfclient.ErrTypeGone] if there is no open workflow, or says that it did not answer.
func (l *Lookups) UpdateWorkflow(ctx context.Context, id, update string, argument any) error {
	err := send(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: update, Args: []any{argument}})
	if wfclient.IsGone(err) {
		return temporal.NewNonRetryableApplicationError("there is no open workflow of that id", wfclient.ErrTypeGone, err)
	}
	return asRefusal(err)
}

// asRefusal marks a workflow's refusal as benign, which is not logged as an error: the caller reports it.
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
	handle, err := wfclient.Update(ctx, activity.GetClient(ctx), o)
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// An UpdateInput is an update for several workflows.
type UpdateInput struct {
	Workflows []string      `json:"ids"`
	Update    string        `json:"update"`
	ID        string        `json:"id"` // of the update: a workflow applies it once, however often it is sent
	Arguments []any         `json:"args,omitempty"`
	Patience  time.Duration `json:"patience"` // how long each workflow may take to answer
}

// An UpdateResult lists the workflows, by index, that did not apply an update.
type UpdateResult struct {
	Missing []int    `json:"missing,omitempty"` // gone, or about to end
	Failed  []int    `json:"failed,omitempty"`  // did not answer, or refused
	Reasons []string `json:"reasons,omitempty"` // of the first maxReasons failed ones, without secrets
}

const (
	// maxReasons limits the reasons in a result, reasonBytes the length of each.
	maxReasons  = 10
	reasonBytes = 200
)

// UpdateWorkflows sends an update to workflows and waits until each has applied it or its patience is
// over. A workflow that does not answer delays no other, and may still apply the update later.
func (l *Lookups) UpdateWorkflows(ctx context.Context, in UpdateInput) (UpdateResult, error) {
	o := client.UpdateWorkflowOptions{UpdateName: in.Update, UpdateID: in.ID, Args: in.Arguments}
	errs := make([]error, len(in.Workflows))
	wfclient.Each(len(errs), func(i int) {
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
		case wfclient.IsGone(err):
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

// unansweredFor returns why a workflow did not apply an update.
func unansweredFor(err error, patience time.Duration) string {
	refused, isRefusal := errors.AsType[*temporal.ApplicationError](err)
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)
	switch {
	case isRefusal:
		return "refused: " + refused.Message()
	case notReady:
		return "its workflow task fails"
	case wfclient.IsTimeout(err):
		return fmt.Sprintf("no answer within %s", patience)
	}
	return "it could not be asked"
}
