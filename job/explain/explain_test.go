package explain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/explain"
	"almanac/job/presence"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

func at(text string) time.Time {
	t, err := recurrence.ParseTime(text, time.UTC)
	if err != nil {
		panic(err)
	}
	return t
}

// created is when the jobs of the tests were created: a day on which they are due every five minutes.
var created = at("2026-01-01T00:00:00Z")

func definition(change func(*job.Definition)) job.Definition {
	d := job.Definition{
		State: job.StateEnabled, StartTime: job.NewTime(created), Recurrence: &job.Recurrence{Frequency: "minute", Interval: 5},
	}
	if change != nil {
		change(&d)
	}
	return d
}

func change(when string, operation audit.Operation, by string, d job.Definition) explain.Version {
	return explain.Version{Definition: d, Change: audit.Change{
		ID: "r." + when[11:13] + when[14:16], Time: at(when), Operation: operation, Status: audit.Succeeded, Actor: audit.Actor{Caller: by},
	}}
}

// facts are those of a job that was created by ada and never changed, asked about at noon. A worker is there.
func facts(when string, d job.Definition) *explain.Facts {
	f := &explain.Facts{
		At: at(when), Now: at("2026-01-01T12:00:00Z"), FromStart: true, Complete: true,
		Job:      job.Job{Created: created, Definition: d, Registration: 1},
		Versions: []explain.Version{change("2026-01-01T00:00:00Z", audit.WriteJob, "ada", d)},
	}
	f.Workers = &presence.Log{State: presence.State{Since: created}}
	f.Workers.Here = []presence.Span{{Worker: presence.Worker{Identity: "1@a"}, Segment: presence.Segment{From: created, To: f.Now}}}
	return f
}

// away replaces the worker by one that went, and one that came.
func (b *builder) away(from, to string) *builder {
	b.Workers.Here = []presence.Span{{Worker: presence.Worker{ID: "b", Identity: "2@b", Version: "1.1"}, Segment: presence.Segment{From: at(to), To: b.Now}}}
	b.Workers.Spans = []presence.Span{{
		Worker:  presence.Worker{ID: "a", Identity: "1@a", Version: "1.0"},
		Segment: presence.Segment{From: created, To: at(from), End: presence.Lost},
	}}
	return b
}

// A builder builds facts.
type builder struct{ *explain.Facts }

func about(when string, change func(*job.Definition)) *builder {
	return &builder{facts(when, definition(change))}
}

// by gives the job a calendar that is off on 1 January, which cannot be read if onMatch is "".
func (b *builder) by(onMatch string) *builder {
	r := *b.Job.Definition.Recurrence
	r.Calendars = []job.CalendarUse{{Name: "SE", OnMatch: onMatch}}
	b.Job.Definition.Recurrence, b.Versions[0].Definition.Recurrence = &r, &r
	b.Uses = func(r *job.Recurrence) ([]calendars.Use, error) {
		if onMatch == "" {
			return nil, errors.New("no answer")
		}
		return r.Uses([]job.KeptCalendar{{Version: 3, Calendar: job.Calendar{
			WeekendDays: []string{"saturday", "sunday"}, Days: []job.NamedDay{{Date: "2026-01-01", Name: "Nyårsdagen"}},
		}}})
	}
	return b
}

// changed adds a version of the job, the newest.
func (b *builder) changed(when string, operation audit.Operation, by string, edit func(*job.Definition)) *builder {
	d := b.Versions[0].Definition
	if d.Recurrence != nil {
		r := *d.Recurrence
		d.Recurrence = &r
	}
	if edit != nil {
		edit(&d)
	}
	b.Versions = append([]explain.Version{change(when, operation, by, d)}, b.Versions...)
	b.Job.Definition = d
	return b
}

// paused says that the job is disabled with a promise.
func (b *builder) paused(since string, p job.Promise) *builder {
	b.Job.DisabledBy = &job.Disabling{At: at(since), By: "bob", Promise: p}
	return b
}

// skips says what the newest version skipped.
func (b *builder) skips(r job.SkipRequest) *builder {
	b.Versions[0].Skip = &r
	return b
}

// ran adds an attempt.
func (b *builder) ran(due, start, end string, outcome job.Outcome, edit func(*job.Record)) *builder {
	r := job.Record{
		Execution: job.Execution{Due: at(due), Repeat: int(at(due).Sub(created)/time.Minute) + 1, ActionName: job.MainAction},
		Attempt:   job.Attempt{Number: 1, Start: at(start), End: at(end), Outcome: outcome, Message: "it is told"},
	}
	if edit != nil {
		edit(&r)
	}
	b.Records = append(b.Records, r)
	return b
}

// dropped adds an entry of an occurrence that did not run.
func (b *builder) dropped(due, when string, outcome job.Outcome, why string) *builder {
	return b.ran(due, when, when, outcome, func(r *job.Record) { r.WhyNot = why })
}

func (b *builder) with(change func(*explain.Facts)) *builder {
	change(b.Facts)
	return b
}

func disable(d *job.Definition) { d.State = job.StateDisabled }
func enable(d *job.Definition)  { d.State = job.StateEnabled }
func hourly(d *job.Definition)  { d.Recurrence = &job.Recurrence{Frequency: "hour", Interval: 1} }

func zoned(d *job.Definition) {
	d.StartTime = nil
	d.Recurrence = &job.Recurrence{
		Frequency: "day", Interval: 1, TimeZone: "Europe/Stockholm", Schedule: &job.Schedule{Hours: []int{2}, Minutes: []int{30}},
	}
}

