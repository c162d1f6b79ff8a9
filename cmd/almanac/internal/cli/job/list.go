package job

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// filterHelp is the help of --filter.
const filterHelp = "Conditions that \"and\" joins: on state, lastOutcome, nextExecutionTime, lateness, host and name."

// listOptions say what is listed.
type listOptions struct {
	search client.Search
	limit  int
	all    bool
	watch  bool
	failed bool
	every  time.Duration
}

func newList(getenv base.Lookup) *cobra.Command {
	o := new(listOptions)
	return base.Command(&cobra.Command{
		Use:     "list [WORD…]",
		Aliases: []string{"ls"},
		Short:   "List the jobs of a job collection, or of all",
		Long: `List the jobs of a job collection: when each runs, what comes next, and how the last run
ended. With words, those that have each word in their name, collection, schedule in
English, or host. In JSON and YAML it is what the table is made of; "almanac job get" has
whole jobs.`,
		Example: `  almanac job list
  almanac job list --failed --watch
  almanac job list --filter "state eq disabled" -o name
  almanac job list -A --sort "nextExecutionTime"`,
		Args: cobra.ArbitraryArgs,
	}, getenv, []flags.Group{{Name: "Jobs", Settings: []*flags.Setting{
		{Flag: "filter", Value: flags.Text("conditions", &o.search.Filter), Help: filterHelp},
		{Flag: "failed", Value: flags.Bool(&o.failed), Help: "Those whose last run failed."},
		{Flag: "sort", Value: flags.Text("order", &o.search.OrderBy),
			Help: "By name, nextExecutionTime, state, host or lateness, with desc after it for the reverse."},
		{Flag: "limit", Short: "l", Value: flags.Int(&o.limit, 1, 1_000_000), Help: "How many at most."},
		{Flag: "all-collections", Short: "A", Value: flags.Bool(&o.all),
			Help: "The jobs of all job collections of the resource group."},
		{Flag: "watch", Short: "w", Value: flags.Bool(&o.watch), Help: "Show it again when something changes, until Ctrl-C."},
		{Flag: "every", Value: flags.Duration(&o.every, 100*time.Millisecond, time.Hour), Default: "2s",
			Help: "How often --watch looks."},
	}}}, func(ctx context.Context, s *base.Session, args []string) error {
		return runList(ctx, s, o, args)
	})
}

func runList(ctx context.Context, s *base.Session, o *listOptions, words []string) error {
	o.search.Words = joined(words, " ")
	if o.failed {
		o.search.Filter = joined([]string{o.search.Filter, "lastOutcome eq Failed"}, " and ")
	}
	scope := client.InCollection(s.Collection)
	if o.all {
		scope = client.Scope{}
	}
	load := func() ([]client.Summary, error) { return summaries(ctx, s, scope, o.search, o.limit) }
	v := summaryView(s, o.all)
	if o.watch {
		return base.Watch(ctx, s, v, o.every, func() ([]client.Summary, error) {
			found, err := load()
			if found != nil {
				err = nil // what could not be read was told
			}
			return found, err
		})
	}
	found, err := load()
	if err != nil && exit.Status(err) != exit.Failed || err != nil && found == nil {
		return s.MissingCollection(ctx, s.Collection, err)
	}
	if len(found) == 0 && err == nil && s.Format.ForPeople() {
		s.Say("No jobs in %s", placeOf(s, o.all))
		if elsewhere := s.Elsewhere(ctx); elsewhere != "" && o.search == (client.Search{}) {
			s.Say("%s", elsewhere)
		}
	}
	if printed := output.List(&s.Printer, v, found); printed != nil {
		return printed
	}
	return err
}

func placeOf(s *base.Session, all bool) string {
	if all {
		return "any job collection"
	}
	return "the job collection " + s.Collection
}

func joined(parts []string, between string) (text string) {
	for _, part := range parts {
		if text != "" && part != "" {
			text += between
		}
		text += part
	}
	return text
}

// summaries returns the jobs of a search. If some could not be read, the others come with an error.
func summaries(
	ctx context.Context, s *base.Session, of client.Scope, search client.Search, limit int,
) (all []client.Summary, err error) {
	unread := 0
	for {
		if limit > 0 {
			search.Top = min(100, limit-len(all))
		}
		page, err := s.Client.Summaries(ctx, of, search)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		for _, one := range page.Unread {
			s.Say("%s could not be read: %s", one.Name, one.Reason)
			unread++
		}
		search.Token = page.Next
		if page.Next == "" || limit > 0 && len(all) >= limit {
			return all, base.Unread(unread)
		}
	}
}

func summaryView(s *base.Session, all bool) output.View[client.Summary] {
	nameOf := func(j client.Summary) string {
		collection, name := client.NamesOf(j.Name)
		if all {
			return collection + "/" + name
		}
		return name
	}
	return output.View[client.Summary]{
		Name: nameOf,
		Columns: []output.Column[client.Summary]{
			{Head: "NAME", Shrink: true, Of: func(j client.Summary) output.Cell { return output.Cell{Text: nameOf(j)} }},
			{Head: "STATE", Of: func(j client.Summary) output.Cell {
				return stateCell(j.Properties.State, j.Properties.CollectionDisabled, j.Properties.PruneAt)
			}},
			{Head: "WHEN", Shrink: true, Of: func(j client.Summary) output.Cell { return output.Cell{Text: j.Properties.When} }},
			{Head: "NEXT", Of: func(j client.Summary) output.Cell {
				return output.Cell{Text: s.Time(j.Properties.NextExecutionTime)}
			}},
			{Head: "LAST", Of: func(j client.Summary) output.Cell { return outcomeCell(j.Properties.LastOutcome) }},
			{Head: "RECENT", Wide: true, Of: func(j client.Summary) output.Cell {
				return output.Cell{Text: marks(j.Properties.Recent)}
			}},
			{Head: "LATE", Wide: true, Of: func(j client.Summary) output.Cell {
				late := client.Duration(j.Properties.Lateness).Length()
				if late == 0 {
					return output.Cell{}
				}
				return output.Cell{Text: output.Length(late), Mark: output.Warn}
			}},
			{Head: "TARGET", Wide: true, Of: func(j client.Summary) output.Cell {
				return output.Cell{Text: joined([]string{j.Properties.ActionType, j.Properties.Host}, " ")}
			}},
		},
	}
}

// marks returns a sign for each of the last outcomes, oldest first.
func marks(recent []client.Mark) (signs string) {
	for _, m := range recent {
		switch m.Status {
		case client.OutcomeCompleted:
			signs += "."
		case client.OutcomeFailed:
			signs += "F"
		case client.OutcomeMissed:
			signs += "M"
		case client.OutcomeSkipped:
			signs += "S"
		default:
			signs += "C"
		}
	}
	return signs
}
