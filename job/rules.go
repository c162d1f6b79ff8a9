package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
	"almanac/recurrence/cron"
	"almanac/recurrence/rrule"
)

// A FurtherRule is a rule of a recurrence beside its first one: a frequency with an interval and a schedule, a cron
// expression or an RRULE.
type FurtherRule struct {
	Frequency string    `json:"frequency,omitempty" field:"enum=minute|hour|day|week|month|year"`
	Interval  int       `json:"interval,omitempty" field:"min=1"`
	Schedule  *Schedule `json:"schedule,omitempty"`
	Cron      string    `json:"cron,omitempty"`
	RRule     string    `json:"rrule,omitempty"`
}

// An Exclusion is what a recurrence leaves out: a date or a time, the dates from First to Last, the times from From to
// Until, which is no part of it, or what a rule of days or longer fires at. A rule without hours and minutes stands for
// its dates. Times without an offset are in the recurrence's zone. Its JSON is a text if it is At.
type Exclusion struct {
	At        string    `json:"at,omitempty" field:"bare,rule=someTime"`
	First     string    `json:"first,omitempty" field:"rule=date"`
	Last      string    `json:"last,omitempty" field:"rule=date"`
	From      string    `json:"from,omitempty" field:"rule=someTime"`
	Until     string    `json:"until,omitempty" field:"rule=someTime"`
	Frequency string    `json:"frequency,omitempty" field:"enum=day|week|month|year"`
	Interval  int       `json:"interval,omitempty" field:"min=1"`
	Schedule  *Schedule `json:"schedule,omitempty"`
}

// MarshalJSON writes a text for a date or a time, and else an object.
func (e Exclusion) MarshalJSON() ([]byte, error) {
	type object Exclusion
	if e.At != "" {
		return json.Marshal(e.At)
	}
	return json.Marshal(object(e))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Exclusion) UnmarshalJSON(text []byte) error {
	type object Exclusion
	if len(text) > 0 && text[0] == '"' {
		*e = Exclusion{}
		return json.Unmarshal(text, &e.At)
	}
	return json.Unmarshal(text, (*object)(e))
}

// Notated reports whether the first rule is a cron expression or an RRULE. Frequency, Interval and Schedule then say the
// same, or are empty.
func (r *Recurrence) Notated() bool { return r != nil && (r.Cron != "" || r.RRule != "") }

// first returns the first rule of the recurrence in the form of the others.
func (r *Recurrence) first() *FurtherRule {
	if r.Notated() {
		return &FurtherRule{Cron: r.Cron, RRule: r.RRule}
	}
	return &FurtherRule{Frequency: r.Frequency, Interval: r.Interval, Schedule: r.Schedule}
}

// Location returns the time zone; nil means UTC. The error is a [*FieldError].
func (r *Recurrence) Location() (*time.Location, error) {
	if r.TimeZone == "" {
		return nil, nil //nolint:nilnil // package recurrence takes no location for UTC
	}
	loc, err := recurrence.LoadLocation(r.TimeZone)
	if err != nil {
		return nil, &FieldError{Path: "recurrence.timeZone", Code: fields.Invalid, Value: r.TimeZone, Allowed: AllowedTimeZones}
	}
	return loc, nil
}

// Series returns when the recurrence fires, counted from an anchor, whatever its count and its end are. A rule that never
// fires has no instants. The error joins a [*FieldError] for each bad field, with its path; those of the first rule, if
// it is none of cron or RRULE, are [*recurrence.FieldError]s.
//
// A rule with working days fires on every day that its other members allow: see [Recurrence.SeriesBy].
func (r *Recurrence) Series(anchor time.Time) (*recurrence.Series, error) {
	series, _, err := r.SeriesBy(anchor, nil)
	return series, err
}

