package job_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/fields"
	"almanac/job"
)

func TestErrorBody(t *testing.T) {
	t.Parallel()
	_, err := parse(withRecurrence(`{"frequency":"day","interval":549,"schedule":{"hours":[24]}}`))
	e, ok := errors.AsType[*job.Error](err)
	require.True(t, ok)
	require.JSONEq(t, `{
		"code": "BadRequest",
		"message": "The job is not valid (2 fields are wrong): properties.recurrence.schedule.hours[0]: 24 is out of range; allowed: 0 to 23; also properties.recurrence.interval",
		"details": [
			{"code": "OutOfRange", "target": "properties.recurrence.schedule.hours[0]", "message": "properties.recurrence.schedule.hours[0]: 24 is out of range; allowed: 0 to 23"},
			{"code": "OutOfRange", "target": "properties.recurrence.interval", "message": "properties.recurrence.interval: 549 is out of range; allowed: 1 to 548"}
		]
	}`, compactJSON(t, e.Body()))
	require.Equal(t, `{"code":"ConflictError","message":"5 jobs are too many"}`, compactJSON(t, job.Conflictf("%d jobs are too many", 5).Body()))
}

func TestTheMessageOfAnErrorSaysWhatIsWrongWithTheFirstFieldAndNamesOthers(t *testing.T) {
	t.Parallel()
	message := func(unlisted int, paths ...string) string {
		e := &job.Error{Message: "No", Unlisted: unlisted}
		for i, path := range paths {
			e.Fields = append(e.Fields, &job.FieldError{Path: path, Code: fields.OutOfRange, Value: i, Allowed: "better"})
		}
		return e.Body().Message
	}
	require.Equal(t, "No", message(0))
	require.Equal(t, "No: a: 0 is out of range; allowed: better", message(0, "a"))
	require.Equal(t, "No: a: 0 is out of range; allowed: better; a: 1 is out of range; allowed: better", message(0, "a", "a"), "two faults of one field")
	require.Equal(t, "No (2 fields are wrong): a: 0 is out of range; allowed: better; also b", message(0, "a", "b", "a"))
	require.Equal(t, "No (3 fields are wrong): a: 0 is out of range; allowed: better; also b and c", message(0, "a", "b", "c"))
	require.Equal(t, "No (6 fields are wrong): a: 0 is out of range; allowed: better; also b, c, d, e and f", message(0, "a", "b", "c", "d", "e", "f"))
	require.Equal(t, "No (8 fields are wrong): a: 0 is out of range; allowed: better; also b, c, d, e, f and 2 more", message(0, "a", "b", "c", "d", "e", "f", "g", "h"))
	require.Equal(t, "No (at least 2 fields are wrong): a: 0 is out of range; allowed: better; also b", message(9, "a", "b"))
}

func TestTheMessageOfAnErrorHasTheNamesThatWereSent(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"state":"on","action":` + httpAction + `}`:                `The job is not valid: state: "on" is not supported; allowed: enabled or disabled; did you mean "enabled"?`,
		`{"properties":{"state":"on","action":` + httpAction + `}}`: `The job is not valid: properties.state: "on" is not supported; allowed: enabled or disabled; did you mean "enabled"?`,
		`{"state":"on","bogus":1}`:                                  `The job is not valid (3 fields are wrong): action: required; allowed: an object; also state and bogus`,
	} {
		_, err := parse(body)
		e, ok := errors.AsType[*job.Error](err)
		require.True(t, ok)
		require.Equal(t, want, e.Body().Message)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	e := &job.Error{Kind: job.KindUnavailable, Message: "later", Err: cause}
	require.Equal(t, job.KindUnavailable, job.KindOf(fmt.Errorf("wrapped: %w", e)))
	require.ErrorIs(t, e, cause)
	require.Equal(t, "later", e.Error(), "the cause is for logs only")
	require.Equal(t, job.KindInternal, job.KindOf(cause))
	require.Equal(t, job.KindNotFound, job.KindOf(job.NotFound("jobcollections/X", "Y")))
	require.EqualError(t, job.NotFound("jobcollections/X", "Y"), "The Resource 'Microsoft.Scheduler/jobcollections/X' under resource group 'Y' was not found.")
}
