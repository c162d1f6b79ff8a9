// Package apitest has a Scheduler that keeps jobs in memory and runs none. Tests and examples of what calls the API have
// the API's own handler answer with it.
package apitest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"almanac/api"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/preview"
)

// A Memory is a Scheduler of jobs in memory. Tests set its fields before they use it. What it does not have panics.
type Memory struct {
	api.Scheduler // nil

	// Records, Deliveries and Trail are answered for every job. Due are the occurrences to come.
	Records []job.Record
	Trail   []audit.Change
	Due     []listing.Occurrence

	// Marks returns the last outcomes of a job, as lists have them. Nil means that there are none.
	Marks func(k job.Key) []job.Mark

	// Unread names jobs that cannot be read in lists, with the reason.
	Unread map[string]string

	// Status returns the status of a job. Nil means that none has run.
	Status func(k job.Key) job.Status

	// Kept are the calendars of the subscription.
	Kept []job.KeptCalendar

	// Used are the jobs that use one of Kept.
	Used []preview.Usage

	// NotReady is why jobs cannot be stored and run; nil if they can.
	NotReady error

	mu          sync.Mutex
	collections map[string]job.Collection
	jobs        map[string]job.Job
	owners      map[string][]job.Owner // by collection
	last        int                    // generation of a job that is gone
	runs        int
}

func (m *Memory) find(k job.Key) (job.Job, error) {
	found, ok := m.jobs[k.WorkflowID()]
	if !ok {
		return job.Job{}, job.NotFound("jobcollections/"+k.Collection.Name+"/jobs/"+k.Name, k.Collection.ResourceGroup)
	}
	return m.filled(found), nil
}

func (m *Memory) filled(j job.Job) job.Job {
	if m.Status != nil {
		j.Status = m.Status(j.Key)
	}
	j.Unread = m.Unread[j.Key.Name]
	return j
}

// keep stores a definition.
func (m *Memory) keep(k job.Key, d job.Definition) job.Job {
	if m.jobs == nil {
		m.jobs = map[string]job.Job{}
	}
	was := m.jobs[k.WorkflowID()]
	if was.Generation > 0 && was.Pruning == nil && d.Equal(&was.Definition) {
		return m.filled(was)
	}
	m.jobs[k.WorkflowID()] = job.Job{
		Key: k, Definition: d.Redacted(), Generation: max(m.last, was.Generation) + 1,
		Status: job.Status{Owner: d.Owner},
	}
	return m.filled(m.jobs[k.WorkflowID()])
}

// PutCollection creates or replaces a collection.
func (m *Memory) PutCollection(
	_ context.Context, c job.Collection, check func(*job.Collection) error,
) (job.Collection, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, there := m.collections[c.Key.WorkflowID()]
	if check != nil {
		var current *job.Collection
		if there {
			current = &was
		}
		if err := check(current); err != nil {
			return job.Collection{}, false, err
		}
	}
	if m.collections == nil {
		m.collections = map[string]job.Collection{}
	}
	c.Generation = was.Generation + 1
	m.collections[c.Key.WorkflowID()] = c
	return c, !there, nil
}

// PatchCollection replaces a collection with the one that edit returns.
func (m *Memory) PatchCollection(
	_ context.Context, k job.CollectionKey, edit func(current job.Collection) (job.Collection, error),
) (job.Collection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.collections[k.WorkflowID()]
	if !ok {
		return was, job.NotFound("jobcollections/"+k.Name, k.ResourceGroup)
	}
	changed, err := edit(was)
	if err != nil {
		return was, err
	}
	changed.Generation = was.Generation + 1
	m.collections[k.WorkflowID()] = changed
	return changed, nil
}

// Collection returns a collection.
func (m *Memory) Collection(_ context.Context, k job.CollectionKey) (job.Collection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.collections[k.WorkflowID()]
	if !ok {
		return found, job.NotFound("jobcollections/"+k.Name, k.ResourceGroup)
	}
	return found, nil
}

// Collections returns a page of the collections.
func (m *Memory) Collections(
	_ context.Context, subscription, group string, p listing.Page,
) ([]job.Collection, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []job.Collection
	of := listing.Scope{Subscription: subscription, ResourceGroup: group}
	for _, c := range m.collections {
		if within(c.Key, of) && p.ShowsCollection(c.Key) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b job.Collection) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	return paged(all, p, func(c job.Collection) string { return c.Key.Name })
}

