package setup

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// KeepTrying adds the search attributes to a namespace. It retries until the namespace has the search attributes, since Temporal may start
// after the API. The pause between attempts doubles from 1 s to 1 min. The log has each reason once in a row.
func KeepTrying(ctx context.Context, temporal client.Client, namespace string, log *slog.Logger) {
	logged := ""
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := addTo(ctx, temporal, namespace)
		if err == nil || ctx.Err() != nil {
			return
		}
		if missing, ok := errors.AsType[*RefusedError](err); ok && missing.Optional {
			log.WarnContext(ctx, "Temporal's lists do not show how jobs are doing", "error", err)
			return
		}
		if IsNamespaceMissing(err) {
			err = errors.New(Hint(namespace))
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

func addTo(ctx context.Context, temporal client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if _, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace}); IsNamespaceMissing(err) {
		return err
	}
	_, err := SearchAttributes(ctx, temporal, namespace)
	return err
}
