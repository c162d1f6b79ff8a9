package input_test

import (
	"errors"
	"regexp"
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

// withRequest returns the body of a job with that web request.
func withRequest(request string) string {
	return withAction(`{"type":"Http","request":` + request + `}`)
}

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

// grammar matches the text of every error in a field: its path, what is wrong, and what is allowed or why.
var grammar = regexp.MustCompile(`(?s)^.*: (` +
	`required|too long|too many|not allowed; .+|repeated; allowed: once|unknown field; (allowed: \w.*|did you mean "\w+"(, which belongs in [\w.]+)?\?|a job has one recurrence.*|it belongs in [\w.]+|(that( cron expression| rule|) (is|cannot)|a time of day is) .*)|` +
	`(".*"|[-+.\w:]+|true|the value|null|an? \w+) is (not valid|not supported|out of range); (allowed: |that cron expression )\S.*` +
	`)(; (allowed: )?\S.*)?$`)

// complaints returns the errors of all bad fields, one a line, or the message if there are no fields.
func complaints(t testing.TB, err error) string {
	t.Helper()
	require.Error(t, err)
	e, ok := errors.AsType[*job.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	require.Equal(t, job.KindInvalid, e.Kind)
	require.Equal(t, "BadRequest", e.Code)
	if len(e.Fields) == 0 {
		return e.Message
	}
	lines := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		lines[i] = f.Error()
		require.Regexp(t, grammar, lines[i])
	}
	return strings.Join(lines, "\n")
}

// lines joins the expected complaints.
func lines(l ...string) string { return strings.Join(l, "\n") }
