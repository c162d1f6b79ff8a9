package scheduler

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/activities"
	"almanac/internal/audit"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/explain"
	"almanac/job/listing"
	"almanac/job/presence"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// maxChanges is how many changes of a job collection are read at most to find who disabled it.
const maxChanges = 1000

// Explain says why the occurrence of a job that was due at a time ran late or not at all, or whether one to come will
// run. It returns the job's key with the names as they were first written.
func (s *Service) Explain(ctx context.Context, k job.Key, q explain.Question) (a explain.Answer, found job.Key, err error) {
	if err := k.Validate(); err != nil {
		return a, k, err
	}
	ctx, cancel := context.WithTimeout(ctx, core.HistoryTimeout)
	defer cancel()
	f := explain.Facts{Now: s.core.Now().UTC(), Uses: func(r *job.Recurrence) ([]calendars.Use, error) {
		return s.CalendarUses(ctx, k.Collection, r)
	}}
	if err := s.jobToExplain(ctx, k, &f); err != nil {
		return a, k, err
	}
	f.At, f.Local = q.Time(zoneOf(&f.Job.Definition))
	if q == (explain.Question{}) {
		f.At = s.latest(ctx, &f.Job, f.Now)
	}
	err = s.gather(ctx, &f)
	return explain.Why(&f), f.Job.Key, s.core.Error(ctx, err, core.MissingJob(k))
}

// explainPatience is how long a job is asked for its state. If no worker answers by then, the explanation does without.
const explainPatience = 8 * time.Second

// jobToExplain reads a job or, if its workflow does not answer, what Temporal's server has of it.
func (s *Service) jobToExplain(ctx context.Context, k job.Key, f *explain.Facts) error {
	asked, cancel := context.WithTimeout(ctx, explainPatience)
	defer cancel()
	j := job.Job{}
	answered, err := s.core.StatusBy(asked, k.WorkflowID(), &j)
	if err != nil && !wfclient.IsGone(err) && ctx.Err() == nil {
		found, errServer := s.unansweredJob(ctx, k)
		if errServer == nil {
			s.core.Log.InfoContext(ctx, "a job did not answer, and is explained without", slog.String("job", k.ARMID()), slog.Any("error", err))
			f.Job, f.Unanswered = found, true
			f.Unread = append(f.Unread, "the state of the job, since no worker answered for it")
			return nil
		}
	}
	if err != nil {
		return s.core.ReadError(ctx, err, k)
	}
	running := j.Running
	j = j.At(f.Now)
	s.showFailures(ctx, &j)
	s.explain(ctx, j.Key.Collection, &j)
	j.Running = running
	f.Job, f.Answered = j, answered
	return nil
}

// unansweredJob returns what the outline of a job says of it.
func (s *Service) unansweredJob(ctx context.Context, k job.Key) (job.Job, error) {
	found, err := s.core.Temporal.DescribeWorkflowExecution(ctx, k.WorkflowID(), "")
	if err != nil {
		return job.Job{}, err
	}
	info := found.GetWorkflowExecutionInfo()
	memo, decode := info.GetMemo().GetFields(), wfclient.ConverterFor(s.core.Converter, k.WorkflowID())
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || memo[workflows.MemoOutline] == nil {
		return job.Job{}, core.MissingJob(k)
	}
	var o job.Outline
	if err := decode.FromPayload(memo[workflows.MemoOutline], &o); err != nil {
		return job.Job{}, err
	}
	j := job.Job{
		Key: k, Created: o.Created, Generation: o.Generation, Skips: o.Skips, SkipWindows: o.SkipWindows, CollectionDisabled: o.Inactive && !o.Disabled,
		Definition: job.Definition{StartTime: o.StartTime, Recurrence: o.Recurrence, State: o.State},
	}
	if number := memo[workflows.MemoRegistration]; number != nil {
		_ = decode.FromPayload(number, &j.Registration) // else no name of an execution is known
	}
	return j, nil
}

