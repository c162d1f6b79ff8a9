package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/preview"
)

// suffix makes the names of the later of many jobs long, and hard to compress.
func suffix(i int) string {
	if i < 250 {
		return ""
	}
	sum := sha256.Sum256(fmt.Append(nil, i))
	return fmt.Sprintf("-%x", sum[:20])
}

// many is a scheduler with n jobs that are enabled, and that records which of them are changed.
func many(n int) (f *fake, changed *[]string) {
	changed = new([]string)
	return &fake{
		selects: func(_ context.Context, k job.CollectionKey, _ listing.SummaryQuery, names []string) ([]listing.Summary, []string, error) {
			all := make([]listing.Summary, n)
			for i := range all {
				all[i] = listing.Summary{Key: k.Job(fmt.Sprintf("job%03d", i) + suffix(i)), State: job.StateEnabled, Generation: 1000 + i, Next: at("2026-01-02T00:00:00Z")}
			}
			return all, names, nil
		},
		bulk: func(_ context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, _ string) (all []job.BulkResult) {
			for _, j := range jobs {
				*changed = append(*changed, fmt.Sprint(action, " ", j.Name, " ", j.Generation, " ", j.Due.Unix()))
				all = append(all, job.BulkResult{Key: k.Job(j.Name), Status: job.BulkDone})
			}
			return all
		},
		beginBulk: func(_ context.Context, _ job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string) (job.Operation, error) {
			for _, j := range jobs {
				*changed = append(*changed, fmt.Sprint(action, " ", j.Name, " ", j.Generation, " ", j.Due.Unix()))
			}
			return job.Operation{ID: "bulk." + request}, nil
		},
	}, changed
}

// selection returns the selection of a preview.
func selection(t *testing.T, h http.Handler, question string) string {
	t.Helper()
	got := send(h, http.MethodPost, "/jobCollections/c/bulkPreview", question)
	require.Equal(t, http.StatusOK, got.status, got.body)
	var answered struct{ Selection string }
	require.NoError(t, json.Unmarshal([]byte(got.body), &answered))
	return answered.Selection
}

func TestASelectionIsChangedPageByPage(t *testing.T) {
	t.Parallel()
	f, changed := many(200)
	h := api.New(f, api.Options{})
	body := `{"selection":"` + selection(t, h, `{"action":"skip","search":"job"}`) + `"}`
	for _, tt := range []struct {
		query string
		all   int
		next  string
	}{
		{"", 100, `"nextLink":"http://example.com/jobCollections/c/bulkSkip?$skiptoken=100"`},
		{"?$skiptoken=100", 200, `"nextLink":null`},
	} {
		got := send(h, http.MethodPost, "/jobCollections/c/bulkSkip"+tt.query, body)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.Contains(t, got.body, tt.next)
		require.Len(t, *changed, tt.all)
	}
	require.Equal(t, fmt.Sprint("skip job199 1199 ", at("2026-01-02T00:00:00Z").Unix()), (*changed)[199])
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodPost, "/jobCollections/c/bulkSkip?$skiptoken=200", body).status)
	require.Len(t, *changed, 200)
}

func TestASelectionHasRoomForAThousandJobs(t *testing.T) {
	t.Parallel()
	f, changed := many(job.MaxBulk)
	h := api.New(f, api.Options{})
	text := selection(t, h, `{"action":"delete","filter":"state eq enabled"}`)
	require.Greater(t, len(text), 24<<10, "more than a job may have")
	require.Less(t, len(text), 48<<10)
	got := send(h, http.MethodPost, "/jobCollections/c/bulkDelete", `{"selection":"`+text+`"}`)
	require.Equal(t, http.StatusAccepted, got.status, got.body)
	require.Contains(t, got.header.Get("Location"), "/jobCollections/c/bulkResults/bulk.")
	require.Contains(t, fmt.Sprint(got.header), "/jobCollections/c/operations/bulk.", "Azure-AsyncOperation")
	require.Len(t, *changed, job.MaxBulk)
	require.Equal(t, "delete job000 1000 -62135596800", (*changed)[0])
}

