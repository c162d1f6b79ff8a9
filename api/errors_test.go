package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/preview"
	daysoff "almanac/recurrence/calendars"
)

func failing(err error) *fake {
	return &fake{job: func(context.Context, job.Key) (job.Job, error) { return job.Job{}, err }}
}

const jobPath = "/jobCollections/c/jobs/j"

func TestKindsOfFailureHaveTheirStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		status int
		body   string
	}{
		{
			"input with bad fields",
			&job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: "The job is not valid", Fields: []*job.FieldError{
				{Path: "properties.recurrence.interval", Code: fields.OutOfRange, Value: 0, Allowed: "1 or more"}, {Path: "properties.action", Code: fields.Required, Allowed: "an object"},
			}},
			http.StatusBadRequest,
			`{"error":{"code":"BadRequest","message":"The job is not valid (2 fields are wrong): properties.recurrence.interval: 0 is out of range; allowed: 1 or more; also properties.action",` +
				`"details":[{"code":"OutOfRange","target":"properties.recurrence.interval","message":"properties.recurrence.interval: 0 is out of range; allowed: 1 or more"},` +
				`{"code":"Required","target":"properties.action","message":"properties.action: required; allowed: an object"}]}}`,
		},
		{
			"missing", job.NotFound("jobcollections/X", "Y"), http.StatusNotFound,
			`{"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.Scheduler/jobcollections/X' under resource group 'Y' was not found."}}`,
		},
		{
			"conflict", job.Conflictf("the quota of %d jobs is used up", 5), http.StatusConflict,
			`{"error":{"code":"ConflictError","message":"the quota of 5 jobs is used up"}}`,
		},
		{
			"too large", &job.Error{Kind: job.KindTooLarge, Code: "Big", Message: "too big"}, http.StatusRequestEntityTooLarge,
			`{"error":{"code":"Big","message":"too big"}}`,
		},
		{
			"unavailable", &job.Error{Kind: job.KindUnavailable, Code: "ServiceUnavailable", Message: "no worker", Err: errors.New("10.0.0.7: refused")},
			http.StatusServiceUnavailable, `{"error":{"code":"ServiceUnavailable","message":"no worker"}}`,
		},
		{
			"wrapped", fmt.Errorf("put: %w", job.Conflictf("a < b & c")), http.StatusConflict,
			`{"error":{"code":"ConflictError","message":"a < b & c"}}`,
		},
		{"internal", &job.Error{Message: "hush", Err: errors.New("hush")}, http.StatusInternalServerError, internalBody},
		{"of no kind", errors.New("hush"), http.StatusInternalServerError, internalBody},
		{"of an unknown kind", &job.Error{Kind: 99, Message: "hush"}, http.StatusInternalServerError, internalBody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := get(failing(tt.err), jobPath)
			require.Equal(t, tt.status, got.status)
			require.Equal(t, tt.body, got.body)
			require.Equal(t, jsonContent, got.header.Get("Content-Type"))
			require.Equal(t, tt.status == http.StatusServiceUnavailable, got.header.Get("Retry-After") == "2")
		})
	}
}

const internalBody = `{"error":{"code":"InternalServerError","message":"Almanac could not process the request. Its log says why, under the ID in the header x-ms-request-id."}}`

func TestInternalErrorsAreLoggedOnceWithTheirCauseAndRequest(t *testing.T) {
	t.Parallel()
	o, log := logged()
	err := fmt.Errorf("reading: %w", &job.Error{Message: "internal error", Err: errors.New("payload of 3 bytes")})
	got := send(api.New(failing(err), o), http.MethodGet, jobPath, "")
	require.Equal(t, internalBody, got.body)
	require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"))
	require.Contains(t, log.String(), `msg="request failed" error="reading: internal error" cause="payload of 3 bytes" request=`+got.header.Get("X-Ms-Request-Id"))
}

func TestFailuresOfTheCallerAreNotLoggedAsErrors(t *testing.T) {
	t.Parallel()
	o, log := logged()
	send(api.New(failing(job.Conflictf("no")), o), http.MethodGet, jobPath, "")
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log)
	require.Contains(t, log.String(), "level=INFO")
}

