package responses_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/api"
	"almanac/api/guard"
	"almanac/api/responses"
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

// silent are the methods whose answers have nothing that a target sent.
var silent = []string{
	"PutCollection", "PatchCollection", "Collection", "DeleteCollection", "EnableCollection", "DisableCollection", "Operation", "Collections",
	"JobChanges", "CollectionChanges", "Upcoming", "DeleteJob", "RunJob", "RerunJob", "RerunJobs", "Ready",
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

// A method of the scheduler that is new has to be in one of the two lists.
func TestEveryAnswerOfASchedulerIsSilentOrHidden(t *testing.T) {
	t.Parallel()
	hiding, embedded := reflect.TypeOf(responses.Hide(talker{}, nil)), reflect.TypeFor[api.Scheduler]()
	own := reflect.TypeFor[talker]()
	for m := range embedded.Methods() {
		name := m.Name
		_, exists := hiding.MethodByName(name)
		require.True(t, exists)
		if slices.Contains(silent, name) {
			continue
		}
		method, _ := own.MethodByName(name)
		require.True(t, declared(method, own), "say of %s whether its answer can have what a target sent: hide it, or add it to the silent ones", name)
		answers := call(reflect.ValueOf(responses.Hide(talker{}, nil)).MethodByName(name))
		text, err := json.Marshal(answers)
		require.NoError(t, err)
		require.Contains(t, string(text), "hidden", name)
		require.NotContains(t, string(text), "salary", name)
	}
}

// declared reports whether calling a method of talker works, which it does unless it is the one of the nil interface in it.
func declared(m reflect.Method, of reflect.Type) (works bool) {
	defer func() { works = recover() == nil }()
	call(reflect.New(of).Elem().MethodByName(m.Name))
	return true
}

// call calls a method with a context and zero values, and returns its answers.
func call(m reflect.Value) (answers []any) {
	in := []reflect.Value{reflect.ValueOf(context.Background())}
	for i := 1; i < m.Type().NumIn(); i++ {
		in = append(in, reflect.Zero(m.Type().In(i)))
	}
	for _, out := range m.Call(in) {
		answers = append(answers, out.Interface())
	}
	return answers
}
