// Package scheduler keeps jobs and job collections as Temporal workflows. A create is a workflow start, a
// change an update, a read a query; the history of a job is read from the event histories of its workflow's
// runs.
//
// There is no other store, so any number of Services may share a namespace.
package scheduler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
)

// Options configure a [Service].
type Options struct {
	Client    client.Client
	Namespace string                  // of Client
	Converter converter.DataConverter // of Client; nil means the SDK's default
	Limits    *job.Limits             // nil means job.DefaultLimits
	Log       *slog.Logger
	Now       func() time.Time // nil means time.Now

	// Check returns an error if an action would fail on every attempt; a job with such an action is
	// refused. nil means that no action is refused.
	Check func(*job.Action) error
}

// A Service creates, changes, reads and deletes jobs and collections. Its errors are of type [job.Error].
// It is safe for concurrent use.
type Service struct {
	client      client.Client
	namespace   string
	queries     *wfclient.Queries
	converter   converter.DataConverter
	limits      *job.Limits
	log         *slog.Logger
	now         func() time.Time
	check       func(*job.Action) error
	statusCache statusCache
	writes      writeProbe

	collections   collections
	registrations registrations
}

// New returns a Service. Defaults are those of [Options].
func New(o Options) *Service {
	s := &Service{
		client: o.Client, namespace: cmp.Or(o.Namespace, client.DefaultNamespace),
		converter: o.Converter, limits: o.Limits, log: o.Log, now: o.Now, check: o.Check,
	}
	s.queries = wfclient.NewQueries(s.client, s.namespace)
	if s.converter == nil {
		s.converter = converter.GetDefaultDataConverter()
	}
	if s.limits == nil {
		limits := job.DefaultLimits()
		s.limits = &limits
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Deadlines of calls to Temporal. Each is longer than the 10 s (Temporal's default workflow task timeout)
// for which a crashed worker keeps a workflow task.
const (
	updateTimeout = 14 * time.Second // of one start or registration; the caller retries after it
	changeTimeout = 30 * time.Second // of a whole change, which may wait for a lease to expire or for another worker to take over the workflow task
	readyTimeout  = 2 * time.Second
)

// startInTime calls try, which registers a name and starts the workflow behind it. Each call has
// StartWithin, counted from the registration. A call that gets no answer in time is repeated, for
// changeTimeout at most: a name may be registered twice. If an earlier call did start the workflow, the
// next one returns errLost.
func startInTime(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	return wfclient.Patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, workflows.StartWithin)
		defer cancel()
		return try(ctx)
	})
}

// errLost means that another caller created or deleted the workflow in the meantime.
var errLost = errors.New("the workflow was created or deleted meanwhile")

// start starts a workflow. It returns errLost if a workflow with that ID is open.
func (s *Service) start(ctx context.Context, o client.StartWorkflowOptions, workflow string, input any) error {
	o.TaskQueue = workflows.TaskQueue
	o.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	o.EnableEagerStart = o.StartDelay == 0 // with a worker in the same client, the first workflow task comes with the response
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	for {
		_, err := s.client.ExecuteWorkflow(ctx, o, workflow, input)
		if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
			return errLost
		}
		if !isUnmapped(err) {
			return err
		}
		if late := wfclient.Sleep(ctx, unmappedPause); late != nil {
			return errors.Join(late, err) // err names the search attribute, for the log
		}
	}
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

// A query is [wfclient.Queries.Ask] or [wfclient.Queries.AskBeforeChange].
type query func(ctx context.Context, workflowID, name string, result any) error

// cut returns the page p of list, and whether entries follow it.
func cut[T any](list []T, p job.Page) ([]T, bool) {
	list = list[min(p.Skip, len(list)):]
	return list[:min(p.Top, len(list))], len(list) > p.Top
}

// badToken is the error for a $skiptoken that no list returned.
func badToken() error {
	return &job.Error{
		Kind: job.KindInvalid, Code: "BadRequest", Message: "The query is not valid",
		Fields: []*job.FieldError{{Path: "$skiptoken", Want: "what a nextLink of this list holds; start again without it"}},
	}
}

// contend calls do, a read followed by a write, until it loses no race with another writer: again after
// ErrTypeStale and errLost.
func (s *Service) contend(ctx context.Context, do func() error) error {
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

// contend waits a random time of up to retryPause before it retries. The limit doubles each time, up to
// maxRetryPause.
const (
	retryPause    = 20 * time.Millisecond
	maxRetryPause = 500 * time.Millisecond
)

// fail turns a Temporal error into a [job.Error]. missing is returned if the workflow does not exist; it is
// nil if the call named none.
func (s *Service) fail(ctx context.Context, err error, missing *job.Error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*job.Error](err); done {
		return err
	}
	switch {
	case wfclient.IsGone(err) && missing != nil:
		return missing
	case wfclient.IsRefused(err, workflows.ErrTypeConflict):
		refused, _ := errors.AsType[*temporal.ApplicationError](err)
		return job.Conflictf("%s", refused.Message())
	case wfclient.IsRefused(err, workflows.ErrTypeInvalid):
		refused, _ := errors.AsType[*temporal.ApplicationError](err)
		return &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: refused.Message()}
	case wfclient.IsRefused(err, workflows.ErrTypeSilent):
		refused, _ := errors.AsType[*temporal.ApplicationError](err)
		return &job.Error{Kind: job.KindConflict, Code: "JobsDidNotAnswer", Message: refused.Message()}
	case isUnavailable(err):
		s.log.WarnContext(ctx, "temporal did not answer", slog.Any("error", err))
		return &job.Error{
			Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err,
			Message: "Temporal, or a worker of Almanac, did not answer in time. A change may or may not have been applied: check before you try again.",
		}
	}
	return &job.Error{Kind: job.KindInternal, Code: "InternalServerError", Message: "internal error", Err: err}
}

func isUnavailable(err error) bool {
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, exhausted := errors.AsType[*serviceerror.ResourceExhausted](err)
	_, cancelled := errors.AsType[*serviceerror.Canceled](err)
	_, namespace := errors.AsType[*serviceerror.NamespaceNotFound](err) // not created yet, or deleted
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)   // the workflow task fails and is retried
	ended := wfclient.IsRefused(err, "AcceptedUpdateCompletedWorkflow") // set by the server: the workflow closed before it answered
	return ended || unavailable || exhausted || cancelled || namespace || notReady || wfclient.IsTimeout(err) || errors.Is(err, context.Canceled)
}
