package job

import (
	"fmt"
	"time"
)

// Why an enabled or disabled job that has occurrences left has no next one.
const (
	WhyDisabled           = "The job is disabled."
	WhyCollectionDisabled = "The job collection is not enabled, so none of its jobs runs on its schedule."
)

// WhyOver returns why a job has no occurrence left. created is the time of the job's creation, started the
// number of occurrences started. It returns "" for a recurrence without an end.
func (d *Definition) WhyOver(created time.Time, started int) string {
	r := d.Recurrence
	switch {
	case r == nil && started == 0:
		return fmt.Sprintf("The job was to run once, at %s. That had passed when the job was changed, and a change runs nothing at once.", d.anchor(created))
	case r == nil:
		return fmt.Sprintf("The job was to run once, at %s, which has passed.", d.anchor(created))
	case r.Count > 0 && started >= r.Count:
		return fmt.Sprintf("The job's count, %d, is used up.", r.Count)
	case r.EndTime == nil:
		return ""
	case started == 0 && r.EndTime.Unix() < created.Unix():
		return fmt.Sprintf("The job never runs: its endTime, %s, was past when it was created.", r.EndTime)
	default:
		return fmt.Sprintf("No occurrence is left at or before the job's endTime, %s.", r.EndTime)
	}
}

// anchor returns the time from which the job's occurrences are counted.
func (d *Definition) anchor(created time.Time) *Time {
	if d.StartTime != nil {
		return d.StartTime
	}
	return NewTime(created)
}
