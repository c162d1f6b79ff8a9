package state

import (
	"time"

	"almanac/job"
	"almanac/workflows/plan"
)

// The memo of a job has its [job.Outline], so that a reader across jobs can select those that may have an entry at
// some time. A regular execution leaves it as it is.

// irregularMargin is added to Irregular, so that a job which is often irregular updates its memo every few
// minutes at most.
const irregularMargin = 2 * time.Minute

// outlineEvery is how long after an outline the next one is written at the earliest if all that is new in it is what
// became of occurrences, and shownEvery of manual runs: somebody waits for these. A job that fails each minute has an
// outline before that, by irregularMargin.
const (
	outlineEvery = 4 * time.Minute
	shownEvery   = 30 * time.Second
)

// Outline returns the job's outline.
func (in *Input) Outline() job.Outline {
	d := &in.Definition
	counted := d.Recurrence != nil && d.Recurrence.Count > 0
	var zone plan.Zone
	if in.Plan.Zone != nil {
		zone = *in.Plan.Zone
	}
	return job.Outline{
		Zones: zone.Release, ZoneRules: zone.Rules, Made: in.Plan.Made, Blackouts: in.AllBlackouts(),
		Created: in.Created, StartTime: d.StartTime, Recurrence: d.Recurrence, Irregular: in.Irregular, Skips: in.Skips,
		SkipWindows: in.SkipWindows, Delay: in.Delay(),
		// A final job is inactive too, but its timetable says so, unless it ends by a count; so most need no update.
		Inactive:   !in.Active() && (!d.State.Final() || counted),
		Disabled:   d.State == job.StateDisabled || d.State.Final() && counted,
		Recent:     in.Recent.Irregular(),
		DisabledBy: in.DisabledBy, Owner: d.Owner, Pruning: in.Pruning,
		State: d.State, Generation: in.Generation, Type: d.Action.Type, Host: d.Action.Host(),
		Digest: d.Digest(),
	}
}

// TimetableChanged notes that the timetable, or whether it applies, has changed at now.
func (in *Input) TimetableChanged(now time.Time) {
	if next := now.UTC().Truncate(time.Second).Add(time.Second); next.After(in.Irregular) {
		in.Irregular = next
	}
	in.OutlineChanged = true
}

// IrregularUntil notes that entries of the history that start before until can start at any time.
func (in *Input) IrregularUntil(until time.Time) {
	if until.After(in.Irregular) {
		in.TimetableChanged(until.Add(irregularMargin))
	}
}

// OutcomeIrregular notes that the outline has an outcome that does not follow from the timetable.
func (in *Input) OutcomeIrregular(manual bool, now time.Time) {
	in.IrregularUntil(now)
	in.OutlineDue = true
	if manual && now.Sub(in.ManualOutlined) >= shownEvery {
		in.ManualOutlined = now
		in.OutlineChanged = true
	}
}

// OutlineAt returns when an outline with further outcomes is to be written; zero for never.
func (in *Input) OutlineAt() time.Time {
	if !in.OutlineDue {
		return time.Time{}
	}
	return in.Outlined.Add(outlineEvery)
}

// TakeOutline reports whether the outline is to be written now, and notes that it is.
func (in *Input) TakeOutline(now time.Time) bool {
	if at := in.OutlineAt(); !in.OutlineChanged && (at.IsZero() || now.Before(at)) {
		return false
	}
	in.OutlineChanged, in.OutlineDue, in.Outlined = false, false, now
	return true
}
