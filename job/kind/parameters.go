package kind

import (
	"fmt"
	"unicode/utf8"

	"almanac/internal/fields"
)

// Parameters are what an action or a target of one kind consists of.
type Parameters interface {
	// Text describes it for people, without secrets.
	Text() string
	// Secrets returns its secrets, set or not. old are the parameters that it replaces, nil for none: their secrets
	// may be kept.
	Secrets(old Parameters) []Secret
	// Check reports what the tags and rules of its fields cannot say, and sets what they leave to their defaults.
	Check(c *Checker)

	rules(l Limits) map[string]fields.Rule
	copied() Parameters // can be changed without changing the original
}

// ActionParameters are what an action of one kind consists of. Every action may be a target.
type ActionParameters interface {
	Parameters
	// TargetText is Text for a target, whose path may be a secret.
	TargetText() string
	// Host returns its destination in lower case, for people; "" if it has none.
	Host() string
	// HostKey returns the key under which unanswered requests to its destination are counted.
	HostKey() string
	// Texts returns its texts that people write, and that receivers read.
	Texts() []Text
	// Templated returns the member that says whether texts have placeholders.
	Templated() *bool
	// Target reports what a target may not have, since Almanac writes it, and removes it.
	Target(c *Checker)
	// Carry makes it send a content of a media type, as a target.
	Carry(content, mediaType string)
}

// A Describer has members that follow from its secrets.
type Describer interface {
	// Describe checks the secrets and sets these members. It is called after the secrets were found to be there, or to
	// be kept from old.
	Describe(c *Checker, old Parameters)
}

// Limits bound what is checked.
type Limits struct {
	URIBytes    int // length of a URI
	BodyBytes   int // length of a body or a message, in characters
	Headers     int // number of a request's headers
	HeaderBytes int // total length of the names and values of a request's headers
}

// bodyRule is the rule of a body or a message.
func bodyRule(l Limits) fields.Rule {
	return fields.Rule{
		Code: fields.TooLong, Allowed: fmt.Sprintf("at most %d characters", l.BodyBytes),
		Valid: func(s string) bool { return utf8.RuneCountInString(s) <= l.BodyBytes },
	}
}

// A Checker collects what is wrong with parameters.
type Checker struct {
	Errors *fields.Errors
	Path   string // of the parameters
	Type   Type   // of the action or target
	Limits Limits
	Filled func(uri string) string // fills in the placeholders of a URI with samples
}

// Add reports an error, which may be nil, at a path below the parameters.
func (c *Checker) Add(path string, e *fields.Error) bool {
	if e == nil {
		return false
	}
	e.Path = fields.MemberPath(c.Path, path)
	c.Errors.Add(e)
	return true
}

// Fail reports a field without showing its value.
func (c *Checker) Fail(path string, code fields.Code, allowed, hint string) {
	c.Add(path, &fields.Error{Code: code, Allowed: allowed, Hint: hint})
}

// Has reports whether a path has an error already.
func (c *Checker) Has(path string) bool { return c.Errors.Has(fields.MemberPath(c.Path, path)) }

// own reports a member of a target that Almanac writes.
func (c *Checker) own(member string, given bool) {
	if given {
		c.Fail(member, fields.Forbidden, "", "leave it out: Almanac writes what a notification says")
	}
}

// A Text is a text of an action.
type Text struct {
	Path      string // below the parameters
	Value     *string
	Use       Use
	MediaType string // of a content; "" if it is not said
}

// A Use is where a text stands.
type Use int

// The uses.
const (
	InContent  Use = iota // a body or message
	InURI                 // a URI
	InHeader              // a header of a request
	InProperty            // a custom property of a message
	InUser                // a user name, which has no placeholders
)

// inMembers returns the values of an object at a path.
func inMembers(list fields.Members, path string, u Use) (all []Text) {
	for i := range list {
		all = append(all, Text{Path: path + "." + fields.Shorten(list[i].Name), Value: &list[i].Value, Use: u})
	}
	return all
}

// cloned returns a shallow copy of a value; nil for nil.
func cloned[T any](v *T) *T {
	if v == nil {
		return nil
	}
	return new(*v)
}