func TestEveryCallReportsItsFailure(t *testing.T) {
	t.Parallel()
	err := job.Conflictf("no")
	h := api.New(&fake{
		putCollection: func(context.Context, job.Collection) (job.Collection, bool, error) {
			return job.Collection{}, true, err
		},
		patchCollection: func(context.Context, job.CollectionKey, editCollection) (job.Collection, error) {
			return job.Collection{}, err
		},
		collection: func(context.Context, job.CollectionKey) (job.Collection, error) { return job.Collection{}, err },
		change: func(context.Context, string, job.CollectionKey) (*job.Operation, error) {
			return &job.Operation{ID: "o"}, err
		},
		operation: func(context.Context, job.CollectionKey, string) (job.Operation, error) {
			return job.Operation{Done: true}, err
		},
		collections: func(context.Context, string, string, listing.Page) ([]job.Collection, string, error) {
			return nil, "x", err
		},
		putJob:         func(context.Context, job.Key, editJob) (job.Job, bool, error) { return job.Job{}, true, err },
		patchJob:       func(context.Context, job.Key, editJob) (job.Job, error) { return job.Job{}, err },
		job:            func(context.Context, job.Key) (job.Job, error) { return job.Job{}, err },
		deleteJob:      func(context.Context, job.Key) error { return err },
		runJob:         func(context.Context, job.Key) error { return err },
		skip:           func(context.Context, job.Key, job.SkipRequest) (job.Job, error) { return job.Job{}, err },
		backfill:       func(context.Context, job.Key, job.BackfillRequest) (job.Job, error) { return job.Job{}, err },
		changeBackfill: func(context.Context, job.Key, string, job.BackfillAction) (job.Job, error) { return job.Job{}, err },
		calendarUses:   func(job.CollectionKey, *job.Recurrence) ([]daysoff.Use, error) { return nil, err },
		previewBackfill: func(context.Context, job.Key, job.BackfillRequest) (job.BackfillPreview, error) {
			return job.BackfillPreview{}, err
		},
		previewCollection: func(context.Context, job.CollectionKey, job.CollectionState, job.Promise) (preview.HeldOfCollection, error) {
			return preview.HeldOfCollection{}, err
		},
		previewState: func(context.Context, job.Key, job.State, job.Promise) (preview.Held, error) {
			return preview.Held{}, err
		},
		unskip:      func(context.Context, job.Key, job.SkipRequest) (job.Job, error) { return job.Job{}, err },
		setJobState: func(context.Context, job.Key, job.State) (job.Job, error) { return job.Job{}, err },
		jobs: func(context.Context, job.CollectionKey, listing.Page) ([]job.Job, string, error) {
			return nil, "x", err
		},
		history: func(context.Context, job.Key, listing.Page) ([]job.Record, string, error) { return nil, "x", err },
	}, api.Options{})
	for _, call := range []string{
		"GET /jobCollections", "GET /jobCollections/c", "PUT /jobCollections/c", "PATCH /jobCollections/c", "DELETE /jobCollections/c",
		"POST /jobCollections/c/enable", "POST /jobCollections/c/disable", "GET /jobCollections/c/operations/o", "GET /jobCollections/c/operationResults/o",
		"GET /jobCollections/c/jobs", "POST /jobCollections/c/jobs",
		"GET /jobCollections/c/jobs/j", "PUT /jobCollections/c/jobs/j", "PATCH /jobCollections/c/jobs/j", "DELETE /jobCollections/c/jobs/j",
		"POST /jobCollections/c/jobs/j/run", "POST /jobCollections/c/jobs/j/skip", "POST /jobCollections/c/jobs/j/enable", "POST /jobCollections/c/jobs/j/disable", "GET /jobCollections/c/jobs/j/history",
	} {
		method, path, _ := strings.Cut(call, " ")
		body := `{"properties":{"sku":{"name":"Free"}}}`
		if method != http.MethodPut && method != http.MethodPatch && !strings.HasSuffix(call, "POST /jobCollections/c/jobs") {
			body = ""
		}
		got := send(h, method, path, body)
		require.Equal(t, http.StatusConflict, got.status, call)
		require.Equal(t, `{"error":{"code":"ConflictError","message":"no"}}`, got.body, call)
		require.Empty(t, got.header.Get("Location"), call)
	}
}

