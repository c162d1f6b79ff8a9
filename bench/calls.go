package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"
)

// A callResult is how long one call of the API takes.
type callResult struct {
	name string
	spread
}

// How much is asked, one call after another.
const (
	callJobs       = 200 // created, read and changed
	callLists      = 100
	callPage       = 100             // entries in a list, and in a page of history
	callExecutions = 3 * callPage    // of the job whose history is read
	executedWithin = 5 * time.Minute // the most that these may take
)

// The calls that goals are about.
const (
	callList    = "list 100 jobs, the first time"
	callHistory = "newest 100 entries of a history"
)

// sleeping returns the schedule of a job that only sleeps: it is due in a year.
func sleeping() object {
	return object{"startTime": time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339), "recurrence": object{"frequency": "day", "interval": 1}}
}

// measureCalls measures the calls of Almanac's API, each at rest otherwise.
func measureCalls(ctx context.Context, g *environment, progress *log.Logger) (results []callResult, err error) {
	progress.Printf("calls of the API")
	asked, worked := herd{name: "calls", jobs: callJobs}, herd{name: "calls-history", jobs: 1}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
		defer cancel()
		err = errors.Join(err, g.almanac.remove(ctx, asked), g.almanac.remove(ctx, worked))
		if err != nil {
			err = fmt.Errorf("calls of the API: %w", err)
		}
	}()
	if err := g.almanac.api.putCollection(ctx, asked.name); err != nil {
		return nil, err
	}
	if err := g.work(ctx, worked); err != nil {
		return nil, err
	}
	if err := g.usage.awaitQuiet(ctx); err != nil {
		return nil, err
	}
	for _, c := range g.calls(asked, worked) {
		taken := make([]time.Duration, 0, c.times)
		for i := range c.times {
			start := time.Now()
			if err := c.do(ctx, i); err != nil {
				return results, fmt.Errorf("%s: %w", c.name, err)
			}
			taken = append(taken, time.Since(start))
		}
		results = append(results, callResult{c.name, spreadOf(taken)})
	}
	return results, nil
}

// work makes a job that has executed often.
func (g *environment) work(ctx context.Context, h herd) error {
	if err := g.almanac.createOverdue(ctx, h, callExecutions*time.Minute); err != nil {
		return err
	}
	if err := g.sink.await(ctx, h.name, callExecutions, executedWithin); err != nil {
		return err
	}
	g.sink.take(h.name)
	return nil
}

// A call is one that is measured.
type call struct {
	name  string
	times int
	do    func(ctx context.Context, i int) error
}

func (g *environment) calls(asked, worked herd) []call {
	api := g.almanac.api
	path := func(i int) string { return jobPath(asked.name, asked.id(i)) }
	page := fmt.Sprintf("?$top=%d", callPage)
	strangers := make([]*rest, callLists) // APIs that do not know yet what the jobs said of themselves
	for i := range strangers {
		strangers[i] = g.serve(g.service)
	}
	return []call{
		{"create a job", callJobs, func(ctx context.Context, i int) error {
			return api.putJob(ctx, asked.name, asked.id(i), g.sink.target(asked.name, i), sleeping())
		}},
		{"get a job", callJobs, func(ctx context.Context, i int) error {
			_, err := api.call(ctx, http.MethodGet, path(i), nil, http.StatusOK)
			return err
		}},
		{"patch a job", callJobs, func(ctx context.Context, i int) error {
			patch := object{"properties": object{"recurrence": object{"interval": 2}}}
			_, err := api.call(ctx, http.MethodPatch, path(i), patch, http.StatusOK)
			return err
		}},
		{callList, callLists, func(ctx context.Context, i int) error {
			return expectPage(strangers[i].call(ctx, http.MethodGet, collectionPath(asked.name)+"/jobs"+page, nil, http.StatusOK))
		}},
		{"list them again", callLists, func(ctx context.Context, _ int) error {
			return expectPage(api.call(ctx, http.MethodGet, collectionPath(asked.name)+"/jobs"+page, nil, http.StatusOK))
		}},
		{callHistory, callLists, func(ctx context.Context, _ int) error {
			return expectPage(api.call(ctx, http.MethodGet, jobPath(worked.name, worked.id(0))+"/history"+page, nil, http.StatusOK))
		}},
		{"preview 100 occurrences", callLists, func(ctx context.Context, _ int) error {
			question := object{"take": callPage, "properties": object{"recurrence": object{"frequency": "month", "interval": 1, "schedule": object{
				"monthlyOccurrences": []object{{"day": "friday", "occurrence": -1}},
			}}}}
			_, err := api.call(ctx, http.MethodPost, "/previewRecurrence", question, http.StatusOK)
			return err
		}},
	}
}

// expectPage checks that a page is a full one.
func expectPage(text []byte, err error) error {
	if err != nil {
		return err
	}
	var list struct {
		Value []json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	if len(list.Value) != callPage {
		return fmt.Errorf("the answer has %d entries, want %d", len(list.Value), callPage)
	}
	return nil
}
