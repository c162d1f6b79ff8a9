package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"almanac/internal/wfclient"
	"almanac/workflows"
)

// updateTimeout is the time limit of one start or registration; the caller retries after it. It is longer than the 10 s
// (Temporal's default workflow task timeout) for which a crashed worker keeps a workflow task.
const updateTimeout = 14 * time.Second

// put calls replace, and create if there is nothing to replace, again until it loses no race.
func put[T any](ctx context.Context, replace, create func() (T, error)) (stored T, created bool, err error) {
	err = untilUncontended(ctx, func() error {
		if stored, err = replace(); !isMissing(err) {
			return err
		}
		stored, err = create()
		created = err == nil
		return err
	})
	return stored, created, err
}

// errLost means that another caller created or deleted the workflow in the meantime.
var errLost = errors.New("the workflow was created or deleted meanwhile")

// untilUncontended calls do, a read followed by a write, until it loses no race with another writer: again
// after ErrTypeStale and errLost. Before each retry it waits a random time of up to retryPause. The limit
// doubles each time, up to maxRetryPause.
func untilUncontended(ctx context.Context, do func() error) error {
	for pause := retryPause; ; pause = min(2*pause, maxRetryPause) {
		err := do()
		if !wfclient.IsRefused(err, workflows.ErrTypeStale) && !errors.Is(err, errLost) {
			return err
		}
		if err := wfclient.Sleep(ctx, rand.N(pause)); err != nil {
			return err
		}
	}
}

const (
	retryPause    = 20 * time.Millisecond
	maxRetryPause = 500 * time.Millisecond
)

// startInTime calls try, which registers a name and starts the workflow behind it. Each call has
// StartWithin, counted from the registration. A call that gets no answer in time is repeated, for
// wfclient.ChangeTimeout at most: a name may be registered twice. If an earlier call did start the workflow, the
// next one returns errLost.
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

// start starts a workflow. It returns errLost if a workflow with that ID is open. It starts it without the
// optional search attributes that the namespace lacks.
func (s *Service) start(ctx context.Context, o client.StartWorkflowOptions, workflow string, input any) error {
	o.TaskQueue = workflows.TaskQueue
	o.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	o.EnableEagerStart = o.StartDelay == 0 // with a worker in the same client, the first workflow task comes with the response
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	until := time.Now().Add(optionalPatience)
	for {
		_, err := s.client.ExecuteWorkflow(ctx, o, workflow, input)
		if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
			return errLost
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

// lacksOptional returns which search attribute is not mapped by the error of a start, if it is lastOutcome or outlineTime.
// That of the next run is set only where it exists.
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

// update sends an update to a workflow and waits for the result, for timeout at most. If the server gives
// up earlier, the update is sent again with the same update ID: the server answers it from the run that applied it, and a job
// knows the updates of its earlier runs. A test of notifications is sent, and counted, only once, since no run knows it.
func (s *Service) update(ctx context.Context, timeout time.Duration, id, name string, result any, args ...any) error {
	defer s.Forget(id)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o := client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateID: uuid.NewString(), UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	do := func(ctx context.Context) error {
		handle, err := wfclient.Update(ctx, s.client, o)
		if err != nil {
			return err
		}
		return handle.Get(ctx, result)
	}
	if name == workflows.UpdateTest || name == workflows.UpdateAdmitTest {
		return do(ctx)
	}
	return wfclient.Patiently(ctx, wfclient.Repeatable(name == workflows.UpdateDelete, do))
}
