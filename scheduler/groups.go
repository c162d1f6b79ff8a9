package scheduler

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/workflows"
)

const (
	// maxSubscriptions is how many subscriptions are read of Temporal's list at most, listedPerCall how many at once.
	maxSubscriptions, listedPerCall = 10_000, 1000

	// subscriptionPatience is the time limit for the answer of a subscription.
	subscriptionPatience = 5 * time.Second
)

// Subscriptions returns a page of the names of the subscriptions that have job collections which the page may show, in
// their order, and its continuation, which is empty on the last page. Temporal lists them, so that a new one may be
// missing for some seconds.
func (s *Service) Subscriptions(ctx context.Context, p listing.Page) (page []string, next string, err error) {
	const list = "subscriptions"
	after, err := resume(list, p)
	if err != nil {
		return nil, "", err
	}
	names, err := s.subscriptions(ctx)
	if err != nil {
		return nil, "", s.core.Error(ctx, err, nil)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return len(after) > 0 && job.NormalizeName(name) <= after || !p.ShowsWithin(job.SubscriptionScope(name))
	})
	if p.View != nil {
		if names, err = s.shown(ctx, names, p); err != nil {
			return nil, "", s.core.Error(ctx, err, nil)
		}
	}
	page, next = part(list, names, p, func(name string) string { return name })
	return page, next, nil
}

// shown returns the first of some subscriptions in which there are collections that the page may show: enough for the
// page, and one more. One that does not answer is among them: the caller has a role there.
func (s *Service) shown(ctx context.Context, names []string, p listing.Page) (found []string, err error) {
	for len(names) > 0 && len(found) <= p.Skip+p.Top {
		batch := names[:min(len(names), wfclient.MaxParallel)]
		names = names[len(batch):]
		shows := make([]bool, len(batch))
		wfclient.Each(len(batch), func(i int) {
			ctx, cancel := context.WithTimeout(ctx, subscriptionPatience)
			defer cancel()
			groups, err := s.groups(ctx, batch[i], p)
			shows[i] = err != nil || len(groups) > 0
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i, name := range batch {
			if shows[i] {
				found = append(found, name)
			}
		}
	}
	return found, nil
}

// resume returns the name that the page of a list of names begins after; "" for the first page.
func resume(list string, p listing.Page) (after string, err error) {
	if err := core.Open(list, &p); err != nil {
		return "", err
	}
	name, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil {
		return "", core.BadToken()
	}
	return string(name), nil
}

// part returns the page of a list of that name that begins after the page before, and its continuation.
func part[T any](list string, all []T, p listing.Page, name func(T) string) (page []T, next string) {
	page = all[min(p.Skip, len(all)):]
	if len(page) > p.Top {
		page = page[:p.Top]
		next = core.Token(list, base64.RawURLEncoding.EncodeToString([]byte(job.NormalizeName(name(page[p.Top-1])))))
	}
	return page, next
}

// subscriptions returns the names of all subscriptions that have job collections, in their order.
func (s *Service) subscriptions(ctx context.Context) (names []string, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: "WorkflowType = '" + workflows.TypeSubscription + "' AND ExecutionStatus = 'Running'", PageSize: listedPerCall,
	}
	for {
		found, err := s.core.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range found.GetExecutions() {
			if name := s.subscriptionOf(e); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > maxSubscriptions {
			return nil, &job.Error{Kind: job.KindInvalid, Code: "TooManySubscriptions", Message: fmt.Sprintf(
				"There are more than %d subscriptions, which are too many for a list. Ask for one by its name.", maxSubscriptions)}
		}
		if request.NextPageToken = found.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(job.NormalizeName(a), job.NormalizeName(b)) })
	return slices.CompactFunc(names, func(a, b string) bool { return job.NormalizeName(a) == job.NormalizeName(b) }), nil
}

// subscriptionOf returns the name of the subscription of a workflow as it was first written; "" for another workflow.
func (s *Service) subscriptionOf(e *workflowpb.WorkflowExecutionInfo) (name string) {
	id := e.GetExecution().GetWorkflowId()
	if payload := e.GetMemo().GetFields()[workflows.MemoSubscription]; payload != nil {
		all := &common.Payloads{Payloads: []*common.Payload{payload}}
		_ = wfclient.ConverterFor(s.core.Converter, id).FromPayloads(all, &name) // of another key: by its ID
	}
	if job.SubscriptionWorkflowID(name) == id {
		return name
	}
	name, err := url.PathUnescape(strings.TrimPrefix(id, "subscription/"))
	if err != nil || job.SubscriptionWorkflowID(name) != id {
		return ""
	}
	return name
}

// ResourceGroups returns a page of the resource groups of a subscription that have job collections which the page may
// show, by name, and its continuation, which is empty on the last page.
func (s *Service) ResourceGroups(
	ctx context.Context, subscription string, p listing.Page,
) (page []listing.Group, next string, err error) {
	list := "groups " + job.NormalizeName(subscription)
	after, err := resume(list, p)
	if err != nil {
		return nil, "", err
	}
	all, err := s.groups(ctx, subscription, p)
	if err != nil {
		return nil, "", s.core.Error(ctx, err, nil)
	}
	all = slices.DeleteFunc(all, func(g listing.Group) bool { return len(after) > 0 && job.NormalizeName(g.Name) <= after })
	page, next = part(list, all, p, func(g listing.Group) string { return g.Name })
	return page, next, nil
}

// groups returns the resource groups of a subscription that have job collections which the page may show, by name.
func (s *Service) groups(ctx context.Context, subscription string, p listing.Page) (all []listing.Group, err error) {
	var paths []string
	err = s.core.AskOnce(ctx, job.SubscriptionWorkflowID(subscription), workflows.QueryCollections, &paths)
	if err != nil && !wfclient.IsGone(err) {
		return nil, err
	}
	at := map[string]int{}
	for _, path := range paths {
		group, name, _ := strings.Cut(path, "/")
		if !p.ShowsWithin(job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: name}) {
			continue
		}
		i, ok := at[job.NormalizeName(group)]
		if !ok {
			i, all = len(all), append(all, listing.Group{Subscription: subscription, Name: group})
			at[job.NormalizeName(group)] = i
		}
		all[i].Collections++
	}
	slices.SortFunc(all, func(a, b listing.Group) int {
		return strings.Compare(job.NormalizeName(a.Name), job.NormalizeName(b.Name))
	})
	return all, nil
}
