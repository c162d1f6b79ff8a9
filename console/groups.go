package console

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"almanac/client"
)

const (
	// maxSubscriptions and maxGroups are how much of the lists is read for a page.
	maxSubscriptions, maxGroups = 50, 200

	// groupsFor is how long the groups that a caller may see are remembered, groupsWait how long a page waits for them.
	groupsFor, groupsWait = 10 * time.Second, 2 * time.Second

	// maxCallers is of how many callers they are.
	maxCallers = 500

	// menuGroups is how many groups the menu has. A page has all.
	menuGroups = 12
)

// A groupEntry is a resource group in a list.
type groupEntry struct {
	group

	Before      string // its name: the beginning of its subscription where several have a group of that name
	Link        string
	Collections int
	Current     bool
}

// A groupList is the resource groups in which there are job collections that a caller may see.
type groupList struct {
	All  []groupEntry
	More bool // there are more than were read
}

// A groupReading is a list as it was read for a caller.
type groupReading struct {
	over  chan struct{}
	found groupList
	err   error
	at    time.Time
}

// groupReadings are those of all callers: every page has the menu.
type groupReadings struct {
	mu  sync.Mutex
	all map[string]*groupReading
}

// of returns the list for the caller of a page, as it was read lately.
func (g *groupReadings) of(p *page) (groupList, error) {
	r := g.reading(p)
	ctx, cancel := context.WithTimeout(p.r.Context(), groupsWait) // the calls of a page may be over
	defer cancel()
	select {
	case <-r.over:
		return r.found, r.err
	case <-ctx.Done():
		return groupList{}, ctx.Err()
	}
}

// reading returns the reading for a caller, and begins one if there is none that is fresh.
func (g *groupReadings) reading(p *page) *groupReading {
	g.mu.Lock()
	defer g.mu.Unlock()
	key, now := callerKey(p), p.Clock.Now
	if r := g.all[key]; r != nil && now.Sub(r.at) < groupsFor {
		return r
	}
	if g.all == nil || len(g.all) >= maxCallers {
		g.all = map[string]*groupReading{}
	}
	r := &groupReading{over: make(chan struct{}), at: now}
	g.all[key] = r
	alone := *p // it outlives the page
	alone.ctx = context.WithoutCancel(p.ctx)
	go func() {
		defer close(r.over)
		defer alone.limit()()
		r.err = guarded(func() (err error) {
			r.found, err = alone.readGroups()
			return err
		})
	}()
	return r
}

// callerKey returns the same text for pages of the same caller.
func callerKey(p *page) string {
	if p.Caller.ID == "" {
		return ""
	}
	sum := sha256.New()
	for _, text := range append([]string{p.Caller.ID, p.r.Header.Get("Authorization")}, p.r.Header.Values("Cookie")...) {
		sum.Write([]byte(itoa(len(text)) + ":" + text))
	}
	return string(sum.Sum(nil))
}

// readGroups reads the list.
func (p *page) readGroups() (found groupList, err error) {
	var subscriptions []string
	for of, err := range p.api().Subscriptions(p.ctx, client.List{Top: maxSubscriptions + 1}) {
		if err != nil {
			return found, err
		}
		subscriptions = append(subscriptions, of.SubscriptionID)
	}
	if len(subscriptions) > maxSubscriptions {
		subscriptions, found.More = subscriptions[:maxSubscriptions], true
	}
	groups := make([][]groupEntry, len(subscriptions))
	err = firstOf(eachOf(len(subscriptions), func(i int) error {
		for of, err := range p.api().ResourceGroups(p.ctx, subscriptions[i], client.List{Top: maxGroups + 1}) {
			if err != nil {
				return err
			}
			g := group{subscriptions[i], of.Name}.plain()
			groups[i] = append(groups[i], groupEntry{group: g, Collections: of.Properties.JobCollections})
		}
		return nil
	}))
	times := map[string]int{}
	for _, of := range groups {
		for _, one := range of {
			if len(found.All) == maxGroups {
				found.More = true
				break
			}
			found.All = append(found.All, one)
			times[strings.ToLower(one.Shown().Name)]++
		}
	}
	for i := range found.All {
		if one := &found.All[i]; times[strings.ToLower(one.Shown().Name)] > 1 {
			one.Before = begun(one.Shown().Subscription) + "/"
		}
	}
	return found, err
}

