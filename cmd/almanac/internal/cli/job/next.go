package job

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// An occurrence is when a job runs.
type occurrence struct {
	Name                  string    `json:"name"` // of the job collection and of the job
	ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
	Others                int       `json:"others,omitempty"` // jobs that are due in that second as well
}

type nextOptions struct {
	take   int
	within time.Duration
}

func newNext(getenv base.Lookup) *cobra.Command {
	o := new(nextOptions)
	return base.Command(&cobra.Command{
		Use:     "next [NAME…]",
		Aliases: []string{"upcoming"},
		Short:   "Show when jobs run next",
		Long: `Show when jobs run next. Without a name, what comes in the job collection in the next
hour, or within --within.`,
		Example: `  almanac job next hello --take 3
  almanac job next --within 24h`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, []flags.Group{{Name: "Runs", Settings: []*flags.Setting{
		{Flag: "take", Short: "n", Value: flags.Int(&o.take, 1, 50), Default: "10", Help: "How many runs of each named job."},
		{Flag: "within", Value: flags.Duration(&o.within, time.Second, 7*24*time.Hour),
			Help: "How far ahead, for all jobs of a job collection."},
	}}}, func(ctx context.Context, s *base.Session, args []string) error {
		return runNext(ctx, s, o, args)
	})
}

func runNext(ctx context.Context, s *base.Session, o *nextOptions, args []string) (err error) {
	if len(args) > 0 && o.within > 0 {
		return exit.With(exit.Usage, errors.New("--within is for all jobs; --take is for those that are named"))
	}
	var all []occurrence
	if len(args) == 0 {
		var until time.Time
		if o.within > 0 {
			until = s.Now.Add(o.within)
		}
		all, err = upcoming(ctx, s, until)
	}
	for _, arg := range args {
		found, err := o.of(ctx, s, arg)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if err != nil && all == nil {
		return s.MissingCollection(ctx, s.Collection, err)
	}
	if err != nil { // some jobs could not be read
		return cmp.Or(output.List(&s.Printer, occurrenceView(s, true), all), err)
	}
	if len(all) == 0 && len(args) == 0 && s.Format.ForPeople() {
		s.Say("Nothing comes in that time")
	}
	return output.List(&s.Printer, occurrenceView(s, len(args) != 1), all)
}

func upcoming(ctx context.Context, s *base.Session, until time.Time) (all []occurrence, err error) {
	unread := 0
	for one, err := range s.Client.Upcoming(ctx, client.InCollection(s.Collection), until, client.List{}) {
		if missing, ok := errors.AsType[*client.UnreadError](err); ok {
			s.Say("%s", missing.Error())
			unread++
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, occurrence{Name: one.Name, ExpectedExecutionTime: one.Properties.ExpectedExecutionTime})
	}
	return all, base.Unread(unread)
}

// of returns the next runs of a job: those that a change to what it is already leaves.
func (o *nextOptions) of(ctx context.Context, s *base.Session, arg string) ([]occurrence, error) {
	n, err := s.Job(arg)
	if err != nil {
		return nil, err
	}
	j, err := s.Client.Job(ctx, n.Collection, n.Job)
	if err != nil {
		return nil, s.Missing(ctx, n, err)
	}
	if st := j.Properties.Status; st != nil && st.NextExecutionTime.IsZero() {
		s.Say("%s runs no more: %s", n, st.Reason)
		return nil, nil
	}
	found, err := s.Client.PreviewChange(ctx, n.Collection, n.Job, o.take, j.Properties)
	if err != nil {
		return nil, err
	}
	var all []occurrence
	for _, r := range found.Runs {
		if !r.WillBe.IsZero() && len(all) < o.take {
			all = append(all, occurrence{n.String(), r.WillBe, r.Others})
		}
	}
	return all, nil
}

func occurrenceView(s *base.Session, withJob bool) output.View[occurrence] {
	v := output.View[occurrence]{
		Name: func(x occurrence) string { return x.Name },
		Columns: []output.Column[occurrence]{
			{Head: "DUE", Of: func(x occurrence) output.Cell { return output.Cell{Text: s.Time(x.ExpectedExecutionTime)} }},
			{Head: "UTC", Wide: true, Of: func(x occurrence) output.Cell {
				return output.Cell{Text: x.ExpectedExecutionTime.UTC().Format(time.RFC3339)}
			}},
		},
	}
	if withJob {
		v.Columns = append(v.Columns, output.Column[occurrence]{Head: "JOB", Shrink: true,
			Of: func(x occurrence) output.Cell { return output.Cell{Text: x.Name} }})
	}
	return v
}
