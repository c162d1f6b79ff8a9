// Package lookups holds the activities that ask and change other workflows.
package lookups

import (
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"almanac/internal/wfclient"
)

// Names of the activity types that query or update workflows.
const (
	TypeRegistrations = "Registrations"
	TypePending       = "PendingActions"
	TypeUpdate        = "UpdateWorkflow"
	TypeUpdateAll     = "UpdateWorkflows"
	TypeTerminate     = "TerminateWorkflows"
)

// Lookups are the activities that query or update workflows.
type Lookups struct {
	Converter converter.DataConverter // the one of the worker's client; nil means the SDK's default
}

// lookupsAtOnce is the number of concurrent lookups. They are seldom urgent, and each may make the
// server read the workflow from its database.
const lookupsAtOnce = 4

// Unknown is the number of the registration of an open workflow that does not show it.
const Unknown = 1

// Registrations returns, for each id, the number of the registration with which the open workflow of that id was
// started: 0 if none is open.
func (l *Lookups) Registrations(ctx context.Context, ids []string) ([]int, error) {
	numbers := make([]int, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lookupsAtOnce)
	for i, id := range ids {
		group.Go(func() error {
			found, err := activity.GetClient(ctx).DescribeWorkflowExecution(ctx, id, "")
			if wfclient.IsNotFound(err) {
				return nil
			}
			if info := found.GetWorkflowExecutionInfo(); err == nil && info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				numbers[i] = numberOf(info, l.Converter)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return numbers, nil
}

// numberOf returns the number of a workflow's registration, from its memo; Unknown if that does not show it.
func numberOf(info *workflow.WorkflowExecutionInfo, payloads converter.DataConverter) int {
	payload := info.GetMemo().GetFields()[MemoRegistration]
	if payload == nil {
		return Unknown
	}
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	number := 0
	if err := wfclient.ConverterFor(payloads, info.GetExecution().GetWorkflowId()).FromPayload(payload, &number); err != nil || number == 0 {
		return Unknown // for example, the key to decrypt it is missing
	}
	return number
}

// MemoRegistration is the member of a workflow's memo with the number of its registration.
const MemoRegistration = "registration"

func indexes(list []bool) []int {
	found := []int{}
	for i, is := range list {
		if is {
			found = append(found, i)
		}
	}
	return found
}
