package console_test

import (
	"fmt"
	"testing"
	"time"

	"almanac/console"
	"almanac/internal/apitest"
	"almanac/job"
	"almanac/job/preview"
)

func TestACalendarShowsWhoUsesItAndWhatItMovesAndSkips(t *testing.T) {
	t.Parallel()
	scope := job.SubscriptionScope(job.NilSubscription)
	m := &apitest.Memory{Kept: []job.KeptCalendar{{Key: scope.Calendar("SE"), Version: 3, Generation: 3, Calendar: job.Calendar{WeekendDays: []string{}}}}}
	_, h := stored(t, m)
	b := browse(t, h, console.Options{})
	const page = "/console/calendars?name=SE&scope="
	b.get(page).has("Who uses it", "No job uses it.")

	key := func(group, name string) job.Key {
		return job.CollectionKey{Subscription: job.NilSubscription, ResourceGroup: group, Name: "reports"}.Job(name)
	}
	by := &job.CalendarDay{Name: "SE", Version: 3, Day: "<b>Juldagen"}
	until := now.AddDate(0, 0, 90)
	day := time.Date(2026, 12, 25, 8, 0, 0, 0, time.UTC)
	at := func(days int) time.Time { return day.AddDate(0, 0, days) }
	m.Used = []preview.Usage{
		{Key: key("default", "a"), OnMatch: "previousWorkingDay", State: job.StateEnabled, Until: until, Adjustments: []preview.Adjustment{{Nominal: day, Due: at(-2), Count: 1, By: by}}},
		{Key: key("billing", "b"), OnMatch: "skip", State: job.StateEnabled, Until: at(3), Adjustments: []preview.Adjustment{
			{Nominal: day, Count: 24, By: by}, {Nominal: at(1), Count: 1, By: by}, {Nominal: at(2), Count: 1, By: by}, {Nominal: at(3), Count: 1, By: by},
		}},
		{Key: key("default", "c"), OnMatch: "only", State: job.StateEnabled, Idle: "Its job collection is disabled.", Until: until},
		{Key: key("default", "d"), Unread: "it did not answer in time"},
	}
	b.get(page).has(`href="/console/jobs/reports/a"`, "it moves to the working day before", "Fri 25 Dec → Wed 23 Dec, &lt;b&gt;Juldagen", `resourceGroups/billing/jobs/reports/b"`,
		"Fri 25 Dec: 24 skipped, &lt;b&gt;Juldagen", "Sat 26 Dec skipped", "and 1 more", "Looked at to", "Its job collection is disabled.", "it did not answer in time").lacks("More jobs")
	for i := range 100 {
		m.Used = append(m.Used, preview.Usage{Key: key("default", fmt.Sprintf("e%02d", i)), OnMatch: "skip", State: job.StateEnabled, Until: until})
	}
	b.get(page).has("More jobs").lacks("e99")
	b.get(page+"&users=e99").has("No more jobs.", "First jobs")
}
