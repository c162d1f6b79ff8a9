package job

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// A deed is a command that does one thing to jobs.
type deed struct {
	action           client.BulkAction
	did, short, long string
	asks             bool // also for one job

	more    []flags.Group // beside those of a selection
	example string        // beside the usual ones
	pause   *client.Pause // of enabling and disabling; nil: none
	// instead does something else, and reports whether it has
	instead func(ctx context.Context, s *base.Session, o *selection, args []string) (done bool, err error)
	// alone does it to one job.
	alone func(ctx context.Context, s *base.Session, n base.Name) result
}

var deeds = []deed{
	{action: client.BulkEnable, did: "enabled", short: "Enable jobs", long: "Enable jobs. They continue with the next occurrence, and run of what was due meanwhile what --recover\nsays, or what was said when they were disabled."},
	{action: client.BulkDisable, did: "disabled", short: "Disable jobs: nothing of them runs",
		long: "Disable jobs. When the command returns, nothing of them is sent any more, and waiting retries\nare dropped. With --until they are enabled by themselves, and with --until or --recover what comes\ndue meanwhile is held."},
	{action: client.BulkSkip, did: "skipped", short: "Leave out runs of jobs", alone: skip,
		long: "Leave out the next run of jobs or, of jobs that are named, those of the flags. \"almanac job\nunskip\" undoes it until they are due."},
	{action: client.BulkRerun, did: "started", short: "Run jobs again whose last run failed", long: "Run jobs again whose last run failed. Others are left alone.", alone: rerun},
	{action: client.BulkDelete, did: "deleted", short: "Delete jobs and their history", asks: true, alone: remove,
		long: "Delete jobs and their history. It asks first, and without a terminal it needs --yes."},
}

// selection says which jobs are meant.
type selection struct {
	question client.BulkQuestion
	dryRun   bool
	pause    *client.Pause
}

func (o *selection) group() flags.Group {
	return flags.Group{Name: "Jobs", Settings: []*flags.Setting{
		{Flag: "filter", Value: flags.Text("conditions", &o.question.Filter), Help: filterHelp},
		{Flag: "search", Value: flags.Text("words", &o.question.Search),
			Help: "Words that a job has in its name, schedule in English or host."},
		{Flag: "dry-run", Value: flags.Bool(&o.dryRun), Help: "Show which jobs it would be done to, and do nothing."},
	}}
}

