package core

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"

	"almanac/job"
	"almanac/job/listing"
	"almanac/workflows"
)

// A versionedAnswer is what a workflow in that version, or a later one, answered to a query. It is decoded anew for
// each reader, so that no reader can change it for the next.
type versionedAnswer struct {
	version Version
	answer  json.RawMessage
}

// A Version changes with every state transition of a workflow. The zero value means unknown.
type Version struct {
	Run         string
	Transitions int64
}

// VersionOf returns the version of a workflow that was described.
func VersionOf(info *workflow.WorkflowExecutionInfo) Version {
	return Version{Run: info.GetExecution().GetRunId(), Transitions: info.GetStateTransitionCount()}
}

const (
	// maxAnswerBytes is the size limit of the answers that are kept: about ten thousand plain jobs, fewer if they have
	// large messages.
	maxAnswerBytes = 16 << 20
	// maxAnswerAge is the age after which an unchanged workflow is queried again: a newer version of the
	// workers may return more.
	maxAnswerAge = time.Hour
)

// AskOnce is [wfclient.Queries.Ask] for the lists, which ask many workflows, and computes the status of a job that has
// not begun. A workflow that is unchanged since it was asked is not asked again: a query of a workflow that is in no
// worker's cache makes a worker replay its run, each time, while the server itself knows whether the workflow changed.
// For a workflow that changes all the time it is no use: to describe it takes its lock once more.
func (c *Client) AskOnce(ctx context.Context, id, query string, result any) error {
	key, v := query+" "+id, c.version(ctx, id)
	if recent, ok := c.answers.Get(key, maxAnswerAge); ok && recent.version == v {
		return json.Unmarshal(recent.answer, result)
	}
	var answer json.RawMessage
	var err error
	if query == workflows.QueryStatus {
		err = c.Status(ctx, id, &answer)
	} else {
		err = c.Ask(ctx, id, query, &answer)
	}
	if err != nil {
		return err
	}
	if v != (Version{}) {
		c.answers.Put(key, versionedAnswer{v, answer}, len(answer), maxAnswerBytes)
	}
	return json.Unmarshal(answer, result)
}

// version asks the server for the version of a workflow. It is zero if the workflow is not open or the
// server does not answer.
func (c *Client) version(ctx context.Context, id string) Version {
	ctx, cancel := context.WithTimeout(ctx, DescribeTimeout)
	defer cancel()
	found, err := c.Temporal.DescribeWorkflowExecution(ctx, id, "")
	info := found.GetWorkflowExecutionInfo()
	if err != nil || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetStateTransitionCount() == 0 {
		return Version{} // the query will return the error, if there is one
	}
	return VersionOf(info)
}

// Collection returns a collection. The error is of type [job.Error].
func (c *Client) Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	if err := k.Validate(); err != nil {
		return job.Collection{}, err
	}
	var found job.Collection
	err := c.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, &found)
	return found, c.Error(ctx, err, MissingCollection(k))
}

// A List is what [ReadPage] reads.
type List struct {
	Name    string     // as for [Token]
	Missing *job.Error // the error if its workflow does not exist
}

// ReadPage returns the page of Temporal's histories that read reads, within [HistoryTimeout], unless Temporal answers
// nothing. The error is of type [job.Error].
func ReadPage[T any](
	ctx context.Context, c *Client, l List, p listing.Page, read func(context.Context, listing.Page) ([]T, string, error),
) (page []T, next string, err error) {
	if err := Open(l.Name, &p); err != nil {
		return nil, "", err
	}
	limited, cancel := context.WithTimeout(ctx, HistoryTimeout)
	defer cancel()
	err = c.Server.While(limited, func(ctx context.Context) (err error) {
		page, next, err = read(ctx, p)
		return err
	})
	return page, Token(l.Name, next), c.Error(ctx, err, l.Missing)
}
