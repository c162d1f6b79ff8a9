package setup

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"almanac/workflows"
)

// KeepTrying adds the search attributes to a namespace. It retries until the namespace has the search attributes, since
// Temporal may start after the API. The pause between attempts doubles from 1 s to 1 min. The log has each reason once
// in a row. If it is to have the search attribute of the next run, and has it, nextRunExists is called.
func KeepTrying(ctx context.Context, o Options, log *slog.Logger, nextRunExists func()) {
	logged := ""
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := o.addTo(ctx)
		missing, _ := errors.AsType[*RefusedError](err)
		if o.NextRun && (err == nil || missing != nil && !slices.Contains(missing.Attributes, workflows.AttributeNextRun)) {
			nextRunExists()
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if missing != nil && missing.Optional {
			log.WarnContext(ctx, "Temporal's lists do not show how jobs are doing", "error", err)
			return
		}
		if IsNamespaceMissing(err) {
			err = errors.New(Hint(o.Namespace))
		}
		if logged != err.Error() {
			logged = err.Error()
			log.WarnContext(ctx, "jobs cannot be created yet", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (o Options) addTo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if _, err := o.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: o.Namespace}); IsNamespaceMissing(err) {
		return err
	}
	_, err := o.SearchAttributes(ctx)
	return err
}
