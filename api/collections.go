package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"github.com/gin-gonic/gin"

	"almanac/api/paths"
	"almanac/api/resource"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
)

func (s *server) listCollections(c *gin.Context) error {
	subscription, group := s.paths.Group(c)
	scope := job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: "any"}
	if !paths.Has(c, "rg") { // the path has no resource group: a whole subscription, or the default group
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
	return replyTagged(c, found.Generation, resource.NewCollection(found))
}

// replyCollection answers a change of a collection, or returns err.
func replyCollection(c *gin.Context, status int, changed job.Collection, err error) error {
	if err != nil {
		return err
	}
	return replyChanged(c, status, changed.Generation, resource.NewCollection(changed))
}

func (s *server) putCollection(c *gin.Context, k job.CollectionKey) error {
	check, err := collectionCheck(c)
	if err != nil {
		return err
	}
	body, err := readBody(c)
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
	p, err := preconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	patch, err := readBody(c)
	if err != nil {
		return err
	}
	stored, err := s.scheduler.PatchCollection(c.Request.Context(), k, func(current job.Collection) (job.Collection, error) {
		if err := p.allowCollection(&current); err != nil {
			return job.Collection{}, err
		}
		merged, err := input.MergeCollection(current, patch, s.Limits)
		if err == nil && !reflect.DeepEqual(merged.Properties.Notifications, current.Properties.Notifications) {
			err = input.CheckNotifications("job collection with this patch", merged.Properties.Notifications, s.checkTarget(c))
		}
		return merged, err
	})
	return replyCollection(c, http.StatusOK, stored, err)
}

// collectionCheck returns the check of the request's preconditions; nil if it has none.
func collectionCheck(c *gin.Context) (func(*job.Collection) error, error) {
	p, err := preconditionsOf(c.Request.Header)
	if err != nil || !p.given() {
		return nil, err
	}
	return p.allowCollection, nil
}

func (s *server) deleteCollection(c *gin.Context, k job.CollectionKey) error {
	check, err := collectionCheck(c)
	if err != nil {
		return err
	}
	operation, err := s.scheduler.DeleteCollection(c.Request.Context(), k, check)
	return s.replyOperation(c, operation, err)
}
