package api

import (
	"fmt"
	"net/http"
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

// reading are the methods of readable resources.
var reading = []string{http.MethodGet, http.MethodHead}

func (s *server) routes(r *gin.Engine) {
	r.NoRoute(s.errors.Handle(noRoute))
	r.NoMethod(s.errors.Handle(noMethod))

	r.Match(reading, "/", s.errors.Handle(s.index))
	r.Match(reading, paths.Health, s.errors.Handle(s.healthz))
	r.Match(reading, paths.Ready, s.errors.Handle(s.readyz))
	r.Match(reading, paths.Metrics, s.errors.Handle(s.metrics))
	r.Match(reading, description, s.errors.Handle(s.openAPI))
	r.Match(reading, documentation, s.errors.Handle(s.docs))
	r.Match(reading, documentation+"/:file", s.errors.Handle(s.docs))

	subscription := r.Group("/subscriptions/:sub", s.errors.Handle(checkVersion(true)))
	group := subscription.Group("/resourceGroups/:rg" + provider)
	short := r.Group("", s.errors.Handle(checkVersion(false)))

	subscription.Match(reading, provider+collections, s.errors.Handle(s.listCollections))
	subscription.Match(reading, provider+history, s.errors.Handle(s.listHistoryAcross))
	subscription.Match(reading, provider+upcoming, s.errors.Handle(s.listUpcoming))
	for _, g := range []*gin.RouterGroup{group, short} {
		g.Match(reading, collections, s.errors.Handle(s.listCollections))
		for _, below := range []string{"", collection} {
			g.Match(reading, below+history, s.errors.Handle(s.listHistoryAcross))
			g.Match(reading, below+upcoming, s.errors.Handle(s.listUpcoming))
		}
		g.Match(reading, collection, s.forCollection(s.getCollection))
		g.PUT(collection, s.forCollection(s.putCollection))
		g.PATCH(collection, s.forCollection(s.patchCollection))
		g.DELETE(collection, s.changeCollection(Scheduler.DeleteCollection))
		g.POST(collection+"/enable", s.changeCollection(Scheduler.EnableCollection))
		g.POST(collection+"/disable", s.changeCollection(Scheduler.DisableCollection))
		g.Match(reading, collection+changes, s.forCollection(s.listCollectionChanges))
		g.POST(collection+rerun, s.forCollection(s.rerunJobs))
		g.POST(collection+testNotification, s.forCollection(func(c *gin.Context, k job.CollectionKey) error { return s.testNotifications(c, k.Job("")) }))
		g.Match(reading, collection+notifications, s.forCollection(s.listNotifications))
		g.Match(reading, collection+"/"+paths.Operations+"/:id", s.forCollection(s.getOperation))
		g.Match(reading, collection+"/"+paths.OperationResults+"/:id", s.forCollection(s.getOperationResult))

		g.Match(reading, jobs, s.forCollection(s.listJobs))
		g.POST(jobs, s.forCollection(s.postJob))
		g.Match(reading, oneJob, s.forJob(s.getJob))
		g.PUT(oneJob, s.forJob(s.putJob))
		g.PATCH(oneJob, s.forJob(s.patchJob))
		g.DELETE(oneJob, s.forJob(s.deleteJob))
		g.POST(oneJob+"/run", s.forJob(s.runJob))
		g.POST(oneJob+rerun, s.forJob(s.rerunJob))
		g.POST(oneJob+"/skip", s.forJob(s.skipOccurrence))
		g.POST(oneJob+"/enable", s.forJob(s.changeJob(Scheduler.EnableJob)))
		g.POST(oneJob+"/disable", s.forJob(s.changeJob(Scheduler.DisableJob)))
		g.POST(oneJob+testNotification, s.forJob(s.testNotifications))
		g.Match(reading, oneJob+history, s.forJob(s.listHistory))
		g.Match(reading, oneJob+changes, s.forJob(s.listJobChanges))
	}
	tenant := r.Group(provider, s.errors.Handle(checkVersion(true)))
	for _, g := range []*gin.RouterGroup{group, subscription.Group(provider), tenant, short} {
		g.POST(previewPath, s.errors.Handle(s.previewRecurrence))
	}
}

const knownPaths = "The paths are .../jobCollections[/{name}[/enable, /disable, /rerun, /notifications, /testNotification, /history, /changes, /upcoming, /operations/{id}, /operationResults/{id} or " +
	"/jobs[/{name}[/run, /rerun, /skip, /enable, /disable, /testNotification, /history or /changes]]]], .../history, .../upcoming and .../previewRecurrence, where ... is /subscriptions/{id}/resourceGroups/{name}/providers/Microsoft.Scheduler, or nothing for the default resource group; " +
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
