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