// SeriesBy is [Recurrence.Series] by the calendars of the recurrence, with which its working days are counted. It returns
// the schedules that have some, too.
func (r *Recurrence) SeriesBy(
	anchor time.Time, uses []calendars.Use,
) (*recurrence.Series, []calendars.Numbered, error) {
	loc, err := r.Location()
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	var schedules []*recurrence.Schedule
	var numbered []calendars.Numbered
	for i := -1; i < len(r.Also); i++ {
		rule, path := r.first(), "recurrence"
		if i >= 0 {
			rule, path = &r.Also[i], fmt.Sprintf("recurrence.also[%d]", i)
		}
		s, err := rule.schedule(path, anchor, loc)
		if numbers := rule.workingDays(); err == nil && numbers != nil && len(uses) > 0 {
			s, err = calendars.WorkingDays(s, numbers, uses)
			numbered = append(numbered, calendars.Numbered{Schedule: s, Numbers: numbers})
		}
		switch {
		case errors.Is(err, recurrence.ErrNever):
		case err != nil:
			errs = append(errs, err)
		default:
			schedules = append(schedules, s)
		}
	}
	exclusions, err := r.exclusions(loc)
	if err != nil {
		errs = append(errs, err)
	}
	if errs != nil {
		return nil, nil, errors.Join(errs...)
	}
	series, err := recurrence.NewSeries(anchor, exclusions, schedules...)
	return series, numbered, ruleErrors("recurrence", err)
}

// workingDays returns the numbers of working days that the rule has; nil if it has none.
func (f *FurtherRule) workingDays() []int {
	if f.Schedule == nil {
		return nil
	}
	return f.Schedule.WorkingDays
}

// SetRule sets Frequency, Interval and Schedule to what a plain rule says; see [recurrence.Rule.Plain].
func (r *Recurrence) SetRule(rule *recurrence.Rule) {
	r.Frequency, r.Interval = rule.Frequency.String(), max(rule.Interval, 1)
	s := Schedule{Minutes: rule.Minutes, Hours: rule.Hours, MonthDays: rule.MonthDays, Months: rule.Months}
	for _, day := range rule.WeekDays {
		s.WeekDays = append(s.WeekDays, strings.ToLower(day.String()))
	}
	for _, o := range rule.MonthlyOccurrences {
		s.MonthlyOccurrences = append(s.MonthlyOccurrences, MonthlyOccurrence{Day: strings.ToLower(o.Day.String()), Occurrence: o.Occurrence})
	}
	r.Schedule = nil
	if len(s.Minutes)+len(s.Hours)+len(s.WeekDays)+len(s.MonthDays)+len(s.MonthlyOccurrences)+len(s.Months) > 0 {
		r.Schedule = &s
	}
}

// NotDue returns the path of each rule that is not due from one time to another, such as recurrence.also[0].schedule,
// whatever its UNTIL and COUNT are. A zero until means that it never is. Bad rules are left out.
func (r *Recurrence) NotDue(anchor, from, until time.Time) (paths []string) {
	loc, err := r.Location()
	if err != nil {
		return nil
	}
	for i := -1; i < len(r.Also); i++ {
		rule, path := r.first(), "recurrence"
		if i >= 0 {
			rule, path = &r.Also[i], fmt.Sprintf("recurrence.also[%d]", i)
		}
		set, err := rule.set(path, anchor, loc)
		if err != nil {
			continue
		}
		set.Rule.End, set.Rule.Count = time.Time{}, 0
		s, err := set.Schedule(anchor)
		never := errors.Is(err, recurrence.ErrNever)
		if err != nil && !never {
			continue
		}
		if !never && !until.IsZero() {
			next, ok := s.Next(from.Add(-time.Second))
			never = !ok || next.After(until)
		}
		if never {
			paths = append(paths, path+"."+rule.member())
		}
	}
	return paths
}

// member returns the name of the member that says when the rule fires.
func (f *FurtherRule) member() string {
	switch {
	case f.Cron != "":
		return "cron"
	case f.RRule != "":
		return "rrule"
	default:
		return "schedule"
	}
}

// schedule returns the schedule of the rule, which is at path.
func (f *FurtherRule) schedule(path string, anchor time.Time, loc *time.Location) (*recurrence.Schedule, error) {
	set, err := f.set(path, anchor, loc)
	if err != nil {
		return nil, err
	}
	s, err := set.Schedule(anchor)
	return s, ruleErrors(path, err)
}

// maxRuleCount is the largest COUNT of an RRULE: each plan of the job walks over as many instants.
const maxRuleCount = 10_000

