package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
)

// Routes returns all routes of the API.
func Routes() gin.RoutesInfo {
	return (&server{scheduler: struct{ Scheduler }{}}).engine().Routes()
}

func TestEveryRouteSaysWhatItNeedsAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	for key := range permissions {
		unused[key] = true
	}
	for _, r := range Routes() {
		_, known := permissions.Of(r.Method, r.Path)
		require.True(t, known, "%s %s is in no line of the permissions", r.Method, r.Path)
		_, path, long := strings.Cut(r.Path, provider)
		if !long {
			path = r.Path
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		delete(unused, method+" "+path)
	}
	require.Empty(t, unused, "permissions without a route")
}
