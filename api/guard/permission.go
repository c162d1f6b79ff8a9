package guard

import (
	"net/http"

	"almanac/access"
	"almanac/api/paths"
)

// A Permission is what a request to a route needs.
type Permission struct {
	action access.Action // "": nothing, not even a login
	reach  reach
}

// A reach is how far the roles of a caller have to reach for an action in the scope of the path.
type reach int

const (
	whole reach = iota // a role in the scope
	some               // also one somewhere below it: a list shows what is there
)

// Public is what the routes need that everyone may call: probes, and what is the same in every installation.
var Public = Permission{}

// At needs a role in the scope of the path that allows an action.
func At(a access.Action) Permission { return Permission{a, whole} }

// AtOrBelow needs a role in the scope of the path, or somewhere below it, that allows an action. It is for lists, which show
// what the caller may see.
func AtOrBelow(a access.Action) Permission { return Permission{a, some} }

// Permissions are what routes need, by method and the path below the provider, for long and short paths alike. HEAD needs
// what GET does.
type Permissions map[string]Permission

// Of returns what a route needs, and whether that is known.
func (p Permissions) Of(method, route string) (Permission, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	needs, known := p[method+" "+paths.Below(route)]
	return needs, known
}
