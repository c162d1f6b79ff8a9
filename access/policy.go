// Package access decides who may do what: a [Principal] may do an [Action] in a [Scope] if one of its roles there, or
// in a scope around it, allows the action. What nothing allows is denied.
package access

import (
	"almanac/job"
	"almanac/job/listing"
)

// An Assignment gives the principals that a selector selects a role.
type Assignment struct {
	Principal Selector
	Grant
}

// A Policy is a set of assignments. It does not change, and is safe for concurrent use. A question takes some lookups
// for each selector of a principal, however many assignments there are.
type Policy struct {
	grants map[Selector]map[Scope]place
}

// A place is what a selector has in a scope.
type place struct {
	role  Role // assigned in this very scope
	below bool // whether something is assigned below it
}

// NewPolicy returns the policy of assignments.
func NewPolicy(assignments []Assignment) *Policy {
	p := &Policy{grants: map[Selector]map[Scope]place{}}
	for _, a := range assignments {
		scopes := p.grants[a.Principal]
		if scopes == nil {
			scopes = map[Scope]place{}
			p.grants[a.Principal] = scopes
		}
		add(scopes, a.Grant)
	}
	return p
}

func add(scopes map[Scope]place, g Grant) {
	at := scopes[g.Scope]
	at.role = max(at.role, g.Role)
	scopes[g.Scope] = at
	for around, ok := g.Scope.Parent(); ok; around, ok = around.Parent() {
		at := scopes[around]
		if at.below {
			return // and so have all around it
		}
		at.below = true
		scopes[around] = at
	}
}

// For returns what a principal may do. p may be nil: then only its own grant counts.
func (p *Policy) For(who *Principal) View {
	v := View{own: who.Grant}
	if p == nil {
		return v
	}
	for _, s := range who.Selectors {
		if scopes := p.grants[s]; scopes != nil {
			v.scopes = append(v.scopes, scopes)
		}
	}
	return v
}

// A View is what one principal may do, by one state of the policy. It says what lists show it, as a [listing.View].
type View struct {
	own    Grant
	scopes []map[Scope]place
}

var _ listing.View = View{}

// Role returns the strongest role in a scope, assigned there or around it.
func (v View) Role(s Scope) Role {
	strongest := Role(0)
	for at, ok := s, true; ok; at, ok = at.Parent() {
		if v.own.Scope == at {
			strongest = max(strongest, v.own.Role)
		}
		for _, scopes := range v.scopes {
			strongest = max(strongest, scopes[at].role)
		}
	}
	return strongest
}

// Allows reports whether an action in a scope is allowed.
func (v View) Allows(a Action, s Scope) bool { return v.Role(s).Allows(a) }

// Reaches reports whether there is a role in a scope, around it, or somewhere below it.
func (v View) Reaches(s Scope) bool {
	if v.Role(s) > 0 {
		return true
	}
	for _, scopes := range v.scopes {
		if scopes[s].below {
			return true
		}
	}
	for at, ok := v.own.Scope, v.own.Role > 0; ok; at, ok = at.Parent() {
		if at == s {
			return true
		}
	}
	return false
}

// ShowsCollection reports whether a collection may be seen.
func (v View) ShowsCollection(k job.CollectionKey) bool { return v.Role(ScopeOfCollection(k)) > 0 }

// ShowsJob reports whether a job may be seen.
func (v View) ShowsJob(k job.Key) bool { return v.Role(ScopeOfJob(k)) > 0 }

// ShowsWithin reports whether a job of a collection, that may not exist, may be seen.
func (v View) ShowsWithin(k job.CollectionKey) bool { return v.Reaches(ScopeOfCollection(k)) }
