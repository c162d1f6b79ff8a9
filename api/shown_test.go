package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/notification"
)

var (
	told    = job.CollectionKey{Subscription: "s1", ResourceGroup: "g1", Name: "c1"}.Job("j1")
	message = job.ResponseMessage("target.example", "InternalServerError", "X-Internal: k1\r\n", "the salary of everybody")
)

// A talker is a scheduler. Each of its answers that may have what a target sent has that.
type talker struct{ *fake }

func talkative() job.Job {
	return job.Job{Key: told, Created: at("2025-12-31T00:00:00Z"), Status: job.Status{Outcomes: job.Outcomes{
		LastOutcome: &job.LastOutcome{Status: job.OutcomeFailed}, LastError: &job.LastError{Message: message},
	}, Retry: &job.Retry{LastError: &job.LastError{Message: message}}, Reason: "The job was disabled. The last error: " + message}}
}

func (talker) Job(context.Context, job.Key) (job.Job, error) { return talkative(), nil }
func (talker) Jobs(context.Context, job.CollectionKey, listing.Page) ([]job.Job, string, error) {
	return []job.Job{talkative()}, "", nil
}

func (talker) PutJob(context.Context, job.Key, func(*job.Job) (job.Definition, error)) (job.Job, bool, error) {
	return talkative(), false, nil
}

func (talker) PatchJob(context.Context, job.Key, func(*job.Job) (job.Definition, error)) (job.Job, error) {
	return talkative(), nil
}
func (talker) BindOwner(context.Context, job.CollectionKey, job.Binding) (job.Owner, error) {
	return job.Owner{}, nil
}

func (talker) PruneJob(context.Context, job.Key, string, func(*job.Job) error) (job.Job, error) {
	return talkative(), nil
}

func (talker) CompareSecrets(context.Context, job.Key, *job.Definition) (bool, error) {
	return true, nil
}

func (talker) RestoreJob(context.Context, job.Key, func(*job.Job) error) (job.Job, error) {
	return talkative(), nil
}

func (talker) EnableJob(context.Context, job.Key, job.Promise) (job.Job, error) {
	return talkative(), nil
}

func (talker) DisableJob(context.Context, job.Key, job.Promise) (job.Job, error) {
	return talkative(), nil
}
func (talker) SkipOccurrences(context.Context, job.Key, job.SkipRequest) (job.Job, error) {
	return talkative(), nil
}

func (talker) UnskipOccurrences(context.Context, job.Key, job.SkipRequest) (job.Job, error) {
	return talkative(), nil
}

func (talker) History(context.Context, job.Key, listing.Page) ([]job.Record, string, error) {
	return []job.Record{{Attempt: job.Attempt{Message: message}}}, "", nil
}

func (talker) Execution(context.Context, job.Key, string) (job.ExecutionStatus, error) {
	return job.ExecutionStatus{Key: told, Retry: &job.Retry{LastError: &job.LastError{Message: message}}, Records: []job.Record{{Attempt: job.Attempt{Message: message}}}}, nil
}

func (talker) HistoryAcross(context.Context, listing.Scope, listing.Page) ([]listing.JobRecord, string, error) {
	return []listing.JobRecord{{Key: told, Record: job.Record{Attempt: job.Attempt{Message: message}}}}, "", nil
}

func (talker) TestNotifications(context.Context, job.Key) ([]notification.Delivery, error) {
	return []notification.Delivery{{Message: message}}, nil
}

func (talker) TryJob(context.Context, job.Key, *job.Definition, bool) (job.Trial, error) {
	return job.Trial{Key: told, Attempt: job.Attempt{Outcome: job.OutcomeFailed, Message: message}}, nil
}

func (talker) Deliveries(context.Context, job.CollectionKey) ([]notification.Delivery, error) {
	return []notification.Delivery{{Message: message}}, nil
}

func (talker) JobChanges(context.Context, job.Key, listing.Page) ([]audit.Change, string, error) {
	return []audit.Change{{Operation: audit.DisableJob, Message: "The job was disabled. The last error: " + message}}, "", nil
}

func (talker) CollectionChanges(context.Context, job.CollectionKey, listing.Page) ([]audit.Change, string, error) {
	return []audit.Change{{Operation: audit.WriteCollection, Message: message}}, "", nil
}

// byRole authenticates by a role, which is sent in clear, in a scope.
type byRole struct{ scope access.Scope }

func (b byRole) Authenticate(r *http.Request) (*access.Principal, error) {
	role := access.ParseRole(access.Bearer(r))
	return &access.Principal{Kind: access.KindToken, Name: role.String(), Grant: access.Grant{Role: role, Scope: b.scope}}, nil
}

// hiding returns an API that hides responses.
func hiding(s api.Scheduler, by access.Authenticator, policy *access.Policy) http.Handler {
	return api.New(s, api.Options{
		HideResponses: true,
		Access:        &guard.Access{Authenticators: []access.Authenticator{by}, Policy: func() *access.Policy { return policy }},
		Now:           func() time.Time { return at("2026-01-01T00:00:00Z") },
		Metrics:       http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	})
}

