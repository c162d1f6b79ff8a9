package api_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
	"almanac/job/listing"
)

func dailyJSON(id, collection, name string) string {
	return `{"id":"` + id + `/jobCollections/` + collection + `/jobs/` + name + `","type":"Microsoft.Scheduler/jobCollections/jobs",` +
		`"name":"` + collection + `/` + name + `","properties":` + dailyProperties + `}`
}

func TestJobIsShownWithoutSecretsAndWithURIsAsTheyWereSent(t *testing.T) {
	t.Parallel()
	f := &fake{job: func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil }}
	for _, tt := range []struct{ name, path, want string }{
		{"under its subscription and group", group + "/jobCollections/c1/jobs/j1" + version, dailyJSON(group, "c1", "j1")},
		{"under the default ones", "/jobCollections/c1/jobs/j1", dailyJSON(defaultID, "c1", "j1")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := get(f, tt.path)
			require.Equal(t, tt.want, got.body)
			require.Equal(t, http.StatusOK, got.status)
			require.Equal(t, jsonContent, got.header.Get("Content-Type"))
		})
	}
}

func TestStatusIsAbsentForADisabledJobThatNeverRanOnly(t *testing.T) {
	t.Parallel()
	for state, want := range map[job.State]string{
		job.StateDisabled:  `"state":"disabled"}}`,
		job.StateEnabled:   `"state":"enabled","status":{"executionCount":0,"failureCount":0,"faultedCount":0}}}`,
		job.StateCompleted: `"state":"completed","status":{"executionCount":0,"failureCount":0,"faultedCount":0}}}`,
		job.StateFaulted:   `"state":"faulted","status":{"executionCount":0,"failureCount":0,"faultedCount":0}}}`,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			got := get(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
				d := definition(t, `{"action":{"type":"Http","request":{"uri":"http://example.com/","method":"GET"}}}`)
				d.State = state
				return job.Job{Key: k, Definition: d}, nil
			}}, "/jobCollections/c1/jobs/j1")
			require.Equal(t, `{"id":"`+defaultID+`/jobCollections/c1/jobs/j1","type":"Microsoft.Scheduler/jobCollections/jobs","name":"c1/j1",`+
				`"properties":{"action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},`+want, got.body)
		})
	}
}

func TestADisabledJobThatHasRunShowsHowThatEndedAndNothingElse(t *testing.T) {
	t.Parallel()
	got := get(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
		j := daily(t, k)
		end := job.NewTime(at("2026-01-01T00:00:01Z"))
		j.Definition.State, j.Status.NextExecutionTime, j.Status.Reason = job.StateDisabled, nil, job.WhyDisabled
		j.Status.Outcomes = job.Outcomes{
			LastOutcome: &job.LastOutcome{Status: job.OutcomeFailed, ExpectedExecutionTime: job.NewTime(at("2026-01-01T00:00:00Z")), EndTime: end},
			LastError:   &job.LastError{Message: "it failed", EndTime: end}, ConsecutiveFailures: 1,
		}
		return j, nil
	}}, "/jobCollections/c1/jobs/j1")
	require.Contains(t, got.body, `"state":"disabled","status":{`+
		`"lastOutcome":{"status":"Failed","expectedExecutionTime":"2026-01-01T00:00:00Z","endTime":"2026-01-01T00:00:01Z"},`+
		`"lastError":{"message":"it failed","endTime":"2026-01-01T00:00:01Z"},"consecutiveFailures":1,"reason":"The job is disabled."}}}`)
}

const aBody = `{"properties": {"action": {"type": "Http", "request": {"uri": "http://example.com/hook", "method": "GET"}}}}`

func TestPutJobAnswers201WhenCreatedAnd200WhenReplaced(t *testing.T) {
	t.Parallel()
	for created, status := range map[bool]int{true: http.StatusCreated, false: http.StatusOK} {
		var sent job.Definition
		f := &fake{putJob: func(_ context.Context, k job.Key, edit editJob) (_ job.Job, _ bool, err error) {
			sent, err = edit(nil)
			return daily(t, k), created, err
		}}
		got := send(api.New(f, api.Options{}), http.MethodPut, "/jobCollections/c1/jobs/j1", aBody)
		require.Equal(t, status, got.status)
		require.Equal(t, dailyJSON(defaultID, "c1", "j1"), got.body)
		require.Equal(t, "http://example.com/hook", sent.Action.Request.URI)
	}
}

