package timetable

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/recurrence"
)

// Check returns what is wrong with the times of a definition that a user writes, as [New] does, whatever its calendars
// say.
func Check(d *job.Definition, created, now time.Time) error {
	start := created
	var errs []error
	if d.StartTime != nil {
		if errs = startErrors(d.StartTime.Time, now); errs == nil {
			start = d.StartTime.Time
		}
	}
	if r := d.Recurrence; r != nil {
		errs = append(errs, furtherErrors(r, start)...)
		if !r.Notated() {
			if _, err := schedule(r, start); err != nil && !errors.Is(err, recurrence.ErrNever) {
				errs = append(errs, err)
			}
		}
		if errs == nil {
			errs = within100Years(r, start, now)
		}
	}
	return errors.Join(errs...)
}

// within100Years returns an error for each rule that is not due within 100 years of the start or of now, whichever is
// later. The end of the job plays no part in that.
func within100Years(r *job.Recurrence, start, now time.Time) (errs []error) {
	from := time.Unix(max(start.Unix(), now.Unix()), 0)
	limit := addMonths(from, 100*12)
	if limit.Year() > 9999 {
		limit = time.Time{}
	}
	for _, path := range r.NotDue(start, from, limit) {
		errs = append(errs, &job.FieldError{Path: path, Code: fields.Invalid, Allowed: "a schedule that is due within 100 years"})
	}
	return errs
}

// furtherErrors returns what is wrong with the rules beside a first one that is no cron expression, and with exclusions.
func furtherErrors(r *job.Recurrence, anchor time.Time) (errs []error) {
	_, err := r.Series(anchor)
	for _, f := range fields.Joined[*job.FieldError](err) {
		if r.Notated() || strings.HasPrefix(f.Path, "recurrence.also[") || strings.HasPrefix(f.Path, "recurrence.exclusions[") {
			errs = append(errs, f)
		}
	}
	for i, rule := range r.Also {
		errs = append(errs, intervalError(fmt.Sprintf("recurrence.also[%d].interval", i), rule.Frequency, rule.Interval)...)
	}
	for i, e := range r.Exclusions {
		errs = append(errs, intervalError(fmt.Sprintf("recurrence.exclusions[%d].interval", i), e.Frequency, e.Interval)...)
	}
	return errs
}

// intervalError returns the error of an interval that is too long for its frequency.
func intervalError(path, frequency string, interval int) []error {
	f, _ := recurrence.ParseFrequency(frequency)
	longest, ok := maxIntervals[f]
	if !ok {
		longest = 1000
	}
	if interval >= 0 && interval <= longest {
		return nil
	}
	allowed := "1"
	if longest > 1 {
		allowed = fmt.Sprintf("1 to %d", longest)
	}
	return []error{&job.FieldError{Path: path, Code: fields.OutOfRange, Value: interval, Allowed: allowed}}
}

// startErrors returns what is wrong with a start time.
func startErrors(start, now time.Time) (errs []error) {
	const path = "startTime"
	if limit := addMonths(now, 18); start.Unix() > limit.Unix() {
		errs = append(errs, &job.FieldError{Path: path, Code: fields.OutOfRange, Value: start, Allowed: "at most 18 months from now, " + limit.Format(time.RFC3339)})
	}
	if start.UTC().Year() < 0 {
		errs = append(errs, &job.FieldError{Path: path, Code: fields.OutOfRange, Value: start, Allowed: "the year 0 or later"})
	}
	return errs
}

// addMonths adds calendar months to an instant, in UTC. A day that the month
// lacks becomes its last.
func addMonths(t time.Time, n int) time.Time {
	year, month, day := t.UTC().Date()
	month += time.Month(n)
	hour, minute, second := t.UTC().Clock()
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(year, month, min(day, last), hour, minute, second, 0, time.UTC)
}
