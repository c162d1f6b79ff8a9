package workload

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"almanac/lab/client"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// A resource is a job as the REST API shows it.
type resource struct {
	Name       string `json:"name"`
	Properties struct {
		State  string `json:"state"`
		Action struct {
			Request struct {
				URI string `json:"uri"`
			} `json:"request"`
		} `json:"action"`
		Status *struct {
			ExecutionCount int `json:"executionCount"`
			FailureCount   int `json:"failureCount"`
			FaultedCount   int `json:"faultedCount"`
		} `json:"status"`
	} `json:"properties"`
}

// name returns the job's name without the collection's.
func (r *resource) name() string { return r.Name[strings.LastIndex(r.Name, "/")+1:] }

// version returns the version in the URI of the action; see receiver.URI.
func (r *resource) version() int {
	parts := strings.Split(r.Properties.Action.Request.URI, "/")
	if len(parts) < 8 {
		return 0
	}
	version, _ := strconv.Atoi(parts[6]) // 0 if it is not one of ours
	return version
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
			PlannedStart          time.Time `json:"plannedStart"`
			Recovered             bool      `json:"recovered"`
			Backfill              string    `json:"backfill"`

			NominalTime   time.Time            `json:"nominalTime"`
			Calendars     []record.CalendarDay `json:"calendars"`
			BeyondHorizon []string             `json:"beyondHorizon"`
		} `json:"properties"`
	} `json:"value"`
	NextLink *string `json:"nextLink"`
}

// readJob reads a job and its whole history. The status is 0 if that failed.
func readJob(ctx context.Context, c *client.Client, j record.Job) record.Read {
	read := record.Read{Job: j, Issued: time.Now().UTC(), ListedCount: -1}
	var found resource
	status, err := get(ctx, c, jobPath(j), &found)
	if err != nil || status != http.StatusOK {
		if err == nil {
			read.Status = status
		}
		return read
	}
	read.State, read.Version = found.Properties.State, found.version()
	if s := found.Properties.Status; s != nil {
		read.HasStatus, read.ExecutionCount, read.FailureCount,
			read.FaultedCount = true, s.ExecutionCount, s.FailureCount, s.FaultedCount
	}
	if read.Entries, err = readHistory(ctx, c, j); err == nil {
		read.Status = status
	}
	return read
}

// maxPages bounds the pages of a list or a history that are read.
const maxPages = 1000

func readHistory(ctx context.Context, c *client.Client, j record.Job) ([]record.Entry, error) {
	var all []record.Entry
	path := jobPath(j) + "/history"
	for range maxPages {
		var page historyPage
		if _, err := get(ctx, c, path, &page); err != nil {
			return nil, err
		}
		for _, v := range page.Value {
			p := v.Properties
			e := record.Entry{
				Start: p.StartTime, End: p.EndTime, Due: p.ExpectedExecutionTime, Status: p.Status, Message: p.Message,
				Retry: p.RetryCount, Repeat: p.RepeatCount, Action: record.MainAction,
				Planned: p.PlannedStart, Recovered: p.Recovered, Backfill: p.Backfill,
				Nominal: p.NominalTime, Calendars: p.Calendars, Beyond: p.BeyondHorizon,
			}
			if p.ActionName == "ErrorAction" {
				e.Action = record.ErrorAction
			}
			all = append(all, e)
		}
		if page.NextLink == nil {
			break
		}
		path = client.PathOf(*page.NextLink)
	}
	return all, nil
}

// listTime is how long the list of a collection may take during a run.
const listTime = 30 * time.Second

// readList reads the names of a collection's jobs. It fails after 30 s.
func readList(ctx context.Context, c *client.Client, collection string) (record.List, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	l := record.List{Collection: collection, Issued: time.Now().UTC()}
	found, err := list(ctx, c, collection)
	l.Answered = time.Now().UTC()
	for _, r := range found {
		l.Names = append(l.Names, r.name())
	}
	return l, err
}

func list(ctx context.Context, c *client.Client, collection string) ([]resource, error) {
	var all []resource
	path := client.CollectionPath(collection) + "/jobs"
	for range maxPages {
		var page struct {
			Value    []resource `json:"value"`
			NextLink *string    `json:"nextLink"`
		}
		if _, err := get(ctx, c, path, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		if page.NextLink == nil {
			break
		}
		path = client.PathOf(*page.NextLink)
	}
	return all, nil
}

// ReadAll reads jobs at the end of a run, each by itself and in the list of its collection.
func ReadAll(ctx context.Context, c *client.Client, collections []string, jobs []record.Job) ([]record.Read, error) {
	listed := map[string]resource{}
	for _, collection := range collections {
		found, err := list(ctx, c, collection)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			listed[collection+"/"+r.name()] = r
		}
	}
	reads := make([]record.Read, len(jobs))
	wait.Calls(len(jobs), 4, func(i int) {
		reads[i] = readJob(ctx, c, jobs[i])
		reads[i].Final = true
		if r, ok := listed[jobs[i].Collection+"/"+jobs[i].Name]; ok {
			reads[i].ListedState = r.Properties.State
			if r.Properties.Status != nil {
				reads[i].ListedCount = r.Properties.Status.ExecutionCount
			}
		}
	})
	return reads, ctx.Err()
}