func TestAPutMayLeaveOutTheSecretsThatAreStored(t *testing.T) {
	t.Parallel()
	const body = `{"properties": {"action": {"type": "Http", "request": {"uri": "http://example.com/", "method": "GET",
		"authentication": {"type": "Basic", "username": "u"}}}}}`
	stored := definition(t, strings.TrimSuffix(strings.TrimPrefix(strings.Replace(body, `"u"`, `"u", "password": "hush"`, 1), `{"properties": `), `}`)).Redacted()
	for _, tt := range []struct {
		name    string
		current *job.Job
		want    int
	}{
		{"of the job", &job.Job{Definition: stored}, http.StatusOK},
		{"but not those of a new job", nil, http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{putJob: func(_ context.Context, k job.Key, edit editJob) (job.Job, bool, error) {
				if tt.current != nil {
					tt.current.Key = k
				}
				_, err := edit(tt.current)
				return daily(t, k), false, err
			}}
			got := send(api.New(f, api.Options{}), http.MethodPut, "/jobCollections/c1/jobs/j1", body)
			require.Equal(t, tt.want, got.status, got.body)
		})
	}
}

func TestDefinitionsKeepTheLimitsTheCheckAndTheTimeOfTheOptions(t *testing.T) {
	t.Parallel()
	limits := input.DefaultLimits()
	limits.URIBytes = 10
	f := &fake{putJob: func(_ context.Context, k job.Key, edit editJob) (job.Job, bool, error) {
		_, err := edit(nil)
		return daily(t, k), true, err
	}}
	shortly, early := func() time.Time { return at("2028-12-01T00:00:00Z") }, func() time.Time { return at("2026-01-01T00:00:00Z") }
	for _, tt := range []struct {
		name    string
		options api.Options
		want    string
	}{
		{"limits", api.Options{Now: shortly, Limits: &limits}, "properties.action.request.uri"},
		{"check", api.Options{Now: shortly, CheckTarget: func(kind.Type, kind.Parameters) error { return errors.New("refused by the check") }}, "refused by the check"},
		{"time", api.Options{Now: early}, "properties.startTime"},
	} {
		got := send(api.New(f, tt.options), http.MethodPut, "/jobCollections/c1/jobs/j1", strings.Replace(aBody, `{"action"`,
			`{"startTime": "2029-01-01T00:00:00Z", "recurrence": {"frequency": "Day", "endTime": "2029-01-02T00:00:00Z"}, "action"`, 1))
		require.Equal(t, http.StatusBadRequest, got.status, tt.name)
		require.Contains(t, got.body, tt.want, tt.name)
	}
}

func TestPatchJobAnswersTheWholeJob(t *testing.T) {
	t.Parallel()
	var merged job.Definition
	f := &fake{patchJob: func(_ context.Context, k job.Key, edit editJob) (_ job.Job, err error) {
		current := daily(t, k)
		merged, err = edit(&current)
		return daily(t, k), err
	}}
	got := send(api.New(f, api.Options{}), http.MethodPatch, "/jobCollections/c1/jobs/j1", `{"properties": {"state": "Disabled"}}`)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, dailyJSON(defaultID, "c1", "j1"), got.body)
	want := daily(t, job.Key{}).Definition.Redacted()
	want.State = job.StateDisabled
	require.True(t, want.Equal(&merged), "%+v", merged)
}

