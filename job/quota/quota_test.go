package quota_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/quota"
)

// now is the time at which the jobs of these tests are sent.
var now = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)

const httpAction = `{"type":"Http","request":{"uri":"http://example.com/","method":"GET"}}`

// withAction returns the properties of a job with that action.
func withAction(action string) string { return `{"action":` + action + `}` }

// withRecurrence returns the properties of a job with that recurrence.
func withRecurrence(recurrence string) string {
	return `{"action":` + httpAction + `,"recurrence":` + recurrence + `}`
}

func mustParse(t testing.TB, properties string) *job.Definition {
	t.Helper()
	d, err := input.ParseDefinition([]byte(`{"properties":`+properties+`}`), input.ParseOptions{Now: now})
	require.NoError(t, err, properties)
	return &d
}

func TestRequirementsOfAJob(t *testing.T) {
	t.Parallel()
	const basic = `{"type":"Http","request":{"uri":"http://h/","authentication":{"type":"Basic","username":"u","password":"p"}}}`
	const queue = `{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"abc","sasToken":"s"}}`
	for _, tt := range []struct {
		name, body string
		want       quota.Requirements
	}{
		{"a job that runs once", withAction(httpAction), quota.Requirements{}},
		{"one that recurs", withRecurrence(`{"frequency":"hour","interval":3}`), quota.Requirements{Spacing: 3 * time.Hour}},
		{"one that recurs by its lists", withRecurrence(`{"frequency":"month","count":1,"schedule":{"hours":[0,23],"minutes":[0,15]}}`), quota.Requirements{Spacing: 15 * time.Minute}},
		{"the phase is that of the creation", withRecurrence(`{"frequency":"minute","interval":45,"schedule":{"minutes":[0,15]}}`), quota.Requirements{Spacing: 45 * time.Minute}},
		{"the phase is that of the start", `{"startTime":"2026-01-10T12:07:30Z","action":` + httpAction + `,"recurrence":{"frequency":"minute","interval":4,"schedule":{"minutes":[7,11,23]}}}`, quota.Requirements{Spacing: 4 * time.Minute}},
		{"a start that lies far ahead", `{"startTime":"2027-07-01","action":` + httpAction + `,"recurrence":{"frequency":"day"}}`, quota.Requirements{Spacing: 24 * time.Hour}},
		{"a request that authenticates itself", withAction(basic), quota.Requirements{Authenticates: true}},
		{"one of the error action", withAction(`{"type":"Http","request":{"uri":"http://h/"},"errorAction":` + basic + `}`), quota.Requirements{Authenticates: true}},
		{"a queue has a key of its own", withAction(queue), quota.Requirements{}},
		{"authentication of no kind", withAction(`{"type":"Http","request":{"uri":"http://h/","authentication":{"type":"NotSpecified"}}}`), quota.Requirements{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, tt.body)
			require.Equal(t, tt.want, quota.RequirementsOf(d, now))
		})
	}
	t.Run("a start more than 18 months after the creation, by a later change", func(t *testing.T) {
		t.Parallel()
		d := mustParse(t, `{"startTime":"2027-07-01","action":`+httpAction+`,"recurrence":{"frequency":"day"}}`)
		require.Equal(t, quota.Requirements{Spacing: 24 * time.Hour}, quota.RequirementsOf(d, now.AddDate(-3, 0, 0)))
	})
}

func TestRequirementsOfTwoDefinitionsTogether(t *testing.T) {
	t.Parallel()
	once, hourly, daily := quota.Requirements{Authenticates: true}, quota.Requirements{Spacing: time.Hour}, quota.Requirements{Spacing: 24 * time.Hour}
	require.Equal(t, hourly, hourly.And(daily))
	require.Equal(t, hourly, daily.And(hourly))
	require.Equal(t, quota.Requirements{Spacing: time.Hour, Authenticates: true}, once.And(hourly))
	require.Equal(t, quota.Requirements{Spacing: time.Hour, Authenticates: true}, hourly.And(once))
	require.Equal(t, once, once.And(quota.Requirements{}))
}

