// Package calendar is the commands about calendars of holidays and working days.
package calendar

import (
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/recurrence/calendars"
)

// Command returns the command calendar.
func Command(getenv base.Lookup) *cobra.Command {
	return base.Group(&cobra.Command{
		Use:     "calendar",
		Aliases: []string{"calendars", "cal"},
		Short:   "List, read, make, replace and delete calendars of holidays",
		Long:    "List, read, make, replace and delete calendars of holidays, and print those of countries and of files.",
		Example: "  almanac calendar make SE,DE-BY 2026..2031 > se-by.yaml\n  almanac calendar import holidays.ics --weekend saturday,sunday",
	}, newList(getenv), newGet(getenv), newUsage(getenv), newCreate(getenv), newApply(getenv), newDelete(getenv), newMake(getenv), newImport(getenv))
}

// A day is a date with a name.
type day struct {
	Date string `json:"date"`
	Name string `json:"name,omitempty"`
}

// A period is some dates in a row.
type period struct {
	First string `json:"first"`
	Last  string `json:"last"`
	Name  string `json:"name,omitempty"`
}

// A document is a calendar as the API takes it.
type document struct {
	WeekendDays   []string `json:"weekendDays"`
	Days          []day    `json:"days,omitempty"`
	Periods       []period `json:"periods,omitempty"`
	MakeUpDays    []day    `json:"makeUpDays,omitempty"`
	TimeZone      string   `json:"timeZone,omitempty"`
	CompleteUntil string   `json:"completeUntil,omitempty"`
	Source        string   `json:"source,omitempty"`
	Description   string   `json:"description,omitempty"`
}

// documentOf returns a calendar as the API takes it.
func documentOf(c calendars.Calendar) document {
	d := document{WeekendDays: weekdays(c.WeekendDays), Days: days(c.Days), MakeUpDays: days(c.MakeUpDays)}
	for _, p := range c.Periods {
		d.Periods = append(d.Periods, period{p.First.String(), p.Last.String(), p.Name})
	}
	if c.CompleteUntil != nil {
		d.CompleteUntil = c.CompleteUntil.String()
	}
	return d
}

func days(of []calendars.Day) (all []day) {
	for _, d := range of {
		all = append(all, day{d.Date.String(), d.Name})
	}
	return all
}

func weekdays(of []time.Weekday) []string {
	all := []string{}
	for _, d := range of {
		all = append(all, strings.ToLower(d.String()))
	}
	return all
}

// show prints a calendar, for people as YAML.
func show(s *base.Session, d document, name string) error {
	if s.Format.ForPeople() {
		text, err := output.YAML(d)
		if err == nil {
			_, err = io.WriteString(s.Out, text)
		}
		return err
	}
	return s.Value(d, name)
}
