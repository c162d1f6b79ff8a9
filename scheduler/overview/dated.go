package overview

import (
	"cmp"
	"context"
	"slices"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
	"almanac/scheduler/core"
)

// A dated is an outline by calendars, and these.
type dated struct {
	*outline

	uses []calendars.Use
}

// byCalendars returns the outline of a job in a collection whose timetable goes by its blackouts, and by its calendars as
// they are now; the same one if the job has none. What the job decided by earlier versions is not in it, so an occurrence that these had
// moved is shown as if they had not, until the job is asked.
func (v *Overview) byCalendars(ctx context.Context, k job.CollectionKey, o *outline) (*outline, error) {
	if !o.ByDays() {
		return o, nil
	}
	uses, err := v.o.Uses(ctx, k, o.Recurrence)
	if err != nil {
		return nil, err
	}
	if known := o.dated.Load(); known != nil && slices.Equal(known.uses, uses) {
		return known.outline, nil
	}
	d := job.Definition{StartTime: o.StartTime, Recurrence: o.Recurrence, Blackouts: o.Blackouts}
	made := o.Made
	if made.IsZero() {
		made = o.Created
	}
	all, err := timetable.With(&d, o.Created, uses, made, nil)
	if err != nil {
		return nil, err
	}
	by := &outline{Outline: o.Outline, timetable: all.Without(o.Skips, o.SkipWindows...)}
	o.dated.Store(&dated{by, uses})
	return by, nil
}

// rows returns the jobs of a survey.
func (r *survey) rows() []*row {
	all := make([]*row, len(r.jobs))
	for i := range r.jobs {
		all[i] = &r.jobs[i]
	}
	return all
}

// date has jobs with calendars go by these. If one cannot be read, nothing is known of the job.
func (r *survey) date(ctx context.Context, jobs []*row) {
	var by []*row
	for _, w := range jobs {
		if w.outline != nil && w.ByDays() {
			by = append(by, w)
		}
	}
	wfclient.Each(len(by), func(i int) {
		w := by[i]
		o, err := r.byCalendars(ctx, w.Key.Collection, w.outline)
		if w.outline = o; err != nil {
			w.Unread = cmp.Or(core.Why(err), strange)
		}
	})
}
