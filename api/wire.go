package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

const contentType = "application/json; charset=utf-8"

// reply answers with compact JSON. Characters with a meaning in HTML (<, > and &) are not escaped, so URIs
// are shown as they were sent.
func reply(c *gin.Context, status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	c.Data(status, contentType, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return nil
}

// replyEmpty answers 200 without a body, or returns err.
func replyEmpty(c *gin.Context, err error) error {
	if err == nil {
		c.Status(http.StatusOK)
	}
	return err
}

// replyOrFail answers with a resource in the given shape, or returns err.
func replyOrFail[T, R any](c *gin.Context, status int, shape func(T) R, resource T, err error) error {
	if err != nil {
		return err
	}
	return reply(c, status, shape(resource))
}

// putStatus returns the status of a PUT: 201 or 200.
func putStatus(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// An errorEnvelope is the body of every error.
type errorEnvelope struct {
	Error job.ErrorBody `json:"error"`
}

type collectionResource struct {
	ID         string                   `json:"id"`
	Type       string                   `json:"type"`
	Name       string                   `json:"name"`
	Location   string                   `json:"location,omitempty"`
	Tags       job.Members              `json:"tags,omitzero"`
	Properties job.CollectionProperties `json:"properties"`
}

func newCollectionResource(c job.Collection) collectionResource {
	return collectionResource{
		ID: c.Key.ARMID(), Type: "Microsoft.Scheduler/jobCollections", Name: c.Key.Name,
		Location: c.Location, Tags: c.Tags, Properties: c.Properties.Redacted(), // again here, for any Scheduler
	}
}

type jobResource struct {
	ID         string        `json:"id"`
	Type       string        `json:"type"`
	Name       string        `json:"name"`
	Properties jobProperties `json:"properties"`
}

type jobProperties struct {
	job.Definition
	Status any `json:"status,omitempty"` // nil for a disabled job of which no execution has ended
}

// A disabledStatus is the status of a disabled job. Azure Scheduler showed none, so it has only what that did not have.
type disabledStatus struct {
	job.Outcomes
	Reason string `json:"reason,omitempty"`
}

func newJobResource(j job.Job) jobResource {
	r := jobResource{
		ID: j.Key.ARMID(), Type: "Microsoft.Scheduler/jobCollections/jobs", Name: j.Key.Collection.Name + "/" + j.Key.Name,
		Properties: jobProperties{Definition: j.Definition.Redacted()}, // again here, for any Scheduler
	}
	switch {
	case j.Definition.State != job.StateDisabled:
		r.Properties.Status = &j.Status
	case j.Status.LastOutcome != nil:
		r.Properties.Status = disabledStatus{j.Status.Outcomes, j.Status.Reason}
	}
	return r
}

// An unreadableResource is an entry of a list that could not be read. It has no state, because clients of
// Azure Scheduler know only the usual ones.
type unreadableResource struct {
	ID         string               `json:"id"`
	Type       string               `json:"type"`
	Name       string               `json:"name"`
	Properties unreadableProperties `json:"properties"`
}

type unreadableProperties struct {
	Status struct {
		Reason string `json:"reason"`
	} `json:"status"`
}

func unreadable(id, kind, name, why string) unreadableResource {
	r := unreadableResource{ID: id, Type: kind, Name: name}
	r.Properties.Status.Reason = "It could not be read: " + why + "."
	return r
}

// newCollectionEntry returns an entry of a list of collections.
func newCollectionEntry(c job.Collection) any {
	r := newCollectionResource(c)
	if c.Unread != "" {
		return unreadable(r.ID, r.Type, r.Name, c.Unread)
	}
	return r
}

// newJobEntry returns an entry of a list of jobs.
func newJobEntry(j job.Job) any {
	r := newJobResource(j)
	if j.Unread != "" {
		return unreadable(r.ID, r.Type, r.Name, j.Unread)
	}
	return r
}

// An operationResource is an operation in the form of Azure Resource Manager.
type operationResource struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Status string         `json:"status"` // InProgress, Succeeded, Failed
	Error  *job.ErrorBody `json:"error,omitempty"`
}

func newOperationResource(k job.CollectionKey, o job.Operation) operationResource {
	r := operationResource{ID: k.ARMID() + "/" + operations + "/" + o.ID, Name: o.ID, Status: "InProgress"}
	switch {
	case o.Failed != nil:
		r.Status, r.Error = "Failed", new(o.Failed.Body())
	case o.Done:
		r.Status = "Succeeded"
	}
	return r
}

type historyResource struct {
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	Properties historyProperties `json:"properties"`
}

type historyProperties struct {
	StartTime             *job.Time      `json:"startTime,omitempty"`
	EndTime               *job.Time      `json:"endTime,omitempty"`
	ExpectedExecutionTime *job.Time      `json:"expectedExecutionTime,omitempty"`
	Status                job.Outcome    `json:"status"`
	Message               string         `json:"message,omitempty"`
	RetryCount            int            `json:"retryCount"`  // 0 for the first attempt
	RepeatCount           int            `json:"repeatCount"` // 1 for the first execution; 0 for an occurrence that was dropped
	ActionName            job.ActionName `json:"actionName"`
}

func newHistoryResource(k job.Key, r job.Record) historyResource {
	key := historyKey(r)
	return historyResource{
		ID: k.ARMID() + "/history/" + key, Type: "Microsoft.Scheduler/jobCollections/jobs/history",
		Name: k.Collection.Name + "/" + k.Name + "/" + key,
		Properties: historyProperties{
			StartTime:             job.NewTime(r.Start),
			EndTime:               job.NewTime(r.End),
			ExpectedExecutionTime: job.NewTime(r.Due),
			Status:                r.Outcome,
			Message:               r.Message,
			RetryCount:            max(r.Number-1, 0),
			RepeatCount:           r.Repeat,
			ActionName:            r.ActionName,
		},
	}
}
