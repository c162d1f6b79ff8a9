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
	return replyOrFail(c, http.StatusOK, resource.NewCollection, found, err)
}

func (s *server) putCollection(c *gin.Context, k job.CollectionKey) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	sent, err := input.ParseCollection(body, s.Limits)
	if err == nil {
		err = input.CheckNotifications("job collection", sent.Properties.Notifications, s.CheckTarget)
	}
	if err != nil {
		return err
	}
	sent.Key = k
	stored, created, err := s.scheduler.PutCollection(c.Request.Context(), sent)
	return replyOrFail(c, putStatus(created), resource.NewCollection, stored, err)
}

func (s *server) patchCollection(c *gin.Context, k job.CollectionKey) error {
	patch, err := readBody(c)
	if err != nil {
		return err
	}
	stored, err := s.scheduler.PatchCollection(c.Request.Context(), k, func(current job.Collection) (job.Collection, error) {
		merged, err := input.MergeCollection(current, patch, s.Limits)
		if err == nil && !reflect.DeepEqual(merged.Properties.Notifications, current.Properties.Notifications) {
			err = input.CheckNotifications("job collection with this patch", merged.Properties.Notifications, s.CheckTarget)
		}
		return merged, err
	})
	return replyOrFail(c, http.StatusOK, resource.NewCollection, stored, err)
}
