package workflows

// TaskQueue is where workflows and activities of Almanac are run.
const TaskQueue = "almanac"

// The workflow types.
const (
	TypeJob        = "Job"
	TypeCollection = "Collection"
)

// What a [Job] answers. Run, enable, disable and delete are updates, for who
// wants an answer, and signals of the same name, for who does not.
const (
	UpdateReplace = "update" // takes a ReplaceRequest
	UpdateRun     = "run"
	UpdateEnable  = "enable"
	UpdateDisable = "disable"
	UpdateDelete  = "delete" // of a Collection too
	QueryStatus   = "status" // of a Collection too
)

// SignalCollection tells a [Job] whether its collection is enabled; its
// argument is a bool.
const SignalCollection = "collection"

// What a [Collection] answers.
const (
	UpdatePut      = "put"      // takes a job.Collection
	UpdateRegister = "register" // takes a RegisterRequest, returns a RegisterResult
	QueryJobs      = "jobs"     // returns the names of all jobs
	SignalRemoved  = "removed"  // a job of that name is gone
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
	ErrTypeGone     = "Gone"     // it is being deleted
	ErrTypeInvalid  = "Invalid"  // this worker cannot plan the definition
)

// MemoText and MemoID are the members of a workflow's memo: a line that says
// what it is, and its resource id. Every run has them, which is not so with
// the summary that a workflow is started with.
const (
	MemoText = "text"
	MemoID   = "id"
)
