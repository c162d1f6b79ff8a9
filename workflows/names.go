package workflows

import (
	"almanac/activities/lookups"
	"almanac/internal/wfclient"
)

// TaskQueue is the task queue of Almanac's workflows and activities.
const TaskQueue = "almanac"

// The workflow types.
const (
	TypeJob          = "Job"
	TypeCollection   = "Collection"
	TypeSubscription = "Subscription"

	TypeNotifications = "Notifications" // delivers the alerts of a collection's jobs; see notification.Shard
	TypeBulk          = "Bulk"          // changes many jobs of a collection
	TypeTry           = "Try"           // sends the action of a definition once that is not saved
	TypeCalendar      = "Calendar"      // a calendar
	TypeCalendars     = "Calendars"     // the names of the calendars of a collection or a subscription
)

// Queries and signals of a [Job]. A job whose start is delayed handles signals when it begins.
const (
	QueryStatus = "status" // of a Collection too
	// QueryDefinition returns the job.Definition, with secrets. A worker asks it.
	QueryDefinition = "definition"
	SignalBegin     = "begin" // begins a job whose start is delayed
	// SignalZones takes a plan.Zone, without offsets: of a worker that has a newer release of the time zone database.
	SignalZones = "zones"
	// SignalCalendar takes a CalendarChange: a calendar that the job may use has changed.
	SignalCalendar = "calendar"
)

// Further queries and signals of a [Collection].
const (
	QueryJobs     = "jobs"    // returns a JobList
	QueryOwners   = "owners"  // returns []job.Owner
	SignalRemoved = "removed" // takes a Registration of a job, or in a Subscription a collection, that is gone
	SignalPlan    = "plan"    // of a Subscription: takes a PlanChange
)

// Queries and signals for notifications.
const (
	QueryNotifications = "notifications" // of a Collection: returns []job.Notification, with secrets
	QueryDeliveries    = "deliveries"    // of Notifications: returns []notification.Delivery, newest first
	SignalRaise        = "raise"         // of Notifications: takes []notification.Raised, at most 256 KiB of them
	SignalEnd          = "end"           // of Notifications, Calendars and Calendar: the collection is gone
	// SignalNotifying is of a Collection: alerts of its jobs are delivered by Notifications. It takes the number of the
	// shard.
	SignalNotifying = "notifying"
)

// Further queries of a [Subscription].
const (
	QueryCollections = "collections" // returns []string, each "resource group/name"
)

// Queries of calendars. QueryStatus, too, is one of a Calendar: it returns a job.KeptCalendar.
const (
	QuerySummary   = "summary"   // of a Calendar: likewise, without its days
	QueryCalendars = "calendars" // of Calendars: returns []Registration, in order of their names
)

// ActivityPlan is the type of the activity that plans with another worker. It takes a plan.Request, and returns a
// plan.Plan.
const ActivityPlan = "Plan"

// ActivityAsk is the type of the local activity that plans by calendars.
const ActivityAsk = "PlanByCalendars"

// ActivityTell is the type of the activity that tells jobs of a CalendarChange. It returns how many.
const ActivityTell = "TellJobsOfCalendar"

// ActivityWarn is the type of the activity that takes a HorizonWarning and raises an alert of each job collection that
// uses the calendar. It returns how many.
const ActivityWarn = "WarnOfHorizon"

// Search attributes of the Job and Collection workflows: times, and else keywords. Names are in lower case, since
// they compare without case.
const (
	AttributeSubscription  = "AlmanacSubscription"
	AttributeResourceGroup = "AlmanacResourceGroup"
	AttributeCollection    = "AlmanacCollection"
	AttributeJob           = "AlmanacJob"
	AttributeState         = "AlmanacState"
	AttributeLastOutcome   = "AlmanacLastOutcome" // of jobs: NoOutcome, or a job.Outcome; optional
	AttributeOutlineTime   = "AlmanacOutlineTime" // of jobs: when MemoOutline got its value; optional
	AttributeNextRun       = "AlmanacNextRun"     // of jobs with [state.Input.ShowNext]: when they are due; optional
)

// BuildID is the build ID of all workers. It is the same in all releases, so that [BuildIDs] is known when a job is
// started.
const (
	BuildID           = "almanac"
	AttributeBuildIDs = "BuildIds" // Temporal's own
)

// BuildIDs returns the value that the server gives AttributeBuildIDs when a worker has completed the first task of a
// run. It costs a write to the visibility store, unless the run was started with that value.
func BuildIDs() []string { return []string{"unversioned", "unversioned:" + BuildID} }

// NoOutcome is the value of AttributeLastOutcome before the first execution of a job has ended.
const NoOutcome = "None"

// Error types of refused updates.
const (
	ErrTypeConflict = "Conflict" // the state of the job or collection forbids it
	ErrTypeStale    = "Stale"    // it was changed since the caller read it
	ErrTypeGone     = wfclient.ErrTypeGone
	ErrTypeFull     = "Full"    // there are as many as there may be
	ErrTypeInvalid  = "Invalid" // the definition is invalid, or this worker cannot plan it
	ErrTypeTooMany  = "TooMany" // it was asked for too often; details: how long to wait
	ErrTypeSilent   = "Silent"  // it was done, but some jobs did not answer and may not know

	ErrTypeUnregistered = "Unregistered" // the name is not registered for this workflow, which ends itself
)

// Members of a workflow's memo: a line that describes it, and its resource id. Unlike the summary that
// a workflow is started with, every run has them.
const (
	MemoText = "text"
	MemoID   = "id"
	// MemoSubscription is the name of a subscription as it was first written.
	MemoSubscription = "subscription"
	// MemoHalted is why disableAfter has disabled a job, until it is enabled again. The list of changes is read from
	// its history.
	MemoHalted = "halted"

	MemoOutline = "outline" // of a job: its job.Outline

	// number of the registration that the workflow was started with; see Registration.
	MemoRegistration = lookups.MemoRegistration
)
