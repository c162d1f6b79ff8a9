package job

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/output"
)

func newWhy(getenv base.Lookup) *cobra.Command {
	return base.Command(&cobra.Command{
		Use:     "why NAME [TIME]",
		Aliases: []string{"explain"},
		Short:   "Say why a job ran late, or not at all, or whether it will run",
		Long: `Say why the run of a job that was due at a time ran late, or not at all, and of one to
come whether it will run, with what is recorded. Without a time, the latest that was due.
A time without an offset is in the time zone of the job.`,
		Example: `  almanac job why hello
  almanac job why hello 2026-11-23T09:00:00`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: base.CompleteJobs(getenv, 1),
	}, getenv, nil, func(ctx context.Context, s *base.Session, args []string) error {
		n, err := s.Job(args[0])
		if err != nil {
			return err
		}
		at := ""
		if len(args) == 2 {
			at = args[1]
		}
		e, err := s.Client.Explain(ctx, n.Collection, n.Job, at)
		if err != nil {
			return s.Missing(ctx, n, err)
		}
		if !s.Format.ForPeople() {
			return s.Value(e, e.Name)
		}
		return showWhy(s, n, e)
	})
}

func showWhy(s *base.Session, n base.Name, e client.Explanation) error {
	p := e.Properties
	pairs := []output.Pair{
		{Head: "Job", Cell: output.Cell{Text: n.String()}},
		{Head: "Due", Cell: output.Cell{Text: s.Time(p.Time)}},
		{Head: "Answer", Cell: output.Cell{Text: p.Sentence, Mark: output.Bold}},
		{Head: "Waited", Cell: output.Cell{Text: splitText(p.Split)}},
		{Head: "Before it", Cell: output.Cell{Text: s.Time(p.PreviousExecutionTime)}},
		{Head: "After it", Cell: output.Cell{Text: s.Time(p.NextExecutionTime)}},
	}
	for _, text := range p.Hazards {
		pairs = append(pairs, output.Pair{Head: "Careful", Cell: output.Cell{Text: text, Mark: output.Warn}})
	}
	for _, text := range p.Unread {
		pairs = append(pairs, output.Pair{Head: "Not read", Cell: output.Cell{Text: text, Mark: output.Warn}})
	}
	if err := s.Pairs(pairs); err != nil || len(p.Facts) == 0 {
		return err
	}
	fmt.Fprintln(s.Out)
	return output.List(&s.Printer, output.View[client.Fact]{Columns: []output.Column[client.Fact]{
		{Head: "TIME", Of: func(f client.Fact) output.Cell { return output.Cell{Text: s.Time(f.Time)} }},
		{Head: "FACT", Shrink: true, Of: func(f client.Fact) output.Cell { return output.Cell{Text: f.Text} }},
		{Head: "FROM", Of: func(f client.Fact) output.Cell { return output.Cell{Text: f.Source, Mark: output.Faint} }},
	}}, p.Facts)
}

// splitText returns what a run waited for.
func splitText(x *client.Split) (text string) {
	if x == nil {
		return ""
	}
	for _, part := range []struct {
		seconds float64
		of      string
	}{
		{x.Worker, "for a worker"}, {x.Server, "for Temporal"}, {x.Place, "for a place at the host"},
		{x.EarlierAttempts, "for earlier attempts"}, {x.Send, "until it was sent"},
	} {
		if part.seconds < 0.001 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += output.Length(time.Duration(part.seconds*float64(time.Second))) + " " + part.of
	}
	return text
}
