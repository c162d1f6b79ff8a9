package scheduler

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
)

func missingJob(k job.Key) *job.Error {
	return job.NotFound("jobcollections/"+k.Collection.Name+"/jobs/"+k.Name, k.Collection.ResourceGroup)
}

// Job returns a job, without its secrets.
func (s *Service) Job(ctx context.Context, k job.Key) (job.Job, error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	var j job.Job
	_, err := s.ask(ctx, s.queries.Ask, k.WorkflowID(), &j)
	return j.At(s.now()), s.failToRead(ctx, err, k)
}

// jobToChange returns a job, without its secrets, and begins its workflow if that was started with a delay.
func (s *Service) jobToChange(ctx context.Context, k job.Key) (job.Job, error) {
	var j job.Job
	delayed, err := s.ask(ctx, s.queries.AskBeforeChange, k.WorkflowID(), &j)
	if err == nil && delayed != nil {
		err = s.begin(ctx, k.WorkflowID(), delayed)
	}
	return j.At(s.now()), s.failToRead(ctx, err, k)
}

// PutJob creates a job or replaces its definition. created reports which.
func (s *Service) PutJob(ctx context.Context, k job.Key, body []byte) (j job.Job, created bool, err error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, false, err
	}
	err = s.contend(ctx, func() error {
		current, err := s.jobToChange(ctx, k)
		if job.KindOf(err) == job.KindNotFound {
			c, err := s.rememberedCollection(ctx, k.Collection)
			if err != nil {
				return err
			}
			err = startInTime(ctx, func(ctx context.Context) (err error) {
				j, err = s.create(ctx, c, k, body)
				return err
			})
			created = err == nil
			return err
		}
		if err != nil {
			return err
		}
		if _, err := s.Collection(ctx, k.Collection); err != nil { // the collection may be in deletion, and its jobs with it
			return err
		}
		definition, err := job.ParseDefinition(body, s.parseOptions(&current))
		if err != nil {
			return err
		}
		j, err = s.replace(ctx, current, definition)
		if wfclient.IsGone(err) {
			return errLost // deleted in the meantime: create it
		}
		return err
	})
	err = s.fail(ctx, err, missingJob(k))
	if job.KindOf(err) == job.KindNotFound { // the job may be missing, so the collection is what was not found
		err = noCollectionYet(k.Collection)
	}
	return j, created, err
}

// noCollectionYet returns the error for a new job whose collection does not exist.
func noCollectionYet(k job.CollectionKey) *job.Error {
	e := missingCollection(k)
	e.Message += " Create the job collection first: PUT " + k.ARMID() + `?api-version=2016-03-01 with the body {"properties":{"sku":{"name":"Standard"}}}.`
	return e
}

// PostJob creates a job with a generated name, a UUID.
func (s *Service) PostJob(ctx context.Context, k job.CollectionKey, body []byte) (job.Job, error) {
	j, _, err := s.PutJob(ctx, k.Job(uuid.NewString()), body)
	return j, err
}

// PatchJob merges a patch into a job's definition.
func (s *Service) PatchJob(ctx context.Context, k job.Key, patch []byte) (j job.Job, err error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	err = s.contend(ctx, func() error {
		current, err := s.jobToChange(ctx, k)
		if err != nil {
			return err
		}
		definition, err := job.MergeDefinition(current.Definition, patch, s.parseOptions(&current))
		if err != nil {
			return err
		}
		j, err = s.replace(ctx, current, definition)
		return err
	})
	return j, s.fail(ctx, err, missingJob(k))
}

func (s *Service) parseOptions(current *job.Job) job.ParseOptions {
	return job.ParseOptions{
		Limits: s.limits, Now: s.now(), Created: current.Created, Stored: &current.Definition, ID: current.Key.ARMID(), Check: s.check,
	}
}

// create registers the job's name in its collection and starts its workflow. The name counts against the
// quota from then on. If the start fails, the collection forgets the name.
func (s *Service) create(ctx context.Context, c job.Collection, k job.Key, body []byte) (job.Job, error) {
	k.Collection = c.Key
	now := s.now()
	definition, err := job.ParseDefinition(body, job.ParseOptions{Limits: s.limits, Now: now, ID: k.ARMID(), Check: s.check})
	if err != nil {
		return job.Job{}, err
	}
	registered, err := s.registerJob(ctx, &c, workflows.RegisterJob{Name: k.Name, Requirements: definition.Requirements(now)})
	if err != nil {
		return job.Job{}, err
	}
	k.Name = registered.Name
	input, err := workflows.NewJob(k, definition, registered.CollectionDisabled, now)
	if err != nil {
		return job.Job{}, err
	}
	attributes := append(collectionAttributes(c.Key),
		temporal.NewSearchAttributeKeyKeyword(workflows.AttributeJob).ValueSet(job.NormalizeName(k.Name)),
		temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState).ValueSet(string(input.Definition.State)))
	err = s.start(ctx, client.StartWorkflowOptions{
		ID:                    k.WorkflowID(),
		StaticSummary:         definition.Text(),
		StaticDetails:         staticDetails(input.Snapshot()),
		Memo:                  map[string]any{workflows.MemoText: definition.Text(), workflows.MemoID: k.ARMID()},
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
		Priority:              temporal.Priority{FairnessKey: fairnessKey(k.Collection)},
		StartDelay:            startDelay(&input, registered.At),
	}, workflows.TypeJob, input)
	return input.Snapshot(), err
}

