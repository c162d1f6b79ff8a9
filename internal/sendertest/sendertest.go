// Package sendertest holds what the tests of the senders share. Tests only.
package sendertest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/internal/egress"
	"almanac/job"
	"almanac/job/template"
)

// Execution is the execution whose action is sent.
var Execution = job.Execution{
	ID:         "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	Due:        time.Date(2015, 9, 10, 2, 0, 0, 500, time.FixedZone("", 2*60*60)),
	Repeat:     7,
	ActionName: job.MainAction,
	Job:        "nightly",
	Collection: "reports",
}

// Anywhere lets actions connect to any address, this machine's included.
var Anywhere, _ = egress.Parse(egress.ModeAny, nil, nil)

// FilledIn returns an error action whose placeholders are filled in for [Execution], after the action failed with the
// error "it" <failed> & ended.
func FilledIn(t *testing.T, a *job.Action) *job.Action {
	t.Helper()
	require.Empty(t, template.Check(a, true))
	filled, err := template.Render(a, template.Values{Execution: Execution, Attempt: 1, Facts: template.Facts{Failure: &template.Failure{Error: `"it" <failed> & ended`}}})
	require.NoError(t, err)
	return filled
}

// RequirePermanent requires that an error is permanent, so that another attempt would be of no use, or that
// it is not.
func RequirePermanent(t *testing.T, want bool, err error) {
	t.Helper()
	_, permanent := errors.AsType[*activities.PermanentError](err)
	require.Equal(t, want, permanent, "whether it is of use to try again: %v", err)
}
