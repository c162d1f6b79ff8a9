package scheduler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
	"almanac/scheduler"
	"almanac/workflows"
)

// broken is a Temporal that answers every call with an error.
type broken struct {
	client.Client
	err error
}

func (b broken) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, b.err
}

func (b broken) WorkflowService() workflowservice.WorkflowServiceClient {
	return brokenFrontend{err: b.err}
}

// A brokenFrontend is the part of broken behind the SDK's client.
type brokenFrontend struct {
	workflowservice.WorkflowServiceClient
	err error
}

func (b brokenFrontend) ResetStickyTaskQueue(context.Context, *workflowservice.ResetStickyTaskQueueRequest, ...grpc.CallOption) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	return nil, b.err
}

func (brokenFrontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest, ...grpc.CallOption) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (b brokenFrontend) GetWorkflowExecutionHistory(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest, ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return nil, b.err
}

func (b broken) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return nil, b.err
}

func (b broken) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return nil, b.err
}

func (b broken) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, b.err
}

func TestErrorsOfTemporalHaveAKindAndSayNothingOfIt(t *testing.T) {
	t.Parallel()
	refused := func(errType string) error {
		return temporal.NewNonRetryableApplicationError("told by the workflow", errType, nil)
	}
	for _, tt := range []struct {
		name             string
		err              error
		read, list, kill job.Kind // of Job, Jobs and DeleteJob
	}{
		{"away", serviceerror.NewUnavailable("internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"without a worker", serviceerror.NewFailedPrecondition("internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"silent", context.DeadlineExceeded, job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"overloaded", serviceerror.NewResourceExhausted(0, "internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"at a workflow whose task fails", serviceerror.NewWorkflowNotReady("internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"without the namespace", serviceerror.NewNamespaceNotFound("internals"), job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"something else that answers by HTTP", serviceerror.NewUnimplemented("unexpected HTTP status code received from server: 404 (Not Found); internals"),
			job.KindUnavailable, job.KindUnavailable, job.KindUnavailable},
		{"without the workflow", serviceerror.NewNotFound("internals"), job.KindNotFound, job.KindNotFound, job.KindNotFound},
		{"about to delete the job", refused(workflows.ErrTypeGone), job.KindNotFound, job.KindNotFound, job.KindNotFound},
		{"unwilling", refused(workflows.ErrTypeConflict), job.KindConflict, job.KindConflict, job.KindConflict},
		{"unable to plan", refused(workflows.ErrTypeInvalid), job.KindInvalid, job.KindInvalid, job.KindInvalid},
		{"confused", serviceerror.NewInternal("internals"), job.KindInternal, job.KindInternal, job.KindInternal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s := scheduler.New(scheduler.Options{Client: broken{err: tt.err}})
				_, read := s.Job(ctx, key)
				_, _, list := s.Jobs(ctx, key.Collection, listing.Page{Top: 1})
				kill := s.DeleteJob(ctx, key, nil)
				for err, want := range map[error]job.Kind{read: tt.read, list: tt.list, kill: tt.kill} {
					require.Error(t, err)
					require.Equal(t, want, job.KindOf(err), "%v", err)
					require.NotContains(t, err.Error(), "internals")
				}
			})
		})
	}
}

// A definition is edited as the API does it: put with the body of a PUT, patched with a patch.
func put(body string) func(*job.Job) (job.Definition, error) {
	return func(current *job.Job) (job.Definition, error) {
		o := input.ParseOptions{Now: time.Now()}
		if current != nil {
			o.Created, o.Stored = current.Created, &current.Definition
		}
		return input.ParseDefinition([]byte(body), o)
	}
}

func patched(patch string) func(*job.Job) (job.Definition, error) {
	return func(current *job.Job) (job.Definition, error) {
		return input.MergeDefinition(current.Definition, []byte(patch), input.ParseOptions{Now: time.Now(), Created: current.Created})
	}
}

const aJob = `{"properties":{"action":{"type":"Http","request":{"uri":"http://127.0.0.1/","method":"GET"}}}}`

