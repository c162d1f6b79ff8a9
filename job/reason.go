package job

import (
	"fmt"
	"time"
)

// WhyOver returns why a job has no occurrence left, where its counters do not
// say so: because of its endTime, or because it was changed after its time. It
// returns "" for a job that ran as often as it was to run. created is when the
// job was created, started how many occurrences were started.
func (d *Definition) WhyOver(created time.Time, started int) string {
	r := d.Recurrence
	switch {
	case r == nil && started == 0:
		return fmt.Sprintf("The job was to run once, at %s. That had passed when the job was changed, and a change runs nothing at once.", d.anchor(created))
	case r == nil, r.Count > 0 && started >= r.Count, r.EndTime == nil:
		return ""
	case r.EndTime.Unix() < created.Unix():
		return fmt.Sprintf("The job never runs: its endTime, %s, was past when it was created.", r.EndTime)
	default:
		return fmt.Sprintf("No occurrence is left at or before the job's endTime, %s.", r.EndTime)
	}
}

// anchor returns what the job's occurrences are counted from.
func (d *Definition) anchor(created time.Time) *Time {
	if d.StartTime != nil {
		return d.StartTime
	}
	return NewTime(created)
}

// notes returns what may surprise about the occurrences of a job that is
// created now, of which first is the first; ok is false where there is none.
func (d *Definition) notes(now, first time.Time, ok bool) []string {
	var notes []string
	switch {
	case !ok:
		notes = append(notes, d.whyNever(now))
	case d.StartTime == nil && d.Recurrence == nil:
		notes = append(notes, "The job runs once, at once, because startTime is absent.")
	case d.StartTime == nil:
		notes = append(notes, "The first occurrence is now, because startTime is absent. With a startTime, even a past one, the job waits for its recurrence.")
	case d.Recurrence == nil && d.StartTime.Before(first):
		notes = append(notes, fmt.Sprintf("The job runs once, at once, because its startTime, %s, is past.", d.StartTime))
	}
	if d.State == StateDisabled {
		notes = append(notes, "The job is disabled: nothing runs before it is enabled.")
	}
	return notes
}

// whyNever returns why a job that is created now has no occurrence: only an
// endTime can be the reason.
func (d *Definition) whyNever(now time.Time) string {
	end, why := d.Recurrence.EndTime, "is past"
	if end.Unix() >= now.Unix() {
		why = "is before its first occurrence"
		endless := *d
		endless.Recurrence = new(*d.Recurrence)
		endless.Recurrence.EndTime = nil
		if plan, err := endless.Plan(now, now); err == nil {
			if first, ok := plan.First(); ok {
				why += ", " + NewTime(first).String()
			}
		}
	}
	return fmt.Sprintf("The job would never run, because its endTime, %s, %s. It would be accepted, and completed at once.", end, why)
}