func TestLimitsOfACollection(t *testing.T) {
	t.Parallel()
	l := input.DefaultLimits()
	for _, tt := range []struct {
		name string
		p    job.CollectionProperties
		want string
	}{
		{"a plan", job.CollectionProperties{SKU: job.SKU{Name: "Free"}}, `{"plan":"Free","jobs":5,"minRecurrence":3600000000000,"collections":1}`},
		{"the plan of an older version", job.CollectionProperties{SKU: job.SKU{Name: "Premium"}}, `{"plan":"Premium","jobs":50,"minRecurrence":60000000000,"auth":true,"collections":10000}`},
		{
			"a quota tightens it, and a month has 28 days",
			job.CollectionProperties{SKU: job.SKU{Name: "Standard"}, Quota: &job.Quota{MaxJobCount: 7, MaxRecurrence: &job.MaxRecurrence{Frequency: "month", Interval: 2}}},
			`{"plan":"Standard","jobs":7,"minRecurrence":4838400000000000,"auth":true,"collections":100}`,
		},
		{
			"a quota does not loosen it",
			job.CollectionProperties{SKU: job.SKU{Name: "Free"}, Quota: &job.Quota{MaxJobCount: 6, MaxRecurrence: &job.MaxRecurrence{Frequency: "minute", Interval: 59}}},
			`{"plan":"Free","jobs":5,"minRecurrence":3600000000000,"collections":1}`,
		},
		{"an empty quota", job.CollectionProperties{SKU: job.SKU{Name: "P20Premium"}, Quota: &job.Quota{}}, `{"plan":"P20Premium","jobs":1000,"minRecurrence":60000000000,"auth":true,"collections":10000}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := quota.LimitsOf(&tt.p, l.Tiers[tt.p.SKU.Name])
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(text))
			var again quota.Limits
			require.NoError(t, json.Unmarshal([]byte(tt.want), &again))
			require.Equal(t, got, again)
		})
	}
}

func TestLimitsSayWhatTheyRefuse(t *testing.T) {
	t.Parallel()
	free := quota.Limits{Plan: "Free", Jobs: 5, MinRecurrence: time.Hour, Collections: 1}
	standard := quota.Limits{Plan: "Standard", Jobs: 50, MinRecurrence: 28 * 24 * time.Hour, Authentication: true, Collections: 100}
	for _, tt := range []struct{ name, got, want string }{
		{"a job that runs once", free.RefusesJob("c", "j", quota.Requirements{}), ""},
		{"just as often as is allowed", free.RefusesJob("c", "j", quota.Requirements{Spacing: time.Hour}), ""},
		{"a monthly job under a quota of a month", standard.RefusesJob("c", "j", quota.Requirements{Spacing: 28 * 24 * time.Hour, Authenticates: true}), ""},
		{
			"too often", free.RefusesJob("c", "j", quota.Requirements{Spacing: time.Hour - time.Minute}),
			"The job 'j' would recur after PT59M, sooner than the PT1H that the job collection 'c', of plan Free, allows (quota maxRecurrence). " +
				"Let the job recur less often, or change the plan or the quota of the collection.",
		},
		{
			"authentication", free.RefusesJob("c", "j", quota.Requirements{Authenticates: true}),
			"The job 'j' authenticates its requests, which the plan Free of the job collection 'c' does not allow. " +
				"Leave out the authentication, or change the plan of the collection.",
		},
		{"the last job that fits", free.RefusesAnother("c", "j", 4), ""},
		{
			"one more job", free.RefusesAnother("c", "j", 5),
			"The job collection 'c', of plan Free, has reached its quota of 5 jobs (quota maxJobCount), and the job 'j' would be one more than its 5. " +
				"Delete a job, or change the plan or the quota of the collection.",
		},
		{"as many jobs as the new plan allows", free.RefusesCount("c", 5), ""},
		{
			"more jobs than the new plan allows", free.RefusesCount("c", 6),
			"The job collection 'c' has 6 jobs, more than the 5 that its plan Free would allow with this quota (maxJobCount). " +
				"Delete jobs first, or ask for a larger plan or quota.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.got)
		})
	}
}
