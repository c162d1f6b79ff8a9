package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

func newExport(getenv base.Lookup) *cobra.Command {
	path := ""
	return base.Command(&cobra.Command{
		Use:   "export [COLLECTION…]",
		Short: "Write job files of the jobs that the server has",
		Long: `Write the jobs of job collections as files that "almanac apply" takes: to standard output
or, with -f, into a directory, a file for each job. Without names, those that almanac.yaml
there names, or else the collection of the context. A file that says the same already stays as
it is; in another one the members that differ are changed, and comments, order and references
to secrets stay.

Secrets are not exported, since no answer has them: an apply keeps those that are stored, and
a comment above the job names them. A job that has ended is written as disabled, so that
another server does not run it again.`,
		Example: `  almanac export reports > reports.yaml
  almanac export -f jobs reports billing`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: base.CompleteCollections(getenv, 0),
	}, getenv, []flags.Group{{Name: "Job files", Settings: []*flags.Setting{
		{Flag: "file", Short: "f", Value: flags.Directory(&path), Help: "Directory to write into; without it standard output."},
	}}}, func(ctx context.Context, s *base.Session, args []string) error { return export(ctx, s, path, args) })
}

func export(ctx context.Context, s *base.Session, dir string, collections []string) error {
	c := s.Client
	if dir != "" {
		config, err := wanted.ReadConfig(dir)
		if err != nil {
			return exit.With(exit.Failed, err)
		}
		if len(collections) == 0 && given(s, "collection") == "" {
			collections = config.Collections
		}
		c = within(s, config)
		for _, name := range collections {
			if config.Collections != nil && !slices.ContainsFunc(config.Collections, func(n string) bool { return strings.EqualFold(n, name) }) {
				return exit.With(exit.Usage, fmt.Errorf("%s names no job collection %s: add it to collections there", wanted.ConfigFile, output.Line(name)))
			}
		}
	}
	if len(collections) == 0 {
		collections = []string{s.Collection}
	}
	all, err := wanted.Exported(ctx, c, collections)
	if err != nil {
		return exported(ctx, s, collections, err)
	}
	if dir == "" {
		return jobfile.Write(s.Out, all...)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	written, err := wanted.Export(dir, all)
	for _, path := range written {
		fmt.Fprintln(s.Out, output.Line(path))
	}
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	s.Say("%d jobs, %d files written", len(all), len(written))
	return nil
}

// exported returns the error of an export, with the name of a collection that is near.
func exported(ctx context.Context, s *base.Session, collections []string, err error) error {
	answered, ok := errors.AsType[*client.Error](err)
	if !ok || len(collections) != 1 || !client.IsNotFound(err) {
		return err
	}
	return s.MissingCollection(ctx, collections[0], answered)
}
