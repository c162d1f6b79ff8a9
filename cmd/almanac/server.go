package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// serverDefaults are the defaults in which server differs from dev, by flag. "" is none.
var serverDefaults = map[string]string{
	"data":         "",     // it has to be given; see stateDirectory
	"ui-listen":    "",     // the Web UI shows the secrets of all jobs to everyone who reaches it
	"egress-allow": "",     // jobs do not call this machine
	"log-format":   "json", // for machines
}

func newServer(getenv lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "server",
		Short: "Run everything in this process for good: dev with the defaults of an operator",
		Long: `Run all of Almanac in one process, as "almanac dev" does, with an operator's defaults:
--data has to be given, the log is JSON, there is no Web UI, and jobs may not call this
machine.

On SIGTERM it takes no more requests, has 10 s for those in progress and 8 s for
requests of jobs, and stops. Everything that was answered is on disk. With --token-file
or --oidc-issuer the API asks for a login; without one, addresses that are not loopback
take --unauthenticated.`,
		Example: "  almanac server --data /var/lib/almanac",
		Args:    cobra.NoArgs,
		Hidden:  !embedded,
	}, getenv, func(cmd *cobra.Command, _ []string, c *config) error { return runNode(cmd.Context(), c, logNode) })
}

// stateVariable has the directories that systemd made for a service, separated by colons.
const stateVariable = "STATE_DIRECTORY"

// stateDirectory sets the default of server's --data to the directory that systemd made for it.
func (c *config) stateDirectory(command string, getenv lookup) {
	if list, _ := getenv(stateVariable); command == "server" {
		c.stateDir, _, _ = strings.Cut(list, ":")
	}
}

// checkData reports a missing data directory.
func (c *config) checkData() error {
	if c.data == "" {
		c.data = c.stateDir
	}
	if c.data == "" {
		return c.settings.Get("data").Wrong(errors.New("no directory is given"), "a directory for Almanac alone, such as /var/lib/almanac")
	}
	return nil
}
