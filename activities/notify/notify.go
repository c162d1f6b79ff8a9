// Package notify holds the activities that raise and deliver alerts.
//
// A delivery is made at least once, with the id of its message for the receiver to recognize duplicates. So it needs none of the
// protocol by which [activities.Runner] makes the attempts of an execution.
package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/internal/redact"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/notification"
)

// Names of the activity types.
const (
	TypeSend    = "SendNotification"
	TypeRaise   = "RaiseAlerts"
	TypeTargets = "NotificationTargets"
)

// SendTimeout is the time limit of an attempt to deliver a message. The activity's StartToCloseTimeout must be longer.
const SendTimeout = 10 * time.Second

const maxText = 500 // bytes of an answer or error

// Activities are the activities. All members are required.
type Activities struct {
	Senders map[job.ActionType]activities.Sender // by [job.ActionType.Kind]
	Log     *slog.Logger
}

// SendInput is the input of [Activities.Send].
type SendInput struct {
	Name    string               `json:"name"` // of the notification
	Target  job.Action           `json:"target"`
	Message notification.Message `json:"message"`
}

// A Report is the result of a delivery, and the details of the error of one that failed.
type Report struct {
	Time    time.Time `json:"time"`
	Message string    `json:"message"` // what the receiver answered, or the error; without secrets
	Attempt int       `json:"attempt"`
}

// ErrTypeFailed is the type of the error of a delivery that failed. Its details are a [Report].
const ErrTypeFailed = "NotificationFailed"

// Send makes one attempt to deliver a message.
func (a *Activities) Send(ctx context.Context, in SendInput) (Report, error) {
	info := activity.GetInfo(ctx)
	message, err := a.send(ctx, &in)
	report := Report{Time: time.Now().UTC(), Message: redact.Cut(message, maxText), Attempt: int(info.Attempt)}
	_, permanent := errors.AsType[*activities.PermanentError](err)
	policy := info.RetryPolicy
	last := permanent || policy != nil && policy.MaximumAttempts > 0 && info.Attempt >= policy.MaximumAttempts
	a.log(ctx, &in, err, info.Attempt, last)
	if err == nil {
		count(ctx, &in, "delivered")
		return report, nil
	}
	if last {
		count(ctx, &in, "failed")
	}
	report.Message = cmp.Or(report.Message, redact.Cut(err.Error(), maxText))
	return report, temporal.NewApplicationErrorWithOptions(redact.Cut(err.Error(), maxText), ErrTypeFailed, temporal.ApplicationErrorOptions{
		NonRetryable: permanent, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{report},
	})
}

func count(ctx context.Context, in *SendInput, outcome string) {
	tags := map[string]string{"kind": string(in.Target.Type.Kind()), "outcome": outcome}
	activity.GetMetricsHandler(ctx).WithTags(tags).Counter("almanac_notifications").Inc(1)
}

func (a *Activities) log(ctx context.Context, in *SendInput, err error, attempt int32, last bool) {
	level, text := slog.LevelDebug, "notification delivered"
	attributes := []slog.Attr{
		slog.String("collection", in.Message.Collection.Name), slog.String("notification", in.Name), slog.String("target", notification.TargetText(&in.Target)),
		slog.String("message", in.Message.ID), slog.Int("alerts", in.Message.Total()), slog.Int("attempt", int(attempt)),
	}
	switch {
	case last:
		level, text = slog.LevelWarn, "notification failed; its alerts are lost"
	case err != nil:
		level, text = slog.LevelInfo, "notification failed, and is sent again"
	}
	if err != nil {
		attributes = append(attributes, slog.String("error", redact.Cut(err.Error(), maxText)))
	}
	a.Log.LogAttrs(ctx, level, text, attributes...)
}

// errPanic is the error of a sender that panicked, whose text may hold secrets.
var errPanic = errors.New("an internal error of Almanac, described in its log, ended the attempt; the message may have been sent")

func (a *Activities) send(ctx context.Context, in *SendInput) (message string, err error) {
	kind := in.Target.Type.Kind()
	sender, ok := a.Senders[kind]
	switch {
	case !ok && kind == job.ActionEmail:
		return "", &activities.PermanentError{Err: errors.New("this worker sends no e-mail: start it with --smtp-server (ALMANAC_SMTP_SERVER)")}
	case !ok:
		return "", &activities.PermanentError{Err: fmt.Errorf("this worker sends nothing to targets of type %q", in.Target.Type)}
	}
	action, err := in.Message.Action(&in.Target)
	if err != nil {
		return "", &activities.PermanentError{Err: err}
	}
	defer func() {
		if p := recover(); p != nil {
			a.Log.ErrorContext(ctx, "sender panicked", slog.String("kind", string(kind)), slog.String("type", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
			message, err = "", errPanic
		}
	}()
	late := fmt.Errorf("timed out: not complete after %g s", SendTimeout.Seconds())
	ctx, cancel := context.WithTimeoutCause(ctx, SendTimeout, late)
	defer cancel()
	latest := in.Message.Alerts[len(in.Message.Alerts)-1]
	message, err = sender.Send(ctx, job.Execution{
		ID: in.Message.ID, Due: latest.Time, Repeat: 1, ActionName: "Notification", Job: latest.Job.Name, Collection: in.Message.Collection.Name,
	}, &action)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return message, err
}

// A RaiseInput says to which workflow alerts are sent. If it does not run, it is started.
type RaiseInput struct {
	Workflow string                `json:"id"`
	Type     string                `json:"type"`
	Summary  string                `json:"summary"`
	Start    any                   `json:"start"` // input of a started workflow
	Signal   string                `json:"signal"`
	Raised   []notification.Raised `json:"raised"`
}

// Raise hands alerts over to the workflow that delivers them.
func (a *Activities) Raise(ctx context.Context, in RaiseInput) error {
	_, err := activity.GetClient(ctx).SignalWithStartWorkflow(ctx, in.Workflow, in.Signal, in.Raised, client.StartWorkflowOptions{
		TaskQueue: activity.GetInfo(ctx).TaskQueue, StaticSummary: in.Summary,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, in.Type, in.Start)
	return err
}

// Targets returns the notifications of a collection with their secrets, by a query of its workflow; none if there is no such
// collection.
func (a *Activities) Targets(ctx context.Context, workflowID, query string) ([]job.Notification, error) {
	var list []job.Notification
	err := wfclient.NewQueries(activity.GetClient(ctx), activity.GetInfo(ctx).Namespace).Ask(ctx, workflowID, query, &list)
	if wfclient.IsGone(err) {
		return nil, nil
	}
	return list, err
}

// Failure returns what is known of a delivery that failed with an error of [Activities.Send].
func Failure(err error) (r Report) {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == ErrTypeFailed {
		_ = failed.Details(&r) // unreadable details leave the Report empty
		return r
	}
	r.Message = "no worker recorded the outcome; the message may have been sent"
	if text := strings.TrimSpace(err.Error()); errors.As(err, new(*temporal.ApplicationError)) {
		r.Message = redact.Cut(text, maxText)
	}
	return r
}
