package job_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

// now is the time at which the jobs of these tests are sent.
var now = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)

const httpAction = `{"type":"Http","request":{"uri":"http://example.com/","method":"GET"}}`

// withAction returns the body of a job with that action.
func withAction(action string) string { return `{"properties":{"action":` + action + `}}` }

// withRecurrence returns the body of a job with that recurrence.
func withRecurrence(recurrence string) string {
	return `{"properties":{"action":` + httpAction + `,"recurrence":` + recurrence + `}}`
}

func parse(body string) (job.Definition, error) {
	return input.ParseDefinition([]byte(body), input.ParseOptions{Now: now})
}

func mustParse(t testing.TB, body string) job.Definition {
	t.Helper()
	d, err := parse(body)
	require.NoError(t, err, body)
	return d
}

func compactJSON(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSuffix(b.String(), "\n")
}
