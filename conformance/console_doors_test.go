package conformance_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	calls "almanac/client"
)

// set gives a field a value once it is there, as someone does who chooses it.
func set(ctx context.Context, t *testing.T, field, value string) {
	t.Helper()
	holds(ctx, t, `document.querySelector('`+field+`') !== null`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`{const e = document.querySelector('`+field+`'); e.value = '`+value+`'; e.dispatchEvent(new InputEvent('input', {bubbles: true}))}`))
}

// jobIsPaused pauses a job until a Monday: its page says first what that holds. Then the pause is ended.
func jobIsPaused(t *testing.T, s *consoleTest) {
	s.jobs(t, "pausing", "nightly")
	const hostile = `"><script>window.owned=1</script>`
	for _, scripts := range []bool{true, false} {
		ctx := s.tab(t)
		s.scripts(ctx, t, scripts)
		s.open(ctx, t, "/jobs/pausing/nightly")
		press(ctx, t, chromedp.Click(chromedp.Search(`//a[text()='Pause…']`)))
		says(ctx, t, "has no entry in the history")
		fill(ctx, t, "#p-note", hostile)
		set(ctx, t, "#p-recover", "latest")
		press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Monday 06:00']`)))
		says(ctx, t, "would be held: at its end 1 of them would run")
		says(ctx, t, "runs when the pause ends")
		require.NotContains(t, []string{""}, on(ctx, t, chromedp.Evaluate[string](`document.querySelector('[name=listed]').value`)))
		click(ctx, t, "button[value=go]")
		says(ctx, t, "It is paused until")
		says(ctx, t, hostile)
		require.False(t, on(ctx, t, chromedp.Evaluate[bool](`'owned' in window`)))
		quiet(ctx, t)
		stored, err := s.client.Job(t.Context(), "pausing", "nightly")
		require.NoError(t, err)
		as := stored.Properties.Status.Disabled
		require.NotNil(t, as)
		require.Equal(t, calls.RecoverLatest, as.Recover)
		require.Equal(t, hostile, as.Note)
		require.Equal(t, time.Monday, as.Until.Weekday())
		for _, path := range []string{"/", "/jobs/pausing", "/jobs/pausing/nightly/resume"} {
			s.open(ctx, t, path)
			says(ctx, t, "script>")
			holds(ctx, t, `document.querySelector('time[data-rel=end]')`)
			require.False(t, on(ctx, t, chromedp.Evaluate[bool](`'owned' in window`)), path)
			quiet(ctx, t)
		}
		says(ctx, t, "Nothing is held, so nothing runs at once.")
		click(ctx, t, "button[value=go]")
		says(ctx, t, "What was to run of what was held begins now.")
	}
}

// collectionIsPaused pauses a collection and jobs that are selected, each with a promise.
func collectionIsPaused(t *testing.T, s *consoleTest) {
	s.jobs(t, "team", "a", "b")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/team")
	press(ctx, t, chromedp.Click(chromedp.Search(`//a[text()='Pause collection…']`)))
	set(ctx, t, "#p-recover", "all")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Tomorrow 06:00']`)))
	says(ctx, t, "runs would be held: at its end") // one each at 02:30, or two before that time of the day
	click(ctx, t, "button[value=go]")
	says(ctx, t, "It is paused until")
	of, err := s.client.Collection(t.Context(), "team")
	require.NoError(t, err)
	require.Equal(t, calls.RecoverAll, of.Properties.Disabled.Recover)
	press(ctx, t, chromedp.Click(chromedp.Search(`//a[text()='Enable collection…']`)))
	says(ctx, t, "as was promised: all that it holds runs")
	click(ctx, t, "button[value=go]")
	says(ctx, t, "Collection enabled")

	holds(ctx, t, `!document.querySelector('[data-select]').hidden`)
	click(ctx, t, `input[name=job][value=a]`)
	click(ctx, t, `.bulk button[value=disable]`)
	says(ctx, t, "Pause: 1 job of team?")
	set(ctx, t, "#p-recover", "latest")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Tomorrow 06:00']`)))
	says(ctx, t, "would be held")
	click(ctx, t, "main form button.btn-1")
	says(ctx, t, "1 done")
	j, err := s.client.Job(t.Context(), "team", "a")
	require.NoError(t, err)
	require.Equal(t, calls.RecoverLatest, j.Properties.Status.Disabled.Recover)
	quiet(ctx, t)
}

// lastWeekRunsAgain runs what was due in a week, slowly, pauses that, and ends it.
func lastWeekRunsAgain(t *testing.T, s *consoleTest) {
	s.jobs(t, "again", "nightly")
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/again/nightly")
	click(ctx, t, "main details.menu summary")
	press(ctx, t, chromedp.Click(chromedp.Search(`//a[text()='Backfill…']`)))
	holds(ctx, t, `document.querySelector('#b-until').value !== ''`)
	fill(ctx, t, "#b-every", "3600")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='The last 7 days']`)))
	says(ctx, t, "occurrences would run.")
	click(ctx, t, "button[value=go]")
	says(ctx, t, "Running:")
	says(ctx, t, "1 at once, 1 h apart at least")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Pause']`)))
	says(ctx, t, "Paused:")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Resume']`)))
	says(ctx, t, "Running:")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='End it']`)))
	says(ctx, t, "Ended early:")
	quiet(ctx, t)
	all, err := s.client.Backfills(t.Context(), "again", "nightly")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "ended", all[0].Properties.State)
}

// prunedJobIsRestored takes a job back that the files of its owner do not have any more.
func prunedJobIsRestored(t *testing.T, s *consoleTest) {
	const owner = "5d9ae2b6-5f3c-4d0f-9c8e-2f1f5b7c0a11"
	s.jobs(t, "files")
	_, err := s.client.BindOwner(t.Context(), "files", calls.Owner{ID: owner, Collections: []string{"files"}}, false)
	require.NoError(t, err)
	_, err = s.client.PutOwnedJob(t.Context(), "files", "nightly", owner, false, []byte(`{"properties":{"action":{"type":"Http","request":{"uri":"`+s.target+`","method":"GET"}},"recurrence":{"frequency":"day"}}}`))
	require.NoError(t, err)
	ctx := s.tab(t)
	s.open(ctx, t, "/jobs/files/nightly")
	says(ctx, t, "from files")
	says(ctx, t, owner)
	_, err = s.client.PruneJob(t.Context(), "files", "nightly", owner)
	require.NoError(t, err)
	s.open(ctx, t, "/jobs/files")
	says(ctx, t, "pruned: deletes itself")
	s.open(ctx, t, "/jobs/files/nightly?"+url.Values{"show": {"Missed"}}.Encode())
	says(ctx, t, "Pruned: it deletes itself at")
	press(ctx, t, chromedp.Click(chromedp.Search(`//button[text()='Restore it']`)))
	says(ctx, t, "Restored.")
	stored, err := s.client.Job(t.Context(), "files", "nightly")
	require.NoError(t, err)
	require.Equal(t, calls.JobEnabled, stored.Properties.State)
	quiet(ctx, t)
}
