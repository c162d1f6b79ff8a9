package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
)

// Collections are the job collections of a [Scheduler].
type Collections interface {
	// Collections returns a page of the collections of a resource group, or of the whole subscription if that is
	// empty, by name, and its continuation, the [listing.Page.After] of the next page; it is empty on the last page.
	Collections(
		ctx context.Context, subscription, resourceGroup string, p listing.Page,
	) (found []job.Collection, next string, err error)
	Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error)
	// PutCollection creates or replaces the collection c.Key; created reports which. Unless check is nil, it is
	// called with the collection that is then replaced, nil for none; an error of it is returned. It is so for the
	// other methods that have a check.
	PutCollection(
		ctx context.Context, c job.Collection, check func(current *job.Collection) error,
	) (stored job.Collection, created bool, err error)
	// PatchCollection replaces a collection with the one that edit returns. It calls edit again if the collection was
	// changed meanwhile. An error of edit is returned.
	PatchCollection(
		ctx context.Context, k job.CollectionKey, edit func(current job.Collection) (job.Collection, error),
	) (job.Collection, error)
}

func (s *server) listCollections(c *gin.Context) error {
	subscription, group := s.paths.Group(c)
	scope := job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: "any"}
	if !route.Has(c, "rg") { // the path has no resource group: a whole subscription, or the default group
		scope.ResourceGroup = cmp.Or(group, "any")
	}
	if err := scope.Validate(); err != nil {
		return err
	}
	read := func(ctx context.Context, p listing.Page) ([]job.Collection, string, error) {
		return s.scheduler.Collections(ctx, subscription, group, p)
	}
	return replyPage(s, c, nil, read, resource.CollectionEntry)
}

func (s *server) getCollection(c *gin.Context, k job.CollectionKey) error {
	found, err := s.scheduler.Collection(c.Request.Context(), k)
	if err != nil {
		return err
	}
	return answer.Tagged(c, found.Generation, resource.NewCollection(found))
}

// replyCollection answers a change of a collection, or returns err.
func replyCollection(c *gin.Context, status int, changed job.Collection, err error) error {
	if err != nil {
		return err
	}
	return answer.Changed(c, status, changed.Generation, resource.NewCollection(changed))
}

func (s *server) putCollection(c *gin.Context, k job.CollectionKey) error {
	check, err := collectionCheck(c)
	if err != nil {
		return err
	}
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	sent, err := input.ParseCollection(body, s.Limits)
	if err == nil {
		err = input.CheckNotifications("job collection", sent.Properties.Notifications, s.checkTarget(c))
	}
	if err != nil {
		return err
	}
	sent.Key = k
	stored, created, err := s.scheduler.PutCollection(c.Request.Context(), sent, check)
	return replyCollection(c, putStatus(created), stored, err)
}

func (s *server) patchCollection(c *gin.Context, k job.CollectionKey) error {
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	patch, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	edit := func(current job.Collection) (job.Collection, error) {
		if err := p.AllowCollection(&current); err != nil {
			return job.Collection{}, err
		}
		merged, err := input.MergeCollection(current, patch, s.Limits)
		if err == nil && !reflect.DeepEqual(merged.Properties.Notifications, current.Properties.Notifications) {
			err = input.CheckNotifications("job collection with this patch", merged.Properties.Notifications, s.checkTarget(c))
		}
		return merged, err
	}
	stored, err := s.scheduler.PatchCollection(c.Request.Context(), k, edit)
	return replyCollection(c, http.StatusOK, stored, err)
}

// collectionCheck returns the check of the request's preconditions; nil if it has none.
func collectionCheck(c *gin.Context) (func(*job.Collection) error, error) {
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil || !p.Given() {
		return nil, err
	}
	return p.AllowCollection, nil
}
