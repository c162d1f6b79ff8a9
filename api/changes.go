package api

import (
	"context"
	"net"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/internal/audit"
	"almanac/job"
)

const changes = "/changes"

func (s *server) listJobChanges(c *gin.Context, k job.Key) error {
	read := func(ctx context.Context, p job.Page) ([]audit.Change, string, error) {
		return s.scheduler.JobChanges(ctx, k, p)
	}
	return replyPage(s, c, nil, read, func(change audit.Change) changeResource {
		return newChangeResource(k.ARMID(), jobType, k.Collection.Name+"/"+k.Name, change)
	})
}

func (s *server) listCollectionChanges(c *gin.Context, k job.CollectionKey) error {
	read := func(ctx context.Context, p job.Page) ([]audit.Change, string, error) {
		return s.scheduler.CollectionChanges(ctx, k, p)
	}
	return replyPage(s, c, nil, read, func(change audit.Change) changeResource {
		return newChangeResource(k.ARMID(), collectionType, k.Name, change)
	})
}

// A changeResource is a change in the words of Azure's activity log.
type changeResource struct {
	ID         string           `json:"id"`
	Type       string           `json:"type"`
	Name       string           `json:"name"`
	Properties changeProperties `json:"properties"`
}

type changeProperties struct {
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

func newChangeResource(id, kind, name string, change audit.Change) changeResource {
	r := changeResource{
		ID: id + changes + "/" + change.ID, Type: kind + changes, Name: name + "/" + change.ID,
		Properties: changeProperties{
			EventTimestamp: change.Time.UTC().Format(time.RFC3339Nano), OperationName: change.Operation, Status: change.Status,
			Caller: change.Actor.Caller, ClientIPAddress: change.Actor.Address, CorrelationID: change.Actor.CorrelationID,
			Message: change.Message, Differences: change.Differences,
		},
	}
	if change.Actor == (audit.Actor{}) {
		r.Properties.Client = change.Client
	}
	return r
}

// sign makes the caller the actor of what the request changes. The request has its headers already; see identify.
func (s *server) sign(c *gin.Context) {
	address, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		address = c.Request.RemoteAddr
	}
	c.Request = c.Request.WithContext(audit.WithActor(c.Request.Context(), audit.Actor{
		Address: address, CorrelationID: c.Writer.Header().Get(headerCorrelationID),
	}))
}