// begun returns the beginning of a long name.
func begun(name string) string {
	const most = 8
	if all := []rune(name); len(all) > most+1 {
		return string(all[:most]) + "…"
	}
	return name
}

// A groupMenu is the menu of resource groups in the head of each page.
type groupMenu struct {
	Before, Name, Title string // of the group of the page
	Entries             []groupEntry
	All                 string // the path of the page that has more; "" if there are none
}

// Groups returns the menu; nil if the caller sees nothing in other groups than that of the page.
func (p *page) Groups() *groupMenu {
	if p.refused != nil {
		return nil
	}
	found, err := p.console.groups.of(p)
	if err != nil || len(found.All) == 0 || len(found.All) == 1 && found.All[0].is(p.at) {
		return nil // the page of the groups says why they could not be read
	}
	return p.menuOf(found)
}

// menuOf returns the menu of a list, in which the group of the page is always.
func (p *page) menuOf(found groupList) *groupMenu {
	at := p.at.Shown()
	m := &groupMenu{Name: at.Name, Title: "Resource group " + at.Name + " of the subscription " + at.Subscription}
	here := -1
	for i, one := range found.All {
		if one.is(p.at) {
			here, m.Before = i, one.Before
		}
	}
	entries := append([]groupEntry{}, found.All...)
	if here < 0 {
		entries = append([]groupEntry{{group: p.at}}, entries...)
	} else if here >= menuGroups {
		entries = append([]groupEntry{entries[here]}, append(entries[:here:here], entries[here+1:]...)...)
	}
	if len(entries) > menuGroups || found.More {
		m.All = p.Link("/groups")
	}
	m.Entries = p.linked(entries[:min(len(entries), menuGroups)])
	return m
}

// linked returns entries with their links.
func (p *page) linked(entries []groupEntry) []groupEntry {
	all := append([]groupEntry{}, entries...)
	for i := range all {
		all[i].Link, all[i].Current = p.Base(all[i].path()+"/"), all[i].is(p.at)
	}
	return all
}

// A groupsView is the page of all resource groups.
type groupsView struct {
	Entries []groupEntry
	More    bool
}

func (s *Console) listGroups(p *page) error {
	found, err := s.groups.of(p)
	if err != nil {
		return err
	}
	p.template, p.Title, p.Main = "groups", "Resource groups", groupsView{p.linked(found.All), found.More}
	return nil
}

// others returns the first groups in which there are job collections, without that of the page.
func (p *page) others() (all []groupEntry) {
	found, err := p.console.groups.of(p)
	for _, one := range found.All {
		if err == nil && !one.is(p.at) && len(all) < menuGroups {
			all = append(all, one)
		}
	}
	return p.linked(all)
}

// elsewhere returns where Home of the group of the short paths leads that has no jobs: to Home of the only other group
// in which there are jobs that the caller may see, or to the page of all groups if there are several; "" for nowhere.
func (p *page) elsewhere() (path string) {
	if p.at != (group{}) {
		return ""
	}
	others := p.others()
	has := make([]bool, len(others))
	_ = eachOf(len(others), func(i int) error {
		jobs, err := p.console.clientFor(others[i].group).Summaries(p.ctx, client.Scope{}, client.Search{Top: 1})
		has[i] = err == nil && jobs.Total > 0
		return nil
	})
	for i := range others {
		if has[i] && path != "" {
			return "/groups"
		}
		if has[i] {
			path = others[i].path() + "/"
		}
	}
	return path
}
