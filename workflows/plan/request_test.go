package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
	"almanac/job"
)

func TestAPlanRecordsWhatItsTimeZonesSaid(t *testing.T) {
	r := Request{
		Created: noon, Step: StepAfter, From: noon,
		Recurrence: &job.Recurrence{Frequency: "month", Interval: 1, TimeZone: "America/Vancouver", Schedule: &job.Schedule{Hours: []int{9}, Minutes: []int{0}, MonthDays: []int{1}}},
	}
	workflowtest.UseZones(t, "2026a", map[string]string{"America/Vancouver": "PST8PDT,M3.2.0,M11.1.0"})
	first, err := r.Answer()
	require.NoError(t, err)
	require.Equal(t, []string{"01-01 17:00:00", "02-01 17:00:00"}, shown(first.Due))
	require.Equal(t, "2026a", first.Zone.Release)
	require.Equal(t, []Offset{{From: noon.Unix(), Seconds: -8 * 3600}}, first.Zone.Offsets)

	r.Zone, r.From, r.Next = first.Zone, first.Due[0], first.Due[1]
	r.Times = []time.Time{first.Due[0], {}}
	workflowtest.UseZones(t, "2026b", map[string]string{"America/Vancouver": "MST7"})
	newer, err := r.Answer()
	require.NoError(t, err)
	require.Equal(t, []string{"02-01 16:00:00", "03-01 16:00:00"}, shown(newer.Due), "January is decided")
	require.Equal(t, &Moved{Release: "2026a", Times: []time.Time{at(t, "01-01 16:00:00"), {}}, Was: first.Due[1], Is: newer.Due[0]}, newer.Moved)

	r.Zone, r.From = newer.Zone, newer.Due[0]
	workflowtest.UseZones(t, "2026a", map[string]string{"America/Vancouver": "PST8PDT,M3.2.0,M11.1.0"})
	older, err := r.Answer()
	require.NoError(t, err)
	require.Equal(t, Plan{Behind: "2026a"}, older)

	workflowtest.UseZones(t, "2026a", map[string]string{"America/Vancouver": "MST7"})
	same, err := r.Answer()
	require.NoError(t, err, "an older release that says the same of the zone may plan")
	require.Equal(t, []string{"03-01 16:00:00", "04-01 16:00:00"}, shown(same.Due))
	require.Equal(t, "2026b", same.Zone.Release, "no release is forgotten")
	require.Nil(t, same.Moved)
}

func TestAnotherZoneIsNoOtherRelease(t *testing.T) {
	workflowtest.UseZones(t, "2026a", map[string]string{"America/Vancouver": "PST8", "Europe/Stockholm": "CET-1"})
	r := Request{
		Created: noon, Step: StepAfter, From: at(t, "01-01 17:00:00"), Zone: &Zone{Name: "America/Vancouver", Release: "2026a", Rules: "others", Offsets: []Offset{{Seconds: -8 * 3600}}},
		Recurrence: &job.Recurrence{Frequency: "day", Interval: 1, TimeZone: "Europe/Stockholm", Schedule: &job.Schedule{Hours: []int{19}, Minutes: []int{0}}},
	}
	p, err := r.Answer()
	require.NoError(t, err)
	require.Nil(t, p.Moved)
	require.Equal(t, "01-01 18:00:00", shown(p.Due)[0])
}

func TestAPlanWithoutLocalTimesRecordsNoTimeZone(t *testing.T) {
	t.Parallel()
	for _, r := range []job.Recurrence{
		{Frequency: "day", Interval: 1},
		{Frequency: "day", Interval: 1, TimeZone: "UTC"},
		{Frequency: "hour", Interval: 1, TimeZone: "America/Vancouver"},
	} {
		p, err := (&Request{Created: noon, Step: StepFirst, From: noon.Add(-time.Second), Recurrence: &r}).Answer()
		require.NoError(t, err)
		require.Nil(t, p.Zone)
	}
}
