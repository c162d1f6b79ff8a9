package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"almanac/access"
	"almanac/client"
)

// A group is the resource group that a page is about: what it shows, and what its links and forms lead to. The zero value
// is that of the short paths of the API. All pages of another one are below its path.
type group struct{ Subscription, Name string }

// ofShortPaths is the resource group of the short paths.
var ofShortPaths = group{client.DefaultSubscription, client.DefaultResourceGroup}

// Shown returns the names of the group.
func (g group) Shown() group {
	if g == (group{}) {
		return ofShortPaths
	}
	return g
}

// is reports whether two groups are the same: names compare without case.
func (g group) is(other group) bool {
	a, b := g.Shown(), other.Shown()
	return access.NewScope(a.Subscription, a.Name, "", "") == access.NewScope(b.Subscription, b.Name, "", "")
}

// plain returns the zero value for the group of the short paths.
func (g group) plain() group {
	if g.is(group{}) {
		return group{}
	}
	return g
}

// path returns the beginning of the paths of the pages of a group, below that of the console.
func (g group) path() string {
	if g == (group{}) {
		return ""
	}
	return "/subscriptions/" + url.PathEscape(g.Subscription) + "/resourceGroups/" + url.PathEscape(g.Name)
}

// apiPath returns the beginning of the paths of the API for a group.
func (g group) apiPath() string {
	if g == (group{}) {
		return ""
	}
	return g.path() + "/providers/Microsoft.Scheduler"
}

// groupIn splits the escaped path of a page below that of the console: the group that it names, and the rest. Without a
// name there is none.
func groupIn(path string) (g group, rest string, ok bool) {
	parts := strings.SplitN(path, "/", 6) // "", subscriptions, S, resourceGroups, G, rest
	if len(parts) < 5 || !strings.EqualFold(parts[1], "subscriptions") || !strings.EqualFold(parts[3], "resourceGroups") {
		return group{}, path, false
	}
	subscription, errSubscription := url.PathUnescape(parts[2])
	name, errName := url.PathUnescape(parts[4])
	if errSubscription != nil || errName != nil || subscription == "" || name == "" {
		return group{}, path, false
	}
	if len(parts) == 6 {
		rest = "/" + parts[5]
	}
	return group{subscription, name}, rest, true
}

type groupKey struct{}

// groupOf returns the group that the path of a request named.
func groupOf(r *http.Request) group {
	g, _ := r.Context().Value(groupKey{}).(group)
	return g
}

// serve answers a request for a page, whose path may name a group. The pages themselves do not see it in the path.
func (s *Console) serve(w http.ResponseWriter, r *http.Request) {
	named, rest, ok := groupIn(strings.TrimPrefix(r.URL.EscapedPath(), root))
	if !ok {
		s.mux.ServeHTTP(w, r)
		return
	}
	g := named.plain()
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if reads && (rest == "" || g == (group{})) { // each page has one address
		if rest == "" {
			rest = "/"
		}
		s.redirect(w, r, withQueryText(g.path()+rest, r.URL.RawQuery))
		return
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	within := r.WithContext(context.WithValue(r.Context(), groupKey{}, g))
	u := *r.URL
	u.Path, u.RawPath = root+decoded, root+rest
	within.URL = &u
	s.mux.ServeHTTP(w, within)
}

func withQueryText(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}

// clientFor returns the client of the API for a group.
func (s *Console) clientFor(g group) *client.Client {
	if g == (group{}) {
		return s.client
	}
	return s.client.In(g.Subscription, g.Name)
}

// providerPath is before the name of a job collection in a path of the API.
const providerPath = "/providers/Microsoft.Scheduler/jobCollections/"

// pageOfResource returns the path of the page about what the path of the API names that is in alerts: the history of a
// job, or a job collection.
func pageOfResource(path string) (page string, ok bool) {
	g, rest, ok := groupIn(path)
	if !ok || len(rest) < len(providerPath) || !strings.EqualFold(rest[:len(providerPath)], providerPath) {
		return "", false
	}
	parts := strings.Split(rest[len(providerPath):], "/") // C, or C, jobs, J, history
	page = g.plain().path() + "/jobs/" + parts[0]
	switch {
	case parts[0] == "":
		return "", false
	case len(parts) == 1:
		return page, true
	case len(parts) == 4 && strings.EqualFold(parts[1], "jobs") && strings.EqualFold(parts[3], "history"):
		return page + "/" + parts[2], true
	}
	return "", false
}
