// Package job is the commands about jobs.
package job

import (
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/output"
)

// Command returns the command job.
func Command(getenv base.Lookup) *cobra.Command {
	below := []*cobra.Command{newList(getenv), newGet(getenv), newCreate(getenv), newEdit(getenv), newRun(getenv)}
	for _, d := range deeds {
		switch d.action {
		case client.BulkSkip:
			below = append(below, newSkip(getenv, d), newUnskip(getenv))
		case client.BulkEnable, client.BulkDisable:
			below = append(below, newPausing(getenv, d))
		default:
			below = append(below, newDeed(getenv, d))
		}
	}
	below = append(below, newRestore(getenv), newBackfill(getenv), newHistory(getenv), newNext(getenv), newWhy(getenv), newWatch(getenv))
	return base.Group(&cobra.Command{
		Use:     "job",
		Aliases: []string{"jobs"},
		Short:   "List, read, make, change, run and delete jobs",
		Long: `List, read, make, change, run and delete jobs. A job is named NAME, in the job collection
of --collection, or COLLECTION/NAME.`,
		Example: `  almanac job list
  almanac job create hello https://example.com/ --every 5m
  almanac job run hello --wait
  almanac job why hello`,
	}, below...)
}

// stateCell shows the state of a job, which is pruned if it is to delete itself.
func stateCell(state client.JobState, collectionDisabled bool, pruneAt time.Time) output.Cell {
	if !pruneAt.IsZero() {
		return output.Cell{Text: "pruned", Mark: output.Bad}
	}
	c := output.Cell{Text: string(state)}
	switch state {
	case client.JobDisabled:
		c.Mark = output.Warn
	case client.JobFaulted:
		c.Mark = output.Bad
	case client.JobCompleted:
		c.Mark = output.Faint
	}
	if collectionDisabled && state == client.JobEnabled {
		c.Text, c.Mark = "enabled (collection disabled)", output.Warn
	}
	return c
}

// outcomeCell shows how something ended.
func outcomeCell(o client.Outcome) output.Cell {
	c := output.Cell{Text: string(o)}
	switch o {
	case client.OutcomeCompleted:
		c.Mark = output.Good
	case client.OutcomeFailed:
		c.Mark = output.Bad
	case client.OutcomeMissed, client.OutcomeSkipped, client.OutcomeCancelled:
		c.Mark = output.Warn
	}
	return c
}
