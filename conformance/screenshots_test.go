package conformance_test

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	calls "almanac/client"
)

// keepScreenshots is the variable of the environment that names a directory: the pictures are stored there. The ones of
// the README are made by ALMANAC_SCREENSHOTS=$PWD/../docs/images go test -run TestScreenshots .
const keepScreenshots = "ALMANAC_SCREENSHOTS"

// maxScreenshot is how large a picture of the README may be, in bytes.
const maxScreenshot = 200_000

// TestScreenshots makes the pictures of the README, of a server with the jobs of three teams.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	target := newReceiver(t)
	base := startNode(t, "--ui-listen", "").addresses["API"]
	c, err := calls.New(base, calls.Options{})
	require.NoError(t, err)
	s := &consoleTest{base: base, target: target.URL, client: c, browser: browse(t)}
	s.teams(t)
	ctx := s.tab(t)
	for _, picture := range []struct{ file, scheme, path, ready string }{
		{"home-light.png", "light", "/", `document.querySelector('.say').innerText.startsWith('2 of 12 jobs')`},
		{"home-dark.png", "dark", "/", `document.querySelector('.say').innerText.startsWith('2 of 12 jobs')`},
		{"jobs-light.png", "light", "/jobs", `[...document.querySelectorAll('td.bars')].every(bars => bars.querySelector('svg').getAttribute('aria-label') !== 'No run yet')`},
		{"job-light.png", "light", "/jobs/billing/ledger-export", `document.body.innerText.includes('not today')`},
		{"edit-light.png", "light", "/jobs/billing/invoices/edit", `document.body.innerText.includes('Next runs')`},
	} {
		prefer(ctx, t, "prefers-color-scheme", picture.scheme)
		do(ctx, t, chromedp.EmulateViewport(1280, 800))
		await(t, picture.file+" as it is to be", func() bool {
			s.open(ctx, t, picture.path) // what is listed may be some seconds old
			return on(ctx, t, chromedp.Evaluate[bool](picture.ready))
		})
		holds(ctx, t, `document.fonts.status === 'loaded' && document.readyState === 'complete'`)
		quiet(ctx, t)
		s.keep(ctx, t, picture.file)
	}
}

// keep takes a picture of what is seen of a page, and stores it if that is asked for.
func (s *consoleTest) keep(ctx context.Context, t *testing.T, file string) {
	t.Helper()
	taken, err := png.Decode(bytes.NewReader(on(ctx, t, chromedp.CaptureScreenshot())))
	require.NoError(t, err)
	var small bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, taken))
	require.Equal(t, 1280, taken.Bounds().Dx())
	require.LessOrEqual(t, small.Len(), maxScreenshot, file)
	if dir := os.Getenv(keepScreenshots); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), small.Bytes(), 0o644))
	}
}

// teams stores the jobs of three teams, of which some have run, and some failed.
func (s *consoleTest) teams(t *testing.T) {
	t.Helper()
	at := func(frequency string, sch calls.Schedule) *calls.Recurrence {
		return &calls.Recurrence{Frequency: frequency, Schedule: &sch, TimeZone: "Europe/Stockholm"}
	}
	daily := func(hours ...int) *calls.Recurrence {
		return at("day", calls.Schedule{Hours: hours, Minutes: []int{0}})
	}
	minutely := func(interval int) *calls.Recurrence {
		return &calls.Recurrence{Frequency: "minute", Interval: interval}
	}
	lastFriday := at("month", calls.Schedule{
		MonthlyOccurrences: []calls.MonthlyOccurrence{{Day: "friday", Occurrence: -1}}, Hours: []int{17}, Minutes: []int{15},
	})
	var ran []string
	for _, j := range []struct {
		collection, name string
		path             string
		recurrence       *calls.Recurrence
		runs             int
	}{
		{"billing", "dunning-letters", "/letters", at("week", calls.Schedule{WeekDays: []string{"monday"}, Hours: []int{8}, Minutes: []int{0}}), 2},
		{"billing", "exchange-rates", "/rates", minutely(15), 5}, {"billing", "invoices", "/invoices", lastFriday, 3},
		{"billing", "ledger-export", "/fails", daily(2, 14), 4}, {"billing", "payment-reminders", "/reminders", daily(9), 3},
		{"reports", "churn", "/churn", daily(3), 2}, {"reports", "daily-sales", "/sales", daily(6), 4},
		{"reports", "month-end", "/close", at("month", calls.Schedule{MonthDays: []int{-1}, Hours: []int{22}, Minutes: []int{30}}), 1},
		{"shop", "cache-warmer", "/warm", minutely(5), 5}, {"shop", "price-sync", "/prices", minutely(10), 5},
		{"shop", "search-index", "/fails", minutely(30), 3}, {"shop", "stock-levels", "/stock", minutely(2), 5},
	} {
		s.jobs(t, j.collection)
		of := calls.JobProperties{
			StartTime: "2026-01-01T00:00:00", Recurrence: j.recurrence,
			Action: calls.Action{
				Type: "Http", RetryPolicy: &calls.RetryPolicy{RetryType: "none"},
				Request: &calls.Request{URI: s.target + j.path, Method: "POST"},
			},
		}
		_, err := s.client.PutJob(t.Context(), j.collection, j.name, of)
		require.NoError(t, err)
		for range j.runs {
			execution, err := s.client.RunJob(t.Context(), j.collection, j.name)
			require.NoError(t, err)
			ran = append(ran, j.collection, j.name, execution)
		}
	}
	for ; len(ran) > 0; ran = ran[3:] {
		await(t, "end of a run", func() bool {
			e, err := s.client.Execution(t.Context(), ran[0], ran[1], ran[2])
			return err == nil && e.Properties.Status == calls.Ended
		})
	}
	_, err := s.client.DisableJob(t.Context(), "reports", "churn",
		calls.Pause{Note: "the warehouse moves", Until: time.Now().Add(60 * time.Hour).Truncate(time.Hour)})
	require.NoError(t, err)
}
