package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
)

// Update sends an update to a workflow and waits for the result, for wfclient.ChangeTimeout at most. If the server
// gives up earlier, the update is sent again with the same update ID: the server answers it from the run that applied
// it, and a job keeps the updates of its earlier runs. A test of notifications is sent, and counted, only once, since
// no run records it.
func (c *Client) Update(ctx context.Context, id, name string, result any, args ...any) error {
	return c.UpdateAs(ctx, uuid.NewString(), id, name, result, args...)
}

// UpdateAs is Update with an update ID, a UUID: a job applies an update once, by whomever it is sent again within
// minutes.
func (c *Client) UpdateAs(
	ctx context.Context, updateID, id, name string, result any, args ...any,
) error {
	for _, changed := range c.changed {
		defer changed(id)
	}
	ctx, cancel := context.WithTimeout(ctx, wfclient.ChangeTimeout)
	defer cancel()
	o := client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateID: updateID, UpdateName: name, Args: args,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	do := func(ctx context.Context) error {
		handle, err := wfclient.Update(ctx, c.Temporal, o)
		if err != nil {
			return err
		}
		return handle.Get(ctx, result)
	}
	if workflows.Unrepeated(name) {
		return do(ctx)
	}
	return wfclient.Patiently(ctx, wfclient.Repeatable(name == workflows.UpdateDelete, do))
}

// beforeUpdate is how long the query before an update may take, which is then sent nevertheless. It is longer than
// the time for which a crashed worker keeps a workflow task.
const beforeUpdate = 12 * time.Second

// UpdateJob sends an update to a job, and decodes the answer into result unless that is nil. The error is of type
// [job.Error].
func (c *Client) UpdateJob(ctx context.Context, k job.Key, name string, result any, args ...any) error {
	// Query first. If the worker that last had the workflow does not answer, the query moves the workflow
	// to another one within 60 to 300 ms, and the update goes there too. The update alone would wait for
	// the first worker until the sticky timeout. After any other error of the query, the update reports its own.
	if err := k.Validate(); err != nil {
		return err
	}
	queryCtx, cancel := context.WithTimeout(ctx, beforeUpdate)
	defer cancel()
	if _, err := c.JobToChange(queryCtx, k); job.KindOf(err) == job.KindNotFound || IsUnchanged(err) {
		return err
	}
	return c.Error(ctx, c.Update(ctx, k.WorkflowID(), name, result, args...), MissingJob(k))
}

// ErrLost means that another caller created or deleted the workflow in the meantime.
var ErrLost = errors.New("the workflow was created or deleted meanwhile")

const (
	retryPause = 20 * time.Millisecond
	// MaxRetryPause is the longest pause before a change is tried again.
	MaxRetryPause = 500 * time.Millisecond
)

// UntilUncontended calls do, a read followed by a write, until it loses no race with another writer: again
// after ErrTypeStale and [ErrLost]. Before each retry it waits a random time of up to retryPause. The limit
// doubles each time, up to [MaxRetryPause].
func UntilUncontended(ctx context.Context, do func() error) error {
	for pause, again := retryPause, false; ; pause, again = min(2*pause, MaxRetryPause), true {
		err := do()
		if again {
			err = MayHaveChanged(err)
		}
		if !wfclient.IsRefused(err, workflows.ErrTypeStale) && !errors.Is(err, ErrLost) {
			return err
		}
		if err := wfclient.Sleep(ctx, rand.N(pause)); err != nil {
			return err
		}
	}
}

// Reach returns an error that [IsUnchanged] if Temporal cannot be reached. A change that reads nothing before its
// update calls it first.
func (c *Client) Reach(ctx context.Context) error {
	return c.Error(ctx, c.Server.Reach(ctx), nil)
}
