package input_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

// withBlackouts returns a job of days with blackouts, as JSON.
func withBlackouts(frequency, blackouts string) []byte {
	return []byte(`{"properties":{"startTime":"2026-01-01T09:00:00Z","action":` + httpAction + `,"recurrence":{"frequency":"` + frequency +
		`","timeZone":"Europe/Stockholm"},"blackouts":` + blackouts + `}}`)
}

func TestBlackoutsOfAJobAreReadInTheirThreeForms(t *testing.T) {
	t.Parallel()
	d, err := input.ParseDefinition(withBlackouts("day", `[
		{"Name":"night","onMatch":"RUNATEND","keep":"latest","from":"22:00","until":"06:00","weekDays":["Friday"]},
		{"name":"freeze","onMatch":"skip","first":"2026-12-18","last":"2027-01-06"},
		{"name":"move","onMatch":"nextAllowedDay","from":"2026-06-04T18:00","until":"2026-06-06T06:30+02:00","timeZone":"UTC"}]`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Equal(t, []job.Blackout{
		{Name: "night", OnMatch: "runAtEnd", Keep: "latest", From: "22:00", Until: "06:00", WeekDays: []string{"friday"}},
		{Name: "freeze", OnMatch: "skip", First: "2026-12-18", Last: "2027-01-06"},
		{Name: "move", OnMatch: "nextAllowedDay", From: "2026-06-04T18:00", Until: "2026-06-06T06:30+02:00", TimeZone: "UTC"},
	}, d.Blackouts)
	require.Equal(t, "every day at 10:00, from 2026-01-01 10:00, Europe/Stockholm; not in the blackout night (22:00–06:00 on Friday), but at its end; "+
		"not in the blackout freeze (from 2026-12-18 to 2027-01-06); "+
		"not in the blackout move (from 2026-06-04T18:00 until 2026-06-06T06:30+02:00, UTC), but on the next day outside it", d.When())
}

func TestErrorsOfBlackoutsNameTheirMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ frequency, blackout, want string }{
		{"day", `{"onMatch":"skip","weekDays":["monday"]}`, "name: required"},
		{"day", `{"name":"a/b","onMatch":"skip","weekDays":["monday"]}`, "name: "},
		{"day", `{"name":"b","weekDays":["monday"]}`, "onMatch: required; allowed: skip, runAtEnd or nextAllowedDay"},
		{"day", `{"name":"b","onMatch":"wait","weekDays":["monday"]}`, "onMatch: "},
		{"hour", `{"name":"b","onMatch":"nextAllowedDay","weekDays":["monday"]}`, `onMatch: the value is not valid; allowed: skip or runAtEnd with a rule of minutes or hours, and in a job collection`},
		{"day", `{"name":"b","onMatch":"skip"}`, "from: required; allowed: from and until, weekDays, or first and last"},
		{"day", `{"name":"b","onMatch":"skip","from":"22:00","until":"22:00"}`, "until: the value is not valid; allowed: another time than from"},
		{"day", `{"name":"b","onMatch":"skip","from":"22:00","until":"24:00"}`, `until: "24:00" is not valid; allowed: a time of day such as 22:00`},
		{"day", `{"name":"b","onMatch":"skip","from":"2026-01-01","until":"06:00"}`, "from: "},
		{"day", `{"name":"b","onMatch":"skip","from":"22:00","until":"2026-05-01T06:00"}`, `until: "2026-05-01T06:00" is not valid; allowed: like from`},
		{"day", `{"name":"b","onMatch":"skip","from":"22:00"}`, "until: required"},
		{"day", `{"name":"b","onMatch":"skip","until":"22:00"}`, "from: required"},
		{"day", `{"name":"b","onMatch":"skip","from":"2026-05-02T06:00","until":"2026-05-01T06:00"}`, "until: "},
		{"day", `{"name":"b","onMatch":"skip","from":"2026-05-02T06:00","until":"2026-05-03T06:00","weekDays":["monday"]}`, "from: "},
		{"day", `{"name":"b","onMatch":"skip","first":"2026-05-01"}`, "last: required"},
		{"day", `{"name":"b","onMatch":"skip","first":"2026-05-02","last":"2026-05-01"}`, "last: "},
		{"day", `{"name":"b","onMatch":"skip","first":"2026-05-32","last":"2026-06-01"}`, "first: "},
		{"day", `{"name":"b","onMatch":"skip","from":"22:00","until":"06:00","timeZone":"Night"}`, "timeZone: "},
		{"day", `{"name":"b","onMatch":"skip","keep":"latest","weekDays":["monday"]}`, "keep: "},
		{"day", `{"name":"b","onMatch":"runAtEnd","keep":"all","weekDays":["monday"]}`, "keep: "},
		{"day", `{"name":"b","onMatch":"skip","weekDays":["monday"],"shared":true}`, "shared: unknown field"},
	} {
		_, err := input.ParseDefinition(withBlackouts(tt.frequency, "["+tt.blackout+"]"), input.ParseOptions{Now: now})
		got := complaints(t, err)
		require.NotContains(t, got, "\n", tt.blackout)
		require.True(t, strings.HasPrefix(got, "properties.blackouts[0]."+tt.want), "%s: %s", tt.blackout, got)
	}
	const one = `{"name":"b","onMatch":"skip","weekDays":["monday"]}`
	for n, good := range map[int]bool{20: true, 21: false} {
		_, err := input.ParseDefinition(withBlackouts("day", "["+strings.Repeat(one+",", n-1)+one+"]"), input.ParseOptions{Now: now})
		require.Equal(t, good, err == nil, "%d: %v", n, err)
	}
}