func TestWhatNoPreviewSelectedIsNotChanged(t *testing.T) {
	t.Parallel()
	f, changed := many(3)
	h := api.New(f, api.Options{})
	run := selection(t, h, `{"action":"run","names":["a"]}`)
	for _, body := range []string{``, `{}`, `{"selection":""}`, `{"selection":"x"}`, `{"selection":"!"}`, `{"selection":"` + run + `"}`, `{"selection":1}`, `{"names":["a"]}`} {
		got := send(h, http.MethodPost, "/jobCollections/c/bulkDelete", body)
		require.Equal(t, http.StatusBadRequest, got.status, body)
	}
	require.Empty(t, *changed)
	for _, question := range []string{
		`{}`, `{"action":"stop","names":["a"]}`, `{"action":"run"}`, `{"action":"run","names":["a"],"search":"b"}`, `{"action":"run","filter":"size eq 1"}`,
		`{"action":"run","names":[]}`, `{"action":"run","name":["a"]}`,
	} {
		require.Equal(t, http.StatusBadRequest, send(h, http.MethodPost, "/jobCollections/c/bulkPreview", question).status, question)
	}
}

func TestAPreviewOfABulkChangeSaysWhatItWouldDo(t *testing.T) {
	t.Parallel()
	k := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}
	one := func(name string, s listing.Summary) listing.Summary {
		s.Key = k.Job(name)
		return s
	}
	jobs := []listing.Summary{
		one("a", listing.Summary{State: job.StateDisabled, Generation: 1}),
		one("b", listing.Summary{State: job.StateDisabled, Generation: 2, RunsOnEnable: true}),
		one("c", listing.Summary{State: job.StateEnabled, Generation: 3, Next: at("2026-01-02T00:00:00Z"), LastRan: job.OutcomeFailed}),
		one("d", listing.Summary{State: job.StateCompleted, Generation: 4}),
		one("e", listing.Summary{Unread: "broken"}),
	}
	f := &fake{selects: func(context.Context, job.CollectionKey, listing.SummaryQuery, []string) ([]listing.Summary, []string, error) {
		return jobs, nil, nil
	}}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	for action, want := range map[string]string{
		"enable":  "b changes at once, a changes, c unchanged, d refused, e refused",
		"disable": "a unchanged, b unchanged, c changes, d refused, e refused",
		"run":     "a changes, b changes, c changes, d changes, e refused",
		"skip":    "a unchanged, b unchanged, c changes, d unchanged, e refused",
		"rerun":   "a unchanged, b unchanged, c changes, d unchanged, e refused",
		"delete":  "a changes, b changes, c changes, d changes, e refused",
	} {
		got := send(h, http.MethodPost, "/jobCollections/c/bulkPreview", `{"action":"`+action+`","names":["a"]}`)
		require.Equal(t, http.StatusOK, got.status, got.body)
		var answered struct {
			Jobs []struct {
				Name, Effect string
				RunsAtOnce   bool
			}
			Changes int
		}
		require.NoError(t, json.Unmarshal([]byte(got.body), &answered))
		text, changes := "", 0
		for i, j := range answered.Jobs {
			if i > 0 {
				text += ", "
			}
			text += j.Name[2:] + " " + j.Effect
			if j.RunsAtOnce {
				text += " at once"
			}
			if j.Effect == "changes" {
				changes++
			}
		}
		require.Equal(t, want, text, action)
		require.Equal(t, changes, answered.Changes, action)
	}
}

func TestABulkPauseLeavesDisabledJobsAlone(t *testing.T) {
	t.Parallel()
	k := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}
	until := at("2026-01-05T06:00:00Z")
	var jobs []listing.Summary
	for i, d := range []*job.Disabling{
		nil, {By: "eve"}, {Promise: job.Promise{Note: "why"}}, {Promise: job.Promise{Until: until, Recover: job.RecoverLatest}},
		{Promise: job.Promise{Until: until.Add(time.Hour)}},
	} {
		jobs = append(jobs, listing.Summary{Key: k.Job(string(rune('a' + i))), State: job.StateDisabled, Generation: 1, DisabledBy: d})
	}
	f := &fake{selects: func(context.Context, job.CollectionKey, listing.SummaryQuery, []string) ([]listing.Summary, []string, error) {
		return jobs, nil, nil
	}}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	got := send(h, http.MethodPost, "/jobCollections/c/bulkPreview",
		`{"action":"disable","names":["a"],"until":"2026-01-05T06:00:00Z","recover":"latest"}`)
	require.Equal(t, http.StatusOK, got.status, got.body)
	var answered struct {
		Jobs []struct{ Name, Effect, Reason string }
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &answered))
	for i, want := range []string{
		"unchanged It is disabled already, and stays so.", "unchanged It is disabled already, and stays so.",
		"unchanged It is disabled already, and stays so.", "unchanged It is disabled already.", "changes ",
	} {
		require.Equal(t, want, answered.Jobs[i].Effect+" "+answered.Jobs[i].Reason, answered.Jobs[i].Name)
	}
}

