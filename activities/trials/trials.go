// Package trials holds the activity that sends an action once which belongs to no execution of a job.
package trials

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"almanac/activities"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/template"
)

// TypeTry is the activity type of [Trials.Try].
const TypeTry = "Try"

const (
	// Limit is the time limit of the request. It is shorter than that of an attempt, since a caller waits.
	Limit = 30 * time.Second
	// askTimeout is how long the job is asked for its secrets at most, and askPause the pause between two questions.
	askTimeout = 5 * time.Second
	askPause   = 100 * time.Millisecond
	// Timeout is the time limit of the activity, longer than the others together.
	Timeout = 40 * time.Second
)

// Input is the input of [Trials.Try].
type Input struct {
	Execution job.Execution `json:"execution"`
	Action    job.Action    `json:"action"` // without its error action

	// Job is the ID of the workflow of the job whose stored secrets are used where the action leaves some out. Query is
	// the query that it answers with its definition. "" means that none are used.
	Job      string `json:"job,omitempty"`
	Query    string `json:"query,omitempty"`
	Retarget bool   `json:"retarget,omitempty"` // use them even if they are then sent to another target

	template.Facts // for placeholders
}

// A Result is the result of [Trials.Try]: the record of the attempt, or why none was made.
type Result struct {
	Attempt job.Attempt `json:"attempt,omitzero"`
	Invalid string      `json:"invalid,omitempty"` // a secret is missing
	Full    string      `json:"full,omitempty"`    // the host has no place
}

// Trials try actions. Runner must be set.
type Trials struct{ Runner *activities.Runner }

// Try sends an action once. Secrets that are stored with a job are in no result and no event of the workflow.
func (t *Trials) Try(ctx context.Context, in Input) (Result, error) {
	d := job.Definition{Action: in.Action}
	if in.Job != "" {
		stored, err := t.stored(ctx, &in)
		if err != nil {
			return Result{}, err
		}
		stored.Notifications = nil
		if d, err = input.KeepSecrets(d, &stored, in.Retarget); err != nil {
			return Result{Invalid: err.Error()}, nil
		}
	}
	attempt, err := t.Runner.SendOnce(ctx, in.Execution, in.Facts, &d.Action, Limit)
	if errors.Is(err, activities.ErrHostFull) {
		return Result{Full: in.Action.Host() + ": " + err.Error()}, nil
	}
	return Result{Attempt: attempt}, err
}

// stored returns the definition of the job with its secrets. A job whose workflow has just begun is asked again.
func (t *Trials) stored(ctx context.Context, in *Input) (d job.Definition, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	queries := wfclient.NewQueries(activity.GetClient(ctx), activity.GetInfo(ctx).Namespace)
	for {
		err = queries.Ask(ctx, in.Job, in.Query, &d)
		_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)
		if !notReady || wfclient.Sleep(ctx, askPause) != nil {
			return d, err
		}
	}
}
