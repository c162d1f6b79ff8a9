package api

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// canonicalPath rewrites the path of a request and passes it on to h: fixed words in the spelling of the
// routes, since clients of Azure differ in their case, and no trailing slash.
func canonicalPath(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/") {
			sent := *r
			u := *r.URL
			u.Path, u.RawPath = spell(cmp.Or(u.RawPath, u.EscapedPath()))
			sent.URL = &u
			r = &sent
		}
		h.ServeHTTP(w, r)
	})
}

// spell returns a path, given as it was sent, with its fixed words in the spelling of the routes: decoded,
// and with every segment escaped in the same way.
//
// Fixed words and names alternate, except that the provider's name is also a fixed word. So a job may have
// one of the words as its name.
func spell(sent string) (plain, escaped string) {
	segments := strings.Split(strings.TrimSuffix(sent, "/"), "/")[1:]
	var p, e strings.Builder
	word := ""
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			s = decoded
		}
		fixed := i%2 == 0 || word == "providers"
		if word = words[job.NormalizeName(s)]; fixed && word != "" {
			s = word
		}
		p.WriteString("/" + s)
		e.WriteString("/" + url.PathEscape(s))
	}
	return cmp.Or(p.String(), "/"), cmp.Or(e.String(), "/")
}

// param returns a name from the path, decoded. It cannot fail, because [spell] has escaped the name.
func param(c *gin.Context, name string) string {
	decoded, _ := url.PathUnescape(c.Param(name))
	return decoded
}

// scope returns the subscription and resource group in the path, or the defaults for a short path. The
// group is empty for a path with a subscription only.
func (s *server) scope(c *gin.Context) (subscription, group string) {
	if _, long := c.Params.Get("sub"); !long {
		return s.DefaultSubscription, s.DefaultResourceGroup
	}
	return param(c, "sub"), param(c, "rg")
}

// forCollection adapts a handler of the collection in the path.
func (s *server) forCollection(f func(*gin.Context, job.CollectionKey) error) gin.HandlerFunc {
	return s.handle(func(c *gin.Context) error {
		k := s.collectionKey(c)
		if err := k.Validate(); err != nil {
			return err
		}
		return f(c, k)
	})
}

// forJob adapts a handler of the job in the path.
func (s *server) forJob(f func(*gin.Context, job.Key) error) gin.HandlerFunc {
	return s.handle(func(c *gin.Context) error {
		k := s.collectionKey(c).Job(param(c, "job"))
		if err := k.Validate(); err != nil {
			return err
		}
		return f(c, k)
	})
}

// collectionKey returns the key of the collection in the path. It may be invalid.
func (s *server) collectionKey(c *gin.Context) job.CollectionKey {
	subscription, group := s.scope(c)
	return job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: param(c, "jc")}
}
