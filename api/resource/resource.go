// Package resource has the forms of collections, jobs, operations and history entries in the REST API.
package resource

import "almanac/job"

// A Collection is a job collection.
type Collection struct {
	ID         string                   `json:"id"`
	Type       string                   `json:"type"`
	Name       string                   `json:"name"`
	Location   string                   `json:"location,omitempty"`
	Tags       job.Members              `json:"tags,omitzero"`
	Properties job.CollectionProperties `json:"properties"`
}

// NewCollection returns the form of a collection.
func NewCollection(c job.Collection) Collection {
	return Collection{
		ID: c.Key.ARMID(), Type: "Microsoft.Scheduler/jobCollections", Name: c.Key.Name,
		Location: c.Location, Tags: c.Tags, Properties: c.Properties.Redacted(), // again here, for any Scheduler
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
	Retry  *job.Retry `json:"retry,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// NewJob returns the form of a job.
func NewJob(j job.Job) Job {
	r := Job{
		ID: j.Key.ARMID(), Type: "Microsoft.Scheduler/jobCollections/jobs", Name: j.Key.Collection.Name + "/" + j.Key.Name,
		Properties: JobProperties{Definition: j.Definition.Redacted()}, // again here, for any Scheduler
	}
	r.Properties.Local = nil
	switch {
	case j.Definition.State != job.StateDisabled:
		r.Properties.Status = &j.Status
	case j.Status.LastOutcome != nil, j.Status.LastError != nil:
		r.Properties.Status = disabledStatus{j.Status.Outcomes, j.Status.Retry, j.Status.Reason}
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
func JobEntry(j job.Job) any {
	r := NewJob(j)
	if j.Unread != "" {
		return unread(r.ID, r.Type, r.Name, j.Unread)
	}
	return r
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
	r := NewJob(job.Job{Key: k})
	return unread(r.ID, r.Type, r.Name, why)
}
