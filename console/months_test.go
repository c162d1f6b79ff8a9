package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/job"
)

func TestTheCalendarOfAJobSaysWhenTheClockChangesAndHowFarItGoes(t *testing.T) {
	t.Parallel()
	next := time.Date(2027, 3, 20, 1, 30, 0, 0, time.UTC)
	c, h := stored(t, &apitest.Memory{Status: func(job.Key) job.Status { return job.Status{NextExecutionTime: job.NewTime(next)} }})
	b := browse(t, h, console.Options{})
	put := func(r client.Recurrence) {
		of := daily()
		of.StartTime, of.Recurrence = "2027-03-20", &r
		_, err := c.PutJob(t.Context(), "reports", "nightly", of)
		require.NoError(t, err)
	}
	put(client.Recurrence{Frequency: "day", TimeZone: "Europe/Stockholm", Schedule: &client.Schedule{Hours: []int{2, 14}, Minutes: []int{30}}})
	b.get("/console/jobs/reports/nightly").has("<caption>March 2027</caption>", "<caption>April 2027</caption>",
		`<td class="dst"><span class="d">28<span class="vh">, the clock changes</span></span>`, "the clock of Europe/Stockholm changes",
		"The calendar has the next 50 runs, which is until 13 April.").lacks("<caption>May 2027</caption>")

	put(client.Recurrence{Frequency: "week", Schedule: &client.Schedule{WeekDays: []string{"monday"}, Hours: []int{7}, Minutes: []int{0}}})
	b.get("/console/jobs/reports/nightly").has("<caption>March 2027</caption>").lacks("the clock of", "The calendar has the next 50 runs")

	put(client.Recurrence{Frequency: "minute"})
	b.get("/console/jobs/reports/nightly").has("The next runs").lacks(`class="cal"`)
}
