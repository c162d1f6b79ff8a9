package preview

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"almanac/cmd/almanac/internal/cli/source"
	"almanac/job"
	"almanac/job/input"
	jobpreview "almanac/job/preview"
)

// calendarsOf reads calendars from files, each after a name and "=" unless it has the name of its file.
func calendarsOf(files []string, stdin io.Reader, taken bool) (map[string]job.Calendar, error) {
	all := map[string]job.Calendar{}
	for _, given := range files {
		name, file, named := strings.Cut(given, "=")
		if !named {
			file = given
			name = filepath.Base(file)
			name = strings.TrimSuffix(name, filepath.Ext(name))
		}
		if file == "-" && taken {
			return nil, errors.New("--calendar: standard input has the job: name a file")
		}
		if name == "" || name == "-" {
			return nil, fmt.Errorf("--calendar %s: write the name of the calendar first, as in SE=%s", given, given)
		}
		if _, twice := all[job.NormalizeName(name)]; twice {
			return nil, fmt.Errorf("--calendar: there are two calendars %q", name)
		}
		d, err := source.Read(file, stdin)
		if err != nil {
			return nil, fmt.Errorf("--calendar: %w", err)
		}
		c, err := input.ParseCalendar(d.JSON)
		if err != nil {
			return nil, fmt.Errorf("the calendar %s in %s: %w", name, d.Name, err)
		}
		all[job.NormalizeName(name)], taken = c, taken || file == "-"
	}
	return all, nil
}

// elsewhere is said of a calendar that is not given.
const elsewhere = "give its file by --calendar; \"almanac calendar make\" prints one of a country, and \"almanac calendar get -o yaml\" one that is stored"

// run computes a preview, by the calendars of the options where the request has none of a name.
func (o options) run(p jobpreview.Preview) jobpreview.Result {
	for name, c := range o.calendars {
		if _, has := p.Calendars[name]; has {
			continue
		}
		if p.Calendars == nil {
			p.Calendars = map[string]job.Calendar{}
		}
		p.Calendars[name] = c
	}
	return p.RunOr(elsewhere)
}

// skipped are occurrences in a row that calendars skip for one reason.
type skipped struct {
	first, last *jobpreview.Adjustment
	count       int
}

// String says how many there are, unless it is one, until when, and why.
func (s *skipped) String() string {
	until := ""
	if s.first.Nominal.Format("2006-01-02") != s.last.Nominal.Format("2006-01-02") {
		until = " until " + s.last.Nominal.Format("Mon 2006-01-02")
	}
	if s.count == 1 {
		return "skipped because " + s.first.Why
	}
	return fmt.Sprintf("%d skipped%s because %s", s.count, until, s.first.Why)
}

// rowsOf returns those that are skipped, with runs of one reason as one.
func rowsOf(all []jobpreview.Adjustment) (rows []*skipped) {
	all = slices.DeleteFunc(slices.Clone(all), func(a jobpreview.Adjustment) bool { return !a.Due.IsZero() })
	for i := range all {
		a := &all[i]
		if last := len(rows) - 1; last >= 0 && rows[last].first.Why == a.Why {
			rows[last].last, rows[last].count = a, rows[last].count+a.Count
			continue
		}
		rows = append(rows, &skipped{a, a, a.Count})
	}
	return rows
}