func TestEveryCauseIsNamedTruly(t *testing.T) {
	t.Parallel()
	const due = "2026-01-01T02:15:00Z"
	seen := map[explain.Cause]bool{}
	for _, tt := range []struct {
		name    string
		facts   *builder
		outcome explain.Outcome
		cause   explain.Cause
		want    string
	}{
		{
			"a time that the schedule does not have", about("2026-01-01T02:17:00Z", nil), explain.NotDue, explain.NoSuchTime,
			"Nothing was due at 2026-01-01T02:17:00Z: the schedule does not have that time. The nearest are 2026-01-01T02:15:00Z and 2026-01-01T02:20:00Z.",
		},
		{
			"an excluded time", about(due, func(d *job.Definition) {
				d.Recurrence.Exclusions = []job.Exclusion{{At: "2025-12-24"}, {From: "2026-01-01T02:00", Until: "2026-01-01T02:20"}}
			}), explain.NotDue, explain.Excluded,
			"Nothing was due at 2026-01-01T02:15:00Z: the job's exclusions leave it out (from 2026-01-01T02:00 until 2026-01-01T02:20). " +
				"The nearest are 2026-01-01T01:55:00Z and 2026-01-01T02:20:00Z.",
		},
		{
			"a day off", about(due, nil).by("skip"), explain.NotDue, explain.DayOff,
			"Nothing was due at 2026-01-01T02:15:00Z: the calendar SE (version 3) has Nyårsdagen. The first one is 2026-01-02T00:00:00Z.",
		},
		{
			"away from a day off", about(due, func(d *job.Definition) {
				d.Recurrence = &job.Recurrence{Frequency: "month", Interval: 1, Schedule: &job.Schedule{Hours: []int{2}, Minutes: []int{15}}}
			}).by("nextWorkingDayInMonth"), explain.NotDue, explain.DayOff,
			"The occurrence of 2026-01-01T02:15:00Z is moved to 2026-01-02T02:15:00Z: the calendar SE (version 3) has Nyårsdagen.",
		},
		{
			"away from a day off, to where another one is due", about(due, func(d *job.Definition) {
				d.Recurrence = &job.Recurrence{Frequency: "day", Interval: 1, Schedule: &job.Schedule{Hours: []int{2}, Minutes: []int{15}}}
			}).by("nextWorkingDay"), explain.NotDue, explain.DayOff,
			"Nothing was due at 2026-01-01T02:15:00Z: the calendar SE (version 3) has Nyårsdagen, and the occurrence of 2026-01-02T02:15:00Z is due " +
				"at the same time. The first one is 2026-01-02T02:15:00Z.",
		},
		{
			"a time in a blackout", about(due, func(d *job.Definition) {
				d.Blackouts = []job.Blackout{{Name: "night", OnMatch: "skip", From: "02:00", Until: "02:30"}}
			}), explain.NotDue, explain.InBlackout,
			"Nothing was due at 2026-01-01T02:15:00Z: the blackout night covers that time, until 2026-01-01T02:30:00Z. " +
				"The nearest are 2026-01-01T01:55:00Z and 2026-01-01T02:30:00Z.",
		},
		{
			"a time that a blackout holds", about(due, func(d *job.Definition) {
				d.Recurrence = &job.Recurrence{Frequency: "day", Interval: 1, Schedule: &job.Schedule{Hours: []int{2}, Minutes: []int{15}}}
				d.Blackouts = []job.Blackout{{Name: "night", OnMatch: "runAtEnd", From: "02:00", Until: "02:30"}}
			}), explain.NotDue, explain.InBlackout,
			"The occurrence of 2026-01-01T02:15:00Z is moved to 2026-01-01T02:30:00Z: the blackout night holds it until then.",
		},
		{
			"a calendar that cannot be read", about(due, nil).by(""), explain.NotKnown, explain.Unknown,
			"Whether it is due at 2026-01-01T02:15:00Z is not known, since the job's calendars could not be read.",
		},
		{
			"before it was created", about("2025-12-31T02:15:00Z", nil), explain.NotDue, explain.NotCreated,
			"Nothing was due at 2025-12-31T02:15:00Z: the job was created at 2026-01-01T00:00:00Z.",
		},
		{
			"before its start", about(due, func(d *job.Definition) { d.StartTime = job.NewTime(at("2026-01-01T03:00:00Z")) }), explain.NotDue, explain.BeforeStart,
			"Nothing was due at 2026-01-01T02:15:00Z: the job's startTime is 2026-01-01T03:00:00Z. The first one is 2026-01-01T03:00:00Z.",
		},
		{
			"after its end", about(due, func(d *job.Definition) { d.Recurrence.EndTime = job.NewTime(at("2026-01-01T02:00:00Z")) }), explain.NotDue, explain.AfterEnd,
			"Nothing was due at 2026-01-01T02:15:00Z: the job's endTime was 2026-01-01T02:00:00Z. The last one is 2026-01-01T02:00:00Z.",
		},
		{
			"after the one time at which it was to run", about(due, func(d *job.Definition) { d.Recurrence = nil }), explain.NotDue, explain.AfterEnd,
			"Nothing was due at 2026-01-01T02:15:00Z: the job was to run once, at 2026-01-01T00:00:00Z.",
		},
		{
			"count used up", about(due, func(d *job.Definition) { d.Recurrence.Count = 3 }).with(func(f *explain.Facts) {
				f.Job.Started, f.Job.Definition.State = 3, job.StateCompleted
				f.Job.Status.LastExecutionTime = job.NewTime(at("2026-01-01T00:10:00Z"))
			}), explain.NotDue, explain.CountReached,
			"It did not run: the job's count, 3, was used up. The last execution began at 2026-01-01T00:10:00Z.",
		},
		{
			"count that will be used up", about("2026-01-01T12:20:00Z", func(d *job.Definition) { d.Recurrence.Count = 146 }).with(func(f *explain.Facts) {
				f.Job.Started = 145
			}), explain.WillNotRun, explain.CountReached, "It will not run: the job's count, 146, will be used up by the occurrences before it.",
		},
		{
			"a local time that the clock skips", about("2026-03-29T01:30:00Z", zoned).with(func(f *explain.Facts) { f.Local = "2026-03-29T02:30:00" }), explain.NotDue, explain.ClockSkips,
			"It will not run at 2026-03-29T02:30:00: the clock skips 02:00 to 03:00 that night in Europe/Stockholm. It runs at 2026-03-29T03:30:00+02:00 instead.",
		},
		{
			"a local time that the clock shows again", about("2026-10-25T01:30:00Z", zoned), explain.NotDue, explain.ClockRepeat,
			"Nothing is due at 2026-10-25T02:30:00+01:00: the clock of Europe/Stockholm shows that time twice, and the job runs at the first one, 2026-10-25T02:30:00+02:00.",
		},
		{
			"disabled", about(due, nil).changed("2026-01-01T01:00:00Z", audit.DisableJob, "bob", disable).
				changed("2026-01-01T01:30:00Z", audit.RunJob, "eve", nil).changed("2026-01-01T03:00:00Z", audit.EnableJob, "bob", enable),
			explain.DidNotRun, explain.Disabled,
			"It did not run: bob disabled the job at 2026-01-01T01:00:00Z. It was active again from 2026-01-01T03:00:00Z.",
		},
		{
			"created disabled", about(due, disable), explain.DidNotRun, explain.Disabled, "It did not run: ada created the job disabled, at 2026-01-01T00:00:00Z.",
		},
		{
			"disabled itself", about(due, nil).changed("2026-01-01T01:00:00Z", audit.DisableJob, audit.Itself, disable).with(func(f *explain.Facts) {
				f.Versions[0].Message = "5 executions in a row failed."
			}), explain.DidNotRun, explain.Disabled, "It did not run: Almanac disabled the job at 2026-01-01T01:00:00Z.",
		},
		{
			"disabled, and to come", about("2026-01-01T14:15:00Z", nil).changed("2026-01-01T01:00:00Z", audit.DisableJob, "bob", disable),
			explain.WillNotRun, explain.Disabled, "It will not run unless that changes: bob disabled the job at 2026-01-01T01:00:00Z.",
		},
		{
			"left out at the end of a pause", about(due, nil).changed("2026-01-01T01:00:00Z", audit.DisableJob, "bob", disable).
				changed("2026-01-01T06:00:00Z", audit.EnableJob, audit.Itself, enable).
				dropped(due, "2026-01-01T06:00:00Z", job.OutcomeSkipped, job.WhyPaused), explain.SkippedOut, explain.Disabled,
			"It was held, since bob disabled the job at 2026-01-01T01:00:00Z. When that was over, at 2026-01-01T06:00:00Z, it was left out.",
		},
		{
			"to be held", about("2026-01-01T14:15:00Z", nil).changed("2026-01-01T01:00:00Z", audit.DisableJob, "bob", disable).
				paused("2026-01-01T01:00:00Z", job.Promise{Until: at("2026-01-02T06:00:00Z"), Recover: job.RecoverLatest}), explain.Pending, explain.Disabled,
			"It will be held: bob disabled the job at 2026-01-01T01:00:00Z. That ends at 2026-01-02T06:00:00Z. It runs if no other occurrence is due later until then.",
		},
		{
			"held, to be left out", about(due, nil).changed("2026-01-01T01:00:00Z", audit.DisableJob, "bob", disable).
				paused("2026-01-01T01:00:00Z", job.Promise{Recover: job.RecoverNone}), explain.WillNotRun, explain.Disabled,
			"It is held: bob disabled the job at 2026-01-01T01:00:00Z. That ends when somebody enables it, and it is left out.",
		},
		{
			"its collection disabled", about(due, nil).changed("2026-01-01T01:00:01Z", audit.DisableCollection, "", nil).with(func(f *explain.Facts) {
				f.Versions[0].CollectionDisabled = true
				f.Collection = []audit.Change{
					{ID: "c.9", Time: at("2026-01-01T05:00:00Z"), Operation: audit.EnableCollection, Status: audit.Succeeded, Actor: audit.Actor{Caller: "eve"}},
					{ID: "c.5", Time: at("2026-01-01T01:00:00Z"), Operation: audit.DisableCollection, Status: audit.Succeeded, Actor: audit.Actor{Caller: "bob"}},
				}
			}), explain.DidNotRun, explain.CollectionDisabled, "It did not run: bob disabled the job collection at 2026-01-01T01:00:00Z.",
		},
		{
			"skipped while it waited", about(due, nil).changed("2026-01-01T02:15:30Z", audit.SkipJob, "bob", nil).skips(job.SkipRequest{}).
				dropped(due, "2026-01-01T02:15:30Z", job.OutcomeCancelled, job.WhySkipped), explain.SkippedOut, explain.Skipped,
			"It did not run: bob skipped it at 2026-01-01T02:15:30Z.",
		},
		{
			"skipped long before", about(due, nil).changed("2026-01-01T01:00:00Z", audit.SkipJob, "bob", nil).skips(job.SkipRequest{Due: at(due)}).
				changed("2026-01-01T01:59:00Z", audit.SkipJob, "eve", nil).skips(job.SkipRequest{Next: 2}).
				dropped(due, due, job.OutcomeCancelled, job.WhySkipped), explain.SkippedOut, explain.Skipped,
			"It did not run: bob skipped it at 2026-01-01T01:00:00Z.",
		},
		{
			"skipped with others", about(due, nil).changed("2026-01-01T02:02:00Z", audit.SkipJob, "bob", nil).skips(job.SkipRequest{Next: 3}).
				changed("2026-01-01T02:12:00Z", audit.SkipJob, "eve", nil).skips(job.SkipRequest{Due: at("2026-01-01T02:20:00Z")}).
				dropped(due, due, job.OutcomeCancelled, job.WhySkipped), explain.SkippedOut, explain.Skipped,
			"It did not run: bob skipped it at 2026-01-01T02:02:00Z.",
		},
		{
			"skipped by a window, and to come", about("2026-01-01T12:05:00Z", nil).changed("2026-01-01T11:00:00Z", audit.SkipJob, "bob", nil).
				skips(job.SkipRequest{From: at("2026-01-01T12:00:00Z"), Until: at("2026-01-02T00:00:00Z")}).with(func(f *explain.Facts) {
				f.Job.SkipWindows = []job.SkipWindow{{From: at("2026-01-01T12:00:00Z"), Until: at("2026-01-02T00:00:00Z")}}
			}), explain.WillNotRun, explain.Skipped, "It will not run: bob skipped it at 2026-01-01T11:00:00Z.",
		},
		{
			"skipped, and to come", about("2026-01-01T12:05:00Z", nil).changed("2026-01-01T11:59:00Z", audit.SkipJob, "bob", nil).skips(job.SkipRequest{}).with(func(f *explain.Facts) {
				f.Job.Skips = []time.Time{at("2026-01-01T12:05:00Z")}
				f.Versions[0].Time = at("2026-01-01T12:00:00Z")
			}), explain.WillNotRun, explain.Skipped, "It will not run: bob skipped it at 2026-01-01T12:00:00Z.",
		},
		{
			"left out for the one before", about(due, func(d *job.Definition) { d.Recurrence.OverlapPolicy = job.OverlapSkip }).
				ran("2026-01-01T02:10:00Z", "2026-01-01T02:10:00Z", "2026-01-01T02:16:12Z", job.OutcomeCompleted, nil).
				dropped(due, "2026-01-01T02:16:12Z", job.OutcomeSkipped, job.WhyStillRunning), explain.SkippedOut, explain.Overlapped,
			"It did not run: the execution that was due at 2026-01-01T02:10:00Z was still running, until 2026-01-01T02:16:12Z, and overlapPolicy is Skip.",
		},
		{
			"waited for the one before", about(due, nil).
				ran("2026-01-01T02:10:00Z", "2026-01-01T02:10:00Z", "2026-01-01T02:16:00Z", job.OutcomeCompleted, nil).
				ran(due, "2026-01-01T02:16:00Z", "2026-01-01T02:16:01Z", job.OutcomeCompleted, func(r *job.Record) { r.Taken = 60_000 }), explain.Late, explain.Overlapped,
			"It ran 1 min 00 s late: it waited until the execution that was due at 2026-01-01T02:10:00Z had ended, at 2026-01-01T02:16:00Z.",
		},
		{
			"left out for one that waited for its retry", about(due, func(d *job.Definition) { d.Recurrence.OverlapPolicy = job.OverlapSkip }).
				ran("2026-01-01T02:10:00Z", "2026-01-01T02:10:00Z", "2026-01-01T02:10:01Z", job.OutcomeFailed, nil).
				ran("2026-01-01T02:10:00Z", "2026-01-01T02:16:00Z", "2026-01-01T02:16:01Z", job.OutcomeCompleted, func(r *job.Record) { r.Number = 2 }).
				dropped(due, "2026-01-01T02:16:01Z", job.OutcomeSkipped, job.WhyStillRunning), explain.SkippedOut, explain.Overlapped,
			"It did not run: the execution that was due at 2026-01-01T02:10:00Z was still running, until 2026-01-01T02:16:01Z, and overlapPolicy is Skip.",
		},
		{
			"too many", about(due, nil).dropped(due, due, job.OutcomeMissed, job.WhyCrowded(100)), explain.Missed, explain.TooManyRunning,
			"It was missed: 100 executions of the job were running, which is the maximum.",
		},
		{
			"missed without a worker", about(due, nil).dropped(due, "2026-01-01T02:24:05Z", job.OutcomeMissed, job.WhyDown).away("2026-01-01T02:10:40Z", "2026-01-01T02:24:05Z"),
			explain.Missed, explain.NoWorker,
			"It was missed: no worker checked in between 2026-01-01T02:10:40Z and 2026-01-01T02:24:05Z, and without a catch-up window only the latest of the occurrences that waited runs.",
		},
		{
			"missed without a worker, too late for its window", about(due, func(d *job.Definition) { d.Recurrence.CatchUpWindow = "PT3M" }).
				dropped(due, "2026-01-01T02:24:05Z", job.OutcomeMissed, job.WhyDown).away("2026-01-01T02:10:40Z", "2026-01-01T02:24:05Z"), explain.Missed, explain.NoWorker,
			"It was missed: no worker checked in between 2026-01-01T02:10:40Z and 2026-01-01T02:24:05Z, and it had been due for longer than the catch-up window, PT3M.",
		},
		{
			"missed though workers were there", about(due, nil).dropped(due, "2026-01-01T02:24:05Z", job.OutcomeMissed, job.WhyDown), explain.Missed, explain.NothingRanIt,
			"It was missed: nothing ran it until 2026-01-01T02:24:05Z, and without a catch-up window only the latest of the occurrences that waited runs. Workers checked in all that time.",
		},
		{
			"missed, and no worker was there later", about(due, nil).dropped(due, "2026-01-01T02:24:05Z", job.OutcomeMissed, job.WhyDown).away("2026-01-01T02:20:00Z", "2026-01-01T02:20:03Z"),
			explain.Missed, explain.NothingRanIt,
			"It was missed: nothing ran it until 2026-01-01T02:24:05Z, and without a catch-up window only the latest of the occurrences that waited runs. " +
				"Workers checked in when it was due, though not all the time since.",
		},
		{
			"late for several absences", about(due, nil).ran(due, "2026-01-01T02:20:00Z", "2026-01-01T02:20:01Z", job.OutcomeCompleted, func(r *job.Record) { r.Taken = 300_000 }).
				away("2026-01-01T02:15:10Z", "2026-01-01T02:19:00Z").with(func(f *explain.Facts) {
				f.Workers.Here[0].Gaps = []presence.Interval{{From: at("2026-01-01T02:19:10Z"), To: at("2026-01-01T02:19:40Z")}}
			}), explain.Late, explain.NoWorker,
			"It ran 5 min 00 s late: no worker checked in between 2026-01-01T02:15:10Z and 2026-01-01T02:19:00Z, the longest of 2 times, 4 min 20 s together.",
		},
		{
			"not begun, and no worker was there for a time", about("2026-01-01T11:55:00Z", nil).away("2026-01-01T11:56:00Z", "2026-01-01T11:57:00Z").with(func(f *explain.Facts) {
				f.Job.Status.NextExecutionTime = job.NewTime(f.At)
			}), explain.Pending, explain.WaitedForWorker, "It has not begun, and no reason is recorded yet.",
		},
		{
			"a gateway whose target does not answer", about(due, nil).ran(due, due, "2026-01-01T02:15:01Z", job.OutcomeFailed, func(r *job.Record) {
				r.Message = "504 Gateway Timeout: upstream timed out"
			}).ran(due, "2026-01-01T02:15:02Z", "2026-01-01T02:15:03Z", job.OutcomeCompleted, func(r *job.Record) { r.ActionName = job.ErrorAction }),
			explain.Failed, explain.TargetFailed, "It ran and failed once: 504 Gateway Timeout: upstream timed out.",
		},
		{
			"one of many that have one entry", about(due, nil).ran("2026-01-01T01:00:00Z", "2026-01-01T08:00:00Z", "2026-01-01T08:00:00Z", job.OutcomeMissed, func(r *job.Record) {
				r.WhyNot, r.Rest = job.WhyDown, &job.Rest{Count: 30, Before: at("2026-01-01T03:30:00Z")}
			}).away("2026-01-01T00:50:00Z", "2026-01-01T08:00:00Z"), explain.Missed, explain.NoWorker,
			"It was missed: no worker checked in between 2026-01-01T00:50:00Z and 2026-01-01T08:00:00Z, and without a catch-up window only the latest of the occurrences that waited runs.",
		},
		{
			"late without a worker", about(due, nil).ran(due, "2026-01-01T02:19:06Z", "2026-01-01T02:19:07Z", job.OutcomeCompleted, func(r *job.Record) { r.Taken = 245_400 }).
				away("2026-01-01T02:14:50Z", "2026-01-01T02:19:05Z"), explain.Late, explain.NoWorker,
			"It ran 4 min 06 s late: no worker checked in between 2026-01-01T02:14:50Z and 2026-01-01T02:19:05Z.",
		},
		{
			"late, with workers", about(due, nil).ran(due, "2026-01-01T02:15:04Z", "2026-01-01T02:15:05Z", job.OutcomeCompleted, func(r *job.Record) { r.Taken = 3500 }),
			explain.Late, explain.WaitedForWorker, "It ran 4.0 s late: it waited 3.5 s for a worker to take it, though workers checked in.",
		},
		{
			"late for Temporal", about(due, nil).ran(due, "2026-01-01T02:15:04Z", "2026-01-01T02:15:05Z", job.OutcomeCompleted, func(r *job.Record) { r.Asked = 3500 }),
			explain.Late, explain.WaitedForServer, "It ran 4.0 s late: Temporal took 3.5 s to record that it may be sent.",
		},
		{
			"late for a place", about(due, nil).ran(due, "2026-01-01T02:15:04Z", "2026-01-01T02:15:05Z", job.OutcomeCompleted, nil),
			explain.Late, explain.WaitedForPlace, "It ran 4.0 s late: it waited 4.0 s for a place at the worker or at its host.",
		},
		{
			"put off", about(due, nil).ran(due, "2026-01-01T02:15:24Z", "2026-01-01T02:15:25Z", job.OutcomeCompleted, func(r *job.Record) { r.Taken, r.PutOff = 22_000, 2 }),
			explain.Late, explain.HostLimit, "It ran 24 s late: it was put off 2 times, since its host had as many unanswered requests as a worker makes at once.",
		},
		{
			"waits for its host", about("2026-01-01T11:55:00Z", nil).with(func(f *explain.Facts) {
				f.Standing = &explain.Standing{Name: "1-2", Stage: job.StageWaiting, Reason: "The attempt was put off.", Full: true}
			}), explain.Pending, explain.HostLimit, "It waits: its host has as many unanswered requests as a worker makes at once.",
		},
		{
			"succeeded at last", about(due, nil).ran(due, due, "2026-01-01T02:15:01Z", job.OutcomeFailed, nil).
				ran(due, "2026-01-01T02:16:00Z", "2026-01-01T02:16:01Z", job.OutcomeCompleted, func(r *job.Record) { r.Number = 2 }), explain.Late, explain.EarlierAttempts,
			"It began 0 ms late and succeeded at attempt 2, at 2026-01-01T02:16:00Z: the attempts before it failed, which cost 1 min 00 s.",
		},
		{
			"waits for a retry", about("2026-01-01T11:55:00Z", nil).ran("2026-01-01T11:55:00Z", "2026-01-01T11:55:00Z", "2026-01-01T11:55:01Z", job.OutcomeFailed, nil).with(func(f *explain.Facts) {
				f.Standing = &explain.Standing{Name: "1-2", Stage: job.StageWaiting, Retry: &job.Retry{
					Attempt: 2, MaxAttempts: 5, NextAttemptTime: job.NewTime(at("2026-01-01T12:01:00Z")), LastError: &job.LastError{Message: "connection refused"},
				}}
			}), explain.Pending, explain.WaitingForRetry,
			"It has not succeeded yet: 1 of 5 attempts failed: connection refused. The next one begins at 2026-01-01T12:01:00Z.",
		},
		{
			"runs", about("2026-01-01T12:00:00Z", nil).with(func(f *explain.Facts) {
				f.Standing = &explain.Standing{Name: "1-2", Stage: job.StageRunning}
			}), explain.Pending, explain.Running, "It is running: an attempt is being made.",
		},
		{
			"has not begun without a worker", about("2026-01-01T11:55:00Z", nil).with(func(f *explain.Facts) {
				f.Standing = &explain.Standing{Name: "1-2", Stage: job.StageWaiting, Reason: "No worker has taken it yet."}
				f.Workers.Here = nil
				f.Workers.Spans = []presence.Span{{Worker: presence.Worker{ID: "a"}, Segment: presence.Segment{From: created, To: at("2026-01-01T11:50:00Z"), End: presence.Lost}}}
			}), explain.Pending, explain.NoWorker, "It has not begun: no worker has checked in since 2026-01-01T11:50:00Z.",
		},
		{
			"not sent by a change", about(due, nil).changed("2026-01-01T02:15:01Z", audit.WriteJob, "bob", hourly).
				dropped(due, "2026-01-01T02:15:02Z", job.OutcomeCancelled, job.WhyJobChanged), explain.Cancelled, explain.Changed,
			"It was cancelled: bob changed the job at 2026-01-01T02:15:01Z, while it waited.",
		},
		{
			"withdrawn by being disabled", about(due, nil).changed("2026-01-01T02:15:01Z", audit.DisableJob, "bob", disable).
				dropped(due, "2026-01-01T02:15:02Z", job.OutcomeCancelled, job.WhyJobChanged), explain.Cancelled, explain.Disabled,
			"It was cancelled: bob disabled the job at 2026-01-01T02:15:01Z, while it waited.",
		},
		{
			"changed before", about(due, nil).changed("2026-01-01T02:00:00Z", audit.WriteJob, "bob", hourly), explain.NotDue, explain.Changed,
			"Nothing was due at 2026-01-01T02:15:00Z any more: bob changed the schedule at 2026-01-01T02:00:00Z. The nearest are 2026-01-01T02:00:00Z and 2026-01-01T03:00:00Z.",
		},
		{
			"changed since", about(due, hourly).changed("2026-01-01T04:00:00Z", audit.WriteJob, "bob", func(d *job.Definition) {
				d.Recurrence = &job.Recurrence{Frequency: "minute", Interval: 5}
			}), explain.NotDue, explain.Changed,
			"Nothing was due at 2026-01-01T02:15:00Z: the schedule has that time only since 2026-01-01T04:00:00Z, when bob changed it.",
		},
		{
			"moved by newer time zones", about("2026-01-02T00:30:00Z", zoned).with(func(f *explain.Facts) {
				v := change("2026-01-01T11:00:00Z", audit.PlanJob, audit.Itself, f.Job.Definition)
				v.Message = "The job was planned again."
				v.Moved, v.MovedTo = at("2026-01-02T00:30:00Z"), at("2026-01-02T01:30:00Z")
				f.Versions = append([]explain.Version{v}, f.Versions...)
			}), explain.NotDue, explain.ZonesChanged,
			"It is not due at 2026-01-02T01:30:00+01:00 any more: newer time zone data moved it to 2026-01-02T02:30:00+01:00.",
		},
		{
			"a target that does not answer", about(due, nil).ran(due, due, "2026-01-01T02:16:00Z", job.OutcomeFailed, func(r *job.Record) {
				r.Message = "timed out: not complete after 60 s"
			}), explain.Failed, explain.TargetSlow, "It ran and failed once: the target did not answer in time. Of 1 min 00 s, the last attempt used all.",
		},
		{
			"a target that answers late", about(due, nil).ran(due, due, "2026-01-01T02:15:42Z", job.OutcomeCompleted, nil), explain.OnTime, explain.TargetSlow,
			"It ran on time, 0 ms after it was due, and the target took 42 s to answer.",
		},
		{
			"a target that fails", about(due, nil).ran(due, due, "2026-01-01T02:15:01Z", job.OutcomeFailed, func(r *job.Record) { r.Message = "connection refused" }),
			explain.Failed, explain.TargetFailed, "It ran and failed once: connection refused.",
		},
		{
			"a worker that was lost", about(due, nil).ran(due, due, "2026-01-01T02:15:04Z", job.OutcomeFailed, func(r *job.Record) { r.Message = job.AttemptLost }),
			explain.Failed, explain.WorkerLost, "It ran, and whether it succeeded is not known: the worker stopped before it recorded the outcome; the request may have been sent.",
		},
		{
			"enabled when it was past", about(due, nil).changed("2026-01-01T01:00:00Z", audit.DisableJob, "bob", disable).
				changed("2026-01-01T03:00:00Z", audit.EnableJob, "bob", enable).ran(due, "2026-01-01T03:00:00Z", "2026-01-01T03:00:01Z", job.OutcomeCompleted, nil), explain.Late, explain.Disabled,
			"It ran 45 min 00 s late: bob disabled the job at 2026-01-01T01:00:00Z, and it ran when that was over.",
		},
		{
			"on time", about(due, nil).ran(due, "2026-01-01T02:15:00Z", "2026-01-01T02:15:01Z", job.OutcomeCompleted, nil), explain.OnTime, explain.OnSchedule,
			"It ran on time: it began 0 ms after it was due, and succeeded.",
		},
		{
			"to come", about("2026-01-01T14:15:00Z", nil), explain.WillRun, explain.OnSchedule, "It will run at 2026-01-01T14:15:00Z, if a worker is there.",
		},
		{
			"to come, without a worker", about("2026-01-01T14:15:00Z", nil).with(func(f *explain.Facts) {
				f.Workers.Here[0].To = at("2026-01-01T11:00:00Z")
			}), explain.WillRun, explain.OnSchedule,
			"It will run at 2026-01-01T14:15:00Z, unless something prevents it: no worker has checked in since 2026-01-01T11:00:00Z.",
		},
		{
			"due, and not begun", about("2026-01-01T12:00:00Z", nil).with(func(f *explain.Facts) {
				f.Job.Status.NextExecutionTime = job.NewTime(f.At)
			}), explain.Pending, explain.WaitedForWorker, "It has not begun, and no reason is recorded yet.",
		},
		{
			"too long ago", about(due, nil).with(func(f *explain.Facts) { f.Versions, f.FromStart = nil, false }), explain.NotKnown, explain.NotKept,
			"What became of it is not kept any more: histories and changes are kept for a limited time.",
		},
		{
			"not recorded", about(due, nil).with(func(f *explain.Facts) { f.Job.Status.NextExecutionTime = job.NewTime(at("2026-01-01T12:05:00Z")) }), explain.NotKnown, explain.Unknown,
			"It was due at 2026-01-01T02:15:00Z, and nothing is recorded of it.",
		},
	} {
		seen[tt.cause] = true
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := explain.Why(tt.facts.Facts)
			require.Equal(t, tt.want, a.Sentence)
			require.Equal(t, tt.cause, a.Cause)
			require.Equal(t, tt.outcome, a.Outcome)
			for i, f := range a.Facts {
				require.NotEmpty(t, f.Source)
				require.True(t, strings.HasSuffix(f.Text, "."), f.Text)
				require.True(t, i == 0 || !f.Time.Before(a.Facts[i-1].Time), "in the order of time")
			}
		})
	}
	for _, cause := range explain.Causes() {
		require.True(t, seen[cause], "no case has the cause %s", cause)
	}
}

