package wiring

import (
	"cmp"
	"net/http"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/cmd/almanac/internal/settings"
	"almanac/console"
)

// console returns the web console of an API that is made with options; nil if there is none.
func (p *Process) console(h http.Handler, o *api.Options, login bool) *console.Console {
	if !p.Console {
		return nil
	}
	c, err := console.New(console.Options{
		API: h, PublicURL: p.PublicURL, Who: whoAsks(o.Access), Login: login, Version: p.Build.Version,
	})
	if err != nil { // its own URL is a constant
		p.Log.Error("there is no console", "error", err)
		return nil
	}
	return c
}

// whoAsks tells the console who sent a request, and what that caller may do, by what the API goes by.
func whoAsks(a *guard.Access) func(*http.Request) (console.Caller, error) {
	if a == nil {
		return nil
	}
	return func(r *http.Request) (console.Caller, error) {
		for _, one := range a.Authenticators {
			who, err := one.Authenticate(r)
			if err != nil {
				return console.Caller{}, err
			}
			if who != nil {
				return callerOf(who, a.Policy), nil
			}
		}
		return console.Caller{}, nil
	}
}

func callerOf(who *access.Principal, policy func() *access.Policy) console.Caller {
	var assignments *access.Policy
	if policy != nil {
		assignments = policy()
	}
	view := assignments.For(who)
	return console.Caller{Name: cmp.Or(who.Name, who.ID()), Known: true, May: func(action access.Action, collection, job string) bool {
		return view.Allows(action, access.NewScope(settings.DefaultSubscription, settings.DefaultResourceGroup, collection, job))
	}}
}
