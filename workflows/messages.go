package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/quota"
)

// StartWithin is how long after the registration of its name a workflow must be started.
const StartWithin = 15 * time.Second

// A ReplaceRequest replaces a job's definition.
type ReplaceRequest struct {
	Definition job.Definition `json:"definition"`         // State must be enabled or disabled; omitted secrets are kept
	Text       string         `json:"text"`               // readable form of the definition; from the caller, so that a replay cannot produce another
	Generation int            `json:"generation"`         // of the job that the caller read; 0 for any
	Retarget   bool           `json:"retarget,omitempty"` // keep omitted secrets even if they will be sent to another target
	ShowNext   *bool          `json:"showNext,omitempty"` // whether to keep up the search attribute of the next run; nil: as before
}

// A PutRequest replaces a collection's properties.
type PutRequest struct {
	job.Collection
	Limits   *quota.Limits `json:"limits,omitempty"`   // of the new plan and quota; nil: nothing is checked
	Expected int           `json:"expected,omitempty"` // the generation that the caller read; 0 for any
	Retarget bool          `json:"retarget,omitempty"` // as in ReplaceRequest
}

// A RegisterRequest registers names for new jobs.
type RegisterRequest struct {
	Jobs       []RegisterJob `json:"jobs"`
	Limits     quota.Limits  `json:"limits"`
	Generation int           `json:"generation,omitempty"` // of the collection that the rules were read from; 0 for any
}

// A RegisterJob is a new job of a [RegisterRequest].
type RegisterJob struct {
	Name         string             `json:"name"`
	Requirements quota.Requirements `json:"requirements,omitzero"`
}

// A RegisterResult is the answer for one name.
type RegisterResult struct {
	Name               string    `json:"name"`                         // as first written
	At                 time.Time `json:"at,omitzero"`                  // time of registration by the server's clock
	CollectionDisabled bool      `json:"collectionDisabled,omitempty"` // the collection is not enabled
	Refused            string    `json:"refused,omitempty"`            // why the rules refuse the job; the other fields are then undefined
}

// A ReserveRequest reports what a job requires of the plan. A job that changes sends two: before the
// change, the requirements of its old and new definitions together; after it, Final, those of the new one.
type ReserveRequest struct {
	Name         string             `json:"name"`
	Requirements quota.Requirements `json:"requirements,omitzero"`
	Job          int                `json:"job"`             // generation of the job's new definition
	Final        bool               `json:"final,omitempty"` // the new definition is in force
	Limits       *quota.Limits      `json:"limits,omitempty"`
	Generation   int                `json:"generation,omitempty"` // of the collection that the rules were read from
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

// A RegisterCollectionRequest registers the name of a new collection, or the new plan of an existing one.
type RegisterCollectionRequest struct {
	Name    string `json:"name"` // "resource group/name"
	Plan    string `json:"plan" field:"rule=sku"`
	Limit   int    `json:"limit"`             // maximum number of collections with this plan in the subscription
	Reserve bool   `json:"reserve,omitempty"` // sent by the collection itself for its new plan
}

// Refuse returns the error by which a workflow refuses a request; errType is one of the ErrType constants.
func Refuse(errType, message string) error {
	return temporal.NewNonRetryableApplicationError(message, errType, nil)
}

// CheckStart returns an error for a word in the input of a workflow's first run, which v points to, that is not
// spelled as the API stores it: the workflow may have been started by hand. The answer is recorded, since the words of a later
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
var ErrForeign = Refuse(ErrTypeInvalid, "The workflow was not started by Almanac, so nothing lists it: create jobs and job collections through the API.")
