// Package core has what every room of the scheduler does with Temporal: it asks and changes the workflows of jobs and
// job collections, repeats calls that got no answer, and turns Temporal's errors into those of package job.
package core

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/wfclient"
)

const (
	// DescribeTimeout is the limit for the server's answer about one workflow. After it the caller does without.
	DescribeTimeout = time.Second
	// HistoryTimeout is the limit for reading a page of a job's history, or of changes.
	HistoryTimeout = 20 * time.Second
	// TryTimeout is the time limit of one try of a start, a registration or a delete; the caller tries again after it.
	// It is longer than the 10 s (Temporal's default workflow task timeout) for which a crashed worker keeps a workflow
	// task.
	TryTimeout = 14 * time.Second
)

// Options configure a [Client].
type Options struct {
	Temporal  client.Client
	Namespace string                  // of Temporal; "" means the SDK's default
	Converter converter.DataConverter // of Temporal; nil means the SDK's default
	Log       *slog.Logger            // nil means no log
	Now       func() time.Time        // nil means time.Now
}

// A Client asks and changes workflows. It is safe for concurrent use. Its members are those of the Options, with their
// defaults.
type Client struct {
	Options
	*wfclient.Queries

	answers Cache[versionedAnswer]
	changed []func(workflowID string)
}

// New returns a Client.
func New(o Options) *Client {
	o.Namespace = cmp.Or(o.Namespace, client.DefaultNamespace)
	o.Converter = cmp.Or(o.Converter, converter.GetDefaultDataConverter())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Client{Options: o, Queries: wfclient.NewQueries(o.Temporal, o.Namespace)}
	c.Server = &wfclient.Server{Ask: func(ctx context.Context) error {
		_, err := c.Temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		return err
	}}
	return c
}

// OnChange has changed called with the ID of each workflow that was sent an update. It must be called before the first
// update.
func (c *Client) OnChange(changed func(workflowID string)) { c.changed = append(c.changed, changed) }
