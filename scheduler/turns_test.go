package scheduler_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/scheduler"
	"almanac/workflows"
)

// contended is a busy Temporal with one job, whose workflow refuses a change that is based on another generation.
type contended struct {
	*directory
	mu             sync.Mutex
	job            job.Job
	applied, stale int
}

const answerTime = time.Second // for each answer

func (c *contended) current() job.Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.job
}

func (c *contended) QueryWorkflowWithOptions(ctx context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if r.WorkflowID != key.WorkflowID() {
		return c.directory.QueryWorkflowWithOptions(ctx, r)
	}
	if err := wfclient.Sleep(ctx, answerTime); err != nil {
		return nil, err
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(c.current())
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (c *contended) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if err := wfclient.Sleep(ctx, answerTime); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Args[0].(workflows.ReplaceRequest).Generation != c.job.Generation {
		c.stale++
		return nil, workflows.Refuse(workflows.ErrTypeStale, "the job was changed meanwhile")
	}
	c.applied++
	c.job.Generation++
	return changed{j: c.job}, nil
}

type changed struct {
	client.WorkflowUpdateHandle
	j job.Job
}

func (c changed) Get(_ context.Context, result any) error {
	*result.(*job.Job) = c.j
	return nil
}

// 16 clients that put the same job at the same time made 136 changes, of which 120 were refused, and on a busy machine
// took longer than a request may.
func TestChangesOfOneJobAtTheSameTimeTakeTurns(t *testing.T) {
	t.Parallel()
	const clients = 16
	synctest.Test(t, func(t *testing.T) {
		c := &contended{job: job.Job{Key: key, Generation: 1}, directory: &directory{t: t, answers: map[string]any{key.Collection.WorkflowID() + " " + workflows.QueryStatus: job.Collection{Key: key.Collection}}}}
		s := scheduler.New(scheduler.Options{Client: c})
		errs := make([]error, clients)
		start := time.Now()
		var group sync.WaitGroup
		for i := range clients {
			group.Go(func() {
				if i%2 == 0 {
					_, _, errs[i] = s.PutJob(t.Context(), key, put(aJob))
					return
				}
				_, errs[i] = s.PatchJob(t.Context(), key, func(current *job.Job) (job.Definition, error) { return current.Definition, nil })
			})
		}
		group.Wait()
		require.NoError(t, errors.Join(errs...))
		require.Equal(t, []int{clients, 0}, []int{c.applied, c.stale})
		require.LessOrEqual(t, time.Since(start), clients*3*answerTime)
	})
}

func TestAChangeWhoseTurnDoesNotComeInTimeIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &contended{job: job.Job{Key: key, Generation: 1}, directory: &directory{t: t}}
		s := scheduler.New(scheduler.Options{Client: c})
		same := func(current *job.Job) (job.Definition, error) { return current.Definition, nil }
		var group sync.WaitGroup
		group.Go(func() {
			_, err := s.PatchJob(t.Context(), key, same)
			require.NoError(t, err)
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), answerTime)
		defer cancel()
		_, err := s.PatchJob(ctx, key, same)
		require.Equal(t, job.KindUnavailable, job.KindOf(err))
		require.ErrorContains(t, err, "It was not begun.")
		group.Wait()
		require.Equal(t, 1, c.applied)
		_, err = s.PatchJob(t.Context(), key, same)
		require.NoError(t, err, "the next has its turn")
	})
}
