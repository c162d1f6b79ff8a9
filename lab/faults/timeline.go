package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/lab/record"
)

const (
	timelineBefore = 90 * time.Second
	timelineAfter  = 60 * time.Second
	maxTimeline    = 40 // lines
)

// A timeline is what happened around a time.
type timeline struct {
	at     time.Time
	events []event
}

type event struct {
	at   time.Time
	text string
}

// add adds an event, unless it is too far away.
func (l *timeline) add(t time.Time, format string, args ...any) {
	if !t.IsZero() && !t.Before(l.at.Add(-timelineBefore)) && !t.After(l.at.Add(timelineAfter)) {
		l.events = append(l.events, event{t, fmt.Sprintf(format, args...)})
	}
}

// timelineOf returns what happened to a job around the time at, oldest first: what was due, sent and changed,
// what the history says, and the faults.
func timelineOf(l *record.Log, j record.Job, at time.Time) []string {
	if at.IsZero() {
		return nil
	}
	events := timeline{at: at}
	for i := range l.Faults {
		f := &l.Faults[i]
		events.add(f.Start, "fault: %s of %s (%s %s)", f.Kind, f.Target, f.Aim, f.Job)
		events.add(f.End, "fault: %s of %s is over; restarted %s", f.Kind, f.Target, record.Clock(f.Restart))
	}
	for i := range l.Changes {
		if c := &l.Changes[i]; c.Collection == j.Collection && (c.Name == "" || c.Name == j.Name) {
			events.addChange(c)
		}
	}
	for i := range l.Requests {
		if r := &l.Requests[i]; r.Job == j {
			events.add(r.Due, "due: %s", r.ID)
			events.add(r.Arrived, "received: %s of %s due %s by version %d", r.Action, r.ID, record.Clock(r.Due),
				r.Version)
			events.add(r.Answered, "answered %d: %s of %s", r.Status, r.Action, r.ID)
			events.add(r.Cut, "cut off: %s of %s", r.Action, r.ID)
		}
	}
	for i := range l.Reads {
		if r := &l.Reads[i]; r.Job == j {
			for _, e := range r.Entries {
				events.add(e.Start, "history: %s due %s attempt %d of execution %d %s until %s: %.120s%s",
					e.Action, record.Clock(e.Due), e.Retry+1, e.Repeat, e.Status, record.Clock(e.End), e.Message, byCalendars(&e))
			}
		}
	}
	events.add(at, "---")
	return events.lines()
}

func (l *timeline) addChange(c *record.Change) {
	what := c.Kind
	if d := c.Definition; d != nil {
		what += fmt.Sprintf(" (incarnation %d, version %d, %s, retries %d, overlap %s, catch-up %t, count %d, %s)",
			c.Incarnation, d.Version, d.Start.Format("15:04:05"), d.Retries, d.Overlap, d.CatchUp, d.Count, d.Behaviour)
		if d.Rule != nil {
			what += fmt.Sprintf(" %+v", *d.Rule)
		}
	}
	if k := c.Calendar; k != nil {
		what += fmt.Sprintf(" %s version %d: weekend %v, days %v, periods %v, make-up %v, zone %q, until %q", k.Name, k.Version,
			k.WeekendDays, k.Days, k.Periods, k.MakeUpDays, k.TimeZone, k.CompleteUntil)
	}
	for _, t := range c.Tries {
		l.add(t.Issued, "change: %s issued", what)
		l.add(t.Answered, "change: %s answered %d", c.Kind, t.Status)
	}
}

// lines returns the events that are closest, oldest first, each once.
func (l *timeline) lines() []string {
	all := l.events
	if len(all) > maxTimeline {
		slices.SortStableFunc(all,
			func(a, b event) int { return cmp.Compare(a.at.Sub(l.at).Abs(), b.at.Sub(l.at).Abs()) })
		all = all[:maxTimeline]
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	var lines []string
	for _, e := range all {
		lines = append(lines, record.Clock(e.at)+"  "+strings.Join(strings.Fields(e.text), " "))
	}
	return slices.Compact(lines)
}

// byCalendars returns what an entry says of calendars.
func byCalendars(e *record.Entry) string {
	if e.Nominal.IsZero() && e.Calendars == nil && e.Beyond == nil {
		return ""
	}
	return fmt.Sprintf(" (nominally %s, %v, beyond %v)", e.Nominal.Format(time.RFC3339), e.Calendars, e.Beyond)
}