func TestTheChainNamesWhoCameAndWent(t *testing.T) {
	t.Parallel()
	a := explain.Why(about("2026-01-01T02:15:00Z", nil).dropped("2026-01-01T02:15:00Z", "2026-01-01T02:24:05Z", job.OutcomeMissed, job.WhyDown).
		away("2026-01-01T02:10:40Z", "2026-01-01T02:24:05Z").Facts)
	var lines []string
	for _, f := range a.Facts {
		lines = append(lines, f.Time.Format(time.TimeOnly)+" "+string(f.Source)+": "+f.Text)
	}
	require.Equal(t, []string{
		"02:10:40 workers: No worker checked in between 2026-01-01T02:10:40Z and 2026-01-01T02:24:05Z, for 13 min 25 s.",
		"02:10:40 workers: Worker 1@a, version 1.0, checked in for the last time: it was lost.",
		"02:15:00 schedule: It was due at 2026-01-01T02:15:00Z: every 5 minutes, from 2026-01-01.",
		"02:24:05 history: It was recorded: It was not run: nothing could run it when it was due.",
		"02:24:05 schedule: recurrence.catchUpWindow is not set. With PT546S or more it would have run.",
		"02:24:05 workers: Worker 2@b, version 1.1, checked in for the first time.",
	}, lines)
}

