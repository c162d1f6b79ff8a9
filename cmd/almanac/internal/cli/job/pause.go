package job

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// PauseFlags returns the flags that say why something is disabled, until when and what follows; of enabling, what runs.
func PauseFlags(p *client.Pause, disables bool) flags.Group {
	what := "What runs of what was due meanwhile: none, latest or all."
	if disables {
		what = "What runs at the end of what was due meanwhile: none, latest or all."
	}
	g := flags.Group{Name: "Pause", Settings: []*flags.Setting{
		{Flag: "recover", Value: flags.NewValue("runs", "", func(t string) error { p.Recover = client.Recover(t); return nil },
			"none", "latest", "all"), Help: what},
		{Flag: "at-once", Value: flags.Int(&p.AtOnce, 1, 100), Help: "How many of these runs may run at once, of each job; 1 by default."},
	}}
	if disables {
		g.Settings = append([]*flags.Setting{
			{Flag: "until", Value: momentFlag(&p.Until), Help: "When it is enabled by itself. Without it, when somebody does."},
			{Flag: "note", Value: flags.Text("text", &p.Note), Help: "Why, in at most 200 characters."},
		}, g.Settings...)
	}
	return g
}

// newPausing is the command that enables or disables jobs.
func newPausing(getenv base.Lookup, d deed) *cobra.Command {
	p := new(client.Pause)
	disables := d.action == client.BulkDisable
	d.more = []flags.Group{PauseFlags(p, disables)}
	d.pause = p
	d.example = fmt.Sprintf("\n  almanac job %s hello --recover latest", d.action)
	if disables {
		d.example = `
  almanac job disable hello --until "monday 06:00" --recover latest --note "move of the database"`
	}
	d.alone = func(ctx context.Context, s *base.Session, n base.Name) result {
		if disables {
			j, err := s.Client.DisableJob(ctx, n.Collection, n.Job, *p)
			r := changed(n, j, err)
			r.job = nil // that it does not run again goes without saying
			return r
		}
		j, err := s.Client.EnableJob(ctx, n.Collection, n.Job, *p)
		return changed(n, j, err)
	}
	d.instead = func(ctx context.Context, s *base.Session, o *selection, args []string) (done bool, err error) {
		if len(args) != 1 || o.question.Filter != "" || o.question.Search != "" || *p == (client.Pause{}) && !o.dryRun {
			return false, nil
		}
		n, err := s.Job(args[0])
		if err != nil {
			return true, err
		}
		held, err := s.Client.PreviewPause(ctx, n.Collection, n.Job, string(d.action), *p)
		if err != nil {
			return true, s.Missing(ctx, n, err)
		}
		if o.dryRun && !s.Format.ForPeople() {
			return true, s.Value(held, n.String())
		}
		tellHeld(s, &held, disables && p.Until.IsZero(), p.Recover != "" || held.Held > 0)
		return o.dryRun, nil
	}
	return newDeed(getenv, d)
}

// tellHeld says what a pause holds: nothing if it has no end, and does not say either what runs then.
func tellHeld(s *base.Session, h *client.Held, open, holds bool) {
	switch {
	case open && !holds:
		s.Say("Nothing that comes due runs, nor is it held, until somebody enables it")
	case open:
		s.Say("It holds every run that comes due, until somebody enables it")
	case h.Held == 0:
		s.Say("It holds no run")
	default:
		s.Say("It holds %s, of which %d at the end, %d at once", runs(h.Held), h.Runs, h.AtOnce)
	}
	for _, one := range h.Occurrences {
		text := "left out"
		if one.Runs {
			text = "runs at the end"
		}
		if open {
			text = "held"
		}
		s.Say("  %s  %s", s.Time(one.ExpectedExecutionTime), text)
	}
}

func runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// PauseText says by whom and until when something is disabled; "" if that is not known.
func PauseText(s *base.Session, d *client.Disabled) string {
	if d == nil {
		return ""
	}
	text := ""
	if d.Caller != "" {
		text = "by " + output.Line(d.Caller)
	}
	if !d.Until.IsZero() {
		text += " until " + s.Time(d.Until)
	}
	if d.Recover != "" {
		text += ", then " + map[client.Recover]string{
			client.RecoverNone: "nothing that was held runs", client.RecoverLatest: "the latest that was held runs", client.RecoverAll: "all that was held runs",
		}[d.Recover]
	}
	if d.Note != "" {
		text += ": " + output.Line(d.Note)
	}
	return text
}
