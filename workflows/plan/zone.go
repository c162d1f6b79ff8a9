package plan

import (
	"fmt"
	"slices"
	"time"

	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Zone is what a plan depends on beside the definition: a release of the time zone database, and what it says of the
// job's zone. It is recorded with the plan, so that a worker with another release finds which local times were planned.
type Zone struct {
	Name    string `json:"name,omitempty"` // as in the definition
	Release string `json:"release"`
	Rules   string `json:"rules"` // a hash of the zone's rules; see [almanac/recurrence.Zones.Rules]
	// of local time at what was planned, oldest first; each until the next one
	Offsets []Offset `json:"offsets,omitempty"`
}

// An Offset is how far local time is ahead of UTC from a time on, in seconds.
type Offset struct {
	From    int64 `json:"from"`
	Seconds int   `json:"seconds"`
}

// A Moved says what a plan made of an earlier one, which was planned by other rules of the time zone.
type Moved struct {
	Release string      `json:"release,omitempty"` // of the earlier plan
	Times   []time.Time `json:"times"`             // [Request.Times]: when local time is now what it was then
	Was     time.Time   `json:"was,omitzero"`      // when the next occurrence was due; zero: none was
	Is      time.Time   `json:"is,omitzero"`       // when the next one is due now; likewise
	Start   time.Time   `json:"start,omitzero"`    // the start time now, if the job has it as a local time
	End     time.Time   `json:"end,omitzero"`      // the end of the recurrence, likewise
}

// zone returns the zone of a request's timetable; nil if its occurrences follow from none.
func (r *Request) zone(p *timetable.Timetable) *Zone {
	release, rules := p.Zone()
	if rules == "" {
		return nil
	}
	return &Zone{Name: r.Recurrence.TimeZone, Release: release, Rules: rules}
}

// Outdated reports whether a plan by z has to be made again by the rules of a release: it is newer, and the zone has
// other rules in it.
func (z *Zone) Outdated(release, rules string) bool {
	return z != nil && z.Release < release && z.Rules != rules
}

// note records the offset of the zone at each of the times.
func (z *Zone) note(p *timetable.Timetable, times []time.Time) {
	times = slices.SortedFunc(slices.Values(times), time.Time.Compare)
	for _, t := range times {
		if t.IsZero() {
			continue
		}
		seconds := p.Offset(t)
		if n := len(z.Offsets); n == 0 || z.Offsets[n-1].Seconds != seconds {
			z.Offsets = append(z.Offsets, Offset{From: t.Unix(), Seconds: seconds})
		}
	}
}

// offset returns the offset that was recorded for a time.
func (z *Zone) offset(t time.Time) int {
	seconds := 0
	for i, o := range z.Offsets {
		if i == 0 || o.From <= t.Unix() {
			seconds = o.Seconds
		}
	}
	return seconds
}

// Local returns a planned time with the offset that was recorded for it; in UTC for nil.
func (z *Zone) Local(t time.Time) time.Time {
	if z == nil {
		return t.UTC()
	}
	return t.In(time.FixedZone("", z.offset(t)))
}

// LocalTimes returns each of the times as [Zone.Local] does.
func (z *Zone) LocalTimes(times []time.Time) []time.Time {
	var local []time.Time
	for _, t := range times {
		local = append(local, z.Local(t))
	}
	return local
}

// at returns the zone with its offset at one time alone; nil for nil.
func (z *Zone) at(p *timetable.Timetable, t time.Time) *Zone {
	if z == nil {
		return nil
	}
	one := *z
	one.Offsets = nil
	one.note(p, []time.Time{t})
	return &one
}

// Occurrence returns what distinguishes an occurrence from others of a job, for its id: its nominal time as local time,
// or of a schedule of working days its month, number and time of day.
func (z *Zone) Occurrence(i calendars.Identity) string {
	if i.Number != 0 {
		return fmt.Sprintf("working day %d of %04d-%02d at %d", i.Number, i.Month/12, i.Month%12+1, i.Clock)
	}
	return z.Local(i.Nominal).Format(time.RFC3339) // newer time zones may give two local times one instant
}
