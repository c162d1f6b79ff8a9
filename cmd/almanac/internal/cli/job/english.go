package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
)

// read has the API read --every, if that is more than a number and a unit, in the zone of --time-zone.
func (d *definition) read(ctx context.Context, s *base.Session) error {
	return d.readIn(ctx, s, d.zone)
}

// patchOf returns the patch of a job, where --every is in the zone of that job.
func (d *definition) patchOf(ctx context.Context, s *base.Session, was client.Job) (tree, error) {
	if r := was.Properties.Recurrence; d.reading != nil && !d.set.Get("time-zone").Given() {
		zone := ""
		if r != nil {
			zone = r.TimeZone
		}
		if err := d.readIn(ctx, s, zone); err != nil {
			return nil, err
		}
	}
	return d.patch()
}

func (d *definition) readIn(ctx context.Context, s *base.Session, zone string) error {
	if d.every == "" || isUnit(d.every) || d.reading != nil && zone == d.readZone {
		return nil
	}
	d.readZone = zone
	asked := client.RecurrenceText{Text: d.every, TimeZone: zone}
	found, err := s.Client.ReadRecurrence(ctx, asked)
	if client.StatusOf(err) == http.StatusBadRequest { // it may need a calendar, and name none
		if asked.Calendars = calendarNames(ctx, s); asked.Calendars != nil {
			found, err = s.Client.ReadRecurrence(ctx, asked)
		}
	}
	if answered, ok := errors.AsType[*client.Error](err); ok && answered.Status == http.StatusBadRequest {
		return exit.With(exit.Usage, fmt.Errorf("--every: %w", err))
	}
	if err != nil {
		return err
	}
	if found.Ambiguous == "" && len(found.Readings) == 1 {
		d.reading = &found.Readings[0]
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--every: %q may mean", output.Line(found.Ambiguous))
	for _, r := range found.Readings {
		fmt.Fprintf(&b, "\n  %s", output.Line(r.Sentence))
	}
	return exit.With(exit.Usage, errors.New(b.String()))
}

// calendarNames returns the names of the calendars that a job may have, as far as they can be listed.
func calendarNames(ctx context.Context, s *base.Session) (names []string) {
	for _, scope := range []string{s.Collection, ""} {
		for c, err := range s.Client.CalendarsOf(scope).List(ctx, client.List{}) {
			if err != nil {
				break
			}
			name := c.Name[strings.LastIndexByte(c.Name, '/')+1:]
			if len(names) < mostNames && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
				names = append(names, name)
			}
		}
	}
	return names
}

// mostNames is how many names of calendars a question has.
const mostNames = 100

// isUnit reports whether --every is a number and a unit.
func isUnit(every string) bool {
	m := everyForm.FindStringSubmatch(strings.ToLower(every))
	return m != nil && units[m[2]] != ""
}

// putReading puts what was read in place of all that says when a job runs.
func (d *definition) putReading(t tree) error {
	for _, s := range []string{
		"frequency", "interval", "hours", "minutes", "week-days", "month-days", "monthly", "months", "cron", "rrule",
	} {
		if d.set.Get(s).Given() {
			return fmt.Errorf("--%s: --every says when it runs; give one of the two", s)
		}
	}
	r := d.reading.Recurrence
	object, err := objectOf(r)
	if err != nil {
		return err
	}
	for _, member := range []string{"frequency", "interval", "schedule", "cron", "rrule", "also"} {
		t.put(inRecurrence+member, object[member])
	}
	for _, member := range []string{"calendars", "exclusions"} { // a text that says none leaves those that there are
		if value, there := object[member]; there {
			t.put(inRecurrence+member, value)
		}
	}
	for flag, member := range map[string]string{"time-zone": "timeZone", "end": "endTime", "count": "count"} {
		value, there := object[member]
		if !there {
			continue
		}
		if given := d.set.Get(flag); given.Given() && fmt.Sprint(value) != given.Text() {
			return fmt.Errorf("--%s: --every says %v; give one of the two", flag, value)
		}
		t.put(inRecurrence+member, value)
	}
	if start := d.reading.StartTime; start != "" {
		if d.start != "" && d.start != start {
			return fmt.Errorf("--start: --every says %s; give one of the two", start)
		}
		t.put("properties.startTime", start)
	}
	return nil
}
