package scheduler

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
)

// statuses remembers what workflows said of themselves, so that a list need not
// ask those again that did nothing since. A question to a workflow that is in no
// worker's cache has a worker replay its run, each time; that it did nothing, the
// server knows by itself. The zero value remembers nothing.
type statuses struct {
	mu   sync.Mutex
	said map[string]saying // by workflow id
	size int               // bytes of all that was said
}

// A saying is what a workflow said. It is decoded anew for each reader, so that
// none can change what the next one gets.
type saying struct {
	version version
	at      time.Time
	status  json.RawMessage
}

// A version of a workflow changes with everything that happens to it. The zero
// value stands for an unknown one.
type version struct {
	run         string
	transitions int64
}

const (
	// maxSaid bounds what is remembered, in bytes: of plain jobs some ten thousand,
	// of jobs that send large messages fewer.
	maxSaid = 16 << 20
	// describeTimeout is how long a server that is busy or dead is waited for
	// before the workflow is asked.
	describeTimeout = time.Second
	// sayingAge is when a workflow is asked again all the same, since a newer
	// worker may see more in it.
	sayingAge = time.Hour
)

// get returns what a workflow said in that version.
func (s *statuses) get(id string, v version, now time.Time) (json.RawMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	said, ok := s.said[id]
	return said.status, ok && said.version == v && now.Sub(said.at) < sayingAge
}

// put remembers what a workflow said in that version, or in a later one.
func (s *statuses) put(id string, v version, status json.RawMessage, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(id)
	for other := range s.said {
		if s.size+len(status) <= maxSaid {
			break
		}
		s.forget(other)
	}
	if s.size+len(status) > maxSaid {
		return
	}
	if s.said == nil {
		s.said = map[string]saying{}
	}
	s.said[id] = saying{version: v, at: now, status: status}
	s.size += len(status)
}

func (s *statuses) forget(id string) {
	s.size -= len(s.said[id].status)
	delete(s.said, id)
}

// status puts what a workflow says of itself into result. Its errors are those
// of [calls.Queries.Ask].
func (s *Service) status(ctx context.Context, id string, result any) error {
	v := s.version(ctx, id)
	status, ok := s.statuses.get(id, v, time.Now())
	if !ok {
		if _, err := s.ask(ctx, s.queries.Ask, id, &status); err != nil {
			return err
		}
		if v != (version{}) {
			s.statuses.put(id, v, status, time.Now())
		}
	}
	return json.Unmarshal(status, result)
}

// version asks the server for the version of an open workflow.
func (s *Service) version(ctx context.Context, id string) version {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	found, err := s.client.DescribeWorkflowExecution(ctx, id, "")
	info := found.GetWorkflowExecutionInfo()
	if err != nil || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetStateTransitionCount() == 0 {
		return version{} // the query tells what is the matter, if anything is
	}
	return version{run: info.GetExecution().GetRunId(), transitions: info.GetStateTransitionCount()}
}
