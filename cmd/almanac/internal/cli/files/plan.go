package files

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/flags"
)

// changes is the status of a plan that has changes.
const changes = 2

func newPlan(getenv base.Lookup) *cobra.Command {
	o := new(options)
	resolve := false
	groups := o.settings("text", "json", "markdown")
	groups[2].Settings = append(groups[2].Settings, &flags.Setting{Flag: "resolve-secrets", Value: flags.Bool(&resolve),
		Help: "Read the secrets as an apply would, and have the server compare them."})
	cmd := base.Command(&cobra.Command{
		Use:   "plan",
		Short: "Show what an apply of job files would change, and which runs move",
		Long: `Compare job files with the jobs of the server: the members that differ and, for changes of
when a job runs, its next runs before and after, with how many other jobs are due in the
same second. Nothing is changed. A change of what the server adds, or of a default, is none.

Secrets are references in the files, such as {$env: NAME}. They are not compared: a plan
reads none of them, unless --resolve-secrets is given, and prints none.

docs/job-files.md describes the files.

Exit status: 0 without changes, 2 with changes, 1 if no plan can be made, 5 if the API cannot
be reached.`,
		Example: `  almanac plan -f jobs
  almanac plan -f jobs -o markdown > comment.md`,
	}, getenv, groups, func(ctx context.Context, s *base.Session, _ []string) error {
		p, d, err := o.plan(ctx, s)
		if err != nil {
			return err
		}
		if resolve {
			if err := p.Compare(ctx, o.secrets(s, d)); err != nil {
				return exit.With(exit.Failed, err)
			}
		}
		if err := printPlan(s, p, o.format); err != nil {
			return err
		}
		if p.Changed() {
			return exit.Silent(changes)
		}
		return nil
	})
	cmd.Long = strings.TrimSuffix(cmd.Long, "\n\n"+exit.Help)
	failWithOne(cmd)
	return cmd
}

// failWithOne has a command end with 1 where others end with 2, which says here that there are changes, or with 3 or 4.
func failWithOne(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[exit.UsageStatus] = strconv.Itoa(exit.Failed)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err != nil && err.Error() != "" && exit.Status(err) != exit.Unreachable {
			return exit.With(exit.Failed, err)
		}
		return err
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		return exit.With(exit.Failed, cobra.NoArgs(cmd, args))
	}
}
