// Package resource has the forms of collections, jobs, operations and history entries in the REST API. What may hold an
// answer of a target has its form by [Shown] only.
package resource

import (
	"almanac/access"
	"almanac/job"
)

// Shown makes the forms of what is shown to one caller. It hides what the targets of jobs and notifications answered
// from callers who may not read it.
type Shown struct {
	// Hidden reports whether it is hidden from the caller in a scope. Nil means that nothing is.
	Hidden func(access.Scope) bool
}

// Hides reports whether what targets answered is hidden in a scope.
func (s Shown) Hides(of access.Scope) bool { return s.Hidden != nil && s.Hidden(of) }

// message returns a message without what a target answered, if that is hidden.
func (s Shown) message(of access.Scope, text string) string {
	if s.Hides(of) {
		return job.WithoutResponse(text)
	}
	return text
}

// lastError is message for an error.
func (s Shown) lastError(of access.Scope, last *job.LastError) *job.LastError {
	if last == nil || !s.Hides(of) {
		return last
	}
	return &job.LastError{Message: job.WithoutResponse(last.Message), EndTime: last.EndTime}
}

// retry is message for the attempt before a retry.
func (s Shown) retry(of access.Scope, r *job.Retry) *job.Retry {
	if r == nil || !s.Hides(of) {
		return r
	}
	changed := *r
	changed.LastError = s.lastError(of, r.LastError)
	return &changed
}

// A Collection is a job collection.
type Collection struct {
	ID         string               `json:"id"`
	Type       string               `json:"type"`
	Name       string               `json:"name"`
	Location   string               `json:"location,omitempty"`
	Tags       job.Members          `json:"tags,omitzero"`
	Properties CollectionProperties `json:"properties"`
}

// CollectionProperties are those that users write, and why the collection is disabled.
type CollectionProperties struct {
	job.CollectionProperties
	Disabled *job.DisabledStatus `json:"disabled,omitempty"`
}

// NewCollection returns the form of a collection.
func NewCollection(c job.Collection) Collection {
	return Collection{
		ID: c.Key.ARMID(), Type: "Microsoft.Scheduler/jobCollections", Name: c.Key.Name,
		Location: c.Location, Tags: c.Tags,
		Properties: CollectionProperties{c.Properties.Redacted(), c.Disabling.Status(false)}, // again here, for any Scheduler
	}
}

// A Job is a job without secrets.
type Job struct {
	ID         string        `json:"id"`
	Type       string        `json:"type"`
	Name       string        `json:"name"`
	Properties JobProperties `json:"properties"`
}

// JobProperties are the definition and the status of a job.
type JobProperties struct {
	job.Definition
	Status any `json:"status,omitempty"` // nil for a disabled job of which no execution has ended, or failed so far
}

// A disabledStatus is the status of a disabled job. Azure Scheduler showed none, so it has only what that did not have.
type disabledStatus struct {
	job.Outcomes
	Retry    *job.Retry          `json:"retry,omitempty"`
	Disabled *job.DisabledStatus `json:"disabled,omitempty"`
	Reason   string              `json:"reason,omitempty"`

	Owner       string    `json:"owner,omitempty"`
	PruneAt     *job.Time `json:"pruneAt,omitempty"`
	FormerState job.State `json:"formerState,omitempty"`
}

// typeJob is the type of jobs.
const typeJob = "Microsoft.Scheduler/jobCollections/jobs"

// jobName returns the name of a job in its resource.
func jobName(k job.Key) string { return k.Collection.Name + "/" + k.Name }

// Job returns the form of a job.
func (s Shown) Job(j job.Job) Job {
	r := Job{
		ID: j.Key.ARMID(), Type: typeJob, Name: jobName(j.Key),
		Properties: JobProperties{Definition: j.Definition.Redacted()}, // again here, for any Scheduler
	}
	r.Properties.Local, r.Properties.Owner = nil, "" // the status has the owner
	of := access.ScopeOfJob(j.Key)
	j.Status.Reason = s.message(of, j.Status.Reason)
	j.Status.LastError = s.lastError(of, j.Status.LastError)
	j.Status.Retry = s.retry(of, j.Status.Retry)
	switch {
	case j.Definition.State != job.StateDisabled:
		r.Properties.Status = &j.Status
	case j.Status.LastOutcome != nil, j.Status.LastError != nil, j.Status.Disabled != nil, j.Status.Owner != "":
		r.Properties.Status = disabledStatus{
			Outcomes: j.Status.Outcomes, Retry: j.Status.Retry, Disabled: j.Status.Disabled, Reason: j.Status.Reason,
			Owner: j.Status.Owner, PruneAt: j.Status.PruneAt, FormerState: j.Status.FormerState,
		}
	}
	return r
}

// CollectionEntry returns an entry of a list of collections.
func CollectionEntry(c job.Collection) any {
	r := NewCollection(c)
	if c.Unread != "" {
		return unread(r.ID, r.Type, r.Name, c.Unread)
	}
	return r
}

// JobEntry returns an entry of a list of jobs.
func (s Shown) JobEntry(j job.Job) any {
	if j.Unread != "" {
		return unreadEntry(j.Key, j.Unread)
	}
	return s.Job(j)
}

// An Operation is an operation in the form of Azure Resource Manager.
type Operation struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Status string         `json:"status"` // InProgress, Succeeded, Failed
	Error  *job.ErrorBody `json:"error,omitempty"`
}

// NewOperation returns the form of an operation of the collection k.
func NewOperation(k job.CollectionKey, o job.Operation) Operation {
	r := Operation{ID: k.ARMID() + "/operations/" + o.ID, Name: o.ID, Status: "InProgress"}
	switch {
	case o.Failed != nil:
		r.Status, r.Error = "Failed", new(o.Failed.Body())
	case o.Done:
		r.Status = "Succeeded"
	}
	return r
}

// An Unread is an entry of a list that could not be read. It has no state, because clients of
// Azure Scheduler know only the usual ones.
type Unread struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Properties struct {
		Status struct {
			Reason string `json:"reason"`
		} `json:"status"`
	} `json:"properties"`
}

func unread(id, kind, name, why string) Unread {
	r := Unread{ID: id, Type: kind, Name: name}
	r.Properties.Status.Reason = "It could not be read: " + why + "."
	return r
}

// unreadEntry returns the entry of a job, or of a whole collection, that could not be read.
func unreadEntry(k job.Key, why string) Unread {
	if k.Name == "" {
		r := NewCollection(job.Collection{Key: k.Collection})
		return unread(r.ID, r.Type, r.Name, why)
	}
	return unread(k.ARMID(), typeJob, jobName(k), why)
}