// set returns the rule, which is at path, with what lines of RDATE and EXDATE add and remove.
func (f *FurtherRule) set(path string, anchor time.Time, loc *time.Location) (set rrule.Set, err error) {
	switch {
	case f.RRule != "":
		if set, err = rrule.ParseSet(f.RRule, anchor, loc); err != nil {
			return set, notationError(path+".rrule", f.RRule, err)
		}
		if set.Rule.Count > maxRuleCount {
			return set, &FieldError{Path: path + ".rrule", Code: fields.OutOfRange, Value: fmt.Sprintf("COUNT=%d", set.Rule.Count),
				Allowed: fmt.Sprintf("a COUNT of at most %d; recurrence.count limits the runs of the job", maxRuleCount)}
		}
	case f.Cron != "":
		if set.Rule, err = cron.Parse(f.Cron); err != nil {
			return set, notationError(path+".cron", f.Cron, err)
		}
	default:
		set.Rule = f.rule()
	}
	set.Rule.Location = loc
	return set, nil
}

// rule returns a rule that is no cron expression and no RRULE.
func (f *FurtherRule) rule() recurrence.Rule {
	r := Recurrence{Frequency: f.Frequency, Interval: f.Interval, Schedule: f.Schedule}
	return r.plain()
}

// notationError is the error of a cron expression or an RRULE.
func notationError(path, text string, err error) error {
	allowed := "a cron expression as in docs/cron.md"
	if strings.HasSuffix(path, ".rrule") {
		allowed = "an RRULE of RFC 5545 as in docs/cron.md"
	}
	return &FieldError{Path: path, Code: fields.Invalid, Value: text, Allowed: allowed, Hint: err.Error()}
}

// RulePath returns the path of a field of a [recurrence.Rule] at a path: "Hours[2]" is schedule.hours[2].
func RulePath(path, field string) string {
	var names []string
	for part := range strings.SplitSeq(field, ".") {
		names = append(names, strings.ToLower(part[:1])+part[1:])
	}
	of := 0 // where the name of the rule's own field is
	if strings.HasPrefix(names[0], "exclusions[") {
		of = 1
	}
	if of < len(names) && !slices.Contains([]string{"frequency", "interval", "count"}, names[of]) {
		names = slices.Insert(names, of, "schedule")
	}
	return path + "." + strings.Join(names, ".")
}

// ruleErrors returns the errors of package recurrence for a rule at a path as those of the fields of a job.
// [recurrence.ErrNever] stays as it is.
func ruleErrors(path string, err error) error {
	var errs []error
	for _, f := range fields.Joined[*recurrence.FieldError](err) {
		errs = append(errs, RuleError(RulePath(path, f.Field), f))
	}
	if errs == nil {
		return err
	}
	return errors.Join(errs...)
}

// RuleError returns the error of a field of a [recurrence.Rule] at a path.
func RuleError(path string, f *recurrence.FieldError) *FieldError {
	e := &FieldError{Path: path, Code: fields.OutOfRange, Value: f.Value, Allowed: f.Allowed}
	switch f.Value.(type) {
	case int:
	case nil:
		e.Code = fields.Required
	case string, time.Time:
		e.Code = fields.Invalid
	default: // a list that the frequency does not allow
		_, frequencies, _ := strings.Cut(f.Allowed, "only with ")
		e.Code, e.Value, e.Allowed = fields.Forbidden, nil, "with frequency "+frequencies
	}
	return e
}

// exclusions returns the exclusions for package recurrence. Rules are checked there.
func (r *Recurrence) exclusions(loc *time.Location) ([]recurrence.Exclusion, error) {
	var all []recurrence.Exclusion
	var errs []error
	for i := range r.Exclusions {
		e, err := r.Exclusions[i].exclusion(fmt.Sprintf("recurrence.exclusions[%d]", i), loc)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, e)
	}
	return all, errors.Join(errs...)
}

// exclusion returns an exclusion, which is at path, for package recurrence.
func (e *Exclusion) exclusion(path string, loc *time.Location) (recurrence.Exclusion, error) {
	form := e.form()
	switch form {
	case "at":
		return spanOf(path, e.At, "", e.At, loc)
	case "first":
		return spanOf(path+".first", e.First, path+".last", e.Last, loc)
	case "from":
		return spanOf(path+".from", e.From, path+".until", e.Until, loc)
	case "frequency":
		rule := (&FurtherRule{Frequency: e.Frequency, Interval: e.Interval, Schedule: e.Schedule}).rule()
		rule.Location = loc
		return recurrence.Exclusion{Rule: &rule}, nil
	}
	return recurrence.Exclusion{}, &FieldError{Path: path, Code: fields.Invalid, Value: fields.Object,
		Allowed: "a date, a time, first and last, from and until, or frequency with interval and schedule"}
}

