package main

import (
	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
)

func newBackup(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of a data directory's database, which may be in use, to a file",
		Long: `Write a copy of the database of "almanac dev" or "almanac server" to a new file, while it
runs or not. The copy has everything that was answered when the command began, and
nothing of what came later.

The file has the secrets of all jobs, as the database has.`,
		Example: "  almanac backup --data /var/lib/almanac /mnt/backup/almanac-$(date +%F).db",
		Args:    cobra.ExactArgs(1),
		Hidden:  !embedded,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}, getenv, func(cmd *cobra.Command, args []string, p *wiring.Process) error { return runBackup(cmd, args[0], p) })
}

func newRestore(getenv settings.Lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory from a backup",
		Long: `Check a file that "almanac backup" wrote, and make it the database of a data directory.
The directory is created, or must be empty.

Jobs continue as they were when the backup began. What came due since is caught up by
the rules of each job: see docs/operations.md. Requests that the lost database had
recorded as sent may be sent again, with the same execution id.`,
		Example: "  almanac restore --data /var/lib/almanac /mnt/backup/almanac-2026-11-23.db",
		Args:    cobra.ExactArgs(1),
		Hidden:  !embedded,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}, getenv, func(cmd *cobra.Command, args []string, p *wiring.Process) error { return runRestore(cmd, args[0], p) })
}