func newDeed(getenv base.Lookup, d deed) *cobra.Command {
	o := new(selection)
	o.pause = d.pause
	verb := string(d.action)
	return base.Command(&cobra.Command{
		Use:   verb + " NAME…",
		Short: d.short,
		Long: d.long + `

Several jobs are named, or found by --filter or --search, up to 1,000 in one job
collection. What it would be done to is shown first, and asked about; then there is a
result for each. A job that was changed meanwhile is left alone.`,
		Example: fmt.Sprintf(`  almanac job %[1]s hello
  almanac job %[1]s a b c --yes
  almanac job %[1]s --filter "host eq 'old.example.com'" --dry-run`, verb) + d.example,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, append([]flags.Group{o.group()}, d.more...), func(ctx context.Context, s *base.Session, args []string) error {
		if d.instead != nil {
			if done, err := d.instead(ctx, s, o, args); done || err != nil {
				return err
			}
		}
		return runDeed(ctx, s, d, o, args)
	})
}

func runDeed(ctx context.Context, s *base.Session, d deed, o *selection, args []string) error {
	names, err := o.names(s, args)
	if err != nil {
		return err
	}
	if len(names) == 1 && !o.dryRun {
		if d.asks {
			if err := s.Confirm(ctx, fmt.Sprintf("%s the job %s and its history?", title(string(d.action)), names[0])); err != nil {
				return err
			}
		}
		r := d.alone(ctx, s, names[0])
		r.did = d.did
		if r.err != nil {
			r.err = s.Missing(ctx, names[0], r.err)
		}
		return results(s, true, one(r))
	}
	plans, err := o.plans(ctx, s, d.action, names)
	if err != nil {
		return err
	}
	if o.dryRun && !s.Format.ForPeople() {
		return output.List(&s.Printer, planView, plans)
	}
	changes := show(s, d.action, plans)
	if o.dryRun {
		return nil
	}
	if changes > 0 {
		if err := s.Confirm(ctx, fmt.Sprintf("%s %s?", title(string(d.action)), jobs(changes))); err != nil {
			return err
		}
	}
	return results(s, false, changing(ctx, s, d.action, d.did, plans))
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// names returns the jobs that are named; none if they are selected.
func (o *selection) names(s *base.Session, args []string) (names []base.Name, err error) {
	selects := o.question.Filter != "" || o.question.Search != ""
	switch {
	case len(args) == 0 && !selects:
		return nil, exit.With(exit.Usage, errors.New("name jobs, or select them by --filter or --search"))
	case len(args) > 0 && selects:
		return nil, exit.With(exit.Usage, errors.New("names exclude --filter and --search"))
	}
	for _, arg := range args {
		n, err := s.Job(arg)
		if err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	return names, nil
}

// A plan is what an action would do in a job collection.
type plan struct {
	client.BulkPreview

	collection string
}

var planView = output.View[plan]{Name: func(p plan) string { return p.collection }}

// plans asks what an action would do, in each job collection.
func (o *selection) plans(ctx context.Context, s *base.Session, action client.BulkAction, names []base.Name) ([]plan, error) {
	o.question.Action = action
	if p := o.pause; p != nil {
		o.question.Note, o.question.Recover, o.question.AtOnce = p.Note, p.Recover, p.AtOnce
		if !p.Until.IsZero() {
			o.question.Until = client.At(p.Until)
		}
	}
	in, order := map[string][]string{}, []string{}
	for _, n := range names {
		if in[n.Collection] == nil {
			order = append(order, n.Collection)
		}
		in[n.Collection] = append(in[n.Collection], n.Job)
	}
	if len(names) == 0 {
		order = []string{s.Collection}
	}
	var plans []plan
	for _, collection := range order {
		question := o.question
		question.Names = in[collection]
		found, err := s.Client.PreviewBulk(ctx, collection, question)
		if err != nil {
			return nil, s.MissingCollection(ctx, collection, err)
		}
		plans = append(plans, plan{found, collection})
	}
	return plans, nil
}

// shownJobs is how many jobs are named before a question.
const shownJobs = 20

// show shows what would be done, and returns to how many jobs.
func show(s *base.Session, action client.BulkAction, plans []plan) (changes int) {
	left := shownJobs
	for _, p := range plans {
		changes += p.Changes
		for _, j := range p.Jobs {
			switch {
			case j.Effect == "unchanged":
				continue
			case left <= 0 && !s.Format.Wide():
			case j.Effect == "refused":
				s.Say("  %s  cannot: %s", j.Name, j.Reason)
			case j.RunsAtOnce:
				s.Say("  %s  runs at once", j.Name)
			default:
				s.Say("  %s  %s", j.Name, s.Time(j.NextExecutionTime))
			}
			left--
		}
		for _, name := range p.Missing {
			s.Say("  %s/%s  not found", p.collection, name)
		}
	}
	if left < 0 && !s.Format.Wide() {
		s.Say("  and %d others; -o wide has all", -left)
	}
	if changes == 0 {
		s.Say("There is nothing to %s", action)
	}
	return changes
}

// changing does it, and returns the result for each job.
func changing(ctx context.Context, s *base.Session, action client.BulkAction, did string, plans []plan) iter.Seq[result] {
	return func(yield func(result) bool) {
		for _, p := range plans {
			for _, name := range p.Missing {
				if !yield(result{Name: p.collection + "/" + name, Status: statusMissing}) {
					return
				}
			}
			if p.Selection == "" || len(p.Jobs) == 0 {
				continue
			}
			for done, err := range s.Client.Bulk(ctx, p.collection, action, p.Selection) {
				r := result{Name: done.Name, Status: done.Properties.Status, Execution: done.Properties.Execution, did: did}
				if e := done.Properties.Error; e != nil {
					r.Error = e.Message
				}
				if err != nil { // of this page, after which there is no other
					r = failed(s, result{Name: p.collection}, err)
				}
				if !yield(r) {
					return
				}
			}
		}
	}
}

// changed returns the result of a change of one job.
func changed(n base.Name, j client.Job, err error) result {
	return result{Name: n.String(), Status: statusDone, err: err, job: &j}
}

// skip leaves out the occurrence that is next now: if another one is meanwhile, that one stays.
func skip(ctx context.Context, s *base.Session, n base.Name) result {
	j, err := s.Client.Job(ctx, n.Collection, n.Job)
	if err != nil {
		return changed(n, j, err)
	}
	var due time.Time // none: the API says why it cannot
	if st := j.Properties.Status; st != nil && !st.NextExecutionTime.IsZero() {
		due = st.NextExecutionTime
		s.Say("Leaving out %s", s.Time(due))
	}
	j, err = s.Client.SkipOccurrence(ctx, n.Collection, n.Job, due)
	return changed(n, j, err)
}

func remove(ctx context.Context, s *base.Session, n base.Name) result {
	err := s.Client.DeleteJob(ctx, n.Collection, n.Job)
	return result{Name: n.String(), Status: statusDone, err: err}
}

func rerun(ctx context.Context, s *base.Session, n base.Name) result {
	done, err := s.Client.RerunJob(ctx, n.Collection, n.Job, "")
	r := result{Name: n.String(), Status: statusDone, Execution: done.Properties.Execution, err: err}
	switch done.Properties.Status {
	case client.RerunNotFailed, client.RerunUnderWay:
		r.Status = statusUnchanged
	case client.RerunRefused:
		r.Status = statusRefused
	}
	if e := done.Properties.Error; e != nil {
		r.Error = e.Message
	}
	return r
}
