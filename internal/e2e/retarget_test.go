package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStoredPasswordIsNotSentToAnotherHost(t *testing.T) {
	t.Parallel()
	s, mine, other := use(t), newSink(t, nil), newSink(t, nil)
	url := s.collection(t) + "/jobs/j"
	request := func(uri, password string) string {
		return `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + uri + `","authentication":{"type":"Basic","username":"u"` + password + `}}}` + later + `}}`
	}
	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, url, request(mine.URL+"/a", `,"password":"`+canary("kept")+`"`)).code)

	const member, message = "properties.action.request.authentication.password",
		"properties.action.request.authentication.password: required; allowed: a password (\"\" is an empty one); send it again, because the target changed (scheme, host or port of uri), and a stored secret is not sent to another one"
	for method, body := range map[string]string{
		http.MethodPut:   request(other.URL, ""),
		http.MethodPatch: `{"properties":{"action":{"request":{"uri":"` + other.URL + `"}}}}`,
	} {
		r := call(t, method, url, body)
		require.Equal(t, http.StatusBadRequest, r.code, r.body)
		require.Equal(t, member, r.get("error.details.0.target"), r.body)
		require.Equal(t, message, r.get("error.details.0.message"), r.body)
	}

	authorization := func(to *sink, path string) string {
		require.Equal(t, http.StatusOK, call(t, http.MethodPost, url+"/run", "").code)
		return to.await(t, path, 1)[0].header.Get("Authorization")
	}
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, url, `{"properties":{"action":{"request":{"uri":"`+mine.URL+`/b?c=d"}}}}`).code)
	kept := authorization(mine, "/b")
	require.NotEmpty(t, kept, "another path of the same host gets it")
	require.Empty(t, other.got("/"))
	require.Equal(t, http.StatusOK, call(t, http.MethodPatch, url,
		`{"properties":{"action":{"request":{"uri":"`+other.URL+`/c","authentication":{"password":"another"}}}}}`).code)
	sent := authorization(other, "/c")
	require.NotEmpty(t, sent)
	require.NotEqual(t, kept, sent)
}
