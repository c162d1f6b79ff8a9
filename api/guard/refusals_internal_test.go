package guard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"almanac/internal/audit/refusals"
)

func TestARefusalThatIsNotedIsInTheAuditLogWhateverItsStatus(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	g := New(Options{Refusals: refusals.New(&text)})
	r := gin.New()
	r.GET("/hidden", g.Audit, func(c *gin.Context) {
		noteRefusal(c, "ci", "Microsoft.Scheduler/jobCollections/read")
		c.Status(http.StatusNotFound)
	})
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/hidden", nil))
	require.Contains(t, text.String(), `"principal":"ci","client":"192.0.2.1","method":"GET","path":"/hidden","action":"Microsoft.Scheduler/jobCollections/read","status":404,`)
}
