package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"time"
)

// A Job is an action and when it is due. The API ignores ID, Type and Name in requests: the path has the name.
type Job struct {
	ID         string        `json:"id,omitempty"`
	Type       string        `json:"type,omitempty"`
	Name       string        `json:"name,omitempty"` // of the job collection and of the job, such as reports/nightly
	Properties JobProperties `json:"properties"`

	ETag    string `json:"-"` // for [IfMatch]; entries of lists have none
	Warning string `json:"-"` // what may keep it from being sent; only after a change
}

// Names returns the name of the job collection and of the job.
func (j Job) Names() (collection, job string) { return NamesOf(j.Name) }

// NamesOf returns the parts of the name of a job, or of what belongs to one, such as an entry of its history.
func NamesOf(name string) (collection, job string) {
	collection, job, _ = strings.Cut(name, "/")
	job, _, _ = strings.Cut(job, "/")
	return collection, job
}

// JobProperties are what a job does, when, and its status.
type JobProperties struct {
	StartTime  Time        `json:"startTime,omitempty"`
	Action     Action      `json:"action"`
	Recurrence *Recurrence `json:"recurrence,omitempty"` // nil: it runs once
	State      JobState    `json:"state,omitempty"`      // JobEnabled by default

	// Notifications are sent in place of those of the job collection. Nil stands for those, and an empty list for none.
	Notifications []Notification `json:"notifications,omitzero"`

	DisableAfter int `json:"disableAfter,omitempty"` // failures in a row; 0: never
	// FlexibleWindow, such as PT5M, is how long after its due time an occurrence starts at most, by a hash of the name; "": as
	// the job collection says.
	FlexibleWindow string     `json:"flexibleWindow,omitempty"`
	Blackouts      []Blackout `json:"blackouts,omitempty"` // times in which no occurrence starts
	Status         *JobStatus `json:"status,omitempty"`    // ignored in requests
}

// A Blackout is a time in which no occurrence starts: from one time of day until another, on the days that WeekDays, and
// First to Last, allow; those days, if From and Until are empty; or from one date and time until another.
type Blackout struct {
	Name     string         `json:"name"`
	OnMatch  BlackoutPolicy `json:"onMatch"`
	Keep     string         `json:"keep,omitempty"`     // latest: of what RunAtEnd holds, the last alone runs
	From     string         `json:"from,omitempty"`     // such as 22:00, or 2026-12-18T18:00:00
	Until    string         `json:"until,omitempty"`    // outside
	WeekDays []string       `json:"weekDays,omitempty"` // on which it begins; nil: all
	First    string         `json:"first,omitempty"`    // first date on which it begins
	Last     string         `json:"last,omitempty"`     // last date, included
	TimeZone string         `json:"timeZone,omitempty"` // "": that of the recurrence; required in a job collection
}

// A BlackoutPolicy is what becomes of an occurrence in a blackout.
type BlackoutPolicy string

// The policies of blackouts.
const (
	SkipInBlackout   BlackoutPolicy = "skip"           // it is skipped
	RunAtEnd         BlackoutPolicy = "runAtEnd"       // it is due at the end; of several the latest alone runs
	OnNextAllowedDay BlackoutPolicy = "nextAllowedDay" // it is due at its time of day on the next working day outside
)

// A JobState says whether a job runs.
type JobState string

// The states of a job. The API sets the last two, when no occurrence is left.
const (
	JobEnabled   JobState = "enabled"
	JobDisabled  JobState = "disabled"
	JobCompleted JobState = "completed"
	JobFaulted   JobState = "faulted"
)

// A JobStatus is how a job stands. Times that are zero are absent.
type JobStatus struct {
	LastExecutionTime   time.Time    `json:"lastExecutionTime,omitzero"`
	NextExecutionTime   time.Time    `json:"nextExecutionTime,omitzero"`
	ExecutionCount      int          `json:"executionCount,omitempty"`
	FailureCount        int          `json:"failureCount,omitempty"`
	FaultedCount        int          `json:"faultedCount,omitempty"`
	LastOutcome         *LastOutcome `json:"lastOutcome,omitempty"`
	LastError           *LastError   `json:"lastError,omitempty"`
	Retry               *Retry       `json:"retry,omitempty"`
	ConsecutiveFailures int          `json:"consecutiveFailures,omitempty"`
	FailingSince        time.Time    `json:"failingSince,omitzero"`
	LastSuccessTime     time.Time    `json:"lastSuccessTime,omitzero"`
	Skips               []time.Time  `json:"skips,omitempty"` // occurrences to come that are skipped
	SkipWindows         []SkipWindow `json:"skipWindows,omitempty"`
	Disabled            *Disabled    `json:"disabled,omitempty"` // if a request said more than that it is to be disabled
	Reason              string       `json:"reason,omitempty"`   // why nothing is next

	Owner       string    `json:"owner,omitempty"`       // id of the directory of job files to which it belongs; "": none
	PruneAt     time.Time `json:"pruneAt,omitzero"`      // when a pruned job deletes itself
	FormerState JobState  `json:"formerState,omitempty"` // of a pruned job, before it was
}

