package plan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/timetable"
)

// at parses a time in 2026, such as "01-01 12:00:00".
func at(t *testing.T, s string) time.Time {
	t.Helper()
	out, err := time.Parse("2006-01-02 15:04:05", "2026-"+s)
	require.NoError(t, err)
	return out
}

func shown(times []time.Time) []string {
	out := []string{}
	for _, t := range times {
		out = append(out, t.Format("01-02 15:04:05"))
	}
	return out
}

// planOf compiles a job created at noon. rule is its recurrence as JSON without braces; "" for a
// one-time job.
func planOf(t *testing.T, rule string) *timetable.Timetable {
	t.Helper()
	properties := `"action":{"type":"Http","request":{"uri":"http://127.0.0.1/","method":"GET"}}`
	if rule != "" {
		properties += `,"recurrence":{` + rule + `}`
	}
	d, err := input.ParseDefinition([]byte(`{"properties":{`+properties+`}}`), input.ParseOptions{Now: noon})
	require.NoError(t, err)
	p, err := timetable.New(&d, noon, noon)
	require.NoError(t, err)
	return p
}

const (
	minutely = `"frequency":"minute"`
	daily    = `"frequency":"day","schedule":{"hours":[9]}`
)

func TestAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, rule, after string
		want              []string
		done              bool
	}{
		{"gives the occurrences after an instant", `"frequency":"minute","interval":720`, "01-01 12:00:00",
			[]string{
				"01-02 00:00:00", "01-02 12:00:00", "01-03 00:00:00", "01-03 12:00:00", "01-04 00:00:00", "01-04 12:00:00", "01-05 00:00:00", "01-05 12:00:00",
				"01-06 00:00:00", "01-06 12:00:00", "01-07 00:00:00", "01-07 12:00:00", "01-08 00:00:00", "01-08 12:00:00", "01-09 00:00:00",
			}, false},
		{"looks no further than a week", `"frequency":"day","interval":5`, "01-01 12:00:00", []string{"01-06 12:00:00", "01-11 12:00:00"}, false},
		{"but always gives two", `"frequency":"month"`, "01-01 12:00:00", []string{"02-01 12:00:00", "03-01 12:00:00"}, false},
		{"starts with the run at once", daily, "01-01 11:59:59",
			[]string{"01-01 12:00:00", "01-02 09:00:00", "01-03 09:00:00", "01-04 09:00:00", "01-05 09:00:00", "01-06 09:00:00", "01-07 09:00:00", "01-08 09:00:00"}, false},
		{"says that none follows", `"frequency":"hour","endTime":"2026-01-01T14:00:00Z"`, "01-01 12:00:00",
			[]string{"01-01 13:00:00", "01-01 14:00:00"}, true},
		{"says that there is none", `"frequency":"hour","endTime":"2026-01-01T14:00:00Z"`, "01-01 14:00:00", []string{}, true},
		{"gives the only run of a job that runs once", "", "01-01 11:59:59", []string{"01-01 12:00:00"}, true},
		{"gives none after that", "", "01-01 12:00:00", []string{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := After(planOf(t, tt.rule), at(t, tt.after))
			require.Equal(t, tt.want, shown(got.Due))
			require.Equal(t, tt.done, got.Done)
			require.Nil(t, got.Dropped)
			require.False(t, got.More)
		})
	}
	t.Run("gives no more than a handful", func(t *testing.T) {
		t.Parallel()
		got := After(planOf(t, minutely), noon)
		require.Len(t, got.Due, planAhead)
		require.Equal(t, noon.Add(planAhead*time.Minute), got.Due[planAhead-1])
	})
}

func TestANewJobRunsAtOnceButNotOneThatWasChanged(t *testing.T) {
	t.Parallel()
	before := noon.Add(-time.Second)
	for _, tt := range []struct{ name, rule, first, on string }{
		{"with a schedule", daily, "01-01 12:00:00", "01-02 09:00:00"},
		{"whose grid has the instant", minutely, "01-01 12:00:00", "01-01 12:00:00"},
		{"that runs once", "", "01-01 12:00:00", "01-01 12:00:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := planOf(t, tt.rule)
			require.Equal(t, tt.first, shown(First(p).Due)[0])
			require.Equal(t, tt.on, shown(Anew(p, before).Due)[0])
		})
	}
	t.Run("that has no occurrence", func(t *testing.T) {
		t.Parallel()
		p := planOf(t, `"frequency":"day","endTime":"2025-01-01T00:00:00Z"`)
		require.Equal(t, Plan{Done: true}, First(p))
		require.Equal(t, Plan{Done: true}, Anew(p, before))
	})
}

