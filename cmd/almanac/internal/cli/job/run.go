package job

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

type runOptions struct {
	selection
	wait   bool
	within time.Duration
}

func newRun(getenv base.Lookup) *cobra.Command {
	o := new(runOptions)
	group := o.group()
	group.Settings = append(group.Settings,
		&flags.Setting{Flag: "wait", Short: "w", Value: flags.Bool(&o.wait),
			Help: "Wait for the end, tell each attempt, and exit with 1 unless all succeeded."},
		&flags.Setting{Flag: "within", Value: flags.Duration(&o.within, time.Second, 100*24*time.Hour),
			Help: "How long --wait waits at most. The run itself goes on."})
	return base.Command(&cobra.Command{
		Use:     "run NAME…",
		Aliases: []string{"trigger"},
		Short:   "Run jobs now",
		Long: `Run jobs now. It is beside their schedule, and works for jobs that are disabled as well.
With --wait, each attempt is told on standard error, and the exit status says how it
ended: 0 if it succeeded, 1 if not.`,
		Example: `  almanac job run hello
  almanac job run hello --wait && echo fine
  almanac job run --filter "lastOutcome eq Failed" --yes --wait -o json`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, []flags.Group{group}, func(ctx context.Context, s *base.Session, args []string) error {
		return runRun(ctx, s, o, args)
	})
}

func runRun(ctx context.Context, s *base.Session, o *runOptions, args []string) error {
	names, err := o.names(s, args)
	if err != nil {
		return err
	}
	finish := func(r result) result { return r }
	if o.wait {
		finish = func(r result) result { return ended(ctx, s, o.within, r) }
	}
	if len(names) == 1 && !o.dryRun {
		execution, err := s.Client.RunJob(ctx, names[0].Collection, names[0].Job)
		if err != nil {
			return s.Missing(ctx, names[0], err)
		}
		return results(s, true, one(finish(result{Name: names[0].String(), Status: statusDone, Execution: execution, did: started})))
	}
	plans, err := o.plans(ctx, s, client.BulkRun, names)
	if err != nil {
		return err
	}
	if o.dryRun && !s.Format.ForPeople() {
		return output.List(&s.Printer, planView, plans)
	}
	changes := show(s, client.BulkRun, plans)
	if o.dryRun {
		return nil
	}
	if changes > 0 {
		if err := s.Confirm(fmt.Sprintf("Run %s?", jobs(changes))); err != nil {
			return err
		}
	}
	return results(s, false, finished(changing(ctx, s, client.BulkRun, started, plans), finish))
}

// started is what becomes of a job that is run.
const started = "started"

// finished starts all, and then finishes each.
func finished(all iter.Seq[result], finish func(result) result) iter.Seq[result] {
	return func(yield func(result) bool) {
		var begun []result
		for r := range all {
			begun = append(begun, r)
		}
		for _, r := range begun {
			if !yield(finish(r)) {
				return
			}
		}
	}
}

// The times between two looks at an execution.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// ended waits until the execution of a result has ended, tells its attempts, and returns the result with the outcome.
func ended(ctx context.Context, s *base.Session, within time.Duration, r result) result {
	if r.Status != statusDone || r.Execution == "" {
		return r
	}
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, within, errLate)
		defer cancel()
	}
	collection, name := client.NamesOf(r.Name)
	told := map[string]bool{}
	for pause := firstLook; ; pause = min(pause*3/2, lastLook) {
		x, err := s.Client.Execution(ctx, collection, name, r.Execution)
		if err != nil && ctx.Err() == nil && exit.CodeOf(err) != exit.Unreachable {
			r.err, r.Status, r.Error = err, statusRefused, err.Error()
			return r
		}
		if err == nil {
			tell(s, r.Name, x, told)
			if x.Properties.Status == client.Ended {
				return withOutcome(r, x)
			}
		}
		select {
		case <-ctx.Done():
			r.err = exit.With(exit.Failed, fmt.Errorf("%s: execution %s: %w", r.Name, r.Execution, context.Cause(ctx)))
			r.Outcome, r.Error = "Unknown", context.Cause(ctx).Error()
			return r
		case <-time.After(pause):
		}
	}
}

// errLate is the error of a wait that was too long.
var errLate = errors.New("it has not ended within the time of --within")

// tell prints the attempts of an execution that were not told.
func tell(s *base.Session, name string, x client.Execution, told map[string]bool) {
	all := x.Properties.History
	for i := range all {
		h := all[len(all)-1-i] // oldest first
		if told[h.ID] {
			continue
		}
		told[h.ID] = true
		p := h.Properties
		s.Say("%s  attempt %d  %s  %s  %s", name, p.RetryCount+1, p.Status, output.Length(p.EndTime.Sub(p.StartTime)), output.Line(p.Message))
	}
	if r := x.Properties.Retry; r != nil && !r.NextAttemptTime.IsZero() {
		key := fmt.Sprint(r.ActionName, r.Attempt)
		if !told[key] {
			told[key] = true
			s.Now = time.Now()
			s.Say("%s  attempt %d of %d at %s", name, r.Attempt, r.MaxAttempts, s.Time(r.NextAttemptTime))
		}
	}
}

func withOutcome(r result, x client.Execution) result {
	r.Outcome = string(x.Properties.Outcome)
	var from, until time.Time
	for _, h := range x.Properties.History {
		if from.IsZero() || h.Properties.StartTime.Before(from) {
			from = h.Properties.StartTime
		}
		if h.Properties.EndTime.After(until) {
			until = h.Properties.EndTime
		}
		if h.Properties.ActionName == client.MainAction && r.Outcome != string(client.OutcomeCompleted) && r.Error == "" {
			r.Error = h.Properties.Message
		}
	}
	r.took = until.Sub(from)
	return r
}
