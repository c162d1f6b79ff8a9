// Package trail reads the changes of jobs and job collections from the event histories of the workflows that made
// them. No event is written for it, and it goes back as far as the namespace's retention.
// [almanac/internal/audit/header] has put the actors there.
package trail

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/internal/audit"
	"almanac/internal/audit/header"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// A Reader reads the changes of jobs and job collections. It is safe for concurrent use.
type Reader struct{ core *core.Client }

// New returns a Reader.
func New(c *core.Client) *Reader { return &Reader{core: c} }

// Job returns a page of the changes of a job, newest first, and its continuation, which is empty on the last page.
// The job may be deleted. The error is a [serviceerror.NotFound] if there was no job with that name within the
// namespace's retention, and [core.BadToken] if the page is after no entry of this list.
func (r *Reader) Job(ctx context.Context, k job.Key, p listing.Page) ([]audit.Change, string, error) {
	return r.read(ctx, k.WorkflowID(), p, func() subject { return &jobSubject{} })
}

// Collection is [Reader.Job] for a job collection. The changes of its jobs are not among its changes.
func (r *Reader) Collection(ctx context.Context, k job.CollectionKey, p listing.Page) ([]audit.Change, string, error) {
	return r.read(ctx, k.WorkflowID(), p, func() subject { return &collectionSubject{} })
}

