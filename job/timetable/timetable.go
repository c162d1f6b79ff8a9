// Package timetable computes when a job runs, from its definition.
package timetable

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// A Timetable computes when a job runs. It combines what package recurrence computes of
// the calendar with the rules of the service: a job without a start time runs once
// at once, and then on its schedule; a start time in the past only sets the phase,
// so that instants before the creation are discarded; a job without a recurrence
// runs once.
//
// It is immutable and safe for concurrent use. It returns times in UTC, in whole
// seconds, and none later than the year 9999.
type Timetable struct {
	schedule *recurrence.Series // without an end; nil: the job runs once
	start    int64              // the start time, or else created
	created  int64
	atOnce   bool // the job repeats, and its first run is due when it is created
	later    bool // the first run is due after the creation, not at it
	end      int64
	count    int
	skipped  []int64          // in order
	windows  []job.SkipWindow // times in which every occurrence is skipped, apart and in order
	decided  []int64          // nominal times that calendars made due before them, and that are decided
	zone     string           // name of the time zone; "": UTC
	plan     *calendars.Plan  // by calendars; nil: it has none, and due times are nominal
	numbered []calendars.Numbered
	before   []Kept // occurrences that are due before the plan
	moves    bool   // calendars or blackouts may make an occurrence due at another than its nominal time

	blackouts []calendars.Blackout // of the plan
}

// maxIntervals holds the longest interval of each frequency: a thousand of the
// short ones, and no more than 18 months of the others.
var maxIntervals = map[recurrence.Frequency]int{
	recurrence.Hour: 1000, recurrence.Day: 548, recurrence.Week: 78, recurrence.Month: 18, recurrence.Year: 1,
}

// New returns when the job of a definition runs that a user writes. created is when the job was created, now
// when it is written; both are cut to whole seconds. If fields are bad, the error
// joins a [*job.FieldError] for each of them, with its path within the properties. A
// start more than 18 months after now is bad, and so is a schedule that is not due
// within 100 years.
func New(d *job.Definition, created, now time.Time) (*Timetable, error) {
	if err := Check(d, created, now); err != nil {
		return nil, err
	}
	return Of(d, created)
}

// ErrCalendars is the error of a timetable that needs calendars, and is made without them: see [NominalTimes].
var ErrCalendars = errors.New("the job runs by calendars, which were not read")

// Of returns when the job of a stored definition runs. It was accepted once, so only what it says matters, and not
// whether [New] would accept it now: rules may have become stricter since, and a schedule that was due within 100 years
// may be due in 800 next. The error means that this program cannot read it, since its time zone is unknown here
// or a newer version accepted it; it is [ErrCalendars] if the job runs by calendars.
func Of(d *job.Definition, created time.Time) (*Timetable, error) {
	return With(d, created, nil, created, nil)
}

// NominalTimes is [Of] for a job with calendars: it returns the nominal times, with the working days of these calendars.
// [Timetable.By] makes due times of them. Without calendars and blackouts it is Of.
func NominalTimes(d *job.Definition, created time.Time, uses []calendars.Use) (*Timetable, error) {
	t := &Timetable{start: created.Unix(), created: created.Unix(), atOnce: d.Recurrence != nil, end: math.MaxInt64}
	anchor := created
	if d.StartTime != nil {
		anchor = d.StartTime.Time
		t.start, t.atOnce = anchor.Unix(), false
	}
	r := d.Recurrence
	if r == nil {
		var err error
		t.blackouts, err = job.ReadBlackouts("blackouts", d.Blackouts, nil)
		return t, err
	}
	loc, err := r.Location()
	if err != nil {
		return nil, err
	}
	if t.blackouts, err = job.ReadBlackouts("blackouts", d.Blackouts, loc); err != nil {
		return nil, err
	}
	if start, ok := local(d.Local, loc, func(l *job.LocalTimes) string { return l.Start }); ok && d.StartTime != nil {
		anchor, t.start = start, start.Unix()
	}
	if t.atOnce && r.Notated() {
		t.atOnce, t.later = false, true
	}
	if t.schedule, t.numbered, err = r.SeriesBy(anchor, uses); err == nil && t.atOnce && t.schedule.Excludes(anchor) {
		t.atOnce = false
	}
	t.count, t.zone = r.Count, r.TimeZone
	if r.EndTime != nil {
		t.end = r.EndTime.Unix()
		if end, ok := local(d.Local, loc, func(l *job.LocalTimes) string { return l.End }); ok {
			t.end = end.Unix()
		}
	}
	return t, err
}

