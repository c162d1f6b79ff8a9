// Package input parses and checks what users write of jobs and job collections.
//
// [ParseDefinition], [MergeDefinition], [ParseCollection] and [MergeCollection] parse the JSON of the Azure
// Scheduler REST API; [ParsePreview] parses a request for the next occurrences of a job. Their errors list
// every bad field with its path. Their results are valid, and the other packages rely on that.
//
// Names of members and enumerated values are case-insensitive. null means absent. An unknown member is an
// error, since ignoring it could mean a job that runs at the wrong time.
package input

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/timetable"
)

// ParseOptions are the context in which a definition is parsed.
type ParseOptions struct {
	Limits  *Limits         // nil: DefaultLimits
	Now     time.Time       // time of the request; required
	Created time.Time       // time of the job's creation; zero: Now
	Stored  *job.Definition // the redacted definition to be replaced; nil for a new job
	// the job's resource ID; a body with another one is refused, compared without case; empty: any
	ID string
	// the request names no subscription and no resource group, so those of an ID in the body may be others
	Short bool

	CheckTarget CheckTarget // nil: nothing is refused

	SecretsLater bool // secrets that are left out are no error: the definition is read to be compared

	actionOptional bool // the action may be absent
	merged         bool // the body is Stored with a patch
	built          bool // the definition was built in Go: what a writer most likely did not mean is in it on purpose
}

// A CheckTarget returns an error for an action or a target of a type that would fail on every attempt. The text is
// shown.
type CheckTarget = func(kind.Type, kind.Parameters) error

func (o ParseOptions) withDefaults() ParseOptions {
	o.Limits = o.Limits.orDefault()
	if o.Created.IsZero() {
		o.Created = o.Now
	}
	return o
}

// ParseDefinition parses the body of a PUT of a job: a definition, either under "properties" or at the top.
//
// A secret may be left out if o.Stored has the same identity and target; [KeepSecrets] fills it in later. The body may
// have a final state if o.Stored has one, since clients send back what they read; it means [job.StateEnabled], like an
// absent state. That of a new job, in an answer that was saved, means [job.StateDisabled]: what had ended does not run
// again. The error is an [*job.Error] of [job.KindInvalid] that lists every bad field.
func ParseDefinition(body []byte, o ParseOptions) (job.Definition, error) {
	o = o.withDefaults()
	p, err := parseEnvelope(body, o.Limits, envelope{what: "job", id: o.ID, short: o.Short, inside: definitionMembers})
	if err != nil {
		return job.Definition{}, err
	}
	d := p.definition(p.properties, o)
	p.checkActions(&d.Action, o.CheckTarget)
	if err := p.err("job"); err != nil {
		return job.Definition{}, err
	}
	if err := CheckNotifications("job", d.Notifications, o.CheckTarget); err != nil {
		return job.Definition{}, err
	}
	return d, checkStored(&d)
}

// ValidateDefinition checks a definition that was built in Go by the rules of [ParseDefinition], whose error it
// returns. The paths in the error are those of the JSON. d must have all its secrets, unless o.Stored has
// them. It must also be as [ParseDefinition] returns it, since it is not changed: a word in another case than
// the constants of package job is an error.
func ValidateDefinition(d *job.Definition, o ParseOptions) error {
	written := *d
	written.Local, written.Owner = nil, "" // users do not write them
	text, err := fields.PlainJSON(&written)
	if err != nil {
		return badRequest("The job is not valid: %v", err)
	}
	o.built = true
	parsed, err := ParseDefinition(text, o)
	if err != nil {
		return err
	}
	return notAsParsed(d, &parsed, o.Stored)
}

// notAsParsed returns the error of a definition that is not as [ParseDefinition] returned it.
func notAsParsed(d, parsed, stored *job.Definition) error {
	bad := misspelled(d)
	if stored == nil && d.State.Final() {
		bad.Add(&job.FieldError{Path: "state", Code: fields.Unsupported, Value: string(d.State), Allowed: "enabled or disabled"})
	}
	leaveOut := func(path, why string) {
		bad.Add(&job.FieldError{Path: path, Code: fields.Forbidden, Hint: "leave it out: " + why})
	}
	if r := d.Recurrence; r != nil && r.Schedule != nil && parsed.Recurrence.Schedule == nil {
		leaveOut("recurrence.schedule", "it is empty")
	}
	withErrorAction(&d.Action, "action", &parsed.Action, func(a *job.Action, path string, parsed *job.Action) {
		if a.Request != nil && a.Request.Authentication != nil && parsed.Request.Authentication == nil {
			leaveOut(path+".request.authentication", "its type says that there is none")
		}
	})
	if len(bad.List) > 0 {
		return invalid("job", bad)
	}
	return nil
}

// CheckSpelling returns an error if a word in the struct that v points to, such as a job's state, is spelled in
// another case than the constants of package job, with which it is compared. Package input does not return
// such words.
func CheckSpelling(v any) error {
	if bad := misspelled(v); len(bad.List) > 0 {
		return invalid("input", bad)
	}
	return nil
}

