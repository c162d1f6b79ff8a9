package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/client"
	"almanac/lab/report"
)

const (
	callJobs    = 200 // jobs that are created, read and changed
	callPage    = 100 // entries in a list, and in a page of history
	callHistory = 3 * callPage
	workWithin  = 5 * time.Minute // the most that the executions of that history may take
)

// A call is one that is measured; i counts.
type call struct {
	name  string
	times int
	goal  time.Duration // for the p50; 0: none
	do    func(ctx context.Context, i int) error
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
	if err := b.receiver.AwaitCount(ctx, worked.Name, callHistory, workWithin); err != nil {
		return err
	}
	b.AwaitQuiet(ctx)
	for _, c := range b.calls(asleep, worked) {
		taken := make([]time.Duration, 0, c.times)
		for i := range c.times {
			start := time.Now()
			if err := c.do(ctx, i); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			taken = append(taken, time.Since(start))
		}
		all := report.SpreadOf(taken)
		b.page.Add(&b.page.Calls, []string{c.name, report.Duration(all.P50), report.Duration(all.P99)})
		b.page.Within(c.name+", p50", all.P50, c.goal)
	}
	return nil
}

// calls are those of single jobs of a herd, and then those that return many entries.
func (b *bench) calls(asleep, worked systems.Herd) []call {
	a := b.Almanac
	list := fmt.Sprintf("%s/jobs?$top=%d", asleep.Path(), callPage)
	history := fmt.Sprintf("%s/history?$top=%d", worked.JobPath(0), callPage)
	question := systems.Object{"take": callPage, "properties": systems.Object{"recurrence": systems.Object{
		"frequency": "month", "interval": 1,
		"schedule": systems.Object{"monthlyOccurrences": []systems.Object{{"day": "friday", "occurrence": -1}}},
	}}}
	newAPIs := make([]*client.Client, b.options.Lists) // which have not read any job yet
	for i := range newAPIs {
		newAPIs[i] = b.NewAPI()
	}
	return []call{
		{"create a job", callJobs, 0, func(ctx context.Context, i int) error { return a.PutJob(ctx, asleep, i) }},
		{"get a job", callJobs, 0, func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodGet, asleep.JobPath(i), nil, nil)
		}},
		{"patch a job", callJobs, 0, func(ctx context.Context, i int) error {
			return a.Call(ctx, http.MethodPatch, asleep.JobPath(i), interval(2), nil)
		}},
		{"list 100 jobs, the first time", b.options.Lists, 300 * time.Millisecond,
			func(ctx context.Context, i int) error { return readFullPage(ctx, newAPIs[i], list) }},
		{"list them again", b.options.Lists, 0,
			func(ctx context.Context, _ int) error { return readFullPage(ctx, a.Client, list) }},
		{"newest 100 entries of a history", b.options.Lists, 50 * time.Millisecond,
			func(ctx context.Context, _ int) error { return readFullPage(ctx, a.Client, history) }},
		{"preview 100 occurrences", b.options.Lists, 0, func(ctx context.Context, _ int) error {
			return a.Call(ctx, http.MethodPost, "/previewRecurrence", question, nil)
		}},
	}
}

// interval is a patch of a job's interval.
func interval(n int) systems.Object {
	return systems.Object{"properties": systems.Object{"recurrence": systems.Object{"interval": n}}}
}

// readFullPage reads a page of a list, and checks that it is a full one.
func readFullPage(ctx context.Context, api *client.Client, path string) error {
	entries, err := systems.ReadPages(ctx, api, path, 1)
	if err == nil && entries != callPage {
		err = fmt.Errorf("the answer must have %d entries (got %d)", callPage, entries)
	}
	return err
}
