package api

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
)

// Routes returns all routes of the API.
func Routes() gin.RoutesInfo {
	s := &server{}
	return s.engine(s.table()).Routes()
}

func TestEveryRouteNeedsWhatItsRowSaysAndHeadIsAnsweredWhereGetIs(t *testing.T) {
	t.Parallel()
	table := (&server{}).table()
	needs, served := permissions(table), map[string]bool{}
	for _, r := range Routes() {
		_, decided := needs.Of(r.Method, r.Path)
		require.True(t, decided, "it is not decided what %s %s needs, so everyone is refused", r.Method, r.Path)
		served[r.Method+" "+r.Path] = true
	}
	for _, r := range Routes() {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			require.True(t, served["GET "+r.Path] && served["HEAD "+r.Path], r.Path)
		}
	}
	for _, e := range table { // paths below the provider are in several rows, for several scopes
		require.Equal(t, e.needs, needs[e.method+" "+e.path], "rows of %s %s need something else", e.method, e.path)
	}
}

func TestTheWordsOfEveryPathAreReadWhateverTheirCase(t *testing.T) {
	t.Parallel()
	table := (&server{}).table()
	read := ""
	h := words(table).Canonical(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { read = r.URL.Path }))
	named := regexp.MustCompile(":[a-z]+")
	for _, e := range table {
		for base := range e.below.bases() {
			sent := strings.ReplaceAll(strings.ToUpper(named.ReplaceAllString(base+e.path, ":")), ":", "name")
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, sent, nil))
			require.Equal(t, named.ReplaceAllString(base+e.path, "name"), read, sent)
		}
	}
}
