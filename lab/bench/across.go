package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"almanac/lab/bench/options"
	"almanac/lab/bench/systems"
	"almanac/lab/report"
)

// acrossSlack is how long the last executions may take to arrive.
const acrossSlack = 10 * time.Minute

// measureAcross measures lists across jobs: the history of a busy hour, in which each job runs once, and what is
// next. The jobs go on while the lists are read.
func (b *bench) measureAcross(ctx context.Context) (err error) {
	h := systems.Herd{Name: "across", Jobs: options.MaxHerd, Parallel: 8}
	if b.options.Jobs > 0 {
		h.Jobs = b.options.Jobs
	}
	defer func() { err = errors.Join(err, b.remove(ctx, b.Almanac, h)) }()
	h.First = time.Now().UTC().Add(b.options.CreatedBefore).Truncate(time.Second)
	b.progress.Printf("%s, due once an hour from %s on, for %s", report.CountOf(h.Jobs, "job"),
		h.First.Format(time.TimeOnly), b.options.Window)
	if err := b.Almanac.Spread(ctx, h); err != nil {
		return err
	}
	ran := int(time.Duration(h.Jobs) * b.options.Window / time.Hour)
	if err := b.receiver.AwaitCount(ctx, h.Name, ran, time.Until(h.First.Add(b.options.Window))+
		acrossSlack); err != nil {
		return err
	}
	b.page.AcrossJobs, b.page.AcrossWindow = report.Count(float64(h.Jobs)), b.options.Window
	for _, l := range b.acrossLists(h) {
		if err := b.measureList(ctx, l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// A list is one that is read page by page.
type list struct {
	name  string
	path  string
	fresh bool // by an API that has just started
	pages int
	goal  time.Duration // for the p50; 0: none
}

// acrossLists returns the lists across the jobs of a herd.
func (b *bench) acrossLists(h systems.Herd) []list {
	filter := func(text string) string { return "$filter=" + url.QueryEscape(text) }
	hour := "startTime ge " + h.First.Add(-time.Second).Format(time.RFC3339)
	past := hour + " and startTime lt " + h.First.Add(b.options.Window/2).Format(time.RFC3339)
	history := h.Path() + "/history?" // with $top it would be one page
	upcoming := fmt.Sprintf("%s/upcoming?$top=%d&until=%s", h.Path(), callPage,
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	const historyGoal, upcomingGoal = 500 * time.Millisecond, 300 * time.Millisecond
	return []list{
		{"history, first page, of a new API", history + filter(hour), true, 1, historyGoal},
		{"history, first page, again", history + filter(hour), false, 1, historyGoal},
		{"history, first page and 9 more", history + filter(hour), false, 10, 0},
		{"history up to the middle of the time, first page", history + filter(past), false, 1, historyGoal},
		{"history, failed, first page", history + filter(hour+" and status eq Failed"), true, 1, historyGoal},
		{"upcoming, of a new API", upcoming, true, 1, upcomingGoal},
		{"upcoming, again", upcoming, false, 1, upcomingGoal},
	}
}

// measureList reads a list some times.
func (b *bench) measureList(ctx context.Context, l list) error {
	api, calls, err := b.NewCountedAPI(ctx)
	if err != nil {
		return err
	}
	if !l.fresh {
		if _, err := systems.ReadPages(ctx, api, l.path, l.pages); err != nil {
			return err
		}
	}
	var taken []time.Duration
	var cpu, asked float64
	entries := 0
	for range b.options.Lists/20 + 1 {
		if l.fresh {
			if api, calls, err = b.NewCountedAPI(ctx); err != nil {
				return err
			}
		}
		before, err := b.CPU(ctx)
		if err != nil {
			return err
		}
		start, called := time.Now(), calls()
		if entries, err = systems.ReadPages(ctx, api, l.path, l.pages); err != nil {
			return err
		}
		taken = append(taken, time.Since(start))
		asked += float64(calls() - called)
		after, err := b.CPU(ctx)
		if err != nil {
			return err
		}
		cpu += after - before
	}
	all, n := report.SpreadOf(taken), float64(len(taken))
	b.page.Add(&b.page.Across, []string{l.name, report.Count(float64(entries)), report.Duration(all.P50),
		report.Duration(all.Max), report.Milliseconds(1000 * cpu / n), report.Count(asked / n)})
	b.page.Within(l.name+", p50", all.P50, l.goal)
	return nil
}