func TestPanicIsAnswered500AndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	o, log := logged()
	panics := true
	h := api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
		if panics {
			panic("the cat sat on it")
		}
		return daily(t, k), nil
	}}, o)
	got := send(h, http.MethodGet, jobPath, "")
	require.Equal(t, http.StatusInternalServerError, got.status)
	require.Equal(t, internalBody, got.body)
	require.Contains(t, log.String(), `msg="handler panicked" panic="the cat sat on it" stack="goroutine`)
	require.Contains(t, log.String(), `msg="request answered" method=GET path=/jobCollections/c/jobs/j status=500`)

	panics = false
	require.Equal(t, http.StatusOK, send(h, http.MethodGet, jobPath, "").status)
}

func TestAbortReachesTheServer(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{job: func(context.Context, job.Key) (job.Job, error) { panic(http.ErrAbortHandler) }}, api.Options{})
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { send(h, http.MethodGet, jobPath, "") })
}

func TestAChangeOfWhichNothingWasSentSaysSo(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{
		deleteJob: func(context.Context, job.Key) error {
			return &job.Error{Kind: job.KindUnavailable, Code: "ServiceUnavailable", Message: "Temporal does not answer.", Unanswered: true, Unchanged: true}
		},
	}, api.Options{})
	got := send(h, http.MethodDelete, jobPath, "")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Equal(t, "2", got.header.Get("Retry-After"))
	require.Equal(t, `{"error":{"code":"ServiceUnavailable","message":"Temporal does not answer. Nothing was changed. Try again."}}`, got.body)
}

func TestRequestThatTakesTooLongIsAnswered503(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{
		job: func(ctx context.Context, _ job.Key) (job.Job, error) {
			<-ctx.Done()
			return job.Job{}, fmt.Errorf("asking: %w", ctx.Err())
		},
		deleteJob: func(ctx context.Context, _ job.Key) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}, api.Options{Timeout: time.Millisecond})
	for method, then := range map[string]string{
		http.MethodGet:    "Try again.",
		http.MethodDelete: "A change may or may not have been applied: check before you try again.",
	} {
		got := send(h, method, jobPath, "")
		require.Equal(t, http.StatusServiceUnavailable, got.status)
		require.Equal(t, "2", got.header.Get("Retry-After"))
		require.Equal(t, `{"error":{"code":"ServiceUnavailable","message":"There was no answer within 1ms. `+then+`"}}`, got.body)
	}
}

func TestSchedulersOwnVerdictOutlivesTheDeadline(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{job: func(ctx context.Context, _ job.Key) (job.Job, error) {
		<-ctx.Done()
		return job.Job{}, job.Conflictf("too late")
	}}, api.Options{Timeout: time.Millisecond})
	require.Equal(t, http.StatusConflict, send(h, http.MethodGet, jobPath, "").status)
}

func TestClientThatWentAwayIsNoErrorOfOurs(t *testing.T) {
	t.Parallel()
	o, log := logged()
	ctx, hangUp := context.WithCancel(t.Context())
	h := api.New(&fake{job: func(ctx context.Context, _ job.Key) (job.Job, error) {
		hangUp()
		<-ctx.Done()
		return job.Job{}, ctx.Err()
	}}, o)
	serve(h, httptest.NewRequestWithContext(ctx, http.MethodGet, jobPath, nil))
	require.Contains(t, log.String(), "status=499")
	require.NotContains(t, log.String(), "level=ERROR")
}