func TestDrop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, rule, after, until string
		dropped                  []string
		next                     string
	}{
		{"drops up to and including the last instant", minutely, "01-01 12:00:00", "01-01 12:03:00",
			[]string{"01-01 12:01:00", "01-01 12:02:00", "01-01 12:03:00"}, "01-01 12:04:00"},
		{"leaves the one a second later", minutely, "01-01 12:00:00", "01-01 12:02:59",
			[]string{"01-01 12:01:00", "01-01 12:02:00"}, "01-01 12:03:00"},
		{"drops none where none is", minutely, "01-01 12:00:00", "01-01 12:00:59", nil, "01-01 12:01:00"},
		{"drops none that was decided", minutely, "01-01 12:00:00", "01-01 11:00:00", nil, "01-01 12:01:00"},
		{"drops the last of all", `"frequency":"minute","endTime":"2026-01-01T12:02:00Z"`, "01-01 12:00:00", "01-01 13:00:00",
			[]string{"01-01 12:01:00", "01-01 12:02:00"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Drop(planOf(t, tt.rule), at(t, tt.after), at(t, tt.until), job.OutcomeSkipped, "so it is")
			require.False(t, got.More)
			require.Equal(t, tt.next == "", got.Done)
			if !got.Done {
				require.Equal(t, tt.next, shown(got.Due)[0])
			}
			if tt.dropped == nil {
				require.Nil(t, got.Dropped)
				return
			}
			require.Equal(t, tt.dropped, shown(got.Dropped.Newest))
			require.Equal(t, len(tt.dropped), got.Dropped.Count)
			require.Equal(t, job.OutcomeSkipped, got.Dropped.Outcome)
			require.Equal(t, "so it is", got.Dropped.Why)
		})
	}
}

func TestDropTakesBoundedSteps(t *testing.T) {
	t.Parallel()
	const total = 5 * 365 * 24 * 60
	p, until := planOf(t, minutely), noon.Add(total*time.Minute)
	steps, count, after := 0, 0, noon
	for more := true; more; steps++ {
		got := Drop(p, after, until, job.OutcomeMissed, "")
		require.LessOrEqual(t, got.Dropped.Count, maxSweep)
		require.LessOrEqual(t, len(got.Dropped.Newest), maxListed)
		require.Equal(t, after.Add(time.Minute), got.Dropped.First)
		count += got.Dropped.Count
		after, more = got.Dropped.Last, got.More
	}
	require.Equal(t, total, count)
	require.Equal(t, until, after)
	require.Equal(t, int(math.Ceil(float64(total)/maxSweep)), steps)
}

func TestAStepThatDropsEverythingIsTheLast(t *testing.T) {
	t.Parallel()
	for n, more := range map[int]bool{maxSweep - 1: false, maxSweep: false, maxSweep + 1: true} {
		got := Drop(planOf(t, minutely), noon, noon.Add(time.Duration(n)*time.Minute), job.OutcomeMissed, "")
		require.Equal(t, more, got.More, "%d occurrences", n)
		require.Equal(t, min(n, maxSweep), got.Dropped.Count)
	}
}

func TestTheCatchUpWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, rule, decided, now string
		window                   time.Duration
		first                    string // the first occurrence not missed
	}{
		{"that holds none leaves the latest", daily, "01-01 12:00:00", "01-05 12:00:00", time.Hour, "01-05 09:00:00"},
		{"that holds one leaves that", daily, "01-01 12:00:00", "01-05 12:00:00", 4 * time.Hour, "01-05 09:00:00"},
		{"that holds several leaves them", daily, "01-01 12:00:00", "01-05 12:00:00", 3 * 24 * time.Hour, "01-03 09:00:00"},
		{"that begins with an occurrence holds it", daily, "01-01 12:00:00", "01-05 12:00:00", 27 * time.Hour, "01-04 09:00:00"},
		{"that begins a second after one does not", daily, "01-01 12:00:00", "01-05 12:00:00", 27*time.Hour - time.Second, "01-05 09:00:00"},
		{"that holds all leaves all", daily, "01-01 12:00:00", "01-05 12:00:00", 60 * 24 * time.Hour, "01-02 09:00:00"},
		{"that begins with the last one decided leaves all", minutely, "01-01 12:00:00", "01-01 12:10:00", 10 * time.Minute, "01-01 12:01:00"},
		{"of no length leaves the latest", minutely, "01-01 12:00:00", "01-01 12:10:30", 0, "01-01 12:10:00"},
		{"of no length holds what is due right now", minutely, "01-01 12:00:00", "01-01 12:10:00", 0, "01-01 12:10:00"},
		{"of no length a second before leaves the one before", minutely, "01-01 12:00:00", "01-01 12:09:59", 0, "01-01 12:09:00"},
		{"of a second holds what was due a second ago", minutely, "01-01 12:00:00", "01-01 12:10:01", time.Second, "01-01 12:10:00"},
		{"leaves the last before the end time", `"frequency":"minute","endTime":"2026-01-01T12:05:00Z"`, "01-01 12:00:00", "01-01 14:00:00", time.Hour, "01-01 12:05:00"},
		{"leaves the last of sparse ones", `"frequency":"month"`, "01-01 12:00:00", "12-31 00:00:00", 0, "12-01 12:00:00"},
		{"leaves the only one", "", "01-01 11:59:59", "01-01 14:00:00", 0, "01-01 12:00:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, decided, now := planOf(t, tt.rule), at(t, tt.decided), at(t, tt.now)
			until := MissedUntil(p, decided, now, tt.window)
			got := Drop(p, decided, until, job.OutcomeMissed, "")
			require.Equal(t, tt.first, shown(got.Due)[0])
			require.False(t, got.Due[0].After(now), "one is always left to run")
		})
	}
}
