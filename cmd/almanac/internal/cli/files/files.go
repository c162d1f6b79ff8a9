// Package files has the commands that work with job files: plan, apply, export and init.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/wanted"
	"almanac/job/jobfile"
)

// Commands returns the commands.
func Commands(getenv base.Lookup) []*cobra.Command {
	return []*cobra.Command{newPlan(getenv), newApply(getenv), newExport(getenv), newInit(getenv)}
}

// options are what plan and apply have in common.
type options struct {
	path     string
	format   string
	take     int
	others   int
	parallel int

	prune, allowEmpty, adopt, rebind bool
	pruneMax                         int

	secretsDir string
	exec       bool
	literal    bool
}

// settings returns the flags that plan and apply have in common.
func (o *options) settings(formats ...string) []flags.Group {
	return []flags.Group{
		{Name: "Job files", Settings: []*flags.Setting{
			{Flag: "file", Short: "f", Value: flags.File(&o.path), Default: ".",
				Help: "Directory with job files, one file, or - for standard input."},
			{Flag: "take", Value: flags.Int(&o.take, 1, 50), Default: "10", Help: "How many runs before and after a change are shown."},
			{Flag: "others", Value: flags.Int(&o.others, 0, 10_000), Default: "500",
				Help: "For how many changes to ask which other jobs are due with their runs."},
			{Flag: "parallel", Value: flags.Int(&o.parallel, 1, 64), Default: "16", Help: "How many requests at the same time."},
		}},
		{Name: "Ownership", Settings: []*flags.Setting{
			{Flag: "prune", Value: flags.Bool(&o.prune),
				Help: "Prune the jobs of the owner that the files do not have: they are disabled, and delete themselves in 7 days."},
			{Flag: "allow-empty", Value: flags.Bool(&o.allowEmpty),
				Help: "Prune even where the files have no job of a job collection at all."},
			{Flag: "adopt", Value: flags.Bool(&o.adopt), Help: "Give jobs of the files that have no owner the one in almanac.yaml."},
		}},
		{Name: "Secrets", Settings: []*flags.Setting{
			{Flag: "secrets-dir", Value: flags.Directory(&o.secretsDir),
				Help: "Directory of the files that {$file: …} names; without it that of the job files."},
			{Flag: "allow-exec", Value: flags.Bool(&o.exec), Help: "Run the programs that {$exec: …} names."},
			{Flag: "allow-literal-secrets", Value: flags.Bool(&o.literal), Help: "Send secrets that are written in the files themselves."},
		}},
		{Name: "Output", Settings: []*flags.Setting{outputSetting(&o.format, formats...)}},
	}
}

func outputSetting(to *string, formats ...string) *flags.Setting {
	return &flags.Setting{
		Flag: "output", Short: "o", Default: formats[0], Value: flags.Choice(to, formats...), Help: "What is printed: text for people, or for programs.",
	}
}

// load reads the job files, and returns a client of the resource group that they name.
func (o *options) load(s *base.Session) (wanted.Directory, *client.Client, error) {
	load := wanted.Load
	if given(s, "collection") != "" {
		load = wanted.LoadIn
	}
	d, err := load(o.path, s.In, s.Collection)
	if err != nil {
		return d, nil, exit.With(exit.Usage, fmt.Errorf("the job files are wrong:\n%w", err))
	}
	if len(d.Jobs) == 0 && (!o.prune || !o.allowEmpty) {
		where := output.Line(o.path)
		if o.path == "-" {
			where = "standard input"
		}
		return d, nil, exit.With(exit.Usage, fmt.Errorf("there is no job in %s: "+
			"-f names a directory with job files, one file, or - for standard input", where))
	}
	return d, within(s, d.Config), nil
}

// given returns the value of a flag of the command line; "" if it is not there.
func given(s *base.Session, flag string) string {
	if f := s.Flags.Get(flag); f.Given() && f.Source() == "--"+flag {
		return f.Text()
	}
	return ""
}

