package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"almanac/workflows"
)

// If the server set another value when the first task of a run is completed, each run would cost a write to the
// visibility store.
func TestJobsAreStartedWithTheBuildIDsThatTheServerGivesThem(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, func(http.ResponseWriter, *http.Request) {})
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/j", get(target.URL+"/j", `,"recurrence":{"frequency":"hour"}`))
	target.await(t, "/j", 1)
	buildIDs := func(id string) []string {
		found, err := s.temporal.DescribeWorkflow(t.Context(), id, "")
		require.NoError(t, err)
		ids, _ := found.TypedSearchAttributes.GetKeywordList(temporal.NewSearchAttributeKeyKeywordList(workflows.AttributeBuildIDs))
		return ids
	}
	k := key(jobs, "j")
	require.Equal(t, workflows.BuildIDs(), buildIDs(k.Collection.WorkflowID()), "set by the server")
	require.Equal(t, workflows.BuildIDs(), buildIDs(k.WorkflowID()), "and left as it is by the server")
}
