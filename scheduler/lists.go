package scheduler

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"almanac/internal/audit"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/pages"
	"almanac/workflows"
)

// Jobs returns a page of a collection's jobs, in order of creation, and the continuation, which is empty on
// the last page. If many jobs do not answer, the page has fewer entries than requested, or none, and still
// has a continuation.
func (s *Service) Jobs(
	ctx context.Context, k job.CollectionKey, p listing.Page,
) (page []job.Job, next string, err error) {
	deadline := pages.Deadline()
	if err := k.Validate(); err != nil {
		return nil, "", err
	}
	of := "jobs " + k.WorkflowID()
	if p, err = pages.Resume(of, p); err != nil {
		return nil, "", err
	}
	after := 0
	if p.After != "" {
		if after, err = strconv.Atoi(p.After); err != nil {
			return nil, "", core.BadToken()
		}
	}
	var list workflows.JobList
	if err := s.core.AskOnce(ctx, k.WorkflowID(), workflows.QueryJobs, &list); err != nil {
		return nil, "", s.core.Error(ctx, err, core.MissingCollection(k))
	}
	k = list.Collection
	now := s.core.Now()
	page, next, err = pages.Read(ctx, s.core, p, pages.Source[workflows.Listed, job.Job]{
		List: of,
		Items: slices.DeleteFunc(list.Jobs, func(l workflows.Listed) bool {
			return l.Sequence <= after || !p.Filter.MatchesName(l.Name) || !p.ShowsJob(k.Job(l.Name))
		}),
		Deadline:   deadline,
		ID:         func(l workflows.Listed) string { return k.Job(l.Name).WorkflowID() },
		Unreadable: func(l workflows.Listed, why string) job.Job { return job.Job{Key: k.Job(l.Name), Unread: why} },
		Matches: func(j *job.Job) bool {
			*j = j.At(now)
			return p.Filter.MatchesJob(j)
		},
		Continuation: func(l workflows.Listed) string { return strconv.Itoa(l.Sequence) },
	})
	listed := make([]*job.Job, len(page))
	for i := range page {
		listed[i] = &page[i]
	}
	wfclient.Each(len(listed), func(i int) { s.showFailures(ctx, listed[i]) })
	s.explain(ctx, k, listed...)
	return page, next, s.core.Error(ctx, err, nil)
}

// Collections returns a page of the collections of a subscription, or of one of its resource groups if
// resourceGroup is not empty. They are sorted by name, then by resource group. The continuation is empty on
// the last page. If many collections do not answer, the page is short, as in [Service.Jobs].
func (s *Service) Collections(
	ctx context.Context, subscription, resourceGroup string, p listing.Page,
) (page []job.Collection, next string, err error) {
	deadline := pages.Deadline()
	of := "collections " + job.NormalizeName(subscription+"/"+resourceGroup)
	if p, err = pages.Resume(of, p); err != nil {
		return nil, "", err
	}
	after, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil {
		return nil, "", core.BadToken()
	}
	var paths []string
	err = s.core.AskOnce(ctx, job.SubscriptionWorkflowID(subscription), workflows.QueryCollections, &paths)
	if err != nil && !wfclient.IsGone(err) {
		return nil, "", s.core.Error(ctx, err, nil)
	}
	byName := func(a, b string) int {
		groupA, nameA, _ := strings.Cut(job.NormalizeName(a), "/")
		groupB, nameB, _ := strings.Cut(job.NormalizeName(b), "/")
		return cmp.Or(strings.Compare(nameA, nameB), strings.Compare(groupA, groupB))
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		group, name, _ := strings.Cut(path, "/")
		return resourceGroup != "" && job.NormalizeName(group) != job.NormalizeName(resourceGroup) ||
			len(after) > 0 && byName(path, string(after)) <= 0 ||
			!p.ShowsCollection(job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: name})
	})
	slices.SortFunc(paths, byName)
	page, next, err = pages.Read(ctx, s.core, p, pages.Source[string, job.Collection]{
		List:     of,
		Items:    paths,
		Deadline: deadline,
		ID:       func(path string) string { return job.CollectionWorkflowID(subscription, path) },
		Unreadable: func(path, why string) job.Collection {
			group, name, _ := strings.Cut(path, "/")
			return job.Collection{
				Key: job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: name}, Unread: why,
			}
		},
		Matches:      func(*job.Collection) bool { return true },
		Continuation: func(path string) string { return base64.RawURLEncoding.EncodeToString([]byte(path)) },
	})
	return page, next, s.core.Error(ctx, err, nil)
}

// History returns a page of a job's history, newest first, and its continuation, which is empty on the last
// page. It goes back as far as the namespace's retention.
func (s *Service) History(ctx context.Context, k job.Key, p listing.Page) ([]job.Record, string, error) {
	if err := k.Validate(); err != nil {
		return nil, "", err
	}
	list := core.List{Name: "history " + k.WorkflowID(), Missing: core.MissingJob(k)}
	return core.ReadPage(ctx, s.core, list, p, func(ctx context.Context, p listing.Page) ([]job.Record, string, error) {
		return s.history.Read(ctx, k.WorkflowID(), p)
	})
}

// JobChanges returns a page of the changes of a job, newest first, and its continuation, which is empty on the last
// page. It goes back as far as the namespace's retention; the job may be deleted.
func (s *Service) JobChanges(ctx context.Context, k job.Key, p listing.Page) ([]audit.Change, string, error) {
	if err := k.Validate(); err != nil {
		return nil, "", err
	}
	list := core.List{Name: "changes " + k.WorkflowID(), Missing: core.MissingJob(k)}
	return core.ReadPage(ctx, s.core, list, p, func(ctx context.Context, p listing.Page) ([]audit.Change, string, error) {
		return s.trail.Job(ctx, k, p)
	})
}

// CollectionChanges is [Service.JobChanges] for a job collection, without the changes of its jobs.
func (s *Service) CollectionChanges(
	ctx context.Context, k job.CollectionKey, p listing.Page,
) ([]audit.Change, string, error) {
	if err := k.Validate(); err != nil {
		return nil, "", err
	}
	list := core.List{Name: "changes " + k.WorkflowID(), Missing: core.MissingCollection(k)}
	return core.ReadPage(ctx, s.core, list, p, func(ctx context.Context, p listing.Page) ([]audit.Change, string, error) {
		return s.trail.Collection(ctx, k, p)
	})
}

// explain names the state of the collection in the status of jobs for which it is why nothing is next.
func (s *Service) explain(ctx context.Context, k job.CollectionKey, jobs ...*job.Job) {
	jobs = slices.DeleteFunc(jobs, func(j *job.Job) bool {
		return j.Unread != "" || j.Status.Reason != job.WhyCollectionDisabled
	})
	if len(jobs) == 0 {
		return
	}
	c, err := s.Collection(ctx, k)
	if err != nil || c.Properties.State == job.CollectionEnabled {
		return
	}
	for _, j := range jobs {
		j.Status.Reason = "The job collection is " + strings.ToLower(string(c.Properties.State)) +
			", so none of its jobs runs on its schedule."
	}
}
