package job

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// A Blackout is a time in which no occurrence starts. It has one of three forms: From and Until are two times of day, begun
// on the days that WeekDays, and First to Last, allow; they are two dates and times; or there are none, and it is those
// days, whole. Until is outside. Its JSON is both the wire form and the stored form.
type Blackout struct {
	Name     string   `json:"name" field:"required"`
	OnMatch  string   `json:"onMatch" field:"required,enum=skip|runAtEnd|nextAllowedDay"`
	Keep     string   `json:"keep,omitempty" field:"enum=latest"` // of what runAtEnd holds, the latest alone runs
	From     string   `json:"from,omitempty" field:"rule=clockOrTime"`
	Until    string   `json:"until,omitempty" field:"rule=clockOrTime"`
	WeekDays []string `json:"weekDays,omitempty" field:"enum=monday|tuesday|wednesday|thursday|friday|saturday|sunday"`
	First    string   `json:"first,omitempty" field:"rule=date"`
	Last     string   `json:"last,omitempty" field:"rule=date"`
	TimeZone string   `json:"timeZone,omitempty" field:"rule=timeZone"` // "": that of the job

	Shared bool `json:"shared,omitempty" field:"stored"` // it is one of the job's collection
}

// A BlackoutUse is the blackout that decided about an occurrence.
type BlackoutUse struct {
	Name   string `json:"name"`
	Shared bool   `json:"collection,omitempty"` // it is one of the job's collection
}

// String returns the blackout in English.
func (b *BlackoutUse) String() string {
	if b.Shared {
		return "the blackout " + b.Name + " of the job collection"
	}
	return "the blackout " + b.Name
}

// BlackoutOf returns the blackout that decides about an occurrence; nil if none does.
func BlackoutOf(o *calendars.Occurrence) *BlackoutUse {
	if o.Blackout == "" {
		return nil
	}
	return &BlackoutUse{Name: o.Blackout, Shared: o.Shared}
}

// ByDays reports whether calendars or blackouts say when the job runs.
func (d *Definition) ByDays() bool { return d.Recurrence.ByCalendars() || len(d.Blackouts) > 0 }

// ByDays is [Definition.ByDays].
func (o *Outline) ByDays() bool { return o.Recurrence.ByCalendars() || len(o.Blackouts) > 0 }

// Under returns the definition with the blackouts of a collection after its own, by which the job runs. It is not one
// that users write.
func (d *Definition) Under(shared []Blackout) *Definition {
	if len(shared) == 0 {
		return d
	}
	under := *d
	under.Blackouts = AllBlackouts(d.Blackouts, shared)
	return &under
}

// AllBlackouts returns the blackouts of a job, and then those of its collection.
func AllBlackouts(own, shared []Blackout) []Blackout {
	all := slices.Clone(own)
	for _, b := range shared {
		b.Shared = true
		all = append(all, b)
	}
	return all
}

// blackoutZone returns the zone of the job's days; nil for UTC.
func (d *Definition) blackoutZone() *time.Location {
	if d.Recurrence == nil {
		return nil
	}
	loc, _ := d.Recurrence.Location() // whose error others report
	return loc
}

// Closing returns the blackout in which a time is, with its end; nil for none. The error is that of [ReadBlackouts].
func (d *Definition) Closing(at time.Time) (*calendars.Closing, error) {
	if len(d.Blackouts) == 0 {
		return nil, nil //nolint:nilnil // as documented
	}
	loc := d.blackoutZone()
	all, err := ReadBlackouts("blackouts", d.Blackouts, loc)
	if err != nil {
		return nil, err
	}
	return calendars.Closed(all, at, loc), nil
}

// The limits of a blackout: of its name, in characters, and of its beginning and its end. A job has those of its collection
// in its state, and the history has the name.
const (
	maxBlackoutName = 80
	maxBlackoutTime = 35
)

// ReadBlackouts returns the blackouts of a job whose days are those of a zone, ready for use. The error joins a
// [*FieldError] for each bad one, with its path from that of the list on.
func ReadBlackouts(path string, all []Blackout, zone *time.Location) ([]calendars.Blackout, error) {
	var out []calendars.Blackout
	var errs []error
	for i := range all {
		b, err := all[i].Read(fields.ItemPath(path, i), zone)
		errs = append(errs, err)
		out = append(out, b)
	}
	return out, errors.Join(errs...)
}

// CheckBlackoutName returns the error of a name that no blackout can have; nil if there is none.
func CheckBlackoutName(name string) *FieldError { return checkName("", name, maxBlackoutName) }

// CheckBlackout returns what is wrong with a blackout at a path that [Blackout.Read] returned. elapsed and shared are those
// of [calendars.CheckBlackouts].
func CheckBlackout(path string, b *calendars.Blackout, elapsed, shared bool) (bad []*FieldError) {
	for _, f := range fields.Joined[*recurrence.FieldError](calendars.CheckBlackouts([]calendars.Blackout{*b}, elapsed, shared)) {
		_, member, _ := strings.Cut(f.Field, "].")
		e := &FieldError{Path: path + "." + strings.ToLower(member[:1]) + member[1:], Code: fields.Invalid, Allowed: blackoutWords.Replace(f.Allowed)}
		if f.Value == nil {
			e.Code = fields.Required
		}
		bad = append(bad, e)
	}
	return bad
}

