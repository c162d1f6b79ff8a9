package responses_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/api/responses"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/notification"
)

var (
	key     = job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: "c"}.Job("j")
	message = job.ResponseMessage("target.example", "InternalServerError", "X-Internal: k1\r\n", "the salary of everybody")
)

// a talker is a scheduler of which every answer has what a target sent. Methods that have none are missing.
type talker struct{ api.Scheduler }

func talkative() job.Job {
	return job.Job{Key: key, Status: job.Status{Outcomes: job.Outcomes{
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
func (talker) EnableJob(context.Context, job.Key) (job.Job, error)  { return talkative(), nil }
func (talker) DisableJob(context.Context, job.Key) (job.Job, error) { return talkative(), nil }
func (talker) SkipOccurrence(context.Context, job.Key, time.Time) (job.Job, error) {
	return talkative(), nil
}

func (talker) History(context.Context, job.Key, listing.Page) ([]job.Record, string, error) {
	return []job.Record{{Attempt: job.Attempt{Message: message}}}, "", nil
}

func (talker) Execution(context.Context, job.Key, string) (job.Progress, error) {
	return job.Progress{Key: key, Retry: &job.Retry{LastError: &job.LastError{Message: message}}, Records: []job.Record{{Attempt: job.Attempt{Message: message}}}}, nil
}

func (talker) HistoryAcross(context.Context, listing.Scope, listing.Page) ([]listing.JobRecord, string, error) {
	return []listing.JobRecord{{Key: key, Record: job.Record{Attempt: job.Attempt{Message: message}}}}, "", nil
}

func (talker) TestNotifications(context.Context, job.Key) ([]notification.Delivery, error) {
	return []notification.Delivery{{Message: message}}, nil
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

// callers authenticates by a role, which is sent in clear.
type callers struct{ scope access.Scope }

func (c callers) Authenticate(r *http.Request) (*access.Principal, error) {
	role := access.ParseRole(access.Bearer(r))
	return &access.Principal{Kind: access.KindToken, Name: role.String(), Grant: access.Grant{Role: role, Scope: c.scope}}, nil
}

func TestReadersAndOperatorsSeeTheStatusAndContributorsAndOwnersTheResponse(t *testing.T) {
	t.Parallel()
	h := api.New(responses.Hide(talker{}, func() *access.Policy { return nil }), api.Options{Access: &guard.Access{Authenticators: []access.Authenticator{callers{}}}})
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/jobCollections/c/jobs/j", ""},
		{http.MethodGet, "/jobCollections/c/jobs", ""},
		{http.MethodPost, "/jobCollections/c/jobs/j/enable", ""},
		{http.MethodPost, "/jobCollections/c/jobs/j/disable", ""},
		{http.MethodPost, "/jobCollections/c/jobs/j/skip", ""},
		{http.MethodGet, "/jobCollections/c/jobs/j/history", ""},
		{http.MethodGet, "/jobCollections/c/jobs/j/executions/1-2", ""},
		{http.MethodGet, "/jobCollections/c/history", ""},
		{http.MethodGet, "/history", ""},
		{http.MethodGet, "/jobCollections/c/changes", ""},
		{http.MethodGet, "/jobCollections/c/jobs/j/changes", ""},
		{http.MethodGet, "/jobCollections/c/notifications", ""},
		{http.MethodPost, "/jobCollections/c/testNotification", ""},
		{http.MethodPost, "/jobCollections/c/jobs/j/testNotification", ""},
	} {
		for _, role := range access.RoleNames() {
			r := httptest.NewRequest(request.method, request.path, strings.NewReader(request.body))
			r.Header.Set("Authorization", "Bearer "+role)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if role == "reader" && request.method == http.MethodPost {
				require.Equal(t, http.StatusForbidden, w.Code, request.path)
				continue
			}
			require.Equal(t, http.StatusOK, w.Code, "%s %s: %s", request.path, role, w.Body)
			shown := role == "contributor" || role == "owner"
			require.Equal(t, shown, strings.Contains(w.Body.String(), "salary"), "%s %s: %s", request.path, role, w.Body)
			require.Equal(t, shown, strings.Contains(w.Body.String(), "k1"), "%s %s", request.path, role)
			require.Equal(t, !shown, strings.Contains(w.Body.String(), "hidden (a contributor may see them)"), "%s %s", request.path, role)
			require.Contains(t, w.Body.String(), "InternalServerError")
		}
	}
}

func TestAListHidesResponsesOfEachJobByTheRoleForThatJob(t *testing.T) {
	t.Parallel()
	policy := access.NewPolicy([]access.Assignment{
		{Principal: access.Selector{Kind: access.KindToken, Value: "x"}, Grant: access.Grant{Role: access.Reader, Scope: access.Everything}},
		{Principal: access.Selector{Kind: access.KindToken, Value: "x"}, Grant: access.Grant{Role: access.Contributor, Scope: access.ScopeOfJob(key)}},
	})
	s := responses.Hide(two{}, func() *access.Policy { return policy })
	ctx := access.WithPrincipal(t.Context(), &access.Principal{Selectors: []access.Selector{{Kind: access.KindToken, Value: "x"}}})
	found, _, err := s.HistoryAcross(ctx, listing.Scope{}, listing.Page{})
	require.NoError(t, err)
	require.Equal(t, message, found[0].Message)
	require.NotContains(t, found[1].Message, "salary")
	found, _, err = s.HistoryAcross(t.Context(), listing.Scope{}, listing.Page{})
	require.NoError(t, err)
	require.NotContains(t, found[0].Message, "salary", "nobody may see it")
}

// two has the histories of two jobs.
type two struct{ talker }

func (two) HistoryAcross(context.Context, listing.Scope, listing.Page) ([]listing.JobRecord, string, error) {
	record := job.Record{Attempt: job.Attempt{Message: message}}
	return []listing.JobRecord{{Key: key, Record: record}, {Key: key.Collection.Job("other"), Record: record}}, "", nil
}

// whose is a scheduler of a job that has notifications of its own, or those of its collection.
type whose struct {
	talker
	own *[]job.Notification
}

func (w whose) Job(context.Context, job.Key) (job.Job, error) {
	return job.Job{Key: key, Generation: 3, Definition: job.Definition{Notifications: *w.own}}, nil
}

func TestATestOfAJobShowsWhatTargetsOfTheCollectionAnswerByTheRoleThere(t *testing.T) {
	t.Parallel()
	own := []job.Notification{}
	s := responses.Hide(whose{own: &own}, func() *access.Policy { return nil })
	test := func(scope access.Scope) string {
		who := &access.Principal{Grant: access.Grant{Role: access.Contributor, Scope: scope}}
		all, err := s.TestNotifications(access.WithPrincipal(t.Context(), who), key)
		require.NoError(t, err)
		return all[0].Message
	}
	require.Contains(t, test(access.ScopeOfJob(key)), "salary")
	own = nil
	require.NotContains(t, test(access.ScopeOfJob(key)), "salary")
	require.Contains(t, test(access.ScopeOfCollection(key.Collection)), "salary")
}