func TestBlackoutsOfACollectionNeedATimeZone(t *testing.T) {
	t.Parallel()
	parse := func(blackout string) error {
		_, err := input.ParseCollection([]byte(`{"properties":{"sku":{"name":"Standard"},"blackouts":[`+blackout+`]}}`), nil)
		return err
	}
	require.NoError(t, parse(`{"name":"night","onMatch":"skip","from":"22:00","until":"06:00","timeZone":"Europe/Stockholm"}`))
	require.NoError(t, parse(`{"name":"move","onMatch":"skip","from":"2026-06-04T18:00Z","until":"2026-06-06T06:30Z"}`))
	for _, blackout := range []string{
		`{"name":"night","onMatch":"skip","from":"22:00","until":"06:00"}`,
		`{"name":"freeze","onMatch":"skip","first":"2026-12-18","last":"2027-01-06"}`,
		`{"name":"move","onMatch":"skip","from":"2026-06-04T18:00","until":"2026-06-06T06:30Z"}`,
	} {
		require.Contains(t, complaints(t, parse(blackout)), "blackouts[0].timeZone: required")
	}
	require.Contains(t, complaints(t, parse(`{"name":"n","onMatch":"nextAllowedDay","from":"22:00","until":"06:00","timeZone":"UTC"}`)), "blackouts[0].onMatch: ")
}

func TestAClientThatDoesNotKnowBlackoutsKeepsThem(t *testing.T) {
	t.Parallel()
	const night = `[{"name":"night","onMatch":"skip","from":"22:00","until":"06:00"}]`
	o := input.ParseOptions{Now: now}
	stored, err := input.ParseDefinition(withBlackouts("day", night), o)
	require.NoError(t, err)
	o.Stored = &stored
	body := func(recurrence, rest string) []byte {
		return []byte(`{"properties":{"startTime":"2026-01-01T09:00:00Z","action":` + httpAction + `,"recurrence":` + recurrence + rest + `}}`)
	}
	for _, recurrence := range []string{`{"frequency":"day","timeZone":"Europe/Stockholm"}`, `{"frequency":"day","interval":1}`} {
		d, err := input.ParseDefinition(body(recurrence, ""), o)
		require.NoError(t, err)
		require.Equal(t, stored.Blackouts, d.Blackouts, recurrence)
	}
	for _, removed := range []string{"null", "[]"} {
		d, err := input.ParseDefinition(body(`{"frequency":"week"}`, `,"blackouts":`+removed), o)
		require.NoError(t, err)
		require.Empty(t, d.Blackouts, removed)
	}
	_, err = input.ParseDefinition(body(`{"frequency":"week"}`, ""), o)
	require.Contains(t, complaints(t, err), "would lose the job's blackouts")
	d, err := input.MergeDefinition(stored, []byte(`{"properties":{"recurrence":{"frequency":"week"}}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Equal(t, stored.Blackouts, d.Blackouts, "a PATCH leaves them alone")
	d, err = input.MergeDefinition(stored, []byte(`{"properties":{"blackouts":null}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Empty(t, d.Blackouts)
}

func TestTheLargestBlackoutsOfACollectionFitItsJobs(t *testing.T) {
	t.Parallel()
	largest := `{"name":"` + strings.Repeat("\U0001F4C5", 80) + `","onMatch":"runAtEnd","keep":"latest","from":"22:00","until":"06:00",` +
		`"weekDays":["monday","tuesday","wednesday","thursday","friday","saturday","sunday"],"first":"2026-12-18","last":"2027-01-06","timeZone":"America/Argentina/ComodRivadavia"}`
	c, err := input.ParseCollection([]byte(`{"properties":{"sku":{"name":"Standard"},"blackouts":[`+strings.Repeat(largest+",", 19)+largest+`]}}`), nil)
	require.NoError(t, err)
	text, err := json.Marshal(c.Properties.Blackouts)
	require.NoError(t, err)
	require.Less(t, len(text), 13_000)
	for _, blackout := range []string{
		`{"name":"b","onMatch":"skip","from":"2026-06-04T18:00:00.0000000000000000000Z","until":"2026-06-06T06:30Z"}`,
		`{"name":"b","onMatch":"skip","timeZone":"UTC","weekDays":["monday"` + strings.Repeat(`,"monday"`, 7) + `]}`,
	} {
		_, err := input.ParseCollection([]byte(`{"properties":{"sku":{"name":"Standard"},"blackouts":[`+blackout+`]}}`), nil)
		require.Error(t, err)
	}
}

func TestAPUTOfACollectionKeepsItsBlackoutsUnlessItNamesThem(t *testing.T) {
	t.Parallel()
	const night = `{"name":"night","onMatch":"skip","from":"22:00","until":"06:00","timeZone":"UTC"}`
	for blackouts, keeps := range map[string]bool{"": true, `,"blackouts":null`: false, `,"blackouts":[]`: false, `,"blackouts":[` + night + `]`: false} {
		c, err := input.ParseCollection([]byte(`{"properties":{"sku":{"name":"Standard"}`+blackouts+`}}`), nil)
		require.NoError(t, err)
		require.Equal(t, keeps, c.Properties.Blackouts == nil, blackouts)
	}
}