func TestPostJobAnswers201WithWhereItIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, made, id, location string }{
		{"on a long path", group + "/jobCollections/c1/jobs?API-version=2016-01-01", "j1", group, "http://example.com" + group + "/jobCollections/c1/jobs/j1?api-version=2016-01-01"},
		{"on a short path", "/jobcollections/c1/jobs/", "j1", defaultID, "http://example.com/jobCollections/c1/jobs/j1"},
		{"with an api-version on a short path", "/jobCollections/c1/jobs?api-version=2016-03-01", "j1", defaultID, "http://example.com/jobCollections/c1/jobs/j1?api-version=2016-03-01"},
		{"under a name to escape", "/jobCollections/c1/jobs", "a b", defaultID, "http://example.com/jobCollections/c1/jobs/a%20b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := send(api.New(&fake{putJob: func(_ context.Context, k job.Key, edit editJob) (job.Job, bool, error) {
				require.NoError(t, uuid.Validate(k.Name))
				d, err := edit(nil)
				require.Equal(t, "http://example.com/hook", d.Action.Request.URI)
				return daily(t, k.Collection.Job(tt.made)), true, err
			}}, api.Options{}), http.MethodPost, tt.path, aBody)
			require.Equal(t, http.StatusCreated, got.status, got.body)
			require.Equal(t, dailyJSON(tt.id, "c1", tt.made), got.body)
			require.Equal(t, tt.location, got.header.Get("Location"))
		})
	}
}

func TestRunAndDeleteAnswerWithoutABody(t *testing.T) {
	t.Parallel()
	var got []string
	f := &fake{
		runJob:    func(_ context.Context, k job.Key) error { got = append(got, "run "+k.ARMID()); return nil },
		deleteJob: func(_ context.Context, k job.Key) error { got = append(got, "delete "+k.ARMID()); return nil },
	}
	h := api.New(f, api.Options{})
	for _, a := range []answer{
		send(h, http.MethodPost, group+"/jobCollections/c1/jobs/j1/run"+version, ""),
		send(h, http.MethodDelete, group+"/jobCollections/c1/jobs/j1"+version, ""),
	} {
		require.Equal(t, http.StatusOK, a.status)
		require.Empty(t, a.body)
		require.Empty(t, a.header.Get("Content-Type"))
	}
	require.Equal(t, []string{"run " + group + "/jobCollections/c1/jobs/j1", "delete " + group + "/jobCollections/c1/jobs/j1"}, got)
}

func TestARunIsAnsweredWithTheAddressOfTheExecution(t *testing.T) {
	t.Parallel()
	var asked []string
	h := api.New(&fake{
		runJob: func(context.Context, job.Key) error { return nil },
		rerunJob: func(_ context.Context, k job.Key, _ string) job.Rerun {
			return job.Rerun{Key: k, Status: job.RerunStarted, Execution: "64b1f0c1a2b3c-12"}
		},
		execution: func(_ context.Context, k job.Key, name string) (job.ExecutionStatus, error) {
			asked = append(asked, k.ARMID()+" "+name)
			return failedSoFar(k, name), nil
		},
	}, api.Options{})
	for _, request := range []string{
		group + "/jobCollections/c1/jobs/j%201/run" + version, group + "/jobCollections/c1/jobs/j%201/rerun" + version, "/jobCollections/c1/jobs/j%201/run",
	} {
		a := send(h, http.MethodPost, request, "")
		require.Equal(t, http.StatusOK, a.status)
		path, query, _ := strings.Cut(request, "?")
		want := "http://example.com" + path[:strings.LastIndexByte(path, '/')] + "/executions/64b1f0c1a2b3c-12"
		if query != "" {
			want += "?" + query
		}
		require.Equal(t, want, a.header.Get("Location"))
		require.Equal(t, http.StatusOK, send(h, http.MethodGet, strings.TrimPrefix(want, "http://example.com"), "").status)
	}
	require.Equal(t, []string{group + "/jobCollections/c1/jobs/j 1 64b1f0c1a2b3c-12", group + "/jobCollections/c1/jobs/j 1 64b1f0c1a2b3c-12"}, asked[:2])
}

