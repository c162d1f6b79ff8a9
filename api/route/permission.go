package route

import (
	"net/http"

	"almanac/access"
)

// A Permission is what a request to a route needs. The zero value is undecided, and no role has it.
type Permission struct {
	Action access.Action // "" if Public
	Public bool          // everyone has it, without a login

	// Below says that a role for the Action somewhere below the scope of the path is enough: a list shows what is
	// there.
	Below bool
}

// Public is what the routes need that everyone may call: probes, and what is the same in every installation.
var Public = Permission{Public: true}

// At needs a role in the scope of the path that allows an action.
func At(a access.Action) Permission { return Permission{Action: a} }

// AtOrBelow needs a role in the scope of the path, or somewhere below it, that allows an action. It is for lists,
// which show what the caller may see.
func AtOrBelow(a access.Action) Permission { return Permission{Action: a, Below: true} }

// Permissions are what routes need, by method and the path below the provider, for long and short paths alike. HEAD
// needs what GET does.
type Permissions map[string]Permission

// Of returns what a route needs, and whether that is known.
func (p Permissions) Of(method, route string) (Permission, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	needs := p[method+" "+Below(route)]
	return needs, needs != Permission{}
}
