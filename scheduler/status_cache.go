package scheduler

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
)

// A statusCache caches the statuses of workflows, so that a list does not query workflows that are unchanged. A
// query of a workflow that is in no worker's cache makes a worker replay its run, each time; the server
// itself knows whether the workflow changed. The zero value is empty.
type statusCache struct {
	mu     sync.Mutex
	cached map[string]cachedStatus // by workflow ID
	size   int                     // of all statuses, in bytes
}

// A cachedStatus is a cached status. It is decoded anew for each reader, so that no reader can change it for the
// next.
type cachedStatus struct {
	version version
	at      time.Time
	status  json.RawMessage
}

// A version changes with every state transition of a workflow. The zero value means unknown.
type version struct {
	run         string
	transitions int64
}

const (
	// maxCached is the size limit of the cache: about ten thousand plain jobs, fewer if they have large
	// messages.
	maxCached = 16 << 20
	// describeTimeout is the limit for the server's answer about a workflow's version. After it the
	// workflow is queried.
	describeTimeout = time.Second
	// cachedStatusAge is the age after which an unchanged workflow is queried again: a newer version of the
	// workers may return more.
	cachedStatusAge = time.Hour
)

// get returns the cached status of a workflow in version v.
func (s *statusCache) get(id string, v version, now time.Time) (json.RawMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cached, ok := s.cached[id]
	return cached.status, ok && cached.version == v && now.Sub(cached.at) < cachedStatusAge
}

// put caches the status of a workflow in version v or a later one.
func (s *statusCache) put(id string, v version, status json.RawMessage, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(id)
	for other := range s.cached {
		if s.size+len(status) <= maxCached {
			break
		}
		s.forget(other)
	}
	if s.size+len(status) > maxCached {
		return
	}
	if s.cached == nil {
		s.cached = map[string]cachedStatus{}
	}
	s.cached[id] = cachedStatus{version: v, at: now, status: status}
	s.size += len(status)
}

func (s *statusCache) forget(id string) {
	s.size -= len(s.cached[id].status)
	delete(s.cached, id)
}

// status stores the status of a workflow in result, from the cache if it is unchanged. Its errors are those
// of [wfclient.Queries.Ask].
func (s *Service) status(ctx context.Context, id string, result any) error {
	v := s.version(ctx, id)
	status, ok := s.statusCache.get(id, v, time.Now())
	if !ok {
		if _, err := s.ask(ctx, s.queries.Ask, id, &status); err != nil {
			return err
		}
		if v != (version{}) {
			s.statusCache.put(id, v, status, time.Now())
		}
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
