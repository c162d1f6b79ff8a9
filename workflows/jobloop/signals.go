package jobloop

import (
	"slices"

	"almanac/workflows/internal/await"

	"go.temporal.io/sdk/workflow"
)

// signalHandlers handle signals beside the loop, those of one name in order. The zero value is ready for use.
type signalHandlers struct{ all []*signalHandler }

type signalHandler struct {
	signals workflow.ReceiveChannel
	receive func(workflow.Context, workflow.ReceiveChannel) // the next signal, and handles it
	busy    bool
}

func (l *signalHandler) pending() bool { return l.signals.Len() > 0 }

func (l *signalHandler) waits() bool { return !l.busy && l.pending() }

// add registers the handler for signals of a name. The Temporal Web UI and CLI show the description.
func (l *signalHandlers) add(ctx workflow.Context, name, description string, handle func(workflow.Context)) {
	l.listen(ctx, name, description, func(ctx workflow.Context, signals workflow.ReceiveChannel) {
		signals.Receive(ctx, nil)
		handle(ctx)
	})
}

// addWith is [signalHandlers.add] for signals that have an argument; one that has none, or another one, gives the zero
// value.
func addWith[T any](ctx workflow.Context, l *signalHandlers, name, description string,
	handle func(workflow.Context, T)) {
	l.listen(ctx, name, description, func(ctx workflow.Context, signals workflow.ReceiveChannel) {
		var argument T
		signals.Receive(ctx, &argument)
		handle(ctx, argument)
	})
}

func (l *signalHandlers) listen(ctx workflow.Context, name, description string,
	receive func(workflow.Context, workflow.ReceiveChannel)) {
	signals := await.Signals(ctx, name, description)
	l.all = append(l.all, &signalHandler{signals: signals, receive: receive})
}

// pending reports whether a signal has not been received.
func (l *signalHandlers) pending() bool { return slices.ContainsFunc(l.all, (*signalHandler).pending) }

// waiting reports whether a signal is pending whose handler is idle, so that [signalHandlers.handle] would start it.
func (l *signalHandlers) waiting() bool { return slices.ContainsFunc(l.all, (*signalHandler).waits) }

// handle starts a coroutine for each name with pending signals. None is kept waiting for signals: such a
// coroutine would take more memory than the rest of a job.
func (l *signalHandlers) handle(ctx workflow.Context) {
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
