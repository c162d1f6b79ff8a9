// Package notify holds the activities that deliver alerts, and the [Courier], which brings them there.
//
// A delivery is made at least once, with the id of its message for the receiver to recognize duplicates. So it needs
// none of the protocol by which [activities.Runner] makes the attempts of an execution.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"almanac/activities"
	"almanac/internal/redact"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

// Names of the activity types.
const (
	TypeSend    = "SendNotification"
	TypeTargets = "NotificationTargets"
)

// SendTimeout is the time limit of an attempt to deliver a message, or of each post of one that has several.
const SendTimeout = 10 * time.Second

// HeartbeatTimeout is the heartbeat timeout of [TypeSend], whose attempts send a heartbeat each heartbeatInterval and
// after each post.
const (
	HeartbeatTimeout  = 10 * time.Second
	heartbeatInterval = 3 * time.Second
)

// Counter is the name of the metric that counts messages by the kind of their target and their outcome, delivered or
// failed.
const Counter = "almanac_notifications"

// LostCounter is the name of the metric that counts alerts that were dropped because there was no room for them, by
// where: in the job that raised them, or in the notifications of its collection.
const LostCounter = "almanac_alerts_lost"

// Activities are the activities. Senders and Log are required.
type Activities struct {
	Senders   map[kind.Type]Sender // by the type of a post
	Log       *slog.Logger
	PublicURL string // begins the links in messages, without a slash at its end; "" means that there are none
}

// A Sender sends one kind of post once. Its result is as that of an [activities.Sender].
type Sender interface {
	Send(ctx context.Context, e job.Execution, p *notification.Post) (message string, err error)
}

type actionSender struct{ activities.Sender }

func (s actionSender) Send(ctx context.Context, e job.Execution, p *notification.Post) (string, error) {
	return s.Sender.Send(ctx, e, &p.Action)
}

// Actions returns the senders of posts that are actions.
func Actions(all map[kind.Type]activities.Sender) map[kind.Type]Sender {
	posts := map[kind.Type]Sender{}
	for kind, sender := range all {
		posts[kind] = actionSender{sender}
	}
	return posts
}

// SendInput is the input of [Activities.Send].
type SendInput struct {
	Items []Item `json:"items"`
}

// An Item is a message and its target. One attempt is made to deliver it.
type Item struct {
	Name    string               `json:"name"` // of the notification
	Target  job.Target           `json:"target"`
	Message notification.Message `json:"message"`
	Attempt int                  `json:"attempt"`          // its number, from 1
	Last    bool                 `json:"last,omitempty"`   // no other follows
	Posted  int                  `json:"posted,omitempty"` // posts of the message that were accepted before
}

// IsTest reports whether the item is a test of the notification, with which no alert is lost.
func (in *Item) IsTest() bool { return in.Message.Alerts[0].Event == notification.EventTest }

// A Report is the result of an attempt.
type Report struct {
	Done      bool          `json:"done"` // the attempt ended; otherwise the report is one of how far it got
	Delivered bool          `json:"delivered,omitempty"`
	Final     bool          `json:"final,omitempty"`  // no further attempt can succeed
	Hung      bool          `json:"hung,omitempty"`   // the receiver did not answer in time
	Posted    int           `json:"posted,omitempty"` // posts of the message that were accepted so far
	Pause     time.Duration `json:"pause,omitempty"`  // the receiver asked for, until the next attempt
	Time      time.Time     `json:"time"`
	Message   string        `json:"message"` // what the receiver answered, or the error; without secrets
}

// Send makes an attempt to deliver each of some messages, all at once, and returns a report of each. Its heartbeats
// have the reports so far, with shorter messages: what is done is not done again if the worker crashes.
func (a *Activities) Send(ctx context.Context, in SendInput) ([]Report, error) {
	p := &progress{reports: make([]Report, len(in.Items))}
	if activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &p.reports) // what cannot be read is sent again
		p.reports = slices.Grow(p.reports, len(in.Items))[:len(in.Items)]
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go p.beat(ctx)
	var attempts sync.WaitGroup
	for i := range in.Items {
		if p.reports[i].Done {
			continue
		}
		item := &in.Items[i]
		item.Posted = max(item.Posted, p.reports[i].Posted)
		attempts.Go(func() {
			a.attempt(ctx, item, func(r Report) { p.set(ctx, i, r) })
		})
	}
	attempts.Wait()
	return p.reports, nil
}

// A progress is what is known of the attempts of an activity.
type progress struct {
	mu      sync.Mutex
	reports []Report
}

func (p *progress) set(ctx context.Context, i int, r Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports[i] = r
	if len(p.reports) > 1 || !r.Done {
		activity.RecordHeartbeat(ctx, p.short())
	}
}

// maxProgress is the size limit of a message in a heartbeat, in bytes. The server keeps the last heartbeat of each
// activity in the record of the workflow, which is limited to 8 MB.
const maxProgress = 60

// short returns the reports as a heartbeat has them.
func (p *progress) short() []Report {
	short := slices.Clone(p.reports)
	for i := range short {
		short[i].Message = redact.Cut(short[i].Message, maxProgress)
	}
	return short
}

// beat sends heartbeats until the context is done.
func (p *progress) beat(ctx context.Context) {
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.mu.Lock()
			activity.RecordHeartbeat(ctx, p.short())
			p.mu.Unlock()
		}
	}
}

