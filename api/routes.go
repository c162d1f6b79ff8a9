package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/route"
	"almanac/job"
)

const (
	provider    = route.Provider
	collections = "/jobCollections"
	collection  = collections + "/:jc"
	jobs        = collection + "/jobs"
	oneJob      = jobs + "/:job"
	previewPath = "/previewRecurrence"
	readPath    = "/readRecurrence"

	calendars   = "/calendars" // of a collection, or of a subscription
	oneCalendar = calendars + "/:calendar"

	rerun            = "/rerun"
	testNotification = "/testNotification"
	executions       = "executions"
	backfills        = "backfills"

	// Operations returns the state of an operation in a collection, operationResults answers as the original request
	// would.
	operations       = "operations"
	operationResults = "operationResults"
	bulkResults      = "bulkResults" // likewise, of an operation on selected jobs

	// In a job, a collection, or across jobs.
	history  = "/history"
	upcoming = "/upcoming"

	previewChange = "/previewChange" // of a job
	// In a collection, or across jobs.
	summaries = "/summaries"
	forecast  = "/forecast"
	changes   = "/changes"

	description   = "/openapi.yaml"
	documentation = "/docs"
)

// An endpoint is a row of the table of routes: all that is special to one of them, but for what its handler does.
type endpoint struct {
	below   scope
	method  string // GET stands for HEAD, too
	path    string
	summary string // as openapi.yaml has it
	needs   route.Permission
	takes   route.Takes // what else is sent is refused, never ignored
	handle  gin.HandlerFunc
}

// The methods.
const (
	get, put, patch, post, remove = http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete
)

// What requests take. A list that merges many has no $skip, which would cost as much as reading what is skipped.
var (
	nothing       = route.Takes{}
	forceable     = route.Takes{Query: []string{"force"}}
	body          = route.Takes{Body: true}
	tagged        = route.Takes{Conditional: true}
	taggedBody    = route.Takes{Conditional: true, Body: true}
	ownedBody     = route.Takes{Query: []string{"owner", "adopt"}, Conditional: true, Body: true}
	pages         = route.Takes{Query: []string{"$top", "$skip", "$skiptoken"}}
	filteredPages = route.Takes{Query: []string{"$filter", "$top", "$skip", "$skiptoken"}}
	merged        = route.Takes{Query: []string{"$filter", "$top", "$skiptoken"}}
	mergedUntil   = route.Takes{Query: []string{"until", "$filter", "$top", "$skiptoken"}}
	searched      = route.Takes{Query: []string{"search", "$filter", "$orderby", "$top", "$skiptoken"}}
	window        = route.Takes{Query: []string{"from", "until", "step", "host"}}
	windowBody    = route.Takes{Query: []string{"from", "until", "step", "host"}, Body: true}
	inWindow      = route.Takes{Query: []string{"from", "until", "step", "host", "except"}}
	inWindowBody  = route.Takes{Query: []string{"from", "until", "step", "host", "except"}, Body: true}
	compareBody   = route.Takes{Query: []string{"take", "others"}, Body: true}
	selected      = route.Takes{Query: []string{"$skiptoken"}, Body: true}
	tokens        = route.Takes{Query: []string{"$skiptoken"}}
	whichRuns     = route.Takes{Query: []string{"due", "next", "from", "until"}}
	someTime      = route.Takes{Query: []string{"from", "until"}}
	somePace      = route.Takes{Query: []string{"from", "until", "name", "atOnce", "every"}}
	action        = route.Takes{Query: []string{"action"}}
	enabling      = route.Takes{Query: []string{"recover", "atOnce"}}
	disabling     = route.Takes{Query: []string{"note", "until", "recover", "atOnce"}}
	pausing       = route.Takes{Query: []string{"action", "note", "until", "recover", "atOnce"}}
	atTime        = route.Takes{Query: []string{"at"}}
	timeWindow    = route.Takes{Query: []string{"from", "until"}}
	timeSpan      = route.Takes{Query: []string{"from", "until", "$skiptoken"}}
	named         = route.Takes{Repeatable: true}
	namedPages    = route.Takes{Query: []string{"$filter", "$top", "$skip", "$skiptoken"}, Repeatable: true}
)

// What requests need.
var at, atOrBelow = route.At, route.AtOrBelow

// table returns all routes. The router, the permissions, the words of the paths, the list of known paths and what
// requests may have follow from it, and a test compares it with openapi.yaml. A row that leaves something open does
// not compile.
func (s *server) table() []endpoint {
	return slices.Concat(s.listRoutes(), s.collectionRoutes(), s.jobRoutes(), s.calendarRoutes(), s.fixedRoutes())
}