func TestBodyAboveTheLimitIsAnswered413(t *testing.T) {
	t.Parallel()
	taken := false
	f := &fake{
		putJob: func(_ context.Context, k job.Key, _ editJob) (job.Job, bool, error) {
			taken = true
			return daily(t, k), true, nil
		},
	}
	for _, tt := range []struct {
		name    string
		options api.Options
		size    int
		want    int
	}{
		{"at the default limit", api.Options{}, 64 << 10, http.StatusCreated},
		{"above the default limit", api.Options{}, 64<<10 + 1, http.StatusRequestEntityTooLarge},
		{"far above it", api.Options{}, 10 << 20, http.StatusRequestEntityTooLarge},
		{"above a limit of one's own", api.Options{MaxBodyBytes: 10}, 11, http.StatusRequestEntityTooLarge},
	} {
		taken = false
		got := send(api.New(f, tt.options), http.MethodPut, jobPath, strings.Repeat(" ", tt.size))
		require.Equal(t, tt.want, got.status, tt.name)
		if tt.want == http.StatusCreated {
			require.True(t, taken, tt.name)
			continue
		}
		require.False(t, taken, tt.name)
		limit := max(tt.options.MaxBodyBytes, 10)
		if tt.options.MaxBodyBytes == 0 {
			limit = 65536
		}
		require.Equal(t, fmt.Sprintf(`{"error":{"code":"RequestEntityTooLarge","message":"The body is larger than %d bytes, which is the limit."}}`, limit), got.body)
	}
}

func TestBodyThatBreaksOffIsAnswered400(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPut, jobPath, io.MultiReader(strings.NewReader(`{"prop`), brokenReader{}))
	got := serve(api.New(&fake{}, api.Options{}), r)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Equal(t, `{"error":{"code":"BadRequest","message":"The body could not be read to its end."}}`, got.body)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestMalformedBodiesReachNobody(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{putJob: func(_ context.Context, _ job.Key, edit editJob) (job.Job, bool, error) {
		_, err := edit(nil)
		return job.Job{}, true, err
	}}, api.Options{})
	for _, body := range []string{
		"", " ", "{", "null", "[]", `"text"`, "1", `{"properties":`, `{"properties":{}} {}`, `{"properties":[]}`, "\xff\xfe{\x00}\x00",
		`{"properties":{"action":{"type":"Http"}}}`, strings.Repeat("[", 10_000), strings.Repeat(`{"a":`, 3000), "<xml/>", strings.Repeat("x", 20_000),
	} {
		for _, contentType := range []string{"", "application/json", "application/json; charset=utf-8", "text/json", "nonsense/;;"} {
			r := httptest.NewRequest(http.MethodPut, jobPath, bytes.NewReader([]byte(body)))
			r.Header.Set("Content-Type", contentType)
			got := serve(h, r)
			require.Equal(t, http.StatusBadRequest, got.status, "%.40q: %s", body, got.body)
			require.True(t, strings.HasPrefix(got.body, `{"error":{"code":"BadRequest","message":"`), got.body)
		}
	}
}

func TestMalformedBodyIsShownWhereItBreaks(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{putJob: func(_ context.Context, _ job.Key, edit editJob) (job.Job, bool, error) {
		_, err := edit(nil)
		return job.Job{}, true, err
	}}, api.Options{})
	got := send(h, http.MethodPost, "/jobCollections/c/jobs", "{\n  \"properties\": {,}\n}")
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.body, `{"error":{"code":"BadRequest","message":"The body is not valid JSON at line 2, column 18: `)
}

func TestEncodedBodiesAreRefusedRatherThanMisread(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{putJob: func(_ context.Context, k job.Key, _ editJob) (job.Job, bool, error) { return daily(t, k), true, nil }}, api.Options{})
	put := func(encodings ...string) answer {
		r := httptest.NewRequest(http.MethodPut, jobPath, strings.NewReader("{}"))
		r.Header["Content-Encoding"] = encodings
		return serve(h, r)
	}
	for _, taken := range [][]string{nil, {""}, {"identity"}, {"Identity"}} {
		require.Equal(t, http.StatusCreated, put(taken...).status, taken)
	}
	got := put("gzip", "br")
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Equal(t, `{"error":{"code":"BadRequest","message":"The body has the Content-Encoding \"gzip, br\"; send it without one."}}`, got.body)
}

func TestBodiesOfAnyContentTypeAreTaken(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{putJob: func(_ context.Context, k job.Key, _ editJob) (job.Job, bool, error) { return daily(t, k), true, nil }}, api.Options{})
	for _, contentType := range []string{"", "application/json", "application/json;charset=UTF-8", "text/json", "text/plain"} {
		r := httptest.NewRequest(http.MethodPut, jobPath, strings.NewReader("{}"))
		r.Header.Set("Content-Type", contentType)
		require.Equal(t, http.StatusCreated, serve(h, r).status, contentType)
	}
}
