package resource

import (
	"cmp"

	"almanac/internal/iso8601"
	"almanac/job"
)

// A Backfill is a backfill and its progress.
type Backfill struct {
	ID         string             `json:"id"`
	Type       string             `json:"type"`
	Name       string             `json:"name"` // of the job collection, the job and the backfill
	Properties BackfillProperties `json:"properties"`
}

// BackfillProperties are how a backfill stands.
type BackfillProperties struct {
	State     job.BackfillState `json:"state"`
	From      *job.Time         `json:"from"`
	Until     *job.Time         `json:"until"`
	AtOnce    int               `json:"atOnce"`
	Every     string            `json:"every,omitempty"`
	Total     int               `json:"total"`
	Begun     int               `json:"begun"`
	Succeeded int               `json:"succeeded"`
	Failed    int               `json:"failed"`
	Left      int               `json:"left"`
	Time      *job.Time         `json:"time"`
	Caller    string            `json:"caller,omitempty"`
	EndTime   *job.Time         `json:"endTime,omitempty"`
	Reason    string            `json:"reason,omitempty"`
}

// NewBackfill returns the form of a backfill of a job.
func NewBackfill(j *job.Job, b *job.Backfill) Backfill {
	k := j.Key
	p := BackfillProperties{
		State: b.State, From: job.NewTime(b.From), Until: job.NewTime(b.Until), AtOnce: max(1, b.AtOnce), Total: b.Total, Begun: b.Begun,
		Succeeded: b.Succeeded, Failed: b.Failed, Left: b.Left(), Time: job.NewTime(b.At), Caller: b.By, EndTime: job.NewTime(b.EndedAt), Reason: cmp.Or(b.Why, whyWaiting(j, b)),
	}
	if b.Every > 0 {
		p.Every = iso8601.FormatDuration(b.Every)
	}
	return Backfill{ID: k.ARMID() + "/backfills/" + b.Name, Type: typeJob + "/backfills", Name: jobName(k) + "/" + b.Name, Properties: p}
}

// whyWaiting returns why a backfill that is neither paused nor ended begins nothing; "" if it does.
func whyWaiting(j *job.Job, b *job.Backfill) string {
	switch {
	case b.State != job.BackfillRunning:
		return ""
	case j.Definition.State == job.StateDisabled:
		return "It waits until the job is enabled."
	case j.CollectionDisabled:
		return "It waits until the job collection is enabled."
	}
	return ""
}

// A BackfillPreview is which occurrences a backfill would run.
type BackfillPreview struct {
	Total       int         `json:"total"`
	More        bool        `json:"more,omitempty"`
	Occurrences []*job.Time `json:"occurrences"`
	Last        *job.Time   `json:"last,omitempty"`
}

// NewBackfillPreview returns its form.
func NewBackfillPreview(b job.BackfillPreview) BackfillPreview {
	r := BackfillPreview{Total: b.Total, More: b.More, Occurrences: []*job.Time{}, Last: job.NewTime(b.Last)}
	for _, due := range b.Occurrences {
		r.Occurrences = append(r.Occurrences, job.NewTime(due))
	}
	return r
}