// local returns the instant of a local time; false if there is none.
func local(l *job.LocalTimes, zone *time.Location, which func(*job.LocalTimes) string) (time.Time, bool) {
	if l == nil || zone == nil || which(l) == "" {
		return time.Time{}, false
	}
	at, err := recurrence.ParseTime(which(l), zone)
	return at, err == nil
}

// FromOutline returns when the job of an outline runs that has no blackouts; see [Of].
func FromOutline(o *job.Outline) (*Timetable, error) {
	if o.Recurrence.ByCalendars() {
		return nil, ErrCalendars
	}
	return NominalFromOutline(o)
}

// NominalFromOutline returns when the job of an outline fires, whatever its calendars and blackouts make of it.
func NominalFromOutline(o *job.Outline) (*Timetable, error) {
	t, err := NominalTimes(&job.Definition{StartTime: o.StartTime, Recurrence: o.Recurrence}, o.Created, nil)
	if err != nil {
		return nil, err
	}
	return t.Without(o.Skips, o.SkipWindows...), nil
}

// Without returns the timetable without the occurrences that are due at the given times, or in one of the windows.
func (t *Timetable) Without(skipped []time.Time, windows ...job.SkipWindow) *Timetable {
	rest := *t
	rest.skipped, rest.windows = slices.Clone(t.skipped), job.MergeWindows(slices.Concat(t.windows, windows))
	for _, at := range skipped {
		rest.skipped = append(rest.skipped, at.Unix())
	}
	slices.Sort(rest.skipped)
	return &rest
}

// schedule returns the recurrence without its end and its count. The error joins a [*job.FieldError] for each bad
// field.
func schedule(r *job.Recurrence, anchor time.Time) (*recurrence.Schedule, error) {
	rule, err := r.Rule(anchor)
	if err != nil {
		return nil, err
	}
	rule.End, rule.Count = time.Time{}, 0
	own := intervalError("recurrence.interval", r.Frequency, r.Interval)
	if own != nil {
		rule.Interval = 0
	}
	if r.Count < 0 || r.Count > math.MaxInt32 {
		own = append(own, &job.FieldError{Path: "recurrence.count", Code: fields.OutOfRange, Value: r.Count, Allowed: fmt.Sprintf("1 to %d", math.MaxInt32)})
	}
	schedule, err := recurrence.New(rule, anchor)
	if own == nil && (err == nil || errors.Is(err, recurrence.ErrNever)) {
		return schedule, err
	}
	// The fields that the frequency rules out come first, then those above, and the
	// elements of lists last.
	var errs []error
	for _, f := range fields.Joined[*recurrence.FieldError](err) {
		path := "startTime"
		if f.Field != "Anchor" {
			path = job.RulePath("recurrence", f.Field)
		}
		if own != nil && strings.Contains(path, "[") {
			errs, own = append(errs, own...), nil
		}
		errs = append(errs, job.RuleError(path, f))
	}
	return nil, errors.Join(append(errs, own...)...)
}

// First returns the job's first occurrence, as of its creation, or false if it
// has none. That is the creation itself if the job has no start time, or runs
// once and should have started before; the start time if the job runs once and
// starts later; and else the first instant of the schedule from the creation on.
func (t *Timetable) First() (time.Time, bool) { return t.kept(t.due(t.created)) }

// After returns the first occurrence after at, or false if there is none. It
// ignores [Timetable.Count]: only the caller has the number of started executions.
func (t *Timetable) After(at time.Time) (time.Time, bool) {
	return t.kept(t.due(min(at.Unix(), math.MaxInt64-1) + 1))
}

