package job

import (
	"math"
	"slices"
	"time"

	"almanac/recurrence"
)

// ParseOptions are the context in which a definition is parsed.
type ParseOptions struct {
	Limits  *Limits     // nil: DefaultLimits
	Now     time.Time   // time of the request; required
	Created time.Time   // time of the job's creation; zero: Now
	Stored  *Definition // the redacted definition to be replaced; nil for a new job
	ID      string      // the job's resource ID; a body with another one is refused, compared without case; empty: any

	// Check returns an error for an action that would fail on every attempt, its error action aside. The
	// text is shown. nil means that no action is refused.
	Check func(*Action) error

	actionless bool // the action may be absent
}

func (o ParseOptions) withDefaults() ParseOptions {
	o.Limits = o.Limits.orDefault()
	if o.Created.IsZero() {
		o.Created = o.Now
	}
	return o
}

// ParseDefinition parses the body of a PUT of a job: a definition, either under "properties" or at the top.
//
// A secret may be left out if o.Stored has the same identity and target; [Definition.KeepSecrets] fills it
// in later. If o.Stored is in a final state, the body may have a final state too, since clients send back
// what they read. It means [StateEnabled], like an absent state. The error is an [*Error] of KindInvalid
// that lists every bad field.
func ParseDefinition(body []byte, o ParseOptions) (Definition, error) {
	o = o.withDefaults()
	if err := o.Limits.checkSize(body); err != nil {
		return Definition{}, err
	}
	tree, err := parseObject(body)
	if err != nil {
		return Definition{}, err
	}
	b := newBinder(o.Limits)
	b.checkID(tree, o.ID)
	props, ok := b.properties(tree, definitionMembers...)
	if !ok {
		return Definition{}, b.err("job")
	}
	d := b.definition(props, o)
	b.checkActions(props.at("action"), &d.Action, o.Check)
	if err := b.err("job"); err != nil {
		return Definition{}, err
	}
	return d, d.checkStored()
}

// Check returns an error for a definition that [ParseDefinition] cannot return, because it did not come
// through the API. d must have all its secrets. Limits that an operator may change are not checked. The
// error is an [*Error] of KindInvalid.
func (d *Definition) Check(now, created time.Time) error {
	text, err := plainJSON(d)
	if err != nil {
		return badRequest("The job is not valid: %v", err)
	}
	const most = math.MaxInt32
	limits := &Limits{
		JobBytes: most, URIBytes: most, BodyBytes: most, Headers: most, HeaderBytes: most,
		MaxRetryInterval: math.MaxInt64, MaxRetryCount: most, MaxCatchUpWindow: math.MaxInt64,
	}
	_, err = ParseDefinition(text, ParseOptions{Limits: limits, Now: now, Created: created})
	return err
}

var (
	envelopeMembers   = []string{"id", "name", "type", "location", "tags"}
	definitionMembers = []string{"startTime", "action", "recurrence", "state"}
)

// properties returns the member "properties" of a body, or the body itself if it has none. members are
// names that belong inside "properties"; beside it they are reported, since they would be ignored.
func (b *binder) properties(tree *node, members ...string) (*object, bool) {
	top, _ := b.object("", tree)
	inner := top.get("properties")
	if inner == nil {
		top.known = nil
		top.ignore(envelopeMembers...)
		return top, true
	}
	for _, name := range members {
		if top.get(name) != nil {
			b.fail(name, nil, "this field inside of properties")
		}
	}
	return b.object("properties", inner)
}

// definition parses a job's properties.
func (b *binder) definition(o *object, opts ParseOptions) Definition {
	d := b.timing(o, opts)
	stored := &Action{}
	if opts.Stored != nil {
		stored = &opts.Stored.Action
	}
	if action, ok := o.object("action"); ok {
		d.Action = b.action(action, stored)
	} else if o.get("action") == nil && !opts.actionless {
		b.fail(o.at("action"), nil, "an action")
	}
	d.State = StateEnabled
	states := []string{string(StateEnabled), string(StateDisabled)}
	if opts.Stored != nil && opts.Stored.State.Final() {
		states = append(states, string(StateCompleted), string(StateFaulted))
	}
	if o.enum("state", states...) == string(StateDisabled) {
		d.State = StateDisabled
	}
	o.ignore("status") // read-only: clients send back what they read
	o.done()
	return d
}

