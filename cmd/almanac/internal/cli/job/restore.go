package job

import (
	"context"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/base"
)

func newRestore(getenv base.Lookup) *cobra.Command {
	return base.Command(&cobra.Command{
		Use:   "restore NAME…",
		Short: "Take pruned jobs back",
		Long: `Take back jobs that "almanac apply --prune" has pruned, in the state that they had. Nothing
that came due meanwhile is run. A job that is not pruned stays as it is.`,
		Example: `  almanac job restore nightly
  almanac job restore reports/nightly reports/hourly`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: base.CompleteJobs(getenv, 0),
	}, getenv, nil, func(ctx context.Context, s *base.Session, args []string) error {
		names, err := (&selection{}).names(s, args)
		if err != nil {
			return err
		}
		return results(s, len(names) == 1, func(yield func(result) bool) {
			for _, n := range names {
				j, err := s.Client.RestoreJob(ctx, n.Collection, n.Job)
				r := changed(n, j, err)
				r.did = "restored"
				if err != nil && len(names) > 1 {
					r = failed(s, r, err)
				} else if err != nil {
					r.err = s.Missing(ctx, n, err)
				}
				if !yield(r) {
					return
				}
			}
		})
	})
}