func (s *server) listRoutes() []endpoint {
	to := s.errors.Handle
	lists, records, due := atOrBelow(access.ReadCollections), atOrBelow(access.ReadHistory), atOrBelow(access.ReadJobs)
	const (
		collectionsOf = "List the job collections of the "
		historyOf     = "List the history of all jobs of the "
		dueIn         = "List when the jobs of the "
		summariesOf   = "Search and sort the jobs of the "
		countsOf      = "Count what comes due in the "
		countsBeside  = "Count what comes due beside a job in the "
	)
	return []endpoint{
		{inGroup, get, collections, collectionsOf + "resource group", lists, pages, to(s.listCollections)},
		{inGroup, get, history, historyOf + "resource group", records, merged, to(s.listHistoryAcross)},
		{inGroup, get, upcoming, dueIn + "resource group come due", due, mergedUntil, to(s.listUpcoming)},
		{inGroup, get, summaries, summariesOf + "resource group", due, searched, to(s.listSummaries)},
		{inGroup, get, forecast, countsOf + "resource group", due, window, to(s.getForecast)},
		{inGroup, post, forecast, countsBeside + "resource group", due, windowBody, to(s.postForecast)},
		{inSubscription, get, collections, collectionsOf + "subscription", lists, pages, to(s.listCollections)},
		{inSubscription, get, history, historyOf + "subscription", records, merged, to(s.listHistoryAcross)},
		{inSubscription, get, upcoming, dueIn + "subscription come due", due, mergedUntil, to(s.listUpcoming)},
		{inSubscription, get, summaries, summariesOf + "subscription", due, searched, to(s.listSummaries)},
		{inSubscription, get, forecast, countsOf + "subscription", due, window, to(s.getForecast)},
		{inSubscription, get, "/workers", "List which workers were there", at(access.ReadHistory), timeWindow, to(s.listWorkers)},
		{inSubscription, post, forecast, countsBeside + "subscription", due, windowBody, to(s.postForecast)},
		{anywhere, post, previewPath, "List when a job would run", atOrBelow(access.Preview), body, to(s.previewRecurrence)},
		{anywhere, post, readPath, "Read a recurrence in English", atOrBelow(access.Preview), body, to(s.readRecurrence)},
	}
}

