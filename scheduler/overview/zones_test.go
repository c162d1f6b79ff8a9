package overview_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/timetable"
)

// pacific and mountain are what two releases say of America/Vancouver: 9:00 is 17:00 or 16:00 UTC there.
var (
	pacific  = map[string]string{"America/Vancouver": "PST8"}
	mountain = map[string]string{"America/Vancouver": "MST7"}
)

// dailyInVancouver returns the definition of a job that is due at the given hours there.
func dailyInVancouver(hours ...int) *job.Recurrence {
	return &job.Recurrence{
		Frequency: "day", Interval: 1, TimeZone: "America/Vancouver", Schedule: &job.Schedule{Hours: hours, Minutes: []int{0}},
	}
}

func TestNoLocalTimeComesTwiceOrIsLeftOutIfTheWorkerThatPlannedHasOtherTimeZones(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ours    map[string]string
		hours   []int
		planned []string
		count   int
		want    []string
	}{
		{"an hour earlier", pacific, []int{9}, []string{"2026-03-01T09:00:00-07:00", "2026-03-02T09:00:00-07:00"}, 0,
			[]string{"03-01 16:00", "03-02 16:00", "03-03 17:00", "03-04 17:00"}},
		{"an hour later", mountain, []int{9}, []string{"2026-03-01T09:00:00-08:00", "2026-03-02T09:00:00-08:00"}, 0,
			[]string{"03-01 17:00", "03-02 17:00", "03-03 16:00", "03-04 16:00"}},
		{"two hours, earlier", pacific, []int{9, 10}, []string{"2026-03-01T09:00:00-07:00", "2026-03-01T10:00:00-07:00"}, 0,
			[]string{"03-01 16:00", "03-01 17:00", "03-02 17:00", "03-02 18:00", "03-03 17:00", "03-03 18:00", "03-04 17:00", "03-04 18:00"}},
		{"two hours, later", mountain, []int{9, 10}, []string{"2026-03-01T09:00:00-08:00", "2026-03-01T10:00:00-08:00"}, 0,
			[]string{"03-01 17:00", "03-01 18:00", "03-02 16:00", "03-02 17:00", "03-03 16:00", "03-03 17:00", "03-04 16:00", "03-04 17:00"}},
		{"three are left", pacific, []int{9}, []string{"2026-03-01T09:00:00-07:00", "2026-03-02T09:00:00-07:00"}, 3,
			[]string{"03-01 16:00", "03-02 16:00", "03-03 17:00"}},
		{"the same time zones", mountain, []int{9}, []string{"2026-03-01T09:00:00-07:00"}, 0,
			[]string{"03-01 16:00", "03-02 16:00", "03-03 16:00", "03-04 16:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			workflowtest.UseZones(t, "2026a", tt.ours)
			w := newTown(t)
			w.add("c", "j", func(j *job.Job) {
				j.Definition.Recurrence = dailyInVancouver(tt.hours...)
				j.Definition.Recurrence.Count = tt.count
				for _, due := range tt.planned {
					j.Planned = append(j.Planned, at(due))
				}
				j.Status.NextExecutionTime = job.NewTime(j.Planned[0])
			})
			var want []string
			for _, due := range tt.want {
				want = append(want, "c/j "+due)
			}
			for _, top := range []int{1, 2, 100} {
				require.Equal(t, want, dueOn(t, w.overview(noon), ofC, noon.Add(80*time.Hour), listing.Page{Top: top}), "by %d", top)
			}
		})
	}
}

// A list across many jobs plans from their outlines. One that was made by other rules says nothing about when the job
// is due.
func TestAJobThatWasPlannedWithOtherTimeZonesIsAskedAlthoughItHasAnOutline(t *testing.T) {
	workflowtest.UseZones(t, "2026b", mountain)
	o := job.Outline{Created: noon.Add(-time.Hour), Recurrence: dailyInVancouver(9), Zones: "2026b", ZoneRules: rulesOfVancouver(t)}
	workflowtest.UseZones(t, "2026a", pacific)
	w := newTown(t)
	for i := range manyJobs {
		k := w.add("c", fmt.Sprint("job", i), func(j *job.Job) { j.Definition.Recurrence = &job.Recurrence{Frequency: "day", Interval: 1} })
		w.outlines[k.WorkflowID()] = job.Outline{Created: noon.Add(-time.Hour), StartTime: job.NewTime(noon.Add(72 * time.Hour)), Recurrence: &job.Recurrence{Frequency: "day", Interval: 1}}
	}
	k := w.add("c", "moved", func(j *job.Job) {
		j.Definition.Recurrence = dailyInVancouver(9)
		j.Planned = []time.Time{at("2026-03-01T09:00:00-07:00"), at("2026-03-02T09:00:00-07:00")}
		j.Status.NextExecutionTime = job.NewTime(j.Planned[0])
	})
	w.outlines[k.WorkflowID()] = o
	require.Equal(t, []string{"c/moved 03-01 16:00", "c/moved 03-02 16:00"}, dueOn(t, w.overview(noon), ofC, noon.Add(48*time.Hour), listing.Page{Top: 9}))

	yesterday := noon.Add(-20 * time.Hour) // 16:00 UTC, when it was due
	w.ran(k, yesterday, 0, job.OutcomeCompleted)
	o.Created = noon.Add(-100 * time.Hour)
	w.outlines[k.WorkflowID()] = o
	page, _, err := w.overview(noon).HistoryAcross(t.Context(), ofC, listing.Page{Top: 9})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, "moved", page[0].Key.Name)
}

// rulesOfVancouver returns what outlines say of the zone that is in use.
func rulesOfVancouver(t *testing.T) string {
	t.Helper()
	p, err := timetable.Of(&job.Definition{Recurrence: dailyInVancouver(9)}, noon)
	require.NoError(t, err)
	_, rules := p.Zone()
	require.NotEmpty(t, rules)
	return rules
}
