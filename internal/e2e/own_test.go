package e2e_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Temporal and its Web UI show the histories of all jobs, secrets included, to
// whoever asks. `dev` lets jobs reach this machine, but not those.
func TestJobsDoNotReachWhatDevListensOn(t *testing.T) {
	t.Parallel()
	p := dev(t, t.TempDir(), "--egress", "any")
	receiver := newSink(t, nil)
	jobs := p.url + "/jobCollections/default/jobs"
	created(t, jobs+"/other", get(receiver.URL, ""))
	receiver.await(t, "/", 1)

	output := strings.Join(p.output, "\n")
	for _, listener := range []string{"API", "Web UI", "Temporal"} {
		found := regexp.MustCompile(listener + ` +(?:http://)?127\.0\.0\.1:(\d+)`).FindStringSubmatch(output)
		require.Len(t, found, 2, output)
		for _, host := range []string{"127.0.0.1", "localhost", "127.1", "2130706433", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]"} {
			r := call(t, http.MethodPut, jobs+"/own", get("http://"+host+":"+found[1]+"/api/v1/namespaces", ""))
			require.Equal(t, http.StatusBadRequest, r.code, "%s of %s: %s", host, listener, r.body)
			require.Contains(t, r.body, "no action may reach this port")
		}
	}
}
