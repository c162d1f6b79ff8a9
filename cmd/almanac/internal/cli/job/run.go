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
	force  bool
	within time.Duration
}

func newRun(getenv base.Lookup) *cobra.Command {
	o := new(runOptions)
	group := o.group()
	group.Settings = append(group.Settings,
		&flags.Setting{Flag: "wait", Short: "w", Value: flags.Bool(&o.wait),
			Help: "Wait for the end, tell each attempt, and exit with 1 unless all succeeded."},
		&flags.Setting{Flag: "force", Value: flags.Bool(&o.force),
			Help: "Also in a blackout of the job or of its job collection; of one job."},
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
		w := waiter{s: s, within: o.within, patience: patience}
		finish = func(r result) result { return w.ended(ctx, r) }
	}
	if o.force && (len(names) != 1 || o.dryRun) {
		return exit.With(exit.Usage, errors.New("--force runs one job: name it, without --dry-run"))
	}
	if len(names) == 1 && !o.dryRun {
		run := s.Client.RunJob
		if o.force {
			run = s.Client.ForceRun
		}
		execution, err := run(ctx, names[0].Collection, names[0].Job)
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
		if err := s.Confirm(ctx, fmt.Sprintf("Run %s?", jobs(changes))); err != nil {
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

// patience is how long the API may not answer while an execution is waited for.
const patience = 10 * time.Minute

// A waiter waits for executions.
type waiter struct {
	s        *base.Session
	within   time.Duration // for all together; 0: any time
	patience time.Duration // with an API that does not answer

	until time.Time // set when the first is waited for
	away  time.Time // since when the API does not answer
}

// ended waits until the execution of a result has ended, tells its attempts, and returns the result with the outcome.
func (w *waiter) ended(ctx context.Context, r result) result {
	if r.Status != statusDone || r.Execution == "" {
		return r
	}
	if w.within > 0 {
		if w.until.IsZero() {
			w.until = time.Now().Add(w.within)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, w.until, errLate)
		defer cancel()
	}
	collection, name := client.NamesOf(r.Name)
	told := map[string]bool{}
	for pause := firstLook; ; pause = min(pause*3/2, lastLook) {
		x, err := w.s.Client.Execution(ctx, collection, name, r.Execution)
		if ctx.Err() == nil && w.gaveUp(err) {
			return w.told(failed(w.s, r, err))
		}
		if err == nil {
			tell(w.s, r.Name, x, told)
			if x.Properties.Status == client.Ended {
				return withOutcome(r, x)
			}
		}
		select {
		case <-ctx.Done():
			r.Outcome, r.Error = outcomeUnknown, "interrupted; the run goes on"
			if errors.Is(context.Cause(ctx), errLate) {
				r.Error = errLate.Error()
			}
			return w.told(r)
		case <-time.After(pause):
		}
	}
}

// told returns a result that is not that of the run, and tells it where a program reads what is printed.
func (w *waiter) told(r result) result {
	if !w.s.Format.ForPeople() {
		w.s.Say("%s  execution %s  %s", r.Name, r.Execution, r.Error)
	}
	return r
}

// gaveUp reports whether an error ends the waiting. It tells when the API stops to answer, and when it answers again.
func (w *waiter) gaveUp(err error) bool {
	if exit.CodeOf(err) != exit.Unreachable {
		if !w.away.IsZero() && err == nil {
			w.s.Say("The API answers again")
		}
		w.away = time.Time{}
		return err != nil
	}
	if w.away.IsZero() {
		w.away = time.Now()
		w.s.Say("%s\nIt is asked again for %s", base.Describe(w.s.URL, err), output.Length(w.patience))
	}
	return time.Since(w.away) >= w.patience
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
