package scheduler

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
)

func missingCollection(k job.CollectionKey) *job.Error {
	return job.NotFound("jobcollections/"+k.Name, k.ResourceGroup)
}

// Collection returns a collection.
func (s *Service) Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	if err := k.Validate(); err != nil {
		return job.Collection{}, err
	}
	var c job.Collection
	err := s.queries.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, &c)
	return c, s.fail(ctx, err, missingCollection(k))
}

// PutCollection creates a collection or replaces its properties. created reports which.
func (s *Service) PutCollection(ctx context.Context, k job.CollectionKey, body []byte) (stored job.Collection, created bool, err error) {
	if err := k.Validate(); err != nil {
		return job.Collection{}, false, err
	}
	c, err := job.ParseCollection(body, s.limits)
	if err != nil {
		return job.Collection{}, false, err
	}
	c.Key = k
	err = s.contend(ctx, func() error {
		stored, err = s.replaceCollection(ctx, c, 0)
		if wfclient.IsGone(err) {
			err = startInTime(ctx, func(ctx context.Context) (err error) {
				stored, err = s.createCollection(ctx, c)
				return err
			})
			created = err == nil
		}
		return err
	})
	return stored, created, s.fail(ctx, err, missingCollection(k))
}

// PatchCollection merges a patch into a collection's properties.
func (s *Service) PatchCollection(ctx context.Context, k job.CollectionKey, patch []byte) (stored job.Collection, err error) {
	err = s.contend(ctx, func() error {
		current, err := s.Collection(ctx, k)
		if err != nil {
			return err
		}
		merged, err := job.MergeCollection(current, patch, s.limits)
		if err != nil {
			return err
		}
		stored, err = s.replaceCollection(ctx, merged, current.Generation)
		return err
	})
	return stored, s.fail(ctx, err, missingCollection(k))
}

// replaceCollection replaces the properties of a collection. It fails if expected is not 0 and the
// collection's generation is a different one.
func (s *Service) replaceCollection(ctx context.Context, c job.Collection, expected int) (stored job.Collection, err error) {
	err = s.update(ctx, changeTimeout, c.Key.WorkflowID(), workflows.UpdatePut, &stored,
		workflows.PutRequest{Collection: c, Limits: new(c.Properties.CollectionLimits(s.limits)), Expected: expected})
	return stored, err
}

// createCollection registers the collection's name in its subscription and starts its workflow. The name
// counts against the quota from then on. If the start fails, the subscription forgets the name.
func (s *Service) createCollection(ctx context.Context, c job.Collection) (job.Collection, error) {
	c.Generation = int(s.now().UnixMicro()) // unique among all collections of that name, past and future
	limits := c.Properties.CollectionLimits(s.limits)
	err := s.registerCollection(ctx, c.Key.Subscription,
		workflows.RegisterCollectionRequest{Name: c.Key.Path(), Plan: limits.Plan, Limit: limits.Collections})
	if err != nil {
		return job.Collection{}, err
	}
	return c, s.start(ctx, client.StartWorkflowOptions{
		ID:                    c.Key.WorkflowID(),
		StaticSummary:         "job collection " + c.Key.Name,
		StaticDetails:         "`" + c.Key.ARMID() + "`",
		Memo:                  map[string]any{workflows.MemoText: "job collection " + c.Key.Name, workflows.MemoID: c.Key.ARMID()},
		TypedSearchAttributes: temporal.NewSearchAttributes(collectionAttributes(c.Key)...),
		Priority:              first,
	}, workflows.TypeCollection, workflows.CollectionInput{Collection: c})
}

// first is the priority of the tasks of collections and subscriptions, ahead of those of jobs: callers that
// create jobs wait for them, and a herd of due jobs may queue thousands.
var first = temporal.Priority{PriorityKey: 1}

// registerCollection registers a collection in its subscription. It starts the subscription's workflow if
// that does not exist yet.
func (s *Service) registerCollection(ctx context.Context, subscription string, r workflows.RegisterCollectionRequest) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	id := job.SubscriptionWorkflowID(subscription)
	for {
		err := s.update(ctx, updateTimeout, id, workflows.UpdateRegister, nil, r)
		if !wfclient.IsGone(err) {
			return err
		}
		err = s.start(ctx, client.StartWorkflowOptions{ID: id, StaticSummary: "subscription " + subscription, Priority: first},
			workflows.TypeSubscription, workflows.SubscriptionInput{Subscription: subscription})
		if err != nil && !errors.Is(err, errLost) {
			return err
		}
	}
}

func collectionAttributes(k job.CollectionKey) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	return []temporal.SearchAttributeUpdate{
		keyword(workflows.AttributeSubscription).ValueSet(job.NormalizeName(k.Subscription)),
		keyword(workflows.AttributeResourceGroup).ValueSet(job.NormalizeName(k.ResourceGroup)),
		keyword(workflows.AttributeCollection).ValueSet(job.NormalizeName(k.Name)),
	}
}

// DeleteCollection deletes a collection and its jobs. If that takes longer than 5 s, it returns an
// operation, which continues on the server; otherwise nil.
func (s *Service) DeleteCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return s.operate(ctx, k, workflows.UpdateDelete)
}

// EnableCollection enables a collection: its enabled jobs run again. It returns an operation as
// [Service.DeleteCollection] does.
func (s *Service) EnableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return s.operate(ctx, k, workflows.UpdateEnable)
}

// DisableCollection disables a collection: its jobs stop running and keep their state. It returns an
// operation as [Service.DeleteCollection] does.
func (s *Service) DisableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return s.operate(ctx, k, workflows.UpdateDisable)
}

// Collections returns a page of the collections of a subscription, or of one of its resource groups if
// resourceGroup is not empty. They are sorted by name, then by resource group. The continuation is empty on
// the last page. If many collections do not answer, the page is short, as in [Service.Jobs].
func (s *Service) Collections(ctx context.Context, subscription, resourceGroup string, p job.Page) (page []job.Collection, next string, err error) {
	end := time.Now().Add(listTime)
	if p, err = resume(p); err != nil {
		return nil, "", err
	}
	after, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil {
		return nil, "", badToken()
	}
	var paths []string
	err = s.queries.Ask(ctx, job.SubscriptionWorkflowID(subscription), workflows.QueryCollections, &paths)
	if err != nil && !wfclient.IsGone(err) {
		return nil, "", s.fail(ctx, err, nil)
	}
	byName := func(a, b string) int {
		groupA, nameA, _ := strings.Cut(job.NormalizeName(a), "/")
		groupB, nameB, _ := strings.Cut(job.NormalizeName(b), "/")
		return cmp.Or(strings.Compare(nameA, nameB), strings.Compare(groupA, groupB))
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		group, _, _ := strings.Cut(path, "/")
		return resourceGroup != "" && job.NormalizeName(group) != job.NormalizeName(resourceGroup) || len(after) > 0 && byName(path, string(after)) <= 0
	})
	slices.SortFunc(paths, byName)
	page, next, err = collect(ctx, s, p, lister[string, job.Collection]{
		items: paths,
		end:   end,
		id:    func(path string) string { return job.CollectionWorkflowID(subscription, path) },
		unread: func(path, why string) job.Collection {
			group, name, _ := strings.Cut(path, "/")
			return job.Collection{Key: job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: name}, Unread: why}
		},
		matches: func(*job.Collection) bool { return true },
		after:   func(path string) string { return base64.RawURLEncoding.EncodeToString([]byte(path)) },
	})
	return page, next, s.fail(ctx, err, nil)
}
