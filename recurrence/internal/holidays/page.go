package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A difference is a holiday that one of the two packages has on some dates, and the other does not.
type difference struct {
	country string
	only    string // the package that has it
	name    string
	dates   string
}

// document returns docs/holidays.md.
func document(all *found, with *other, release, today string, first, last int) string {
	differences, c := compare(all, with, first, last)
	var b strings.Builder
	fmt.Fprintf(&b, head, all.Version, release, today, with.Version, first, last, c.places, c.equal, c.differ, c.agreed, c.missing, len(differences))
	country := ""
	order := slices.SortedFunc(maps.Keys(differences), func(x, y difference) int {
		return cmp.Or(cmp.Compare(x.country, y.country), cmp.Compare(x.dates, y.dates), cmp.Compare(x.only, y.only), cmp.Compare(x.name, y.name))
	})
	names := map[string]string{}
	for _, p := range all.Places {
		names[p.Code] = p.Name
	}
	for _, d := range order {
		if d.country != country {
			country = d.country
			fmt.Fprintf(&b, "\n## %s %s\n\n| only in | holiday | dates | where |\n|---|---|---|---|\n", country, names[country])
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.only, strings.ReplaceAll(d.name, "|", "\\|"), d.dates, where(country, differences[d], with, all))
	}
	return b.String()
}

const head = `# Public holidays

` + "`almanac calendar make SE,DE-BY 2026..2031`" + ` prints a calendar of the public holidays of countries and of their parts.
This page is written by ` + "`task holidays`" + `, with the tables.

The days are those of the package [holidays](https://pypi.org/project/holidays/) %s for Python (%s), read
on %s: all countries and parts that it has, and all categories of days on which people are off. It is under the MIT
licence, whose notice is in recurrence/holidays/NOTICE.

- The names are in the country's language, or with ` + "`--english`" + ` in English. ` + "`--with bank,optional`" + ` adds categories.
- Make-up days, on which people work although it is a weekend, are those that governments have announced.
- ` + "`completeUntil`" + ` is the last date for which nothing is estimated and nothing awaits an announcement: days that depend on the
  moon are estimated, and China, Hungary and others announce each year which days are moved.
- They are no promise. Governments change holidays, often late. The calendar is yours: edit it.

## Compared with another source

[date-holidays](https://www.npmjs.com/package/date-holidays) %s has public holidays from other sources. Compared are the
years %d to %d, in the %d places that both have, on days that are no weekend there. Both have the same %d days; they
differ on %d; %d places agree on all days. %d places of holidays are not in date-holidays. Neither is right by itself: where it
matters to you, look here, then at what your government says.

Each of the %d lines below is a holiday that one of them has and the other does not. Its names and dates that are only in
date-holidays are from its data, which is under [CC BY-SA 3.0](https://creativecommons.org/licenses/by-sa/3.0/) and relies
on Wikipedia; nothing of it is in Almanac's tables.
`

// counted says how far the two agree.
type counted struct{ places, equal, agreed, differ, missing int }

// compare returns where each difference is: the places.
func compare(all *found, with *other, first, last int) (map[difference][]string, counted) {
	differences, c := map[difference][]string{}, counted{}
	for _, p := range all.Places {
		theirs, known := with.Places[p.Code]
		if !known {
			c.missing++
			continue
		}
		c.places++
		country, _, _ := strings.Cut(p.Code, "-")
		ours := workDays(p, publicDays(p), first, last)
		theirs = workDays(p, theirs, first, last)
		only := map[[2]string][]string{} // package and name -> dates
		for date, name := range ours {
			if _, both := theirs[date]; both {
				c.equal++
			} else {
				only[[2]string{"holidays", name}] = append(only[[2]string{"holidays", name}], date)
			}
		}
		for date, name := range theirs {
			if _, both := ours[date]; !both {
				only[[2]string{"date-holidays", name}] = append(only[[2]string{"date-holidays", name}], date)
			}
		}
		if len(only) == 0 {
			c.agreed++
		}
		for of, dates := range only {
			c.differ += len(dates)
			d := difference{country, of[0], of[1], shortened(dates)}
			differences[d] = append(differences[d], p.Code)
		}
	}
	return differences, c
}

// publicDays returns the names of a place's public holidays by date.
func publicDays(p *place) map[string]string {
	all := map[string]string{}
	for _, h := range p.Categories["public"] {
		for _, date := range h.dates {
			if before := all[date]; before != "" {
				all[date] = before + "; " + h.english
			} else {
				all[date] = h.english
			}
		}
	}
	return all
}

// workDays returns the dates in some years that are no weekend.
func workDays(p *place, of map[string]string, first, last int) map[string]string {
	all := map[string]string{}
	for date, name := range of {
		t, err := time.Parse(time.DateOnly, date)
		if err == nil && t.Year() >= first && t.Year() <= last && !slices.Contains(p.Weekend, (int(t.Weekday())+6)%7) {
			all[date] = name
		}
	}
	return all
}

// shortened returns dates, those of one year together: 2026-01-05, 06-01.
func shortened(dates []string) string {
	slices.Sort(dates)
	var parts []string
	year := ""
	for _, date := range dates {
		if date[:4] == year {
			date = date[5:]
		} else {
			year = date[:4]
		}
		parts = append(parts, date)
	}
	return strings.Join(parts, ", ")
}

// where names places of a country: all of it, or its parts.
func where(country string, codes []string, with *other, all *found) string {
	compared := 0
	for _, p := range all.Places {
		if of, _, _ := strings.Cut(p.Code, "-"); of == country && with.Places[p.Code] != nil {
			compared++
		}
	}
	if len(codes) == compared {
		return "everywhere"
	}
	var parts []string
	for _, code := range codes {
		if _, part, ok := strings.Cut(code, "-"); ok {
			parts = append(parts, part)
		} else {
			parts = append(parts, "the country as such")
		}
	}
	return strings.Join(parts, ", ")
}
