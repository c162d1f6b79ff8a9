package console

import (
	"slices"
	"strings"
	"time"

	"almanac/client"
)

// nominal returns the day on which a rule fires, and the time of day if a run that is moved has another one.
func (c clock) nominal(a *client.Adjustment) string {
	from, to := a.NominalTime.In(c.Now.Location()), a.ExpectedExecutionTime.In(c.Now.Location())
	layout := "Mon 2 Jan"
	if from.Year() != c.Now.Year() {
		layout = "Mon 2 Jan 2006"
	}
	if !a.ExpectedExecutionTime.IsZero() && from.Format(time.TimeOnly) != to.Format(time.TimeOnly) {
		layout += " 15:04"
	}
	return from.Format(layout)
}

// moved says from where calendars move the run that is due at a time, and why; "" if they do not.
func (c clock) moved(all []client.Adjustment, due time.Time) string {
	for i := range all {
		if a := &all[i]; !due.IsZero() && a.ExpectedExecutionTime.Equal(due) {
			return "moved from " + c.nominal(a) + " because " + a.Reason
		}
	}
	return ""
}

// left says what calendars skip after a time, and before another one if that is not zero; "" if they skip nothing.
func (c clock) left(all []client.Adjustment, after, before time.Time) string {
	n, days, reasons := 0, []string{}, []string{}
	for i := range all {
		a := &all[i]
		if a.Change != "skipped" || !a.NominalTime.After(after) || !before.IsZero() && !a.NominalTime.Before(before) {
			continue
		}
		n += max(1, a.Count)
		if day := c.nominal(a); !slices.Contains(days, day) {
			days = append(days, day)
		}
		if !slices.Contains(reasons, a.Reason) {
			reasons = append(reasons, a.Reason)
		}
	}
	if n == 0 {
		return ""
	}
	text := days[0]
	if last := days[len(days)-1]; last != text {
		text += " to " + last
	}
	if n > 1 {
		text += ": " + count(n) + " skipped because "
	} else {
		text += ": skipped because "
	}
	if more := len(reasons) - 3; more > 0 {
		reasons = append(reasons[:3], "and "+plural(more, "more reason", "more reasons"))
	}
	return text + strings.Join(reasons, "; ")
}

// adjusted returns rows with what calendars move, and with rows of what they skip: those before the rows, and if nothing
// follows, after them.
func (c clock) adjusted(rows []nextRow, all []client.Adjustment, done bool) []nextRow {
	if len(all) == 0 {
		return rows
	}
	var with []nextRow
	after := time.Time{}
	for _, row := range rows {
		if text := c.left(all, after, row.due); text != "" {
			with = append(with, nextRow{Gap: text, due: row.due})
		}
		row.Moved = c.moved(all, row.due)
		with, after = append(with, row), row.due
	}
	if text := c.left(all, after, time.Time{}); done && text != "" {
		with = append(with, nextRow{Gap: text})
	}
	return with
}

// addAdjusted adds to the days of months what calendars skip on them, and what they move away.
func (n *nextRuns) addAdjusted(byMonth map[string]map[int]*calDay, all []client.Adjustment, clock clock) {
	loc := clock.Now.Location()
	for i := range all {
		a := &all[i]
		from := a.NominalTime.In(loc)
		days := byMonth[from.Format("2006-01")]
		if days == nil { // no run is in this month
			continue
		}
		day := days[from.Day()]
		if day == nil {
			day = &calDay{}
			days[from.Day()] = day
		}
		line := calLine{Mark: "skip", Label: words["skip"], Text: a.Reason}
		if len(a.Calendars) > 0 && a.Calendars[0].Day != "" {
			line.Text = a.Calendars[0].Day
		}
		if a.Change == "moved" {
			line = calLine{Label: "moved", Text: "→ " + a.ExpectedExecutionTime.In(loc).Format("2 Jan")}
		}
		day.Class, day.Title, n.Off = strings.TrimSpace(day.Class+" off"), a.Text, true
		if len(day.Lines) < 2 {
			day.Lines = append(day.Lines, line)
		}
	}
}