// kept returns an occurrence, or the first one after it that is not skipped.
func (t *Timetable) kept(next time.Time, ok bool) (time.Time, bool) {
	if t.plan != nil {
		return t.keptBy(next, ok, func(at time.Time) (time.Time, bool) { return t.due(at.Unix() + 1) })
	}
	for ok {
		switch w := t.window(next); {
		case w != nil:
			next, ok = t.due(ceil(w.Until))
		case slices.Contains(t.skipped, next.Unix()):
			next, ok = t.due(next.Unix() + 1)
		default:
			return next, true
		}
	}
	return next, ok
}

// window returns the window in which an occurrence is skipped; nil if there is none.
func (t *Timetable) window(at time.Time) *job.SkipWindow {
	for i := range t.windows {
		if t.windows[i].Has(at) {
			return &t.windows[i]
		}
	}
	return nil
}

// FromAnchor returns the timetable with the occurrences since the anchor of the recurrence, those before the job was
// created included, and without an end.
func (t *Timetable) FromAnchor() *Timetable {
	all := *t
	all.created = min(t.created, t.start)
	all.skipped, all.windows, all.decided = nil, nil, nil
	return &all
}

// ceil returns the first whole second that is not before at.
func ceil(at time.Time) int64 {
	if at.Nanosecond() > 0 {
		return at.Unix() + 1
	}
	return at.Unix()
}

// Last returns the last occurrence at or before by, or false if there is none. Like After it takes no account of
// [Timetable.Count].
func (t *Timetable) Last(by time.Time) (time.Time, bool) {
	last, ok := t.last(by.Unix())
	if t.plan != nil {
		return t.keptBy(last, ok, func(at time.Time) (time.Time, bool) { return t.last(at.Unix() - 1) })
	}
	for ok {
		switch w := t.window(last); {
		case w != nil:
			last, ok = t.last(ceil(w.From) - 1)
		case slices.Contains(t.skipped, last.Unix()):
			last, ok = t.last(last.Unix() - 1)
		default:
			return last, true
		}
	}
	return last, ok
}

// earliest returns when the schedule's first instant can be at the earliest.
func (t *Timetable) earliest() int64 {
	if t.later {
		return t.created + 1
	}
	return t.created
}

// last returns the last occurrence at or before by, skipped or not.
func (t *Timetable) last(by int64) (time.Time, bool) {
	if t.plan != nil {
		return t.lastBy(by)
	}
	to := min(by, t.end)
	once := max(t.start, t.created)
	if t.schedule != nil {
		if last, ok := t.schedule.Prev(time.Unix(to, 1)); ok && last.Unix() >= t.earliest() {
			if t.isDecided(last.Unix()) {
				return t.last(last.Unix() - 1)
			}
			return last, true
		}
		once = t.created
	}
	if once > to || t.schedule != nil && !t.atOnce || t.isDecided(once) {
		return time.Time{}, false
	}
	return time.Unix(once, 0).UTC(), true
}

// From returns where the plan of a job continues that was enabled or changed at some time: the
// first instant of the schedule then or later, or for a job that runs once its
// start time, or else its creation, unless that has passed. Nothing runs at once.
// The fraction of at is cut off, so that an instant in at's own second counts.
func (t *Timetable) From(at time.Time) (time.Time, bool) {
	if t.schedule == nil && t.plan == nil {
		return t.kept(t.once(t.start, at.Unix()))
	}
	return t.kept(t.scheduled(at.Unix()))
}

// Excluded returns the index of the exclusion of the recurrence without which an occurrence would be due at a time, and
// whether there is one.
func (t *Timetable) Excluded(at time.Time) (index int, ok bool) {
	if t.schedule == nil || at.Unix() < t.earliest() || at.Unix() > t.end {
		return 0, false
	}
	return t.schedule.Removed(at)
}

// Span returns the start time and the end of the job, as whole seconds; they are instants of the zone if the job has
// them as local times. They have no meaning for a job without them.
func (t *Timetable) Span() (start, end time.Time) {
	return time.Unix(t.start, 0).UTC(), time.Unix(t.end, 0).UTC()
}

