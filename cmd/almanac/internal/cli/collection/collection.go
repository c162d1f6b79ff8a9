// Package collection is the commands about job collections.
package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/job"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// Command returns the command collection.
func Command(getenv base.Lookup) *cobra.Command {
	return base.Group(&cobra.Command{
		Use:     "collection",
		Aliases: []string{"collections"},
		Short:   "List, read, make, enable, disable and delete job collections",
		Long:    "List, read, make, enable, disable and delete job collections.",
		Example: "  almanac collection list\n  almanac collection create reports --plan Standard",
	}, newList(getenv), newGet(getenv), newCreate(getenv), newEnable(getenv), newDisable(getenv), newDelete(getenv))
}

func cell(of func(client.Collection) string) func(client.Collection) output.Cell {
	return func(c client.Collection) output.Cell { return output.Cell{Text: of(c)} }
}

// view shows job collections, with what is promised of those that are paused.
func view(s *base.Session) output.View[client.Collection] {
	return output.View[client.Collection]{
		Name: func(c client.Collection) string { return c.Name },
		Columns: []output.Column[client.Collection]{
			{Head: "NAME", Shrink: true, Of: cell(func(c client.Collection) string { return c.Name })},
			{Head: "STATE", Of: func(c client.Collection) output.Cell {
				state := output.Cell{Text: string(c.Properties.State)}
				if c.Properties.State != client.CollectionEnabled {
					state.Mark = output.Warn
				}
				if pause := job.PauseText(s, c.Properties.Disabled); pause != "" {
					state.Text += " " + pause
				}
				return state
			}},
			{Head: "PLAN", Of: cell(func(c client.Collection) string { return c.Properties.SKU.Name })},
			{Head: "QUOTA", Of: cell(quotaText)},
			{Head: "LOCATION", Wide: true, Of: cell(func(c client.Collection) string { return c.Location })},
			{Head: "NOTIFICATIONS", Wide: true, Of: cell(func(c client.Collection) string {
				return strconv.Itoa(len(c.Properties.Notifications))
			})},
			{Head: "ID", Wide: true, Of: cell(func(c client.Collection) string { return c.ID })},
		},
	}
}

func quotaText(c client.Collection) (text string) {
	q := c.Properties.Quota
	if q == nil {
		return ""
	}
	if q.MaxJobCount > 0 {
		text = strconv.Itoa(q.MaxJobCount) + " jobs"
	}
	if r := q.MaxRecurrence; r != nil {
		text += fmt.Sprintf(" every %d %s", max(r.Interval, 1), r.Frequency)
	}
	return strings.TrimSpace(text)
}

// everywhere is view with the resource group and, of all subscriptions, the subscription.
func everywhere(s *base.Session, subscriptions bool) output.View[client.Collection] {
	part := func(n int) func(client.Collection) output.Cell { // of /subscriptions/S/resourceGroups/G/…
		return cell(func(c client.Collection) string {
			parts := strings.Split(c.ID, "/")
			if n >= len(parts) {
				return ""
			}
			return parts[n]
		})
	}
	v := view(s)
	more := []output.Column[client.Collection]{{Head: "GROUP", Of: part(4)}}
	if subscriptions {
		more = append(more, output.Column[client.Collection]{Head: "SUBSCRIPTION", Of: part(2)})
	}
	v.Columns = slices.Insert(v.Columns, 1, more...)
	return v
}

// collections returns the job collections of all resource groups of the subscription or, if that is asked for, of all
// subscriptions.
func collections(ctx context.Context, s *base.Session, subscriptions bool) iter.Seq2[client.Collection, error] {
	if !subscriptions {
		return s.Client.AllCollections(ctx, client.List{})
	}
	return func(yield func(client.Collection, error) bool) {
		for of, err := range s.Client.Subscriptions(ctx, client.List{}) {
			if err != nil {
				yield(client.Collection{}, err)
				return
			}
			for one, err := range s.Client.In(of.SubscriptionID, "any").AllCollections(ctx, client.List{}) {
				if !yield(one, err) {
					return
				}
			}
		}
	}
}

func newList(getenv base.Lookup) *cobra.Command {
	var groups, all bool
	return base.Command(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the job collections of the resource group",
		Long:    "List the job collections of the resource group, or of all.",
		Example: "  almanac collection list -o name\n  almanac collection list --all",
	}, getenv, []flags.Group{{Name: "Collections", Settings: []*flags.Setting{
		{Flag: "all-groups", Short: "A", Value: flags.Bool(&groups), Help: "Those of all resource groups of the subscription."},
		{Flag: "all", Value: flags.Bool(&all), Help: "Those of all subscriptions and resource groups."},
	}}}, func(ctx context.Context, s *base.Session, _ []string) error {
		read, v := s.Client.Collections(ctx, client.List{}), view(s)
		if groups || all {
			read, v = collections(ctx, s, all), everywhere(s, all)
		}
		var found []client.Collection
		unread := 0
		for one, err := range read {
			if missing, ok := errors.AsType[*client.UnreadError](err); ok {
				s.Say("%s", missing.Error())
				unread++
				continue
			}
			if err != nil {
				return err
			}
			found = append(found, one)
		}
		if len(found) == 0 && s.Format.ForPeople() {
			s.Say("No job collections")
			if elsewhere := s.Elsewhere(ctx); elsewhere != "" {
				s.Say("%s", elsewhere)
			}
		}
		if err := output.List(&s.Printer, v, found); err != nil {
			return err
		}
		return base.Unread(unread)
	})
}

