package record

import (
	"slices"
	"time"
)

// Settling is how long after a fault its consequences may show: a lost worker is detected, and its tasks are
// given to another one.
const Settling = 90 * time.Second

// Created returns the change that created the job, nil if there is none.
func (j *JobLog) Created() *Change { return j.first(Create) }

// Deleted returns the change that deleted the job, nil if there is none.
func (j *JobLog) Deleted() *Change { return j.first(Delete) }

func (j *JobLog) first(kind string) *Change {
	for _, c := range j.Changes {
		if c.Kind == kind && c.Job == j.Job {
			return c
		}
	}
	return nil
}

// Outcome returns what is known about a change of the job, and since when. A create without an answer counts
// as applied if the job exists at the end of the run: its workflow was started within [Settling].
func (j *JobLog) Outcome(c *Change) (Outcome, time.Time) {
	outcome, at := c.Outcome()
	if outcome == Unknown && c.Kind == Create && j.EndsWith(200) {
		return Applied, c.LastAnswer().Add(Settling)
	}
	return outcome, at
}

// LastAnswer returns when the last try was answered or given up.
func (c *Change) LastAnswer() time.Time { return c.Tries[len(c.Tries)-1].Answered }

// EndsWith reports whether GET of the job had that status at the end of the run.
func (j *JobLog) EndsWith(status int) bool {
	return j.Read != nil && j.Read.Final && j.Read.Status == status
}

// Changing reports whether a change was made, or may have been, at some time from a to b.
func (j *JobLog) Changing(a, b time.Time) bool {
	return slices.ContainsFunc(j.Changes, func(c *Change) bool {
		outcome, at := j.Outcome(c)
		return !c.Issued().After(b) && (outcome == Unknown || !at.Before(a))
	})
}

// Definitions returns all definitions that the job ever had.
func (j *JobLog) Definitions() []Definition {
	var all []Definition
	for _, c := range j.Changes {
		if c.Definition != nil {
			all = append(all, *c.Definition)
		}
	}
	return all
}

// DefinitionOf returns the newest definition with a version that was requested by t, or else the first one.
func (j *JobLog) DefinitionOf(version int, t time.Time) (found Definition, ok bool) {
	for _, c := range j.Changes {
		if d := c.Definition; d != nil && d.Version == version && (!ok || !c.Issued().After(t)) {
			found, ok = *d, true
		}
	}
	return found, ok
}

// A Span is a stretch of time in which a job's schedule and state are certain.
type Span struct {
	From, To   time.Time
	Active     bool // neither the job nor its collection is disabled
	Definition Definition
}

// Spans returns the spans of the job, oldest first. A change of the action does not end a span.
func (j *JobLog) Spans() []Span {
	var all []Span
	var definition Definition
	created, enabled, collectionDisabled := false, true, false
	var since time.Time // zero: before the first change
	add := func(to time.Time) {
		if created && to.After(since) {
			all = append(all, Span{since, to, enabled && !collectionDisabled, definition})
		}
	}
	for _, c := range j.Changes {
		if c.Kind == ChangeAction {
			continue
		}
		if !since.IsZero() {
			add(c.Issued())
		}
		outcome, at := j.Outcome(c)
		if c.Definition != nil {
			definition = *c.Definition
		}
		switch c.Kind {
		case Create:
			created, enabled = true, true
		case Disable:
			enabled = false
		case Enable:
			enabled = true
		case DisableCollection:
			collectionDisabled = true
		case EnableCollection:
			collectionDisabled = false
		case Delete:
			return all
		}
		if outcome == Unknown {
			return all // from here on nothing is certain
		}
		if at.After(since) {
			since = at
		}
	}
	add(j.quiet)
	return all
}

// maxDue bounds how many due times of a job are computed: those of a week.
const maxDue = 7 * 24 * 60

// Due returns the due times after from and before to.
func (d *Definition) Due(from, to time.Time) []time.Time {
	if d.Once {
		if start := d.Start.Truncate(time.Second); start.After(from) && start.Before(to) {
			return []time.Time{start.UTC()}
		}
		return nil
	}
	first := d.Start.UTC().Truncate(time.Second)
	if !first.After(from) {
		first = first.Add(from.Sub(first).Truncate(time.Minute) + time.Minute)
	}
	var all []time.Time
	for t := first; t.Before(to) && len(all) < maxDue; t = t.Add(time.Minute) {
		all = append(all, t)
	}
	return all
}

// IsDue reports whether t is a due time of the schedule.
func (d *Definition) IsDue(t time.Time) bool {
	return slices.ContainsFunc(d.Due(t.Add(-time.Second), t.Add(time.Second)), t.Equal)
}

// IsOccurrence reports whether an execution that is due at t may be one of the schedule, by any definition.
func (j *JobLog) IsOccurrence(t time.Time) bool {
	for _, d := range j.Definitions() {
		if d.IsDue(t) {
			return true
		}
	}
	return j.dueWhenCreated(t)
}

// dueWhenCreated reports whether the execution that is due at t may be that of a one-time job that was
// created after its start: it is due when the job is created.
func (j *JobLog) dueWhenCreated(t time.Time) bool {
	created := j.Created()
	if created == nil || !created.Definition.Once {
		return false
	}
	outcome, at := created.Outcome()
	return !t.Before(created.Issued().Truncate(time.Second)) && (outcome == Unknown || !t.After(at))
}

// maxManualDelay is the maximum time between a manual run without an answer and its execution's due time.
const maxManualDelay = 10 * time.Minute

// ManualRunsDue returns the manual runs whose execution may be due at t.
func (j *JobLog) ManualRunsDue(t time.Time) []*Change {
	var found []*Change
	for _, c := range j.ManualRuns {
		until := c.Issued().Add(maxManualDelay)
		if outcome, at := c.Outcome(); outcome == Applied {
			until = at
		}
		// A manual run that is answered right before the job's workflow continues as new starts right after
		// that: it is due up to a second after the answer.
		if !t.Before(c.Issued().Truncate(time.Second)) && !t.After(until.Add(time.Second)) {
			found = append(found, c)
		}
	}
	return found
}