// timing parses startTime and recurrence.
func (b *binder) timing(o *object, opts ParseOptions) Definition {
	var d Definition
	bad := len(b.fields)
	zone := time.UTC
	o.get("startTime") // puts it first among the known fields
	if r, ok := o.object("recurrence"); ok {
		d.Recurrence, zone = b.recurrence(r)
	}
	d.StartTime = o.time("startTime", zone)
	_, err := d.Timetable(opts.Created, opts.Now)
	for _, f := range flatten[*FieldError](err) {
		path := b.asWritten(o.at(f.Path))
		worthless := f.Path == "recurrence.schedule" && len(b.fields) > bad // about the whole schedule
		if !worthless && !b.blamed(path) {
			b.fail(path, f.Value, f.Want)
		}
	}
	return d
}

// scalarOf returns v if errors can show it, and otherwise nil.
func scalarOf(v any) any {
	switch v.(type) {
	case int, string, time.Time:
		return v
	default:
		return nil
	}
}

var (
	frequencies = []string{"minute", "hour", "day", "week", "month", "year"}
	dayNames    = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
)

const wantTimeZone = "an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time"

// recurrence parses a recurrence and returns the zone of its times. Checks that depend on the frequency and
// on the calendar are left to [Definition.Timetable]. Integers must be JSON numbers, not strings, unlike
// elsewhere: an error here would mean a job that runs at the wrong time.
func (b *binder) recurrence(o *object) (*Recurrence, *time.Location) {
	r := &Recurrence{Interval: 1}
	r.Frequency = o.requiredEnum("frequency", frequencies...)
	r.Count, _ = o.strictInteger("count", 1, math.MaxInt32)
	o.get("endTime")
	if n, ok := o.strictInteger("interval", 1, math.MaxInt); ok { // the upper bound depends on the frequency
		r.Interval = n
	}
	if s, ok := o.object("schedule"); ok {
		r.Schedule = b.schedule(s)
	}
	zone := time.UTC
	r.TimeZone = o.text("timeZone", textRule{want: wantTimeZone, valid: func(name string) bool {
		loc, err := recurrence.LoadLocation(name)
		if err == nil {
			zone = loc
		}
		return err == nil && name != ""
	}})
	r.EndTime = o.time("endTime", zone)
	r.CatchUpWindow = o.duration("catchUpWindow", 0, b.limits.MaxCatchUpWindow)
	r.OverlapPolicy = OverlapPolicy(o.enum("overlapPolicy", string(OverlapBufferOne), string(OverlapSkip), string(OverlapAllowAll)))
	o.done()
	return r, zone
}

// schedule parses a schedule; nil if it is empty.
func (b *binder) schedule(o *object) *Schedule {
	s := &Schedule{
		Minutes:            o.integers("minutes"),
		Hours:              o.integers("hours"),
		WeekDays:           o.enums("weekDays", dayNames),
		MonthDays:          o.integers("monthDays"),
		MonthlyOccurrences: b.monthlyOccurrences(o),
		Months:             o.integers("months"),
	}
	o.done()
	if len(s.Minutes)+len(s.Hours)+len(s.WeekDays)+len(s.MonthDays)+len(s.MonthlyOccurrences)+len(s.Months) == 0 {
		return nil
	}
	return s
}

// integers parses a list of integers. It records their paths in the body, because later errors refer to an
// index in the result.
func (o *object) integers(name string) []int {
	var all []int
	for _, i := range o.list(name) {
		if v, ok := i.strictInteger(); ok {
			o.b.written[itemPath(o.at(name), len(all))] = i.path
			all = append(all, v)
		} else {
			o.b.mismatch(i.path, i.node, "an integer")
		}
	}
	return all
}

func (o *object) enums(name string, spellings []string) []string {
	var all []string
	for _, i := range o.list(name) {
		if v := o.b.enum(i.path, i.node, spellings); v != "" {
			all = append(all, v)
		}
	}
	return all
}

func (b *binder) monthlyOccurrences(o *object) []MonthlyOccurrence {
	var all []MonthlyOccurrence
	for _, i := range o.list("monthlyOccurrences") {
		inner, ok := b.object(i.path, i.node)
		if !ok {
			continue
		}
		m := MonthlyOccurrence{Day: inner.requiredEnum("day", dayNames...)}
		m.Occurrence = inner.occurrence()
		inner.done()
		if m.Day != "" {
			all = append(all, m)
		}
	}
	return all
}

// occurrence parses the number of a weekday in its month; 0 if it is absent.
func (o *object) occurrence() int {
	const name, want = "occurrence", "1 to 5 or -5 to -1"
	n := o.get(name)
	if n == nil {
		return 0
	}
	v, ok := n.strictInteger()
	if !ok || !slices.Contains([]int{1, 2, 3, 4, 5, -1, -2, -3, -4, -5}, v) {
		o.b.mismatch(o.at(name), n, want)
		return 0
	}
	return v
}
