package job_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestErrorBody(t *testing.T) {
	t.Parallel()
	_, err := parse(withRecurrence(`{"frequency":"day","interval":549,"schedule":{"hours":[24]}}`))
	e, ok := errors.AsType[*job.Error](err)
	require.True(t, ok)
	require.JSONEq(t, `{
		"code": "BadRequest",
		"message": "The job is not valid; see the details of properties.recurrence.interval and properties.recurrence.schedule.hours[0]",
		"details": [
			{"code": "BadRequest", "target": "properties.recurrence.interval", "message": "properties.recurrence.interval is 549, want 1 to 548"},
			{"code": "BadRequest", "target": "properties.recurrence.schedule.hours[0]", "message": "properties.recurrence.schedule.hours[0] is 24, want 0 to 23"}
		]
	}`, compactJSON(t, e.Body()))
	require.Equal(t, `{"code":"ConflictError","message":"5 jobs are too many"}`, compactJSON(t, job.Conflictf("%d jobs are too many", 5).Body()))
}

func TestTheMessageOfAnErrorNamesTheFirstBadFields(t *testing.T) {
	t.Parallel()
	message := func(paths ...string) string {
		e := &job.Error{Message: "No"}
		for _, path := range paths {
			e.Fields = append(e.Fields, &job.FieldError{Path: path, Want: "better"})
		}
		return e.Body().Message
	}
	require.Equal(t, "No", message())
	require.Equal(t, "No; see the details of a", message("a"))
	require.Equal(t, "No; see the details of a", message("a", "a"), "two faults of one field")
	require.Equal(t, "No; see the details of a, b, c, d and e", message("a", "b", "c", "d", "e"))
	require.Equal(t, "No; see the details of a, b, c, d, e and 2 more", message("a", "b", "c", "d", "e", "f", "g"))
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
