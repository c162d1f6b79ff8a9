package lookups_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/activities/lookups"
	"almanac/internal/wfclient"
)

func refusal(errType string) error {
	return temporal.NewNonRetryableApplicationError("told by the workflow", errType, nil)
}

// updateAll runs the activity that updates workflows.
func (d *directory) updateAll(t *testing.T, in lookups.UpdateInput) (r lookups.UpdateResult) {
	t.Helper()
	value, err := d.look(lookups.TypeUpdateAll, in)
	require.NoError(t, err)
	require.NoError(t, value.Get(&r))
	return r
}

func TestUpdateWorkflows(t *testing.T) {
	t.Parallel()
	t.Run("tells all, and returns who is not there or about to end", func(t *testing.T) {
		t.Parallel()
		d := &directory{workflows: map[string]entry{
			"a": {}, "b": {}, "ending": {update: refusal(wfclient.ErrTypeGone)}, "ended": {outcome: refusal(wfclient.ErrTypeGone)},
		}}
		ids := []string{"none", "b", "ending", "a", "ended"}
		r := d.updateAll(t, lookups.UpdateInput{Workflows: ids, Update: "collection", ID: "collection-7", Arguments: []any{false}, Patience: time.Minute})
		require.Equal(t, lookups.UpdateResult{Missing: []int{0, 2, 4}}, r)
		var told []string
		for _, u := range d.updates {
			told = append(told, u.WorkflowID)
			require.Equal(t, "collection", u.UpdateName)
			require.Equal(t, "collection-7", u.UpdateID, "so that a workflow takes it once")
			require.Equal(t, []any{false}, u.Args)
			require.Equal(t, client.WorkflowUpdateStageCompleted, u.WaitForStage, "it is not enough that it was accepted")
		}
		require.ElementsMatch(t, ids[1:], told)
	})
	t.Run("sends nothing along where there is no argument", func(t *testing.T) {
		t.Parallel()
		d := &directory{workflows: map[string]entry{"a": {}}}
		require.Equal(t, lookups.UpdateResult{}, d.updateAll(t, lookups.UpdateInput{Workflows: []string{"a"}, Update: "dismiss", Patience: time.Minute}))
		require.Empty(t, d.updates[0].Args)
	})
	t.Run("says which do not answer, and why", func(t *testing.T) {
		t.Parallel()
		d := &directory{workflows: map[string]entry{
			"silent": {silent: true}, "a": {}, "unwilling": {outcome: temporal.NewNonRetryableApplicationError(strings.Repeat("no", 500), "Conflict", nil)},
			"failing": {update: serviceerror.NewWorkflowNotReady("internals")}, "away": {update: serviceerror.NewUnavailable("internals")},
		}}
		r := d.updateAll(t, lookups.UpdateInput{
			Workflows: []string{"silent", "a", "unwilling", "none", "failing", "away"}, Update: "collection", Patience: 50 * time.Millisecond,
		})
		require.Equal(t, lookups.UpdateResult{
			Missing: []int{3}, Failed: []int{0, 2, 4, 5},
			Reasons: []string{"no answer within 50ms", "refused: " + strings.Repeat("no", 94) + "…", "its workflow task fails", "it could not be asked"},
		}, r)
		require.Len(t, r.Reasons[1], 200)
	})
	t.Run("asks all, although none answers before all were asked", func(t *testing.T) {
		t.Parallel()
		var ids []string
		d := &directory{workflows: map[string]entry{}}
		for i := range 50 {
			ids = append(ids, fmt.Sprint(i))
			d.workflows[ids[i]] = entry{}
		}
		var asked atomic.Int32
		all := make(chan struct{})
		d.wait = func(ctx context.Context) error {
			if int(asked.Add(1)) == len(ids) {
				close(all)
			}
			select {
			case <-all:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		require.Equal(t, lookups.UpdateResult{}, d.updateAll(t, lookups.UpdateInput{Workflows: ids, Update: "collection", Patience: time.Minute}))
	})
	t.Run("keeps few reasons", func(t *testing.T) {
		t.Parallel()
		d := &directory{workflows: map[string]entry{"away": {update: serviceerror.NewUnavailable("internals")}}}
		r := d.updateAll(t, lookups.UpdateInput{Workflows: slices.Repeat([]string{"away"}, 100), Update: "collection", Patience: time.Minute})
		require.Len(t, r.Failed, 100)
		require.Len(t, r.Reasons, 10)
	})
}

func TestUpdateWorkflow(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]entry{
		"before it is accepted": {update: refusal("Conflict")},
		"after it was accepted": {outcome: refusal("Conflict")},
	} {
		t.Run("passes on why it is refused "+name, func(t *testing.T) {
			t.Parallel()
			d := &directory{workflows: map[string]entry{"unwilling": e}}
			_, err := d.look(lookups.TypeUpdate, "unwilling", "register", "argument")
			refused, ok := errors.AsType[*temporal.ApplicationError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "Conflict", refused.Type())
			require.Equal(t, "told by the workflow", refused.Message())
			require.True(t, refused.NonRetryable())
			require.Equal(t, []any{"argument"}, d.updates[0].Args)
		})
	}
}
