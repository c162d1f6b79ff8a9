package input

import (
	"fmt"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// isClockOrTime reports whether a text is a time of day, or a date and time.
func isClockOrTime(s string) bool {
	return job.IsClock(s) || isTime(s) && len(s) > len(time.DateOnly)
}

// blackouts checks those of a job, or with shared those of a collection. The zone is that of the job's days.
func (p *parser) blackouts(all []job.Blackout, zone *time.Location, elapsed, shared bool) {
	list := p.pathOf("blackouts")
	if len(all) > calendars.MaxBlackouts {
		p.fail(list, fields.TooMany, fmt.Sprintf("at most %d", calendars.MaxBlackouts), "")
	}
	for i := range all {
		b, at := &all[i], p.BodyPath(fields.ItemPath(list, i))
		if b.Name != "" {
			p.addAt(at+".name", job.CheckBlackoutName(b.Name))
		}
		read, err := b.Read(at, zone)
		for _, f := range fields.Joined[*job.FieldError](err) {
			p.addNew(f)
		}
		if err != nil || p.Has(at) {
			continue
		}
		if shared && b.TimeZone == "" && isLocal(b) {
			p.fail(at+".timeZone", fields.Required, job.AllowedTimeZones, "the jobs of a collection may have several")
			continue
		}
		for _, f := range job.CheckBlackout(at, &read, elapsed, shared) {
			p.addNew(f)
		}
	}
}

// addNew reports an error at a path that has none.
func (p *parser) addNew(f *job.FieldError) {
	if !p.Has(f.Path) {
		p.Add(f)
	}
}

// isLocal reports whether a blackout is from and until local times.
func isLocal(b *job.Blackout) bool {
	return b.From == "" || job.IsClock(b.From) || !hasOffset(b.From) || !hasOffset(b.Until)
}

// zoneOf returns the zone of a recurrence, which may be nil; nil for UTC and for one that does not exist.
func zoneOf(r *job.Recurrence) *time.Location {
	if r == nil {
		return nil
	}
	loc, _ := recurrence.LoadLocation(r.TimeZone) // whose error is reported at its member
	return loc
}

// keepBlackouts keeps those of the stored definition if the body does not name them, as that of a client that does not
// know them. A recurrence that differs would lose them, which is an error; null and an empty list remove them.
func (p *parser) keepBlackouts(n *fields.Node, d *job.Definition, o ParseOptions) {
	if o.Stored == nil || o.merged || len(o.Stored.Blackouts) == 0 || n.Index("blackouts") >= 0 {
		return
	}
	if p.sameRecurrence(n, d, o.Stored) {
		d.Blackouts = o.Stored.Blackouts
		return
	}
	p.fail(p.pathOf("blackouts"), fields.Required, "",
		"this change of the recurrence would lose the job's blackouts: send them as they are to be, or null to remove them")
}

// sameRecurrence reports whether the recurrence of a body is the stored one, but for members that a client drops that
// does not know them.
func (p *parser) sameRecurrence(n *fields.Node, d, stored *job.Definition) bool {
	if d.Recurrence == nil || stored.Recurrence == nil {
		return d.Recurrence == nil && stored.Recurrence == nil
	}
	given, rest := *withoutEmpty(d.Recurrence), *withoutEmpty(stored.Recurrence)
	if sameJSON(&given, &rest) {
		return true
	}
	p.dropExtensions(&rest, n.Member("recurrence"))
	return sameJSON(&given, &rest)
}
