package calendars

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/internal/grid"
)

// A BlackoutPolicy is what becomes of an occurrence in a blackout.
type BlackoutPolicy int

// The policies of blackouts.
const (
	SkipInBlackout BlackoutPolicy = iota
	RunAtEnd                      // it is due at the first instant in no blackout
	NextAllowedDay                // it has the same time of day on the next working day in no blackout
)

var blackoutPolicies = [...]string{"skip", "runAtEnd", "nextAllowedDay"}

// ParseBlackoutPolicy returns the policy with that name.
func ParseBlackoutPolicy(name string) (BlackoutPolicy, bool) {
	i := slices.Index(blackoutPolicies[:], name)
	return BlackoutPolicy(max(i, 0)), i >= 0
}

// A Blackout is a time in which nothing is to start. It has one of three forms: a stretch (Start and End), times of day
// (Clock), or whole days (neither). The latter two have WeekDays, or First and Last, or both; times of day need none.
type Blackout struct {
	Name    string
	OnMatch BlackoutPolicy
	KeepAll bool // of what RunAtEnd holds, all run, and not the latest alone
	Shared  bool // it is one of the collection, which makes no difference but for who reads of it

	Start, End time.Time // End is outside

	Clock       bool
	From, Until time.Duration // of the day; an Until that is not later is on the next day

	WeekDays    []time.Weekday // of the day on which it begins; none: all
	First, Last *Date          // likewise; nil: all

	Location *time.Location // nil: that of the job
}

// The longest time that a blackout holds a run, and how many it holds.
const (
	maxHeld  = 100 * 24 * 3600
	keptHeld = 100
)

// CheckBlackouts returns an error for each bad blackout. elapsed says that the job has a rule of minutes or hours, and
// shared that they are those of a collection.
func CheckBlackouts(all []Blackout, elapsed, shared bool) error {
	var errs []error
	bad := func(is bool, field string, value any, allowed string) {
		if is {
			errs = append(errs, &recurrence.FieldError{Field: field, Value: value, Allowed: allowed})
		}
	}
	bad(len(all) > MaxBlackouts, "Blackouts", len(all), fmt.Sprintf("at most %d", MaxBlackouts))
	for i := range all {
		b, field := &all[i], fmt.Sprintf("Blackouts[%d]", i)
		stretch := !b.Start.IsZero() || !b.End.IsZero()
		bad(stretch && b.Start.IsZero(), field+".From", nil, "a time before Until")
		bad(stretch && !b.Start.IsZero() && !b.End.After(b.Start), field+".Until", b.End, "a time after its beginning")
		besides := b.Clock || len(b.WeekDays) > 0 || b.First != nil || b.Last != nil
		bad(stretch && besides, field+".From", b.Start, "times of day, beside days")
		bad(b.Clock && b.From == b.Until, field+".Until", b.Until.String(), "another time than From")
		bad(!stretch && !b.Clock && len(b.WeekDays) == 0 && b.First == nil && b.Last == nil, field+".From", nil, "From and Until, WeekDays, or First and Last")
		bad(b.First != nil && b.Last == nil, field+".Last", nil, "a date beside First")
		bad(b.First == nil && b.Last != nil, field+".First", nil, "a date beside Last")
		bad(b.First != nil && b.Last != nil && *b.Last < *b.First, field+".Last", "earlier", "a date that is not before First")
		bad(b.KeepAll && b.OnMatch != RunAtEnd, field+".Keep", "all", "only with runAtEnd")
		bad(b.OnMatch == NextAllowedDay && (elapsed || shared), field+".OnMatch", "nextAllowedDay", "skip or runAtEnd here")
		bad(shared && b.Location == nil && !stretch, field+".TimeZone", nil, "a time zone")
	}
	return errors.Join(errs...)
}

// covers returns from and until when a blackout lasts in which an instant is.
func (b *Blackout) covers(t int64, zone *time.Location) (start, end int64, ok bool) {
	if !b.Start.IsZero() {
		return b.Start.Unix(), b.End.Unix(), t >= b.Start.Unix() && t < b.End.Unix()
	}
	if b.Location != nil {
		zone = b.Location
	}
	today := date(t, zone)
	for day := today; day >= today-1; day-- {
		if start, end, ok = b.on(day, zone); ok && t >= start && t < end {
			return start, end, true
		}
	}
	return 0, 0, false
}

// on returns from and until when a blackout of days or times of day lasts that begins on a date; false if none does.
func (b *Blackout) on(day Date, zone *time.Location) (start, end int64, ok bool) {
	if !b.begins(day) {
		return 0, 0, false
	}
	from, until, next := int64(0), int64(0), Date(1)
	if b.Clock {
		from, until = int64(b.From/time.Second), int64(b.Until/time.Second)
		if until > from {
			next = 0
		}
	}
	return grid.Wall(zone, int64(day)*secondsPerDay+from), grid.Wall(zone, int64(day+next)*secondsPerDay+until), true
}

// begins reports whether the blackout begins on a date.
func (b *Blackout) begins(d Date) bool {
	return (len(b.WeekDays) == 0 || slices.Contains(b.WeekDays, d.weekday())) && (b.First == nil || *b.First <= d && d <= *b.Last)
}

// covering returns the first blackout in which an instant is, and until when that lasts; -1 for none.
func (p *Plan) covering(t int64) (int, int64) {
	for i := range p.in.Blackouts {
		if _, end, ok := p.in.Blackouts[i].covers(t, p.uses.zone); ok {
			return i, end
		}
	}
	return -1, 0
}

// coveredSince returns the first instant from which on, up to an instant, all are in blackouts, at most as long ago as a
// blackout holds a run.
func (p *Plan) coveredSince(t int64) int64 {
	since := t
	for earlier := true; earlier && t-since <= maxHeld; {
		earlier = false
		for i := range p.in.Blackouts {
			if start, _, ok := p.in.Blackouts[i].covers(since-1, p.uses.zone); ok {
				since, earlier = start, true
				break
			}
		}
	}
	return since
}

// allowed returns the first instant from t on that is in no blackout; false if that is not within the limit of from.
func (p *Plan) allowed(t, from int64) (int64, bool) {
	for t-from <= maxHeld {
		i, end := p.covering(t)
		if i < 0 {
			return t, true
		}
		t = end
	}
	return 0, false
}

// allowedDay returns the first of the dates from first on, to last, that is a working day on which a time of day is in no
// blackout and not before an instant.
func (p *Plan) allowedDay(first, last Date, clock, from int64) (int64, bool) {
	for d := first; d <= last; d++ {
		t := p.uses.at(d, clock)
		if t < from {
			continue
		}
		object, _ := p.uses.objects(t, date(t, p.uses.zone))
		if i, _ := p.covering(t); object < 0 && i < 0 {
			return t, true
		}
	}
	return 0, false
}
