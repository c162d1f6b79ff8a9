package input_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

func TestACalendarIsRead(t *testing.T) {
	t.Parallel()
	c, err := input.ParseCalendar([]byte(`{"id": "/x", "properties": {"WeekendDays": ["Saturday", "sunday"], "version": 3,
		"days": [{"date": "2026-01-01", "name": "Nyårsdagen"}, {"date": "2026-05-01"}],
		"periods": [{"first": "2026-07-01", "last": "2026-07-31"}], "makeUpDays": {"date": "2026-02-14"},
		"timeZone": "Europe/Stockholm", "completeUntil": "2026-12-31", "source": "by hand"}}`))
	require.NoError(t, err)
	require.Equal(t, job.Calendar{
		WeekendDays: []string{"saturday", "sunday"}, Days: []job.NamedDay{{Date: "2026-01-01", Name: "Nyårsdagen"}, {Date: "2026-05-01"}},
		Periods: []job.NamedPeriod{{First: "2026-07-01", Last: "2026-07-31"}}, MakeUpDays: []job.NamedDay{{Date: "2026-02-14"}},
		TimeZone: "Europe/Stockholm", CompleteUntil: "2026-12-31", Source: "by hand",
	}, c)
	c, err = input.ParseCalendar([]byte(`{"weekendDays": []}`))
	require.NoError(t, err)
	require.Equal(t, []string{}, c.WeekendDays)
}

func TestABadCalendarIsRefusedByTheNameOfTheMember(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`{"date": "2026-01-01"},`, 2001), ",")
	var long strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&long, `{"date": "2026-01-01", "name": "%d %s"},`, i, strings.Repeat("x", 75))
	}
	for _, tt := range []struct{ name, body, want string }{
		{"no weekend", `{}`, "weekendDays: required"},
		{"null", `{"weekendDays": null}`, "weekendDays: required"},
		{"an unknown member", `{"weekendDays": [], "dayz": []}`, `dayz: unknown field; did you mean "days"?`},
		{"beside properties", `{"properties": {"weekendDays": []}, "days": []}`, "days"},
		{"no weekday", `{"weekendDays": ["caturday"]}`, `weekendDays[0]: "caturday"`},
		{"every day", `{"weekendDays": ["monday","tuesday","wednesday","thursday","friday","saturday","sunday"]}`, "at most six days"},
		{"no date", `{"properties": {"weekendDays": [], "days": [{"date": "2026-01-01"}, {"date": "2026-02-30"}]}}`, "properties.days[1].date"},
		{"the wrong order", `{"weekendDays": [], "periods": [{"first": "2026-01-02", "last": "2026-01-01"}]}`, "periods[0].last"},
		{"off and made up", `{"weekendDays": [], "days": [{"date": "2026-01-02"}], "makeUpDays": [{"date": "2026-01-02"}]}`, "makeUpDays[0].date"},
		{"a zone", `{"weekendDays": [], "timeZone": "Mars/Base"}`, "timeZone"},
		{"a horizon", `{"weekendDays": [], "completeUntil": "soon"}`, "completeUntil"},
		{"many", `{"weekendDays": [], "days": [` + many + `]}`, "days: too many"},
		{"long", `{"weekendDays": [], "days": [` + strings.TrimSuffix(long.String(), ",") + `]}`, "days: too many"},
		{"a long source", `{"weekendDays": [], "source": "` + strings.Repeat("x", 1025) + `"}`, "source: too long; allowed: at most 1024 bytes"},
		{"a long description", `{"properties": {"weekendDays": [], "description": "` + strings.Repeat("ö", 1025) + `"}}`, "properties.description: too long; allowed: at most 2048 bytes"},
		{"too long to send", `{"weekendDays": [], "description": "` + strings.Repeat("x", 200<<10) + `"}`, "the limit is 196608 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := input.ParseCalendar([]byte(tt.body))
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, job.KindInvalid, job.KindOf(err))
		})
	}
}
