// Package route has what a route of the REST API is made of: its path, whatever the case of its fixed words, the
// names in it, the permission that it needs, and what a request to it may have.
package route

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// Provider is the part of a long path that short paths lack.
const Provider = "/providers/Microsoft.Scheduler"

// The paths that machines ask which watch this one.
const (
	Health  = "/healthz"
	Ready   = "/readyz"
	Metrics = "/metrics"
)

// The paths of what has job collections. Those of a subscription are below its name.
const (
	Subscriptions  = "/subscriptions"
	ResourceGroups = Subscriptions + "/:sub/resourceGroups"
)

// IsProbe reports whether a route is one of [Health], [Ready] and [Metrics].
func IsProbe(route string) bool { return route == Health || route == Ready || route == Metrics }

// Below returns the part of a route below the provider: the same for a long path and a short one.
func Below(route string) string {
	if _, short, long := strings.Cut(route, Provider); long {
		return short
	}
	return route
}

// Words are the fixed words of the paths in the spelling of the routes, by their lower-case form.
type Words map[string]string

// WordsOf returns the fixed words of the templates of routes.
func WordsOf(templates ...string) Words {
	w := Words{}
	for _, t := range templates {
		for word := range strings.SplitSeq(t, "/") {
			if word != "" && !strings.HasPrefix(word, ":") {
				w[job.NormalizeName(word)] = word
			}
		}
	}
	return w
}

// Canonical rewrites the path of a request and passes it on to h: fixed words in the spelling of the routes, since
// clients of Azure differ in their case, and no trailing slash.
func (w Words) Canonical(h http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/") {
			sent := *r
			u := *r.URL
			u.Path, u.RawPath = w.spell(cmp.Or(u.RawPath, u.EscapedPath()))
			sent.URL = &u
			r = &sent
		}
		h.ServeHTTP(answer, r)
	})
}

// spell returns a path, given as it was sent, with its fixed words in the spelling of the routes: decoded,
// and with every segment escaped in the same way.
//
// Fixed words and names alternate, except that the provider's name is also a fixed word. So a job may have
// one of the words as its name.
func (w Words) spell(sent string) (plain, escaped string) {
	segments := strings.Split(strings.TrimSuffix(sent, "/"), "/")[1:]
	var p, e strings.Builder
	word := ""
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			s = decoded
		}
		fixed := i%2 == 0 || word == "providers"
		if word = w[job.NormalizeName(s)]; fixed && word != "" {
			s = word
		}
		p.WriteString("/" + s)
		e.WriteString("/" + url.PathEscape(s))
	}
	return cmp.Or(p.String(), "/"), cmp.Or(e.String(), "/")
}

// Name returns the name in the path for a parameter of its route, decoded; "" if the route has no such parameter. It
// cannot fail, because [Words.Canonical] has escaped the name.
func Name(c *gin.Context, parameter string) string {
	decoded, _ := url.PathUnescape(c.Param(parameter))
	return decoded
}

// Has reports whether the route of a request has a parameter.
func Has(c *gin.Context, parameter string) bool { _, ok := c.Params.Get(parameter); return ok }

// Defaults are the names that short paths leave out.
type Defaults struct{ Subscription, ResourceGroup string }

// Group returns the subscription and resource group in the path, or the defaults for a short path. The group is empty
// for a path with a subscription only.
func (d Defaults) Group(c *gin.Context) (subscription, group string) {
	if !Has(c, "sub") {
		return d.Subscription, d.ResourceGroup
	}
	return Name(c, "sub"), Name(c, "rg")
}

// Collection returns the key of the collection in the path. It may be invalid.
func (d Defaults) Collection(c *gin.Context) job.CollectionKey {
	subscription, group := d.Group(c)
	return job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: Name(c, "jc")}
}
