package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/cli/source"
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
that was edited is kept.`,
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
	patch, err := o.patch()
	if err != nil {
		return err
	}
	var all []edited
	for _, n := range names {
		was, err := s.Client.Job(ctx, n.Collection, n.Job)
		if err != nil {
			return s.Missing(ctx, n, err)
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

// editByHand has the user change a job in an editor, or takes a file.
func editByHand(ctx context.Context, s *base.Session, o *editOptions, n base.Name) error {
	was, err := s.Client.Job(ctx, n.Collection, n.Job)
	if err != nil {
		return s.Missing(ctx, n, err)
	}
	now, err := writable(was)
	if err != nil {
		return err
	}
	ctx, d, kept, err := edit(ctx, s, o.file, n, was, now)
	if err != nil {
		return err
	}
	wanted, err := objectOf(json.RawMessage(d.JSON))
	if err != nil {
		return err
	}
	if err := isBody(d, wanted); err != nil && o.file != "" {
		return err
	}
	read := readOf(d, n, wanted)
	for _, member := range []string{"id", "type", "name"} { // of job get
		delete(wanted, member)
	}
	if properties, ok := wanted["properties"].(map[string]any); ok {
		delete(properties, "status")
	}
	e := edited{name: n, was: was, patch: mergePatch(now, wanted)}
	if len(e.patch) == 0 {
		forget(kept)
		return results(s, true, one(result{Name: n.String(), Status: statusUnchanged}))
	}
	if o.file != "" && read != "" && read != was.ETag {
		return changedSince(n, o.file)
	}
	keep := func(err error) error {
		if kept == "" || err == nil {
			return err
		}
		return exit.With(exit.CodeOf(err), fmt.Errorf("%s\n%s has what you wrote: almanac job edit %s -f %s",
			base.Describe(s.URL, err), kept, n, kept))
	}
	if err := e.preview(ctx, s); err != nil {
		return keep(d.Explain(err))
	}
	if read == "" {
		s.Say("What differs from the job as it is now:")
		for _, line := range differing("", now, e.patch) {
			s.Say("  %s", line)
		}
	}
	if o.dryRun {
		return keep(dryRun(s, []edited{e}))
	}
	if kept != "" || read == "" {
		if err := s.Confirm(ctx, "Change "+n.String()+"?"); err != nil {
			return keep(err)
		}
	}
	r := e.apply(ctx, s)
	if client.IsChanged(r.err) {
		return changedSince(n, cmp.Or(o.file, kept))
	}
	if r.err != nil {
		return keep(d.Explain(r.err))
	}
	forget(kept)
	return results(s, true, one(r))
}

// etagComment is the name of the comment with the entity tag of the job that a file was made of.
const etagComment = "etag"

// readOf returns the entity tag of the job that a document was made of; "" if that is not known.
func readOf(d *source.Document, n base.Name, wanted map[string]any) string {
	if name, there := wanted["name"].(string); there && name != n.String() {
		return "" // of another job
	}
	return d.Comment(etagComment)
}

// changedSince returns the error about a file with a job that somebody else has changed since it was read.
func changedSince(n base.Name, file string) error {
	return exit.With(exit.Refused, fmt.Errorf(`the job %[1]s was changed by somebody else since it was read, and %[2]s would undo that.
"almanac job get %[1]s -o yaml" has it as it is now: put your change there, and "almanac job edit %[1]s -f" takes it.
Without its line "# %[3]s: ..." all of %[2]s is taken, and what that changes is shown first`, n, file, etagComment))
}

// differing returns a line for each member that a patch changes: its path without its value, which may be a secret.
func differing(at string, now, patch map[string]any) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		path := strings.TrimPrefix(at+"."+name, ".")
		was, there := now[name]
		below, isObject := patch[name].(map[string]any)
		inner, wasObject := was.(map[string]any)
		switch {
		case isObject && wasObject:
			lines = append(lines, differing(path, inner, below)...)
		case patch[name] == nil:
			lines = append(lines, "- "+path)
		case there:
			lines = append(lines, "~ "+path)
		default:
			lines = append(lines, "+ "+path)
		}
	}
	return lines
}

func forget(file string) {
	if file != "" {
		_ = os.Remove(file)
	}
}

// edit returns what the user made of a job, and the file that the editor has written, if there was one. After it there
// is another context: an interrupt in the editor is for the editor.
func edit(
	ctx context.Context, s *base.Session, file string, n base.Name, was client.Job, now map[string]any,
) (then context.Context, d *source.Document, kept string, err error) {
	if file != "" {
		d, err := source.Read(file, s.In)
		return ctx, d, "", err
	}
	if !s.Asks() {
		return ctx, nil, "", exit.With(exit.Usage, errors.New("there is no terminal for an editor: give flags of the job, or a file with -f"))
	}
	name, err := fileOf(n, was, now)
	if err != nil {
		return ctx, nil, "", err
	}
	editor := editorOf(s.Getenv)
	ctx, err = runEditor(ctx, editor, name)
	if err != nil {
		return ctx, nil, "", fmt.Errorf("the editor %s: %w; %s has what it wrote", editor, err, name)
	}
	d, err = source.Read(name, nil)
	if err != nil {
		err = exit.With(exit.Usage, fmt.Errorf("%w\n%s has what you wrote: almanac job edit %s -f %s", err, name, n, name))
	}
	return ctx, d, name, err
}

// fileOf makes a file with a job for an editor.
func fileOf(n base.Name, was client.Job, now map[string]any) (name string, err error) {
	text, err := output.YAML(now)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "almanac-*.yaml") // with the mode 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "# The job %s. Save and leave to change it; leave it as it is to change nothing.\n%s%s",
		output.Line(n.String()), etagLine(was), text)
	return f.Name(), errors.Join(err, f.Close())
}

// etagLine returns the comment by which [readOf] knows which job a file was made of.
func etagLine(j client.Job) string {
	if j.ETag == "" {
		return ""
	}
	return "# " + etagComment + ": " + output.Line(j.ETag) + "\n"
}

// runEditor has an editor change a file. Interrupts meanwhile are for the editor: the returned context does not know of
// them.
func runEditor(ctx context.Context, editor, file string) (context.Context, error) {
	whole := context.WithoutCancel(ctx)
	run := exec.CommandContext(whole, "sh", "-c", editor+` "$1"`, "sh", file)
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(editor), file)
		run = exec.CommandContext(whole, words[0], words[1:]...)
	}
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // a second one ends the program otherwise
	err := run.Run()
	signal.Stop(interrupts)
	if len(interrupts) > 0 {
		return whole, err
	}
	return ctx, err
}

// editorOf returns the command of the user's editor.
func editorOf(getenv base.Lookup) string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if text, _ := getenv(name); strings.TrimSpace(text) != "" {
			return text
		}
	}
	return "vi"
}
