package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// Runs that began when jobs were told by signals end as they began.
func TestARunThatToldItsJobsBySignalsGoesOnSo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		jobs    []string
		arrange func(*hall) *reply
		told    []string
		end     time.Duration // 0: it does not
	}{
		{"it disables and enables", []string{"a", "B"}, func(h *hall) *reply {
			h.put(10*time.Second, job.CollectionDisabled)
			h.put(20*time.Second, job.CollectionSuspended)
			return h.put(30*time.Second, job.CollectionEnabled)
		}, []string{
			"00:00:10 a collection false", "00:00:10 b collection false",
			"00:00:30 a collection true", "00:00:30 b collection true",
		}, 0},
		{"it never overtakes itself", []string{"a"}, func(h *hall) *reply {
			h.slow = 5 * time.Second
			h.put(10*time.Second, job.CollectionDisabled)
			return h.put(11*time.Second, job.CollectionEnabled)
		}, []string{"00:00:15 a collection false", "00:00:15 a collection true"}, 0},
		{"it tells jobs that started meanwhile when they are verified", nil, func(h *hall) *reply {
			started := false
			h.absent = func(string) bool { return !started }
			h.register(time.Second, "a", 9)
			h.at(3*time.Second, func() { started = true })
			return h.put(2*time.Second, job.CollectionDisabled)
		}, []string{"00:00:31 a collection false"}, 0},
		{"it forgets a job that was registered again when it is told", []string{"a"}, func(h *hall) *reply {
			h.register(time.Second, "a", 9)
			h.removed(2*time.Second, "a")
			return h.put(3*time.Second, job.CollectionDisabled)
		}, nil, 0},
		{"it deletes its jobs, which say when they are gone", []string{"a", "b"}, func(h *hall) *reply {
			return h.update(10*time.Second, workflows.UpdateDelete)
		}, []string{"00:00:10 a delete", "00:00:10 b delete"}, 10*time.Second + 300*time.Millisecond},
		{"it deletes by cancelling as well", []string{"a"}, func(h *hall) *reply {
			h.at(10*time.Second, func() { h.env.CancelWorkflow() })
			return &reply{completed: true}
		}, []string{"00:00:10 a delete"}, 10*time.Second + 300*time.Millisecond},
		{"it does not wait for jobs that do not exist", []string{"a", "ghost"}, func(h *hall) *reply {
			h.missing = []string{"ghost"}
			return h.update(10*time.Second, workflows.UpdateDelete)
		}, []string{"00:00:10 a delete"}, 11 * time.Second},
		{"it deletes a job that starts late", nil, func(h *hall) *reply {
			started := false
			h.absent = func(string) bool { return !started }
			h.register(9*time.Second, "a", 9)
			h.at(15500*time.Millisecond, func() { started = true })
			return h.update(10*time.Second, workflows.UpdateDelete)
		}, []string{"00:00:16 a delete"}, 16*time.Second + 300*time.Millisecond},
		{"it answers two who delete it", []string{"a"}, func(h *hall) *reply {
			h.update(10*time.Second, workflows.UpdateDelete)
			return h.update(10*time.Second+200*time.Millisecond, workflows.UpdateDelete)
		}, []string{"00:00:10 a delete", "00:00:10 a delete"}, 10*time.Second + 300*time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHall(t, job.CollectionEnabled, tt.jobs...)
			h.signals, h.leaves = true, true
			a := tt.arrange(h)
			if tt.end > 0 {
				require.NoError(t, h.run(5*time.Minute))
				require.Equal(t, newYear.Add(tt.end), h.env.Now().UTC())
			} else {
				require.ErrorIs(t, h.run(5*time.Minute), errStopped)
			}
			a.ok(t)
			require.Equal(t, tt.told, h.heard())
			require.Empty(t, h.sizes, "no job is updated")
		})
	}
}
