package access

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
)

// FileOptions say what a file of assignments may name.
type FileOptions struct {
	Defaults Defaults
	Issuers  []string // those whose tokens are accepted

	// Authorities are those that sign certificates of callers.
	Authorities []Authority
}

// ParsePolicy reads a file of assignments. The error lists the mistakes, with their lines.
func ParsePolicy(text []byte, o FileOptions) (*Policy, error) {
	root, err := ParseYAML(text)
	if err != nil || root == nil {
		return NewPolicy(nil), err
	}
	f := file{FileOptions: o}
	members, _ := f.Mapping(root, "", "assignments")
	list := f.Sequence(members[0], "assignments")
	assignments := make([]Assignment, len(list))
	for i, n := range list {
		assignments[i] = f.assignment(n, fmt.Sprintf("assignments[%d]", i))
	}
	f.CheckEnd(root, text)
	return NewPolicy(assignments), f.Err()
}

// A file is the work on a file of assignments.
type file struct {
	YAMLReader
	FileOptions
}

func (f *file) assignment(n *yaml.Node, path string) Assignment {
	members, ok := f.Mapping(n, path, "principal", "role", "scope")
	if !ok {
		return Assignment{}
	}
	a := Assignment{Grant: ReadGrant(&f.YAMLReader, members[1], members[2], n, path, f.Defaults)}
	if members[0] == nil {
		f.Fail(n, path+".principal", "it is missing", selectorForms())
		return a
	}
	a.Principal = f.selector(members[0], path+".principal")
	return a
}

// ReadGrant reads the members role and scope of a mapping, both of which have to be there.
func ReadGrant(r *YAMLReader, role, scope, parent *yaml.Node, path string, d Defaults) (g Grant) {
	if name := r.Text(role, parent, path+".role"); name != "" {
		if g.Role = ParseRole(name); g.Role == 0 {
			r.Fail(role, path+".role", fmt.Sprintf("%.40q is no role", name), fields.OneOf(roleNames))
		}
	}
	if text := r.Text(scope, parent, path+".scope"); text != "" {
		var err error
		if g.Scope, err = ParseScope(text, d); err != nil {
			r.Fail(scope, path+".scope", err.Error(), AllowedScopes)
		}
	}
	return g
}

// selector reads a mapping of one kind to its value, and perhaps an issuer.
func (f *file) selector(n *yaml.Node, path string) Selector {
	members, ok := f.Mapping(n, path, selectorMembers...)
	issuer := members[len(kinds)]
	var s Selector
	for i, value := range members[:len(kinds)] {
		switch {
		case value == nil:
		case s.Kind != "":
			f.Fail(value, path, fmt.Sprintf("it has both %s and %s", s.Kind, kinds[i]), selectorForms())
		default:
			s.Kind, s.Value = kinds[i], f.Text(value, n, path+"."+selectorMembers[i])
		}
	}
	switch {
	case !ok:
	case s.Kind == "":
		f.Fail(n, path, "it selects nobody", selectorForms())
	case s.Kind.ofIssuer():
		s.Issuer = f.issuer(issuer, n, path+".issuer")
	case s.Kind == KindCertificate || s.Kind == KindSAN:
		s.Issuer = f.authority(issuer, n, path+".issuer")
	case issuer != nil:
		f.Fail(issuer, path+".issuer", fmt.Sprintf("a %s has no issuer", s.Kind), "leave it out")
	}
	return s
}

// issuer returns the issuer that a selector names, or the only one.
func (f *file) issuer(n, parent *yaml.Node, path string) string {
	allowed := strings.Join(f.Issuers, ", ")
	switch {
	case len(f.Issuers) == 0:
		f.Fail(parent, path, "no --oidc-issuer is given, so no token says this", "a token, a certificate or a san")
	case n != nil:
		if name := f.Text(n, parent, path); name != "" && !slices.Contains(f.Issuers, name) {
			f.Fail(n, path, fmt.Sprintf("%.100q is no --oidc-issuer", name), allowed)
		}
		return n.Value
	case len(f.Issuers) > 1:
		f.Fail(parent, path, "it is missing, and there are several issuers, whose names may mean others", allowed)
	default:
		return f.Issuers[0]
	}
	return ""
}

// authority returns the authority that a selector names, or the only one.
func (f *file) authority(n, parent *yaml.Node, path string) string {
	at, name := parent, ""
	if n != nil {
		at = n
		if name = f.Text(n, parent, path); name == "" {
			return ""
		}
	}
	id, problem, allowed := resolve(f.Authorities, name)
	if problem != "" {
		f.Fail(at, path, problem, allowed)
	}
	return id
}

// selectorMembers are the members of a selector: the kinds, and the issuer.
var selectorMembers = func() (names []string) {
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return append(names, "issuer")
}()

func selectorForms() string {
	return "one of " + strings.Join(selectorMembers[:len(kinds)], ", ")
}
