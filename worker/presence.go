package worker

import (
	"cmp"
	"context"
	"log/slog"
	"time"

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
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &checkins.CheckIns{
		Worker: w, Now: runner.Clock.Now, Log: log,
		Observe: func(server time.Time) { runner.Clock.Observe(server, log) },
		Announce: func(ctx context.Context) error {
			_, err := o.Client.SignalWithStartWorkflow(ctx, workflows.InstallationID, workflows.SignalWorker, w, client.StartWorkflowOptions{
				ID: workflows.InstallationID, TaskQueue: workflows.TaskQueue, StaticSummary: "which workers were there",
			}, workflows.TypeInstallation, installation.Input{})
			return err
		},
		Goodbye: func(ctx context.Context, s presence.Segment) error {
			return o.Client.SignalWorkflow(ctx, workflows.InstallationID, "", workflows.SignalGone, presence.Span{Worker: w, Segment: s})
		},
	}
}
