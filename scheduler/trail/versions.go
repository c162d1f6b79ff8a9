package trail

import (
	"context"
	"slices"
	"time"

	"almanac/internal/audit"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/explain"
)

// A snapshot is a job after a change.
type snapshot struct {
	definition job.Definition
	disabled   bool // its collection is not enabled
}

// snapshotOf returns the job that a subject has followed; zero if that is no job.
func snapshotOf(s subject) snapshot {
	if j, ok := s.(*jobSubject); ok {
		return snapshot{j.definition, j.disabled}
	}
	return snapshot{}
}

// leastVersions is how many versions are returned at least, so that a schedule is known that was changed since.
const leastVersions = 5

// Versions returns the versions of a job back to the one of a time at least, and if that is not active to the last one
// before that is, newest first. complete is false if earlier ones are not kept any more. The errors are those of
// [Reader.Job].
func (r *Reader) Versions(ctx context.Context, k job.Key, back time.Time) (versions []explain.Version, complete bool, err error) {
	found, err := r.core.Temporal.DescribeWorkflowExecution(ctx, k.WorkflowID(), "")
	if err != nil {
		return nil, false, err
	}
	runID := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	reached := false
	for runID != "" && (!reached || len(versions) < leastVersions) {
		run := runReader{Reader: r, workflowID: k.WorkflowID(), runID: runID, subject: &jobSubject{}}
		earlier, err := run.read(ctx)
		if wfclient.IsNotFound(err) {
			return versions, reached, nil // the retention of closed runs is over
		}
		if err != nil {
			return nil, false, err
		}
		for _, c := range slices.Backward(run.changes) {
			v := explain.Version{Change: c.Change, Definition: c.after.definition, CollectionDisabled: c.after.disabled}
			if v.Operation == audit.SkipJob {
				v.Skip = c.skip
			}
			if c.moved != nil {
				v.Moved, v.MovedTo = c.moved.Was, c.moved.Is
			}
			versions = append(versions, v)
			reached = reached || !c.Time.After(back) && c.Status == audit.Succeeded && v.Active()
		}
		runID = earlier
	}
	return versions, reached || runID == "", nil
}
