package workload

import (
	"encoding/json"
	"fmt"
	"time"

	"almanac/faults/receiver"
	"almanac/faults/record"
)

// A body is a job, or a part of it, in the form of the REST API.
type body struct {
	Properties properties `json:"properties"`
}

type properties struct {
	StartTime  string      `json:"startTime,omitempty"`
	Action     *action     `json:"action,omitempty"`
	Recurrence *recurrence `json:"recurrence,omitempty"`
	State      string      `json:"state,omitempty"`
}

type action struct {
	Type        string       `json:"type"`
	Request     webRequest   `json:"request"`
	RetryPolicy *retryPolicy `json:"retryPolicy,omitempty"`
	ErrorAction *action      `json:"errorAction,omitempty"`
}

type webRequest struct {
	Method string `json:"method"`
	URI    string `json:"uri"`
}

type retryPolicy struct {
	RetryType     string `json:"retryType"`
	RetryInterval string `json:"retryInterval,omitempty"`
	RetryCount    int    `json:"retryCount,omitempty"`
}

type recurrence struct {
	Frequency     string `json:"frequency"`
	Interval      int    `json:"interval,omitempty"`
	Count         int    `json:"count,omitempty"`
	OverlapPolicy string `json:"overlapPolicy,omitempty"`
	CatchUpWindow string `json:"catchUpWindow,omitempty"`
}

func (p properties) encode() string {
	text, _ := json.Marshal(body{p}) // strings and integers can always be encoded
	return string(text)
}

// definitionBody returns the body of the request that creates a job.
func definitionBody(r *receiver.Receiver, j record.Job, d record.Definition) string {
	p := properties{StartTime: d.Start.Format(time.RFC3339), Action: newAction(r, j, d)}
	if !d.Once {
		p.Recurrence = &recurrence{Frequency: "minute", Interval: 1, Count: d.Count, OverlapPolicy: d.Overlap}
		if d.CatchUp {
			p.Recurrence.CatchUpWindow = "PT1H"
		}
	}
	return p.encode()
}

func newAction(r *receiver.Receiver, j record.Job, d record.Definition) *action {
	a := &action{
		Type: "Http", Request: webRequest{"GET", r.URI(j, d.Version, record.MainAction, d.Behaviour)},
		RetryPolicy: &retryPolicy{RetryType: "none"},
	}
	if d.Retries > 0 {
		a.RetryPolicy = &retryPolicy{"fixed", fmt.Sprintf("PT%dS", int(d.RetryInterval.Seconds())), d.Retries}
	}
	if d.ErrorAction {
		a.ErrorAction = &action{Type: "Http", Request: webRequest{"GET", r.URI(j, d.Version, record.ErrorAction, "ok")}}
	}
	return a
}