func TestWhatIsNotRecordedIsSaid(t *testing.T) {
	t.Parallel()
	b := about("2026-01-01T02:15:00Z", nil).dropped("2026-01-01T02:15:00Z", "2026-01-01T02:24:05Z", job.OutcomeMissed, job.WhyDown)
	b.Workers.Since = at("2026-01-01T05:00:00Z")
	b.Workers.Here[0].From = b.Workers.Since
	a := explain.Why(b.Facts)
	require.Equal(t, explain.NothingRanIt, a.Cause, "an absence is not inferred")
	require.Contains(t, a.Sentence, "Which workers were there is not recorded of that time.")
	require.Equal(t, []string{"which workers were there before 2026-01-01T05:00:00Z"}, a.Unread)
}

func TestALateOneHasItsSplit(t *testing.T) {
	t.Parallel()
	const due = "2026-01-01T02:15:00Z"
	a := explain.Why(about(due, nil).ran(due, "2026-01-01T02:15:04Z", "2026-01-01T02:15:05Z", job.OutcomeFailed, func(r *job.Record) {
		r.Taken, r.Asked, r.Sent = 1000, 500, 2500
	}).ran(due, "2026-01-01T02:15:06Z", "2026-01-01T02:15:07Z", job.OutcomeCompleted, func(r *job.Record) { r.Number = 2 }).Facts)
	require.Equal(t, &job.Split{Worker: time.Second, Server: 500 * time.Millisecond, Place: 2500 * time.Millisecond, Send: 2500 * time.Microsecond}, a.Split)
	require.Equal(t, 4*time.Second, a.Lateness)
	require.Equal(t, 2*time.Second, a.Earlier)
}

