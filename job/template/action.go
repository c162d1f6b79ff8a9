package template

import (
	"errors"
	"fmt"
	"math"
	"mime"
	"regexp"
	"slices"
	"strings"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
)

// Limits, in bytes, of a text with its placeholders filled in.
const (
	maxURI     = 8 << 10
	maxHeader  = 8 << 10
	maxContent = 64 << 10 // of a body or message, and of a custom property
)

// Used reports whether an action has templates, its error action aside.
func Used(a *job.Action) bool {
	return a != nil && slices.ContainsFunc(a.Parts(), func(p part) bool { return *p.Parameters.Templated() })
}

type part = kind.Part[kind.ActionParameters]

// texts returns the texts of an action that may have placeholders. Their paths begin at the action.
func texts(a *job.Action) (all []kind.Text) {
	for _, p := range a.Parts() {
		if !*p.Parameters.Templated() {
			continue
		}
		for _, t := range p.Parameters.Texts() {
			if t.Use != kind.InUser {
				t.Path = p.Name + "." + t.Path
				all = append(all, t)
			}
		}
	}
	return all
}

// escapeFor returns how values are escaped in a text, and the limit of the text.
func (t *template) escapeFor(text *kind.Text) (escape func(string) string, limit int) {
	switch text.Use {
	case kind.InURI:
		return forURI, maxURI
	case kind.InHeader:
		return forHeader, maxHeader
	case kind.InProperty:
		return plain, maxContent
	default:
		return t.contentEscape(text.MediaType), maxContent
	}
}

// Check returns what is wrong with the templates of an action, its error action aside. The paths begin at the action.
func Check(a *job.Action, isErrorAction bool) (bad []*job.FieldError) {
	for _, text := range texts(a) {
		t, err := parseText(*text.Value, isErrorAction)
		if fault, ok := errors.AsType[*fault](err); ok {
			bad = append(bad, fault.field(text.Path, *text.Value))
			continue
		}
		mediaType, _, _ := mime.ParseMediaType(text.MediaType)
		switch {
		case text.Use == kind.InURI && (!sameTarget(*text.Value, t.filled()) || splitEscape.MatchString(*text.Value)):
			bad = append(bad, &job.FieldError{
				Path: text.Path, Code: fields.Invalid, Allowed: "placeholders in the path and the query only, without a % in them",
			})
		case text.Use == kind.InContent && isJSONType(mediaType) && *text.Value != "" && !t.isJSON():
			bad = append(bad, &job.FieldError{
				Path: text.Path, Code: fields.Invalid,
				Allowed: "JSON once the placeholders are filled in, as the content type says",
				Hint:    `a placeholder for a text belongs in quotes: "{{.Job.Name}}"`,
			})
		}
	}
	return bad
}

// splitEscape matches a percent sign that could begin an escape with what a placeholder is filled in with.
var splitEscape = regexp.MustCompile(`%[0-9A-Fa-f]?\{\{`)

// Filled returns a URI with samples in place of its placeholders; one that is no template is returned unchanged.
func Filled(uri string) string {
	t, err := parseText(uri, true)
	if err != nil {
		return uri
	}
	return t.filled()
}

func (t *template) filled() string {
	text, _ := t.render(&sample, math.MaxInt, forURI)
	return text
}

// sameTarget reports whether a URI and the same with its placeholders filled in have the same scheme, user, host and
// port. It is true if the latter is no URI, which is another error.
func sameTarget(uri, filled string) bool {
	to, err := kind.ParseURI(filled)
	if err != nil {
		return true
	}
	from, err := kind.ParseURI(uri)
	return err == nil && from.Scheme == to.Scheme && from.Host == to.Host && from.User.String() == to.User.String()
}

// Forgotten reports whether an action has placeholders of the known values, misspelled ones included, but no templates,
// so that they are sent unchanged.
func Forgotten(a *job.Action) bool {
	if Used(a) {
		return false
	}
	turnedOn := a.Clone()
	for _, p := range turnedOn.Parts() {
		*p.Parameters.Templated() = true
	}
	return slices.ContainsFunc(texts(&turnedOn), func(t kind.Text) bool {
		return names(named, *t.Value, func(p *placeholder, found string) bool {
			return p.name == found || strings.HasPrefix(p.name, found+".")
		}) || names(inAnotherCase, *t.Value, func(p *placeholder, found string) bool { return fields.SameName(p.name, found) })
	})
}

// names reports whether a text has a name, which the pattern captures, of a placeholder.
func names(pattern *regexp.Regexp, text string, of func(p *placeholder, found string) bool) bool {
	return slices.ContainsFunc(pattern.FindAllStringSubmatch(text, -1), func(found []string) bool {
		return slices.ContainsFunc(placeholders, func(p placeholder) bool { return of(&p, found[1]) })
	})
}

// named matches a placeholder up to the first part of a name in it, such as one that is given to a function. Names such
// as order.Due are those of the receiver.
var named = regexp.MustCompile(`\{\{(?:[^{}]*?[^\w{}.)\]])?(\.[A-Z]\w*)`)

// inAnotherCase matches a placeholder up to a name in it that has several parts in any case. Such a name, as .job.name,
// is hardly one of the receiver's; .due may be.
var inAnotherCase = regexp.MustCompile(`\{\{(?:[^{}]*?[^\w{}.)\]])?(\.[A-Za-z]\w*(?:\.\w+)+)`)

// Render returns an action with its placeholders filled in: the action itself if it has no templates. The error says
// that a text is too long.
func Render(a *job.Action, v Values) (*job.Action, error) {
	if !Used(a) {
		return a, nil
	}
	rendered := a.Clone()
	for _, text := range texts(&rendered) {
		t, err := parseText(*text.Value, true)
		if err != nil { // a newer version accepted it
			return nil, fmt.Errorf("the template in %s cannot be read by this worker; the job is kept as it is", text.Path)
		}
		escape, limit := t.escapeFor(&text)
		filled, ok := t.render(&v, limit, escape)
		if !ok {
			return nil, fmt.Errorf("%s is longer than %d bytes with its placeholders filled in", text.Path, limit)
		}
		*text.Value = filled
	}
	return &rendered, nil
}
