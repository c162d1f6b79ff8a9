package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/apitest"
	"almanac/job"
)

func TestEveryTakesEnglish(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{Kept: []job.KeptCalendar{
		{Key: job.SubscriptionScope(job.NilSubscription).Calendar("SE"), Version: 1, Calendar: job.Calendar{WeekendDays: []string{"saturday", "sunday"}}},
	}})
	u.must(t, "job", "create", "summary", "http://example.com/", "--every", "last Friday 17:15 Europe/Stockholm", "--start", "2026-12-01")
	require.Contains(t, u.must(t, "job", "list"), "the last Friday of every month at 17:15")
	require.Equal(t, "Europe/Stockholm\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.timeZone"))

	u.must(t, "job", "edit", "summary", "--every", "the weekday nearest the 15th at 09:00")
	require.Equal(t, "0 9 15W * *\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.cron"))
	u.must(t, "job", "edit", "summary", "--every", "every weekday at 09:00 and 17:30, 10 times")
	require.Equal(t, "10\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.count"))
	require.Equal(t, "30\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.also[0].schedule.minutes[0]"))
	require.Equal(t, "Europe/Stockholm\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.timeZone"), "the text names none")
	u.must(t, "job", "edit", "summary", "--every", "every day at 09:00 until 2026-12-31 17:00")
	require.Equal(t, "2026-12-31T16:00:00Z\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.endTime"), "in the zone of the job")
	u.must(t, "job", "edit", "summary", "--every", "every day at 09:00 until 2026-12-31 17:00", "--time-zone", "America/New_York")
	require.Equal(t, "2026-12-31T22:00:00Z\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.endTime"))
	u.must(t, "job", "edit", "summary", "--every", "every weekday 06:00 Europe/Stockholm, not on SE holidays")
	require.Equal(t, "SE skip\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.calendars[0].name")[:2]+" "+
		u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.calendars[0].onMatch"))
	u.must(t, "job", "edit", "summary", "--every", "every 15 minutes")
	require.Equal(t, "SE\n", u.must(t, "job", "get", "summary", "-o", "jsonpath=properties.recurrence.calendars[0].name"), "the text says nothing of them")

	for want, text := range map[string]string{
		"--every: \"9\" may mean\n  every day at 09:00\n  every day at 21:00": "every day at 9",
		`"blue" is not understood`: "every blue moon",
		"--every: \"but the working day before\" may mean\n  month end 09:00, but the working day before in SE": "month end 09:00, but the working day before",
	} {
		_, problems, status := u.types(t, "job", "create", "other", "http://example.com/", "--every", text)
		require.Contains(t, problems, want)
		require.NotEqual(t, exit.OK, status)
	}
	_, problems, status := u.types(t, "job", "create", "other", "http://example.com/", "--every", "daily at 09:00", "--hours", "3")
	require.Contains(t, problems, "--hours: --every says when it runs; give one of the two")
	require.Equal(t, exit.Usage, status)
}
