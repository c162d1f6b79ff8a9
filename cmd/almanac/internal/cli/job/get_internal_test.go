package job

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/client"
)

func TestARecurrenceIsShownAsItWasWritten(t *testing.T) {
	t.Parallel()
	meaning := client.Recurrence{Frequency: "week", Schedule: &client.Schedule{Hours: []int{9}}}
	cron, rule, zoned := meaning, meaning, meaning
	cron.Cron = "0 9 * * MON-FRI"
	rule.RRule = "FREQ=WEEKLY;BYHOUR=9"
	zoned.TimeZone = "Europe/Stockholm"
	require.Equal(t, "cron 0 9 * * MON-FRI", recurrenceText(&cron))
	require.Equal(t, "RRULE FREQ=WEEKLY;BYHOUR=9", recurrenceText(&rule))
	require.Equal(t, "every week, Europe/Stockholm, on a schedule", recurrenceText(&zoned))
	require.Equal(t, "once", recurrenceText(nil))
}
