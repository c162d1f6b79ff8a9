//go:build linux

package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"almanac/faults/laws"
)

// A resource is a job as the REST API shows it.
type resource struct {
	Name       string `json:"name"`
	Properties struct {
		State  string `json:"state"`
		Action action `json:"action"`
		Status *struct {
			ExecutionCount int `json:"executionCount"`
			FailureCount   int `json:"failureCount"`
			FaultedCount   int `json:"faultedCount"`
		} `json:"status"`
	} `json:"properties"`
}

// name returns the job's name without its collection's.
func (r *resource) name() string { return r.Name[strings.LastIndex(r.Name, "/")+1:] }

// life and version are what the URI of the action says.
func (r *resource) uri() (life, version int) {
	parts := strings.Split(r.Properties.Action.Request.URI, "/")
	if len(parts) < 8 {
		return 0, 0
	}
	life, _ = strconv.Atoi(parts[5])
	version, _ = strconv.Atoi(parts[6])
	return life, version
}

type historyPage struct {
	Value []struct {
		Properties struct {
			StartTime             time.Time `json:"startTime"`
			EndTime               time.Time `json:"endTime"`
			ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
			Status                string    `json:"status"`
			Message               string    `json:"message"`
			RetryCount            int       `json:"retryCount"`
			RepeatCount           int       `json:"repeatCount"`
			ActionName            string    `json:"actionName"`
		} `json:"properties"`
	} `json:"value"`
	NextLink *string `json:"nextLink"`
}

// readJob reads a job and its whole history. Status is 0 where that failed.
func readJob(ctx context.Context, c *caller, j laws.Job) laws.Read {
	read := laws.Read{Job: j, Issued: time.Now().UTC(), ListedCount: -1}
	var found resource
	t, err := c.get(ctx, jobPath(j), &found)
	if err != nil || t.Status != http.StatusOK {
		if err == nil {
			read.Status = t.Status
		}
		return read
	}
	read.State = found.Properties.State
	_, read.Version = found.uri()
	if s := found.Properties.Status; s != nil {
		read.HasStatus, read.ExecutionCount, read.FailureCount, read.FaultedCount = true, s.ExecutionCount, s.FailureCount, s.FaultedCount
	}
	if read.Entries, err = readHistory(ctx, c, j); err == nil {
		read.Status = t.Status
	}
	return read
}

// maxPages bounds the pages of a list or a history that are read.
const maxPages = 1000

func readHistory(ctx context.Context, c *caller, j laws.Job) ([]laws.Entry, error) {
	var all []laws.Entry
	path := jobPath(j) + "/history"
	for range maxPages {
		var page historyPage
		if _, err := c.get(ctx, path, &page); err != nil {
			return nil, err
		}
		for _, v := range page.Value {
			p := v.Properties
			e := laws.Entry{
				Start: p.StartTime, End: p.EndTime, Due: p.ExpectedExecutionTime, Status: p.Status, Message: p.Message,
				Retry: p.RetryCount, Repeat: p.RepeatCount, Action: laws.Main,
			}
			if p.ActionName == "ErrorAction" {
				e.Action = laws.Error
			}
			all = append(all, e)
		}
		if page.NextLink == nil {
			break
		}
		path = relative(*page.NextLink)
	}
	return all, nil
}

// relative cuts scheme and host off a link.
func relative(link string) string {
	_, rest, found := strings.Cut(link, "://")
	if !found {
		return link
	}
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}

// readList reads the list of a collection's jobs. Unless it is patient, any
// failure ends it.
func readList(ctx context.Context, c *caller, collection string, patient bool) ([]resource, error) {
	var all []resource
	path := collectionPath(collection) + "/jobs"
	if !patient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
	}
	for range maxPages {
		var page struct {
			Value    []resource `json:"value"`
			NextLink *string    `json:"nextLink"`
		}
		if _, err := c.get(ctx, path, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		if page.NextLink == nil {
			break
		}
		path = relative(*page.NextLink)
	}
	return all, nil
}

// readAll reads every job as it stands in the end.
func readAll(ctx context.Context, c *caller, subjects []*subject) ([]laws.Read, error) {
	listed := map[string]resource{}
	for i := range collections {
		name := "faults" + strconv.Itoa(i)
		found, err := readList(ctx, c, name, true)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			listed[name+"/"+r.name()] = r
		}
	}
	reads := make([]laws.Read, len(subjects))
	queue := make(chan int)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range queue {
				reads[i] = readJob(ctx, c, subjects[i].at)
				reads[i].Final = true
				if r, ok := listed[subjects[i].at.Collection+"/"+subjects[i].at.Name]; ok {
					reads[i].ListedState = r.Properties.State
					if r.Properties.Status != nil {
						reads[i].ListedCount = r.Properties.Status.ExecutionCount
					}
				}
			}
		})
	}
	for i := range subjects {
		queue <- i
	}
	close(queue)
	group.Wait()
	return reads, ctx.Err()
}
