// Package setup prepares a namespace of Temporal for Almanac: the namespace itself, and its search
// attributes.
//
// Temporal Cloud and locked-down clusters let clients change neither. There it is enough that both exist,
// and a [RefusedError] has the commands with which an operator makes what is missing.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"almanac/internal/wfclient"
	"almanac/workflows"
)

// Timeout is the time limit of each step of [Run].
const Timeout = time.Minute

// pause is the time between two attempts, while Temporal's services learn of a new namespace or attribute,
// which takes them seconds.
const pause = 200 * time.Millisecond

// maxPause is the time between two looks for a namespace that somebody else has to create.
const maxPause = 2 * time.Second

// Options configure [Run]. [KeepTrying] and SearchAttributes use the client, the namespace and NextRun.
type Options struct {
	Client    client.Client
	Namespace string        // of Client
	Retention time.Duration // of a namespace that is created
	Out       io.Writer     // gets a line for each step
	NextRun   bool          // add the search attribute of the next run, too
}

// A RefusedError means that Temporal does not let this client make what is missing.
type RefusedError struct {
	Missing    string
	Commands   []string // make it, when an operator of Temporal runs them
	Attributes []string // search attributes that are missing
	Optional   bool     // Almanac works without it
	Err        error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s, and Temporal does not let this client make it (%s); have an operator of Temporal run: %s",
		e.Missing, serviceerror.ToStatus(e.Err).Code(), strings.Join(e.Commands, "; "))
}

func (e *RefusedError) Unwrap() error { return e.Err }

// refused reports whether Temporal does not let this client make a call.
func refused(err error) bool {
	switch serviceerror.ToStatus(err).Code() {
	case codes.PermissionDenied, codes.Unimplemented:
		return true
	}
	return false
}

// Run creates the namespace unless it exists, adds the search attributes that it lacks, and waits until
// Temporal serves both. It prints what it did and found. Calling it again has no effect. An existing
// namespace keeps its retention.
func Run(ctx context.Context, o Options) error {
	capabilities, err := o.namespace(ctx)
	if err != nil {
		return err
	}
	if err := within(ctx, func(ctx context.Context) error { return AwaitNamespace(ctx, o.Client, o.Namespace, func() {}) }); err != nil {
		return fmt.Errorf("wait until Temporal serves the namespace %q: %w", o.Namespace, err)
	}
	var added []string
	if err := within(ctx, func(ctx context.Context) (err error) {
		added, err = o.SearchAttributes(ctx)
		return err
	}); err != nil {
		missing, _ := errors.AsType[*RefusedError](err)
		if missing == nil || !missing.Optional {
			return err
		}
		o.print("search attributes  the others exist. Temporal's lists do not show how jobs are doing: %s", err)
	} else if len(added) == 0 {
		o.print("search attributes  all exist")
	} else {
		o.print("search attributes  added %s", strings.Join(added, ", "))
	}
	o.advise(ctx, capabilities)
	return nil
}

func within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return do(ctx)
}

func (o Options) print(format string, args ...any) { fmt.Fprintf(o.Out, format+"\n", args...) }

// namespace creates or checks the namespace. The capabilities are nil if Temporal does not show them.
func (o Options) namespace(ctx context.Context) (*namespace.NamespaceInfo_Capabilities, error) {
	describe := func() (*workflowservice.DescribeNamespaceResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, Timeout)
		defer cancel()
		return o.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: o.Namespace})
	}
	found, err := describe()
	if IsNamespaceMissing(err) {
		created, err := o.create(ctx)
		if err != nil {
			return nil, err
		}
		if found, err = describe(); err != nil || created {
			return found.GetNamespaceInfo().GetCapabilities(), err
		}
	}
	switch {
	case refused(err):
		o.print("namespace          %q; its retention is not known, since Temporal does not show it to this client (%s)", o.Namespace, serviceerror.ToStatus(err).Code())
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for the namespace %q: %w", o.Namespace, err)
	case found.GetNamespaceInfo().GetState() != enums.NAMESPACE_STATE_REGISTERED:
		return nil, fmt.Errorf("the namespace %q is being deleted: choose another name in TEMPORAL_NAMESPACE, or wait", o.Namespace)
	}
	retention := found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	o.print("namespace          %q exists, retention %s", o.Namespace, inDays(retention))
	if retention != o.Retention {
		o.print("                   Histories are kept for that time, and not for %s. To change it: temporal operator namespace update --namespace %s --retention %s",
			inDays(o.Retention), quoted(o.Namespace), inDays(o.Retention))
	}
	return found.GetNamespaceInfo().GetCapabilities(), nil
}

// create creates the namespace, and reports whether it did: another client may just have done so.
func (o Options) create(ctx context.Context) (created bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	_, err = o.Client.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: o.Namespace, Description: "Almanac", WorkflowExecutionRetentionPeriod: durationpb.New(o.Retention),
	})
	_, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err)
	switch {
	case exists:
		return false, nil
	case refused(err):
		return false, &RefusedError{
			Missing: fmt.Sprintf("the namespace %q does not exist", o.Namespace), Err: err,
			Commands: []string{fmt.Sprintf("temporal operator namespace create --namespace %s --retention %s", quoted(o.Namespace), inDays(o.Retention))},
		}
	case err != nil:
		return false, fmt.Errorf("create the namespace %q: %w", o.Namespace, err)
	}
	o.print("namespace          %q created, retention %s", o.Namespace, inDays(o.Retention))
	return true, nil
}

// AwaitNamespace returns when Temporal serves the namespace. It calls missing once if that does not exist
// yet. Other errors than that end it.
func AwaitNamespace(ctx context.Context, c client.Client, namespace string, missing func()) error {
	told := false
	for wait := pause; ; wait = min(2*wait, maxPause) {
		// Unlike DescribeNamespace, which reads the database, this call shows that the services know the namespace.
		_, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: workflows.TaskQueue}, TaskQueueType: enums.TASK_QUEUE_TYPE_WORKFLOW,
		})
		switch {
		case err == nil || refused(err): // what is refused exists, or cannot be seen
			return nil
		case !IsNamespaceMissing(err):
			return err
		case !told:
			missing()
			told = true
		}
		if wfclient.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// IsNamespaceMissing reports whether err says that a namespace does not exist, or is not known to a service yet.
func IsNamespaceMissing(err error) bool {
	_, missing := errors.AsType[*serviceerror.NamespaceNotFound](err)
	return missing
}

// Hint says what to do about a namespace that does not exist.
func Hint(namespace string) string {
	return fmt.Sprintf(`the namespace %q does not exist: run "almanac setup" with the same TEMPORAL_* variables`, namespace)
}

// quoted returns a name as a word of a shell.
func quoted(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// inDays returns a retention as the temporal CLI takes it, in days if it is a whole number of them: 60d, 36h.
func inDays(d time.Duration) string {
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return strings.Replace(strings.Replace(d.String(), "m0s", "m", 1), "h0m", "h", 1)
}
