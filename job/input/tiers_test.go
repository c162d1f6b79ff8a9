package input_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
	"almanac/job/quota"
)

func TestParsePlans(t *testing.T) {
	t.Parallel()
	service := input.DefaultLimits().Tiers
	with := func(name string, p quota.Tier) quota.Tiers {
		plans := input.DefaultLimits().Tiers
		plans[name] = p
		return plans
	}
	for _, tt := range []struct {
		name, text string
		want       quota.Tiers
	}{
		{"an empty table", `{}`, service},
		{
			"a whole plan", `{"Standard":{"jobs":500,"minRecurrence":"PT5M","collections":1000,"authentication":false}}`,
			with("Standard", quota.Tier{Jobs: 500, MinRecurrence: 5 * time.Minute, Collections: 1000}),
		},
		{
			"what is left out stays", `{"free":{"MinRecurrence":"00:01:00"},"standard":null}`,
			with("Free", quota.Tier{Jobs: 5, MinRecurrence: time.Minute, Collections: 1}),
		},
		{
			"the bounds", `{"P20Premium":{"jobs":10000,"collections":10000,"minRecurrence":"P558D"}}`,
			with("P20Premium", quota.Tier{Jobs: 10_000, MinRecurrence: 558 * 24 * time.Hour, Collections: 10_000, Authentication: true}),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := input.ParseTiers([]byte(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestParsePlansListsEveryMistake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", `jobs=5`, "The table of plans cannot be read: The body is not valid JSON at line 1, column 1: invalid character 'j' looking for beginning of value"},
		{"no object", `[]`, "The table of plans cannot be read: The body must be a JSON object, not a list"},
		{"a plan twice", `{"Free":{"jobs":1},"free":{"jobs":2}}`, `The table of plans cannot be read: The body is not valid: free: repeated; allowed: once; "Free" is the same field, as case makes no difference`},
		{
			"bad values everywhere", `{"Free":{"jobs":0,"minRecurrence":"PT59S","collections":10001,"authentication":"yes","job":1},"Standrd":{},"Standard":5}`,
			lines("Free.jobs: 0 is out of range; allowed: 1 to 10000",
				`Free.minRecurrence: "PT59S" is not valid; allowed: a duration such as PT30S or 00:00:30, from PT1M to P558D`,
				"Free.collections: 10001 is out of range; allowed: 1 to 10000",
				`Free.authentication: "yes" is not valid; allowed: true or false`,
				"Free.job: unknown field; did you mean \"jobs\"?",
				"Standard: a number is not valid; allowed: an object",
				"Standrd: unknown field; did you mean \"Standard\"?"),
		},
		{"a plan that the service does not have", `{"Gold":{}}`, "Gold: unknown field; allowed: " + planNames},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := input.ParseTiers([]byte(tt.text))
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

func TestUnlimitedPlans(t *testing.T) {
	t.Parallel()
	plans := input.UnlimitedTiers()
	require.Len(t, plans, len(input.DefaultLimits().Tiers))
	for name, p := range plans {
		require.Equal(t, quota.Tier{Jobs: 10_000, MinRecurrence: time.Minute, Collections: 10_000, Authentication: true}, p, name)
	}
}