// spellings are the words of the rules that list some.
var spellings = map[string]fields.Rule{
	"state": {Words: []string{string(job.StateEnabled), string(job.StateDisabled), string(job.StateCompleted), string(job.StateFaulted)}},
	"sku":   {Words: sortedNames(defaultTiers())},
}

func misspelled(v any) *fields.Errors { return fields.Misspelled(v, spellings) }

// CheckDefinition is [ValidateDefinition] without the limits that an operator may change. It is for a definition that
// did not come through the API.
func CheckDefinition(d *job.Definition, now, created time.Time) error {
	return ValidateDefinition(d, ParseOptions{Limits: unlimited(), Now: now, Created: created})
}

// unlimited returns limits without those that an operator may change.
func unlimited() *Limits {
	const most = math.MaxInt32
	return &Limits{
		JobBytes: most, URIBytes: most, BodyBytes: most, Headers: most, HeaderBytes: most,
		MaxRetryInterval: math.MaxInt64, MaxRetryCount: most, MaxCatchUpWindow: math.MaxInt64,
		Tiers: UnlimitedTiers(),
	}
}

func badRequest(format string, args ...any) *job.Error {
	return &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: fmt.Sprintf(format, args...)}
}

// invalid returns the error of a body with bad fields.
func invalid(what string, bad *fields.Errors) *job.Error {
	e := badRequest("The %s is not valid", what)
	e.Fields, e.Unlisted = bad.List, bad.Unlisted
	return e
}

// parseObject parses a body. The names of a message's custom properties are case-sensitive in Service Bus.
func parseObject(body []byte) (*fields.Node, error) {
	tree, err := fields.Parse(body, "customMessageProperties")
	if repeated, ok := errors.AsType[*fields.Errors](err); ok {
		return nil, invalid("body", repeated)
	}
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return tree, nil
}

// A parser parses a body and collects the errors of its fields.
type parser struct {
	fields.Decoder
	limits     *Limits
	tree       *fields.Node // the body
	properties *fields.Node // the member "properties" of the body; the body without its envelope if it has none
	path       string       // the path of properties

	secretsLater bool // secrets that are left out are looked for later
}

// An envelope is what is known of a body around its "properties".
type envelope struct {
	what   string   // what the body is of, for errors
	id     string   // a body with another one is refused; empty: any
	short  bool     // only what follows the provider in an id is compared
	inside []string // names that belong inside "properties": beside it they are errors
	beside []string // further names beside "properties"
}

// The names beside "properties". Templates and answers of Azure Resource Manager may have further ones, which have no
// effect here.
var (
	beside         = []string{"properties", "id", "name", "type", "location", "tags"}
	besideTemplate = []string{"apiVersion", "comments", "dependsOn", "etag", "resources"}
)

// besideProperties reports the members beside "properties" that would be ignored.
func (p *parser) besideProperties(e envelope) {
	rest := p.tree.Without(e.inside...)
	if nested := rest.Member("resources"); nested != nil && (nested.Kind != fields.List || len(nested.Items) > 0) {
		p.fail("resources", fields.Forbidden, "", "nothing in it would be created; send a request for each of these resources")
	}
	p.Unknown(rest, "", slices.Concat(beside, e.beside), besideTemplate)
}

// parseEnvelope parses a body. A member that would be ignored beside "properties" is an error.
func parseEnvelope(body []byte, l *Limits, e envelope) (*parser, error) {
	if len(body) > l.JobBytes {
		return nil, badRequest("The body is %d bytes long; the limit is %d bytes", len(body), l.JobBytes)
	}
	tree, err := parseObject(body)
	if err != nil {
		return nil, err
	}
	p := &parser{limits: l, tree: tree, properties: tree.Member("properties"), path: "properties"}
	if given := tree.Member("id"); given != nil && e.id != "" && (given.Kind != fields.String || !e.sameID(given.Text)) {
		p.Reject("id", given, "the id of this job, "+e.id+", or none")
	}
	if p.properties == nil {
		p.properties, p.path = tree.Without(beside...), ""
		return p, nil
	}
	for _, name := range e.inside {
		if tree.Member(name) != nil {
			p.fail(name, fields.Forbidden, "inside properties", "")
		}
	}
	p.besideProperties(e)
	if kind := p.properties.Kind; kind != fields.Object {
		p.Add(&job.FieldError{Path: "properties", Code: fields.Invalid, Value: kind, Allowed: "an object"})
		return p, p.err(e.what)
	}
	return p, nil
}

// sameID reports whether a body may have an id.
func (e envelope) sameID(id string) bool {
	const provider = "/providers/microsoft.scheduler/"
	_, given, long := strings.Cut(fields.Normalize(id), provider)
	_, own, _ := strings.Cut(fields.Normalize(e.id), provider)
	return fields.SameName(id, e.id) || e.short && long && given == own
}

// pathOf returns the path of a member of the properties.
func (p *parser) pathOf(name string) string { return fields.MemberPath(p.path, name) }

// err returns the error with all bad fields; nil if there are none.
func (p *parser) err(what string) error {
	if len(p.List) == 0 {
		return nil
	}
	return invalid(what, &p.Errors)
}