// staticDetails returns the details shown in the Temporal Web UI and CLI: the job's ARM ID and its first
// due time, which nothing else shows until the workflow begins.
func staticDetails(j job.Job) string {
	text := "`" + j.Key.ARMID() + "`"
	if first := j.Status.NextExecutionTime; first != nil {
		text += "\n\ncreated to run first at " + first.String()
	}
	return text
}

// fairnessKey returns a hash of the collection's workflow ID, since Temporal's limit is 64 bytes. If tasks
// queue up, the fairness key keeps one collection from starving the others.
func fairnessKey(k job.CollectionKey) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(k.WorkflowID())).String()
}

// replace replaces the definition of current, the job that the caller read. It fails if the job was changed
// since, or if its collection does not allow the new definition.
func (s *Service) replace(ctx context.Context, current job.Job, d job.Definition) (j job.Job, err error) {
	before, after := current.Definition.Requirements(current.Created), d.Requirements(current.Created)
	both := before.And(after)
	if both != before {
		if err := s.reserve(ctx, current, both, false); err != nil {
			return job.Job{}, err
		}
	}
	err = s.update(ctx, changeTimeout, current.Key.WorkflowID(), workflows.UpdateReplace, &j,
		workflows.ReplaceRequest{Definition: d, Text: d.Text(), Generation: current.Generation, Retarget: s.limits.AllowSecretRetargeting})
	j = j.At(s.now())
	if err != nil || both == after {
		return j, err
	}
	if err := s.reserve(ctx, current, after, true); err != nil {
		// The job is changed nevertheless. The collection counts the old requirements until the job's next
		// change; the only effect is that it may refuse a change of its plan.
		s.log.WarnContext(ctx, "the job collection was not told that a job requires less", "job", current.Key.ARMID(), "error", err)
	}
	return j, nil
}

// reserve sends the collection the requirements of the job's next definition. final means that the job has that
// definition already.
func (s *Service) reserve(ctx context.Context, current job.Job, requirements job.Requirements, final bool) error {
	c, err := s.Collection(ctx, current.Key.Collection)
	if err != nil {
		return err
	}
	return s.update(ctx, changeTimeout, c.Key.WorkflowID(), workflows.UpdateReserve, nil, workflows.ReserveRequest{
		Name: current.Key.Name, Requirements: requirements, Job: current.Generation + 1, Final: final,
		Limits: new(c.Properties.CollectionLimits(s.limits)), Generation: c.Generation,
	})
}

// RunJob starts a manual run of a job, in any state of the job and its collection. The error is of kind
// [job.KindConflict] if 50 manual runs of the job are running or waiting.
func (s *Service) RunJob(ctx context.Context, k job.Key) error {
	return s.command(ctx, k, workflows.UpdateRun)
}

func (s *Service) command(ctx context.Context, k job.Key, name string) error {
	if err := k.Validate(); err != nil {
		return err
	}
	// Query first. If the worker that last had the workflow does not answer, the query moves the workflow
	// to another one within 60 to 300 ms, and the update goes there too. The update alone would wait for
	// the first worker until the sticky timeout.
	if _, err := s.jobToChange(ctx, k); job.KindOf(err) == job.KindNotFound {
		return err
	}
	return s.fail(ctx, s.update(ctx, changeTimeout, k.WorkflowID(), name, nil), missingJob(k))
}

// Jobs returns a page of a collection's jobs, in order of creation, and the continuation, which is empty on
// the last page. If many jobs do not answer, the page has fewer entries than requested, or none, and still
// has a continuation.
func (s *Service) Jobs(ctx context.Context, k job.CollectionKey, p job.Page) (page []job.Job, next string, err error) {
	end := time.Now().Add(listTime)
	if err := k.Validate(); err != nil {
		return nil, "", err
	}
	if p, err = resume(p); err != nil {
		return nil, "", err
	}
	after := 0
	if p.After != "" {
		if after, err = strconv.Atoi(p.After); err != nil {
			return nil, "", badToken()
		}
	}
	var list workflows.JobList
	if err := s.queries.Ask(ctx, k.WorkflowID(), workflows.QueryJobs, &list); err != nil {
		return nil, "", s.fail(ctx, err, missingCollection(k))
	}
	k = list.Collection
	page, next, err = collect(ctx, s, p, lister[workflows.Listed, job.Job]{
		items:   slices.DeleteFunc(list.Jobs, func(l workflows.Listed) bool { return l.Sequence <= after }),
		end:     end,
		id:      func(l workflows.Listed) string { return k.Job(l.Name).WorkflowID() },
		unread:  func(l workflows.Listed, why string) job.Job { return job.Job{Key: k.Job(l.Name), Unread: why} },
		matches: p.Filter.MatchesJob,
		after:   func(l workflows.Listed) string { return strconv.Itoa(l.Sequence) },
	})
	now := s.now()
	for i := range page {
		page[i] = page[i].At(now)
	}
	return page, next, s.fail(ctx, err, nil)
}