// Jobs returns a page of the jobs of a collection.
func (m *Memory) Jobs(ctx context.Context, k job.CollectionKey, p listing.Page) ([]job.Job, string, error) {
	if _, err := m.Collection(ctx, k); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []job.Job
	for _, j := range m.jobs {
		if j = m.filled(j); j.Key.Collection == k && p.ShowsJob(j.Key) && p.Filter.MatchesJob(&j) {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b job.Job) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	return paged(all, p, func(j job.Job) string { return j.Key.Name })
}

// paged returns a page of a sorted list, and the name after which the next begins.
func paged[T any](all []T, p listing.Page, name func(T) string) ([]T, string, error) {
	for len(all) > 0 && p.After != "" && name(all[0]) <= p.After {
		all = all[1:]
	}
	all = all[min(p.Skip, len(all)):]
	if len(all) <= p.Top {
		return all, "", nil
	}
	return all[:p.Top], name(all[p.Top-1]), nil
}

// Job returns a job.
func (m *Memory) Job(_ context.Context, k job.Key) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(k)
}

// PutJob creates or replaces a job.
func (m *Memory) PutJob(
	ctx context.Context, k job.Key, edit func(*job.Job) (job.Definition, error),
) (job.Job, bool, error) {
	if _, err := m.Collection(ctx, k.Collection); err != nil {
		return job.Job{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var current *job.Job
	if found, err := m.find(k); err == nil {
		current = new(found.TakenBack())
	}
	d, err := edit(current)
	if err != nil {
		return job.Job{}, false, err
	}
	return m.keep(k, d), current == nil, nil
}

// PatchJob changes a job.
func (m *Memory) PatchJob(
	_ context.Context, k job.Key, edit func(*job.Job) (job.Definition, error),
) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, err := m.find(k)
	if err != nil {
		return found, err
	}
	found = found.TakenBack()
	d, err := edit(&found)
	if err != nil {
		return found, err
	}
	return m.keep(k, d), nil
}

// BindOwner puts an owner on record, whatever is there.
func (m *Memory) BindOwner(_ context.Context, k job.CollectionKey, b job.Binding) (job.Owner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owners == nil {
		m.owners = map[string][]job.Owner{}
	}
	m.owners[k.WorkflowID()] = append(m.owners[k.WorkflowID()], b.Owner)
	return b.Owner, nil
}

// PruneJob prunes a job by the rules of the workflow. [Memory.Expire] deletes it.
func (m *Memory) PruneJob(_ context.Context, k job.Key, owner string, check func(*job.Job) error) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, err := m.find(k)
	if err := cmp.Or(err, check(&found)); err != nil {
		return found, err
	}
	known := slices.ContainsFunc(m.owners[k.Collection.WorkflowID()], func(o job.Owner) bool { return o.ID == owner })
	switch d := &found.Definition; {
	case !known || d.Owner != owner || d.Recurrence == nil:
		return found, job.Conflictf("The job is not pruned.")
	case found.Pruning == nil:
		found.Pruning = &job.Pruning{At: time.Unix(0, 0).UTC(), State: d.State}
		d.State = job.StateDisabled
		found.Generation++
		found.Status.PruneAt, found.Status.FormerState = job.NewTime(found.Pruning.Until()), found.Pruning.State
		m.jobs[k.WorkflowID()] = found
	}
	return found, nil
}

// CompareSecrets says that they are the same, since none is kept.
func (m *Memory) CompareSecrets(context.Context, job.Key, *job.Definition) (bool, error) {
	return true, nil
}

// RestoreJob takes a pruned job back.
func (m *Memory) RestoreJob(ctx context.Context, k job.Key, check func(*job.Job) error) (job.Job, error) {
	return m.PatchJob(ctx, k, func(current *job.Job) (job.Definition, error) {
		return current.Definition, check(current)
	})
}

// Expire deletes the pruned jobs, as they do themselves in a week, and returns their keys.
func (m *Memory) Expire() (gone []job.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, j := range m.jobs {
		if j.Pruning != nil {
			gone = append(gone, j.Key)
			m.last = max(m.last, j.Generation)
			delete(m.jobs, id)
		}
	}
	return gone
}

// DeleteJob deletes a job.
func (m *Memory) DeleteJob(_ context.Context, k job.Key, check func(*job.Job) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, err := m.find(k)
	if err != nil {
		return err
	}
	if check != nil {
		if err := check(&found); err != nil {
			return err
		}
	}
	m.last = max(m.last, found.Generation)
	delete(m.jobs, k.WorkflowID())
	return nil
}

