package scheduler

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/api/enums/v1"

	"almanac/workflows"
)

// A versionedAnswer is what a workflow in that version, or a later one, answered to a query. It is decoded anew for each
// reader, so that no reader can change it for the next.
type versionedAnswer struct {
	version version
	answer  json.RawMessage
}

// A version changes with every state transition of a workflow. The zero value means unknown.
type version struct {
	run         string
	transitions int64
}

const (
	// maxAnswerBytes is the size limit of the answers that are kept: about ten thousand plain jobs, fewer if they have
	// large messages.
	maxAnswerBytes = 16 << 20
	// describeTimeout is the limit for the server's answer about a workflow's version. After it the
	// workflow is queried.
	describeTimeout = time.Second
	// maxAnswerAge is the age after which an unchanged workflow is queried again: a newer version of the
	// workers may return more.
	maxAnswerAge = time.Hour
)

// ask stores the answer of a workflow to a query in result. If the workflow is unchanged since it was asked, it is not
// asked again: a query of a workflow that is in no worker's cache makes a worker replay its run, each
// time, while the server itself knows whether the workflow changed. For a workflow that changes all the time it is no use: to
// describe it takes its lock once more. The errors are those of [wfclient.Queries.Ask].
func (s *Service) ask(ctx context.Context, id, query string, result any) error {
	key, v := query+" "+id, s.version(ctx, id)
	if recent, ok := s.answers.Get(key, maxAnswerAge); ok && recent.version == v {
		return json.Unmarshal(recent.answer, result)
	}
	var answer json.RawMessage
	var err error
	if query == workflows.QueryStatus {
		_, err = s.queryStatus(ctx, s.queries.Ask, id, &answer)
	} else {
		err = s.queries.Ask(ctx, id, query, &answer)
	}
	if err != nil {
		return err
	}
	if v != (version{}) {
		s.answers.Put(key, versionedAnswer{v, answer}, len(answer), maxAnswerBytes)
	}
	return json.Unmarshal(answer, result)
}

// version asks the server for the version of a workflow. It is zero if the workflow is not open or the
// server does not answer.
func (s *Service) version(ctx context.Context, id string) version {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	found, err := s.client.DescribeWorkflowExecution(ctx, id, "")
	info := found.GetWorkflowExecutionInfo()
	if err != nil || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetStateTransitionCount() == 0 {
		return version{} // the query will return the error, if there is one
	}
	return version{run: info.GetExecution().GetRunId(), transitions: info.GetStateTransitionCount()}
}
