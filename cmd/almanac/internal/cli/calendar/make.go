package calendar

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/fields"
	"almanac/recurrence/holidays"
)

func newMake(getenv base.Lookup) *cobra.Command {
	var o holidays.Options
	known := func(all []string) error { return knownCategories(all) }
	cmd := base.Local(&cobra.Command{
		Use:   "make PLACE[,PLACE…] YEARS",
		Short: "Print a calendar of public holidays",
		Long: `Print a calendar of the public holidays of a country such as SE or of a part of one such as
DE-BY, as YAML or with -o json. With several places a day is off if it is in any of them. It has
the weekend of the country, the names of the days in its language, make-up days on which people
work although it is a weekend, and the date until which all of this is certain.

The days are facts of a data set, and no promise: docs/holidays.md says which, and where another
one differs.`,
		Example: "  almanac calendar make SE,DE-BY 2026..2031 > holidays.yaml\n  almanac calendar make SE 2027 --with de_facto --english -o json",
		Args:    cobra.ExactArgs(2),
	}, getenv, []flags.Group{{Name: "Holidays", Settings: []*flags.Setting{
		{Flag: "english", Value: flags.Bool(&o.English), Help: "Names in English, not in the language of the country."},
		{Flag: "with", Value: flags.List("categories", &o.With, known),
			Help: "Further categories of days, such as bank, de_facto or optional; those that a place lacks add nothing."},
	}}}, func(_ context.Context, s *base.Session, args []string) error {
		return runMake(s, o, args[0], args[1])
	})
	cmd.ValidArgsFunction = completePlaces
	return cmd
}

func knownCategories(all []string) error {
	known := holidays.Categories()
	for _, one := range all {
		if slices.Contains(known, one) {
			continue
		}
		if near := fields.Nearest(one, known); near != "" {
			return fmt.Errorf("there is no category %q, did you mean %s?", one, near)
		}
		return fmt.Errorf("there is no category %q; allowed: %s", one, strings.Join(known, ", "))
	}
	return nil
}

func runMake(s *base.Session, o holidays.Options, places, years string) error {
	first, last, err := yearsOf(years)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	var codes []string
	for code := range strings.SplitSeq(places, ",") {
		codes = append(codes, strings.TrimSpace(code))
	}
	made, err := holidays.Make(codes, first, last, o)
	if err != nil {
		return exit.With(exit.Usage, meant(err))
	}
	for _, note := range made.Notes {
		s.Say("%s", note)
	}
	d := documentOf(made.Calendar)
	d.Source = made.Source
	return show(s, d, strings.Join(codes, ","))
}

// meant adds to an error about places which are near.
func meant(err error) error {
	unknown, ok := errors.AsType[*holidays.UnknownError](err)
	if !ok {
		return err
	}
	for _, p := range holidays.Places() { // its name, such as Sweden
		if strings.EqualFold(p.Name, unknown.Place) {
			return fmt.Errorf("%w\nDid you mean %s (%s)?", err, p.Code, p.Name)
		}
	}
	names := map[string]string{}
	for _, p := range holidays.Places() {
		if p.Name != "" {
			names[strings.ToLower(p.Name)] = p.Code + " (" + p.Name + ")"
		}
	}
	all := make([]string, 0, len(names))
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	if near := fields.Nearest(strings.ToLower(unknown.Place), all); near != "" && unknown.OfNone && len(unknown.Place) > 3 {
		return fmt.Errorf("%w\nDid you mean %s?", err, names[near])
	}
	return err
}

var yearsForm = regexp.MustCompile(`^(\d{4})(?:\.\.(\d{4}))?$`)

// yearsOf reads 2026 or 2026..2031.
func yearsOf(text string) (first, last int, err error) {
	m := yearsForm.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, fmt.Errorf("%q is no year; allowed: such as 2026 or 2026..2031", text)
	}
	first, _ = strconv.Atoi(m[1]) // digits
	if last = first; m[2] != "" {
		last, _ = strconv.Atoi(m[2])
	}
	if last < first {
		return 0, 0, fmt.Errorf("%q ends before it begins", text)
	}
	return first, last, nil
}

// completePlaces completes the last of the places.
func completePlaces(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := typed[:strings.LastIndex(typed, ",")+1]
	part := strings.ToUpper(typed[len(before):])
	var found []string
	for _, p := range holidays.Places() {
		if isPart := strings.Contains(p.Code, "-"); strings.HasPrefix(p.Code, part) && (!isPart || len(part) >= 2) {
			found = append(found, before+p.Code+"\t"+p.Name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
