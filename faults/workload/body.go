package workload

import (
	"encoding/json"
	"fmt"
	"time"

	"almanac/faults/receiver"
	"almanac/faults/record"
)

// An object is a JSON object of the REST API.
type object map[string]any

// body returns the body of a request with some properties of a job.
func body(properties object) string {
	text, _ := json.Marshal(object{"properties": properties}) // strings, integers and objects can always be encoded
	return string(text)
}

// definitionBody returns the body of the request that creates a job.
func definitionBody(r *receiver.Receiver, j record.Job, d record.Definition) string {
	p := object{"startTime": d.Start.Format(time.RFC3339), "action": action(r, j, d)}
	if !d.Once {
		recurrence := object{"frequency": "minute", "interval": 1, "overlapPolicy": d.Overlap}
		if d.Count > 0 {
			recurrence["count"] = d.Count
		}
		if d.CatchUp {
			recurrence["catchUpWindow"] = "PT1H"
		}
		p["recurrence"] = recurrence
	}
	return body(p)
}

func action(r *receiver.Receiver, j record.Job, d record.Definition) object {
	get := func(uri string) object { return object{"method": "GET", "uri": uri} }
	a := object{"type": "Http", "request": get(r.URI(j, d.Version, record.MainAction, d.Behaviour)), "retryPolicy": object{"retryType": "none"}}
	if d.Retries > 0 {
		a["retryPolicy"] = object{"retryType": "fixed", "retryInterval": fmt.Sprintf("PT%dS", int(d.RetryInterval.Seconds())), "retryCount": d.Retries}
	}
	if d.ErrorAction {
		a["errorAction"] = object{"type": "Http", "request": get(r.URI(j, d.Version, record.ErrorAction, "ok"))}
	}
	return a
}