func (r *Reader) read(
	ctx context.Context, workflowID string, p listing.Page, newSubject func() subject,
) ([]audit.Change, string, error) {
	after, event, err := parsePosition(p.After)
	if err != nil {
		return nil, "", err
	}
	runID := after
	if runID == "" {
		found, err := r.core.Temporal.DescribeWorkflowExecution(ctx, workflowID, "")
		if err != nil {
			return nil, "", err
		}
		runID = found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	var changes []audit.Change
	for runID != "" && len(changes) <= p.Skip+p.Top {
		run := runReader{Reader: r, workflowID: workflowID, runID: runID, subject: newSubject()}
		earlier, err := run.read(ctx)
		if wfclient.IsNotFound(err) {
			break // the retention of closed runs is over
		}
		if err != nil {
			return nil, "", err
		}
		if runID == after {
			run.changes = slices.DeleteFunc(run.changes, func(c change) bool { return c.event >= event })
		}
		for _, c := range slices.Backward(run.changes) {
			changes = append(changes, c.Change)
		}
		runID = earlier
	}
	page := changes[min(p.Skip, len(changes)):]
	if len(page) <= p.Top {
		return page, "", nil
	}
	page = page[:p.Top]
	return page, page[p.Top-1].ID, nil
}

// position returns the [audit.Change.ID] of a change: the run and the event that began it.
func position(runID string, event int64) string { return runID + "." + strconv.FormatInt(event, 10) }

// parsePosition is the inverse of position. "" is before all changes.
func parsePosition(text string) (runID string, event int64, err error) {
	if text == "" {
		return "", 0, nil
	}
	runID, number, _ := strings.Cut(text, ".")
	event, err = strconv.ParseInt(number, 10, 64)
	if err != nil || uuid.Validate(runID) != nil {
		return "", 0, core.BadToken()
	}
	return runID, event, nil
}

// A change is an entry, the event that began it, and what decides what it changed.
type change struct {
	audit.Change
	event  int64
	update update

	after snapshot         // of the job after the change
	moved *plan.Moved      // by which it was planned again with other time zones
	skip  *job.SkipRequest // of an update that skips occurrences
}

// An update is an update of a workflow that has been accepted, or a signal.
type update struct {
	name string
	args *common.Payloads
}

// A runReader reads the changes in one run of a workflow.
type runReader struct {
	*Reader
	workflowID string
	runID      string
	subject    subject

	changes []change // in the order of their events
}

// read reads the run, and returns the run to read next, which is empty if there is none.
func (r *runReader) read(ctx context.Context) (earlier string, err error) {
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: r.core.Namespace, Execution: &common.WorkflowExecution{WorkflowId: r.workflowID, RunId: r.runID},
	}
	for {
		page, err := r.core.Temporal.WorkflowService().GetWorkflowExecutionHistory(ctx, request)
		if err != nil {
			return "", err
		}
		for _, e := range page.GetHistory().GetEvents() {
			if started := e.GetWorkflowExecutionStartedEventAttributes(); started != nil {
				earlier = r.started(e, started)
			} else {
				r.event(e)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return earlier, nil
		}
	}
}

func (r *runReader) started(
	e *history.HistoryEvent, a *history.WorkflowExecutionStartedEventAttributes,
) (earlier string) {
	earlier = r.subject.start(r.decoder(a.GetInput()))
	if previous := a.GetContinuedExecutionRunId(); previous != "" {
		if earlier == "" { // the run does not say which earlier one was changed
			earlier = previous
		}
		return earlier
	}
	r.add(e, change{Change: audit.Change{
		Operation: r.subject.created(), Status: audit.Succeeded, Actor: r.actor(a.GetHeader()), Client: a.GetIdentity(),
	}})
	return ""
}

func (r *runReader) event(e *history.HistoryEvent) {
	switch {
	case e.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil:
		a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest()
		u := update{a.GetInput().GetName(), a.GetInput().GetArgs()}
		if operation := r.subject.operation(u.name, r.decoder(u.args)); operation != "" {
			r.add(e, change{update: u, skip: r.skipOf(&u), Change: audit.Change{
				Operation: operation, Status: audit.Started, Actor: r.actor(a.GetInput().GetHeader()),
				Client: a.GetMeta().GetIdentity(),
			}})
		}
	case e.GetWorkflowExecutionUpdateCompletedEventAttributes() != nil:
		a := e.GetWorkflowExecutionUpdateCompletedEventAttributes()
		i := slices.IndexFunc(r.changes, func(c change) bool { return c.event == a.GetAcceptedEventId() })
		if i < 0 {
			return
		}
		c := &r.changes[i]
		if failure := a.GetOutcome().GetFailure(); failure != nil {
			c.Status, c.Message = audit.Failed, wfclient.ErrorOf(r.core.Converter, r.workflowID, failure).Error()
			return
		}
		if c.update.name == workflows.UpdateRerun && !started(r.decoder(a.GetOutcome().GetSuccess())) {
			r.changes = slices.Delete(r.changes, i, i+1)
			return
		}
		c.Status, c.Differences = audit.Succeeded, r.subject.apply(c.update.name, r.decoder(c.update.args))
		c.after = snapshotOf(r.subject)
		if text := r.promised(&c.update); text != "" {
			c.Message = text
		}
		if text := r.backfilled(&c.update); text != "" {
			c.Message = text
		}
		if c.skip != nil {
			c.Message = c.skip.Text(c.update.name == workflows.UpdateUnskip)
		}
		if c.update.name == workflows.UpdateAdmitTry {
			var name string
			r.decoder(c.update.args)(&name)
			c.Message = "The action of the job '" + name + "' was tried, and not saved."
		}
	case e.GetWorkflowExecutionSignaledEventAttributes() != nil:
		a := e.GetWorkflowExecutionSignaledEventAttributes()
		if operation := r.subject.operation(a.GetSignalName(), nothing); operation != "" {
			r.subject.apply(a.GetSignalName(), nothing)
			r.add(e, change{Change: audit.Change{
				Operation: operation, Status: audit.Succeeded, Message: "It was asked for by a signal, which has no answer.",
				Client: a.GetIdentity(),
			}})
		}
	case e.GetMarkerRecordedEventAttributes().GetMarkerName() == "SideEffect":
		r.replanned(e)
	case e.GetWorkflowPropertiesModifiedEventAttributes() != nil:
		r.halted(e, e.GetWorkflowPropertiesModifiedEventAttributes().GetUpsertedMemo().GetFields()[workflows.MemoHalted])
	case e.GetWorkflowExecutionCancelRequestedEventAttributes() != nil:
		a := e.GetWorkflowExecutionCancelRequestedEventAttributes()
		r.add(e, change{Change: audit.Change{
			Operation: r.subject.removed(), Status: audit.Succeeded, Message: "The workflow was cancelled.",
			Client: a.GetIdentity(),
		}})
	case e.GetWorkflowExecutionTerminatedEventAttributes() != nil:
		a := e.GetWorkflowExecutionTerminatedEventAttributes()
		r.add(e, change{Change: audit.Change{
			Operation: r.subject.removed(), Status: audit.Succeeded, Message: "The workflow was terminated: " + a.GetReason(),
			Client: a.GetIdentity(),
		}})
	}
}

// promised says what a request to enable or disable promised; "" if that is nothing, or it is another one.
func (r *runReader) promised(u *update) string {
	if u.name != workflows.UpdateEnable && u.name != workflows.UpdateDisable {
		return ""
	}
	var s workflows.StateRequest
	if r.decoder(u.args)(&s); s.Promise == (job.Promise{}) {
		return ""
	}
	text := s.Text()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// backfilled says what a request did to a backfill; "" if it is another one.
func (r *runReader) backfilled(u *update) string {
	switch u.name {
	case workflows.UpdateBackfill:
		var b job.BackfillRequest
		r.decoder(u.args)(&b)
		return "The backfill '" + b.Name + "' runs what was due from " + job.NewTime(b.From).String() + " until " + job.NewTime(b.Until).String() + "."
	case workflows.UpdateChangeBackfill:
		var b workflows.BackfillChange
		r.decoder(u.args)(&b)
		return "The backfill '" + b.Name + "' was to " + string(b.Action) + "."
	}
	return ""
}

// skipOf returns which occurrences an update skips, or skips no more; nil if it is another one.
func (r *runReader) skipOf(u *update) *job.SkipRequest {
	if u.name != workflows.UpdateSkip && u.name != workflows.UpdateUnskip {
		return nil
	}
	s := new(job.SkipRequest)
	r.decoder(u.args)(s)
	return s
}

// halted adds the change by which a job has disabled itself after failures, if its memo got the reason.
func (r *runReader) halted(e *history.HistoryEvent, reason *common.Payload) {
	var why string
	if reason == nil {
		return
	}
	if r.decoder(&common.Payloads{Payloads: []*common.Payload{reason}})(&why); why == "" {
		return // the reason is gone: the job was enabled, which is a change of its own
	}
	r.add(e, change{Change: audit.Change{
		Operation: audit.DisableJob, Status: audit.Succeeded, Message: why, Actor: audit.Actor{Caller: audit.Itself},
		Differences: r.subject.apply(workflows.UpdateDisable, nothing),
	}})
}

// replanned adds the change by which a job was planned again with other time zones, if a side effect recorded one.
func (r *runReader) replanned(e *history.HistoryEvent) {
	var p plan.Plan
	data := e.GetMarkerRecordedEventAttributes().GetDetails()["data"]
	err := wfclient.ConverterFor(r.core.Converter, r.workflowID).FromPayloads(data, &p)
	if err == nil && p.Released != nil {
		r.paused(e, p.Released)
		return
	}
	if err != nil || p.Moved == nil || p.Zone == nil { // other side effects record other values
		return
	}
	due := func(t time.Time) string {
		if t.IsZero() {
			return "none"
		}
		return t.UTC().Format(time.RFC3339)
	}
	r.add(e, change{moved: p.Moved, Change: audit.Change{
		Operation: audit.PlanJob, Status: audit.Succeeded, Actor: audit.Actor{Caller: audit.Itself},
		Message: "The job was planned again with the time zones of " + p.Zone.Release +
			", before with those of " + p.Moved.Release +
			"; next occurrence: " + due(p.Moved.Is) + ", before: " + due(p.Moved.Was) + ".",
	}})
}

// paused adds the change by which a pause has ended by itself.
func (r *runReader) paused(e *history.HistoryEvent, ended *plan.Released) {
	operation, name, arg := audit.EnableJob, workflows.UpdateEnable, nothing
	if ended.Collection {
		operation = audit.EnableCollection
		if _, ofJob := r.subject.(*jobSubject); ofJob {
			name, arg = workflows.UpdateCollection, func(v any) {
				if c, ok := v.(*workflows.CollectionState); ok {
					c.Generation = math.MaxInt
				}
			}
		}
	}
	r.add(e, change{Change: audit.Change{
		Operation: operation, Status: audit.Succeeded, Actor: audit.Actor{Caller: audit.Itself},
		Message:     "The time was over for which it was disabled, until " + ended.Until.UTC().Format(time.RFC3339) + ".",
		Differences: r.subject.apply(name, arg),
	}})
}

func (r *runReader) add(e *history.HistoryEvent, c change) {
	c.ID, c.Time, c.event = position(r.runID, e.GetEventId()), e.GetEventTime().AsTime(), e.GetEventId()
	c.after = snapshotOf(r.subject)
	r.changes = append(r.changes, c)
}

// actor returns the actor in a header; the zero actor if there is none, or it cannot be read.
func (r *runReader) actor(h *common.Header) audit.Actor {
	a, err := header.Actor(r.core.Converter, r.workflowID, h.GetFields())
	if err != nil {
		r.core.Log.Warn("the actor of a change cannot be decoded", "workflow", r.workflowID, "error", err)
	}
	return a
}

// started reports whether a request to run a job again has started a manual run.
func started(answer decoder) bool {
	var a job.RerunAnswer
	answer(&a)
	return a.Status == job.RerunStarted
}

// A decoder decodes one value. It leaves the value as it is if there is none, or it cannot be read: a list with most
// of its facts is better than none.
type decoder func(value any)

func nothing(any) {}

func (r *runReader) decoder(payloads *common.Payloads) decoder {
	return func(value any) {
		if len(payloads.GetPayloads()) == 0 {
			return
		}
		if err := wfclient.ConverterFor(r.core.Converter, r.workflowID).FromPayloads(payloads, value); err != nil {
			r.core.Log.Warn("a payload of a change cannot be decoded", "workflow", r.workflowID, "error", err)
		}
	}
}