func newGet(getenv base.Lookup) *cobra.Command {
	return base.Command(&cobra.Command{
		Use:               "get NAME…",
		Aliases:           []string{"show"},
		Short:             "Show job collections",
		Long:              "Show job collections. One is an object in JSON and YAML, several are a list.",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: base.CompleteCollections(getenv, 0),
	}, getenv, nil, func(ctx context.Context, s *base.Session, args []string) error {
		var all []client.Collection
		for _, name := range args {
			found, err := s.Client.Collection(ctx, name)
			if err != nil {
				return s.MissingCollection(ctx, name, err)
			}
			all = append(all, found)
		}
		if len(all) == 1 {
			return output.One(&s.Printer, view(s), all[0])
		}
		return output.List(&s.Printer, view(s), all)
	})
}

func newCreate(getenv base.Lookup) *cobra.Command {
	var plan, location string
	var tags []string
	var most int
	return base.Command(&cobra.Command{
		Use:     "create NAME",
		Aliases: []string{"add", "new"},
		Short:   "Make a job collection",
		Long:    "Make a job collection. A name that is taken is refused.",
		Example: "  almanac collection create reports --plan Standard --tag team=billing",
		Args:    cobra.ExactArgs(1),
	}, getenv, []flags.Group{{Name: "Collection", Settings: []*flags.Setting{
		{Flag: "plan", Value: flags.NewValue("name", "", func(text string) error { plan = text; return nil },
			"Free", "Standard", "P10Premium", "P20Premium"), Default: "P20Premium",
			Help: "Plan, which limits how many jobs it has and how often they run."},
		{Flag: "location", Value: flags.Text("name", &location), Help: "Where it is, which is only kept."},
		{Flag: "tag", Value: flags.Lines("name=value", &tags), Help: "Tag of it. It can be given several times."},
		{Flag: "max-jobs", Value: flags.Int(&most, 1, 1_000_000), Help: "How many jobs it has at most, below the limit of the plan."},
	}}}, func(ctx context.Context, s *base.Session, args []string) error {
		of := client.Collection{Location: location, Properties: client.CollectionProperties{SKU: client.SKU{Name: plan}}}
		if most > 0 {
			of.Properties.Quota = &client.Quota{MaxJobCount: most}
		}
		for _, tag := range tags {
			name, value, ok := strings.Cut(tag, "=")
			if !ok {
				return exit.With(exit.Usage, fmt.Errorf("--tag: %q has no =; allowed: NAME=VALUE", tag))
			}
			if of.Tags == nil {
				of.Tags = map[string]string{}
			}
			of.Tags[name] = value
		}
		made, err := s.Client.PutCollection(ctx, args[0], of, client.IfAbsent())
		if client.IsChanged(err) {
			return exit.With(exit.Refused, fmt.Errorf("the job collection %s exists", args[0]))
		}
		if err != nil {
			return err
		}
		if !s.Format.ForPeople() {
			return output.One(&s.Printer, view(s), made)
		}
		return s.Done("collection", made.Name, "created")
	})
}

// change runs a command that takes a while for each named job collection. Before it asks and does anything, tell says
// what it will do to each; nil: that goes without saying.
func change(
	getenv base.Lookup, cmd *cobra.Command, past, question string, tell func(context.Context, *base.Session, string) error,
	begin func(context.Context, *client.Client, string) (*client.Operation, error), groups ...flags.Group,
) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = cobra.MinimumNArgs(1), base.CompleteCollections(getenv, 0)
	return base.Command(cmd, getenv, groups, func(ctx context.Context, s *base.Session, args []string) error {
		for _, name := range args {
			if question == "" {
				break
			}
			found, err := s.Client.Summaries(ctx, client.InCollection(name), client.Search{Top: 1})
			if err != nil {
				return s.MissingCollection(ctx, name, err)
			}
			s.Say("  %s  %d jobs", name, found.Total)
		}
		for _, name := range args {
			if tell == nil {
				break
			}
			if err := tell(ctx, s, name); err != nil {
				return s.MissingCollection(ctx, name, err)
			}
		}
		if question != "" {
			if err := s.Confirm(ctx, fmt.Sprintf(question, strings.Join(args, ", "))); err != nil {
				return err
			}
		}
		return changeAll(ctx, s, args, past, begin)
	})
}

