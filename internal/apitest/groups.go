package apitest

import (
	"context"
	"maps"
	"slices"

	"almanac/job"
	"almanac/job/listing"
)

// within reports whether a collection is in a scope.
func within(k job.CollectionKey, s listing.Scope) bool {
	same := func(a, b string) bool { return b == "" || job.NormalizeName(a) == job.NormalizeName(b) }
	return same(k.Subscription, s.Subscription) && same(k.ResourceGroup, s.ResourceGroup) && same(k.Name, s.Collection)
}

// Subscriptions returns a page of the subscriptions that have collections.
func (m *Memory) Subscriptions(_ context.Context, p listing.Page) ([]string, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]bool{}
	for _, c := range m.collections {
		if p.ShowsWithin(c.Key) {
			found[c.Key.Subscription] = true
		}
	}
	return paged(slices.Sorted(maps.Keys(found)), p, func(name string) string { return name })
}

// ResourceGroups returns a page of the resource groups of a subscription that have collections.
func (m *Memory) ResourceGroups(_ context.Context, subscription string, p listing.Page) ([]listing.Group, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[string]int{}
	for _, c := range m.collections {
		if within(c.Key, listing.Scope{Subscription: subscription}) && p.ShowsWithin(c.Key) {
			counts[c.Key.ResourceGroup]++
		}
	}
	var all []listing.Group
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, listing.Group{Subscription: subscription, Name: name, Collections: counts[name]})
	}
	return paged(all, p, func(g listing.Group) string { return g.Name })
}