func TestAJobWithoutACollectionIsToldHowToCreateIt(t *testing.T) {
	t.Parallel()
	s := scheduler.New(scheduler.Options{Client: &directory{t: t}})
	_, _, err := s.PutJob(t.Context(), key, put(aJob))
	require.Equal(t, job.KindNotFound, job.KindOf(err))
	require.ErrorContains(t, err, "'Microsoft.Scheduler/jobcollections/"+key.Collection.Name+"' under resource group")
	_, body, found := strings.Cut(err.Error(), "Create the job collection first: PUT "+key.Collection.ARMID()+"?api-version=2016-03-01 with the body ")
	require.True(t, found, "%v", err)
	_, err = input.ParseCollection([]byte(strings.TrimSuffix(body, ".")), nil)
	require.NoError(t, err)
	_, err = s.PatchJob(t.Context(), key, patched(`{}`))
	require.ErrorContains(t, err, "/jobs/"+key.Name+"'")
	require.NotContains(t, err.Error(), "Create")
}

// slow is a Temporal that is slow to answer an update.
type slow struct {
	*directory
	registered, start time.Time // time of the registration, and deadline of the start
}

func (s *slow) UpdateWorkflow(ctx context.Context, _ client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	s.registered = time.Now()
	// its worker crashed, and another one got the workflow task
	return registered{}, wfclient.Sleep(ctx, 12*time.Second)
}

func (s *slow) ExecuteWorkflow(ctx context.Context, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	s.start, _ = ctx.Deadline()
	return nil, nil
}

type registered struct{ client.WorkflowUpdateHandle }

func (registered) Get(_ context.Context, result any) error {
	*result.(*workflows.RegisterAnswer) = workflows.RegisterAnswer{Jobs: []workflows.RegisterResult{{Registration: workflows.Registration{Name: key.Name, Number: 1}}}}
	return nil
}

// hesitant is a Temporal that does not answer the first registrations.
type hesitant struct {
	*directory
	silent, asked int
	starts        []error  // results of the starts, in order; later ones succeed
	started       *job.Job // by the first start
}

func (h *hesitant) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if o.UpdateName == workflows.UpdateReplace {
		return obeyed{}, nil
	}
	if h.asked++; h.asked <= h.silent {
		<-ctx.Done()
		return nil, client.NewWorkflowUpdateServiceTimeoutOrCanceledError(ctx.Err())
	}
	return registered{}, nil
}

func (h *hesitant) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	if len(h.starts) == 0 {
		return nil, nil
	}
	if h.started != nil {
		h.answers[key.WorkflowID()+" "+workflows.QueryStatus] = *h.started
	}
	err := h.starts[0]
	h.starts = h.starts[1:]
	return nil, err
}

