package calendar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/cli/source"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/fields"
)

// A scope is where calendars are: in the job collection of the session, or in the subscription.
type scope struct{ shared bool }

func (o *scope) flag() *flags.Setting {
	return &flags.Setting{Flag: "shared", Value: flags.Bool(&o.shared),
		Help: "Calendars of the subscription, for all job collections, not those of the job collection."}
}

func (o *scope) of(s *base.Session) client.Calendars {
	if o.shared {
		return s.Client.CalendarsOf("")
	}
	return s.Client.CalendarsOf(s.Collection)
}

func cell(of func(client.Calendar) string) func(client.Calendar) output.Cell {
	return func(c client.Calendar) output.Cell { return output.Cell{Text: of(c)} }
}

var view = output.View[client.Calendar]{
	Name: func(c client.Calendar) string { return c.Name },
	Columns: []output.Column[client.Calendar]{
		{Head: "NAME", Shrink: true, Of: cell(func(c client.Calendar) string { return c.Name })},
		{Head: "WEEKEND", Of: cell(func(c client.Calendar) string { return strings.Join(c.Properties.WeekendDays, ",") })},
		{Head: "ENTRIES", Of: cell(func(c client.Calendar) string { return strconv.Itoa(entriesOf(c)) })},
		{Head: "COMPLETE UNTIL", Of: cell(func(c client.Calendar) string { return c.Properties.CompleteUntil })},
		{Head: "VERSION", Of: cell(func(c client.Calendar) string { return strconv.Itoa(c.Properties.Version) })},
		{Head: "TIME ZONE", Wide: true, Of: cell(func(c client.Calendar) string { return c.Properties.TimeZone })},
		{Head: "SOURCE", Wide: true, Of: cell(func(c client.Calendar) string { return c.Properties.Source })},
	},
}

// entriesOf returns how many days, periods and make-up days there are. Entries of lists have their number alone.
func entriesOf(c client.Calendar) int {
	p := c.Properties
	return max(p.Entries, len(p.Days)+len(p.Periods)+len(p.MakeUpDays))
}

func newList(getenv base.Lookup) *cobra.Command {
	var o scope
	return base.Command(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List calendars, without their days",
		Long:    "List the calendars of the job collection, or of the subscription, without their days.",
		Example: "  almanac calendar list\n  almanac calendar list --shared -o name",
	}, getenv, []flags.Group{{Name: "Calendars", Settings: []*flags.Setting{o.flag()}}}, func(ctx context.Context, s *base.Session, _ []string) error {
		var found []client.Calendar
		for one, err := range o.of(s).List(ctx, client.List{}) {
			if err != nil {
				return o.missing(ctx, s, "", err)
			}
			found = append(found, one)
		}
		if len(found) == 0 && s.Format.ForPeople() {
			s.Say("No calendars")
		}
		return output.List(&s.Printer, view, found)
	})
}

func newGet(getenv base.Lookup) *cobra.Command {
	var o scope
	cmd := base.Command(&cobra.Command{
		Use: "get NAME", Aliases: []string{"show"}, Short: "Show a calendar",
		Long: `Show a calendar. As YAML it is a file for "almanac calendar apply", and begins with its etag: if
somebody has changed the calendar since, the file is refused.`,
		Example: "  almanac calendar get SE -o yaml > SE.yaml",
		Args:    cobra.ExactArgs(1),
	}, getenv, []flags.Group{{Name: "Calendars", Settings: []*flags.Setting{o.flag()}}}, func(ctx context.Context, s *base.Session, args []string) error {
		found, err := o.of(s).Get(ctx, args[0])
		if err != nil {
			return o.missing(ctx, s, args[0], err)
		}
		if s.Format.YAML() {
			fmt.Fprintf(s.Out, "# etag: %s\n", output.Line(found.ETag))
		}
		return output.One(&s.Printer, view, found)
	})
	cmd.ValidArgsFunction = complete(getenv, &o)
	return cmd
}

