package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestParsePlans(t *testing.T) {
	t.Parallel()
	service := job.DefaultLimits().Plans
	with := func(name string, p job.Plan) map[string]job.Plan {
		plans := job.DefaultLimits().Plans
		plans[name] = p
		return plans
	}
	for _, tt := range []struct {
		name, text string
		want       map[string]job.Plan
	}{
		{"an empty table", `{}`, service},
		{
			"a whole plan", `{"Standard":{"jobs":500,"minRecurrence":"PT5M","collections":1000,"authentication":false}}`,
			with("Standard", job.Plan{Jobs: 500, MinRecurrence: 5 * time.Minute, Collections: 1000}),
		},
		{
			"what is left out stays", `{"free":{"MinRecurrence":"00:01:00"},"standard":null}`,
			with("Free", job.Plan{Jobs: 5, MinRecurrence: time.Minute, Collections: 1}),
		},
		{
			"the bounds", `{"P20Premium":{"jobs":10000,"collections":10000,"minRecurrence":"P558D"}}`,
			with("P20Premium", job.Plan{Jobs: 10_000, MinRecurrence: 558 * 24 * time.Hour, Collections: 10_000, Authentication: true}),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := job.ParsePlans([]byte(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestParsePlansListsEveryMistake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", `jobs=5`, "The table of plans cannot be read: The body is not valid JSON at line 1, column 1: invalid character 'j' looking for beginning of value"},
		{"no object", `[]`, "The table of plans cannot be read: The body is not a job or a collection: want a JSON object, not a list"},
		{"a plan twice", `{"Free":{"jobs":1},"free":{"jobs":2}}`, `The table of plans cannot be read: The body is not valid: free: want this member once; "Free" is the same one, as case makes no difference`},
		{
			"bad values everywhere", `{"Free":{"jobs":0,"minRecurrence":"PT59S","collections":10001,"authentication":"yes","job":1},"Standrd":{},"Standard":5}`,
			lines("Free.jobs is 0, want an integer from 1 to 10000",
				`Free.minRecurrence is "PT59S", want a duration such as PT30S or 00:00:30, from PT1M to P558D`,
				"Free.collections is 10001, want an integer from 1 to 10000",
				`Free.authentication is "yes", want true or false`,
				"Free.job: want a known field; did you mean 'jobs'?",
				"Standard: want an object, not a number",
				"Standrd: want a known field; did you mean 'Standard'?"),
		},
		{"a plan that the service does not have", `{"Gold":{}}`, "Gold: want a known field: " + planNames},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := job.ParsePlans([]byte(tt.text))
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

func TestUnlimitedPlans(t *testing.T) {
	t.Parallel()
	plans := job.UnlimitedPlans()
	require.Len(t, plans, len(job.DefaultLimits().Plans))
	for name, p := range plans {
		require.Equal(t, job.Plan{Jobs: 10_000, MinRecurrence: time.Minute, Collections: 10_000, Authentication: true}, p, name)
	}
}
