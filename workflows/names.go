package workflows

import "almanac/internal/calls"

// TaskQueue is where workflows and activities of Almanac are run.
const TaskQueue = "almanac"

// The workflow types.
const (
	TypeJob          = "Job"
	TypeCollection   = "Collection"
	TypeSubscription = "Subscription"
)

// What a [Job] answers. Run, enable, disable and delete are updates, for who wants an
// answer, and signals of the same name, for who does not: a job that has not begun heeds
// those when it begins. A [Collection] can be enabled, disabled and deleted likewise.
const (
	UpdateReplace = "update" // takes a ReplaceRequest
	UpdateRun     = "run"
	UpdateEnable  = "enable"
	UpdateDisable = "disable"
	UpdateDelete  = "delete"
	QueryStatus   = "status" // of a Collection too
	SignalBegin   = "begin"  // has a job begin that was started with a delay
)

// What a [Job] is told by its collection.
const (
	UpdateCollection = "collection" // whether the collection is enabled, a bool
	UpdateDismiss    = "dismiss"    // the collection is deleted, and the job with it
)

// What a [Collection] answers besides.
const (
	UpdatePut      = "put"      // takes a PutRequest
	UpdateRegister = "register" // takes a RegisterRequest, returns a list of RegisterResult; of a Subscription a RegisterCollectionRequest and a string
	UpdateClaim    = "claim"    // takes a ClaimRequest
	QueryJobs      = "jobs"     // returns a JobList
	SignalRemoved  = "removed"  // a job of that name is gone; of a Subscription, a collection
)

// What a [Subscription] answers besides.
const (
	QueryCollections = "collections" // returns the names, each as resource group/name
)

// The search attributes that both workflows are started with; all keywords.
// Names are in lower case, since they compare without case.
const (
	AttributeSubscription  = "AlmanacSubscription"
	AttributeResourceGroup = "AlmanacResourceGroup"
	AttributeCollection    = "AlmanacCollection"
	AttributeJob           = "AlmanacJob"
	AttributeState         = "AlmanacState"
)

// The types of the errors that updates are refused with.
const (
	ErrTypeConflict = "Conflict" // the state of the job or collection forbids it
	ErrTypeStale    = "Stale"    // the job was changed since the caller read it
	ErrTypeGone     = calls.ErrTypeGone
	ErrTypeInvalid  = "Invalid" // this worker cannot plan the definition
	ErrTypeSilent   = "Silent"  // it was done, but some jobs did not answer and do not know of it yet
)

// MemoText and MemoID are the members of a workflow's memo: a line that says
// what it is, and its resource id. Every run has them, which is not so with
// the summary that a workflow is started with.
const (
	MemoText = "text"
	MemoID   = "id"
)
