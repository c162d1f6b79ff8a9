package jobloop_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/preview"
)

var edits = flag.Int("edits", 400, "how many random edits of a job are compared with what their previews say")

// randomProperties returns a definition as somebody might write it. Most have a time zone, so that the job shows its
// whole plan.
func randomProperties(r *rand.Rand, now time.Time) string {
	p := []string{`"action":{` + get + `}`}
	if r.IntN(3) > 0 {
		start := now.Add(time.Duration(r.IntN(400_000)-200_000) * time.Second)
		p = append(p, `"startTime":"`+start.UTC().Format([]string{time.RFC3339, "2006-01-02T15:04:05"}[r.IntN(2)])+`"`)
	}
	if r.IntN(8) == 0 {
		p = append(p, `"state":"disabled"`)
	}
	if r.IntN(12) > 0 {
		p = append(p, `"recurrence":{`+strings.Join(randomRecurrence(r, now), ",")+`}`)
	}
	return strings.Join(p, ",")
}

func randomRecurrence(r *rand.Rand, now time.Time) []string {
	frequency := []string{"minute", "hour", "day", "week", "month"}[r.IntN(5)]
	p := []string{`"frequency":"` + frequency + `"`, fmt.Sprintf(`"interval":%d`, 1+r.IntN(3))}
	if r.IntN(4) > 0 {
		p = append(p, `"timeZone":"`+[]string{"Europe/Stockholm", "America/New_York", "Australia/Lord_Howe"}[r.IntN(3)]+`"`)
	}
	if r.IntN(6) == 0 {
		p = append(p, fmt.Sprintf(`"count":%d`, 1+r.IntN(60)))
	}
	if r.IntN(8) == 0 {
		p = append(p, `"endTime":"`+now.Add(time.Duration(r.IntN(4_000_000))*time.Second).UTC().Format(time.RFC3339)+`"`)
	}
	var s []string
	if frequency != "minute" && frequency != "hour" && r.IntN(4) > 0 {
		s = append(s, fmt.Sprintf(`"hours":[%d,%d]`, r.IntN(12), 12+r.IntN(12)), fmt.Sprintf(`"minutes":[%d]`, r.IntN(60)))
	}
	if frequency == "week" && r.IntN(2) == 0 {
		s = append(s, `"weekDays":["monday","friday"]`)
	}
	if frequency == "month" && r.IntN(2) == 0 {
		s = append(s, fmt.Sprintf(`"monthDays":[%d,-1]`, 1+r.IntN(28)))
	}
	if len(s) > 0 {
		p = append(p, `"schedule":{`+strings.Join(s, ",")+`}`)
	}
	return p
}

// An edit is a change of a job, and the job before and after it.
type edit struct {
	properties    string
	at            time.Time
	before, after *job.Job
}

func TestAPreviewOfAChangeIsWhatTheJobThenPlans(t *testing.T) {
	t.Parallel()
	const perJob = 40
	compared, shown := 0, 0
	for seed := uint64(0); compared < *edits; seed++ {
		r := rand.New(rand.NewPCG(seed, 45))
		w := newJobEnv(t, randomProperties(r, newYear))
		var all []*edit
		at := time.Duration(0)
		for range perJob {
			at += time.Duration(1+r.IntN(7200))*time.Second + 100*time.Millisecond
			e := &edit{properties: randomProperties(r, newYear.Add(at)), at: newYear.Add(at)}
			e.before = w.snapshot(at - time.Millisecond)
			w.replace(at, e.properties)
			e.after = w.snapshot(at + time.Millisecond)
			all = append(all, e)
		}
		w.run(at + time.Second)
		for i, e := range all {
			if e.before.Key.Name == "" || e.after.Key.Name == "" { // the job has ended
				continue
			}
			compared++
			shown += requirePlanned(t, e, fmt.Sprintf("seed %d, edit %d: %s", seed, i, e.properties))
		}
	}
	require.GreaterOrEqual(t, compared, *edits)
	t.Logf("%d edits were compared, %d planned runs in all", compared, shown)
}

// requirePlanned requires that the runs of a preview are those that the job plans, and returns how many were compared.
func requirePlanned(t *testing.T, e *edit, what string) int {
	t.Helper()
	change := preview.Change{Job: e.before.At(e.at), New: e.after.Definition, Now: e.at, Take: 20}
	change.New.State = definition(t, e.properties).State // that of the job may be final
	got, _, err := change.After()
	require.NoError(t, err, what)
	got = slices.DeleteFunc(got, func(at time.Time) bool { return !at.After(e.at) }) // that has begun
	var want []time.Time
	after := e.after.At(e.at.Add(time.Millisecond))
	if next := after.Status.NextExecutionTime; next != nil {
		want = append(want, next.UTC())
	}
	for _, due := range after.Planned {
		if len(want) > 0 && due.After(want[len(want)-1]) {
			want = append(want, due.UTC())
		}
	}
	n := min(len(want), len(got))
	require.True(t, slices.EqualFunc(want[:n], got[:n], time.Time.Equal), "%s: %v and %v", what, want, got)
	require.Equal(t, len(want) == 0, len(got) == 0, "%s: whether any run follows: %v and %v", what, want, got)
	return n
}
