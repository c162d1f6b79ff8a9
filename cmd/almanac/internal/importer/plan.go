package importer

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"almanac/job"
	"almanac/job/timetable"
)

// Compared is how many runs are compared.
const Compared = 100

// A Plan compares the next runs of a job by the rules of its source with those here.
type Plan struct {
	Compared    int          `json:"compared"` // by each of them
	Equal       bool         `json:"equal"`
	Next        []time.Time  `json:"next"` // the first of them here
	Last        *time.Time   `json:"last,omitempty"`
	Done        bool         `json:"done,omitempty"` // none follows
	Clock       int          `json:"clockChanges,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// A Difference is a run that only one of them has.
type Difference struct {
	Source *time.Time `json:"source,omitempty"`
	Here   *time.Time `json:"here,omitempty"`
}

const (
	shownRuns        = 5
	shownDifferences = 10
	horizon          = 400 * 24 * time.Hour // in which clock changes are looked for
	around           = 36 * time.Hour       // a clock change, runs are compared
	most             = 20000                // runs around a clock change
)

// compare compares the runs of a definition that is created at now with those of its source.
func compare(d *job.Definition, source Runs, zone *time.Location, now time.Time) (Plan, error) {
	table, err := timetable.New(d, now, now)
	if err != nil {
		return Plan{}, err
	}
	here, hereDone := take(table.All(), Compared)
	there, thereDone := take(source(now), Compared)
	p := Plan{Compared: max(len(here), len(there)), Next: here[:min(len(here), shownRuns)], Done: hereDone}
	if len(here) > 0 {
		p.Last = &here[len(here)-1]
	}
	p.add(there, here)
	if p.Differences == nil && hereDone != thereDone {
		p.Differences = append(p.Differences, Difference{})
	}
	p.clockChanges(table, source, zone, now)
	p.Equal = p.Differences == nil
	if len(p.Differences) > shownDifferences {
		p.Differences = p.Differences[:shownDifferences]
	}
	return p, nil
}

// clockChanges compares the runs around the clock changes of a zone.
func (p *Plan) clockChanges(table *timetable.Timetable, source Runs, zone *time.Location, now time.Time) {
	for _, at := range changes(zone, now, now.Add(horizon)) {
		from, until := at.Add(-around), at.Add(around)
		if from.Before(now) {
			from = now
		}
		p.Clock++
		p.add(within(source(from), from, until), within(fromOn(table, from), from, until))
	}
}

// fromOn returns the runs from a time on, without the count.
func fromOn(table *timetable.Timetable, from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t, ok := table.From(from); ok && yield(t); {
			t, ok = table.After(t)
		}
	}
}

// changes returns the clock changes of a zone between two times.
func changes(zone *time.Location, from, until time.Time) (all []time.Time) {
	if zone == nil {
		return nil
	}
	for t := from.In(zone); t.Before(until); {
		_, end := t.ZoneBounds()
		if end.IsZero() || !end.Before(until) {
			return all
		}
		_, before := end.Add(-time.Second).Zone()
		if _, after := end.Zone(); before != after {
			all = append(all, end)
		}
		t = end
	}
	return all
}

// add adds the differences of two lists in order.
func (p *Plan) add(there, here []time.Time) {
	for len(there) > 0 || len(here) > 0 {
		switch {
		case len(there) > 0 && len(here) > 0 && there[0].Equal(here[0]):
			there, here = there[1:], here[1:]
		case len(here) == 0 || len(there) > 0 && there[0].Before(here[0]):
			p.different(Difference{Source: &there[0]})
			there = there[1:]
		default:
			p.different(Difference{Here: &here[0]})
			here = here[1:]
		}
	}
}

func (p *Plan) different(d Difference) {
	same := func(o Difference) bool { return equal(o.Source, d.Source) && equal(o.Here, d.Here) }
	if !slices.ContainsFunc(p.Differences, same) {
		p.Differences = append(p.Differences, d)
	}
}

func equal(a, b *time.Time) bool { return a == nil && b == nil || a != nil && b != nil && a.Equal(*b) }

// take returns the first runs in whole seconds, and whether none follows.
func take(runs iter.Seq[time.Time], n int) (list []time.Time, done bool) {
	for t := range runs {
		if len(list) == n {
			return list, false
		}
		list = append(list, t.UTC().Truncate(time.Second))
	}
	return list, true
}

// within returns the runs between two times.
func within(runs iter.Seq[time.Time], from, until time.Time) (list []time.Time) {
	for t := range runs {
		if !t.Before(until) || len(list) == most {
			break
		}
		if !t.Before(from) {
			list = append(list, t.UTC().Truncate(time.Second))
		}
	}
	return list
}

// text says what differs, for people.
func (p *Plan) text() string {
	if len(p.Differences) == 0 {
		return ""
	}
	d := p.Differences[0]
	n := len(p.Differences)
	count := fmt.Sprint(n)
	if n == shownDifferences {
		count += " or more"
	}
	switch {
	case d.Source != nil && n > 1 && p.Differences[1].Here != nil:
		return fmt.Sprintf("%s runs differ: first %s by the source, %s here", count, stamp(d.Source), stamp(p.Differences[1].Here))
	case d.Source != nil:
		return fmt.Sprintf("%s runs differ: first %s, which only the source has", count, stamp(d.Source))
	case d.Here != nil && n > 1 && p.Differences[1].Source != nil:
		return fmt.Sprintf("%s runs differ: first %s here, %s by the source", count, stamp(d.Here), stamp(p.Differences[1].Source))
	case d.Here != nil:
		return fmt.Sprintf("%s runs differ: first %s, which only Almanac has", count, stamp(d.Here))
	}
	return "one of them ends, the other does not"
}

func stamp(t *time.Time) string { return t.UTC().Format(time.RFC3339) }
