package scheduler

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/api/enums/v1"
)

// A versionedStatus is a status of a workflow in that version or a later one. It is decoded anew for each
// reader, so that no reader can change it for the next.
type versionedStatus struct {
	version version
	status  json.RawMessage
}

// A version changes with every state transition of a workflow. The zero value means unknown.
type version struct {
	run         string
	transitions int64
}

const (
	// maxStatusBytes is the size limit of the status cache: about ten thousand plain jobs, fewer if they have
	// large messages.
	maxStatusBytes = 16 << 20
	// describeTimeout is the limit for the server's answer about a workflow's version. After it the
	// workflow is queried.
	describeTimeout = time.Second
	// maxStatusAge is the age after which an unchanged workflow is queried again: a newer version of the
	// workers may return more.
	maxStatusAge = time.Hour
)

// recentStatus stores the status of a workflow in result. If the workflow is unchanged, the status comes
// from the cache: a query of a workflow that is in no worker's cache makes a worker replay its run, each
// time, while the server itself knows whether the workflow changed. The errors are those of
// [wfclient.Queries.Ask].
func (s *Service) recentStatus(ctx context.Context, id string, result any) error {
	v := s.version(ctx, id)
	if recent, ok := s.statuses.Get(id, maxStatusAge); ok && recent.version == v {
		return json.Unmarshal(recent.status, result)
	}
	var status json.RawMessage
	if _, err := s.queryStatus(ctx, s.queries.Ask, id, &status); err != nil {
		return err
	}
	if v != (version{}) {
		s.statuses.Put(id, versionedStatus{v, status}, len(status), maxStatusBytes)
	}
	return json.Unmarshal(status, result)
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
