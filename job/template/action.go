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
)

// Limits, in bytes, of a text with its placeholders filled in.
const (
	maxURI     = 8 << 10
	maxHeader  = 8 << 10
	maxContent = 64 << 10 // of a body or message, and of a custom property
)

// A use is where a text stands in an action.
type use int

const (
	inContent use = iota // a body or message
	inURI
	inHeader
	inProperty // a custom property of a message
)

// A member is a text of an action that may have placeholders.
type member struct {
	path        string // from the action
	value       *string
	use         use
	contentType string // of a body or message; "" if it is not said
}

// Used reports whether an action has templates, its error action aside.
func Used(a *job.Action) bool {
	return a != nil && (a.Request != nil && a.Request.Template || a.QueueMessage != nil && a.QueueMessage.Template ||
		a.ServiceBusQueueMessage != nil && a.ServiceBusQueueMessage.Template || a.ServiceBusTopicMessage != nil && a.ServiceBusTopicMessage.Template)
}

// members returns the texts of an action that may have placeholders.
func members(a *job.Action) (all []member) {
	add := func(list job.Members, path string, u use) {
		for i := range list {
			all = append(all, member{path: path + fields.Shorten(list[i].Name), value: &list[i].Value, use: u})
		}
	}
	if r := a.Request; r != nil && r.Template {
		all = append(all, member{path: "request.uri", value: &r.URI, use: inURI},
			member{path: "request.body", value: &r.Body, contentType: r.Headers.Get("Content-Type")})
		add(r.Headers, "request.headers.", inHeader)
	}
	if m := a.QueueMessage; m != nil && m.Template {
		all = append(all, member{path: "queueMessage.message", value: &m.Message})
	}
	bus := func(m *job.ServiceBusMessage, path string) {
		if m == nil || !m.Template {
			return
		}
		content := member{path: path + ".message", value: &m.Message}
		if p := m.BrokeredMessageProperties; p != nil {
			content.contentType = p.ContentType
		}
		all = append(all, content)
		add(m.CustomMessageProperties, path+".customMessageProperties.", inProperty)
	}
	bus(a.ServiceBusQueueMessage, "serviceBusQueueMessage")
	bus(a.ServiceBusTopicMessage, "serviceBusTopicMessage")
	return all
}

// escape returns how values are escaped in the member, and the limit of the text.
func (m *member) escape(t *template) (escape func(string) string, limit int) {
	switch m.use {
	case inURI:
		return forURI, maxURI
	case inHeader:
		return forHeader, maxHeader
	case inProperty:
		return plain, maxContent
	default:
		return t.contentEscape(m.contentType), maxContent
	}
}

// Check returns what is wrong with the templates of an action, its error action aside. The paths begin at the action.
func Check(a *job.Action, isErrorAction bool) (bad []*job.FieldError) {
	for _, m := range members(a) {
		t, err := parseText(*m.value, isErrorAction)
		if fault, ok := errors.AsType[*fault](err); ok {
			bad = append(bad, fault.field(m.path, *m.value))
			continue
		}
		mediaType, _, _ := mime.ParseMediaType(m.contentType)
		switch {
		case m.use == inURI && (!sameTarget(*m.value, t.filled()) || splitEscape.MatchString(*m.value)):
			bad = append(bad, &job.FieldError{Path: m.path, Code: fields.Invalid, Allowed: "placeholders in the path and the query only, without a % in them"})
		case m.use == inContent && isJSONType(mediaType) && *m.value != "" && !t.isJSON():
			bad = append(bad, &job.FieldError{
				Path: m.path, Code: fields.Invalid, Allowed: "JSON once the placeholders are filled in, as the content type says",
				Hint: `a placeholder for a text belongs in quotes: "{{.Job.Name}}"`,
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

// sameTarget reports whether a URI and the same with its placeholders filled in have the same scheme, user, host and port.
// It is true if the latter is no URI, which is another error.
func sameTarget(uri, filled string) bool {
	to, err := job.ParseURI(filled)
	if err != nil {
		return true
	}
	from, err := job.ParseURI(uri)
	return err == nil && from.Scheme == to.Scheme && from.Host == to.Host && from.User.String() == to.User.String()
}

// Forgotten reports whether an action has placeholders of the known values, misspelled ones included, but no templates, so that they are sent unchanged.
func Forgotten(a *job.Action) bool {
	turnedOn := a.Clone()
	if r := turnedOn.Request; r != nil {
		r.Template = true
	}
	if m := turnedOn.QueueMessage; m != nil {
		m.Template = true
	}
	for _, m := range []*job.ServiceBusMessage{turnedOn.ServiceBusQueueMessage, turnedOn.ServiceBusTopicMessage} {
		if m != nil {
			m.Template = true
		}
	}
	return !Used(a) && slices.ContainsFunc(members(&turnedOn), func(m member) bool {
		return slices.ContainsFunc(placeholder.FindAllStringSubmatch(*m.value, -1), func(found []string) bool {
			return slices.ContainsFunc(names, func(n name) bool { return n.name == found[1] || strings.HasPrefix(n.name, found[1]+".") })
		})
	})
}

// placeholder matches a placeholder up to the first part of a name in it, such as one that is given to a function. Names such as
// order.Due are those of the receiver.
var placeholder = regexp.MustCompile(`\{\{(?:[^{}]*?[^\w{}.)\]])?(\.[A-Z]\w*)`)

// Render returns an action with its placeholders filled in: the action itself if it has no templates. The error says
// that a text is too long.
func Render(a *job.Action, v Values) (*job.Action, error) {
	if !Used(a) {
		return a, nil
	}
	rendered := a.Clone()
	if r := rendered.Request; r != nil {
		r.Headers = slices.Clone(r.Headers)
	}
	for _, m := range []*job.ServiceBusMessage{rendered.ServiceBusQueueMessage, rendered.ServiceBusTopicMessage} {
		if m != nil {
			m.CustomMessageProperties = slices.Clone(m.CustomMessageProperties)
		}
	}
	for _, m := range members(&rendered) {
		t, err := parseText(*m.value, true)
		if err != nil {
			return nil, fmt.Errorf("the template in %s cannot be read by this worker; the job is kept as it is", m.path) // a newer version accepted it
		}
		escape, limit := m.escape(t)
		text, ok := t.render(&v, limit, escape)
		if !ok {
			return nil, fmt.Errorf("%s is longer than %d bytes with its placeholders filled in", m.path, limit)
		}
		*m.value = text
	}
	return &rendered, nil
}
