package base

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/contexts"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/fields"
)

// A Name names a job.
type Name struct{ Collection, Job string }

// String returns the name as users write it.
func (n Name) String() string { return n.Collection + "/" + n.Job }

// Job returns what an argument names: COLLECTION/NAME, or a job in the collection of the session.
func (s *Session) Job(arg string) (Name, error) {
	collection, job, both := strings.Cut(arg, "/")
	if !both {
		collection, job = s.Collection, arg
	}
	if collection == "" || job == "" || strings.Contains(job, "/") {
		return Name{}, exit.With(exit.Usage, fmt.Errorf("%q is not the name of a job: NAME or COLLECTION/NAME", arg))
	}
	return Name{collection, job}, nil
}

// Missing adds to the error about a job that does not exist which one is near.
func (s *Session) Missing(ctx context.Context, n Name, err error) error {
	if !client.IsNotFound(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	found, listed := s.Client.Summaries(ctx, client.InCollection(n.Collection), client.Search{})
	if listed != nil {
		return s.missingCollection(ctx, n.Collection, err)
	}
	known := make([]string, 0, len(found.Value))
	for _, one := range found.Value {
		_, name := client.NamesOf(one.Name)
		known = append(known, name)
	}
	return meant(err, n.Collection+"/", fields.Nearest(n.Job, known))
}

func (s *Session) missingCollection(ctx context.Context, name string, err error) error {
	page, listed := s.Client.CollectionsPage(ctx, client.List{})
	if listed != nil {
		return err
	}
	known := make([]string, 0, len(page.Value))
	for _, one := range page.Value {
		known = append(known, one.Name)
	}
	near := fields.Nearest(name, known)
	if elsewhere := s.Elsewhere(ctx); near == "" && elsewhere != "" {
		return exit.With(exit.NotFound, fmt.Errorf("%w\n%s", err, elsewhere))
	}
	return meant(err, "", near)
}

// MissingCollection adds to the error about a job collection that does not exist which one is near.
func (s *Session) MissingCollection(ctx context.Context, name string, err error) error {
	if !client.IsNotFound(err) {
		return err
	}
	return s.missingCollection(ctx, name, err)
}

func meant(err error, before, near string) error {
	if near == "" {
		return err
	}
	return exit.With(exit.NotFound, fmt.Errorf("%w\nDid you mean %s%s?", err, before, near))
}

// CompleteJobs completes the names of jobs from the API, if it answers at once.
func CompleteJobs(getenv Lookup, most int) cobra.CompletionFunc {
	return Completed(most, getenv, func(ctx context.Context, s *Session, typed string) (names []string, err error) {
		collection, begin, both := strings.Cut(typed, "/")
		if !both {
			collection, begin = s.Collection, typed
		}
		search := client.Search{}
		if begin != "" {
			search.Filter = "startswith(name,'" + strings.ReplaceAll(begin, "'", "''") + "')"
		}
		found, err := s.Client.Summaries(ctx, client.InCollection(collection), search)
		for _, one := range found.Value {
			of, name := client.NamesOf(one.Name)
			if both {
				name = of + "/" + name
			}
			names = append(names, name+"\t"+one.Properties.When)
		}
		return names, err
	})
}

// CompleteCollections completes the names of job collections from the API, if it answers at once.
func CompleteCollections(getenv Lookup, most int) cobra.CompletionFunc {
	return Completed(most, getenv, func(ctx context.Context, s *Session, _ string) (names []string, err error) {
		found, err := s.Client.CollectionsPage(ctx, client.List{})
		for _, one := range found.Value {
			names = append(names, one.Name)
		}
		return names, err
	})
}

// CompleteContexts completes the name of a context.
func CompleteContexts(getenv Lookup) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		f, err := contexts.Load(contexts.Path(getenv))
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.Names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// Completed returns what completes up to most arguments; 0 means any number.
func Completed(
	most int, getenv Lookup, names func(context.Context, *Session, string) ([]string, error),
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := completing(cmd, getenv)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		found, err := names(ctx, s, typed)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for i, one := range found {
			name, about, _ := strings.Cut(one, "\t")
			if found[i] = output.Line(name); about != "" {
				found[i] += "\t" + output.Line(about)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completing returns the session of a command that is being typed.
func completing(cmd *cobra.Command, getenv Lookup) (*Session, error) {
	var o options
	again := &cobra.Command{Use: cmd.Name()}
	set := declare(again, getenv, []flags.Group{o.outputFlags(), o.connectionFlags()})
	for _, s := range set {
		if typed := cmd.Flags().Lookup(s.Flag); s.Flag != "" && typed != nil && typed.Changed {
			_ = again.Flags().Set(s.Flag, typed.Value.String()) // its value was taken once
		}
	}
	if err := set.Load(); err != nil {
		return nil, err
	}
	return o.session(again, getenv, set)
}