// attempt makes an attempt, and reports each post that was accepted and at last the result.
func (a *Activities) attempt(ctx context.Context, in *Item, report func(Report)) {
	message, err := a.send(ctx, in, func() { report(Report{Posted: in.Posted}) })
	r := Report{Done: true, Delivered: err == nil, Posted: in.Posted, Time: time.Now().UTC(), Message: redact.Cut(message, job.MaxError)}
	if err != nil {
		_, r.Final = errors.AsType[*activities.PermanentError](err)
		_, r.Hung = errors.AsType[*timeoutError](err)
		if asked, ok := errors.AsType[*activities.RetryAfterError](err); ok {
			r.Pause = min(asked.After, activities.MaxRetryAfter)
		}
		r.Message = redact.Cut(activities.ReasonOf(err), job.MaxError)
	}
	a.log(ctx, in, err, r.Final || in.Last)
	switch {
	case r.Delivered:
		count(ctx, in, "delivered")
	case r.Final || in.Last:
		count(ctx, in, "failed")
	}
	report(r)
}

func count(ctx context.Context, in *Item, outcome string) {
	tags := map[string]string{"kind": string(in.Target.Type.Kind()), "outcome": outcome}
	activity.GetMetricsHandler(ctx).WithTags(tags).Counter(Counter).Inc(1)
}

func (a *Activities) log(ctx context.Context, in *Item, err error, last bool) {
	level, text := slog.LevelDebug, "notification delivered"
	attributes := []slog.Attr{
		slog.String("collection", in.Message.Collection.Name), slog.String("notification", in.Name), slog.String("target", in.Target.Text()),
		slog.String("message", in.Message.ID), slog.Int("alerts", in.Message.Total()), slog.Int("attempt", in.Attempt),
	}
	switch {
	case err != nil && in.IsTest():
		level, text = slog.LevelInfo, "test of a notification failed" // whoever asked for it gets the result
	case err != nil && last:
		level, text = slog.LevelWarn, "notification failed; its alerts are lost"
	case err != nil:
		level, text = slog.LevelInfo, "notification failed, and is sent again"
	}
	if err != nil {
		attributes = append(attributes, slog.String("error", redact.Cut(activities.ReasonOf(err), job.MaxError)))
	}
	a.Log.LogAttrs(ctx, level, text, attributes...)
}

// errPanic is the error of a sender that panicked, whose text may hold secrets.
var errPanic = errors.New("an internal error of Almanac, described in its log, ended the attempt; the message may have been sent")

// send sends what earlier attempts have not sent of a message, and calls posted after each of several posts. The text
// is that of its last post.
func (a *Activities) send(ctx context.Context, in *Item, posted func()) (message string, err error) {
	m := in.Message
	m.PublicURL = a.PublicURL
	posts, err := m.Posts(&in.Target)
	if err != nil {
		return "", &activities.PermanentError{Err: err}
	}
	for in.Posted < len(posts) {
		if message, err = a.post(ctx, in, &posts[in.Posted]); err != nil {
			if len(posts) > 1 {
				err = partFailed(in.Posted+1, len(posts), err)
			}
			return message, err
		}
		if in.Posted++; len(posts) > 1 {
			posted()
		}
	}
	return message, nil
}

// A timeoutError says that a receiver did not answer in time.
type timeoutError struct{}

func (*timeoutError) Error() string {
	return fmt.Sprintf("timed out: not complete after %g s", SendTimeout.Seconds())
}

// partFailed returns the failure of one of several posts.
func partFailed(number, of int, err error) error {
	return &activities.ReasonError{Reason: fmt.Sprintf("request %d of %d: %s", number, of, activities.ReasonOf(err)), Err: err}
}

// post makes one request, or sends one message.
func (a *Activities) post(ctx context.Context, in *Item, p *notification.Post) (message string, err error) {
	sender, ok := a.Senders[p.Type]
	if !ok {
		return "", &activities.PermanentError{Err: fmt.Errorf("this worker sends nothing to targets of type %q", in.Target.Type)}
	}
	defer func() {
		if v := recover(); v != nil {
			a.Log.ErrorContext(ctx, "sender panicked", slog.String("kind", string(in.Target.Type.Kind())),
				slog.String("type", fmt.Sprintf("%T", v)), slog.String("stack", string(debug.Stack())))
			message, err = "", errPanic
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, SendTimeout, &timeoutError{})
	defer cancel()
	latest := in.Message.Alerts[len(in.Message.Alerts)-1]
	message, err = sender.Send(ctx, job.Execution{
		ID: p.ID, Due: latest.Time, Repeat: 1, ActionName: "Notification", Job: latest.Job.Name, Collection: in.Message.Collection.Name,
	}, p)
	if err != nil && ctx.Err() != nil {
		err = activities.EndedBy(context.Cause(ctx), err)
	}
	if answered, ok := errors.AsType[*activities.AnsweredError](err); ok && answered.Status == p.FinalStatus && answered.Status != 0 {
		err = &activities.PermanentError{Err: err}
	}
	return message, err
}

// Targets returns the notifications of a collection with their secrets, by a query of its workflow; none if there is no
// such collection.
func (a *Activities) Targets(ctx context.Context, workflowID, query string) ([]job.Notification, error) {
	var list []job.Notification
	err := wfclient.NewQueries(activity.GetClient(ctx), activity.GetInfo(ctx).Namespace).Ask(ctx, workflowID, query, &list)
	if wfclient.IsGone(err) {
		return nil, nil
	}
	return list, err
}
