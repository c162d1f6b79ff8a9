package resource

import (
	"time"

	"almanac/job"
	"almanac/job/presence"
)

// Workers are those on record in a window.
type Workers struct {
	From     *job.Time `json:"from"`
	Until    *job.Time `json:"until"`
	Since    *job.Time `json:"since"` // of what was before, nothing is known
	Value    []Worker  `json:"value"`
	Absences []Span    `json:"absences"` // no worker checked in
}

// A Worker is a process that runs jobs.
type Worker struct {
	Name         string       `json:"name"`
	Version      string       `json:"version,omitempty"`
	ZoneInfo     string       `json:"zoneinfo,omitempty"`
	FirstCheckIn *job.Time    `json:"firstCheckIn"`
	LastCheckIn  *job.Time    `json:"lastCheckIn"`
	End          presence.End `json:"end,omitempty"`
	Gaps         []Span       `json:"gaps,omitempty"`
}

// A Span is a time.
type Span struct {
	From *job.Time `json:"from"`
	To   *job.Time `json:"to"`
}

// NewWorkers returns the form of a log, of a window.
func NewWorkers(l *presence.Log, from, until, now time.Time) Workers {
	w := Workers{
		From: job.NewTime(from), Until: job.NewTime(until), Since: job.NewTime(l.Since),
		Value: []Worker{}, Absences: spans(l.Absences(from, until, l.LookedAt(now))),
	}
	if w.Absences == nil {
		w.Absences = []Span{}
	}
	for _, s := range l.Between(from, until) {
		one := Worker{
			Name: s.Identity, Version: s.Version, ZoneInfo: s.Zones, FirstCheckIn: job.NewTime(s.From),
			LastCheckIn: job.NewTime(s.To), Gaps: spans(s.Gaps),
		}
		if s.End != presence.Continues { // it is handed over, and there
			one.End = s.End
		}
		w.Value = append(w.Value, one)
	}
	return w
}

func spans(all []presence.Interval) (out []Span) {
	for _, one := range all {
		out = append(out, Span{job.NewTime(one.From), job.NewTime(one.To)})
	}
	return out
}
