package wanted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/jobfile"
)

// A Field is a member that differs. Its values are JSON; nil where there was or is none.
type Field struct {
	Path string          `json:"path"` // such as recurrence.schedule.hours
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// An actual is a job as the server has it.
type actual struct {
	definition job.Definition
	etag       string // "": not known
	owner      string // "": none
	pruned     string // when it deletes itself; "": it is not pruned, and else the definition has the state that it had
}

// readActual reads an answer of the API.
func readActual(body json.RawMessage, etag string) (*actual, error) {
	var answer struct {
		Properties struct {
			job.Definition
			Status struct {
				Owner       string    `json:"owner"`
				PruneAt     string    `json:"pruneAt"`
				FormerState job.State `json:"formerState"`
			} `json:"status"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("the answer of the API cannot be read: %w", err)
	}
	found := &answer.Properties
	is := &actual{definition: found.Definition, etag: etag, owner: found.Status.Owner, pruned: found.Status.PruneAt}
	if is.pruned != "" {
		former := job.Pruning{State: found.Status.FormerState}
		is.definition.State = former.Former()
	}
	return is, nil
}

func quoted(text string) json.RawMessage {
	v, _ := json.Marshal(text) // a text
	return v
}

// nameIn returns the names of a job in an answer of the API.
func nameIn(body json.RawMessage) string {
	var answer struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(body, &answer) // the caller reads all of it
	return answer.Name
}

// generous are limits without those that an operator may change: these are for the server to check.
func generous() *input.Limits {
	const most = math.MaxInt32
	return &input.Limits{
		JobBytes: most, URIBytes: most, BodyBytes: most, Headers: most, HeaderBytes: most,
		MaxRetryInterval: math.MaxInt64, MaxRetryCount: most, MaxCatchUpWindow: math.MaxInt64,
		Tiers: input.UnlimitedTiers(), AllowSecretRetargeting: true,
	}
}

// definitionOf returns what a job file wants, as the API reads it, without secrets. is is what the server has, or nil.
// The error joins a [*jobfile.Problem] for each bad member.
func definitionOf(j *jobfile.Job, is *actual, now time.Time) (job.Definition, error) {
	o := input.ParseOptions{Limits: generous(), Now: now, Short: true, SecretsLater: true}
	if is != nil {
		o.Stored = &is.definition
	}
	of := whole(j, is)
	counted := countedFromCreation(&of, is)
	if counted {
		of = of.Without("recurrence.frequency").Without("recurrence.interval").Without("recurrence.schedule")
	}
	d, err := input.ParseDefinition(of.Body(nil), o)
	if err != nil {
		return d, problemsOf(j, err)
	}
	if counted && d.Recurrence != nil {
		stored := is.definition.Recurrence
		r := d.Recurrence
		r.Frequency, r.Interval, r.Schedule = stored.Frequency, stored.Interval, stored.Schedule
	}
	if is != nil && (!j.Has("state") || stays(d.State, is.definition.State)) {
		d.State = is.definition.State
	}
	d = d.Redacted()
	d.Local, d.Owner = nil, ""
	return d, nil
}

// whole returns a job of a file with null for its blackouts and the members of its recurrence that the server has and the file has not: a
// PUT without them may keep them, for clients that do not know them, and a file is the whole of a job.
func whole(j *jobfile.Job, is *actual) jobfile.Job {
	if is == nil {
		return *j
	}
	of := *j
	if len(is.definition.Blackouts) > 0 && !j.Has("blackouts") {
		of = of.WithNull("blackouts")
	}
	stored := is.definition.Recurrence
	if stored == nil {
		return of
	}
	for name, has := range keptByPUT(stored) {
		switch {
		case !has:
		case !j.Has("recurrence"):
			return of.WithNull("recurrence")
		case !j.Has("recurrence." + name):
			of = of.WithNull("recurrence." + name)
		}
	}
	return of
}

// keptByPUT returns the members of a recurrence that a PUT without them keeps, and whether it has them.
func keptByPUT(r *job.Recurrence) map[string]bool {
	return map[string]bool{
		"cron": r.Cron != "", "rrule": r.RRule != "", "also": len(r.Also) > 0, "exclusions": len(r.Exclusions) > 0,
		"calendars": len(r.Calendars) > 0,
	}
}

// countedFromCreation reports whether a job has the RRULE that the server has, without a start: frequency, interval and
// schedule are then what the RRULE means if it begins at the creation of the job, which no answer has.
func countedFromCreation(j *jobfile.Job, is *actual) bool {
	if is == nil || !fromCreation(&is.definition) || j.Has("startTime") {
		return false
	}
	var given struct {
		Properties struct {
			Recurrence job.Recurrence `json:"recurrence"`
		} `json:"properties"`
	}
	if json.Unmarshal(j.Body(nil), &given) != nil {
		return false // parsing says why
	}
	r, stored := &given.Properties.Recurrence, is.definition.Recurrence
	if r.RRule != stored.RRule {
		return false
	}
	rule := func(r *job.Recurrence) job.Recurrence {
		return job.Recurrence{Frequency: fields.Normalize(r.Frequency), Interval: max(r.Interval, 1), Schedule: r.Schedule}
	}
	return r.Frequency == "" && r.Interval <= 1 && r.Schedule == nil || reflect.DeepEqual(rule(r), rule(stored))
}

// fromCreation reports whether a definition has an RRULE without a start.
func fromCreation(d *job.Definition) bool {
	return d.StartTime == nil && d.Recurrence != nil && d.Recurrence.RRule != ""
}

// withoutMeaning returns the recurrence of a definition without what an RRULE means that begins at the creation.
func withoutMeaning(d *job.Definition) *job.Recurrence {
	if !fromCreation(d) {
		return d.Recurrence
	}
	r := *d.Recurrence
	r.Frequency, r.Interval, r.Schedule = "", 1, nil
	return &r
}

// stays reports whether a state that a file wants holds: what has ended is not disabled, since it runs no more.
func stays(want, is job.State) bool {
	return is.Final() && (want == job.StateEnabled || want == job.StateDisabled)
}

// problemsOf returns an error about members of a job with their places.
func problemsOf(j *jobfile.Job, err error) error {
	e, ok := errors.AsType[*job.Error](err)
	if !ok || len(e.Fields) == 0 {
		return &jobfile.Problem{At: j.Place(), Message: err.Error()}
	}
	var all []error
	for _, f := range e.Fields {
		all = append(all, &jobfile.Problem{At: j.At(f.Path), Message: f.Error()})
	}
	return errors.Join(all...)
}

// differences returns the members that differ.
func differences(is, want *job.Definition) ([]Field, error) {
	from, err := tree(is)
	if err != nil {
		return nil, err
	}
	to, err := tree(want)
	if err != nil {
		return nil, err
	}
	var all []Field
	compare("", from, to, &all)
	return all, nil
}

// tree returns the JSON of a definition as maps, lists and numbers as they are written.
func tree(d *job.Definition) (v any, err error) {
	shown := d.Redacted()
	shown.Local, shown.Owner = nil, ""
	text, err := json.Marshal(shown)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return v, decoder.Decode(&v)
}

// compare adds the differences of two values at a path.
func compare(path string, from, to any, all *[]Field) {
	if reflect.DeepEqual(from, to) {
		return
	}
	a, isObject := from.(map[string]any)
	b, both := to.(map[string]any)
	if isObject && both {
		for _, name := range members(a, b) {
			compare(fields.MemberPath(path, name), a[name], b[name], all)
		}
		return
	}
	x, isList := from.([]any)
	y, both := to.([]any)
	if isList && both && len(x) == len(y) && objects(x) && objects(y) {
		for i := range x {
			compare(fields.ItemPath(path, i), x[i], y[i], all)
		}
		return
	}
	*all = append(*all, Field{Path: path, From: encoded(from), To: encoded(to)})
}

// members returns the names of two objects, sorted.
func members(a, b map[string]any) (names []string) {
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, there := a[name]; !there {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

func objects(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(map[string]any); return !ok })
}

func encoded(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	text, _ := fields.PlainJSON(v) // it was JSON
	return text
}