// The clock of the machine that asks is 20 s ahead of the server's, by which workers check in.
func TestAWorkerThatHasJustAnsweredIsThereWhateverTheClockOfTheAPISays(t *testing.T) {
	t.Parallel()
	waits := func(f *explain.Facts) {
		f.Workers.Here[0].To = f.Now.Add(-20 * time.Second)
		f.Job.Status.NextExecutionTime = job.NewTime(f.At)
	}
	const due = "2026-01-01T11:55:00Z"
	answered := explain.Why(about(due, nil).with(waits).with(func(f *explain.Facts) { f.Answered = true }).Facts)
	require.Equal(t, explain.WaitedForWorker, answered.Cause, answered.Sentence)
	delayed := explain.Why(about(due, nil).with(waits).Facts)
	require.Equal(t, explain.WaitedForWorker, delayed.Cause, "the server does not count it as lost yet")
	lost := explain.Why(about(due, nil).with(waits).with(func(f *explain.Facts) {
		f.Workers.Here[0].To = f.Now.Add(-31 * time.Second)
	}).Facts)
	require.Equal(t, explain.NoWorker, lost.Cause, lost.Sentence)
	require.Contains(t, lost.Sentence, "no worker has checked in since 2026-01-01T11:59:29Z")
}

func TestAJobThatDoesNotAnswerIsExplainedByWhatIsRecorded(t *testing.T) {
	t.Parallel()
	silent := func(f *explain.Facts) { f.Unanswered, f.Job.Status = true, job.Status{} }
	gone := func(f *explain.Facts) { f.Workers.Here[0].To = f.Now.Add(-10 * time.Minute) }
	a := explain.Why(about("2026-01-01T11:55:00Z", nil).with(silent).with(gone).Facts)
	require.Equal(t, explain.NoWorker, a.Cause, a.Sentence)
	require.Equal(t, explain.Pending, a.Outcome)
	require.Contains(t, a.Sentence, "no worker has checked in since 2026-01-01T11:50:00Z")
	a = explain.Why(about("2026-01-01T11:55:00Z", nil).with(silent).Facts)
	require.Equal(t, explain.Unknown, a.Cause, a.Sentence)
	require.Contains(t, a.Sentence, "did not answer")
	a = explain.Why(about("2026-01-01T12:05:00Z", func(d *job.Definition) { d.Recurrence.Count = 3 }).with(silent).with(gone).Facts)
	require.Equal(t, explain.WillRun, a.Outcome, "how often it ran is not known: %s", a.Sentence)
}