// A SkipWindow is a time in which all occurrences are skipped, without its end.
type SkipWindow struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// A LastOutcome is how the execution that ended last did.
type LastOutcome struct {
	Status                Outcome   `json:"status"`
	ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
	EndTime               time.Time `json:"endTime"`
}

// A LastError is why an attempt failed.
type LastError struct {
	Message string    `json:"message"`
	EndTime time.Time `json:"endTime"`
}

// A Retry is the attempt that comes next in an execution that failed so far.
type Retry struct {
	Execution       string     `json:"execution"`
	ActionName      ActionName `json:"actionName"`
	Attempt         int        `json:"attempt"` // 2 for the first retry
	MaxAttempts     int        `json:"maxAttempts"`
	NextAttemptTime time.Time  `json:"nextAttemptTime,omitzero"` // zero while it is being made
	LastError       *LastError `json:"lastError,omitempty"`      // of the attempt before
}

// Jobs returns the jobs of a job collection, in order of creation.
func (c *Client) Jobs(ctx context.Context, collection string, l List) iter.Seq2[Job, error] {
	return lists[Job](ctx, c, c.collectionAt(collection, "jobs"), nil, l)
}

// JobsPage returns a page of the jobs of a job collection.
func (c *Client) JobsPage(ctx context.Context, collection string, l List) (Page[Job], error) {
	return pageOf[Job](ctx, c, c.collectionAt(collection, "jobs"), nil, l)
}

// Job returns a job.
func (c *Client) Job(ctx context.Context, collection, name string, conditions ...Condition) (Job, error) {
	return jobOf(get[Job](ctx, c, c.jobAt(collection, name), conditions...))
}

// JobBody returns a job as the API answers it, in JSON, with the order of its members, and its ETag.
func (c *Client) JobBody(ctx context.Context, collection, name string) (body json.RawMessage, etag string, err error) {
	body, a, err := get[json.RawMessage](ctx, c, c.jobAt(collection, name))
	if err != nil {
		return nil, "", err
	}
	return body, a.header.Get("ETag"), nil
}

// JobBodies returns the jobs of a job collection as [Client.JobBody] does, in order of creation.
func (c *Client) JobBodies(ctx context.Context, collection string, l List) iter.Seq2[json.RawMessage, error] {
	return lists[json.RawMessage](ctx, c, c.collectionAt(collection, "jobs"), nil, l)
}

// PutJob creates or replaces a job. Secrets that are left out are kept if they still belong to the same target.
func (c *Client) PutJob(
	ctx context.Context, collection, name string, of JobProperties, conditions ...Condition,
) (Job, error) {
	return c.PutJobBody(ctx, collection, name, Job{Properties: of}, conditions...)
}

// PutJobBody creates or replaces a job with any body, such as a [encoding/json.RawMessage] that a user wrote.
func (c *Client) PutJobBody(
	ctx context.Context, collection, name string, body any, conditions ...Condition,
) (Job, error) {
	return jobOf(send[Job](ctx, c, http.MethodPut, c.jobAt(collection, name), body, conditions))
}

// CreateJob creates a job under a name that the API chooses. To repeat it creates another.
func (c *Client) CreateJob(ctx context.Context, collection string, of JobProperties) (Job, error) {
	return jobOf(send[Job](ctx, c, http.MethodPost, c.collectionAt(collection, "jobs"), Job{Properties: of}, nil))
}

// PatchJob changes parts of a job. Objects of the patch merge member by member, null removes a member, and lists and
// plain values replace what was there.
func (c *Client) PatchJob(
	ctx context.Context, collection, name string, patch any, conditions ...Condition,
) (Job, error) {
	return jobOf(send[Job](ctx, c, http.MethodPatch, c.jobAt(collection, name), patch, conditions))
}

// DeleteJob deletes a job and its history.
func (c *Client) DeleteJob(ctx context.Context, collection, name string, conditions ...Condition) error {
	m := message{method: http.MethodDelete, at: c.jobAt(collection, name), conditions: conditions}
	_, err := c.call(ctx, m, nil)
	return err
}

// jobOf adds the headers of an answer to a job.
func jobOf(found Job, a *answer, err error) (Job, error) {
	if err == nil {
		found.ETag, found.Warning = a.header.Get("ETag"), a.header.Get("Warning")
	}
	return found, err
}
