package job_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestKeysDifferInMoreThanCase(t *testing.T) {
	t.Parallel()
	a := job.CollectionKey{Subscription: "Sub", ResourceGroup: "RG", Name: "Col"}.Job("Job")
	b := job.CollectionKey{Subscription: "sub", ResourceGroup: "rg", Name: "col"}.Job("job")
	require.Equal(t, a.WorkflowID(), b.WorkflowID())
	require.Equal(t, "job/sub/rg/col/job", a.WorkflowID())
	require.Equal(t, "collection/sub/rg/col", a.Collection.WorkflowID())
	require.Equal(t, "/subscriptions/Sub/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/Col/jobs/Job", a.ARMID())
	require.NotEqual(t, a.WorkflowID(), a.Collection.Job("job2").WorkflowID())
}

func TestNamesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := job.CollectionKey{Subscription: "s", ResourceGroup: "r (1)", Name: "c_1"}
	require.NoError(t, good.Job("täglich - 5.00").Validate())
	for _, name := range []string{"", " a", "a ", "a.", "a/b", `a\b`, "a?b", "a#b", "a%b", "a:b", "a\nb", "a\xffb", strings.Repeat("a", 261)} {
		err := good.Job(name).Validate()
		e, ok := errors.AsType[*job.Error](err)
		require.True(t, ok, "%q", name)
		require.Equal(t, job.KindInvalid, e.Kind)
		require.Equal(t, "jobName", e.Fields[0].Path)
	}
	bad := job.CollectionKey{Subscription: "", ResourceGroup: "/", Name: strings.Repeat("a", 101)}
	e, ok := errors.AsType[*job.Error](bad.Job("").Validate())
	require.True(t, ok)
	require.Len(t, e.Fields, 3)
}
