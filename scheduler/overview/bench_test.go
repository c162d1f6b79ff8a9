package overview_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/listing"
)

// busyTown has 10,000 jobs that are due once an hour, spread over it, and that ran in the hour before noon.
func busyTown(b *testing.B) *town {
	w := newTown(b)
	for i := range 10_000 {
		due := noon.Add(time.Duration(i) * time.Hour / 10_000).Truncate(time.Second)
		k := w.add("c", fmt.Sprintf("j%05d", i), every(job.Recurrence{Frequency: "hour", Interval: 1}, due.Add(time.Second).Format(time.RFC3339)))
		w.ran(k, due.Add(-time.Hour), 0, job.OutcomeCompleted)
	}
	return w
}

// What a page costs without the calls of Temporal, which answers here at once.
func BenchmarkFirstPageAcross10000Jobs(b *testing.B) {
	w := busyTown(b)
	v := w.overview(noon)
	for name, read := range map[string]func() (int, error){
		"upcoming": func() (int, error) {
			page, _, err := v.Upcoming(b.Context(), ofC, noon.Add(time.Hour), listing.Page{Top: 100})
			return len(page), err
		},
		"history": func() (int, error) {
			page, _, err := v.HistoryAcross(b.Context(), ofC, listing.Page{Top: 100, Filter: listing.Filter{Start: listing.Period{From: noon.Add(-time.Hour)}}})
			return len(page), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			_, err := read() // what follows is warm
			require.NoError(b, err)
			for b.Loop() {
				n, err := read()
				require.NoError(b, err)
				require.Equal(b, 100, n)
			}
		})
	}
}

// A page of 100 of 10,000 jobs, of which 500 are due every minute: what it costs in Temporal's client is left out.
func BenchmarkSummariesOf10000Jobs(b *testing.B) {
	w := newTown(b)
	for i := range 10_000 {
		r := job.Recurrence{Frequency: "hour", Interval: 1}
		if i%20 == 0 {
			r.Frequency = "minute"
		}
		k := w.add("c", fmt.Sprintf("j%05d", i), nil)
		start := noon.Add(-time.Duration(i) * time.Hour / 10_000).Truncate(time.Second)
		w.outline(k, job.Outline{
			Created: noon.Add(-48 * time.Hour), StartTime: job.NewTime(start), Recurrence: &r, State: job.StateEnabled,
			Generation: i + 1, Type: kind.HTTPS, Host: fmt.Sprintf("host%d.example.com", i%7),
		}, noon.Add(-time.Hour))
	}
	for name, q := range map[string]listing.SummaryQuery{
		"first page":      {},
		"search and sort": {Search: []string{"every", "host3"}, Sort: listing.SortNext},
		"by lateness":     {Sort: listing.SortLateness, Descending: true},
	} {
		q.Top = 100
		b.Run(name, func(b *testing.B) {
			now := noon
			v := w.overviewBy(func() time.Time { return now })
			for b.Loop() {
				now = now.Add(100 * time.Millisecond)
				found, err := v.Summaries(b.Context(), ofC, q)
				require.NoError(b, err)
				require.Len(b, found.Page, 100)
			}
		})
	}
}

func BenchmarkForecastOf10000Jobs(b *testing.B) {
	w := newTown(b)
	for i := range 10_000 {
		r := job.Recurrence{Frequency: "hour", Interval: 1}
		if i%20 == 0 {
			r.Frequency = "minute"
		}
		o := job.Outline{
			Created: noon.Add(-48 * time.Hour), StartTime: job.NewTime(noon.Add(-time.Duration(i) * time.Hour / 10_000).Truncate(time.Second)),
			Recurrence: &r, State: job.StateEnabled, Host: fmt.Sprintf("host%d.example.com", i%7),
		}
		w.outline(w.add("c", fmt.Sprintf("j%05d", i), nil), o, noon.Add(-time.Hour))
	}
	v := w.overview(noon)
	for window, step := range map[time.Duration]time.Duration{time.Hour: 10 * time.Second, 24 * time.Hour: time.Minute} {
		b.Run(window.String(), func(b *testing.B) {
			for b.Loop() {
				_, err := v.ForecastAcross(b.Context(), ofC, listing.ForecastQuery{From: noon, Until: noon.Add(window), Step: step})
				require.NoError(b, err)
			}
		})
	}
}

// How many of 10,000 jobs, most of which are daily, are due with each of the next 50 runs of one of them.
func BenchmarkOthersOf50RunsOf10000Jobs(b *testing.B) {
	w := newTown(b)
	for i := range 10_000 {
		start := noon.Add(-time.Duration(i%1440) * time.Minute)
		r := job.Recurrence{Frequency: "day", Interval: 1}
		switch i % 20 {
		case 0:
			r.Frequency = "minute"
		case 1, 2:
			r = job.Recurrence{Frequency: "week", Interval: 1, TimeZone: "Europe/Stockholm", Schedule: &job.Schedule{Hours: []int{2, 14}, Minutes: []int{30}}}
		case 3, 4:
			r.Frequency = "hour"
		}
		o := job.Outline{Created: noon.Add(-48 * time.Hour), StartTime: job.NewTime(start), Recurrence: &r, State: job.StateEnabled, Host: fmt.Sprintf("host%d.example.com", i%7)}
		w.outline(w.add("c", fmt.Sprintf("j%05d", i), nil), o, noon.Add(-time.Hour))
	}
	v := w.overview(noon)
	q := listing.ForecastQuery{From: noon, Until: noon, Step: 1}
	for i := range 50 {
		q.Times = append(q.Times, noon.Add(time.Duration(i)*24*time.Hour))
	}
	for b.Loop() {
		found, err := v.ForecastAcross(b.Context(), ofC, q)
		require.NoError(b, err)
		require.Len(b, found.Times, 50)
	}
}
