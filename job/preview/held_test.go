package preview_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/preview"
)

func TestWhatAChangeOfStateHolds(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	all := &job.Promise{Recover: job.RecoverAll, AtOnce: 3}
	paused := func(until int, r job.Recover) *job.Disabling {
		return &job.Disabling{At: start, Promise: job.Promise{Until: at(until), Recover: r}}
	}
	for name, c := range map[string]struct {
		change                   func(j *job.Job)
		state                    job.State
		promise                  job.Promise
		held, runs, atOnce, more int
		first                    int  // the minute of the first one that is listed
		last                     bool // whether the last one that is listed runs
	}{
		"enabled already": {func(*job.Job) {}, job.StateEnabled, *all, 0, 0, 3, 0, 0, false},
		"disabled plainly, and enabled so": {func(j *job.Job) {
			j.Definition.State, j.DisabledBy = job.StateDisabled, &job.Disabling{}
		}, job.StateEnabled, job.Promise{}, 0, 0, 1, 0, 0, false},
		"disabled plainly, and all is to run": {func(j *job.Job) {
			j.Definition.State, j.DisabledBy = job.StateDisabled, &job.Disabling{}
		}, job.StateEnabled, *all, 9, 9, 3, 0, 1, true},
		"as was promised": {func(j *job.Job) {
			j.Definition.State, j.DisabledBy, j.Held = job.StateDisabled, paused(60, job.RecoverAll), &job.Promise{Recover: job.RecoverAll}
		}, job.StateEnabled, job.Promise{AtOnce: 5}, 9, 9, 5, 0, 1, true},
		"as its collection promised": {func(j *job.Job) {
			j.Definition.State, j.DisabledBy, j.Held = job.StateDisabled, &job.Disabling{}, all
		}, job.StateEnabled, job.Promise{}, 9, 9, 3, 0, 1, true},
		"while its collection is paused": {func(j *job.Job) {
			j.Definition.State, j.CollectionDisabled, j.Held, j.CollectionPause = job.StateDisabled, true, all, paused(60, job.RecoverNone)
		}, job.StateEnabled, job.Promise{Recover: job.RecoverAll}, 9, 0, 1, 0, 1, false},
		"while its collection is disabled": {func(j *job.Job) {
			j.Definition.State, j.CollectionDisabled, j.Held = job.StateDisabled, true, all
		}, job.StateEnabled, job.Promise{}, 9, 0, 1, 0, 1, false},
		"two are left": {func(j *job.Job) {
			j.Definition.State, j.Held, j.Definition.Recurrence.Count, j.Started = job.StateDisabled, all, 5, 3
		}, job.StateEnabled, job.Promise{}, 9, 2, 3, 0, 1, false},
		"once, in the past": {func(j *job.Job) {
			j.Definition.State, j.Definition.Recurrence, j.Definition.StartTime = job.StateDisabled, nil, job.NewTime(at(5))
		}, job.StateEnabled, job.Promise{}, 1, 1, 1, 0, 5, true},
		"once, and paused": {func(j *job.Job) {
			j.Definition.State, j.Definition.Recurrence, j.Definition.StartTime = job.StateDisabled, nil, job.NewTime(at(5))
			j.DisabledBy, j.Held = paused(60, ""), &job.Promise{}
		}, job.StateEnabled, job.Promise{}, 1, 0, 1, 0, 5, false},
		"completed":              {func(j *job.Job) { j.Definition.State = job.StateCompleted }, job.StateDisabled, job.Promise{Until: at(60)}, 0, 0, 1, 0, 0, false},
		"a pause":                {func(*job.Job) {}, job.StateDisabled, job.Promise{Until: at(15), Recover: job.RecoverLatest}, 14, 1, 1, 0, 1, true},
		"disabling without more": {func(*job.Job) {}, job.StateDisabled, job.Promise{}, 0, 0, 1, 0, 0, false},
		"a pause without an end": {func(*job.Job) {}, job.StateDisabled, job.Promise{Recover: job.RecoverAll}, 20, 0, 1, 1, 1, false},
		"a pause of a disabled job": {func(j *job.Job) {
			j.Definition.State, j.DisabledBy = job.StateDisabled, &job.Disabling{}
		}, job.StateDisabled, job.Promise{Until: at(15), Recover: job.RecoverAll}, 5, 5, 1, 0, 10, true},
		"a longer pause": {func(j *job.Job) {
			j.Definition.State, j.DisabledBy, j.Held = job.StateDisabled, paused(12, job.RecoverAll), all
		}, job.StateDisabled, job.Promise{Until: at(15)}, 14, 14, 3, 0, 1, true},
		"a pause of a job of a disabled collection": {func(j *job.Job) { j.CollectionDisabled = true }, job.StateDisabled, job.Promise{Until: at(15)}, 0, 0, 1, 0, 0, false},
		"a pause of three weeks":                    {func(*job.Job) {}, job.StateDisabled, job.Promise{Until: at(30_001), Recover: job.RecoverAll}, 20_000, 1000, 1, 1, 29_981, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &job.Job{Created: start, Decided: start, Definition: job.Definition{
				State: job.StateEnabled, StartTime: job.NewTime(start), Recurrence: &job.Recurrence{Frequency: "minute", Interval: 1},
			}}
			c.change(j)
			got, err := preview.OfState(j, nil, c.state, &c.promise, at(10).Add(300*time.Millisecond))
			require.NoError(t, err)
			require.Equal(t, []any{c.held, c.runs, c.atOnce, c.more == 1}, []any{got.Count, got.Runs, got.AtOnce, got.More})
			require.Len(t, got.Occurrences, min(20, c.held))
			if c.held > 0 {
				require.Equal(t, at(c.first), got.Occurrences[0].Due.UTC())
				require.Equal(t, c.last, got.Occurrences[len(got.Occurrences)-1].Runs)
			}
		})
	}
}

