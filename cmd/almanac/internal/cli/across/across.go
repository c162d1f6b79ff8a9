// Package across is the commands about what happens across jobs.
package across

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/job"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// scopeOf returns the job collection of --collection, or the whole resource group.
func scopeOf(s *base.Session) client.Scope {
	if s.Flags.Get("collection").Given() {
		return client.InCollection(s.Collection)
	}
	return client.Scope{}
}

// Activity returns the command activity.
func Activity(getenv base.Lookup) *cobra.Command {
	o := new(job.Entries)
	return base.Command(&cobra.Command{
		Use:   "activity",
		Short: "Show what happened across jobs",
		Long: `Show what became of the runs of all jobs of the resource group, or of --collection, newest
first. Without --since it goes back 24 hours.`,
		Example: `  almanac activity --failed
  almanac activity -c payroll --since 1h --watch`,
	}, getenv, []flags.Group{o.Group()}, func(ctx context.Context, s *base.Session, _ []string) error {
		err := o.Show(ctx, s, true, func(l client.List) iter.Seq2[client.History, error] {
			return s.Client.HistoryAcross(ctx, scopeOf(s), l)
		})
		return s.MissingCollection(ctx, s.Collection, err)
	})
}

// Forecast returns the command forecast.
func Forecast(getenv base.Lookup) *cobra.Command {
	var within, step time.Duration
	var host string
	return base.Command(&cobra.Command{
		Use:   "forecast",
		Short: "Count what comes due, and when most does",
		Long: `Count the runs that come due in all jobs of the resource group, or of --collection, and say
in which second of each step most do.`,
		Example: "  almanac forecast\n  almanac forecast --within 24h --step 1h",
	}, getenv, []flags.Group{{Name: "Window", Settings: []*flags.Setting{
		{Flag: "within", Value: flags.Duration(&within, time.Second, 7*24*time.Hour), Default: "1h", Help: "How far ahead."},
		{Flag: "step", Value: flags.Duration(&step, time.Second, 7*24*time.Hour), Help: "Length of a line; by default a sixtieth."},
		{Flag: "host", Value: flags.Text("name", &host), Help: "Only runs that call this host."},
	}}}, func(ctx context.Context, s *base.Session, _ []string) error {
		if step == 0 {
			step = max(time.Second, (within / 60).Truncate(time.Second))
		}
		found, err := s.Client.Forecast(ctx, scopeOf(s), client.Window{
			From: s.Now, Until: s.Now.Add(within), Step: string(client.Lasting(step)), Host: host,
		})
		if err != nil {
			return s.MissingCollection(ctx, s.Collection, err)
		}
		if !s.Format.ForPeople() {
			return s.Value(found, "")
		}
		return show(s, found)
	})
}

// bar is how long the longest bar is.
const bar = 30

func show(s *base.Session, f client.Forecast) error {
	most := 1
	for _, x := range f.Steps {
		most = max(most, x.Due)
	}
	s.Say("%d runs of %d jobs are due until %s", f.Due, f.Jobs, s.Time(f.Until))
	if !f.Complete {
		s.Say("There are more than are counted: the window ends there")
	}
	if f.Unread > 0 {
		s.Say("%d jobs could not be read", f.Unread)
	}
	return output.List(&s.Printer, output.View[client.ForecastStep]{Columns: []output.Column[client.ForecastStep]{
		{Head: "FROM", Of: func(x client.ForecastStep) output.Cell { return output.Cell{Text: s.Time(x.Time)} }},
		{Head: "DUE", Right: true, Of: func(x client.ForecastStep) output.Cell { return output.Cell{Text: fmt.Sprint(x.Due)} }},
		{Head: "", Of: func(x client.ForecastStep) output.Cell {
			return output.Cell{Text: strings.Repeat("#", max(1, x.Due*bar/most)), Mark: output.Faint}
		}},
		{Head: "IN ONE SECOND", Of: func(x client.ForecastStep) output.Cell {
			return output.Cell{Text: fmt.Sprintf("%d at %s", x.Fullest.Due, x.Fullest.Time.In(s.Zone).Format(time.TimeOnly))}
		}},
		{Head: "MOST CALLED", Shrink: true, Of: func(x client.ForecastStep) output.Cell {
			if x.Host == nil {
				return output.Cell{}
			}
			return output.Cell{Text: fmt.Sprintf("%s (%d)", x.Host.Name, x.Host.Due)}
		}},
	}}, f.Steps)
}
