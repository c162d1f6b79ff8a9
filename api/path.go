package api

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// canonicalPath hands requests on to h with their path in the spelling of the
// routes, since clients of Azure differ in the case of its fixed words, and
// without a slash at its end.
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

// spell returns a path, which is given as it was sent, with its fixed words in
// the spelling of the routes: decoded, and with every segment escaped alike.
//
// Fixed words and names alternate, but for the name of the provider, which is
// fixed as well. So a job may be named like one of the words.
func spell(sent string) (plain, escaped string) {
	segments := strings.Split(strings.TrimSuffix(sent, "/"), "/")[1:]
	var p, e strings.Builder
	word := ""
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			s = decoded
		}
		fixed := i%2 == 0 || word == "providers"
		if word = words[job.Fold(s)]; fixed && word != "" {
			s = word
		}
		p.WriteString("/" + s)
		e.WriteString("/" + url.PathEscape(s))
	}
	return cmp.Or(p.String(), "/"), cmp.Or(e.String(), "/")
}

// param returns a name from the path. [spell] has escaped it, so that it
// decodes.
func param(c *gin.Context, name string) string {
	decoded, _ := url.PathUnescape(c.Param(name))
	return decoded
}

// scope returns the subscription and resource group that the path names, or
// the defaults on a short path. Under a subscription alone there is no group.
func (s *server) scope(c *gin.Context) (subscription, group string) {
	if _, long := c.Params.Get("sub"); !long {
		return s.subscription, s.resourceGroup
	}
	return param(c, "sub"), param(c, "rg")
}

// collectionKey returns the key of the collection that the path names.
func (s *server) collectionKey(c *gin.Context) (job.CollectionKey, error) {
	subscription, group := s.scope(c)
	k := job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: param(c, "jc")}
	return k, k.Validate()
}

// jobKey returns the key of the job that the path names.
func (s *server) jobKey(c *gin.Context) (job.Key, error) {
	subscription, group := s.scope(c)
	k := job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: param(c, "jc")}.Job(param(c, "job"))
	return k, k.Validate()
}
