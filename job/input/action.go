package input

import (
	"fmt"
	"slices"
	"strings"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/template"
)

// A place is an action or a target in a body.
type place struct {
	kind  kind.Type // of it, as it was written
	path  string
	parts []kind.Part[kind.Parameters] // the parameters that it has
	old   map[string]kind.Parameters   // those that they replace, by their name
}

// placeOf returns the place of an action, its error action aside. stored is the action that it replaces.
func placeOf(a *job.Action, path string, stored *job.Action) place {
	p := place{kind: a.Type, path: path, old: map[string]kind.Parameters{}}
	for _, part := range a.Parts() {
		p.parts = append(p.parts, kind.Part[kind.Parameters]{Name: part.Name, Parameters: part.Parameters})
	}
	for _, part := range stored.Parts() {
		p.old[part.Name] = part.Parameters
	}
	return p
}

// placesOf returns the places of an action and its error action.
func placesOf(a *job.Action, path string, stored *job.Action) (all []place) {
	withErrorAction(a, path, stored, func(a *job.Action, path string, stored *job.Action) {
		all = append(all, placeOf(a, path, stored))
	})
	return all
}

// placeOfTarget returns the place of a target, which replaces stored.
func placeOfTarget(t *job.Target, path string, stored *job.Target) place {
	p := place{kind: t.Type, path: path, parts: t.Parts(), old: map[string]kind.Parameters{}}
	for _, part := range stored.Parts() {
		p.old[part.Name] = part.Parameters
	}
	return p
}

// eachSecret calls visit with each secret of some places and its path in the body. With retarget a stored one may
// be sent to another target.
func eachSecret(places []place, retarget bool, visit func(path string, s *kind.Secret)) {
	for _, p := range places {
		for _, part := range p.parts {
			for _, s := range part.Parameters.Secrets(p.old[part.Name]) {
				s.Kept = s.Kept.To(retarget)
				visit(p.path+"."+part.Name+"."+s.Path, &s)
			}
		}
	}
}

// withErrorAction calls do with the action and its error action, each with its path and the action that it
// replaces.
func withErrorAction(a *job.Action, path string, stored *job.Action, do func(a *job.Action, path string, stored *job.Action)) {
	do(a, path, stored)
	if a.ErrorAction != nil {
		old := stored.ErrorAction
		if old == nil {
			old = &job.Action{}
		}
		do(a.ErrorAction, path+".errorAction", old)
	}
}

// action checks a job's action and its error action, and adds descriptions of their certificates. stored is
// the action to be replaced; secrets that may be kept from it need not be sent.
func (p *parser) action(a *job.Action, path string, stored *job.Action) {
	var places []place
	withErrorAction(a, path, stored, func(inner *job.Action, path string, stored *job.Action) {
		at := placeOf(inner, path, stored)
		p.parameters(&at)
		for _, e := range template.Check(inner, inner != a) {
			p.addAt(path+"."+e.Path, e)
		}
		p.check(&at)
		places = append(places, placeOf(inner, path, stored))
	})
	p.secrets(places)
}

// secrets reports the secrets of some places that are missing, and then checks what depends on them.
func (p *parser) secrets(places []place) {
	eachSecret(places, p.limits.AllowSecretRetargeting, func(path string, s *kind.Secret) {
		if s.Empty != nil && !s.Kept.Identity && slices.Contains(p.Emptied, path) {
			*s.Empty = true
		}
		if s.Absent() && s.Allowed != "" && !s.Kept.May() && !p.Has(path) && !p.secretsLater {
			p.Add(s.Missing(path))
		}
	})
	for _, at := range places {
		for _, part := range at.parts {
			if d, ok := part.Parameters.(kind.Describer); ok {
				d.Describe(p.checker(&at, part.Name), at.old[part.Name])
			}
		}
	}
}

// check checks the parameters at a place.
func (p *parser) check(at *place) {
	for _, part := range at.parts {
		part.Parameters.Check(p.checker(at, part.Name))
	}
}

// checker returns the checker of the parameters of a name at a place.
func (p *parser) checker(at *place, name string) *kind.Checker {
	return &kind.Checker{
		Errors: &p.Errors, Path: at.path + "." + name, Type: at.kind.Kind(),
		Limits: p.limits.kinds(), Filled: template.Filled,
	}
}

// checkActions reports an error of check for a job's action and for its error action. It calls check only if
// there are no errors yet.
func (p *parser) checkActions(a *job.Action, check CheckTarget) {
	if check == nil || len(p.List) > 0 {
		return
	}
	for _, at := range placesOf(a, p.pathOf("action"), &job.Action{}) {
		for _, part := range at.parts {
			if err := check(at.kind, part.Parameters); err != nil {
				p.fail(at.path, fields.Forbidden, "", err.Error())
			}
		}
	}
}

// parameters reports the type's parameter member if it is missing, and those of other types if they are
// present.
func (p *parser) parameters(at *place) {
	wanted := at.kind.Member()
	if wanted == "" {
		return // an error already
	}
	for _, name := range kind.Members() {
		path := at.path + "." + name
		given := slices.ContainsFunc(at.parts, func(p kind.Part[kind.Parameters]) bool { return p.Name == name })
		switch {
		case given && name != wanted:
			p.fail(path, fields.Forbidden, "", fmt.Sprintf("an action of type %s has %s", at.kind.Kind(), withArticle(wanted)))
		case !given && name == wanted && !p.Has(path):
			p.fail(path, fields.Required, "an object", fmt.Sprintf("an action of type %s has one", at.kind.Kind()))
		}
	}
}

// withArticle returns the name of a parameter member with its article.
func withArticle(name string) string {
	if strings.HasPrefix(name, "e") {
		return "an " + name
	}
	return "a " + name
}