func TestACreateThatWasNotAnsweredIsTriedAgainWhileTheCallerWaits(t *testing.T) {
	t.Parallel()
	late := serviceerror.NewDeadlineExceeded("context deadline exceeded")
	completed := &job.Job{Key: key, Registration: 1, Definition: job.Definition{State: job.StateCompleted}}
	another := &job.Job{Key: key, Registration: 7, Definition: job.Definition{State: job.StateCompleted}}
	for _, tt := range []struct {
		name    string
		silent  int // registrations that are not answered
		starts  []error
		started *job.Job
		patient time.Duration // the caller's deadline
		asked   int           // registrations
		kind    job.Kind      // KindInternal: no error
		created bool
	}{
		{"and succeeds", 1, nil, nil, 30 * time.Second, 2, job.KindInternal, true},
		{"and succeeds if it was the start", 0, []error{late}, nil, 30 * time.Second, 2, job.KindInternal, true},
		{"but not for longer than a change may take", 9, nil, nil, time.Hour, 4, job.KindUnavailable, false},
		{"but not for a caller who is gone", 3, nil, nil, 10 * time.Second, 1, job.KindUnavailable, false},
		{"and if the job has run meanwhile, it is the one that was asked for", 0,
			[]error{late, &serviceerror.WorkflowExecutionAlreadyStarted{}}, completed, 30 * time.Second, 2, job.KindInternal, true},
		{"and if another caller has created the job meanwhile, it is replaced", 0,
			[]error{late, &serviceerror.WorkflowExecutionAlreadyStarted{}}, another, 30 * time.Second, 2, job.KindInternal, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := job.Collection{Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}
				temporal := &hesitant{silent: tt.silent, starts: tt.starts, started: tt.started, directory: &directory{t: t, answers: map[string]any{
					key.Collection.WorkflowID() + " " + workflows.QueryStatus: c,
				}}}
				ctx, cancel := context.WithTimeout(t.Context(), tt.patient)
				defer cancel()
				_, created, err := scheduler.New(scheduler.Options{Client: temporal}).PutJob(ctx, key, put(aJob))
				require.Equal(t, tt.kind == job.KindInternal, err == nil, "%v", err)
				require.Equal(t, tt.created, created)
				require.Equal(t, tt.kind, job.KindOf(err))
				time.Sleep(time.Minute) // a registration outlives its caller
				synctest.Wait()
				require.Equal(t, tt.asked, temporal.asked)
			})
		})
	}
}

// busy is a Temporal that gives up the first update before the caller's deadline.
type busy struct {
	*directory
	ids  []string // of the updates
	gone bool     // the first update was applied nevertheless, and ended the workflow
}

func (b *busy) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if b.ids = append(b.ids, o.UpdateID); len(b.ids) == 1 {
		return nil, serviceerror.NewDeadlineExceeded("context deadline exceeded")
	}
	if b.gone {
		return nil, serviceerror.NewNotFound("workflow execution already completed")
	}
	return obeyed{}, nil
}

type obeyed struct{ client.WorkflowUpdateHandle }

func (obeyed) Get(context.Context, any) error { return nil }

func TestAChangeThatTemporalGaveUpIsSentAgainUnderItsID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(context.Context, *scheduler.Service) error
		again  bool
	}{
		{"a delete", func(ctx context.Context, s *scheduler.Service) error { return s.DeleteJob(ctx, key, nil) }, true},
		{"a job's new definition", func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.PatchJob(ctx, key, patched(`{"properties":{"state":"disabled"}}`))
			return err
		}, true},
		{"a job's state", func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.DisableJob(ctx, key, job.Promise{})
			return err
		}, true},
		{"a collection's properties", func(ctx context.Context, s *scheduler.Service) error {
			_, _, err := s.PutCollection(ctx, job.Collection{Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}, nil)
			return err
		}, true},
		{"a collection's end", func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.DeleteCollection(ctx, key.Collection, nil)
			return err
		}, true},
		{"a run on demand", func(ctx context.Context, s *scheduler.Service) error { _, err := s.RunJob(ctx, key, false); return err }, true},
		{"a skip", func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.SkipOccurrences(ctx, key, job.SkipRequest{})
			return err
		}, true},
		{"but not a test of notifications, which no run remembers", func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.TestNotifications(ctx, key)
			return err
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, err := input.ParseDefinition([]byte(aJob), input.ParseOptions{Now: time.Now()})
				require.NoError(t, err)
				if !tt.again {
					d.Notifications = []job.Notification{{Name: "ops"}}
				}
				temporal := &busy{directory: &directory{t: t, answers: map[string]any{
					key.WorkflowID() + " " + workflows.QueryStatus: job.Job{Key: key, Definition: d, Generation: 1},
				}}}
				err = tt.change(t.Context(), scheduler.New(scheduler.Options{Client: temporal}))
				if !tt.again {
					require.Equal(t, job.KindUnavailable, job.KindOf(err))
					require.Len(t, temporal.ids, 1)
					return
				}
				require.NoError(t, err)
				require.Len(t, temporal.ids, 2)
				require.Equal(t, temporal.ids[0], temporal.ids[1], "so that it is applied once")
			})
		})
	}
}

