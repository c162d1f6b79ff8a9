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
	"net/http"
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

// SendTimeout is the time limit of an attempt to deliver a message, or of each post of one that has several. The activity's
// HeartbeatTimeout must be longer: there is a heartbeat after each post.
const SendTimeout = 10 * time.Second

// Counter is the name of the metric that counts messages by the kind of their target and their outcome, delivered or failed.
const Counter = "almanac_notifications"

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
		NonRetryable: permanent, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{report}, NextRetryDelay: pause(policy, err),
	})
}

// pause returns the time until the next attempt if the receiver asked for one that is longer than that of the policy; 0 otherwise.
func pause(policy *temporal.RetryPolicy, err error) time.Duration {
	asked, ok := errors.AsType[*activities.RetryAfterError](err)
	if !ok || policy != nil && asked.After <= policy.InitialInterval {
		return 0
	}
	return min(asked.After, activities.MaxRetryAfter)
}

func count(ctx context.Context, in *SendInput, outcome string) {
	tags := map[string]string{"kind": string(in.Target.Type.Kind()), "outcome": outcome}
	activity.GetMetricsHandler(ctx).WithTags(tags).Counter(Counter).Inc(1)
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

// send sends what earlier attempts have not sent of a message. The text is that of its last post.
func (a *Activities) send(ctx context.Context, in *SendInput) (message string, err error) {
	kind := in.Target.Type.Kind()
	sender, ok := a.Senders[kind]
	if kind == job.ActionPagerDuty {
		sender, ok = a.Senders[job.ActionHTTP]
	}
	switch {
	case !ok && kind == job.ActionEmail:
		return "", &activities.PermanentError{Err: errors.New("this worker sends no e-mail: start it with --smtp-server (ALMANAC_SMTP_SERVER)")}
	case !ok:
		return "", &activities.PermanentError{Err: fmt.Errorf("this worker sends nothing to targets of type %q", in.Target.Type)}
	}
	posts, err := in.Message.Posts(&in.Target)
	if err != nil {
		return "", &activities.PermanentError{Err: err}
	}
	made := 0 // by earlier attempts
	if activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &made) // what cannot be read is sent again
	}
	for i := min(made, len(posts)); i < len(posts); i++ {
		if message, err = a.post(ctx, sender, in, &posts[i]); err != nil {
			if len(posts) > 1 {
				err = &partError{i + 1, len(posts), err}
			}
			return message, err
		}
		if len(posts) > 1 {
			activity.RecordHeartbeat(ctx, i+1)
		}
	}
	return message, nil
}

// A partError is the failure of one of several posts.
type partError struct {
	number, of int
	err        error
}

func (e *partError) Error() string { return fmt.Sprintf("request %d of %d: %s", e.number, e.of, e.err) }

func (e *partError) Unwrap() error { return e.err }

// post makes one request, or sends one message.
func (a *Activities) post(ctx context.Context, sender activities.Sender, in *SendInput, p *notification.Post) (message string, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.Log.ErrorContext(ctx, "sender panicked", slog.String("kind", string(in.Target.Type.Kind())), slog.String("type", fmt.Sprintf("%T", v)), slog.String("stack", string(debug.Stack())))
			message, err = "", errPanic
		}
	}()
	late := fmt.Errorf("timed out: not complete after %g s", SendTimeout.Seconds())
	ctx, cancel := context.WithTimeoutCause(ctx, SendTimeout, late)
	defer cancel()
	latest := in.Message.Alerts[len(in.Message.Alerts)-1]
	message, err = sender.Send(ctx, job.Execution{
		ID: p.ID, Due: latest.Time, Repeat: 1, ActionName: "Notification", Job: latest.Job.Name, Collection: in.Message.Collection.Name,
	}, &p.Action)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	// PagerDuty never accepts an event that it answered with 400, by its documentation "Events API v2 Overview".
	if answered, ok := errors.AsType[*activities.AnsweredError](err); ok && p.Action.PagerDuty != nil && answered.Status == http.StatusBadRequest {
		err = &activities.PermanentError{Err: err}
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
