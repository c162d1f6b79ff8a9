package faults

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
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"

	"almanac/internal/codec"
	"almanac/lab/record"
	"almanac/lab/system"
	"almanac/workflows"
	"almanac/workflows/calendar"
	"almanac/workflows/installation"
	"almanac/workflows/jobloop"
	"almanac/workflows/registries"
)

// almanacWorkflows are the workflows of Almanac, by type.
var almanacWorkflows = map[string]any{
	workflows.TypeJob: jobloop.Workflow, workflows.TypeCollection: registries.Collection,
	workflows.TypeSubscription: registries.Subscription, workflows.TypeInstallation: installation.Workflow,
	workflows.TypeCalendar: calendar.Workflow, workflows.TypeCalendars: calendar.Directory,
}

// dialTemporal connects to the Temporal server of a system under test.
func dialTemporal(s *system.System) (client.Client, error) {
	c, err := client.NewLazyClient(client.Options{HostPort: s.Frontend, Logger: silent})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	return c, nil
}

var silent = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// A replayer replays histories of a Temporal server.
type replayer struct {
	client  client.Client
	options worker.WorkflowReplayerOptions
	out     string

	mu     sync.Mutex
	failed []record.Replay
}

// replayAll replays every run of every workflow of Almanac on the Temporal server at an address. keys decrypt the
// histories; nil: they are not encrypted. It returns the number of runs, and those that do not replay, whose
// histories are written to the directory out.
func replayAll(ctx context.Context, address string, keys *codec.KeyRing, out string) (int, []record.Replay, error) {
	data, failures := keys.Converters()
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: silent, DataConverter: data,
		FailureConverter: failures})
	if err != nil {
		return 0, nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	defer c.Close()
	r := &replayer{client: c, options: worker.WorkflowReplayerOptions{DataConverter: data,
		FailureConverter: failures}, out: out}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	replayed := 0
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 500}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			err = errors.Join(group.Wait(), fmt.Errorf("list the workflows: %w", err))
			return replayed, r.failed, err
		}
		for _, e := range page.GetExecutions() {
			if almanacWorkflows[e.GetType().GetName()] != nil {
				replayed++
				group.Go(func() error {
					return r.replay(ctx, workflow.Execution{ID: e.GetExecution().GetWorkflowId(),
						RunID: e.GetExecution().GetRunId()})
				})
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			err := group.Wait()
			return replayed, r.failed, err
		}
	}
}

// replay replays one run, and writes its history to a file if it does not replay.
func (r *replayer) replay(ctx context.Context, run workflow.Execution) error {
	h := &history.History{}
	events := r.client.GetWorkflowHistory(ctx, run.ID, run.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return fmt.Errorf("read the history of %s: %w", run.ID, err)
		}
		h.Events = append(h.Events, e)
	}
	if !slices.ContainsFunc(h.Events, func(e *history.HistoryEvent) bool {
		return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED
	}) {
		return nil // no worker has run it yet
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(r.options)
	if err != nil {
		return err
	}
	for name, one := range almanacWorkflows {
		replayer.RegisterWorkflowWithOptions(one, workflow.RegisterOptions{Name: name})
	}
	failure := replayer.ReplayWorkflowHistoryWithOptions(silent, h, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: run, // payloads are encrypted for it
	})
	if failure == nil {
		return nil
	}
	text, err := protojson.Marshal(h)
	if err != nil {
		return err
	}
	file := filepath.Join(r.out, "history-"+strings.ReplaceAll(run.ID, "/", "-")+"-"+run.RunID+".json")
	r.mu.Lock()
	r.failed = append(r.failed, record.Replay{WorkflowID: run.ID, RunID: run.RunID, Error: failure.Error(), File: file})
	r.mu.Unlock()
	return os.WriteFile(file, text, 0o644)
}