// blackoutWords are the names of members in errors of package calendars.
var blackoutWords = strings.NewReplacer("From", "from", "Until", "until", "WeekDays", "weekDays", "First", "first", "Last", "last",
	"skip or runAtEnd here", "skip or runAtEnd with a rule of minutes or hours, and in a job collection")

var clockTime = regexp.MustCompile(`^([01]\d|2[0-3]):([0-5]\d)$`)

// IsClock reports whether a text is a time of day such as 22:00.
func IsClock(text string) bool { return clockTime.MatchString(text) }

// Read returns the blackout at a path, ready for use, for a job whose days are those of a zone. The error joins a
// [*FieldError] for each bad member.
func (b *Blackout) Read(path string, zone *time.Location) (calendars.Blackout, error) {
	out, errs := b.read(path, zone)
	return out, errors.Join(errs...)
}

func (b *Blackout) read(path string, zone *time.Location) (out calendars.Blackout, errs []error) {
	bad := func(member, value, allowed string) {
		errs = append(errs, &FieldError{Path: path + "." + member, Code: fields.Invalid, Value: value, Allowed: allowed})
	}
	out = calendars.Blackout{Name: b.Name, Shared: b.Shared, KeepAll: b.Keep == "all"}
	var ok bool
	if out.OnMatch, ok = calendars.ParseBlackoutPolicy(b.OnMatch); !ok {
		bad("onMatch", b.OnMatch, "skip, runAtEnd or nextAllowedDay")
	}
	if b.Keep != "" && ok && out.OnMatch != calendars.RunAtEnd {
		bad("keep", b.Keep, "only with runAtEnd")
	}
	if b.TimeZone != "" {
		loc, err := recurrence.LoadLocation(b.TimeZone)
		if err != nil {
			bad("timeZone", b.TimeZone, AllowedTimeZones)
		}
		zone, out.Location = loc, loc
	}
	if len(b.WeekDays) > len(weekdays) {
		errs = append(errs, &FieldError{Path: path + ".weekDays", Code: fields.TooMany, Allowed: "at most 7"})
	}
	for _, day := range b.WeekDays {
		out.WeekDays = append(out.WeekDays, weekdays[day])
	}
	for _, d := range []struct {
		member, text string
		to           **calendars.Date
	}{{"first", b.First, &out.First}, {"last", b.Last, &out.Last}} {
		if d.text == "" {
			continue
		}
		date, err := calendars.ParseDate(d.text)
		if err != nil {
			bad(d.member, d.text, "a date such as 2026-01-31")
		}
		*d.to = &date
	}
	switch {
	case b.From == "" && b.Until == "":
	case b.From == "":
		errs = append(errs, &FieldError{Path: path + ".from", Code: fields.Required, Allowed: "a time of day, or a date and time, beside until"})
	case b.Until == "":
		errs = append(errs, &FieldError{Path: path + ".until", Code: fields.Required, Allowed: "a time of day, or a date and time, beside from"})
	case len(b.From) > maxBlackoutTime:
		errs = append(errs, &FieldError{Path: path + ".from", Code: fields.TooLong, Allowed: fmt.Sprintf("at most %d characters", maxBlackoutTime)})
	case len(b.Until) > maxBlackoutTime:
		errs = append(errs, &FieldError{Path: path + ".until", Code: fields.TooLong, Allowed: fmt.Sprintf("at most %d characters", maxBlackoutTime)})
	case IsClock(b.From) != IsClock(b.Until):
		bad("until", b.Until, "like from: two times of day such as 22:00, or two dates and times")
	case IsClock(b.From):
		out.Clock, out.From, out.Until = true, clockOf(b.From), clockOf(b.Until)
	default:
		var err error
		if out.Start, err = recurrence.ParseTime(b.From, zone); err != nil {
			bad("from", b.From, AllowedClockOrTime)
		}
		if out.End, err = recurrence.ParseTime(b.Until, zone); err != nil {
			bad("until", b.Until, AllowedClockOrTime)
		}
	}
	return out, errs
}

// AllowedClockOrTime describes the beginning and the end of a blackout, for errors.
const AllowedClockOrTime = "a time of day such as 22:00, or a date and time such as 2026-01-31T22:00:00"

// clockOf returns a time of day as the time since midnight.
func clockOf(text string) time.Duration {
	hour, _ := strconv.Atoi(text[:2]) // it is a time of day
	minute, _ := strconv.Atoi(text[3:])
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
}

// Text returns the blackout in English, to stand after a rule.
func (b *Blackout) Text() string {
	var when string
	switch {
	case b.From != "" && !IsClock(b.From):
		when = "from " + b.From + " until " + b.Until
	case b.From != "":
		when = b.From + "–" + b.Until
	}
	if len(b.WeekDays) > 0 {
		days := make([]string, len(b.WeekDays))
		for i, day := range b.WeekDays {
			days[i] = strings.ToUpper(day[:1]) + day[1:]
		}
		when = strings.TrimSpace(when + " on " + strings.Join(days, ", "))
	}
	if b.First != "" {
		when = strings.TrimSpace(when + " from " + b.First + " to " + b.Last)
	}
	text := "not in the blackout " + b.Name + " (" + when
	if b.TimeZone != "" {
		text += ", " + b.TimeZone
	}
	text += ")"
	switch b.OnMatch {
	case "runAtEnd":
		return text + ", but at its end"
	case "nextAllowedDay":
		return text + ", but on the next day outside it"
	}
	return text
}
