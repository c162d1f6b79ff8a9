package resource

import (
	"time"

	"almanac/access"
	"almanac/internal/audit"
	"almanac/job"
)

// A Change is a change in the words of Azure's activity log.
type Change struct {
	ID         string           `json:"id"`
	Type       string           `json:"type"`
	Name       string           `json:"name"`
	Properties ChangeProperties `json:"properties"`
}

// ChangeProperties say who asked for a change, and what it was.
type ChangeProperties struct {
	EventTimestamp  string             `json:"eventTimestamp"`
	OperationName   audit.Operation    `json:"operationName"`
	Status          audit.Status       `json:"status"`
	Caller          string             `json:"caller,omitempty"`
	ClientIPAddress string             `json:"clientIpAddress,omitempty"`
	CorrelationID   string             `json:"correlationId,omitempty"`
	Client          string             `json:"client,omitempty"` // the Temporal client; only if no API made the change
	Message         string             `json:"message,omitempty"`
	Differences     []audit.Difference `json:"differences,omitempty"`
}

// JobChange returns the form of a change of a job.
func (s Shown) JobChange(k job.Key, c audit.Change) Change {
	c.Message = s.message(access.ScopeOfJob(k), c.Message)
	return newChange(k.ARMID(), typeJob, jobName(k), c)
}

// CollectionChange returns the form of a change of a collection.
func (s Shown) CollectionChange(k job.CollectionKey, c audit.Change) Change {
	c.Message = s.message(access.ScopeOfCollection(k), c.Message)
	of := NewCollection(job.Collection{Key: k})
	return newChange(of.ID, of.Type, of.Name, c)
}

func newChange(id, kind, name string, c audit.Change) Change {
	r := Change{
		ID: id + "/changes/" + c.ID, Type: kind + "/changes", Name: name + "/" + c.ID,
		Properties: ChangeProperties{
			EventTimestamp: c.Time.UTC().Format(time.RFC3339Nano), OperationName: c.Operation, Status: c.Status,
			Caller: c.Actor.Caller, ClientIPAddress: c.Actor.Address, CorrelationID: c.Actor.CorrelationID,
			Message: c.Message, Differences: c.Differences,
		},
	}
	if c.Actor == (audit.Actor{}) {
		r.Properties.Client = c.Client
	}
	return r
}
