package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/notification"
	"almanac/job/quota"
)

// StartWithin is how long after the registration of its name a workflow must be started. One that was started later
// asks its registry whether the name is still registered for it: see [UpdateConfirm].
const StartWithin = 15 * time.Second

// A ReplaceRequest replaces a job's definition.
type ReplaceRequest struct {
	Definition job.Definition `json:"definition"` // State must be enabled or disabled; omitted secrets are kept
	// readable form of the definition; from the caller, so that a replay cannot produce another
	Text       string `json:"text"`
	Generation int    `json:"generation"` // of the job that the caller read; 0 for any
	// keep omitted secrets even if they will be sent to another target
	Retarget bool `json:"retarget,omitempty"`
	// whether to keep up the search attribute of the next run; nil: as before
	ShowNext *bool `json:"showNext,omitempty"`
}

// A CompareRequest asks whether the secrets of a definition are those that a job has.
type CompareRequest struct {
	Definition job.Definition `json:"definition"`
}

// A RunRequest asks for a manual run.
type RunRequest struct {
	Force bool `json:"force,omitempty"` // also in a blackout
}

// A PruneRequest prunes a job.
type PruneRequest struct {
	Owner      string `json:"owner"`                // of the caller
	Generation int    `json:"generation,omitempty"` // as in ReplaceRequest
}

// A PutRequest replaces a collection's properties.
type PutRequest struct {
	job.Collection
	Limits   *quota.Limits `json:"limits,omitempty"`   // of the new plan and quota; nil: nothing is checked
	Expected int           `json:"expected,omitempty"` // the generation that the caller read; 0 for any
	Retarget bool          `json:"retarget,omitempty"` // as in ReplaceRequest
	// the caller says nothing of blackouts: the collection keeps its own
	KeepBlackouts bool `json:"keepBlackouts,omitempty"`
}

// A PutCalendarRequest replaces a calendar.
type PutCalendarRequest struct {
	Calendar job.Calendar `json:"calendar"`
	Expected int          `json:"expected,omitempty"` // the generation that the caller read; 0 for any
}

// A RegisterRequest registers names for new jobs.
type RegisterRequest struct {
	Jobs    []RegisterJob  `json:"jobs"`
	Tiers   quota.Tiers    `json:"tiers"`             // the plans that the API is configured with
	Started []Registration `json:"started,omitempty"` // earlier registrations whose workflows the server has started
}

// A RegisterJob is a new job of a [RegisterRequest].
type RegisterJob struct {
	Name         string             `json:"name"`
	Requirements quota.Requirements `json:"requirements,omitzero"`
	IfNew        bool               `json:"ifNew,omitempty"` // nothing is registered if the name is registered already
}

// A RegisterAnswer is the answer to a [RegisterRequest].
type RegisterAnswer struct {
	Collection CollectionState  `json:"collection"` // with which the jobs start
	Jobs       []RegisterResult `json:"jobs"`       // in the order of the request
}

// A RegisterResult is the answer for one name.
type RegisterResult struct {
	Registration
	Refused string `json:"refused,omitempty"` // why the rules refuse the job; the other fields are then undefined
	// the name is registered already, and was to be registered only if it is not; likewise
	Taken bool `json:"taken,omitempty"`
}

// Registration is one registration of a name. A job's generation begins with the number, a collection's too.
type Registration struct {
	Name string `json:"name"` // as first written
	// Number is greater than that of every earlier registration of the name, by so much that no generation belongs to
	// two jobs of it: the time of the registration by the server's clock, in microseconds since 1970, or up to a
	// millisecond later for each that was registered at that time. 0 stands for an unknown registration.
	Number int `json:"n"`
}

// RegisteredAt returns the time of a registration by the server's clock.
func RegisteredAt(number int) time.Time { return time.UnixMicro(int64(number)).UTC() }

// StartedLate reports whether a workflow was started so long after the registration of its name that the name may have
// been forgotten: it has to ask its registry then. Both times are the server's. The later runs of a workflow are never
// late.
func StartedLate(ctx workflow.Context, number int) bool {
	info := workflow.GetInfo(ctx)
	return info.ContinuedExecutionRunID == "" && info.WorkflowStartTime.Sub(RegisteredAt(number)) > StartWithin
}

// Unregistered returns the error that ends a workflow whose registry gave that answer to [UpdateConfirm]; nil if the
// workflow continues.
func Unregistered(answer error) error {
	refused, ok := errors.AsType[*temporal.ApplicationError](answer)
	switch {
	case !ok:
		return nil
	case refused.Type() == ErrTypeUnregistered:
		return Refuse(ErrTypeUnregistered, refused.Message())
	case refused.Type() == ErrTypeGone:
		return Refusef(ErrTypeUnregistered, "The workflow was started later than %s after its name was registered, "+
			"and what had registered it is gone. Nothing lists it, so it ends.", StartWithin)
	}
	return nil
}