func TestAnExecutionIsShownWithWhatComesNextAndItsEntries(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{execution: func(_ context.Context, k job.Key, name string) (job.ExecutionStatus, error) {
		if name != "1-2" {
			return job.ExecutionStatus{}, job.NotFound("jobcollections/c1/jobs/j1/executions/"+name, "g1")
		}
		return failedSoFar(k, name), nil
	}}, api.Options{})
	const id = group + "/jobCollections/c1/jobs/j1/executions/1-2"
	a := send(h, http.MethodGet, id+version, "")
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"id":"`+id+`","type":"Microsoft.Scheduler/jobCollections/jobs/executions","name":"c1/j1/1-2","properties":{
		"status":"waiting","reason":"The next attempt begins at 2026-01-01T00:00:30Z.","expectedExecutionTime":"2026-01-01T00:00:00Z","repeatCount":2,"actionName":"MainAction",
		"executionId":"e1","caller":"alice",
		"retry":{"execution":"1-2","actionName":"MainAction","attempt":2,"maxAttempts":5,"nextAttemptTime":"2026-01-01T00:00:30Z","lastError":{"message":"it failed","endTime":"2026-01-01T00:00:01Z"}},
		"history":[{"id":"`+group+`/jobCollections/c1/jobs/j1/history/2524608000000000000:09223372036854735806","type":"Microsoft.Scheduler/jobCollections/jobs/history",
			"name":"c1/j1/2524608000000000000:09223372036854735806","properties":{"startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-01T00:00:01Z","expectedExecutionTime":"2026-01-01T00:00:00Z",
			"status":"Failed","message":"it failed","retryCount":0,"repeatCount":2,"actionName":"MainAction","caller":"alice"}}]}}`,
		regexp.MustCompile(`[0-9]{20}:[0-9]{20}`).ReplaceAllString(a.body, "2524608000000000000:09223372036854735806"))
	a = send(h, http.MethodGet, group+"/jobCollections/c1/jobs/j1/executions/1-3"+version, "")
	require.Equal(t, http.StatusNotFound, a.status)
	require.Contains(t, a.body, "executions/1-3")
}

// failedSoFar returns an execution whose first attempt failed.
func failedSoFar(k job.Key, name string) job.ExecutionStatus {
	first := job.Execution{ID: "e1", Due: at("2026-01-01T00:00:00Z"), Repeat: 2, ActionName: job.MainAction, Caller: "alice"}
	end := at("2026-01-01T00:00:01Z")
	return job.ExecutionStatus{
		Key: k, Name: name, Stage: job.StageWaiting, Execution: first, Reason: "The next attempt begins at 2026-01-01T00:00:30Z.",
		Retry: &job.Retry{
			Execution: name, ActionName: job.MainAction, Attempt: 2, MaxAttempts: 5, NextAttemptTime: job.NewTime(at("2026-01-01T00:00:30Z")),
			LastError: &job.LastError{Message: "it failed", EndTime: job.NewTime(end)},
		},
		Records: []job.Record{{Execution: first, Attempt: job.Attempt{Number: 1, Start: first.Due, End: end, Outcome: job.OutcomeFailed, Message: "it failed"}}},
	}
}

func TestAJobThatFailedSoFarSaysSoAlsoWhileItIsDisabled(t *testing.T) {
	t.Parallel()
	for _, state := range []job.State{job.StateEnabled, job.StateDisabled} {
		h := api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
			j := daily(t, k)
			j.Definition.State = state
			p := failedSoFar(k, "1-2")
			j.Status.AddFailure(p.Retry.LastError, p.Retry)
			return j, nil
		}}, api.Options{})
		a := send(h, http.MethodGet, group+"/jobCollections/c1/jobs/j1"+version, "")
		require.Contains(t, a.body, `"retry":{"execution":"1-2","actionName":"MainAction","attempt":2,"maxAttempts":5,"nextAttemptTime":"2026-01-01T00:00:30Z"`, state)
		require.Contains(t, a.body, `"lastError":{"message":"it failed"`, state)
	}
}

func TestASkipNamesTheOccurrences(t *testing.T) {
	t.Parallel()
	var got []job.SkipRequest
	change := func(_ context.Context, k job.Key, r job.SkipRequest) (job.Job, error) {
		got = append(got, r)
		return daily(t, k), nil
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	h := api.New(&fake{skip: change, unskip: change}, api.Options{Now: func() time.Time { return now }})
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for _, word := range []string{"skip", "unskip"} {
		got = nil
		path := "/jobCollections/c1/jobs/j1/" + word
		a := send(h, http.MethodPost, group+path+version, "")
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, dailyJSON(group, "c1", "j1"), a.body)
		for _, good := range []string{"due=2026-01-02T00:00:00Z", "next=3", "from=2026-01-03&until=2026-01-05", "until=2026-01-02"} {
			require.Equal(t, http.StatusOK, send(h, http.MethodPost, group+path+version+"&"+good, "").status, good)
		}
		require.Equal(t, []job.SkipRequest{{}, {Due: day(2)}, {Next: 3}, {From: day(3), Until: day(5)}, {From: now, Until: day(2)}}, got)
		for _, bad := range []string{
			"due=", "due=soon", "due=2026-01-02T00:00:00Z&due=2026-01-02T00:00:00Z", "next=0", "next=101", "next=all", "from=2026-01-02", "until=2026-01-01",
			"from=2026-01-03&until=2026-01-02", "due=2026-01-02&next=1", "next=1&until=2026-01-02",
		} {
			require.Equal(t, http.StatusBadRequest, send(h, http.MethodPost, path+"?"+bad, "").status, bad)
		}
		require.Len(t, got, 5)
	}
}

func TestAJobThatIsEnabledOrDisabledIsTheAnswer(t *testing.T) {
	t.Parallel()
	f := &fake{setJobState: func(_ context.Context, k job.Key, state job.State) (job.Job, error) {
		j := daily(t, k)
		j.Definition.State = state
		return j, nil
	}}
	h := api.New(f, api.Options{})
	for word, state := range map[string]string{"enable": "enabled", "disable": "disabled"} {
		a := send(h, http.MethodPost, group+"/jobCollections/c1/jobs/j1/"+word+version, "")
		require.Equal(t, http.StatusOK, a.status)
		require.Contains(t, a.body, `"name":"c1/j1"`)
		require.Contains(t, a.body, `"state":"`+state+`"`)
	}
}

func TestJobsAreListedInTheOrderOfTheScheduler(t *testing.T) {
	t.Parallel()
	f := &fake{jobs: func(_ context.Context, k job.CollectionKey, _ listing.Page) ([]job.Job, string, error) {
		return []job.Job{daily(t, k.Job("b")), daily(t, k.Job("a"))}, "", nil
	}}
	require.Equal(t, `{"value":[`+dailyJSON(group, "c1", "b")+`,`+dailyJSON(group, "c1", "a")+`],"nextLink":null}`,
		get(f, group+"/jobCollections/c1/jobs"+version).body)
}

func TestWhatCouldNotBeReadIsListedWithoutAState(t *testing.T) {
	t.Parallel()
	f := &fake{
		jobs: func(_ context.Context, k job.CollectionKey, _ listing.Page) ([]job.Job, string, error) {
			return []job.Job{{Key: k.Job("a"), Unread: "it did not answer"}, daily(t, k.Job("b"))}, "", nil
		},
		collections: func(_ context.Context, s, group string, _ listing.Page) ([]job.Collection, string, error) {
			return []job.Collection{{Key: job.CollectionKey{Subscription: s, ResourceGroup: group, Name: "c1"}, Unread: "it did not answer"}}, "", nil
		},
	}
	const properties = `"properties":{"status":{"reason":"It could not be read: it did not answer."}}}`
	require.Equal(t, `{"value":[{"id":"`+group+`/jobCollections/c1/jobs/a","type":"Microsoft.Scheduler/jobCollections/jobs","name":"c1/a",`+properties+`,`+
		dailyJSON(group, "c1", "b")+`],"nextLink":null}`, get(f, group+"/jobCollections/c1/jobs"+version).body)
	require.Equal(t, `{"value":[{"id":"`+group+`/jobCollections/c1","type":"Microsoft.Scheduler/jobCollections","name":"c1",`+properties+`],"nextLink":null}`,
		get(f, group+"/jobCollections"+version).body)
}