// rival is a Temporal in which somebody else changes the job and its collection before the first update.
type rival struct {
	*directory
	updates int
}

func (r *rival) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if r.updates++; r.updates > 1 {
		return obeyed{}, nil
	}
	r.answers[key.WorkflowID()+" "+workflows.QueryStatus] = job.Job{Key: key, Generation: 2}
	r.answers[key.Collection.WorkflowID()+" "+workflows.QueryStatus] = job.Collection{Key: key.Collection, Generation: 2}
	return nil, temporal.NewApplicationError("somebody else was first", workflows.ErrTypeStale)
}

func TestAnEditThatLostARaceIsMadeAgain(t *testing.T) {
	t.Parallel()
	var seen []int // generations
	editJob := func(current *job.Job) (job.Definition, error) {
		seen = append(seen, current.Generation)
		return current.Definition, nil
	}
	for name, edit := range map[string]func(context.Context, *scheduler.Service) error{
		"put": func(ctx context.Context, s *scheduler.Service) error {
			_, created, err := s.PutJob(ctx, key, editJob)
			require.False(t, created)
			return err
		},
		"patch": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.PatchJob(ctx, key, editJob)
			return err
		},
		"patch of a collection": func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.PatchCollection(ctx, key.Collection, func(current job.Collection) (job.Collection, error) {
				seen = append(seen, current.Generation)
				return current, nil
			})
			return err
		},
	} {
		seen = nil
		other := &rival{directory: &directory{t: t, answers: map[string]any{
			key.WorkflowID() + " " + workflows.QueryStatus:            job.Job{Key: key, Generation: 1},
			key.Collection.WorkflowID() + " " + workflows.QueryStatus: job.Collection{Key: key.Collection, Generation: 1},
		}}}
		require.NoError(t, edit(t.Context(), scheduler.New(scheduler.Options{Client: other})), name)
		require.Equal(t, []int{1, 2}, seen, name)
	}
}

func TestADeleteWhoseAnswerWasLostSucceeds(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(context.Context, *scheduler.Service) error{
		"of a job": func(ctx context.Context, s *scheduler.Service) error { return s.DeleteJob(ctx, key, nil) },
		"of a collection": func(ctx context.Context, s *scheduler.Service) error {
			o, err := s.DeleteCollection(ctx, key.Collection, nil)
			require.Nil(t, o, "nothing is left to wait for")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				temporal := &busy{gone: true, directory: &directory{t: t, answers: map[string]any{
					key.WorkflowID() + " " + workflows.QueryStatus: job.Job{Key: key, Generation: 1},
				}}}
				require.NoError(t, remove(t.Context(), scheduler.New(scheduler.Options{Client: temporal})))
				require.Len(t, temporal.ids, 2)
			})
		})
	}
}

// A collection forgets a job that is not started in time.
func TestAJobIsStartedInTimeOrNotAtAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := job.Collection{Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}
		temporal := &slow{directory: &directory{t: t, answers: map[string]any{
			key.Collection.WorkflowID() + " " + workflows.QueryStatus: c,
		}}}
		s := scheduler.New(scheduler.Options{Client: temporal})
		_, created, err := s.PutJob(t.Context(), key, put(aJob))
		require.NoError(t, err)
		require.True(t, created)
		require.False(t, temporal.start.After(temporal.registered.Add(workflows.StartWithin)))
	})
}

// fresh is a Temporal whose services do not know the search attributes at first.
type fresh struct {
	*directory
	knows time.Time
}

func (*fresh) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return registered{}, nil
}

func (f *fresh) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	if time.Now().Before(f.knows) {
		return nil, serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute AlmanacState")
	}
	return nil, nil
}

// lockedDown is a Temporal whose namespace lacks the optional search attribute.
type lockedDown struct {
	*directory
	refused, started int
}

func (*lockedDown) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return registered{}, nil
}

