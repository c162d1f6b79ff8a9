package registries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/registries"
)

// Temporal ends no run that has taken 2,000 updates, but refuses all further ones. Whoever repeats a request that
// changes nothing must not get there.
func TestARunContinuesAsNewAlsoAfterUpdatesThatChangeNothing(t *testing.T) {
	t.Parallel()
	const most = 1000
	for name, ask := range map[string]func(*collectionEnv, *reply){
		"it is enabled already": func(h *collectionEnv, r *reply) {
			h.env.UpdateWorkflow(workflows.UpdateEnable, "", r, workflows.StateRequest{})
		},
		"it was changed since it was read": func(h *collectionEnv, r *reply) {
			h.env.UpdateWorkflow(workflows.UpdateDisable, "", r, workflows.StateRequest{Generation: 99})
		},
		"a test of notifications": func(h *collectionEnv, r *reply) {
			h.env.UpdateWorkflow(workflows.UpdateAdmitTest, "", r, 1)
		},
		"a job that is not registered": func(h *collectionEnv, r *reply) {
			h.env.UpdateWorkflow(workflows.UpdateConfirm, "", r, workflows.Registration{Name: "stranger", Number: 1})
		},
		"what an unknown job requires": func(h *collectionEnv, r *reply) {
			h.env.UpdateWorkflow(workflows.UpdateReserve, "", r, workflows.ReserveRequest{Name: "stranger", Job: 1, Final: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newCollectionEnv(t, job.CollectionEnabled, "a")
			asked, last := 0, &reply{}
			var next func()
			next = func() {
				asked, last = asked+1, &reply{}
				if ask(h, last); asked < most {
					h.env.RegisterDelayedCallback(next, 2*time.Minute)
				}
			}
			h.at(time.Second, next)
			then := continued[registries.CollectionInput](t, h.run(3*most*time.Minute))
			require.Equal(t, job.CollectionEnabled, then.Properties.State)
			require.True(t, last.completed)
		})
	}
}
