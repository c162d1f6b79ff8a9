package jobloop

import (
	"slices"
	"time"

	"almanac/workflows/jobloop/execution"
	"almanac/workflows/jobloop/state"
)

// notePutOff notes how often an occurrence was put off that returned to the plan, since its host had no place: nothing
// else would say so of its next execution, or why it is missed.
func (j *loop) notePutOff(due time.Time, times int) {
	if times == 0 {
		return
	}
	j.PutOffs = append(j.PutOffs, state.PutOff{Due: due, Times: times})
	j.PutOffs = j.PutOffs[max(0, len(j.PutOffs)-execution.MaxOverlapping):]
}

// takePutOff returns how often an occurrence was put off that is started, and forgets those that are over.
func (j *loop) takePutOff(due time.Time) (times int) {
	for _, one := range j.PutOffs {
		if one.Due.Equal(due) {
			times = one.Times
		}
	}
	j.PutOffs = slices.DeleteFunc(j.PutOffs, func(one state.PutOff) bool { return !one.Due.After(due) })
	return times
}

// missedForHost reports whether an occurrence was put off until others came due, and is outside the catch-up window.
func (j *loop) missedForHost(due, now time.Time) bool {
	wasPutOff := slices.ContainsFunc(j.PutOffs, func(one state.PutOff) bool { return one.Due.Equal(due) })
	return wasPutOff && now.Sub(due) > j.Definition.Recurrence.CatchUp()
}
