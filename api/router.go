package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/route"
	"almanac/job"
)

// A scope is the start of the paths of an endpoint.
type scope int

const (
	inGroup        scope = iota // a resource group; nothing for the default one
	inSubscription              // a subscription
	anywhere                    // both of them, and the provider alone
	root                        // nothing
)

// bases returns the starts of the paths of a scope, and whether they require the parameter api-version.
func (s scope) bases() map[string]bool {
	const subscription = "/subscriptions/:sub"
	const group = subscription + "/resourceGroups/:rg" + provider
	return []map[string]bool{
		inGroup:        {group: true, "": false},
		inSubscription: {subscription + provider: true},
		anywhere:       {group: true, "": false, subscription + provider: true, provider: true},
		root:           {"": false},
	}[s]
}

// permissions returns what the routes of a table need.
func permissions(table []endpoint) route.Permissions {
	p := route.Permissions{}
	for _, e := range table {
		p[e.method+" "+e.path] = e.needs
	}
	return p
}

// words returns the fixed words of the paths of a table.
func words(table []endpoint) route.Words {
	var templates []string
	for _, e := range table {
		for base := range e.below.bases() {
			templates = append(templates, base+e.path)
		}
	}
	return route.WordsOf(templates...)
}

// serve has a router serve the routes of a table.
func (s *server) serve(r *gin.Engine, table []endpoint) {
	r.NoRoute(s.errors.Handle(s.noRoute))
	r.NoMethod(s.errors.Handle(noMethod))
	for _, e := range table {
		methods := []string{e.method}
		if e.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for base, versioned := range e.below.bases() {
			r.Match(methods, base+e.path,
				s.errors.Handle(route.CheckVersion(versioned)), s.errors.Handle(e.takes.Refuse), e.handle)
		}
	}
}

// knownPaths describes the paths of a table.
func knownPaths(table []endpoint) string {
	// below returns the paths of a scope that are one word below another, or a word and an id.
	below := func(in scope, above string) (found []string) {
		for _, e := range table {
			rest, isBelow := strings.CutPrefix(e.path, above)
			word, _ := strings.CutSuffix(rest, "/:id")
			short := strings.ReplaceAll(rest, ":id", "{id}")
			if e.below == in && isBelow && strings.LastIndex(word, "/") == 0 && !slices.Contains(found, short) {
				found = append(found, short)
			}
		}
		return found
	}
	or := func(list []string) string { return joined(list, " or ") }
	nest := func(list []string, word, within string) []string {
		i := slices.Index(list, word)
		return slices.Replace(list, i, i+1, word+"[/{name}["+within+"]]")
	}
	inJobs := nest(below(inGroup, collection), strings.TrimPrefix(jobs, collection), or(below(inGroup, oneJob)))
	groups := nest(slices.Concat(below(inGroup, ""), below(anywhere, "")), collections, or(inJobs))
	for i := range groups {
		groups[i] = "..." + groups[i]
	}
	others := below(root, "")
	if i := slices.Index(others, route.Subscriptions); i >= 0 {
		others[i] = route.Subscriptions + "[/{id}" + strings.TrimPrefix(route.ResourceGroups, route.Subscriptions+"/:sub") + "]"
	}
	return "The paths are " + joined(groups, " and ") +
		", where ... is /subscriptions/{id}/resourceGroups/{name}" + provider +
		", or nothing for the default resource group; " +
		"/subscriptions/{id}" + provider + " with " + or(below(inSubscription, "")) + "; " +
		joined(others, " and ") + "."
}

// joined returns a list in words: the last two are joined by that word.
func joined(list []string, last string) string {
	return strings.Join(list[:len(list)-1], ", ") + last + list[len(list)-1]
}

func (s *server) noRoute(*gin.Context) error {
	return &job.Error{Kind: job.KindNotFound, Code: "NotFound", Message: "There is nothing at this path. " + s.known}
}

// noMethod answers 405. There is no [job.Kind] for it, because it concerns HTTP only. The router has set
// the Allow header.
func noMethod(c *gin.Context) error {
	allowed := strings.Split(c.Writer.Header().Get("Allow"), ", ")
	answer.Error(c, http.StatusMethodNotAllowed, job.ErrorBody{
		Code: "MethodNotAllowed",
		Message: fmt.Sprintf("The method %.20s is not allowed for this path; use %s.",
			c.Request.Method, strings.Join(allowed, " or ")),
	})
	return nil
}
