package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

type backfillOptions struct {
	client.BackfillRequest
	dryRun             bool
	pause, resume, end string
}

func newBackfill(getenv base.Lookup) *cobra.Command {
	o := new(backfillOptions)
	group := flags.Group{Name: "Backfill", Settings: []*flags.Setting{
		{Flag: "from", Value: momentFlag(&o.From), Help: "The first run is the first that was due then or later."},
		{Flag: "until", Value: momentFlag(&o.Until), Help: "And the last one the last that was due before."},
		{Flag: "name", Value: flags.Text("name", &o.Name), Help: "Its name, in the history of each run."},
		{Flag: "at-once", Value: flags.Int(&o.AtOnce, 1, 10), Help: "How many run at once; 1 by default."},
		{Flag: "every", Value: flags.Duration(&o.Every, time.Second, 24*time.Hour), Help: "The least time between two starts."},
		{Flag: "dry-run", Value: flags.Bool(&o.dryRun), Help: "Show which runs it would be, and do nothing."},
		{Flag: "pause", Value: flags.Text("backfill", &o.pause), Help: "Pause the backfill of that name."},
		{Flag: "resume", Value: flags.Text("backfill", &o.resume), Help: "Resume it."},
		{Flag: "end", Value: flags.Text("backfill", &o.end), Help: "End it. What has begun runs to its end."},
	}}
	return base.Command(&cobra.Command{
		Use:   "backfill NAME",
		Short: "Run past runs of a job again, gently",
		Long: `Run all runs of a job that were due in a time, whether or not they ran then, beside its
schedule and one after another. Without --from and --until it lists the backfills of the job
and how far they are. What it would run is shown first, and asked about.`,
		Example: `  almanac job backfill report --from 2026-11-16 --until 2026-11-23
  almanac job backfill report
  almanac job backfill report --pause week47`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: base.CompleteJobs(getenv, 1),
	}, getenv, []flags.Group{group}, func(ctx context.Context, s *base.Session, args []string) error {
		n, err := s.Job(args[0])
		if err == nil {
			err = runBackfill(ctx, s, o, n)
		}
		return err
	})
}

func runBackfill(ctx context.Context, s *base.Session, o *backfillOptions, n base.Name) error {
	action, name, err := o.change()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if action != "" {
		b, err := s.Client.ChangeBackfill(ctx, n.Collection, n.Job, name, action)
		return showBackfill(ctx, s, n, b, err)
	}
	if o.BackfillRequest == (client.BackfillRequest{}) && !o.dryRun {
		all, err := s.Client.Backfills(ctx, n.Collection, n.Job)
		if err != nil {
			return s.Missing(ctx, n, err)
		}
		return output.List(&s.Printer, backfillView(s), all)
	}
	if o.From.IsZero() || o.Until.IsZero() {
		return exit.With(exit.Usage, errors.New("say both --from and --until"))
	}
	found, err := s.Client.PreviewBackfill(ctx, n.Collection, n.Job, o.BackfillRequest)
	if err != nil {
		return s.Missing(ctx, n, err)
	}
	if o.dryRun && !s.Format.ForPeople() {
		return s.Value(found, n.String())
	}
	s.Say("It runs %s", runs(found.Total))
	for _, due := range found.Occurrences {
		s.Say("  %s", s.Time(due))
	}
	if left := found.Total - len(found.Occurrences); left > 0 {
		s.Say("  and %d others, the last %s", left, s.Time(found.Last))
	}
	if o.dryRun || found.Total == 0 {
		return nil
	}
	if found.Total > 1 {
		if err := s.Confirm(ctx, fmt.Sprintf("Run %s of %s?", runs(found.Total), n)); err != nil {
			return err
		}
	}
	b, err := s.Client.Backfill(ctx, n.Collection, n.Job, o.BackfillRequest)
	return showBackfill(ctx, s, n, b, err)
}

// change returns what is to be done to a backfill, and to which; "" if none is named.
func (o *backfillOptions) change() (action, name string, err error) {
	for _, one := range []struct{ action, name string }{{"pause", o.pause}, {"resume", o.resume}, {"end", o.end}} {
		switch {
		case one.name == "":
		case action != "" || o.BackfillRequest != (client.BackfillRequest{}) || o.dryRun:
			return "", "", errors.New("--pause, --resume and --end exclude each other and all other flags of a backfill")
		default:
			action, name = one.action, one.name
		}
	}
	return action, name, nil
}

func showBackfill(ctx context.Context, s *base.Session, n base.Name, b client.Backfill, err error) error {
	if err != nil {
		return s.Missing(ctx, n, err)
	}
	return output.One(&s.Printer, backfillView(s), b)
}

func backfillView(s *base.Session) output.View[client.Backfill] {
	column := func(head string, of func(*client.BackfillProperties) string) output.Column[client.Backfill] {
		return output.Column[client.Backfill]{Head: head, Of: func(b client.Backfill) output.Cell { return output.Cell{Text: of(&b.Properties)} }}
	}
	number := func(of func(*client.BackfillProperties) int) func(*client.BackfillProperties) string {
		return func(p *client.BackfillProperties) string { return fmt.Sprint(of(p)) }
	}
	return output.View[client.Backfill]{
		Name: func(b client.Backfill) string { return b.Name },
		Columns: []output.Column[client.Backfill]{
			{Head: "NAME", Of: func(b client.Backfill) output.Cell { return output.Cell{Text: b.Name} }},
			column("STATE", func(p *client.BackfillProperties) string { return p.State }),
			column("FROM", func(p *client.BackfillProperties) string { return s.Time(p.From) }),
			column("UNTIL", func(p *client.BackfillProperties) string { return s.Time(p.Until) }),
			column("RUNS", number(func(p *client.BackfillProperties) int { return p.Total })),
			column("SUCCEEDED", number(func(p *client.BackfillProperties) int { return p.Succeeded })),
			column("FAILED", number(func(p *client.BackfillProperties) int { return p.Failed })),
			column("LEFT", number(func(p *client.BackfillProperties) int { return p.Left })),
			column("REASON", func(p *client.BackfillProperties) string { return output.Line(p.Reason) }),
		},
	}
}
