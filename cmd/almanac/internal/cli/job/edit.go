package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

type editOptions struct {
	definition
	file   string
	filter string
	dryRun bool
}

func newEdit(getenv base.Lookup) *cobra.Command {
	o := new(editOptions)
	more := append(o.groups(), flags.Group{Name: "Jobs", Settings: []*flags.Setting{
		{Flag: "filter", Value: flags.Text("conditions", &o.filter), Help: filterHelp},
		{Flag: "file", Short: "f", Value: flags.File(&o.file),
			Help: "File with the whole job in YAML or JSON, in place of the editor; - is standard input."},
		{Flag: "dry-run", Value: flags.Bool(&o.dryRun), Help: "Show what would become of the next runs, and change nothing."},
	}})
	return base.Command(&cobra.Command{
		Use:   "edit NAME…",
		Short: "Change jobs in an editor, by flags, or from a file",
		Long: `Change a job in $VISUAL or $EDITOR, or jobs by flags. What becomes of the next runs is
shown first. Only the members that differ are changed, and only if nobody has changed the
job meanwhile; secrets, which are never shown, stay. If the change is refused, the file
that was edited is kept. A file of "almanac job get -o yaml" is refused if the job was
changed since; of a file that does not say what it was made of, what it changes is asked
about.`,
		Example: `  almanac job edit hello
  almanac job edit hello --every 10m
  almanac job edit --filter "host eq 'old.example.com'" --uri https://new.example.com/ --dry-run
  almanac job get hello -o yaml > hello.yaml; almanac job edit hello -f hello.yaml`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, more, func(ctx context.Context, s *base.Session, args []string) error {
		o.set = s.Flags
		return runEdit(ctx, s, o, args)
	})
}

func runEdit(ctx context.Context, s *base.Session, o *editOptions, args []string) error {
	names, err := namedBy(ctx, s, o.filter, args)
	switch {
	case err != nil:
		return err
	case o.given() && o.file != "":
		return exit.With(exit.Usage, errors.New("--file and flags of the job exclude each other"))
	case o.given():
		return editByFlags(ctx, s, o, names)
	case len(names) != 1:
		return exit.With(exit.Usage, errors.New("an editor or a file changes one job; flags change several"))
	}
	return editByHand(ctx, s, o, names[0])
}

// An edited is a job with its change.
type edited struct {
	name  base.Name
	was   client.Job
	patch map[string]any
	runs  *client.ChangePreview // nil: it was refused
}

// editByFlags changes jobs by the flags.
func editByFlags(ctx context.Context, s *base.Session, o *editOptions, names []base.Name) error {
	if err := o.read(ctx, s); err != nil {
		return err
	}
	if _, err := o.patch(); err != nil {
		return err
	}
	var all []edited
	for _, n := range names {
		was, err := s.Client.Job(ctx, n.Collection, n.Job)
		if err != nil {
			return s.Missing(ctx, n, err)
		}
		patch, err := o.patchOf(ctx, s, was)
		if err != nil {
			return err
		}
		changes, err := o.fitting(n, was, patch)
		if err != nil {
			return err
		}
		e := edited{name: n, was: was, patch: changes}
		if err := e.preview(ctx, s); err != nil {
			return err
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		s.Say("No job of %s fits the filter", placeOf(s, false))
	}
	if o.dryRun {
		return dryRun(s, all)
	}
	if len(all) > 1 || len(all) == 1 && o.filter != "" {
		if err := s.Confirm(ctx, fmt.Sprintf("Change %s?", jobs(len(all)))); err != nil {
			return err
		}
	}
	return results(s, len(names) == 1 && o.filter == "", func(yield func(result) bool) {
		for _, e := range all {
			if !yield(e.apply(ctx, s)) {
				return
			}
		}
	})
}

func dryRun(s *base.Session, all []edited) error {
	if s.Format.ForPeople() {
		return nil // the runs were shown
	}
	previews := []client.ChangePreview{}
	for _, e := range all {
		previews = append(previews, *e.runs)
	}
	return s.Value(previews, "")
}

// preview asks what the change does to the next runs, and shows it.
func (e *edited) preview(ctx context.Context, s *base.Session) error {
	now, err := writable(e.was)
	if err != nil {
		return err
	}
	found, err := s.Client.PreviewChangeBody(ctx, e.name.Collection, e.name.Job, 0, asPatched(now, e.patch))
	if err != nil {
		return err
	}
	e.runs = &found
	showChange(s, e.name, found)
	return nil
}

// apply changes the job, unless it was changed since it was read.
func (e *edited) apply(ctx context.Context, s *base.Session) result {
	made, err := s.Client.PatchJob(ctx, e.name.Collection, e.name.Job, e.patch, client.IfMatch(e.was.ETag))
	r := result{Name: e.name.String(), Status: statusDone, did: "changed", err: err, job: &made}
	switch {
	case err != nil:
		r = failed(s, r, err)
	case made.ETag == e.was.ETag:
		r.Status = statusUnchanged
	}
	if made.Warning != "" {
		s.Say("Warning: %s", made.Warning)
	}
	return r
}

// showChange shows what becomes of the next runs of a job.
func showChange(s *base.Session, n base.Name, c client.ChangePreview) {
	p := s.Printer
	p.Out = s.Err
	s.Say("%s", n)
	if c.WasText != c.Text {
		s.Say("  was  %s\n  now  %s", cmp.Or(c.WasText, "once"), cmp.Or(c.Text, "once"))
	}
	if c.Moves+c.New+c.Goes == 0 {
		s.Say("  the next runs stay as they are")
		return
	}
	for _, r := range c.Runs {
		line, mark := "    "+s.Time(r.WillBe), output.Faint
		switch r.Change {
		case "moves":
			line, mark = "  ~ "+s.Time(r.Was)+" -> "+s.Time(r.WillBe), output.Warn
		case "new":
			line, mark = "  + "+s.Time(r.WillBe), output.Good
		case "goes":
			line, mark = "  - "+s.Time(r.Was), output.Bad
		}
		if r.Others > 0 {
			line += fmt.Sprintf("  with %d others", r.Others)
		}
		fmt.Fprintln(s.Err, p.Paint(line, mark))
	}
}
