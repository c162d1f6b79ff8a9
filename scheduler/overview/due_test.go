package overview_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/listing"
	"almanac/job/timetable"
)

func TestAForecastCountsWhatTheTimetablesHave(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		w := newTown(t)
		shop(w, rand.New(rand.NewPCG(seed, 7)), 120)
		q := listing.ForecastQuery{From: noon.Add(-time.Minute), Until: noon.Add(3 * time.Hour), Step: 10 * time.Second}
		q.Times = []time.Time{noon.Add(time.Hour), noon.Add(500 * time.Hour)}
		if seed == 1 {
			q.Host = "host1.example.com"
		}
		if seed == 2 {
			q.Except = collectionKey("c").Job(w.names["c"][3])
		}
		due, hosts, groups, steps, jobs := map[time.Time]int{}, map[string]int{}, map[string]int{}, map[time.Time]map[string]int{}, 0
		for name, jobsOf := range w.names {
			for _, j := range jobsOf {
				k := collectionKey(name).Job(j)
				o := w.outlines[k.WorkflowID()]
				if k == q.Except || q.Host != "" && o.Host != q.Host {
					continue
				}
				jobs++
				times, err := timetable.FromOutline(&o)
				require.NoError(t, err)
				for at, ok := times.After(q.From.Add(-time.Second)); ok && at.Before(noon.Add(600*time.Hour)) && !o.Inactive; at, ok = times.After(at) {
					due[at]++
					if at.Before(q.Until) {
						hosts[o.Host]++
						groups["g/"+name]++
						step := q.From.Add(at.Sub(q.From).Truncate(q.Step))
						if steps[step] == nil {
							steps[step] = map[string]int{}
						}
						steps[step][o.Host]++
					}
				}
			}
		}
		got, err := w.overview(noon).ForecastAcross(t.Context(), everything, q)
		require.NoError(t, err)
		require.Equal(t, q.Until, got.Until)
		require.Equal(t, []int{jobs, 0}, []int{got.Jobs, got.Unread})
		require.Equal(t, noon, got.AsOf)

		total, per := 0, map[time.Time]int{}
		for _, s := range got.Steps {
			total += s.Due
			require.Equal(t, due[s.FullestTime], s.Fullest)
			require.Equal(t, s.Host.Due, steps[s.Time][s.Host.Name])
			for _, n := range steps[s.Time] {
				require.LessOrEqual(t, n, s.Host.Due)
				per[s.Time] += n
			}
			require.Equal(t, per[s.Time], s.Due)
		}
		require.Len(t, got.Steps, len(steps))
		require.Equal(t, total, got.Due)
		for _, c := range got.Hosts {
			require.Equal(t, hosts[c.Name], c.Due)
		}
		for _, c := range got.Collections {
			require.Equal(t, groups[c.Name], c.Due)
		}
		var most []int
		for at, n := range due {
			if at.Before(q.Until) {
				most = append(most, n)
			}
		}
		slices.Sort(most)
		slices.Reverse(most)
		for i, f := range got.Fullest {
			require.Equal(t, most[i], f.Due, "the %d-fullest second", i)
			require.Equal(t, due[f.Time], f.Due)
		}
		for i, at := range q.Times {
			require.Equal(t, due[at], got.Times[i].Due, at)
		}
	}
}

func TestAForecastOfVeryManyOccurrencesEndsEarlierAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for i := range 2000 {
		o := job.Outline{Created: noon.Add(-time.Hour), Recurrence: &job.Recurrence{Frequency: "minute", Interval: 1}}
		w.outline(w.add("c", fmt.Sprint("j", i), nil), o, noon.Add(-time.Hour))
	}
	got, err := w.overview(noon).ForecastAcross(t.Context(), ofC, listing.ForecastQuery{From: noon, Until: noon.Add(7 * 24 * time.Hour), Step: time.Hour})
	require.NoError(t, err)
	require.Equal(t, noon.Add(1000*time.Minute), got.Until)
	require.Equal(t, 2_000_000, got.Due)
}
