package jobloop_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/workflows"
)

// withPassword returns the properties of a job with a password.
func withPassword(password, more string) string {
	return `"action":{"type":"Http","request":{"uri":"http://127.0.0.1/","method":"GET","authentication":{"type":"Basic","username":"elf","password":"` +
		password + `"}}},"recurrence":{"frequency":"hour"}` + more
}

// A verdict is the answer to a comparison.
type verdict struct {
	same bool
	err  error
}

func (*verdict) Accept()            {}
func (v *verdict) Reject(err error) { v.err = err }
func (v *verdict) Complete(value any, err error) {
	v.same, _ = value.(bool)
	v.err = err
}

func (w *jobEnv) compare(after time.Duration, properties string) *verdict {
	v := &verdict{}
	r := workflows.CompareRequest{Definition: definition(w.t, properties)}
	w.at(after, func() { w.env.UpdateWorkflow(workflows.UpdateCompare, "", v, r) })
	return v
}

func TestSecretsAreComparedAndNothingChanges(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withPassword("hush", ""))
	same := w.compare(time.Minute, withPassword("hush", ""))
	other := w.compare(2*time.Minute, withPassword("hush!", ""))
	changed := w.compare(3*time.Minute, withPassword("hush", `,"disableAfter":3`))
	after := w.snapshot(10 * time.Minute)
	w.run(time.Hour)
	require.NoError(t, same.err)
	require.True(t, same.same)
	require.NoError(t, other.err)
	require.False(t, other.same)
	require.True(t, changed.same, "what else differs does not matter")
	require.Equal(t, registration, after.Generation)
}

func TestSecretsAreNotComparedTooOften(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, withPassword("hush", ""))
	var all []*verdict
	for i := range 61 {
		all = append(all, w.compare(time.Minute+time.Duration(i)*time.Second, withPassword("guess", "")))
	}
	later := w.compare(62*time.Minute, withPassword("hush", ""))
	w.run(2 * time.Hour)
	for _, v := range all[:60] {
		require.NoError(t, v.err)
	}
	refused, ok := errors.AsType[*temporal.ApplicationError](all[60].err)
	require.True(t, ok, "%v", all[60].err)
	require.Equal(t, workflows.ErrTypeTooMany, refused.Type())
	require.NoError(t, later.err)
	require.True(t, later.same)
}
