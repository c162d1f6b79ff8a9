package job_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/job"
)

func TestAChangeOfSomebodyElseKeepsTheFileAndIsNotUndone(t *testing.T) {
	t.Parallel()
	was := client.Job{ETag: `"1"`}
	was.Properties.Action = client.Action{Type: "Http", Request: &client.Request{URI: "http://example.com/", Method: "GET"}}
	for _, tt := range []struct {
		name   string
		status int
		code   int
		want   []string
		not    string
	}{
		{"it was changed meanwhile", http.StatusPreconditionFailed, exit.Refused, []string{"would undo that", "job get default/hello -o yaml"}, "edit default/hello -f "},
		{"the API is away", http.StatusBadGateway, exit.Unreachable, []string{"has what you wrote: almanac job edit default/hello -f "}, "would undo"},
	} {
		file := filepath.Join(t.TempDir(), "hello.yaml")
		require.NoError(t, os.WriteFile(file, []byte("# etag: \"1\"\nproperties: {action: {type: Http, request: {uri: http://example.com/new, method: GET}}}\n"), 0o600))
		s, told := session(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPatch {
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(map[bool]string{true: `{"error":{"code":"PreconditionFailed","message":"no"}}`}[tt.code == exit.Refused]))
				return
			}
			_, _ = w.Write([]byte(`{}`))
		})
		s.Yes = true
		err := job.SendDraft(t.Context(), s, was, file)
		require.Equal(t, tt.code, exit.CodeOf(err), tt.name)
		for _, want := range tt.want {
			require.ErrorContains(t, err, want, tt.name)
		}
		require.NotContains(t, err.Error(), tt.not, tt.name)
		require.NotContains(t, told.String(), "What differs", "the editor's file says what it was made of")
		require.FileExists(t, file)
	}
}
