// Package scheduler keeps jobs and job collections as Temporal workflows:
// creating is a workflow start, changing an update, reading a query, and the
// history of a job is read from the event histories of its workflow's runs.
//
// Nothing is stored anywhere else, so any number of Services may work on the
// same namespace.
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

	"almanac/internal/calls"
	"almanac/job"
	"almanac/workflows"
)

// Options configure a [Service].
type Options struct {
	Client    client.Client
	Namespace string                  // the client's
	Converter converter.DataConverter // the client's; nil means the SDK's default
	Limits    *job.Limits             // nil means job.DefaultLimits
	Log       *slog.Logger
	Now       func() time.Time // nil means time.Now

	// Check returns an error where an action would fail whenever it is tried;
	// such a job is refused. nil means that no action is.
	Check func(*job.Action) error
}

// A Service creates, changes, reads and deletes jobs and collections. Its
// errors are of type [job.Error]. It is safe for concurrent use.
type Service struct {
	client    client.Client
	namespace string
	queries   *calls.Queries
	converter converter.DataConverter
	limits    *job.Limits
	log       *slog.Logger
	now       func() time.Time
	check     func(*job.Action) error
	statuses  statuses
	writes    writeProbe

	collections   collections
	registrations registrations
}

// New returns a service.
func New(o Options) *Service {
	s := &Service{
		client: o.Client, namespace: cmp.Or(o.Namespace, client.DefaultNamespace),
		converter: o.Converter, limits: o.Limits, log: o.Log, now: o.Now, check: o.Check,
	}
	s.queries = calls.NewQueries(s.client, s.namespace)
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

// Deadlines keep a call from hanging when no worker answers. A worker that is killed
// keeps the workflow task that it was at for 10 s (Temporal's default), so each is longer.
const (
	updateTimeout = 14 * time.Second // of a start or a registration, which are tried again after that
	changeTimeout = 30 * time.Second // of a whole change, which may have to wait until a lease is over, or another worker takes its task
	readyTimeout  = 2 * time.Second
)

// startInTime registers a name and starts the workflow behind it, which has to be done
// within StartWithin. If that was not answered by then, both are tried again, as long as
// the caller waits: a name may be registered twice. A workflow that the first try did
// start is found by the second one, which returns errLost.
func startInTime(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	return calls.Patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, workflows.StartWithin) // which is counted from the registration
		defer cancel()
		return try(ctx)
	})
}

// errLost says that somebody else created or deleted the workflow meanwhile.
var errLost = errors.New("the workflow was created or deleted meanwhile")

// start starts a workflow; it returns errLost if one of that id runs already.
func (s *Service) start(ctx context.Context, o client.StartWorkflowOptions, workflow string, input any) error {
	o.TaskQueue = workflows.TaskQueue
	o.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	o.EnableEagerStart = o.StartDelay == 0 // where the client has a worker, that gets the first task with the answer
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
		if late := calls.Sleep(ctx, unmappedPause); late != nil {
			return errors.Join(late, err) // the log names the search attribute
		}
	}
}

// unmappedPause is the time between two attempts to start a workflow whose search
// attributes are not known yet.
const unmappedPause = 200 * time.Millisecond

// isUnmapped reports whether a service of Temporal does not know a search attribute
// that was registered lately. Each learns of it by itself, within some seconds
// (Temporal 1.32).
func isUnmapped(err error) bool {
	_, ok := errors.AsType[*serviceerror.InvalidArgument](err)
	return ok && strings.Contains(err.Error(), "no mapping defined for search attribute")
}

// A query is [calls.Queries.Ask] or [calls.Queries.AskBeforeChange].
type query func(ctx context.Context, workflowID, name string, result any) error

// cut returns the page of a list, and whether more follows.
func cut[T any](list []T, p job.Page) ([]T, bool) {
	list = list[min(p.Skip, len(list)):]
	return list[:min(p.Top, len(list))], len(list) > p.Top
}

// badToken is the error for a continuation that no list returned.
func badToken() error {
	return &job.Error{
		Kind: job.KindInvalid, Code: "BadRequest", Message: "The query is not valid",
		Fields: []*job.FieldError{{Path: "$skiptoken", Want: "what a nextLink of this list holds; start again without it"}},
	}
}

// contend does what reads, decides and writes, again if somebody else wrote in
// between.
func (s *Service) contend(ctx context.Context, do func() error) error {
	for pause := retryPause; ; pause = min(2*pause, maxRetryPause) {
		err := do()
		if !calls.IsRefused(err, workflows.ErrTypeStale) && !errors.Is(err, errLost) {
			return err
		}
		if err := calls.Sleep(ctx, rand.N(pause)); err != nil {
			return err
		}
	}
}

// What lost a race is tried again after a random pause up to retryPause, which
// doubles each time up to maxRetryPause.
const (
	retryPause    = 20 * time.Millisecond
	maxRetryPause = 500 * time.Millisecond
)

// fail turns a Temporal error into one that the caller may be shown; missing
// is what to answer if the workflow does not exist, nil where none was asked.
func (s *Service) fail(ctx context.Context, err error, missing *job.Error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*job.Error](err); done {
		return err
	}
	switch {
	case calls.IsGone(err) && missing != nil:
		return missing
	case calls.IsRefused(err, workflows.ErrTypeConflict):
		refused, _ := errors.AsType[*temporal.ApplicationError](err)
		return job.Conflictf("%s", refused.Message())
	case calls.IsRefused(err, workflows.ErrTypeInvalid):
		refused, _ := errors.AsType[*temporal.ApplicationError](err)
		return &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: refused.Message()}
	case calls.IsRefused(err, workflows.ErrTypeSilent):
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
	_, namespace := errors.AsType[*serviceerror.NamespaceNotFound](err) // not there yet, or not any more
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)   // its task fails, and is tried again
	ended := calls.IsRefused(err, "AcceptedUpdateCompletedWorkflow")    // by the server: the workflow ended meanwhile
	return ended || unavailable || exhausted || cancelled || namespace || notReady || calls.IsTimeout(err) || errors.Is(err, context.Canceled)
}
