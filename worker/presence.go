package worker

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"almanac/activities"
	checkins "almanac/activities/presence"
	"almanac/job/presence"
	"almanac/recurrence"
	"almanac/workflows"
	"almanac/workflows/installation"
)

// newCheckIns returns what checks this worker in, by activities on the task queue of its own.
func newCheckIns(o *Options, runner *activities.Runner) *checkins.CheckIns {
	release := recurrence.CurrentZones().Release()
	w := presence.Worker{
		ID: uuid.NewString(), Identity: identity(release), Version: o.Version, Zones: release, Queue: runner.Queue,
	}.Bounded()
	return &checkins.CheckIns{
		Worker: w, Now: runner.Clock.Now, Log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		Announce: func(ctx context.Context) error {
			_, err := o.Client.SignalWithStartWorkflow(ctx, workflows.InstallationID, workflows.SignalWorker, w, client.StartWorkflowOptions{
				ID: workflows.InstallationID, TaskQueue: workflows.TaskQueue, StaticSummary: "which workers were there",
			}, workflows.TypeInstallation, installation.Input{})
			return err
		},
	}
}
