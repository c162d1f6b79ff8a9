package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/job"
)

// sweden is an API whose subscription has the calendars SE and "SE banks".
func sweden(t *testing.T) (*client.Client, http.Handler) {
	t.Helper()
	of := func(name string) job.KeptCalendar {
		return job.KeptCalendar{Key: job.SubscriptionScope(job.NilSubscription).Calendar(name), Version: 3, Generation: 3,
			Calendar: job.Calendar{WeekendDays: []string{"saturday", "sunday"}, Days: []job.NamedDay{{Date: "2026-12-04", Name: "<b>Julafton</b>"}}}}
	}
	m := &apitest.Memory{Kept: []job.KeptCalendar{of("SE"), of("SE banks")}, Status: func(job.Key) job.Status {
		return job.Status{NextExecutionTime: job.NewTime(now.Add(7 * time.Hour))}
	}}
	c, h := stored(t, m)
	return c, h
}

func byCalendar(onMatch string) client.JobProperties {
	j := daily()
	j.StartTime = "2026-01-01T09:00:00Z"
	j.Recurrence = &client.Recurrence{Frequency: "day", Interval: 1, Calendars: []client.CalendarUse{{Name: "SE", OnMatch: onMatch}}}
	return j
}

func TestTheFormOfAJobHasItsCalendar(t *testing.T) {
	t.Parallel()
	c, h := sweden(t)
	_, err := c.PutJob(t.Context(), "reports", "nightly", byCalendar("nextWorkingDay"))
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	page := b.get(nightly + "/edit")
	page.has(`name="calendar" list="calendars" value="SE"`, `<option value="SE banks">`, `<option value="nextWorkingDay" selected>`)
	b.post(nightly+"/edit", nightly+"/edit", filled(t, page, "f", url.Values{"onMatch": {"previousWorkingDay"}, "do": {"save"}}))
	j, err := c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Equal(t, []client.CalendarUse{{Name: "SE", OnMatch: "previousWorkingDay"}}, j.Properties.Recurrence.Calendars)

	page = b.get(nightly + "/edit")
	b.post(nightly+"/edit", nightly+"/edit", filled(t, page, "f", url.Values{"calendar": {"SEE"}, "do": {"check"}})).has(`href="#f-calendar"`, `id="e-calendar"`)
	b.post(nightly+"/edit", nightly+"/edit", filled(t, page, "f", url.Values{"calendar": {""}, "do": {"save"}}))
	j, err = c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Empty(t, j.Properties.Recurrence.Calendars, "a field that is emptied takes the calendar away")
}

func TestNextRunsSayWhatCalendarsMoveAndSkip(t *testing.T) {
	t.Parallel()
	c, h := sweden(t)
	_, err := c.PutJob(t.Context(), "reports", "nightly", byCalendar(""))
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	page := b.get(nightly)
	page.has("not on days off in SE", "Sat 28 Nov to Sun 29 Nov: 2 skipped because SE has Saturday; SE has Sunday", "Fri 4 Dec to Sun 6 Dec: 3 skipped because SE has &lt;b&gt;Julafton",
		`class="off" title="skipped because SE has Saturday"`, "a calendar moves or skips a run of that day")
	b.get("/console/jobs/reports").has("not on days off in SE")
	b.get(nightly + "/edit").has("Sat 28 Nov to Sun 29 Nov: 2 skipped")

	monthly := byCalendar("previousWorkingDay")
	monthly.Recurrence.Frequency, monthly.Recurrence.Schedule = "month", &client.Schedule{MonthDays: []int{4}}
	_, err = c.PutJob(t.Context(), "reports", "payroll", monthly)
	require.NoError(t, err)
	const because = "moved from Fri 4 Dec because SE has &lt;b&gt;Julafton"
	b.get("/console/jobs/reports/payroll").has(because, "→ 3 Dec")
	b.get("/console/jobs/reports/payroll/edit").has(because)
	b.get("/console/new?collection=reports&from=payroll").has(because)
}

func TestAFormReadsEnglish(t *testing.T) {
	t.Parallel()
	c, h := sweden(t)
	_, err := c.PutJob(t.Context(), "reports", "nightly", byCalendar(""))
	require.NoError(t, err)
	b := browse(t, h, console.Options{})
	const edit = nightly + "/edit"
	reads := func(values url.Values) *shown {
		return b.post(edit, edit, filled(t, b.get(edit), "f", values))
	}
	got := reads(url.Values{"english": {"the last Friday at 17:15 Europe/Stockholm"}, "do": {"read"}})
	got.has("Read as: <b>the last Friday of every month at 17:15, Europe/Stockholm</b>", `value="last friday"`, `value="Europe/Stockholm"`, `name="calendar" list="calendars" value="SE"`, "data-unsaved")
	got = reads(url.Values{"english": {"month end 17:00, but the working day before"}, "do": {"read"}})
	got.has("“but the working day before” may mean:", `value="month end 17:00, but the working day before in &#34;SE banks&#34;"`)
	got = reads(url.Values{"reading": {`month end 17:00, but the working day before in "SE banks"`}})
	got.has(`value="SE banks"`, `<option value="previousWorkingDay" selected>`, `name="monthDays" value="-1"`)
	got = reads(url.Values{"english": {"every <blue> moon"}, "do": {"read"}})
	got.has("&lt;blue&gt;&#34; is not understood", `id="e-english"`)
	require.Equal(t, http.StatusOK, reads(url.Values{"do": {"read"}}).status, "nothing to read")

	saved := b.post(edit, edit, filled(t, got, "f", url.Values{"english": {""}, "do": {"save"}}))
	require.True(t, strings.HasPrefix(saved.location, nightly))
}
