package access

// An Action is what a request does, in the words of Azure's role definitions.
type Action string

// The actions.
const (
	ReadCollections    Action = "Microsoft.Scheduler/jobCollections/read"
	WriteCollections   Action = "Microsoft.Scheduler/jobCollections/write"
	DeleteCollections  Action = "Microsoft.Scheduler/jobCollections/delete"
	EnableCollections  Action = "Microsoft.Scheduler/jobCollections/enable/action"
	DisableCollections Action = "Microsoft.Scheduler/jobCollections/disable/action"
	ReadJobs           Action = "Microsoft.Scheduler/jobCollections/jobs/read"
	WriteJobs          Action = "Microsoft.Scheduler/jobCollections/jobs/write"
	DeleteJobs         Action = "Microsoft.Scheduler/jobCollections/jobs/delete"
	RunJobs            Action = "Microsoft.Scheduler/jobCollections/jobs/run/action"
	TryJobs            Action = "Microsoft.Scheduler/jobCollections/jobs/try/action"
	SkipJobs           Action = "Microsoft.Scheduler/jobCollections/jobs/skip/action"
	EnableJobs         Action = "Microsoft.Scheduler/jobCollections/jobs/enable/action"
	DisableJobs        Action = "Microsoft.Scheduler/jobCollections/jobs/disable/action"
	ReadHistory        Action = "Microsoft.Scheduler/jobCollections/jobs/jobHistories/read"
	// ReadResponses is needed if responses are hidden from others.
	ReadResponses    Action = "Microsoft.Scheduler/jobCollections/jobs/jobHistories/responses/read"
	ReadChanges      Action = "Microsoft.Scheduler/jobCollections/changes/read"
	ReadCalendars    Action = "Microsoft.Scheduler/calendars/read"
	WriteCalendars   Action = "Microsoft.Scheduler/calendars/write"
	DeleteCalendars  Action = "Microsoft.Scheduler/calendars/delete"
	Preview          Action = "Microsoft.Scheduler/previewRecurrence/action"
	ReadMetrics      Action = "Microsoft.Scheduler/metrics/read"
	WriteAssignments Action = "Microsoft.Authorization/roleAssignments/write"
)

// A Role is a set of actions. Each role may do all that the roles before it may.
type Role int

// The roles. The zero Role may do nothing.
const (
	Reader      Role = iota + 1 // sees jobs, collections, calendars, histories and previews
	Operator                    // runs, enables and disables jobs, skips occurrences, enables and disables collections
	Contributor                 // creates, changes and deletes jobs, collections and calendars
	Owner                       // decides who may do what
)

// roleNames are the names of the roles in files and flags, from [Reader] on.
var roleNames = []string{"reader", "operator", "contributor", "owner"}

// RoleNames returns the names of all roles, the weakest first.
func RoleNames() []string { return roleNames }

// String returns the name of a role; "none" for the zero Role.
func (r Role) String() string {
	if r < Reader || r > Owner {
		return "none"
	}
	return roleNames[r-1]
}

// ParseRole returns the role with a name; the zero Role if there is none.
func ParseRole(name string) Role {
	for i, known := range roleNames {
		if name == known {
			return Role(i + 1)
		}
	}
	return 0
}

// weakest is the weakest role that may do an action.
var weakest = map[Action]Role{
	ReadCollections: Reader, ReadJobs: Reader, ReadHistory: Reader, ReadChanges: Reader, ReadCalendars: Reader, Preview: Reader, ReadMetrics: Reader,
	RunJobs: Operator, SkipJobs: Operator, EnableJobs: Operator, DisableJobs: Operator, EnableCollections: Operator, DisableCollections: Operator,
	WriteCollections: Contributor, DeleteCollections: Contributor, WriteJobs: Contributor, DeleteJobs: Contributor, TryJobs: Contributor, ReadResponses: Contributor,
	WriteCalendars: Contributor, DeleteCalendars: Contributor,
	WriteAssignments: Owner,
}

// Allows reports whether a role may do an action. Nobody may do an action that is not known.
func (r Role) Allows(a Action) bool {
	least, known := weakest[a]
	return known && r >= least
}
