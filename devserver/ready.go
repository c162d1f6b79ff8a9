package devserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

const (
	readyTimeout  = 30 * time.Second
	readyInterval = 20 * time.Millisecond
)

// waitReady returns when the frontend serves the namespace and the history service has loaded its state.
func waitReady(ctx context.Context, address, namespace string) error {
	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: namespace, Logger: discard{}})
	if err != nil {
		return err
	}
	defer c.Close()

	return poll(ctx, "the Temporal server at "+address, func(ctx context.Context) error {
		_, err := c.DescribeWorkflowExecution(ctx, "no-such-workflow", "")
		if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
			return nil
		}
		return err
	})
}

// poll calls try every readyInterval until it succeeds, ctx ends or readyTimeout has passed.
func poll(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()

	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err // keep it instead of the error of ctx
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to answer: %w (last failure: %w)", what, ctx.Err(), last)
		case <-tick.C:
		}
	}
}

// discard is a logger for the SDK that drops everything. By default the SDK logs to standard output.
type discard struct{}

func (discard) Debug(string, ...any) {}
func (discard) Info(string, ...any)  {}
func (discard) Warn(string, ...any)  {}
func (discard) Error(string, ...any) {}