// form returns the member that says which form the exclusion has; "" if there is none, or several.
func (e *Exclusion) form() string {
	var forms []string
	add := func(given bool, form string) {
		if given {
			forms = append(forms, form)
		}
	}
	add(e.At != "", "at")
	add(e.First+e.Last != "", "first")
	add(e.From+e.Until != "", "from")
	add(e.Frequency != "" || e.Interval != 0 || e.Schedule != nil, "frequency")
	if len(forms) != 1 {
		return ""
	}
	return forms[0]
}

// spanOf returns the exclusion of a date, a time, or a span of them. secondPath is "" for a single one.
func spanOf(firstPath, first, secondPath, second string, loc *time.Location) (recurrence.Exclusion, error) {
	from, err := recurrence.ParseTime(first, loc)
	if err != nil {
		return recurrence.Exclusion{}, badTime(firstPath, first)
	}
	until, err := recurrence.ParseTime(second, loc)
	if err != nil {
		return recurrence.Exclusion{}, badTime(secondPath, second)
	}
	dates := secondPath == "" || strings.HasSuffix(secondPath, ".last")
	switch {
	case dates && len(second) == len(time.DateOnly):
		day, _ := time.Parse(time.DateOnly, second) // ParseTime took it
		until = recurrence.Date(day.Year(), day.Month(), day.Day(), loc).Until
	case secondPath == "":
		until = from.Add(time.Second)
	}
	if secondPath != "" && !until.After(from) {
		return recurrence.Exclusion{}, &FieldError{Path: secondPath, Code: fields.Invalid, Value: second, Allowed: "a time after " + first}
	}
	return recurrence.Exclusion{Range: recurrence.Range{From: from, Until: until}}, nil
}

func badTime(path, text string) error {
	if text == "" {
		return &FieldError{Path: path, Code: fields.Required, Allowed: "a date, or a date and time"}
	}
	return &FieldError{Path: path, Code: fields.Invalid, Value: text, Allowed: "a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00"}
}

// Text returns the exclusion in English.
func (e *Exclusion) Text() string {
	switch {
	case e.At != "":
		return e.At
	case e.First != "":
		return e.First + " to " + e.Last
	case e.From != "":
		return "from " + e.From + " until " + e.Until
	default:
		rule := (&FurtherRule{Frequency: e.Frequency, Interval: e.Interval, Schedule: e.Schedule}).rule()
		return rule.String()
	}
}

// text returns a further rule in English, counted from an anchor, which may be the zero time.
func (f *FurtherRule) text(anchor time.Time, loc *time.Location) string {
	rule := f.rule()
	switch {
	case f.Cron != "":
		rule, _ = cron.Parse(f.Cron) // a rule that this program cannot read is "never"
	case f.RRule != "":
		set, _ := rrule.ParseSet(f.RRule, anchor, loc)
		rule = set.Rule
	}
	rule.Location = nil
	if !anchor.IsZero() && loc != nil {
		_, offset := anchor.In(loc).Zone()
		anchor = anchor.Add(time.Duration(offset) * time.Second)
	}
	text := rule.Describe(anchor)
	if i := strings.LastIndex(text, ", from "); i >= 0 && !anchor.IsZero() {
		text = text[:i]
	}
	return f.withWorkingDays(text)
}

// besides returns what the recurrence has beside its first rule, in English, to stand after that.
func (r *Recurrence) besides(anchor time.Time) string {
	loc, _ := r.Location() // one that is unknown by now is left out
	var text strings.Builder
	for i := range r.Also {
		text.WriteString("; and " + r.Also[i].text(anchor, loc))
	}
	for i := range r.Exclusions {
		word := ", "
		if i == 0 || r.Exclusions[i].Frequency != "" || r.Exclusions[i-1].Frequency != "" { // a rule has commas
			word = "; except "
		}
		text.WriteString(word + r.Exclusions[i].Text())
	}
	for i := range r.Calendars {
		text.WriteString("; " + r.Calendars[i].Text())
	}
	return text.String()
}
