// Package signals handles the signals of a workflow beside its loop.
package signals

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// Listeners handle signals, those of one name in order. The zero value is ready for use.
type Listeners struct{ all []*listener }

type listener struct {
	signals workflow.ReceiveChannel
	receive func(workflow.Context, workflow.ReceiveChannel) // the next signal, and handles it
	busy    bool
}

func (l *listener) pending() bool { return l.signals.Len() > 0 }

func (l *listener) waits() bool { return !l.busy && l.pending() }

// Add registers the handler for signals of a name. The Temporal Web UI and CLI show the description.
func (l *Listeners) Add(ctx workflow.Context, name, description string, handle func(workflow.Context)) {
	l.add(ctx, name, description, func(ctx workflow.Context, signals workflow.ReceiveChannel) {
		signals.Receive(ctx, nil)
		handle(ctx)
	})
}

// AddWith is [Listeners.Add] for signals that have an argument; one that has none, or another one, gives the zero value.
func AddWith[T any](ctx workflow.Context, l *Listeners, name, description string, handle func(workflow.Context, T)) {
	l.add(ctx, name, description, func(ctx workflow.Context, signals workflow.ReceiveChannel) {
		var argument T
		signals.Receive(ctx, &argument)
		handle(ctx, argument)
	})
}

func (l *Listeners) add(ctx workflow.Context, name, description string, receive func(workflow.Context, workflow.ReceiveChannel)) {
	signals := workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: description})
	l.all = append(l.all, &listener{signals: signals, receive: receive})
}

// Pending reports whether a signal has not been received.
func (l *Listeners) Pending() bool { return slices.ContainsFunc(l.all, (*listener).pending) }

// Wait reports whether a signal is pending whose handler is idle, so that [Listeners.Handle] would start it.
func (l *Listeners) Wait() bool { return slices.ContainsFunc(l.all, (*listener).waits) }

// Handle starts a coroutine for each name with pending signals. None is kept waiting for signals: such a
// coroutine would take more memory than the rest of a job.
func (l *Listeners) Handle(ctx workflow.Context) {
	for _, one := range l.all {
		if !one.waits() {
			continue
		}
		one.busy = true
		workflow.Go(ctx, func(ctx workflow.Context) {
			for one.pending() {
				one.receive(ctx, one.signals)
			}
			one.busy = false
		})
	}
}
