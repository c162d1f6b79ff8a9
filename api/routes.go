package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/paths"
	"almanac/job"
)

const (
	provider    = paths.Provider
	collections = "/jobCollections"
	collection  = collections + "/:jc"
	jobs        = collection + "/jobs"
	oneJob      = jobs + "/:job"
	previewPath = "/previewRecurrence"

	notifications    = "/notifications"
	testNotification = "/testNotification"

	description   = "/openapi.yaml"
	documentation = "/docs"
)

// An endpoint is a route, and all that a request to it may have: what else is sent is refused, never ignored. See [endpoint.refuseOthers].
type endpoint struct {
	method      string // GET stands for HEAD, too
	below       scope
	path        string
	query       []string // parameters beside api-version, which every endpoint takes
	body        bool     // the request may have one
	conditional bool     // If-Match and If-None-Match hold
	handle      gin.HandlerFunc
}

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

// The parameters of lists. A list that merges many has no $skip, which would cost as much as reading what is skipped.
var (
	pages         = []string{"$top", "$skip", "$skiptoken"}
	filteredPages = append([]string{"$filter"}, pages...)
	filtered      = []string{"$filter", "$top", "$skiptoken"}
)

// endpoints returns the table of all routes.
func (s *server) endpoints() []endpoint {
	fixed := func(path string, handle func(*gin.Context) error) endpoint {
		return endpoint{method: http.MethodGet, below: root, path: path, handle: s.errors.Handle(handle)}
	}
	all := []endpoint{
		fixed("/", s.index), fixed(paths.Health, s.healthz), fixed(paths.Ready, s.readyz), fixed(paths.Metrics, s.metrics),
		fixed(description, s.openAPI), fixed(documentation, s.docs), fixed(documentation+"/:file", s.docs),
		{method: http.MethodPost, below: anywhere, path: previewPath, body: true, handle: s.errors.Handle(s.previewRecurrence)},
		{method: http.MethodGet, path: collection + history, query: filtered, handle: s.errors.Handle(s.listHistoryAcross)},
		{method: http.MethodGet, path: collection + upcoming, query: append([]string{"until"}, filtered...), handle: s.errors.Handle(s.listUpcoming)},
	}
	for _, below := range []scope{inSubscription, inGroup} {
		all = append(all,
			endpoint{method: http.MethodGet, below: below, path: collections, query: pages, handle: s.errors.Handle(s.listCollections)},
			endpoint{method: http.MethodGet, below: below, path: history, query: filtered, handle: s.errors.Handle(s.listHistoryAcross)},
			endpoint{method: http.MethodGet, below: below, path: upcoming, query: append([]string{"until"}, filtered...), handle: s.errors.Handle(s.listUpcoming)},
		)
	}
	return slices.Concat(all, s.collectionEndpoints(), s.jobEndpoints())
}

func (s *server) collectionEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: collection, conditional: true, handle: s.forCollection(s.getCollection)},
		{method: http.MethodPut, path: collection, conditional: true, body: true, handle: s.forCollection(s.putCollection)},
		{method: http.MethodPatch, path: collection, conditional: true, body: true, handle: s.forCollection(s.patchCollection)},
		{method: http.MethodDelete, path: collection, conditional: true, handle: s.forCollection(s.deleteCollection)},
		{method: http.MethodPost, path: collection + "/enable", handle: s.changeCollection(Scheduler.EnableCollection)},
		{method: http.MethodPost, path: collection + "/disable", handle: s.changeCollection(Scheduler.DisableCollection)},
		{method: http.MethodGet, path: collection + changes, query: pages, handle: s.forCollection(s.listCollectionChanges)},
		{method: http.MethodPost, path: collection + rerun, query: filteredPages, handle: s.forCollection(s.rerunJobs)},
		{method: http.MethodPost, path: collection + testNotification, handle: s.forCollection(func(c *gin.Context, k job.CollectionKey) error { return s.testNotifications(c, k.Job("")) })},
		{method: http.MethodGet, path: collection + notifications, handle: s.forCollection(s.listNotifications)},
		{method: http.MethodGet, path: collection + "/" + paths.Operations + "/:id", handle: s.forCollection(s.getOperation)},
		{method: http.MethodGet, path: collection + "/" + paths.OperationResults + "/:id", handle: s.forCollection(s.getOperationResult)},
	}
}