// Every operation of the API is asked, so one that is new cannot show a reader what a target said.
func TestReadersAndOperatorsSeeTheStatusAndContributorsAndOwnersTheResponse(t *testing.T) {
	t.Parallel()
	h := hiding(talker{(&backend{finished: true}).scheduler(t)}, byRole{}, nil)
	c := loadContract(t)
	servers := serversOf(c.T)
	var shows []string
	for path, item := range c.Paths.Map() {
		for method, op := range item.Operations() {
			plain := triggers(path, method, op, servers[path][0])[0]
			for _, role := range access.RoleNames() {
				got := as(h, role, plain.method, plain.target, plain.body)
				may := role == "contributor" || role == "owner"
				if !may && got.status == http.StatusForbidden {
					continue
				}
				require.Less(t, got.status, http.StatusBadRequest, "%s: %s: %s", op.OperationID, role, got.body)
				hidden := strings.Contains(got.body, "hidden (a contributor may see them)")
				shown := strings.Contains(got.body, "salary")
				require.Equal(t, shown, strings.Contains(got.body, "k1"), "%s: %s", op.OperationID, role)
				require.False(t, shown && !may || hidden && may, "%s: %s: %s", op.OperationID, role, got.body)
				if hidden || shown {
					require.Contains(t, got.body, "InternalServerError")
				}
				if role == "owner" && shown {
					shows = append(shows, op.OperationID)
				}
			}
		}
	}
	require.ElementsMatch(t, []string{
		"Jobs_Get", "Jobs_List", "Jobs_CreateOrUpdate", "Jobs_Create", "Jobs_Patch", "Jobs_Enable", "Jobs_Disable", "Jobs_Prune", "Jobs_Restore", "Jobs_Skip", "Jobs_Unskip",
		"Jobs_ListJobHistory", "Jobs_GetExecution", "Jobs_ListChanges", "Jobs_Explain", "Jobs_TestNotification", "Jobs_Try",
		"Jobs_ListHistoryByResourceGroup", "Jobs_ListHistoryBySubscription", "JobCollections_ListHistory",
		"JobCollections_ListChanges", "JobCollections_ListNotifications", "JobCollections_TestNotification",
	}, shows)
}

func TestAListHidesResponsesOfEachJobByTheRoleForThatJob(t *testing.T) {
	t.Parallel()
	x := access.Selector{Kind: access.KindToken, Value: "x"}
	policy := access.NewPolicy([]access.Assignment{
		{Principal: x, Grant: access.Grant{Role: access.Reader, Scope: access.Everything}},
		{Principal: x, Grant: access.Grant{Role: access.Contributor, Scope: access.ScopeOfJob(told)}},
	})
	got := as(hiding(two{}, anyone{Selectors: []access.Selector{x}}, policy), "", http.MethodGet, "/history", "")
	require.Equal(t, http.StatusOK, got.status, got.body)
	first, second, _ := strings.Cut(got.body, "},{")
	require.Contains(t, first, "salary")
	require.NotContains(t, second, "salary")
	require.Contains(t, second, "hidden")
	nobody := api.New(two{}, api.Options{HideResponses: true})
	require.NotContains(t, send(nobody, http.MethodGet, "/history", "").body, "salary", "nobody may see it")
}

// two has the histories of two jobs.
type two struct{ talker }

func (two) HistoryAcross(context.Context, listing.Scope, listing.Page) ([]listing.JobRecord, string, error) {
	record := job.Record{Attempt: job.Attempt{Message: message}}
	return []listing.JobRecord{{Key: told, Record: record}, {Key: told.Collection.Job("other"), Record: record}}, "", nil
}

// whose is a scheduler of a job that has notifications of its own, or those of its collection.
type whose struct {
	talker
	own *[]job.Notification
}

func (w whose) Job(context.Context, job.Key) (job.Job, error) {
	return job.Job{Key: told, Generation: 3, Definition: job.Definition{Notifications: *w.own}}, nil
}

func TestATestOfAJobShowsWhatTargetsOfTheCollectionAnswerByTheRoleThere(t *testing.T) {
	t.Parallel()
	own := []job.Notification{}
	test := func(scope access.Scope) string {
		h := hiding(whose{own: &own}, byRole{scope}, nil)
		got := as(h, "contributor", http.MethodPost, group+"/jobCollections/c1/jobs/j1/testNotification"+version, "")
		require.Equal(t, http.StatusOK, got.status, got.body)
		return got.body
	}
	require.Contains(t, test(access.ScopeOfJob(told)), "salary")
	own = nil
	require.NotContains(t, test(access.ScopeOfJob(told)), "salary")
	require.Contains(t, test(access.ScopeOfCollection(told.Collection)), "salary")
}
