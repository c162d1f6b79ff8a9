package api

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

func (s *server) listCollections(c *gin.Context) error {
	subscription, group := s.scope(c)
	scope := job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: "any"}
	if _, grouped := c.Params.Get("rg"); !grouped { // the path has no resource group: a whole subscription, or the default group
		scope.ResourceGroup = cmp.Or(group, "any")
	}
	if err := scope.Validate(); err != nil {
		return err
	}
	q, err := parseListQuery(c.Request.URL.RawQuery, noFilter)
	if err != nil {
		return err
	}
	found, next, err := s.scheduler.Collections(c.Request.Context(), subscription, group, q.page)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, listOf(found, newCollectionEntry, s.nextLink(c.Request, q, next, len(found))))
}

func (s *server) getCollection(c *gin.Context) error {
	k, err := s.collectionKey(c)
	if err != nil {
		return err
	}
	found, err := s.scheduler.Collection(c.Request.Context(), k)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, newCollectionResource(found))
}

func (s *server) putCollection(c *gin.Context) error {
	k, err := s.collectionKey(c)
	if err != nil {
		return err
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	stored, created, err := s.scheduler.PutCollection(c.Request.Context(), k, body)
	if err != nil {
		return err
	}
	return reply(c, putStatus(created), newCollectionResource(stored))
}

func (s *server) patchCollection(c *gin.Context) error {
	k, err := s.collectionKey(c)
	if err != nil {
		return err
	}
	patch, err := readBody(c)
	if err != nil {
		return err
	}
	stored, err := s.scheduler.PatchCollection(c.Request.Context(), k, patch)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, newCollectionResource(stored))
}
