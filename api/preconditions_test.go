package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
)

// conditional sends a request with a header.
func conditional(h http.Handler, method, target, body, header, value string) answer {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set(header, value)
	return serve(h, r)
}

func TestPreconditionsHoldAsRFC9110Says(t *testing.T) {
	t.Parallel()
	const path = "/jobCollections/c/jobs/j"
	changed := 0
	j := daily(t, job.Key{Collection: job.CollectionKey{Name: "c"}, Name: "j"})
	j.Generation = 0x1a2b
	exists := true
	edit := func(edit editJob) (job.Job, error) {
		current := &j
		if !exists {
			current = nil
		}
		_, err := edit(current)
		if err == nil {
			changed++
		}
		return j, err
	}
	h := api.New(&fake{
		job: func(context.Context, job.Key) (job.Job, error) {
			if !exists {
				return job.Job{}, job.NotFound("it", "g")
			}
			return j, nil
		},
		putJob: func(_ context.Context, _ job.Key, change editJob) (job.Job, bool, error) {
			stored, err := edit(change)
			return stored, !exists, err
		},
		patchJob:  func(_ context.Context, _ job.Key, change editJob) (job.Job, error) { return edit(change) },
		deleteJob: func(context.Context, job.Key) error { changed++; return nil },
	}, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	tag := send(h, http.MethodGet, path, "").header.Get("ETag")
	require.Regexp(t, `^"1a2b-[0-9a-f]{16}"$`, tag)
	before := strings.Replace(tag, "1a2b-", "1a2a-", 1)
	ran := tag[:len(tag)-3] + `zz"` // the tag that it had before an execution

	for _, tt := range []struct {
		header, value string
		// the status of a GET, of a change of a job that exists, and of a PUT of one that does not
		read, change, creation int
	}{
		{"If-Match", tag, 200, 200, 412},
		{"If-Match", "*", 200, 200, 412},
		{"If-Match", `"x", ` + tag, 200, 200, 412},
		{"If-Match", ran, 412, 200, 412},
		{"If-Match", before, 412, 412, 412},
		{"If-Match", "W/" + tag, 412, 412, 412},
		{"If-Match", `"*"`, 412, 412, 412},
		{"If-None-Match", "*", 304, 412, 201},
		{"If-None-Match", tag, 304, 412, 201},
		{"If-None-Match", "W/" + tag, 304, 412, 201},
		{"If-None-Match", `"x",,W/"y" , ` + tag, 304, 412, 201},
		{"If-None-Match", ran, 200, 412, 201},
		{"If-None-Match", before, 200, 200, 201},
		{"If-Match", "1a2b", 400, 400, 400},
		{"If-Match", "", 400, 400, 400},
		{"If-Match", `"a" "b"`, 400, 400, 400},
		{"If-None-Match", `*, "a"`, 400, 400, 400},
	} {
		t.Run(tt.header+" "+tt.value, func(t *testing.T) {
			got := conditional(h, http.MethodGet, path, "", tt.header, tt.value)
			require.Equal(t, tt.read, got.status, got.body)
			require.Equal(t, tt.read == 304 || tt.read == 200, got.header.Get("ETag") == tag)
			require.Equal(t, tt.read == 304, got.body == "")
			require.Equal(t, tt.read, conditional(h, http.MethodHead, path, "", tt.header, tt.value).status)
			for method, body := range map[string]string{http.MethodPut: aBody, http.MethodPatch: "{}", http.MethodDelete: ""} {
				changed = 0
				got := conditional(h, method, path, body, tt.header, tt.value)
				require.Equal(t, tt.change, got.status, "%s: %s", method, got.body)
				require.Equal(t, tt.change == http.StatusOK, changed == 1, method)
			}
			exists = false
			defer func() { exists = true }()
			require.Equal(t, tt.creation, conditional(h, http.MethodPut, path, aBody, tt.header, tt.value).status)
			if tt.creation != http.StatusBadRequest {
				require.Equal(t, http.StatusNotFound, conditional(h, http.MethodGet, path, "", tt.header, tt.value).status)
				require.Equal(t, http.StatusNotFound, conditional(h, http.MethodDelete, path, "", tt.header, tt.value).status)
			}
		})
	}
	require.Equal(t, `{"error":{"code":"PreconditionFailed","message":"If-Match does not hold: the resource was changed since it had that entity tag. `+
		`Nothing was changed: read it, and try again with its ETag."}}`, conditional(h, http.MethodPut, path, "not even JSON", "If-Match", before).body)
	require.Equal(t, `{"error":{"code":"BadRequest","message":"The headers are not valid: If-Match: \"1a2b\" is not valid; allowed: *, or the values of ETag headers with their quotes, such as \"1a-2b\"",`+
		`"details":[{"code":"Invalid","target":"If-Match","message":"If-Match: \"1a2b\" is not valid; allowed: *, or the values of ETag headers with their quotes, such as \"1a-2b\""}]}}`,
		conditional(h, http.MethodPut, path, aBody, "If-Match", "1a2b").body)
}

func TestTheEntityTagChangesWithAllThatIsShown(t *testing.T) {
	t.Parallel()
	j := daily(t, job.Key{Collection: job.CollectionKey{Name: "c"}, Name: "j"})
	h := api.New(&fake{job: func(context.Context, job.Key) (job.Job, error) { return j, nil }}, api.Options{})
	tag := func() string { return send(h, http.MethodGet, "/jobCollections/c/jobs/j", "").header.Get("ETag") }
	first := tag()
	require.Equal(t, first, tag())
	j.Status.ExecutionCount++
	ran := tag()
	require.NotEqual(t, first, ran)
	require.Equal(t, strings.Split(first, "-")[0], strings.Split(ran, "-")[0], "what users write is the same")
}

func TestACollectionIsChangedOnlyIfItsPreconditionsHold(t *testing.T) {
	t.Parallel()
	c := standard(job.CollectionKey{Name: "c"})
	c.Generation = 7
	exists := true
	h := api.New(&fake{
		collection: func(context.Context, job.CollectionKey) (job.Collection, error) {
			if !exists {
				return job.Collection{}, job.NotFound("it", "g")
			}
			return c, nil
		},
		putCollection: func(context.Context, job.Collection) (job.Collection, bool, error) { return c, !exists, nil },
		patchCollection: func(_ context.Context, _ job.CollectionKey, edit editCollection) (job.Collection, error) {
			return edit(c)
		},
		change: func(context.Context, string, job.CollectionKey) (*job.Operation, error) { return nil, nil },
	}, api.Options{})
	const path, body = "/jobCollections/c", `{"properties":{"sku":{"name":"Standard"}}}`
	tag := send(h, http.MethodGet, path, "").header.Get("ETag")
	require.Regexp(t, `^"7-[0-9a-f]{16}"$`, tag)
	require.Equal(t, http.StatusNotModified, conditional(h, http.MethodGet, path, "", "If-None-Match", tag).status)
	for method, body := range map[string]string{http.MethodPut: body, http.MethodPatch: "{}", http.MethodDelete: ""} {
		require.Equal(t, http.StatusOK, conditional(h, method, path, body, "If-Match", tag).status, method)
		require.Equal(t, http.StatusPreconditionFailed, conditional(h, method, path, body, "If-Match", `"6-0"`).status, method)
		require.Equal(t, http.StatusPreconditionFailed, conditional(h, method, path, body, "If-None-Match", "*").status, method)
	}
	exists = false
	require.Equal(t, http.StatusCreated, conditional(h, http.MethodPut, path, body, "If-None-Match", "*").status)
	require.Equal(t, http.StatusPreconditionFailed, conditional(h, http.MethodPut, path, body, "If-Match", "*").status)
}
