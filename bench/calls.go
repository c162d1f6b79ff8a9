package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"almanac/bench/systems"
)

const (
	callJobs    = 200 // jobs that are created, read and changed
	callLists   = 100 // times that lists are read
	callPage    = 100 // entries in a list, and in a page of history
	callHistory = 3 * callPage
	workWithin  = 5 * time.Minute // the most that the executions of that history may take
)

// The calls that goals are about.
const (
	nameList    = "list 100 jobs, the first time"
	nameHistory = "newest 100 entries of a history"
)

// A call is one that is measured; i counts.
type call struct {
	name  string
	times int
	do    func(ctx context.Context, i int) error
}

// A callResult is how long one call takes.
type callResult struct {
	name string
	spread
}

// sleepingHerd is jobs that are due in a year.
func sleepingHerd(name string, jobs int) systems.Herd {
	return systems.Herd{Name: name, Jobs: jobs, First: time.Now().AddDate(1, 0, 0), Schedule: systems.Daily}
}

// measureCalls measures the calls of Almanac's API, one after another, while nothing else goes on.
func (b *bench) measureCalls(ctx context.Context) (err error) {
	asleep := sleepingHerd("calls", callJobs)
	worked := systems.Herd{Name: "calls-history", Jobs: 1, Backlog: callHistory * time.Minute}
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, asleep, worked)) }()
	if err := b.Almanac.CreateCollection(ctx, asleep); err != nil {
		return err
	}
	if err := b.Almanac.Create(ctx, worked); err != nil {
		return err
	}
	if err := b.receiver.Await(ctx, worked.Name, callHistory, workWithin); err != nil {
		return err
	}
	if err := b.Usage.AwaitQuiet(ctx); err != nil {
		return err
	}
	for _, c := range append(jobCalls(b.Almanac, asleep), b.listCalls(asleep, worked)...) {
		taken := make([]time.Duration, 0, c.times)
		for i := range c.times {
			start := time.Now()
			if err := c.do(ctx, i); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			taken = append(taken, time.Since(start))
		}
		b.results.calls = append(b.results.calls, callResult{c.name, spreadOf(taken)})
	}
	return nil
}

// jobCalls are the calls of single jobs of a herd.
func jobCalls(a *systems.AlmanacAPI, h systems.Herd) []call {
	return []call{
		{"create a job", h.Jobs, func(ctx context.Context, i int) error { return a.PutJob(ctx, h, i) }},
		{"get a job", h.Jobs, func(ctx context.Context, i int) error { return expect(a.Call(ctx, http.MethodGet, h.JobPath(i), nil)) }},
		{"patch a job", h.Jobs, func(ctx context.Context, i int) error {
			return expect(a.Call(ctx, http.MethodPatch, h.JobPath(i), interval(2)))
		}},
	}
}

// listCalls are the calls that return many entries.
func (b *bench) listCalls(asleep, worked systems.Herd) []call {
	list := fmt.Sprintf("%s/jobs?$top=%d", asleep.Path(), callPage)
	history := fmt.Sprintf("%s/history?$top=%d", worked.JobPath(0), callPage)
	question := systems.Object{"take": callPage, "properties": systems.Object{"recurrence": systems.Object{
		"frequency": "month", "interval": 1,
		"schedule": systems.Object{"monthlyOccurrences": []systems.Object{{"day": "friday", "occurrence": -1}}},
	}}}
	newAPIs := make([]*systems.REST, callLists) // which have not read any job yet
	for i := range newAPIs {
		newAPIs[i] = b.NewAPI()
	}
	return []call{
		{nameList, callLists, func(ctx context.Context, i int) error {
			return expectPage(newAPIs[i].Call(ctx, http.MethodGet, list, nil))
		}},
		{"list them again", callLists, func(ctx context.Context, _ int) error {
			return expectPage(b.Almanac.Call(ctx, http.MethodGet, list, nil))
		}},
		{nameHistory, callLists, func(ctx context.Context, _ int) error {
			return expectPage(b.Almanac.Call(ctx, http.MethodGet, history, nil))
		}},
		{"preview 100 occurrences", callLists, func(ctx context.Context, _ int) error {
			return expect(b.Almanac.Call(ctx, http.MethodPost, "/previewRecurrence", question))
		}},
	}
}

// interval is a patch of a job's interval.
func interval(n int) systems.Object {
	return systems.Object{"properties": systems.Object{"recurrence": systems.Object{"interval": n}}}
}

// expect returns the error of a call whose answer does not matter.
func expect(_ []byte, err error) error { return err }

// expectPage checks that a page is a full one.
func expectPage(text []byte, err error) error {
	if err != nil {
		return err
	}
	var list struct{ Value []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if len(list.Value) != callPage {
		return fmt.Errorf("the answer must have %d entries (got %d)", callPage, len(list.Value))
	}
	return nil
}