func TestAPreviewOfAPauseOfManyJobsSaysWhatItHolds(t *testing.T) {
	t.Parallel()
	f, _ := many(300)
	var asked []job.Promise
	f.previewState = func(_ context.Context, k job.Key, s job.State, p job.Promise) (preview.Held, error) {
		require.Equal(t, job.StateDisabled, s)
		asked = append(asked, p)
		if k.Name == "job001" {
			return preview.Held{}, job.NotFound("x", "y")
		}
		return preview.Held{Count: 3, Runs: 1, AtOnce: 1, Occurrences: []preview.HeldOccurrence{{Due: at("2026-01-02T00:00:00Z")}, {Due: at("2026-01-03T00:00:00Z"), Runs: true}}}, nil
	}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	got := send(h, http.MethodPost, "/jobCollections/c/bulkPreview", `{"action":"disable","names":["a"],"until":"2026-01-05T00:00:00Z","recover":"latest","held":true}`)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Len(t, asked, 300, "of all jobs that change")
	require.Equal(t, job.RecoverLatest, asked[0].Recover)
	const one = `"held":{"held":3,"runs":1,"leftOut":2,"atOnce":1,"occurrences":[{"expectedExecutionTime":"2026-01-02T00:00:00Z","runs":false}]}`
	require.Equal(t, 299, strings.Count(got.body, one), "none of the one that did not answer")
	got = send(h, http.MethodPost, "/jobCollections/c/bulkPreview", `{"action":"disable","names":["a"]}`)
	require.NotContains(t, got.body, `"held"`)
	require.Len(t, asked, 300)
	send(h, http.MethodPost, "/jobCollections/c/bulkPreview", `{"action":"disable","names":["a"],"held":true}`)
	require.Equal(t, job.RecoverNone, asked[300].Recover, "what does not run")
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodPost, "/jobCollections/c/bulkPreview", `{"action":"run","names":["a"],"held":true}`).status)
}

func TestAPreviewOfEnablingManyJobsSaysWhichRunAtOnce(t *testing.T) {
	t.Parallel()
	k := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}
	paused := func(r job.Recover) *job.Disabling {
		return &job.Disabling{Promise: job.Promise{Until: at("2026-01-05T06:00:00Z"), Recover: r}}
	}
	jobs := map[string]listing.Summary{
		"plain": {DisabledBy: &job.Disabling{}, DueSinceDisabled: true}, "unknown": {DueSinceDisabled: true},
		"paused": {DisabledBy: paused(""), DueSinceDisabled: true}, "all": {DisabledBy: paused(job.RecoverAll), DueSinceDisabled: true},
		"nothing due": {DisabledBy: paused(job.RecoverAll)}, "once": {RunsOnEnable: true, DueSinceDisabled: true},
		"once paused": {DisabledBy: paused(""), RunsOnEnable: true, DueSinceDisabled: true},
	}
	f := &fake{selects: func(context.Context, job.CollectionKey, listing.SummaryQuery, []string) (all []listing.Summary, _ []string, _ error) {
		for name, s := range jobs {
			s.Key, s.State, s.Generation = k.Job(name), job.StateDisabled, 1
			all = append(all, s)
		}
		return all, nil, nil
	}}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	for question, want := range map[string][]string{
		``:                    {"c/all", "c/once"},
		`,"recover":"none"`:   {},
		`,"recover":"latest"`: {"c/all", "c/once", "c/once paused", "c/paused", "c/plain", "c/unknown"},
		`,"atOnce":4`:         {"c/all", "c/once"},
	} {
		got := send(h, http.MethodPost, "/jobCollections/c/bulkPreview", `{"action":"enable","names":["a"]`+question+`}`)
		require.Equal(t, http.StatusOK, got.status, got.body)
		var answered struct {
			Jobs []struct {
				Name       string
				RunsAtOnce bool
			}
			RunAtOnce int
		}
		require.NoError(t, json.Unmarshal([]byte(got.body), &answered))
		atOnce := []string{}
		for _, j := range answered.Jobs {
			if j.RunsAtOnce {
				atOnce = append(atOnce, j.Name)
			}
		}
		require.ElementsMatch(t, want, atOnce, question)
		require.Len(t, want, answered.RunAtOnce)
	}
}