// latest returns when the latest occurrence of a job was due; when the first one will be if none was.
func (s *Service) latest(ctx context.Context, j *job.Job, now time.Time) time.Time {
	t, err := s.timetableOf(ctx, j)
	if err != nil {
		return now.Truncate(time.Second)
	}
	if last, ok := t.Last(now); ok {
		return last
	}
	if next, ok := t.After(now); ok {
		return next
	}
	return now.Truncate(time.Second)
}

// zoneOf returns the zone of a job; UTC if it has none.
func zoneOf(d *job.Definition) *time.Location {
	if d.Recurrence != nil && d.Recurrence.TimeZone != "" {
		if zone, err := recurrence.LoadLocation(d.Recurrence.TimeZone); err == nil {
			return zone
		}
	}
	return time.UTC
}

// gather reads what is recorded around the time. What cannot be read beside the job's own history is noted.
func (s *Service) gather(ctx context.Context, f *explain.Facts) (err error) {
	k := f.Job.Key
	described, err := s.core.Temporal.DescribeWorkflowExecution(ctx, k.WorkflowID(), "")
	if err != nil {
		return err
	}
	if f.Records, f.Complete, err = s.history.Around(ctx, described, f.At, f.Now, f.Job.Definition.Action.RetryPolicy.Attempts()); err != nil {
		return err
	}
	back := f.At
	if skippedIn(f) {
		back = f.Job.Created // it may have been skipped long before
	}
	if f.Versions, f.FromStart, err = s.trail.Versions(ctx, k, back); err != nil {
		return err
	}
	if f.Unanswered && len(f.Versions) > 0 {
		f.Job.Definition, f.Job.CollectionDisabled = f.Versions[0].Definition, f.Versions[0].CollectionDisabled
	}
	f.Standing = s.standing(ctx, &f.Job, described, f.At, f.Now)
	unread := func(what string, err error) {
		f.Unread = append(f.Unread, what)
		s.core.Log.WarnContext(ctx, "a fact of an explanation could not be read", slog.String("job", k.ARMID()), slog.String("fact", what), slog.Any("error", err))
	}
	if log, err := s.workers.Read(ctx); err != nil {
		unread("which workers were there", err)
	} else {
		f.Workers = new(presence.Log)
		*f.Workers = log
	}
	if slices.ContainsFunc(f.Versions, func(v explain.Version) bool { return v.CollectionDisabled }) ||
		slices.ContainsFunc(f.Records, func(r job.Record) bool { return r.WhyNot == job.WhyCollectionChanged }) {
		if f.Collection, err = s.collectionChanges(ctx, k.Collection); err != nil {
			unread("the changes of the job collection", err)
		}
	}
	return nil
}

// skippedIn reports whether the occurrence is or was skipped by a request.
func skippedIn(f *explain.Facts) bool {
	return job.Skipped(f.At, f.Job.Skips, f.Job.SkipWindows) ||
		slices.ContainsFunc(f.Records, func(r job.Record) bool { return r.WhyNot == job.WhySkipped })
}

// collectionChanges returns the newest changes of a collection.
func (s *Service) collectionChanges(ctx context.Context, k job.CollectionKey) (all []audit.Change, err error) {
	all, _, err = s.trail.Collection(ctx, k, listing.Page{Top: maxChanges})
	return all, err
}

// standing returns how the execution stands that was due at a time; nil if none is being executed.
func (s *Service) standing(
	ctx context.Context, j *job.Job, described *workflowservice.DescribeWorkflowExecutionResponse, at, now time.Time,
) *explain.Standing {
	if j.Running == nil {
		return nil
	}
	i := slices.IndexFunc(j.Running.Executions, func(o job.Ongoing) bool { return o.Due.Truncate(time.Second).Equal(at) })
	if i < 0 {
		return nil
	}
	o := &j.Running.Executions[i]
	name := job.ExecutionName(j.Registration, o.Repeat)
	p := s.pendingOf(ctx, j.Key.WorkflowID(), described)[o.Activity]
	st := standingOf(name, o, p, now)
	return &explain.Standing{
		Name: name, Stage: st.stage, Reason: st.reason, Retry: st.retry,
		Full: p != nil && st.stage == job.StageWaiting && activities.SaysPutOff(p.unsent),
	}
}