// fail reports a field without showing its value.
func (p *parser) fail(path string, code fields.Code, allowed, hint string) {
	p.Add(&job.FieldError{Path: path, Code: code, Allowed: allowed, Hint: hint})
}

// addAt reports an error, which may be nil, at a path.
func (p *parser) addAt(path string, e *job.FieldError) bool {
	if e == nil {
		return false
	}
	e.Path = path
	p.Add(e)
	return true
}

var definitionMembers = fields.Names[job.Definition]()

// definition parses a job's properties.
func (p *parser) definition(n *fields.Node, o ParseOptions) job.Definition {
	zone := time.UTC
	if name := n.Member("recurrence").Member("timeZone"); name != nil && locate(name.Text) != nil {
		zone = locate(name.Text)
	} else if notated := zoneOfNotation(n.Member("recurrence")); name == nil && notated != nil {
		zone = notated
	}
	states := []string{"enabled", "disabled"}
	stored, ended := &job.Definition{}, false
	if o.Stored == nil {
		state := n.Member("state")
		if ended = state != nil && job.State(fields.Normalize(state.Text)).Final(); ended {
			n = n.Without("state")
		}
	} else {
		stored = o.Stored
		if o.Stored.State.Final() {
			states = append(states, "completed", "faulted")
		}
	}
	action, actionPath := n.Member("action"), p.pathOf("action")
	if action == nil && !o.actionOptional {
		p.fail(actionPath, fields.Required, "an object", "")
	}
	if inner := action.Member("errorAction"); inner.Member("errorAction") != nil {
		p.fail(actionPath+".errorAction.errorAction", fields.Forbidden, "", "an error action has no error action of its own")
		inner.Remove("errorAction")
	}
	d := job.Definition{}
	p.secretsLater = o.SecretsLater
	p.Rules = p.limits.rules(zone, states...)
	list := n.Member("notifications")
	p.prepareTargets(list, p.pathOf("notifications"))
	p.Decode(n, p.path, &d)
	if list != nil && list.Kind == fields.List && len(list.Items) == 0 {
		d.Notifications = []job.Notification{} // in place of those of the collection
	}
	switch {
	case ended:
		d.State = job.StateDisabled
	case d.State.Final():
		d.State = job.StateEnabled
	}
	p.keepRules(n, &d, o)
	start := p.notation(n.Member("recurrence"), &d, o)
	d.Local = localTimes(n, &d)
	if start != "" {
		d.Local = &job.LocalTimes{Start: start, End: localEnd(d.Local)}
	}
	p.keepBlackouts(n, &d, o)
	p.calendarUses(d.Recurrence)
	p.blackouts(d.Blackouts, zoneOf(d.Recurrence), d.Recurrence != nil && elapses(d.Recurrence), false)
	p.timing(&d, o)
	if action != nil && action.Kind == fields.Object {
		p.withoutTarget(&d.Action, actionPath)
		p.action(&d.Action, actionPath, &stored.Action)
		if !o.built {
			p.unmeant(action, actionPath, &d.Action, &stored.Action)
		}
	}
	p.notifications(d.Notifications, p.pathOf("notifications"), stored.Notifications)
	p.advise(n, &d)
	return d
}

// localTimes returns the times that were written without an offset from UTC, if the job has a time zone; nil if there
// are none.
func localTimes(n *fields.Node, d *job.Definition) *job.LocalTimes {
	if d.Recurrence == nil || d.Recurrence.TimeZone == "" {
		return nil
	}
	zone := locate(d.Recurrence.TimeZone)
	read := func(n *fields.Node, at *job.Time) string {
		if n == nil || at == nil || zone == nil || hasOffset(n.Text) {
			return ""
		}
		return at.In(zone).Format("2006-01-02T15:04:05")
	}
	l := job.LocalTimes{Start: read(n.Member("startTime"), d.StartTime), End: read(n.Member("recurrence").Member("endTime"), d.Recurrence.EndTime)}
	if l == (job.LocalTimes{}) {
		return nil
	}
	return &l
}

// hasOffset reports whether a date and time has an offset from UTC.
func hasOffset(text string) bool {
	_, clock, _ := strings.Cut(strings.ToUpper(text), "T")
	return strings.ContainsAny(clock, "Z+-")
}

// timing checks startTime and recurrence.
func (p *parser) timing(d *job.Definition, o ParseOptions) {
	if d.Recurrence != nil {
		dropEmpty(&d.Recurrence.Schedule)
	}
	bad := p.Has(p.pathOf("startTime")) || p.Has(p.pathOf("recurrence"))
	if r := d.Recurrence; r != nil && !r.Notated() && (p.Has(p.pathOf("recurrence.cron")) || p.Has(p.pathOf("recurrence.rrule"))) {
		return // nothing says when it runs
	}
	err := timetable.Check(d, o.Created, o.Now)
	for _, f := range fields.Joined[*job.FieldError](err) {
		path := p.BodyPath(p.pathOf(f.Path))
		followsFromBadField := f.Path == "recurrence.schedule" && bad // about the whole schedule
		if !followsFromBadField && !p.Has(path) {
			p.addAt(path, f)
		}
	}
}