func TestWhatAChangeOfTheCollectionHolds(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	all := &job.Promise{Recover: job.RecoverAll, AtOnce: 3}
	paused := func(r job.Recover) *job.Disabling {
		return &job.Disabling{At: start, Promise: job.Promise{Until: at(60), Recover: r}}
	}
	for name, c := range map[string]struct {
		change             func(j *job.Job)
		state              job.CollectionState
		promise            job.Promise
		held, runs, atOnce int
	}{
		"enabled already": {func(*job.Job) {}, job.CollectionEnabled, *all, 0, 0, 3},
		"as was promised": {func(j *job.Job) {
			j.CollectionDisabled, j.CollectionPause, j.Held = true, paused(job.RecoverLatest), &job.Promise{Recover: job.RecoverLatest}
		}, job.CollectionEnabled, job.Promise{}, 9, 1, 1},
		"otherwise": {func(j *job.Job) {
			j.CollectionDisabled, j.CollectionPause, j.Held = true, paused(job.RecoverLatest), &job.Promise{Recover: job.RecoverLatest}
		}, job.CollectionEnabled, *all, 9, 9, 3},
		"disabled plainly": {func(j *job.Job) { j.CollectionDisabled = true }, job.CollectionEnabled, job.Promise{}, 0, 0, 1},
		"a job that is paused itself": {func(j *job.Job) {
			j.CollectionDisabled, j.CollectionPause, j.Held = true, paused(job.RecoverAll), all
			j.Definition.State, j.DisabledBy = job.StateDisabled, paused(job.RecoverAll)
		}, job.CollectionEnabled, job.Promise{}, 0, 0, 1},
		"a job that is disabled itself": {func(j *job.Job) {
			j.CollectionDisabled, j.CollectionPause, j.Held = true, paused(job.RecoverAll), all
			j.Definition.State = job.StateDisabled
		}, job.CollectionEnabled, job.Promise{}, 9, 0, 1},
		"a job that runs once, in the past": {func(j *job.Job) {
			j.CollectionDisabled, j.Definition.Recurrence, j.Definition.StartTime = true, nil, job.NewTime(at(5))
		}, job.CollectionEnabled, job.Promise{}, 1, 1, 1},
		"a pause":                {func(*job.Job) {}, job.CollectionDisabled, job.Promise{Until: at(15), Recover: job.RecoverLatest}, 14, 1, 1},
		"disabling without more": {func(*job.Job) {}, job.CollectionDisabled, job.Promise{}, 0, 0, 1},
		"a pause after disabling without more": {func(j *job.Job) { j.CollectionDisabled = true }, job.CollectionDisabled,
			job.Promise{Until: at(15), Recover: job.RecoverAll}, 5, 5, 1},
		"a pause, and the job is disabled": {func(j *job.Job) { j.Definition.State = job.StateDisabled }, job.CollectionDisabled,
			job.Promise{Until: at(15), Recover: job.RecoverAll}, 0, 0, 1},
		"a longer pause": {func(j *job.Job) {
			j.CollectionDisabled, j.CollectionPause, j.Held = true, paused(job.RecoverAll), all
		}, job.CollectionDisabled, job.Promise{Until: at(20)}, 19, 19, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &job.Job{Created: start, Decided: start, Definition: job.Definition{
				State: job.StateEnabled, StartTime: job.NewTime(start), Recurrence: &job.Recurrence{Frequency: "minute", Interval: 1},
			}}
			c.change(j)
			got, err := preview.OfCollection(j, nil, c.state, &c.promise, at(10).Add(300*time.Millisecond))
			require.NoError(t, err)
			require.Equal(t, []int{c.held, c.runs, c.atOnce}, []int{got.Count, got.Runs, got.AtOnce})
		})
	}
}

func TestTheJobsOfACollectionThatRunTheMostComeFirst(t *testing.T) {
	t.Parallel()
	var all preview.HeldOfCollection
	for i := range 120 {
		all.Add(job.Key{Name: fmt.Sprint(i)}, &preview.Held{Count: 7, Runs: i % 7})
	}
	all.Add(job.Key{Name: "none"}, &preview.Held{})
	require.Equal(t, []int{121, 120, 840}, []int{all.Jobs, all.Holding, all.Held})
	require.Len(t, all.Most, 100)
	require.Equal(t, "6", all.Most[0].Key.Name)
	require.Equal(t, 1, all.Most[99].Runs)
}