func (s *server) collectionRoutes() []endpoint {
	to := s.forCollection
	read, run, changed := at(access.ReadCollections), at(access.RunJobs), at(access.ReadChanges)
	return []endpoint{
		{inGroup, get, collection, "Get a job collection", read, tagged, to(s.getCollection)},
		{inGroup, put, collection, "Create or replace a job collection", at(access.WriteCollections), taggedBody,
			to(s.putCollection)},
		{inGroup, patch, collection, "Change parts of a job collection", at(access.WriteCollections), taggedBody,
			to(s.patchCollection)},
		{inGroup, remove, collection, "Delete a job collection with all its jobs", at(access.DeleteCollections), tagged,
			to(s.deleteCollection)},
		{inGroup, post, collection + "/enable", "Enable a job collection", at(access.EnableCollections), enabling,
			to(s.enableCollection)},
		{inGroup, post, collection + "/disable", "Disable a job collection", at(access.DisableCollections), disabling,
			to(s.disableCollection)},
		{inGroup, post, collection + "/previewPause", "See what disabling or enabling a job collection holds and runs",
			at(access.ReadJobs), pausing, to(s.previewCollectionPause)},
		{inGroup, post, collection + rerun, "Run the jobs of a job collection again that failed", run, namedPages,
			to(s.rerunJobs)},
		{inGroup, get, collection + "/notifications", "List what became of notifications", read, nothing,
			to(s.listNotifications)},
		{inGroup, post, collection + testNotification, "Test the notifications of a job collection", run, nothing,
			to(s.testCollection)},
		{inGroup, get, collection + history, "List the history of all jobs of a job collection",
			atOrBelow(access.ReadHistory), merged, s.errors.Handle(s.listHistoryAcross)},
		{inGroup, get, collection + changes, "List the changes of a job collection", changed, pages,
			to(s.listCollectionChanges)},
		{inGroup, get, collection + "/lateness", "Say how late the jobs of a job collection ran", at(access.ReadHistory),
			timeSpan, to(s.collectionLateness)},
		{inGroup, get, collection + upcoming, "List when the jobs of a job collection come due",
			atOrBelow(access.ReadJobs), mergedUntil, s.errors.Handle(s.listUpcoming)},
		{inGroup, get, collection + summaries, "Search and sort the jobs of a job collection",
			atOrBelow(access.ReadJobs), searched, s.errors.Handle(s.listSummaries)},
		{inGroup, post, collection + previewPath, "List when a job of a job collection would run", atOrBelow(access.Preview), body,
			s.errors.Handle(s.previewRecurrence)},
		{inGroup, post, collection + "/bindOwner", "Put an owner of job files on record", at(access.WriteJobs), body,
			to(s.bindOwner)},
		{inGroup, get, collection + "/digests", "List the digests of the jobs of a job collection", atOrBelow(access.ReadJobs), tokens,
			to(s.listDigests)},
		{inGroup, get, collection + forecast, "Count what comes due in a job collection",
			atOrBelow(access.ReadJobs), inWindow, s.errors.Handle(s.getForecast)},
		{inGroup, post, collection + forecast, "Count what comes due beside a job in a job collection",
			atOrBelow(access.ReadJobs), inWindowBody, s.errors.Handle(s.postForecast)},
		{inGroup, get, collection + "/" + operations + "/:id", "Get the status of a change of a job collection", read,
			nothing, to(s.getOperation)},
		{inGroup, get, collection + "/" + operationResults + "/:id", "Get the result of a change of a job collection", read,
			nothing, to(s.getOperationResult)},
		{inGroup, get, collection + "/" + bulkResults + "/:id", "Get what became of selected jobs", read, nothing,
			to(s.getBulkResults)},
		{inGroup, post, collection + "/bulkPreview", "Select jobs to change together", at(access.ReadJobs), body,
			to(s.previewBulk)},
		{inGroup, post, collection + "/bulkEnable", "Enable selected jobs", at(access.EnableJobs), selected,
			to(s.bulk(job.BulkEnable))},
		{inGroup, post, collection + "/bulkDisable", "Disable selected jobs", at(access.DisableJobs), selected,
			to(s.bulk(job.BulkDisable))},
		{inGroup, post, collection + "/bulkRun", "Run selected jobs now", run, selected, to(s.bulk(job.BulkRun))},
		{inGroup, post, collection + "/bulkSkip", "Skip the next occurrence of selected jobs", at(access.SkipJobs),
			selected, to(s.bulk(job.BulkSkip))},
		{inGroup, post, collection + "/bulkRerun", "Run selected jobs again that failed", run, selected,
			to(s.bulk(job.BulkRerun))},
		{inGroup, post, collection + "/bulkDelete", "Delete selected jobs", at(access.DeleteJobs), selected,
			to(s.bulk(job.BulkDelete))},
		{inGroup, get, jobs, "List the jobs of a job collection", atOrBelow(access.ReadJobs), filteredPages, to(s.listJobs)},
		{inGroup, post, jobs, "Create a job under a name that the service chooses", at(access.WriteJobs), body,
			to(s.postJob)},
	}
}

func (s *server) jobRoutes() []endpoint {
	to := s.forJob
	run := at(access.RunJobs)
	return []endpoint{
		{inGroup, get, oneJob, "Get a job", at(access.ReadJobs), tagged, to(s.getJob)},
		{inGroup, put, oneJob, "Create or replace a job", at(access.WriteJobs), ownedBody, to(s.putJob)},
		{inGroup, patch, oneJob, "Change parts of a job", at(access.WriteJobs), taggedBody, to(s.patchJob)},
		{inGroup, remove, oneJob, "Delete a job and its history", at(access.DeleteJobs), tagged, to(s.deleteJob)},
		{inGroup, post, oneJob + previewChange, "See what a change does to the next runs of a job", at(access.ReadJobs),
			compareBody, to(s.previewChange)},
		{inGroup, post, oneJob + "/try", "Send the action of a job once without saving it", at(access.TryJobs), body, to(s.tryJob)},
		{inGroup, post, oneJob + "/run", "Run a job now", run, forceable, to(s.runJob)},
		{inGroup, post, oneJob + rerun, "Run a job again if it failed", run, named, to(s.rerunJob)},
		{inGroup, post, oneJob + "/skip", "Skip occurrences of a job", at(access.SkipJobs), whichRuns,
			to(s.skipOccurrences)},
		{inGroup, post, oneJob + "/unskip", "Run skipped occurrences of a job after all", at(access.SkipJobs), whichRuns,
			to(s.unskipOccurrences)},
		{inGroup, post, oneJob + "/enable", "Enable a job", at(access.EnableJobs), enabling,
			to(s.enableJob)},
		{inGroup, post, oneJob + "/disable", "Disable a job", at(access.DisableJobs), disabling,
			to(s.disableJob)},
		{inGroup, post, oneJob + "/previewBackfill", "See which occurrences of a job a backfill would run", at(access.ReadJobs),
			someTime, to(s.previewBackfill)},
		{inGroup, post, oneJob + "/backfill", "Run past occurrences of a job", run, somePace, to(s.backfill)},
		{inGroup, get, oneJob + "/" + backfills, "List the backfills of a job", at(access.ReadJobs), nothing, to(s.listBackfills)},
		{inGroup, post, oneJob + "/" + backfills + "/:id", "Pause, resume or end a backfill", run, action, to(s.changeBackfill)},
		{inGroup, post, oneJob + "/previewPause", "See what disabling or enabling a job holds and runs", at(access.ReadJobs),
			pausing, to(s.previewPause)},
		{inGroup, post, oneJob + "/prune", "Prune a job that its owner does not have any more", at(access.DeleteJobs), taggedBody,
			to(s.pruneJob)},
		{inGroup, post, oneJob + "/restore", "Take a pruned job back", at(access.WriteJobs), tagged, to(s.restoreJob)},
		{inGroup, post, oneJob + "/compareSecrets", "Compare secrets with those of a job", at(access.WriteJobs), body,
			to(s.compareSecrets)},
		{inGroup, post, oneJob + testNotification, "Test the notifications of a job", run, nothing, to(s.testNotifications)},
		{inGroup, get, oneJob + history, "List the history of a job", at(access.ReadHistory), filteredPages,
			to(s.listHistory)},
		{inGroup, get, oneJob + "/" + executions + "/:id", "Get an execution", at(access.ReadHistory), nothing,
			to(s.getExecution)},
		{inGroup, get, oneJob + "/explain", "Say why an occurrence of a job ran late or not at all", at(access.ReadHistory),
			atTime, to(s.explainJob)},
		{inGroup, get, oneJob + "/lateness", "Say how late a job ran", at(access.ReadHistory), timeSpan, to(s.jobLateness)},
		{inGroup, get, oneJob + changes, "List the changes of a job", at(access.ReadChanges), pages, to(s.listJobChanges)},
	}
}

