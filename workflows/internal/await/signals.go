package await

import "go.temporal.io/sdk/workflow"

// Signals returns the channel of the signals of a name, which Temporal's Web UI describes so.
func Signals(ctx workflow.Context, name, description string) workflow.ReceiveChannel {
	return workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: description})
}