func (l *lockedDown) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if _, ok := o.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome)); ok {
		l.refused++
		return nil, serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute AlmanacLastOutcome")
	}
	l.started++
	return nil, nil
}

func TestAJobIsStartedWithoutTheOptionalSearchAttributeWhereItIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := job.Collection{Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}
		l := &lockedDown{directory: &directory{t: t, answers: map[string]any{key.Collection.WorkflowID() + " " + workflows.QueryStatus: c}}}
		s := scheduler.New(scheduler.Options{Client: l})
		for i := range 2 {
			before, began := l.refused, time.Now()
			_, created, err := s.PutJob(t.Context(), key, put(aJob))
			require.NoError(t, err)
			require.True(t, created)
			require.Equal(t, i+1, l.started)
			require.Equal(t, i > 0, l.refused-before == 1, "the first one waits for the search attribute, which may be new")
			require.Less(t, time.Since(began), 4*time.Second)
		}
	})
}

// reserved is a Temporal that lets no caller set the search attribute of build IDs.
type reserved struct {
	*directory
	refused, started int
}

func (*reserved) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return registered{}, nil
}

func (r *reserved) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if o.TypedSearchAttributes.ContainsKey(temporal.NewSearchAttributeKeyKeywordList(workflows.AttributeBuildIDs)) {
		r.refused++
		return nil, serviceerror.NewInvalidArgument("BuildIds attribute can't be set in SearchAttributes")
	}
	r.started++
	return nil, nil
}

func TestAJobIsStartedWithoutItsBuildIDsWhereTheyAreReserved(t *testing.T) {
	t.Parallel()
	c := job.Collection{Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}
	r := &reserved{directory: &directory{t: t, answers: map[string]any{key.Collection.WorkflowID() + " " + workflows.QueryStatus: c}}}
	s := scheduler.New(scheduler.Options{Client: r})
	for i := range 2 {
		_, created, err := s.PutJob(t.Context(), key, put(aJob))
		require.NoError(t, err)
		require.True(t, created)
		require.Equal(t, i+1, r.started)
	}
}

func TestAJobIsStartedOnceTemporalKnowsTheSearchAttributes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  job.Kind
	}{
		{"within seconds", 5 * time.Second, 0},
		{"or it is refused for now", time.Hour, job.KindUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := job.Collection{Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}
				temporal := &fresh{knows: time.Now().Add(tt.after), directory: &directory{t: t, answers: map[string]any{
					key.Collection.WorkflowID() + " " + workflows.QueryStatus: c,
				}}}
				s := scheduler.New(scheduler.Options{Client: temporal})
				start := time.Now()
				_, created, err := s.PutJob(t.Context(), key, put(aJob))
				if tt.want == 0 {
					require.NoError(t, err)
					require.True(t, created)
					require.Equal(t, tt.after, time.Since(start))
					return
				}
				require.Equal(t, tt.want, job.KindOf(err))
				require.ErrorContains(t, errors.Unwrap(err), "AlmanacState", "for the log")
				require.NotContains(t, err.Error(), "AlmanacState")
				require.False(t, created)
			})
		})
	}
}

func TestNothingNewIsStoredWithoutSpace(t *testing.T) {
	t.Parallel()
	little := errors.New("the disk has 3 MiB left")
	s := scheduler.New(scheduler.Options{Client: broken{err: serviceerror.NewNotFound("internals")}, CheckSpace: func() error { return little }})
	_, _, jobErr := s.PutJob(t.Context(), key, put(aJob))
	_, _, collectionErr := s.PutCollection(t.Context(), job.Collection{Key: key.Collection}, nil)
	for _, err := range []error{jobErr, collectionErr} {
		require.ErrorIs(t, err, little)
		require.Equal(t, job.KindUnavailable, job.KindOf(err))
		require.EqualError(t, err, "Nothing new is stored: the disk has 3 MiB left.")
	}
	_, err := s.Job(t.Context(), key)
	require.Equal(t, job.KindNotFound, job.KindOf(err), "reads go on")
}
