package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"almanac/api/resource"
	"almanac/job"
	"almanac/job/listing"
)

// Groups are the subscriptions of a [Scheduler] that have job collections, and their resource groups.
type Groups interface {
	// Subscriptions returns a page of the names of the subscriptions, in their order, and its continuation, as
	// [Collections] does.
	Subscriptions(ctx context.Context, p listing.Page) (names []string, next string, err error)
	ResourceGroups(ctx context.Context, subscription string, p listing.Page) (found []listing.Group, next string, err error)
}

func (s *server) listSubscriptions(c *gin.Context) error {
	return replyPage(s, c, nil, s.scheduler.Subscriptions, resource.NewSubscription)
}

func (s *server) listResourceGroups(c *gin.Context) error {
	subscription, _ := s.paths.Group(c)
	if err := job.SubscriptionScope(subscription).ValidateScope(); err != nil {
		return err
	}
	read := func(ctx context.Context, p listing.Page) ([]listing.Group, string, error) {
		return s.scheduler.ResourceGroups(ctx, subscription, p)
	}
	return replyPage(s, c, nil, read, resource.NewGroup)
}
