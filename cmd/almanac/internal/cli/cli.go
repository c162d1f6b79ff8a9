// Package cli is the client: the commands that call the API.
package cli

import (
	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/across"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/calendar"
	"almanac/cmd/almanac/internal/cli/collection"
	"almanac/cmd/almanac/internal/cli/context"
	"almanac/cmd/almanac/internal/cli/files"
	"almanac/cmd/almanac/internal/cli/importing"
	"almanac/cmd/almanac/internal/cli/job"
	"almanac/cmd/almanac/internal/cli/login"
)

// Commands returns the commands of the client.
func Commands(getenv base.Lookup) []*cobra.Command {
	return append([]*cobra.Command{
		job.Command(getenv), collection.Command(getenv), calendar.Command(getenv), across.Activity(getenv), across.Forecast(getenv),
		context.Command(getenv), login.In(getenv), login.Out(getenv), importing.Command(getenv),
	}, files.Commands(getenv)...)
}