// missing adds to the error about a calendar that does not exist which one is near.
func (o *scope) missing(ctx context.Context, s *base.Session, name string, err error) error {
	if !client.IsNotFound(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	page, listed := o.of(s).Page(ctx, client.List{})
	if listed != nil && !o.shared {
		return s.MissingCollection(ctx, s.Collection, err)
	}
	var known []string
	for _, one := range page.Value {
		known = append(known, plainName(one.Name))
	}
	if near := fields.Nearest(name, known); near != "" && listed == nil {
		return exit.With(exit.NotFound, fmt.Errorf("%w\nDid you mean %s?", err, near))
	}
	return err
}

// plainName returns the last part of a name, which may have that of its job collection before it.
func plainName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// complete completes the names of calendars, if the API answers at once.
func complete(getenv base.Lookup, o *scope) cobra.CompletionFunc {
	return base.Completed(1, getenv, func(ctx context.Context, s *base.Session, _ string) (names []string, err error) {
		page, err := o.of(s).Page(ctx, client.List{})
		for _, one := range page.Value {
			names = append(names, plainName(one.Name)+"\t"+one.Properties.Source)
		}
		return names, err
	})
}

type applyOptions struct {
	scope
	file string
}

const applied = `The file is YAML or JSON, as "almanac calendar make" and "import" print it; - is standard input.`

func newCreate(getenv base.Lookup) *cobra.Command {
	o := new(applyOptions)
	return o.command(&cobra.Command{
		Use: "create NAME -f FILE", Aliases: []string{"add", "new"}, Short: "Make a calendar of a file",
		Long:    "Make a calendar of a file. A name that is taken is refused.\n" + applied,
		Example: "  almanac calendar make SE 2026..2031 | almanac calendar create SE --shared -f -",
	}, getenv, client.IfAbsent())
}

func newApply(getenv base.Lookup) *cobra.Command {
	o := new(applyOptions)
	cmd := o.command(&cobra.Command{
		Use: "apply NAME -f FILE", Aliases: []string{"replace"}, Short: "Make or replace a calendar by a file",
		Long: `Make a calendar of a file, or replace it. A file that "almanac calendar get -o yaml" printed is
refused if somebody has changed the calendar since.
` + applied,
		Example: "  almanac calendar apply SE -f SE.yaml",
	}, getenv)
	cmd.ValidArgsFunction = complete(getenv, &o.scope)
	return cmd
}

func (o *applyOptions) command(cmd *cobra.Command, getenv base.Lookup, conditions ...client.Condition) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	more := []flags.Group{{Name: "Calendars", Settings: []*flags.Setting{
		{Flag: "file", Short: "f", Value: flags.File(&o.file), Help: "File with the calendar in YAML or JSON, or - for standard input. It is required."},
		o.flag(),
	}}}
	return base.Command(cmd, getenv, more, func(ctx context.Context, s *base.Session, args []string) error {
		if o.file == "" {
			return exit.With(exit.Usage, errors.New("-f says which file has the calendar; - is standard input"))
		}
		d, err := source.Read(o.file, s.In)
		if err != nil {
			return err
		}
		if tag := d.Comment("etag"); tag != "" && len(conditions) == 0 {
			conditions = append(conditions, client.IfMatch(tag))
		}
		made, err := o.of(s).PutBody(ctx, args[0], json.RawMessage(d.JSON), conditions...)
		switch {
		case client.IsChanged(err) && cmd.Name() == "create":
			return exit.With(exit.Refused, fmt.Errorf("the calendar %s exists: \"almanac calendar apply\" replaces it", args[0]))
		case client.IsChanged(err):
			return exit.With(exit.Refused, fmt.Errorf("somebody has changed the calendar %s since %s was read; \"almanac calendar get\" has what it is now", args[0], d.Name))
		case client.IsNotFound(err):
			return o.missing(ctx, s, args[0], err)
		case err != nil:
			return d.Explain(err)
		}
		if !s.Format.ForPeople() {
			return output.One(&s.Printer, view, made)
		}
		return s.Done("calendar", made.Name, fmt.Sprintf("applied, version %d, %d entries", made.Properties.Version, entriesOf(made)))
	})
}

func newDelete(getenv base.Lookup) *cobra.Command {
	var o scope
	cmd := base.Command(&cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Delete a calendar",
		Long:    "Delete a calendar. It asks first.",
		Example: "  almanac calendar delete SE --yes",
		Args:    cobra.ExactArgs(1),
	}, getenv, []flags.Group{{Name: "Calendars", Settings: []*flags.Setting{
		o.flag(),
	}}}, func(ctx context.Context, s *base.Session, args []string) error {
		if err := s.Confirm(ctx, fmt.Sprintf("Delete the calendar %s?", args[0])); err != nil {
			return err
		}
		if err := o.of(s).Delete(ctx, args[0]); err != nil {
			return o.missing(ctx, s, args[0], err)
		}
		return s.Done("calendar", args[0], "deleted")
	})
	cmd.ValidArgsFunction = complete(getenv, &o)
	return cmd
}
