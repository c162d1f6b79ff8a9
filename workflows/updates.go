package workflows

import (
	"slices"

	"almanac/internal/audit"
)

// Updates of a [Job]. Run, enable, disable and delete are signals as well, for callers that need no answer. Enable,
// disable and delete exist for a [Collection] too.
const (
	UpdateReplace = "update"         // takes a ReplaceRequest
	UpdateRun     = "run"            // returns the name of the execution; see job.ExecutionName
	UpdateRerun   = "rerun"          // takes the key of a request, returns a job.RerunAnswer
	UpdateSkip    = "skip"           // takes a job.SkipRequest, or a due time, and perhaps a generation
	UpdateUnskip  = "unskip"         // likewise
	UpdatePrune   = "prune"          // takes a PruneRequest
	UpdateRestore = "restore"        // takes a pruned job back; perhaps with a generation
	UpdateCompare = "compareSecrets" // takes a CompareRequest, returns whether they are the same
	// UpdateBackfill takes a job.BackfillRequest, and UpdateChangeBackfill a BackfillChange; both return a job.Job.
	UpdateBackfill       = "backfill"
	UpdateChangeBackfill = "changeBackfill"
	UpdateEnable         = "enable"
	UpdateDisable        = "disable"
	UpdateDelete         = "delete"
	// UpdateTest sends a test of notifications. It returns []notification.Delivery. A Collection takes it, too, with
	// the name of a job.
	UpdateTest = "testNotification"

	UpdateCollection = "collection" // from its collection: takes a CollectionState
	UpdateDismiss    = "dismiss"    // likewise: the collection is being deleted, and the job with it
)

// Further updates of a [Collection].
const (
	UpdatePut = "put" // takes a PutRequest
	// UpdateRegister takes a RegisterRequest and returns a RegisterAnswer; of a Subscription, RegisterCollectionRequest
	// and Registration.
	UpdateRegister = "register"
	// UpdateConfirm takes a Registration: the workflow behind the name asks whether it is registered. A Subscription
	// takes it, too, and Calendars.
	UpdateConfirm   = "confirm"
	UpdateBindOwner = "bindOwner" // takes a job.Binding: puts an owner of job files on record
	UpdateReserve   = "reserve"   // takes a ReserveRequest; of a Subscription: PlanChange
	// UpdateAdmitTest takes to how many addresses a test of a job's own notifications goes, and counts it.
	UpdateAdmitTest = "admitTest"
	// UpdateAdmitTry takes the name of a job whose action is to be tried, and counts it.
	UpdateAdmitTry = "admitTry"
)

// An Update is a request that a workflow takes as one of Temporal's updates, and answers. To add one to a job, add a
// row to [JobUpdates] and its handler to the table in package jobloop.
type Update struct {
	Name        string
	Description string // for the Temporal Web UI and CLI

	// Operation is that of its entry in the list of changes; "" if it has none. What it changes of a definition is in
	// package trail.
	Operation audit.Operation
	// Once says that a job remembers the update when it has applied it: a repetition in a later run is answered, and
	// changes nothing.
	Once bool
	// Unrepeated says that a caller who gets no answer does not send it again, since no run would know it.
	Unrepeated bool
}

// Updates is a table of updates.
type Updates []Update

// Find returns the row of a name; one without members if there is none.
func (u Updates) Find(name string) Update {
	i := slices.IndexFunc(u, func(one Update) bool { return one.Name == name })
	if i < 0 {
		return Update{}
	}
	return u[i]
}

// Unrepeated reports whether [Update.Unrepeated] is set of an update of that name.
func Unrepeated(name string) bool {
	return JobUpdates.Find(name).Unrepeated || CollectionUpdates.Find(name).Unrepeated
}

// JobUpdates are the updates of a [Job].
var JobUpdates = Updates{
	{Name: UpdateReplace, Description: "replace the definition", Operation: audit.WriteJob, Once: true},
	{Name: UpdateEnable, Description: "enable the job", Operation: audit.EnableJob, Once: true},
	{Name: UpdateDisable, Description: "disable the job", Operation: audit.DisableJob, Once: true},
	{Name: UpdateDelete, Description: "delete the job", Operation: audit.DeleteJob, Once: true},
	{Name: UpdateRun, Description: "run the job now", Operation: audit.RunJob, Once: true},
	{Name: UpdatePrune, Description: "disable the job and delete it in a week, since its owner does not have it any more",
		Operation: audit.PruneJob, Once: true},
	{Name: UpdateRestore, Description: "take the job back after it was pruned", Operation: audit.RestoreJob, Once: true},
	{Name: UpdateSkip, Description: "do not run the next occurrence; with a time, the one that is due then",
		Operation: audit.SkipJob, Once: true},
	{Name: UpdateUnskip, Description: "run the next skipped occurrence after all; with a time, the one that is due then",
		Operation: audit.UnskipJob, Once: true},
	{Name: UpdateBackfill, Description: "run the occurrences of a time", Operation: audit.BackfillJob, Once: true},
	{Name: UpdateChangeBackfill, Description: "pause, resume or end a backfill", Operation: audit.BackfillJob, Once: true},
	{Name: UpdateRerun, Description: "run the job again if its last execution failed",
		Operation: audit.RunJob, Once: true},
	{Name: UpdateCompare, Description: "compare secrets with those of the job", Operation: audit.CompareSecrets},
	// Its operation depends on what has changed; see package trail.
	{Name: UpdateCollection, Description: "the job collection was enabled or disabled, or its notifications changed"},
	{Name: UpdateTest, Description: "send a test to the targets of the job's own notifications", Unrepeated: true},
	{Name: UpdateDismiss, Description: "the job collection is deleted, and the job with it",
		Operation: audit.DeleteCollection},
}

// CollectionUpdates are the updates of a [Collection].
var CollectionUpdates = Updates{
	{Name: UpdateTest, Description: "send a test to the targets of notifications", Unrepeated: true},
	{Name: UpdateAdmitTest, Description: "count a test of a job's own notifications", Unrepeated: true},
	{Name: UpdateAdmitTry, Description: "count an action that is tried", Operation: audit.TryJob},
	{Name: UpdatePut, Description: "replace the properties", Operation: audit.WriteCollection},
	{Name: UpdateRegister, Description: "reserve names for new jobs"},
	{Name: UpdateConfirm, Description: "whether a name is registered for the job that asks"},
	{Name: UpdateBindOwner, Description: "put an owner of job files on record", Operation: audit.BindOwner},
	{Name: UpdateReserve, Description: "reserve what a changed job requires"},
	{Name: UpdateEnable, Description: "enable the job collection", Operation: audit.EnableCollection},
	{Name: UpdateDisable, Description: "disable the job collection: its jobs rest, whatever their own state",
		Operation: audit.DisableCollection},
	{Name: UpdateDelete, Description: "delete the job collection and all its jobs", Operation: audit.DeleteCollection},
}
