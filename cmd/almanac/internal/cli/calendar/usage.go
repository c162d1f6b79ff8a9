package calendar

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

func userCell(of func(client.CalendarUser) string) func(client.CalendarUser) output.Cell {
	return func(u client.CalendarUser) output.Cell { return output.Cell{Text: of(u)} }
}

var userView = output.View[client.CalendarUser]{
	Name: func(u client.CalendarUser) string { return u.Name },
	Columns: []output.Column[client.CalendarUser]{
		{Head: "JOB", Of: userCell(func(u client.CalendarUser) string { return u.Name })},
		{Head: "ON MATCH", Of: userCell(func(u client.CalendarUser) string { return u.Properties.OnMatch })},
		{Head: "MOVED", Of: userCell(func(u client.CalendarUser) string { return countOf(u, "moved") })},
		{Head: "SKIPPED", Of: userCell(func(u client.CalendarUser) string { return countOf(u, "skipped") })},
		{Head: "NEXT", Shrink: true, Of: userCell(nextOf)},
		{Head: "UNTIL", Wide: true, Of: userCell(func(u client.CalendarUser) string { return u.Properties.Until.Format(time.RFC3339) })},
	},
}

// countOf returns how many runs a calendar moves or skips; "-" for a job of which nothing is due.
func countOf(u client.CalendarUser, change string) string {
	n := 0
	for _, a := range u.Properties.Adjustments {
		if a.Change == change {
			n += max(1, a.Count)
		}
	}
	if u.Properties.Reason != "" {
		return "-"
	}
	return strconv.Itoa(n)
}

// nextOf returns the first run that a calendar moves or skips, or why nothing is due.
func nextOf(u client.CalendarUser) string {
	if len(u.Properties.Adjustments) == 0 {
		return u.Properties.Reason
	}
	a := u.Properties.Adjustments[0]
	at := a.NominalTime
	if !a.ExpectedExecutionTime.IsZero() {
		at = a.ExpectedExecutionTime
	}
	return at.Format(time.RFC3339) + " " + a.Text
}

func newUsage(getenv base.Lookup) *cobra.Command {
	var o scope
	cmd := base.Command(&cobra.Command{
		Use: "usage NAME", Aliases: []string{"users"}, Short: "List the jobs that use a calendar, and what it moves or skips",
		Long: `List the jobs that use a calendar, with the number of runs of the next 90 days that it moves or skips, and
the first of them. With -o json or yaml all are listed, 100 of each job at most.`,
		Example: "  almanac calendar usage SE --shared",
		Args:    cobra.ExactArgs(1),
	}, getenv, []flags.Group{{Name: "Calendars", Settings: []*flags.Setting{o.flag()}}}, func(ctx context.Context, s *base.Session, args []string) error {
		var found []client.CalendarUser
		unread := 0
		for one, err := range o.of(s).Usage(ctx, args[0], client.List{}) {
			if missing, ok := errors.AsType[*client.UnreadError](err); ok {
				s.Say("%s", missing)
				unread++
				continue
			}
			if err != nil {
				return o.missing(ctx, s, args[0], err)
			}
			found = append(found, one)
			if until := one.Properties.Until; until.Before(s.Now.AddDate(0, 0, 89)) {
				s.Say("%s: counted up to %s only", one.Name, s.Time(until))
			}
		}
		if len(found)+unread == 0 && s.Format.ForPeople() {
			s.Say("No job uses the calendar %s", args[0])
		}
		if err := output.List(&s.Printer, userView, found); err != nil {
			return err
		}
		return base.Unread(unread)
	})
	cmd.ValidArgsFunction = complete(getenv, &o)
	return cmd
}
