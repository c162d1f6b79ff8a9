package calendar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/daysoff"
	"almanac/internal/fields"
	"almanac/recurrence/calendars"
)

type importOptions struct {
	weekend  []time.Weekday
	years    string
	until    string
	makeUp   *regexp.Regexp
	timed    bool
	order    string
	describe string
}

const importedYears = 6 // by default, from the current one on

func newImport(getenv base.Lookup) *cobra.Command {
	o := &importOptions{}
	return base.Local(&cobra.Command{
		Use:   "import FILE…",
		Short: "Print the calendar of files in iCalendar or CSV",
		Long: `Print a calendar with the days off of files, as YAML or with -o json; - is standard input.

An event of an iCalendar file is a day off, or a period if it lasts longer; rules such as RRULE
are computed for the years. Events that are no whole days are left out, and counted on standard
error, unless --timed is given. A line of a CSV file has a date, or the first and the last one,
and a name; headings such as "date,name" may say which column has what, and a column "kind" has
"make-up" for make-up days.

An entry that cannot be read is an error, and nothing is printed: a day off that is missing
would be worse. Nothing is fetched, and no file changes.`,
		Example: "  almanac calendar import holidays.ics --weekend saturday,sunday > holidays.yaml\n" +
			"  curl -fs https://example.com/holidays.ics | almanac calendar import - --weekend none -o json",
		Args: cobra.MinimumNArgs(1),
	}, getenv, o.groups(), func(_ context.Context, s *base.Session, args []string) error {
		return runImport(s, o, args)
	})
}

func (o *importOptions) groups() []flags.Group {
	return []flags.Group{{Name: "Calendar", Settings: []*flags.Setting{
		{Flag: "weekend", Value: flags.NewValue("days", "such as saturday,sunday, or none", o.setWeekend),
			Help: "Days of the weekend, which no file says; none if the calendar is for a freeze. It is required."},
		{Flag: "years", Value: flags.Text("years", &o.years), Help: "Years such as 2026..2031; by default six from the current one on."},
		{Flag: "complete-until", Value: flags.Text("date", &o.until),
			Help: "Last date for which the days are known; by default the end of the last year that the files write a date of."},
		{Flag: "make-up", Value: flags.NewValue("pattern", "a regular expression", o.setMakeUp),
			Help: "Regular expression of the names that are make-up days, on which people work."},
		{Flag: "timed", Value: flags.Bool(&o.timed), Help: "Take the days that events touch which are no whole days."},
		{Flag: "date-order", Value: flags.Choice(&o.order, "dmy", "mdy"), Help: "Order of dates such as 1/2/2026 in CSV."},
		{Flag: "description", Value: flags.Text("text", &o.describe), Help: "Description; by default the name that a file has."},
	}}}
}

func (o *importOptions) setMakeUp(text string) (err error) {
	o.makeUp, err = regexp.Compile(text)
	return err
}

func (o *importOptions) setWeekend(text string) error {
	o.weekend = []time.Weekday{}
	if text == "none" {
		return nil
	}
	var names []string
	for day := time.Sunday; day <= time.Saturday; day++ {
		names = append(names, strings.ToLower(day.String()))
	}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		i := slices.IndexFunc(names, func(full string) bool { return full == name || full[:3] == name })
		if i < 0 {
			if near := fields.Nearest(name, names); near != "" {
				return fmt.Errorf("%q is no day of the week, did you mean %s?", name, near)
			}
			return fmt.Errorf("%q is no day of the week", name)
		}
		o.weekend = append(o.weekend, time.Weekday(i))
	}
	return nil
}

func runImport(s *base.Session, o *importOptions, names []string) error {
	if o.weekend == nil {
		return exit.With(exit.Usage, errors.New("--weekend says which days are the weekend, such as saturday,sunday, or none: the files do not"))
	}
	options, err := o.reading(s.Now)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	all := &daysoff.Found{}
	var sources []string
	for _, name := range names {
		text, err := textOf(name, s.In)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		found, err := daysoff.Read(text, options)
		if err != nil {
			return exit.With(exit.Failed, fmt.Errorf("%s: %w", name, err))
		}
		all.Merge(found)
		sources = append(sources, sourceOf(name))
	}
	if all.Timed > 0 {
		s.Say("%d events are no whole days, and were left out; --timed takes the days that they touch", all.Timed)
	}
	if len(all.Ignored) > 0 {
		s.Say("columns that are not known were left out: %s", output.Line(strings.Join(all.Ignored, ", ")))
	}
	if all.Outside > 0 {
		s.Say("%d entries are outside of the years, and were left out", all.Outside)
	}
	c, err := o.calendar(all, options)
	if err != nil {
		return err
	}
	d := documentOf(c)
	d.Source, d.Description = strings.Join(sources, ", "), cmp.Or(o.describe, all.Name)
	return show(s, d, strings.Join(sources, ","))
}

// reading returns how files are read.
func (o *importOptions) reading(now time.Time) (daysoff.Options, error) {
	first, last := now.Year(), now.Year()+importedYears-1
	if o.years != "" {
		var err error
		if first, last, err = yearsOf(o.years); err != nil {
			return daysoff.Options{}, fmt.Errorf("--years: %w", err)
		}
	}
	return daysoff.Options{
		First: calendars.DateOf(first, time.January, 1), Last: calendars.DateOf(last, time.December, 31),
		Timed: o.timed, MakeUp: o.makeUp, Order: o.order,
	}, nil
}

// calendar returns the calendar of what files say.
func (o *importOptions) calendar(f *daysoff.Found, within daysoff.Options) (calendars.Calendar, error) {
	until := within.Last
	if f.LastGiven != 0 && f.LastGiven < until {
		until = endOfYear(f.LastGiven)
	}
	if o.until != "" {
		var err error
		if until, err = calendars.ParseDate(o.until); err != nil {
			return calendars.Calendar{}, exit.With(exit.Usage, fmt.Errorf("--complete-until: %w", err))
		}
	}
	c := calendars.Calendar{
		WeekendDays: o.weekend, Days: f.Days, Periods: f.Periods, MakeUpDays: f.MakeUpDays, CompleteUntil: &until,
	}
	if _, err := calendars.NewTable(c); err != nil {
		return c, exit.With(exit.Failed, err)
	}
	return c, nil
}

// textOf reads a file that is not too large, or standard input for "-".
func textOf(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, daysoff.MaxBytes+1))
}

// endOfYear returns the last date of a date's year.
func endOfYear(d calendars.Date) calendars.Date {
	return calendars.DateOf(time.Unix(int64(d)*86400, 0).UTC().Year(), time.December, 31)
}

// sourceOf returns how a file is named in the calendar.
func sourceOf(name string) string {
	if name == "-" {
		return "standard input"
	}
	return filepath.Base(name)
}
