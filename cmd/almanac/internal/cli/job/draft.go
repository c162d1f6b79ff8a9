package job

import (
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

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/cli/source"
)

// A draft is what a user wrote of a job.
type draft struct {
	edited
	now  map[string]any // what of the job can be changed
	text *source.Document
	file string
	kept bool   // the editor has written the file, which goes when the job is as it says
	read string // the entity tag of the job that the file was made of; "" if that is not known
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
	d := &draft{edited: edited{name: n, was: was}, now: now, file: o.file}
	if o.file != "" {
		d.text, err = source.Read(o.file, s.In)
	} else {
		ctx, err = d.write(ctx, s)
	}
	if err != nil {
		return err
	}
	if err := d.compare(); err != nil {
		return err
	}
	if len(d.patch) == 0 {
		d.forget()
		return results(s, true, one(result{Name: n.String(), Status: statusUnchanged}))
	}
	if !d.kept && d.read != "" && d.read != was.ETag {
		return d.changedSince()
	}
	return d.send(ctx, s, o.dryRun)
}

// compare finds what a draft changes.
func (d *draft) compare() error {
	wanted, err := objectOf(json.RawMessage(d.text.JSON))
	if err != nil {
		return err
	}
	if err := isBody(d.text, wanted); err != nil && !d.kept {
		return err
	}
	if name, there := wanted["name"].(string); !there || name == d.name.String() { // not of another job
		d.read = d.text.Comment(etagComment)
	}
	for _, member := range []string{"id", "type", "name"} { // of job get
		delete(wanted, member)
	}
	if properties, ok := wanted["properties"].(map[string]any); ok {
		delete(properties, "status")
	}
	d.patch = mergePatch(d.now, wanted)
	return nil
}

// send shows what a draft changes, asks, and changes the job.
func (d *draft) send(ctx context.Context, s *base.Session, dry bool) error {
	if err := d.preview(ctx, s); err != nil {
		return d.keep(s, d.text.Explain(err))
	}
	if d.read == "" {
		s.Say("What differs from the job as it is now:")
		for _, line := range differing("", d.now, d.patch) {
			s.Say("  %s", line)
		}
	}
	if dry {
		return d.keep(s, dryRun(s, []edited{d.edited}))
	}
	if d.kept || d.read == "" {
		if err := s.Confirm(ctx, "Change "+d.name.String()+"?"); err != nil {
			return d.keep(s, err)
		}
	}
	r := d.apply(ctx, s)
	switch {
	case client.IsChanged(r.err):
		return d.changedSince()
	case r.err != nil:
		return d.keep(s, d.text.Explain(r.err))
	}
	d.forget()
	return results(s, true, one(r))
}

// keep adds to an error where what the editor wrote is.
func (d *draft) keep(s *base.Session, err error) error {
	if !d.kept || err == nil {
		return err
	}
	return exit.With(exit.CodeOf(err), fmt.Errorf("%s\n%s has what you wrote: almanac job edit %s -f %s",
		base.Describe(s.URL, err), d.file, d.name, d.file))
}

// forget removes the file of the editor.
func (d *draft) forget() {
	if d.kept {
		_ = os.Remove(d.file)
	}
}

// etagComment is the name of the comment with the entity tag of the job that a file was made of.
const etagComment = "etag"

// changedSince returns the error about a draft of a job that somebody else has changed since it was read.
func (d *draft) changedSince() error {
	return exit.With(exit.Refused, fmt.Errorf(`the job %[1]s was changed by somebody else since it was read, and %[2]s would undo that.
"almanac job get %[1]s -o yaml" has it as it is now: put your change there, and "almanac job edit %[1]s -f" takes it.
Without its line "# %[3]s: ..." all of %[2]s is taken, and what that changes is shown first`, d.name, d.file, etagComment))
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

// write has the user write a draft in an editor. The returned context does not know of interrupts in the editor.
func (d *draft) write(ctx context.Context, s *base.Session) (_ context.Context, err error) {
	if !s.Asks() {
		return ctx, exit.With(exit.Usage, errors.New("there is no terminal for an editor: give flags of the job, or a file with -f"))
	}
	if d.file, err = fileOf(d.name, d.was, d.now); err != nil {
		return ctx, err
	}
	d.kept = true
	editor := editorOf(s.Getenv)
	if ctx, err = runEditor(ctx, editor, d.file); err != nil {
		return ctx, fmt.Errorf("the editor %s: %w; %s has what it wrote", editor, err, d.file)
	}
	if d.text, err = source.Read(d.file, nil); err != nil {
		return ctx, d.keep(s, exit.With(exit.Usage, err))
	}
	return ctx, nil
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

// etagLine returns the comment by which [draft.compare] knows which job a file was made of.
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
