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
	"almanac/cmd/almanac/internal/flags"
)

// which says which runs of a job are meant.
type which struct{ client.Occurrences }

// given reports whether any flag is.
func (w *which) given() bool { return w.Occurrences != client.Occurrences{} }

func (w *which) group() flags.Group {
	return flags.Group{Name: "Runs", Settings: []*flags.Setting{
		{Flag: "due", Value: momentFlag(&w.Due), Help: "The run that is due then."},
		{Flag: "next", Short: "n", Value: flags.Int(&w.Next, 1, 100), Help: "How many of the next runs; without any flag, one."},
		{Flag: "from", Value: momentFlag(&w.From), Help: "All runs from then on, until --until. Without it, from now on."},
		{Flag: "until", Value: momentFlag(&w.Until), Help: "The end of a time; a run that is due at it is not meant."},
	}}
}

// momentFlag is a time, or a date for its beginning here.
func momentFlag(to *time.Time) flags.Value {
	return flags.NewValue("time", "RFC 3339 such as 2026-01-31T08:00:00Z, or a date", func(text string) (err error) {
		if *to, err = time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
			return nil
		}
		if *to, err = time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("%q is not a time with its offset from UTC", text)
		}
		return nil
	})
}

func newSkip(getenv base.Lookup, d deed) *cobra.Command {
	w := new(which)
	d.more = []flags.Group{w.group()}
	d.example = `
  almanac job skip hello --due 2026-12-24T09:00:00+01:00
  almanac job skip hello --next 3
  almanac job skip hello --from 2026-12-24 --until 2027-01-02`
	d.instead = func(ctx context.Context, s *base.Session, o *selection, args []string) (done bool, err error) {
		if !w.given() {
			return false, nil
		}
		return true, eachNamed(ctx, s, o, args, "skipped", func(n base.Name) (client.Job, error) {
			return s.Client.SkipOccurrences(ctx, n.Collection, n.Job, w.Occurrences)
		})
	}
	return newDeed(getenv, d)
}

func newUnskip(getenv base.Lookup) *cobra.Command {
	w := new(which)
	return base.Command(&cobra.Command{
		Use:   "unskip NAME…",
		Short: "Have runs happen after all that were skipped",
		Long: `Have runs happen after all that were skipped, until they are due: the next one that is
skipped, or those of the flags.`,
		Example: `  almanac job unskip hello
  almanac job unskip hello --due 2026-12-24T09:00:00+01:00
  almanac job unskip hello --from 2026-12-24 --until 2027-01-02`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, []flags.Group{w.group()}, func(ctx context.Context, s *base.Session, args []string) error {
		return eachNamed(ctx, s, new(selection), args, "unskipped", func(n base.Name) (client.Job, error) {
			return s.Client.UnskipOccurrences(ctx, n.Collection, n.Job, w.Occurrences)
		})
	})
}

// eachNamed changes each of the jobs that are named.
func eachNamed(
	ctx context.Context, s *base.Session, o *selection, args []string, did string, change func(base.Name) (client.Job, error),
) error {
	if o.question.Filter != "" || o.question.Search != "" || o.dryRun {
		return exit.With(exit.Usage, errors.New("--due, --next, --from and --until are for jobs that are named, without --filter, --search and --dry-run"))
	}
	names, err := o.names(s, args)
	if err != nil {
		return err
	}
	return results(s, len(names) == 1, func(yield func(result) bool) {
		for _, n := range names {
			j, err := change(n)
			r := changed(n, j, err)
			if r.did = did; err != nil {
				r.err = s.Missing(ctx, n, err)
				if len(names) > 1 {
					r = failed(s, r, r.err)
				}
			}
			if !yield(r) {
				return
			}
		}
	})
}
