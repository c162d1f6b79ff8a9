package wanted_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/internal/apitest"
	"almanac/internal/wanted"
	"almanac/job"
)

// bodies has the bodies of PUTs from now on.
func bodies(t *testing.T, c *counter) *[]string {
	t.Helper()
	all := new([]string)
	c.before = func(r *http.Request) {
		if r.Method != http.MethodPut {
			return
		}
		body, err := r.GetBody()
		require.NoError(t, err)
		text, err := io.ReadAll(body)
		require.NoError(t, err)
		*all = append(*all, string(text))
	}
	return all
}

const withPassword = "action: {type: Http, request: {uri: 'http://example.com/', authentication: {type: Basic, username: u, password: "

func TestAnApplySaysHowManyJobsItSends(t *testing.T) {
	t.Parallel()
	c, counts := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{"a/j.yaml": withPassword + "{$env: PASSWORD}}}}\n", "a/k.yaml": daily})
	s := &wanted.Secrets{Getenv: func(string) (string, bool) { return "first", true }}
	p := planned(t, c, dir)
	require.Equal(t, 2, p.Sends())
	applied(t, p, s)
	p = planned(t, c, dir)
	require.False(t, p.Changed())
	require.Equal(t, 1, p.Sends(), "the secret is sent again")
	sent := bodies(t, counts)
	applied(t, p, s)
	require.Len(t, *sent, 1)
	require.Zero(t, planned(t, c, files(t, map[string]string{"a/k.yaml": daily})).Sends())
}

func TestASecretInAFileIsRefusedByAPlanOrSentAgain(t *testing.T) {
	t.Parallel()
	c, counts := serving(t, &apitest.Memory{})
	load := func(password string) wanted.Directory {
		d, err := wanted.Load(files(t, map[string]string{"a/j.yaml": withPassword + password + "}}}\n"}), nil, "")
		require.NoError(t, err)
		return d
	}
	options := wanted.Options{Client: c, Previews: -1, Literal: true}
	p, err := wanted.New(t.Context(), options, load("first"))
	require.NoError(t, err)
	applied(t, p, &wanted.Secrets{})

	sent := bodies(t, counts)
	p, err = wanted.New(t.Context(), options, load("second"))
	require.NoError(t, err)
	require.Equal(t, wanted.Summary{Unchanged: 1, Secrets: 1}, p.Summary())
	applied(t, p, &wanted.Secrets{})
	require.Len(t, *sent, 1)
	require.Contains(t, (*sent)[0], `"password":"second"`)

	options.Literal = false
	_, err = wanted.New(t.Context(), options, load("second"))
	require.ErrorContains(t, err, "a secret is not written into a file")
	require.ErrorContains(t, err, "j.yaml:1:")
	require.NotContains(t, err.Error(), "second")
}

func TestWhatAFileLeavesOutOfARecurrenceIsRemoved(t *testing.T) {
	t.Parallel()
	const start = "startTime: 2026-01-01T06:00:00Z\n"
	for name, tt := range map[string]struct{ first, second, member string }{
		"exclusions": {"recurrence: {frequency: day, exclusions: [{at: '2026-12-24T06:00:00Z'}]}", "recurrence: {frequency: day}", "recurrence.exclusions"},
		"also":       {"recurrence: {frequency: day, also: [{frequency: month}]}", "recurrence: {frequency: day}", "recurrence.also"},
		"cron":       {"recurrence: {cron: 0 6 * * *}", "recurrence: {frequency: day, schedule: {hours: [6], minutes: [0]}}", "recurrence.cron"},
		"rrule":      {"recurrence: {rrule: FREQ=DAILY}", "recurrence: {frequency: day}", "recurrence.rrule"},
		"all":        {"recurrence: {rrule: FREQ=DAILY}", "", "recurrence"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, counts := serving(t, &apitest.Memory{})
			dir := files(t, map[string]string{"a/j.yaml": start + action + tt.first})
			applied(t, planned(t, c, dir), &wanted.Secrets{})
			require.False(t, planned(t, c, dir).Changed())
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "j.yaml"), []byte(start+action+tt.second), 0o600))
			d, err := wanted.Load(dir, nil, "")
			require.NoError(t, err)
			p, err := wanted.New(t.Context(), wanted.Options{Client: c}, d)
			require.NoError(t, err, "its preview is that of what is sent")
			require.Len(t, p.Changes[0].Fields, 1)
			require.Equal(t, tt.member, p.Changes[0].Fields[0].Path)
			require.NotNil(t, p.Changes[0].Runs)
			sent := bodies(t, counts)
			require.Equal(t, map[string]string{"a/j": "Updated"}, applied(t, p, &wanted.Secrets{}))
			require.Len(t, *sent, 1)
			require.False(t, planned(t, c, dir).Changed())
			j, err := c.Job(t.Context(), "a", "j")
			require.NoError(t, err)
			if tt.second == "" {
				require.Nil(t, j.Properties.Recurrence)
			}
		})
	}
}