func TestAnOccurrenceThatWasPutOffUntilAnotherWasDueIsMissedForItsHost(t *testing.T) {
	t.Parallel()
	b := about("2026-01-01T02:15:00Z", nil).dropped("2026-01-01T02:15:00Z", "2026-01-01T02:20:01Z", job.OutcomeMissed, job.WhyHostFull)
	a := explain.Why(b.away("2026-01-01T02:16:00Z", "2026-01-01T02:17:00Z").Facts)
	require.Equal(t, explain.HostLimit, a.Cause, a.Sentence)
	require.Equal(t, explain.Missed, a.Outcome)
	require.Contains(t, a.Sentence, "without a catch-up window only the latest")
}

func TestAManualRunOfTheSameSecondIsAnotherExecution(t *testing.T) {
	t.Parallel()
	const due = "2026-01-01T02:15:00Z"
	byHand := func(r *job.Record) { r.Caller, r.Repeat = "ann", 200 }
	for _, tt := range []struct {
		name    string
		facts   *builder
		outcome explain.Outcome
	}{
		{"which failed", about(due, nil).ran(due, due, due, job.OutcomeCompleted, nil).ran(due, due, due, job.OutcomeFailed, byHand), explain.OnTime},
		{"beside an occurrence that was missed",
			about(due, nil).dropped(due, due, job.OutcomeMissed, "").ran(due, due, due, job.OutcomeCompleted, byHand), explain.Missed},
		{"without an occurrence", about(due, nil).ran(due, due, due, job.OutcomeFailed, byHand), explain.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.outcome, explain.Why(tt.facts.Facts).Outcome)
		})
	}
}
