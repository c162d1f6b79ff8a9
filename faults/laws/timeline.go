package laws

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A moment is a line of a timeline.
type moment struct {
	at   time.Time
	text string
}

const (
	timelineBefore = 90 * time.Second
	timelineAfter  = 60 * time.Second
	maxTimeline    = 40 // lines
)

// Timeline returns what happened to a job around an instant, oldest first: what
// was due, sent and changed, what the history says, and the faults.
func Timeline(l *Log, j Job, at time.Time) []string {
	if at.IsZero() {
		return nil
	}
	from, to := at.Add(-timelineBefore), at.Add(timelineAfter)
	var all []moment
	add := func(t time.Time, format string, args ...any) {
		if !t.IsZero() && !t.Before(from) && !t.After(to) {
			all = append(all, moment{t, fmt.Sprintf(format, args...)})
		}
	}
	for i := range l.Faults {
		f := &l.Faults[i]
		add(f.Start, "fault: %s of %s (%s %s)", f.Kind, f.Target, f.Aim, f.Job)
		add(f.End, "fault: %s of %s is over; restarted %s", f.Kind, f.Target, clock(f.Restart))
	}
	for i := range l.Changes {
		c := &l.Changes[i]
		if c.Collection != j.Collection || c.Name != "" && c.Name != j.Name {
			continue
		}
		what := c.Kind
		if d := c.Definition; d != nil {
			what += fmt.Sprintf(" (life %d, version %d, %s, retries %d, overlap %s, catch-up %t, count %d, %s)",
				c.Life, d.Version, d.Start.Format("15:04:05"), d.Retries, d.Overlap, d.CatchUp, d.Count, d.Behaviour)
		}
		for _, t := range c.Tries {
			add(t.Issued, "change: %s issued", what)
			add(t.Answered, "change: %s answered %d", c.Kind, t.Status)
		}
	}
	for i := range l.Requests {
		r := &l.Requests[i]
		if r.Job != j {
			continue
		}
		add(r.Due, "due: %s", r.ID)
		add(r.Arrived, "received: %s of %s due %s by version %d", r.Action, r.ID, clock(r.Due), r.Version)
		add(r.Answered, "answered %d: %s of %s", r.Status, r.Action, r.ID)
		add(r.Cut, "cut off: %s of %s", r.Action, r.ID)
	}
	for i := range l.Reads {
		r := &l.Reads[i]
		if r.Job != j {
			continue
		}
		for _, e := range r.Entries {
			add(e.Start, "history: %s due %s attempt %d of execution %d %s until %s: %.120s", e.Action, clock(e.Due), e.Retry+1, e.Repeat, e.Status, clock(e.End), e.Message)
		}
	}
	add(at, "---")
	if len(all) > maxTimeline { // those that are closest
		slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.at.Sub(at).Abs(), b.at.Sub(at).Abs()) })
		all = all[:maxTimeline]
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	var lines []string
	for _, m := range all {
		line := clock(m.at) + "  " + strings.Join(strings.Fields(m.text), " ")
		if len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
	return lines
}