// CollectionState is what a job has to know of its collection. A job ignores a state with an older generation than that
// of the one that it applied.
type CollectionState struct {
	Generation int                 `json:"generation"`         // of the collection
	Disabled   bool                `json:"disabled,omitempty"` // the collection is not enabled
	Rules      []notification.Rule `json:"rules,omitempty"`    // of the collection's notifications
	// of jobs that have none of their own
	FlexibleWindow job.Duration `json:"flexibleWindow,omitempty"`
	// that hold for all jobs, beside their own
	Blackouts []job.Blackout `json:"blackouts,omitempty"`
	// by whom and until when it is disabled, if that holds what comes due
	Pause *job.Disabling `json:"pause,omitempty"`
	// of an enabled collection: what is to be recovered of what was held; nil: what the pause promised
	Recover *job.Promise `json:"recover,omitempty"`
}

// A ReserveRequest reports what a job requires of the plan. A job that changes sends two: before the
// change, the requirements of its old and new definitions together; after it, Final, those of the new one.
type ReserveRequest struct {
	Name         string             `json:"name"`
	Requirements quota.Requirements `json:"requirements,omitzero"`
	Job          int                `json:"job"`             // generation of the job's new definition
	Final        bool               `json:"final,omitempty"` // the new definition is in force
	Tiers        quota.Tiers        `json:"tiers,omitempty"` // as in RegisterRequest
}

// JobList is a collection and its jobs in order of creation.
type JobList struct {
	Collection job.CollectionKey `json:"collection"` // as first written
	Jobs       []Listed          `json:"jobs"`
}

// Listed is one job of a [JobList].
type Listed struct {
	Name     string `json:"name"`
	Sequence int    `json:"seq"` // increases with each registration
}

// A RegisterCollectionRequest registers the name of a new collection.
type RegisterCollectionRequest struct {
	Name  string `json:"name"` // "resource group/name"
	Plan  string `json:"plan" field:"rule=sku"`
	Limit int    `json:"limit"` // maximum number of collections with this plan in the subscription
}

// A PlanChange is sent by a collection whose plan is about to change, as an update; and as the signal [SignalPlan] when
// it is known which plan is in force. In between it counts for the old plan and the new one.
type PlanChange struct {
	Registration
	Plan       string `json:"plan" field:"rule=sku"`
	Limit      int    `json:"limit,omitempty"` // as in RegisterCollectionRequest
	Generation int    `json:"generation"`      // of the collection's properties with this plan
}

// Refuse returns the error by which a workflow refuses a request; errType is one of the ErrType constants.
func Refuse(errType, message string) error {
	return temporal.NewNonRetryableApplicationError(message, errType, nil)
}

// Refusef is [Refuse] with a message by a format.
func Refusef(errType, format string, values ...any) error {
	return Refuse(errType, fmt.Sprintf(format, values...))
}

// RefuseFor is Refuse for a request that may be made again after a time.
func RefuseFor(wait time.Duration, message string) error {
	return temporal.NewNonRetryableApplicationError(message, ErrTypeTooMany, nil, wait)
}

// CheckStart returns an error for a word in the input of a workflow's first run, which v points to, that is not spelled
// as the API stores it: the workflow may have been started by hand. The answer is recorded, since the words of a later
// version may be others.
func CheckStart(ctx workflow.Context, v any) error {
	if workflow.GetInfo(ctx).ContinuedExecutionRunID != "" {
		return nil
	}
	var refused string
	err := workflow.SideEffect(ctx, func(workflow.Context) any {
		if err := input.CheckSpelling(v); err != nil {
			return err.Error()
		}
		return ""
	}).Get(&refused)
	if err == nil && refused != "" {
		err = Refuse(ErrTypeInvalid, refused)
	}
	return err
}

// ErrForeign ends a workflow whose input was not made by Almanac.
var ErrForeign = Refuse(ErrTypeInvalid,
	"The workflow was not started by Almanac, so nothing lists it: create jobs and job collections through the API.")

// A CalendarChange says that a calendar has changed, or is new.
type CalendarChange struct {
	Key        job.CalendarKey `json:"key"`
	Generation int             `json:"generation"` // its generation now
}

// A HorizonWarning says that the days of a calendar are known for a few days more.
type HorizonWarning struct {
	Key          job.CalendarKey `json:"key"`
	Registration int             `json:"registration"` // its number
	Horizon      string          `json:"horizon"`      // the last date
	Days         int             `json:"days"`         // how many days before it is warned
}
