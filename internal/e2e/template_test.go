package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnErrorActionPostsWhatFailed(t *testing.T) {
	t.Parallel()
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/chat" {
			http.Error(w, `no "report" <today>`, http.StatusNotFound)
		}
	})
	jobs := use(t).collection(t) + "/jobs"
	const body = `{\"text\": \"{{.Job.Name}} failed: {{.Failure.Error}}\", \"message\": \"{{.Failure.Message}}\", \"id\": \"{{.Execution.ID}}\", ` +
		`\"status\": {{.Failure.Status}}, \"attempts\": {{.Failure.Attempts}}}`
	definition := `{"properties":{"action":{"type":"Http","request":{"method":"POST","uri":"` + target.URL + `/reports/{{.Job.Name}}","template":true},` +
		`"retryPolicy":{"retryType":"none"},"errorAction":{"type":"Http","request":{"method":"POST","uri":"` + target.URL + `/chat?due={{.Due}}",` +
		`"headers":{"Content-Type":"application/json","X-Attempt":"{{.Attempt}}"},"body":"` + body + `","template":true}}}}}`
	created(t, jobs+"/Nightly", definition)

	main := target.await(t, "/reports/Nightly", 1)[0]
	told := target.await(t, "/chat", 1)[0]
	var said struct {
		Text, Message, ID string
		Status, Attempts  int
	}
	require.NoError(t, json.Unmarshal([]byte(told.body), &said), told.body)
	require.Equal(t, `Nightly failed: 404 Not Found: no "report" <today>`, said.Text)
	require.Contains(t, said.Message, `Body: no "report" <today>`)
	require.Equal(t, []int{404, 1}, []int{said.Status, said.Attempts})
	require.Equal(t, main.key, said.ID)
	require.Equal(t, "1", told.header.Get("X-Attempt"))

	shown := status(t, jobs+"/nightly", "properties.state", "faulted")
	require.Equal(t, strings.ReplaceAll(body, `\"`, `"`), shown.get("properties.action.errorAction.request.body"), "a template is shown as it is written")
	require.Equal(t, true, shown.get("properties.action.errorAction.request.template"))
	history := call(t, http.MethodGet, jobs+"/nightly/history", "")
	require.Equal(t, "Completed", history.get("value.0.properties.status"), history.body)

	refused := call(t, http.MethodPut, jobs+"/other", strings.Replace(definition, ".Failure.Error", ".Failure.Eror", 1))
	require.Equal(t, http.StatusBadRequest, refused.code, refused.body)
	require.Equal(t, "properties.action.errorAction.request.body", refused.get("error.details.0.target"))
	require.Contains(t, refused.get("error.details.0.message"), "see line 1, column 33")
}
