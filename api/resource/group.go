package resource

import "almanac/job/listing"

// A Subscription is one that has job collections, as Azure Resource Manager has it.
type Subscription struct {
	ID             string `json:"id"`
	SubscriptionID string `json:"subscriptionId"`
	DisplayName    string `json:"displayName"`
	State          string `json:"state"`
}

// NewSubscription returns the form of a subscription.
func NewSubscription(name string) Subscription {
	return Subscription{ID: "/subscriptions/" + name, SubscriptionID: name, DisplayName: name, State: "Enabled"}
}

// A Group is a resource group that has job collections, as Azure Resource Manager has it.
type Group struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Properties GroupProperties `json:"properties"`
}

// GroupProperties are those of a resource group.
type GroupProperties struct {
	ProvisioningState string `json:"provisioningState"`
	JobCollections    int    `json:"jobCollections"`
}

// NewGroup returns the form of a resource group.
func NewGroup(g listing.Group) Group {
	return Group{
		ID: "/subscriptions/" + g.Subscription + "/resourceGroups/" + g.Name, Type: "Microsoft.Resources/resourceGroups",
		Name: g.Name, Properties: GroupProperties{"Succeeded", g.Collections},
	}
}
