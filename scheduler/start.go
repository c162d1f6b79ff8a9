package scheduler

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"almanac/internal/wfclient"
	"almanac/scheduler/core"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// put calls replace, and create if there is nothing to replace, again until it loses no race.
func put[T any](ctx context.Context, replace, create func() (T, error)) (stored T, created bool, err error) {
	err = core.UntilUncontended(ctx, func() error {
		if stored, err = replace(); !core.IsMissing(err) {
			return err
		}
		stored, err = create()
		created = err == nil
		return err
	})
	return stored, created, err
}

// startInTime calls try, which registers a name and starts the workflow behind it. Each call has
// StartWithin, counted from the registration. A call that gets no answer in time is repeated, for
// wfclient.ChangeTimeout at most: a name may be registered twice. If an earlier call did start the workflow, the
// next one returns core.ErrLost.
func startInTime[T any](ctx context.Context, try func(context.Context) (T, error)) (started T, err error) {
	ctx, cancel := context.WithTimeout(ctx, wfclient.ChangeTimeout)
	defer cancel()
	err = wfclient.Patiently(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, workflows.StartWithin)
		defer cancel()
		started, err = try(ctx)
		return err
	})
	return started, err
}

// start starts a workflow. It returns core.ErrLost if a workflow with that ID is open. It starts it without the
// optional search attributes that the namespace lacks.
func (s *Service) start(ctx context.Context, o client.StartWorkflowOptions, workflow string, input any) error {
	o.TaskQueue = workflows.TaskQueue
	o.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	// With a worker in the same client, the first workflow task comes with the response.
	o.EnableEagerStart = o.StartDelay == 0
	ctx, cancel := context.WithTimeout(ctx, core.TryTimeout)
	defer cancel()
	until := time.Now().Add(optionalPatience)
	for {
		_, err := s.core.Temporal.ExecuteWorkflow(ctx, o, workflow, input)
		if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
			return core.ErrLost
		}
		if refusesBuildIDs(err) && o.TypedSearchAttributes.ContainsKey(buildIDs) {
			s.lacking.Store(buildIDs.GetName(), struct{}{})
			o.TypedSearchAttributes = s.withoutMissing(o.TypedSearchAttributes)
			continue
		}
		if !isUnmapped(err) {
			return err
		}
		if name := lacksOptional(err); name != "" {
			if _, known := s.lacking.Load(name); known || time.Now().After(until) {
				s.lacking.Store(name, struct{}{})
				o.TypedSearchAttributes = s.withoutMissing(o.TypedSearchAttributes)
				continue
			}
		}
		if late := wfclient.Sleep(ctx, unmappedPause); late != nil {
			return errors.Join(late, err) // err names the search attribute, for the log
		}
	}
}

// optionalPatience is how long a start waits until Temporal knows an optional search attribute that may just have been
// added. Once it was in vain, later ones do not wait.
const optionalPatience = 3 * time.Second

// lacksOptional returns which search attribute is not mapped by the error of a start, if it is lastOutcome or
// outlineTime. That of the next run is set only where it exists.
func lacksOptional(err error) string {
	for _, name := range []string{lastOutcome.GetName(), outlineTime.GetName()} {
		if strings.HasSuffix(err.Error(), name) {
			return name
		}
	}
	return ""
}

// unmappedPause is the pause between attempts to start a workflow whose search attributes are not mapped
// yet.
const unmappedPause = 200 * time.Millisecond

// isUnmapped reports whether a Temporal service does not know a newly registered search attribute yet. Each
// service picks it up on its own, within seconds (Temporal 1.32).
func isUnmapped(err error) bool {
	_, ok := errors.AsType[*serviceerror.InvalidArgument](err)
	return ok && strings.Contains(err.Error(), "no mapping defined for search attribute")
}

// minStartDelay is the shortest delay worth using.
const minStartDelay = 10 * time.Second

// startDelay returns the start delay of a job's workflow, 0 for none. It is counted from the registration,
// by the server's clock, so this machine's clock does not matter. The start comes at most StartWithin after
// the registration, and the job begins that much later.
func startDelay(in *state.Input, registered time.Time) time.Duration {
	begin := in.Begin()
	if begin.IsZero() || begin.Sub(registered) < minStartDelay {
		return 0
	}
	return begin.Sub(registered)
}