// An outcome is what became of a job collection.
type outcome struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// changeAll changes job collections one after the other, and has a result for each. What goes wrong with one keeps
// nothing from the others, but an interrupt does.
func changeAll(
	ctx context.Context, s *base.Session, names []string, past string,
	begin func(context.Context, *client.Client, string) (*client.Operation, error),
) error {
	var all []outcome
	worst := exit.OK
	for _, name := range names {
		o, err := begin(ctx, s.Client, name)
		if o != nil {
			s.Say("%s  in progress", name)
		}
		if err == nil {
			err = s.Client.Wait(ctx, name, o)
		}
		if err != nil {
			err = s.MissingCollection(ctx, name, err)
		}
		if len(names) == 1 && err != nil {
			return err
		}
		r := outcome{Name: name, Status: past}
		if err != nil {
			r.Status, r.Error = "not "+past, base.Describe(s.URL, err)
			worst = max(worst, exit.CodeOf(err))
		}
		if err == nil && (s.Format.ForPeople() || len(names) == 1) {
			if err := s.Done("collection", name, past); err != nil {
				return err
			}
		} else if s.Format.ForPeople() {
			s.Say("collection %s %s: %s", name, r.Status, r.Error)
		}
		all = append(all, r)
	}
	if len(names) > 1 && !s.Format.ForPeople() {
		if err := output.List(&s.Printer, output.View[outcome]{Name: func(r outcome) string { return r.Name }}, all); err != nil {
			return err
		}
	}
	if worst != exit.OK {
		return exit.Silent(worst)
	}
	return nil
}

// maxTold is how many jobs are named of which held occurrences run.
const maxTold = 20

// tellHeld says what is held of the jobs of a job collection, and of which jobs how many of that run.
func tellHeld(s *base.Session, name string, h *client.HeldOfCollection, when string) {
	if h.Held == 0 {
		return
	}
	more := ""
	if !h.Complete || h.More {
		more = " or more"
	}
	s.Say("  %s  %d%s held of %d jobs, of which %d run %s", name, h.Held, more, h.Holding, h.Runs, when)
	for i, j := range h.Most {
		if j.Runs == 0 {
			break
		}
		if i == maxTold {
			s.Say("    …")
			break
		}
		s.Say("    %s  %d of %d, %d at once", j.Name, j.Runs, j.Held, j.AtOnce)
	}
}

func newEnable(getenv base.Lookup) *cobra.Command {
	p := new(client.Pause)
	return change(getenv, &cobra.Command{
		Use:   "enable NAME…",
		Short: "Have the jobs of job collections run again",
		Long: `Have the jobs of job collections run again, those that are enabled themselves. Each runs of
what was due meanwhile what --recover says, or what was said when it was disabled.`,
	}, "enabled", "", func(ctx context.Context, s *base.Session, name string) error {
		held, err := s.Client.PreviewCollectionPause(ctx, name, "enable", *p)
		tellHeld(s, name, &held, "now")
		return err
	}, func(ctx context.Context, c *client.Client, name string) (*client.Operation, error) {
		return c.EnableCollectionAs(ctx, name, *p)
	}, job.PauseFlags(p, false))
}

func newDisable(getenv base.Lookup) *cobra.Command {
	p := new(client.Pause)
	return change(getenv, &cobra.Command{
		Use:   "disable NAME…",
		Short: "Have no job of job collections run",
		Long: `Have no job of job collections run. The state of the jobs themselves stays. With --until they
are enabled by themselves, and with --until or --recover each holds what comes due. It asks first.`,
		Example: `  almanac collection disable reports --until "monday 06:00" --recover latest`,
	}, "disabled", "Stop all jobs of %s?", func(ctx context.Context, s *base.Session, name string) error {
		if p.Until.IsZero() {
			return nil
		}
		held, err := s.Client.PreviewCollectionPause(ctx, name, "disable", *p)
		tellHeld(s, name, &held, "at the end")
		return err
	}, func(ctx context.Context, c *client.Client, name string) (*client.Operation, error) {
		return c.DisableCollectionAs(ctx, name, *p)
	}, job.PauseFlags(p, true))
}

func newDelete(getenv base.Lookup) *cobra.Command {
	return change(getenv, &cobra.Command{
		Use:   "delete NAME…",
		Short: "Delete job collections with all their jobs",
		Long:  "Delete job collections with all their jobs and their history. It asks first.",
	}, "deleted", "Delete %s with all jobs and their history?", nil,
		func(ctx context.Context, c *client.Client, name string) (*client.Operation, error) {
			return c.DeleteCollection(ctx, name)
		})
}
