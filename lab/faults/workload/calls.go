package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"almanac/lab/client"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// makeChange makes one try of a change, by the API with that number, and waits until it is applied. body is that of
// the request, nil for a change that has none.
func makeChange(
	ctx context.Context, c *client.Client, api int, method, path string, body client.Object,
) record.Try {
	t, a := try(ctx, c, api, method, path, body)
	if t.Status == http.StatusAccepted {
		return awaitOperation(ctx, c, t, a.Header.Get("Location"))
	}
	return t
}

func changeRequest(kind string, j record.Job) (method, path string) {
	switch kind {
	case record.Create:
		return http.MethodPut, jobPath(j)
	case record.Delete:
		return http.MethodDelete, jobPath(j)
	case record.ManualRun:
		return http.MethodPost, jobPath(j) + "/run"
	case record.Skip:
		return http.MethodPost, jobPath(j) + "/skip"
	case record.DisableCollection:
		return http.MethodPost, client.CollectionPath(j.Collection) + "/disable"
	case record.EnableCollection:
		return http.MethodPost, client.CollectionPath(j.Collection) + "/enable"
	}
	return http.MethodPatch, jobPath(j)
}

func jobPath(j record.Job) string { return client.JobPath(j.Collection, j.Name) }

// maxPolls bounds how often the status of an operation is read.
const maxPolls = 300

// awaitOperation waits until an accepted operation has ended. It returns the try with the operation's answer.
func awaitOperation(ctx context.Context, c *client.Client, t record.Try, location string) record.Try {
	for range maxPolls {
		if wait.For(ctx, 200*time.Millisecond) != nil {
			break
		}
		next, _ := try(ctx, c, 0, http.MethodGet, client.PathOf(location), nil)
		next.Issued = t.Issued
		switch next.Status {
		case http.StatusOK:
			return next
		case http.StatusNotFound:
			next.Status = 0
			return next
		}
	}
	t.Status, t.Error, t.Answered = 0, "the operation did not end", time.Now().UTC()
	return t
}

// try makes one request. Status 0 means that it got no answer.
func try(
	ctx context.Context, c *client.Client, api int, method, path string, body client.Object,
) (record.Try, client.Answer) {
	t := record.Try{Issued: time.Now().UTC()}
	a, err := c.Send(ctx, api, method, path, body)
	t.Answered = time.Now().UTC()
	switch {
	case err != nil:
		t.Error = err.Error()
	case a.Status >= 300:
		t.Status, t.Error = a.Status, strings.ToValidUTF8(string(a.Body[:min(len(a.Body), 300)]), "")
	default:
		t.Status = a.Status
	}
	return t, a
}

// get reads a resource, and tries again for about a minute. A status other than 200 or 404 is an error.
func get(ctx context.Context, c *client.Client, path string, into any) (status int, err error) {
	var t record.Try
	for api := range 60 {
		var a client.Answer
		if t, a = try(ctx, c, api, http.MethodGet, path, nil); t.Status == http.StatusNotFound {
			return t.Status, nil
		}
		if t.Status == http.StatusOK {
			return t.Status, json.Unmarshal(a.Body, into)
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return t.Status, err
		}
	}
	return t.Status, fmt.Errorf("GET %s was answered %d sixty times: %s", path, t.Status, t.Error)
}