// within returns a client of the resource group that the command line names, or else almanac.yaml, or else the context.
func within(s *base.Session, c wanted.Config) *client.Client {
	if c.Subscription == "" {
		return s.Client
	}
	subscription := cmp.Or(given(s, "subscription"), c.Subscription)
	return s.Client.In(subscription, cmp.Or(given(s, "resource-group"), c.ResourceGroup))
}

// plan makes a plan of the job files.
func (o *options) plan(ctx context.Context, s *base.Session) (*wanted.Plan, wanted.Directory, error) {
	d, c, err := o.load(s)
	if err != nil {
		return nil, d, err
	}
	previews := o.others
	if previews == 0 {
		previews = -1
	}
	p, err := wanted.New(ctx, wanted.Options{
		Client: c, Take: o.take, Previews: previews, Parallel: o.parallel, Literal: o.literal,
		Prune: o.prune, AllowEmpty: o.allowEmpty, Adopt: o.adopt, Rebind: o.rebind,
	}, d)
	if err != nil {
		return nil, d, planFailed(s, err)
	}
	return p, d, nil
}

// planFailed returns the error of a plan that could not be made.
func planFailed(s *base.Session, err error) error {
	code := exit.CodeOf(err)
	switch _, wrong := errors.AsType[*jobfile.Problem](err); {
	case wrong:
		code = exit.Usage
	case code == exit.Unreachable:
		return exit.With(code, errors.New(base.Describe(s.URL, err)))
	}
	return exit.With(code, fmt.Errorf("no plan can be made:\n%w", err))
}

// secrets returns what resolves the secrets of a directory.
func (o *options) secrets(s *base.Session, d wanted.Directory) *wanted.Secrets {
	return &wanted.Secrets{
		Getenv: s.Getenv, Files: cmp.Or(o.secretsDir, d.Path), Exec: o.exec,
	}
}

// printPlan prints a plan.
func printPlan(s *base.Session, p *wanted.Plan, format string) error {
	switch format {
	case "json":
		var text strings.Builder
		if err := p.JSON(&text); err != nil {
			return err
		}
		_, err := io.WriteString(s.Out, output.EscapedJSON(text.String()))
		return err
	case "markdown":
		return p.Markdown(s.Out)
	}
	return p.Text(s.Out)
}

// newInit returns the command init.
func newInit(getenv base.Lookup) *cobra.Command {
	var c wanted.Config
	return base.Local(&cobra.Command{
		Use:   "init [DIR]",
		Short: "Begin a directory of job files",
		Long: `Write almanac.yaml into a directory, with the job collections that its jobs are in and the
id of its owner, and the JSON schema of job files into .almanac/job.schema.json, by which
editors complete and check them.`,
		Example: `  almanac init --collections reports,billing
  almanac export -f . reports billing`,
		Args: cobra.MaximumNArgs(1),
	}, getenv, []flags.Group{{Name: "Job files", Settings: []*flags.Setting{
		{Flag: "collections", Value: flags.List("names", &c.Collections, func([]string) error { return nil }), Default: base.DefaultCollection,
			Help: "Job collections that the jobs are in."},
		{Flag: "subscription", Value: flags.Text("id", &c.Subscription), Help: "Subscription of the resource group; without it that of the caller."},
		{Flag: "resource-group", Short: "g", Value: flags.Text("name", &c.ResourceGroup), Help: "Resource group of the job collections."},
	}}}, func(_ context.Context, s *base.Session, args []string) error {
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		if (c.Subscription == "") != (c.ResourceGroup == "") {
			return exit.With(exit.Usage, errors.New("--subscription and --resource-group: both, or none"))
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := wanted.Init(dir, c); err != nil {
			return err
		}
		s.Say("%s/%s names the job collections: put files into a directory for each", output.Line(dir), wanted.ConfigFile)
		return nil
	})
}
