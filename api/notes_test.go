package api_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
)

// A note is shown in a line, by terminals and by Temporal's Web UI, too.
func TestANoteIsATextForPeople(t *testing.T) {
	t.Parallel()
	f := &fake{setJobState: func(context.Context, job.Key, job.State) (job.Job, error) { return job.Job{}, nil }}
	h := api.New(f, api.Options{})
	for _, note := range []string{" ", "\t", "a\x00b", "two\nlines", "\x1b[31m"} {
		got := send(h, http.MethodPost, "/jobCollections/c/jobs/j/disable?note="+url.QueryEscape(note), "")
		require.Equal(t, http.StatusBadRequest, got.status, "%q", note)
		require.Contains(t, got.body, "a text without control characters that is not blank")
	}
	require.Empty(t, f.promised)
	const good = "move of the database, 2 o'clock – ünicode"
	require.Equal(t, http.StatusOK, send(h, http.MethodPost, "/jobCollections/c/jobs/j/disable?note="+url.QueryEscape(good), "").status)
	require.Equal(t, []job.Promise{{Note: good}}, f.promised)
}