// Zone returns the release of the time zone database from which the occurrences follow, and [recurrence.Zones.Rules] of
// the job's zone in it. They are "" if the occurrences follow from no time zone, or the release is not known.
func (t *Timetable) Zone() (release, rules string) {
	zones := recurrence.CurrentZones()
	if zones == nil || t.schedule == nil || t.zone == "" || !t.schedule.FollowsClock() {
		return "", ""
	}
	if rules = zones.Rules(t.zone); rules == "" {
		return "", ""
	}
	return zones.Release(), rules
}

// Offset returns how far local time in the job's zone is ahead of UTC at a time, in seconds.
func (t *Timetable) Offset(at time.Time) int {
	if t.schedule == nil {
		return 0
	}
	return t.schedule.Offset(at)
}

// Resume returns the time after which the plan of a job continues that was made up to at when local time was offset
// seconds ahead of UTC then: see [recurrence.Schedule.Resume]. That can be before the creation of the job: see
// [Timetable.Since]. The run at once follows from no local time, and is not planned again.
func (t *Timetable) Resume(at time.Time, offset int) time.Time {
	if t.schedule == nil {
		return at
	}
	resumed := t.schedule.Resume(at, offset)
	if t.atOnce && at.Unix() >= t.created && resumed.Unix() < t.created {
		return time.Unix(t.created, 0).UTC()
	}
	return resumed
}

// Since returns the timetable of a plan that continues after a time, which may be before the creation of the job: an
// hour that moved has taken there what was due after the creation. A job that runs at once when it is created has
// nothing before that.
func (t *Timetable) Since(after time.Time) *Timetable {
	if t.schedule == nil || t.atOnce || after.Unix() >= t.created-1 {
		return t
	}
	since := *t
	since.created, since.later = after.Unix()+1, false
	return &since
}

// Count returns how many occurrences the job has at most, or 0 for no limit.
func (t *Timetable) Count() int { return t.count }

// Spacing returns the least time between two occurrences of the schedule that
// follow each other, or 0 for a job that runs once. See [recurrence.Schedule.Spacing].
func (t *Timetable) Spacing() time.Duration {
	if t.schedule == nil {
		return 0
	}
	return t.schedule.Spacing()
}

// All returns all occurrences of a job that is left to itself: First, and then
// After the one before, until the end or until its count is used up. It may go on
// for thousands of years.
func (t *Timetable) All() iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		next, ok := t.First()
		for n := 1; ok && yield(next) && n != t.count; n++ {
			next, ok = t.After(next)
		}
	}
}

// due returns the first occurrence at or after from.
func (t *Timetable) due(from int64) (time.Time, bool) {
	if t.plan != nil {
		return t.scheduled(from)
	}
	from = max(from, t.created)
	switch {
	case t.schedule == nil:
		return t.once(max(t.start, t.created), from)
	case t.atOnce && from == t.created:
		return t.until(time.Unix(t.created, 0).UTC(), true)
	case t.later:
		return t.scheduled(max(from, t.earliest()))
	default:
		return t.scheduled(from)
	}
}

// scheduled returns the first instant of the schedule at or after from.
func (t *Timetable) scheduled(from int64) (time.Time, bool) {
	if t.plan != nil {
		if due, ok := t.firstKept(from); ok {
			return due, true
		}
		_, due, ok := t.plan.Due(time.Unix(from-1, 0))
		return due, ok
	}
	for {
		next, ok := t.until(t.schedule.Next(time.Unix(from-1, 0)))
		if !ok || !t.isDecided(next.Unix()) {
			return next, ok
		}
		from = next.Unix() + 1
	}
}

// once returns the occurrence of a job that runs once, unless it is before from.
func (t *Timetable) once(at, from int64) (time.Time, bool) {
	return t.until(time.Unix(at, 0).UTC(), at >= from && !t.isDecided(at))
}

// until drops an occurrence that is none or comes after the end.
func (t *Timetable) until(at time.Time, ok bool) (time.Time, bool) {
	if !ok || at.Unix() > t.end {
		return time.Time{}, false
	}
	return at, true
}
