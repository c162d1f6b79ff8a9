package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/exit"
)

// A recorder is an API that keeps what it was asked for, with the name of the API and the token.
type recorder struct{ asked []string }

func (r *recorder) serve(t *testing.T, name string) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, path, _ := strings.Cut(q.URL.Path, "/jobCollections/")
		r.asked = append(r.asked, strings.TrimSpace(name+" "+path+" "+strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"value":[],"properties":{"action":{}}}`))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAContextOfTheCommandLineWinsOverVariables(t *testing.T) {
	t.Parallel()
	var r recorder
	dev, prod := r.serve(t, "dev"), r.serve(t, "prod")
	home := t.TempDir()
	token := filepath.Join(home, "token")
	require.NoError(t, os.WriteFile(token, []byte("own"), 0o600))
	u := &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}}
	u.must(t, "context", "add", "current", "--url", prod, "-c", "usual")
	u.must(t, "context", "add", "dev", "--url", dev, "--token-file", token, "-c", "tests", "--stay")
	u.must(t, "context", "add", "bare", "--url", dev, "--stay")
	for _, tt := range []struct{ name, variables, line, want string }{
		{"the URL", "ALMANAC_URL=" + prod, "--context dev", "dev tests/jobs/hello own"},
		{"the token", "ALMANAC_TOKEN=theirs", "--context dev", "dev tests/jobs/hello own"},
		{"the job collection", "ALMANAC_COLLECTION=payroll", "--context dev", "dev tests/jobs/hello own"},
		{"what it does not say is of the variables", "ALMANAC_COLLECTION=payroll", "--context bare", "dev payroll/jobs/hello"},
		{"a token is not for another API than that of its URL", "ALMANAC_TOKEN=theirs ALMANAC_URL=" + prod, "--context bare", "dev default/jobs/hello"},
		{"a token goes where no other is", "ALMANAC_TOKEN=theirs", "--context bare", "dev default/jobs/hello theirs"},
		{"a flag wins over it", "", "--context dev --collection other --url " + prod, "prod other/jobs/hello"},
		{"the token of the variables goes to the URL of a flag", "ALMANAC_TOKEN=theirs", "--context dev --url " + prod, "prod tests/jobs/hello theirs"},
		{"variables win over the current context", "ALMANAC_TOKEN=theirs ALMANAC_COLLECTION=payroll", "", "prod payroll/jobs/hello theirs"},
		{"a context of a variable is the current one", "ALMANAC_CONTEXT=dev ALMANAC_COLLECTION=payroll", "", "dev payroll/jobs/hello own"},
		{"variables alone", "ALMANAC_TOKEN=theirs ALMANAC_URL=" + dev, "", "dev usual/jobs/hello theirs"},
	} {
		v := &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}}
		for variable := range strings.FieldsSeq(tt.variables) {
			name, value, _ := strings.Cut(variable, "=")
			v.vars[name] = value
		}
		r.asked = nil
		v.must(t, append(strings.Fields("job get hello -o json"), strings.Fields(tt.line)...)...)
		require.Equal(t, []string{tt.want}, r.asked, tt.name)
	}
}

func TestAURLHasNoPassword(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	u := &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}}
	for _, line := range []string{
		"context add a --url https://me:hunter2@example.com", "context add a --url https://me:hunter2%zz@example.com",
		"job list --url https://me:hunter2@example.com",
	} {
		_, problems, status := u.types(t, strings.Fields(line)...)
		require.Equal(t, exit.Usage, status)
		require.Contains(t, problems, "the URL of the API has a user or a password")
		require.NotContains(t, problems, "hunter2")
	}
}
