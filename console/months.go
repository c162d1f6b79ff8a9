package console

import (
	"time"

	"almanac/client"
)

// mostMonths is how many calendars a page has at most.
const mostMonths = 2

// calendars adds the calendar of the month of the first run, and of the next month if the runs reach into it. Runs that
// are all on one day need none. The clock of the job's own zone changes on the days that say so.
func (n *nextRuns) calendars(runs []client.ChangeRun, all []client.Adjustment, clock clock, own *time.Location) {
	if len(runs) == 0 {
		return
	}
	loc := clock.Now.Location()
	first, last := runs[0].WillBe.In(loc), runs[len(runs)-1].WillBe.In(loc)
	limited := len(runs) == inCalendars
	if limited && first.Format(time.DateOnly) == last.Format(time.DateOnly) {
		return
	}
	byMonth := map[string]map[int]*calDay{}
	for _, run := range runs {
		t := run.WillBe.In(loc)
		key := t.Format("2006-01")
		if byMonth[key] == nil {
			byMonth[key] = map[int]*calDay{}
		}
		day := byMonth[key][t.Day()]
		if day == nil {
			day = &calDay{}
			byMonth[key][t.Day()] = day
		}
		if run.Others >= crowd {
			day.Class, n.Full = "full", true
		}
		switch len(day.Lines) {
		case 0, 1:
			day.Lines = append(day.Lines, calLine{Mark: "next", Label: words["next"], Text: t.Format("15:04")})
		case 2:
			day.Lines[1] = calLine{Text: "and more"}
		}
	}
	n.addAdjusted(byMonth, all, clock)
	var shown time.Time
	for from := first; len(n.Months) < mostMonths; from = from.AddDate(0, 1, 1-from.Day()) {
		days := byMonth[from.Format("2006-01")]
		if days == nil {
			break
		}
		m := calendar(from, clock.Now, days, own)
		n.Months, n.Clocks = append(n.Months, m), n.Clocks || m.Clocks
		shown = time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, loc)
	}
	if limited && last.Before(shown) {
		n.Until = last.Format("2 January")
	}
}

// clockChanges reports whether the clock of a place changes on a day.
func clockChanges(year int, month time.Month, day int, at *time.Location) bool {
	_, before := time.Date(year, month, day, 0, 0, 0, 0, at).Zone()
	_, after := time.Date(year, month, day+1, 0, 0, 0, 0, at).Zone()
	return before != after
}
