// Package replay replays the histories of all workflows in the SDK's replayer, which finds
// code that is not deterministic.
package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"almanac/faults/record"
	"almanac/internal/codec"
	"almanac/workflows"
)

// almanacWorkflows are the workflows of Almanac, by type.
var almanacWorkflows = map[string]any{
	workflows.TypeJob: workflows.Job, workflows.TypeCollection: workflows.Collection, workflows.TypeSubscription: workflows.Subscription,
}

var silent = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// A replayer replays histories of a Temporal server.
type replayer struct {
	client  client.Client
	options worker.WorkflowReplayerOptions
	out     string

	mu       sync.Mutex
	replayed int
	failed   []record.Replay
	errs     []error
}

// All replays every run of every workflow of Almanac on the Temporal server at an address.
// keys decrypt the histories; nil: they are not encrypted. It returns the number of runs,
// and those that do not replay, whose histories are written to the directory out.
func All(ctx context.Context, address string, keys *codec.KeyRing, out string) (int, []record.Replay, error) {
	data, failures := keys.Converters()
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: silent, DataConverter: data, FailureConverter: failures})
	if err != nil {
		return 0, nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	defer c.Close()
	r := &replayer{client: c, options: worker.WorkflowReplayerOptions{DataConverter: data, FailureConverter: failures}, out: out}
	runs := make(chan workflow.Execution)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for run := range runs {
				r.replay(ctx, run)
			}
		})
	}
	err = r.list(ctx, runs)
	close(runs)
	group.Wait()
	return r.replayed, r.failed, errors.Join(append(r.errs, err)...)
}

// list sends every run of a workflow of Almanac to a channel.
func (r *replayer) list(ctx context.Context, runs chan<- workflow.Execution) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 500}
	for {
		page, err := r.client.ListWorkflow(ctx, request)
		if err != nil {
			return fmt.Errorf("list the workflows: %w", err)
		}
		for _, e := range page.GetExecutions() {
			if almanacWorkflows[e.GetType().GetName()] != nil {
				runs <- workflow.Execution{ID: e.GetExecution().GetWorkflowId(), RunID: e.GetExecution().GetRunId()}
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return nil
		}
	}
}

// replay replays one run, and keeps the result.
func (r *replayer) replay(ctx context.Context, run workflow.Execution) {
	failed, err := r.replayOne(ctx, run)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replayed++
	if failed != nil {
		r.failed = append(r.failed, *failed)
	}
	if err != nil && len(r.errs) == 0 { // the others are like the first
		r.errs = append(r.errs, err)
	}
}

// replayOne replays one run, and writes its history to a file if it does not replay.
func (r *replayer) replayOne(ctx context.Context, run workflow.Execution) (*record.Replay, error) {
	h := &history.History{}
	events := r.client.GetWorkflowHistory(ctx, run.ID, run.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", run.ID, err)
		}
		h.Events = append(h.Events, e)
	}
	if !slices.ContainsFunc(h.Events, func(e *history.HistoryEvent) bool {
		return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED
	}) {
		return nil, nil // no worker has run it yet
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(r.options)
	if err != nil {
		return nil, err
	}
	for name, one := range almanacWorkflows {
		replayer.RegisterWorkflowWithOptions(one, workflow.RegisterOptions{Name: name})
	}
	failure := replayer.ReplayWorkflowHistoryWithOptions(silent, h, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: run, // payloads are encrypted for it
	})
	if failure == nil {
		return nil, nil
	}
	text, err := protojson.Marshal(h)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(r.out, "history-"+strings.ReplaceAll(run.ID, "/", "-")+"-"+run.RunID+".json")
	return &record.Replay{WorkflowID: run.ID, RunID: run.RunID, Error: failure.Error(), File: file}, os.WriteFile(file, text, 0o644)
}
