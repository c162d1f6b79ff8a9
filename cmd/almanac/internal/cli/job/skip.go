package job

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/flags"
	"almanac/recurrence"
)

// which says which runs of a job are meant.
type which struct {
	client.Occurrences
	on string // all of a date in the job's time zone
}

// given reports whether any flag is.
func (w *which) given() bool { return *w != which{} }

// of returns the runs that are meant of a job.
func (w *which) of(ctx context.Context, s *base.Session, n base.Name) (client.Occurrences, error) {
	if w.on == "" {
		return w.Occurrences, nil
	}
	if w.Occurrences != (client.Occurrences{}) {
		return client.Occurrences{}, exit.With(exit.Usage, errors.New("--on excludes --due, --next, --from and --until"))
	}
	j, err := s.Client.Job(ctx, n.Collection, n.Job)
	if err != nil {
		return client.Occurrences{}, err
	}
	zone := time.UTC
	if r := j.Properties.Recurrence; r != nil && r.TimeZone != "" {
		if zone, err = recurrence.LoadLocation(r.TimeZone); err != nil {
			return client.Occurrences{}, err
		}
	}
	day, err := time.Parse(time.DateOnly, w.on) // the flag was checked
	all := recurrence.Date(day.Year(), day.Month(), day.Day(), zone)
	return client.Occurrences{From: all.From, Until: all.Until}, err
}

func (w *which) group() flags.Group {
	return flags.Group{Name: "Runs", Settings: []*flags.Setting{
		{Flag: "due", Value: momentFlag(&w.Due), Help: "The run that is due then."},
		{Flag: "on", Value: flags.Form("date", "a date", "such as 2026-12-24", &w.on, isDate), Help: "All runs of that date, in the time zone of the job."},
		{Flag: "next", Short: "n", Value: flags.Int(&w.Next, 1, 100), Help: "How many of the next runs; without any flag, one."},
		{Flag: "from", Value: momentFlag(&w.From), Help: "All runs from then on, until --until. Without it, from now on."},
		{Flag: "until", Value: momentFlag(&w.Until), Help: "The end of a time; a run that is due at it is not meant."},
	}}
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func newSkip(getenv base.Lookup, d deed) *cobra.Command {
	w := new(which)
	d.more = []flags.Group{w.group()}
	d.example = `
  almanac job skip hello --on 2026-12-24
  almanac job skip hello --due "2026-12-24 09:00"
  almanac job skip hello --next 3
  almanac job skip hello --from 2026-12-24 --until 2027-01-02`
	d.instead = func(ctx context.Context, s *base.Session, o *selection, args []string) (done bool, err error) {
		if !w.given() {
			return false, nil
		}
		return true, eachNamed(ctx, s, o, args, "skipped", func(n base.Name) (j client.Job, err error) {
			runs, err := w.of(ctx, s, n)
			if err == nil {
				j, err = s.Client.SkipOccurrences(ctx, n.Collection, n.Job, runs)
			}
			return j, err
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
  almanac job unskip hello --on 2026-12-24
  almanac job unskip hello --from 2026-12-24 --until 2027-01-02`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, []flags.Group{w.group()}, func(ctx context.Context, s *base.Session, args []string) error {
		return eachNamed(ctx, s, new(selection), args, "unskipped", func(n base.Name) (j client.Job, err error) {
			runs, err := w.of(ctx, s, n)
			if err == nil {
				j, err = s.Client.UnskipOccurrences(ctx, n.Collection, n.Job, runs)
			}
			return j, err
		})
	})
}

// eachNamed changes each of the jobs that are named.
func eachNamed(
	ctx context.Context, s *base.Session, o *selection, args []string, did string, change func(base.Name) (client.Job, error),
) error {
	if o.question.Filter != "" || o.question.Search != "" || o.dryRun {
		return exit.With(exit.Usage, errors.New("--on, --due, --next, --from and --until are for jobs that are named, without --filter, --search and --dry-run"))
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
