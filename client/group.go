package client

import (
	"context"
	"iter"
)

// A Subscription is one that has job collections.
type Subscription struct {
	ID             string `json:"id"`
	SubscriptionID string `json:"subscriptionId"`
	DisplayName    string `json:"displayName"`
	State          string `json:"state"`
}

// A ResourceGroup is one that has job collections.
type ResourceGroup struct {
	ID         string                  `json:"id"`
	Type       string                  `json:"type"`
	Name       string                  `json:"name"`
	Properties ResourceGroupProperties `json:"properties"`
}

// ResourceGroupProperties are those of a resource group.
type ResourceGroupProperties struct {
	ProvisioningState string `json:"provisioningState"`
	JobCollections    int    `json:"jobCollections"` // that the caller may see, or of which jobs
}

// Subscriptions returns the subscriptions in which there are job collections that the caller may see, sorted by name. A
// new one may be missing for some seconds.
func (c *Client) Subscriptions(ctx context.Context, l List) iter.Seq2[Subscription, error] {
	return lists[Subscription](ctx, c, place{path: "/subscriptions"}, nil, l)
}

// ResourceGroups returns the resource groups of a subscription in which there are job collections that the caller may
// see, sorted by name. [Client.In] returns a client for one of them.
func (c *Client) ResourceGroups(ctx context.Context, subscription string, l List) iter.Seq2[ResourceGroup, error] {
	return lists[ResourceGroup](ctx, c, place{path: joined([]string{"subscriptions", subscription, "resourceGroups"})}, nil, l)
}
