//go:build linux

package main

import (
	"context"
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

	"almanac/faults/laws"
	"almanac/workflows"
)

// replayAll replays every run of every workflow that the server knows. It returns
// how many there are, and those that fail, whose histories are written to a directory.
func replayAll(ctx context.Context, s *system, out string) (int, []laws.Replay, error) {
	silent := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	ring, err := s.keys.ring()
	if err != nil {
		return 0, nil, err
	}
	data, failures := ring.Converters()
	replayer := worker.WorkflowReplayerOptions{DataConverter: data, FailureConverter: failures}
	c, err := client.DialContext(ctx, client.Options{HostPort: s.frontend, Logger: silent, DataConverter: data, FailureConverter: failures})
	if err != nil {
		return 0, nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	defer c.Close()
	var mu sync.Mutex
	var failed []laws.Replay
	var first error
	replayed := 0
	type execution struct{ id, run string }
	queue := make(chan execution)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for e := range queue {
				bad, err := replayOne(ctx, c, replayer, e.id, e.run, out)
				mu.Lock()
				replayed++
				if bad != nil {
					failed = append(failed, *bad)
				}
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 500}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			close(queue)
			group.Wait()
			return replayed, failed, fmt.Errorf("list the workflows: %w", err)
		}
		for _, e := range page.GetExecutions() {
			if name := e.GetType().GetName(); name != workflows.TypeJob && name != workflows.TypeCollection && name != workflows.TypeSubscription {
				continue
			}
			queue <- execution{e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId()}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	close(queue)
	group.Wait()
	return replayed, failed, first
}

// replayOne replays one run, and writes its history down if it fails.
func replayOne(ctx context.Context, c client.Client, o worker.WorkflowReplayerOptions, id, run, out string) (*laws.Replay, error) {
	h := &history.History{}
	events := c.GetWorkflowHistory(ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", id, err)
		}
		h.Events = append(h.Events, e)
	}
	if !slices.ContainsFunc(h.Events, func(e *history.HistoryEvent) bool {
		return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED
	}) {
		return nil, nil // it has not begun
	}
	r, err := worker.NewWorkflowReplayerWithOptions(o)
	if err != nil {
		return nil, err
	}
	r.RegisterWorkflowWithOptions(workflows.Job, workflow.RegisterOptions{Name: workflows.TypeJob})
	r.RegisterWorkflowWithOptions(workflows.Collection, workflow.RegisterOptions{Name: workflows.TypeCollection})
	r.RegisterWorkflowWithOptions(workflows.Subscription, workflow.RegisterOptions{Name: workflows.TypeSubscription})
	failure := r.ReplayWorkflowHistoryWithOptions(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), h, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: id, RunID: run}, // payloads are encrypted for it
	})
	if failure == nil {
		return nil, nil
	}
	text, err := protojson.Marshal(h)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(out, "history-"+strings.NewReplacer("/", "-").Replace(id)+"-"+run+".json")
	return &laws.Replay{WorkflowID: id, RunID: run, Error: failure.Error(), File: file}, os.WriteFile(file, text, 0o644)
}