// The server counts an RRULE without a start from the creation of the job, which no answer has.
func TestAnRRULEWithoutAStartIsNoChangeLater(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{"a/j.yaml": "recurrence: {rrule: 'FREQ=MONTHLY'}\n" + action})
	applied(t, planned(t, c, dir), &wanted.Secrets{})
	later := func(dir string) *wanted.Plan {
		d, err := wanted.Load(dir, nil, "")
		require.NoError(t, err)
		now := time.Now().Add(53*time.Hour + 7*time.Minute)
		p, err := wanted.New(t.Context(), wanted.Options{Client: c, Previews: -1, Now: func() time.Time { return now }}, d)
		require.NoError(t, err)
		return p
	}
	require.Empty(t, later(dir).Changes[0].Fields)
	all, err := wanted.Exported(t.Context(), c, []string{"a"})
	require.NoError(t, err)
	exported := t.TempDir()
	_, err = wanted.Export(exported, all)
	require.NoError(t, err)
	require.NotContains(t, contents(t, exported)["a/j.yaml"], "frequency", "another server counts from another time")
	require.Empty(t, later(exported).Changes[0].Fields)
}

func TestAnEndedJobWithASecretStaysAsItIs(t *testing.T) {
	t.Parallel()
	m := &apitest.Memory{}
	c, counts := serving(t, m)
	text := "state: disabled\n" + withPassword + "{$env: PASSWORD}}}}\n"
	dir := files(t, map[string]string{"a/j.yaml": text})
	s := &wanted.Secrets{Getenv: func(string) (string, bool) { return "first", true }}
	applied(t, planned(t, c, dir), s)
	k := job.CollectionKey{Subscription: job.NilSubscription, ResourceGroup: "default", Name: "a"}.Job("j")
	_, err := m.PatchJob(t.Context(), k, func(j *job.Job) (job.Definition, error) {
		j.Definition.State = job.StateCompleted
		return j.Definition, nil
	})
	require.NoError(t, err)
	sent := bodies(t, counts)
	p := planned(t, c, dir)
	require.False(t, p.Changed())
	applied(t, p, s)
	require.Len(t, *sent, 1)
	require.NotContains(t, (*sent)[0], "state", "a disabled job would be another one")
}

func TestAStateThatIsNullIsOneMember(t *testing.T) {
	t.Parallel()
	c, counts := serving(t, &apitest.Memory{})
	dir := files(t, map[string]string{"a/j.yaml": "state: null\n" + daily})
	applied(t, planned(t, c, dir), &wanted.Secrets{})
	_, err := c.DisableJob(t.Context(), "a", "j")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "j.yaml"), []byte("state: null\ndisableAfter: 3\n"+daily), 0o600))
	sent := bodies(t, counts)
	require.Equal(t, map[string]string{"a/j": "Updated"}, applied(t, planned(t, c, dir), &wanted.Secrets{}))
	require.NotContains(t, (*sent)[0], "null")
	require.True(t, json.Valid([]byte((*sent)[0])))
	j, err := c.Job(t.Context(), "a", "j")
	require.NoError(t, err)
	require.Equal(t, client.JobDisabled, j.Properties.State)
}
