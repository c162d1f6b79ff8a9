package resource

import (
	"slices"
	"strings"
	"time"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
	"almanac/job/preview"
)

// A BulkPreview is what an action would do to many jobs.
type BulkPreview struct {
	Action    job.BulkAction `json:"action"`
	Jobs      []BulkJob      `json:"jobs"` // those that would run at once first
	Missing   []string       `json:"missing"`
	Changes   int            `json:"changes"`
	AtOnce    int            `json:"runAtOnce"`
	Selection string         `json:"selection"`
}

// A BulkJob is what an action would do to a job.
type BulkJob struct {
	ID                string    `json:"id"`
	Name              string    `json:"name"`
	ETag              string    `json:"etag,omitempty"`
	State             job.State `json:"state,omitempty"`
	Effect            Effect    `json:"effect"`
	RunsAtOnce        bool      `json:"runsAtOnce,omitempty"`
	NextExecutionTime *job.Time `json:"nextExecutionTime,omitempty"`
	Reason            string    `json:"reason,omitempty"`
	Held              *Held     `json:"held,omitempty"`
}

// Changing returns the names of the jobs that would change, in their order.
func (b *BulkPreview) Changing() (names []string) {
	for _, j := range b.Jobs {
		if j.Effect == Changes {
			names = append(names, j.Name[strings.LastIndexByte(j.Name, '/')+1:])
		}
	}
	return names
}

// SetHeld sets what is held of a job by its index in [BulkPreview.Changing], with its first occurrence.
func (b *BulkPreview) SetHeld(index int, h *preview.Held) {
	for i := range b.Jobs {
		if b.Jobs[i].Effect != Changes {
			continue
		}
		if index == 0 {
			held := NewHeld(h)
			held.Occurrences = held.Occurrences[:min(1, len(held.Occurrences))]
			b.Jobs[i].Held = &held
			return
		}
		index--
	}
}

// An Effect is what an action would do to a job.
type Effect string

// The effects.
const (
	Changes   Effect = "changes"
	Unchanged Effect = "unchanged"
	Refused   Effect = "refused"
)

// NewBulkPreview returns the form of a preview. Only jobs that would change are in its selection.
func NewBulkPreview(
	action job.BulkAction, promise *job.Promise, jobs []listing.Summary, missing []string, now time.Time,
) BulkPreview {
	r := BulkPreview{Action: action, Jobs: make([]BulkJob, len(jobs)), Missing: append([]string{}, missing...)}
	selection := input.Selection{Action: action, Promise: promise}
	for i, s := range jobs {
		effect, reason := effectOf(action, promise, &s)
		b := BulkJob{
			ID: s.Key.ARMID(), Name: jobName(s.Key), ETag: changeTag(s.Generation), State: s.State,
			Effect: effect, Reason: reason,
			NextExecutionTime: job.NewTime(s.Next),
			RunsAtOnce:        effect == Changes && action == job.BulkEnable && runsAtOnce(promise, &s),
		}
		if r.Jobs[i] = b; effect == Changes {
			r.Changes++
			selected := job.BulkJob{Name: s.Key.Name, Generation: s.Generation}
			if action == job.BulkSkip {
				selected.Due = s.Next
			}
			selection.Jobs = append(selection.Jobs, selected)
		}
		if b.RunsAtOnce {
			r.AtOnce++
		}
	}
	slices.SortStableFunc(r.Jobs, func(a, b BulkJob) int {
		if a.RunsAtOnce == b.RunsAtOnce {
			return 0
		}
		return map[bool]int{true: -1, false: 1}[a.RunsAtOnce]
	})
	r.Selection = selection.Text(now)
	return r
}

// effectOf returns what an action would do to a job, and why if that is nothing.
func effectOf(action job.BulkAction, promise *job.Promise, s *listing.Summary) (Effect, string) {
	final := s.State.Final()
	switch {
	case s.Unread != "":
		return Refused, "It could not be read: " + s.Unread + "."
	case s.Generation == 0:
		return Refused, "Its generation is not known; change it by itself."
	case action == job.BulkDisable && s.State == job.StateDisabled && promise != nil && !s.DisabledBy.Paused():
		return Unchanged, "It is disabled already, and stays so."
	case action == job.BulkEnable && s.State == job.StateEnabled,
		action == job.BulkDisable && s.State == job.StateDisabled && isPromised(promise, s.DisabledBy):
		return Unchanged, "It is " + string(s.State) + " already."
	case (action == job.BulkEnable || action == job.BulkDisable) && final:
		return Refused, "It is " + string(s.State) + ": no occurrence is left."
	case action == job.BulkSkip && s.Next.IsZero():
		return Unchanged, "No occurrence is next."
	case action == job.BulkRerun && s.LastRan != job.OutcomeFailed:
		return Unchanged, "Its last execution has not failed, as far as it is known."
	}
	return Changes, ""
}

// runsAtOnce reports whether a job has something to run at once when it is enabled as a promise says, as far as it is
// known: what is held, or a job that runs once and that was disabled without more.
func runsAtOnce(asked *job.Promise, s *listing.Summary) bool {
	says := func(p *job.Promise) bool { return p != nil && p.Recover != "" }
	p := s.DisabledBy.Promised()
	if says(asked) {
		p = asked
	}
	switch {
	case s.CollectionDisabled:
		return false
	case says(p), s.DisabledBy.Paused():
		return p.Keep() > 0 && (s.DueSinceDisabled || s.RunsOnEnable)
	}
	return s.RunsOnEnable
}

// isPromised reports whether a disabled job has that promise already.
func isPromised(p *job.Promise, d *job.Disabling) bool {
	return p == nil || d != nil && d.Promise == *p
}

// A BulkResult is the result for one job.
type BulkResult struct {
	ID         string               `json:"id"`
	Type       string               `json:"type"`
	Name       string               `json:"name"`
	Properties BulkResultProperties `json:"properties"`
}

// BulkResultProperties are what became of a job.
type BulkResultProperties struct {
	Status    job.BulkStatus `json:"status"`
	Execution string         `json:"execution,omitempty"`
	Error     *job.ErrorBody `json:"error,omitempty"`
}

// NewBulkResult returns the form of a result without its error.
func NewBulkResult(r job.BulkResult) BulkResult {
	form := BulkResult{
		ID: r.Key.ARMID(), Type: typeJob, Name: jobName(r.Key), Properties: BulkResultProperties{Status: r.Status},
	}
	if r.Execution != "" {
		form.Properties.Execution = ExecutionID(r.Key, r.Execution)
	}
	return form
}
