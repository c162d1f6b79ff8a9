package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/iso8601"
	"almanac/job"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"PT0S":                 0,
		"PT30S":                30 * time.Second,
		"PT1.5S":               1500 * time.Millisecond,
		"PT0.0000007S":         700,
		"PT1H2M3S":             time.Hour + 2*time.Minute + 3*time.Second,
		"P1D":                  day,
		"PT1D":                 day, // from Azure Scheduler's concepts document
		"P1DT1D":               2 * day,
		"P2W":                  14 * day,
		"P1Y2M3DT4H":           (365+60+3)*day + 4*time.Hour,
		"P100Y":                100 * 365 * day,
		"00:01:00":             time.Minute,
		"23:59:59.9999999":     day - 100,
		"30.00:00:00":          30 * day,
		"1:2:3":                time.Hour + 2*time.Minute + 3*time.Second,
		"558.00:00:00.0000001": 558*day + 100,
	} {
		got, err := iso8601.ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		require.Equal(t, want, job.Duration(text).Value(), text)
	}
	for _, text := range []string{
		"", "P", "PT", "P1DT", "T1S", "30", "30s", "PT-1S", "-PT1S", "PT1S ", "pt1s", "P1S", "PT1H1D",
		"24:00:00", "00:60:00", "00:00:60", "00:01", "-00:01:00", "1.00:00", "P101Y", "P60Y60M99999W", "P9999Y99999M", "999999.00:00:00", "٠٠:٠١:٠٠",
	} {
		_, err := iso8601.ParseDuration(text)
		require.Error(t, err, text)
		require.Zero(t, job.Duration(text).Value(), text)
	}
}

func TestTimesKeepAHundredNanoseconds(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"2026-02-01":                            "2026-02-01T00:00:00Z",
		"2026-02-01T01:02":                      "2026-02-01T01:02:00Z",
		"2026-02-01T01:02:03Z":                  "2026-02-01T01:02:03Z",
		"2026-02-01T01:02:03+14:00":             "2026-01-31T11:02:03Z",
		"2026-02-01T01:02:16.9049999999999999Z": "2026-02-01T01:02:16.905Z",
		"2026-02-01T01:02:03.1234567Z":          "2026-02-01T01:02:03.1234567Z",
		"2026-02-01T01:02:03.12345674999+00:00": "2026-02-01T01:02:03.1234567Z",
		"2026-02-01T01:02:03.00000005Z":         "2026-02-01T01:02:03.0000001Z",
		"2026-02-01T01:02:03.5000000Z":          "2026-02-01T01:02:03.5Z",
		"2026-02-01T01:02:59.99999999999Z":      "2026-02-01T01:02:59.9999999Z",
		"9999-12-31T23:59:59.9999999-08:00":     "9999-12-31T23:59:59Z",
		"0001-01-01T00:00:00Z":                  "0001-01-01T00:00:00Z",
		"2026-02-01t01:00:00.5+0100":            "2026-02-01T00:00:00.5Z",
		"0000-01-01T00:00:00Z":                  "0000-01-01T00:00:00Z",
	} {
		d, err := parse(withRecurrence(`{"frequency":"day","endTime":"` + sent + `"}`))
		require.NoError(t, err, sent)
		require.Equal(t, want, d.Recurrence.EndTime.String(), sent)

		var stored job.Definition
		require.NoError(t, json.Unmarshal([]byte(compactJSON(t, d)), &stored))
		require.Equal(t, d, stored, "the stored form of %s", sent)
	}
	for _, sent := range []string{"2026-02-30", "2026-02-01T24:00:00Z", "2026-02-01T00:00:60Z", "2026-02-01T00:00:00.Z", "0000-01-01T00:00:00+01:00", "2026-2-1"} {
		_, err := parse(withRecurrence(`{"frequency":"day","endTime":"` + sent + `"}`))
		require.Error(t, err, sent)
	}
}

func TestMembersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	const text = `{"b":"<1>","a":"","Ä":"\"\\"}`
	var m job.Members
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	require.Equal(t, job.Members{{Name: "b", Value: "<1>"}, {Name: "a", Value: ""}, {Name: "Ä", Value: `"\`}}, m)
	require.Equal(t, text, compactJSON(t, m))
	for _, bad := range []string{`[]`, `{"a":1}`, `{"a":{}}`, `"a"`} {
		require.Error(t, json.Unmarshal([]byte(bad), &m), bad)
	}
	var none struct {
		M job.Members `json:"m,omitzero"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"m":null}`), &none))
	require.Equal(t, `{}`, compactJSON(t, none))
}

func TestRetryPolicyDefaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		policy   *job.RetryPolicy
		attempts int
		interval time.Duration
	}{
		{"none given", nil, 5, 30 * time.Second},
		{"an empty one", &job.RetryPolicy{}, 5, 30 * time.Second},
		{"no retries", &job.RetryPolicy{RetryType: job.RetryNone, RetryCount: 3}, 1, 30 * time.Second},
		{"fixed", &job.RetryPolicy{RetryType: job.RetryFixed, RetryCount: 2, RetryInterval: "00:01:00"}, 3, time.Minute},
		{"a type of a newer version", &job.RetryPolicy{RetryType: "newer", RetryCount: 2}, 3, 30 * time.Second},
	} {
		require.Equal(t, tt.attempts, tt.policy.Attempts(), tt.name)
		require.Equal(t, tt.interval, tt.policy.Pause(1), tt.name)
		require.Equal(t, tt.interval, tt.policy.LongestPause(), tt.name)
	}
}
