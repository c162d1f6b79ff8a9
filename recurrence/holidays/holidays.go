// Package holidays makes calendars of the public holidays of countries and of their parts, for [calendars].
//
//	made, err := holidays.Make([]string{"SE", "DE-BY"}, 2026, 2031, holidays.Options{})
//
// The days are facts of the package holidays of Python, as of a release of Almanac: `task holidays` writes the tables
// anew. They are no promise: governments move days, and some are seen with the moon.
package holidays

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"almanac/recurrence/calendars"
)

// A Place is a country, or a part of one such as DE-BY.
type Place struct{ Code, Name string }

// Places returns the places that there are, by code. The name is in English for countries; a part may have none.
func Places() []Place {
	t := load()
	all := make([]Place, len(t.places))
	for i, p := range t.places {
		all[i] = Place{p.code, p.name}
	}
	return all
}

// Years returns the first and the last year that there is.
func Years() (first, last int) {
	t := load()
	return t.first, t.last
}

// Options say which days a calendar has, and how they are named.
type Options struct {
	English bool     // names are in English, not in the country's language
	With    []string // further categories of days, such as "bank"; those that a place lacks add nothing to it
}

// Public is the category of days that every calendar has.
const Public = "public"

// Categories returns the categories that places have, without a place those of all.
func Categories(codes ...string) []string {
	t := load()
	var all []string
	for _, category := range t.categories {
		if len(codes) == 0 || slices.ContainsFunc(codes, func(code string) bool {
			p := t.find(code)
			return p != nil && p.categories[category] != nil
		}) {
			all = append(all, category)
		}
	}
	return all
}

// A Made is a calendar on which a day is off if it is in any of its places.
type Made struct {
	calendars.Calendar

	Places []Place
	Source string
	Notes  []string // what its user should know: which days are not certain
}

// An UnknownError says that there is no such place.
type UnknownError struct {
	Place  string
	Parts  []string // of the country, if that is one
	OfNone bool     // the country is none
}

// Error returns what there is in its place.
func (e *UnknownError) Error() string {
	country, _, _ := strings.Cut(e.Place, "-")
	switch {
	case e.OfNone:
		return fmt.Sprintf("there are no holidays of %q; allowed: the ISO code of a country such as SE, or of a part such as DE-BY", e.Place)
	case len(e.Parts) == 0:
		return fmt.Sprintf("there are no holidays of parts of %s; allowed: %s", country, country)
	}
	return fmt.Sprintf("%s has no part %q; its parts are %s", country, e.Place[len(country)+1:], strings.Join(e.Parts, ", "))
}

// find returns a place by its code in any case; nil if there is none.
func (t *tables) find(code string) *place {
	i := slices.IndexFunc(t.places, func(p *place) bool { return strings.EqualFold(p.code, code) })
	if i < 0 {
		return nil
	}
	return t.places[i]
}

func (t *tables) unknown(code string) error {
	country, _, isPart := strings.Cut(code, "-")
	e := &UnknownError{Place: code, OfNone: !isPart || t.find(country) == nil}
	for _, p := range t.places {
		if of, part, ok := strings.Cut(p.code, "-"); ok && strings.EqualFold(of, country) {
			e.Parts = append(e.Parts, part)
		}
	}
	return e
}

// Make returns the calendar of some places in the years from first to last. Errors join what is wrong; an
// [*UnknownError] is about a place.
func Make(codes []string, first, last int, o Options) (*Made, error) {
	t := load()
	errs := t.checkYears(first, last)
	if len(codes) == 0 {
		errs = append(errs, errors.New("name a country or a part of one, such as SE or DE-BY"))
	}
	for _, category := range o.With {
		if !slices.Contains(t.categories, category) {
			errs = append(errs, fmt.Errorf("there is no category %q; allowed: %s", category, strings.Join(t.categories, ", ")))
		}
	}
	var of []*place
	for _, code := range codes {
		p := t.find(code)
		if p == nil {
			errs = append(errs, t.unknown(code))
		} else if !slices.Contains(of, p) {
			of = append(of, p)
		}
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	m := &maker{of: of, english: o.English, categories: append([]string{Public}, o.With...)}
	return m.make(first, last)
}

func (t *tables) checkYears(first, last int) []error {
	if first < t.first || last > t.last || first > last {
		return []error{fmt.Errorf("there are no holidays of the years %d to %d; allowed: from %d to %d", first, last, t.first, t.last)}
	}
	return nil
}