func (s *server) jobEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: jobs, query: filteredPages, handle: s.forCollection(s.listJobs)},
		{method: http.MethodPost, path: jobs, body: true, handle: s.forCollection(s.postJob)},
		{method: http.MethodGet, path: oneJob, conditional: true, handle: s.forJob(s.getJob)},
		{method: http.MethodPut, path: oneJob, conditional: true, body: true, handle: s.forJob(s.putJob)},
		{method: http.MethodPatch, path: oneJob, conditional: true, body: true, handle: s.forJob(s.patchJob)},
		{method: http.MethodDelete, path: oneJob, conditional: true, handle: s.forJob(s.deleteJob)},
		{method: http.MethodPost, path: oneJob + "/run", handle: s.forJob(s.runJob)},
		{method: http.MethodPost, path: oneJob + rerun, handle: s.forJob(s.rerunJob)},
		{method: http.MethodPost, path: oneJob + "/skip", query: []string{"due"}, handle: s.forJob(s.skipOccurrence)},
		{method: http.MethodPost, path: oneJob + "/enable", handle: s.forJob(s.changeJob(Scheduler.EnableJob))},
		{method: http.MethodPost, path: oneJob + "/disable", handle: s.forJob(s.changeJob(Scheduler.DisableJob))},
		{method: http.MethodPost, path: oneJob + testNotification, handle: s.forJob(s.testNotifications)},
		{method: http.MethodGet, path: oneJob + history, query: filteredPages, handle: s.forJob(s.listHistory)},
		{method: http.MethodGet, path: oneJob + "/" + executions + "/:id", handle: s.forJob(s.getExecution)},
		{method: http.MethodGet, path: oneJob + changes, query: pages, handle: s.forJob(s.listJobChanges)},
	}
}

func (s *server) routes(r *gin.Engine) {
	r.NoRoute(s.errors.Handle(noRoute))
	r.NoMethod(s.errors.Handle(noMethod))
	for _, e := range s.endpoints() {
		for base, versioned := range e.below.bases() {
			methods := []string{e.method}
			if e.method == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
			r.Match(methods, base+e.path, s.errors.Handle(checkVersion(versioned)), s.errors.Handle(e.refuseOthers), e.handle)
		}
	}
}

const knownPaths = "The paths are .../jobCollections[/{name}[/enable, /disable, /rerun, /notifications, /testNotification, /history, /changes, /upcoming, /operations/{id}, /operationResults/{id} or " +
	"/jobs[/{name}[/run, /rerun, /skip, /enable, /disable, /testNotification, /history, /executions/{id} or /changes]]]], .../history, .../upcoming and .../previewRecurrence, where ... is /subscriptions/{id}/resourceGroups/{name}/providers/Microsoft.Scheduler, or nothing for the default resource group; " +
	"/subscriptions/{id}/providers/Microsoft.Scheduler with /jobCollections, /history or /upcoming; /openapi.yaml, /docs, /healthz, /readyz, /metrics and /."

func noRoute(*gin.Context) error {
	return &job.Error{Kind: job.KindNotFound, Code: "NotFound", Message: "There is nothing at this path. " + knownPaths}
}

// noMethod answers 405. There is no [job.Kind] for it, because it concerns HTTP only. The router has set
// the Allow header.
func noMethod(c *gin.Context) error {
	allowed := strings.Split(c.Writer.Header().Get("Allow"), ", ")
	answer.Error(c, http.StatusMethodNotAllowed, job.ErrorBody{
		Code:    "MethodNotAllowed",
		Message: fmt.Sprintf("The method %.20s is not allowed for this path; use %s.", c.Request.Method, strings.Join(allowed, " or ")),
	})
	return nil
}