func (s *server) calendarRoutes() []endpoint {
	read, write, del := at(access.ReadCalendars), at(access.WriteCalendars), at(access.DeleteCalendars)
	const ofOne, ofAll = " of a job collection", " of the subscription"
	var all []endpoint
	for _, scope := range []struct {
		below   scope
		path    string
		of      string
		handler func(func(*gin.Context, job.CollectionKey) error) gin.HandlerFunc
	}{
		{inGroup, collection, ofOne, s.forCollection}, {inSubscription, "", ofAll, s.forSubscription},
	} {
		list, one := scope.path+calendars, scope.path+oneCalendar
		to := func(f func(*gin.Context, job.CalendarKey) error) gin.HandlerFunc {
			return scope.handler(forCalendar(f))
		}
		all = append(all,
			endpoint{scope.below, get, list, "List the calendars" + scope.of, read, pages, scope.handler(s.listCalendars)},
			endpoint{scope.below, get, one, "Get a calendar" + scope.of, read, tagged, to(s.getCalendar)},
			endpoint{scope.below, get, one + "/usage", "List the jobs that use a calendar" + scope.of, read, pages, to(s.listCalendarUsage)},
			endpoint{scope.below, put, one, "Create or replace a calendar" + scope.of, write, taggedBody, to(s.putCalendar)},
			endpoint{scope.below, remove, one, "Delete a calendar" + scope.of, del, tagged, to(s.deleteCalendar)},
		)
	}
	return all
}

func (s *server) fixedRoutes() []endpoint {
	to := s.errors.Handle
	return []endpoint{
		{root, get, route.Subscriptions, "List the subscriptions", atOrBelow(access.ReadCollections), pages,
			to(s.listSubscriptions)},
		{root, get, route.ResourceGroups, "List the resource groups of the subscription",
			atOrBelow(access.ReadCollections), pages, to(s.listResourceGroups)},
		{root, get, description, "Get this document", route.Public, nothing, to(s.openAPI)},
		{root, get, "/job.schema.json", "Get the JSON schema of job files", route.Public, nothing, to(s.jobSchema)},
		{root, get, documentation, "Read this document as a web page", route.Public, nothing, to(s.docs)},
		{root, get, documentation + "/:file", "Get a part of the documentation page", route.Public, nothing, to(s.docs)},
		{root, get, route.Health, "Is the process alive?", route.Public, nothing, to(s.healthz)},
		{root, get, route.Ready, "Can jobs be kept and run?", route.Public, nothing, to(s.readyz)},
		{root, get, route.Metrics, "The metrics of this process", at(access.ReadMetrics), nothing, to(s.metrics)},
		{root, get, "/", "See where things are", route.Public, nothing, to(s.index)},
	}
}