func (m *Memory) set(k job.Key, state job.State) (job.Job, error) {
	return m.PatchJob(context.Background(), k, func(j *job.Job) (job.Definition, error) {
		j.Definition.State = state
		return j.Definition, nil
	})
}

// EnableJob enables a job.
func (m *Memory) EnableJob(_ context.Context, k job.Key, _ job.Promise) (job.Job, error) {
	return m.set(k, job.StateEnabled)
}

// DisableJob disables a job.
func (m *Memory) DisableJob(_ context.Context, k job.Key, _ job.Promise) (job.Job, error) {
	return m.set(k, job.StateDisabled)
}

// RunJob counts a manual run.
func (m *Memory) RunJob(_ context.Context, k job.Key, _ bool) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(k); err != nil {
		return "", err
	}
	m.runs++
	return job.ExecutionName(1, m.runs), nil
}

// Execution returns an execution that waits.
func (m *Memory) Execution(_ context.Context, k job.Key, name string) (job.ExecutionStatus, error) {
	_, repeat, ok := job.ParseExecutionName(name)
	if !ok {
		return job.ExecutionStatus{}, job.NotFound("jobcollections/"+k.Collection.Name+"/jobs/"+k.Name, k.Collection.ResourceGroup)
	}
	return job.ExecutionStatus{
		Key: k, Name: name, Stage: job.StageWaiting, Reason: "It waits for a worker.",
		Execution: job.Execution{Repeat: repeat, ActionName: job.MainAction},
	}, nil
}

// SkipOccurrences returns the job.
func (m *Memory) SkipOccurrences(ctx context.Context, k job.Key, _ job.SkipRequest) (job.Job, error) {
	return m.Job(ctx, k)
}

// Backfill begins nothing.
func (m *Memory) Backfill(ctx context.Context, k job.Key, r job.BackfillRequest) (job.Job, error) {
	j, err := m.Job(ctx, k)
	j.Backfills = []job.Backfill{{BackfillRequest: r, State: job.BackfillDone}}
	return j, err
}

// ChangeBackfill changes nothing.
func (m *Memory) ChangeBackfill(ctx context.Context, k job.Key, name string, _ job.BackfillAction) (job.Job, error) {
	return m.Backfill(ctx, k, job.BackfillRequest{Name: name})
}

// PreviewBackfill finds nothing.
func (m *Memory) PreviewBackfill(context.Context, job.Key, job.BackfillRequest) (job.BackfillPreview, error) {
	return job.BackfillPreview{}, nil
}

// PreviewState holds nothing.
func (m *Memory) PreviewState(context.Context, job.Key, job.State, job.Promise) (preview.Held, error) {
	return preview.Held{AtOnce: 1}, nil
}

// PreviewStates holds nothing.
func (m *Memory) PreviewStates(
	_ context.Context, _ job.CollectionKey, names []string, _ job.State, _ job.Promise,
) ([]preview.Held, []error) {
	return slices.Repeat([]preview.Held{{AtOnce: 1}}, len(names)), make([]error, len(names))
}

// PreviewCollectionState holds nothing.
func (m *Memory) PreviewCollectionState(
	context.Context, job.CollectionKey, job.CollectionState, job.Promise,
) (preview.HeldOfCollection, error) {
	return preview.HeldOfCollection{Complete: true}, nil
}

// EnableCollection enables a collection at once.
func (m *Memory) EnableCollection(_ context.Context, k job.CollectionKey, _ job.Promise) (*job.Operation, error) {
	return m.setCollection(k, job.CollectionEnabled)
}

// DisableCollection disables a collection at once.
func (m *Memory) DisableCollection(_ context.Context, k job.CollectionKey, _ job.Promise) (*job.Operation, error) {
	return m.setCollection(k, job.CollectionDisabled)
}

func (m *Memory) setCollection(k job.CollectionKey, state job.CollectionState) (*job.Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.collections[k.WorkflowID()]
	if !ok {
		return nil, job.NotFound("jobcollections/"+k.Name, k.ResourceGroup)
	}
	found.Properties.State = state
	m.collections[k.WorkflowID()] = found
	return nil, nil
}

// Ready returns NotReady.
func (m *Memory) Ready(context.Context) error { return m.NotReady }
