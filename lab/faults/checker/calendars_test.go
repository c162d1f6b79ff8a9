package checker_test

import (
	"fmt"
	"time"

	"almanac/lab/faults/checker"
	"almanac/lab/record"
)

// begin is a Sunday, 2026-03-01.
var sunday, saturday = begin.Format(time.DateOnly), begin.AddDate(0, 0, -1).Format(time.DateOnly)

// newDated returns a log of a job that runs by the calendar A, of which version 1 has some days off.
func newDated(r record.Rule, off ...string) *scenario {
	d := minutely()
	d.Start, d.Overlap, d.Rule = begin.AddDate(0, 0, -30), "allowAll", &r
	s := newScenario(d)
	s.put(-60, 1, off...)
	return s
}

// put adds a change of the calendar A, which is answered a second later.
func (s *scenario) put(issued float64, version int, off ...string) *record.Calendar {
	k := &record.Calendar{Name: "A", Version: version}
	for _, day := range off {
		k.Days = append(k.Days, record.DayOff{Date: day, Name: "free " + day})
	}
	c := s.change(record.PutCalendar, issued, issued+1, 200)
	c.Job, c.Calendar = record.Job{Collection: job.Collection}, k
	return k
}

func (s *scenario) calendarChange(kind string, issued, answered float64, status int) *scenario {
	c := s.change(kind, issued, answered, status)
	c.Job, c.Calendar = record.Job{Collection: job.Collection}, &record.Calendar{Name: "A"}
	return s
}

// byMinutes is a rule of minutes, and bySaturdays one of the minutes around noon on the day before.
func byMinutes(onMatch string) record.Rule {
	return record.Rule{Frequency: "minute", Uses: []record.Use{{Name: "A", OnMatch: onMatch}}}
}

func bySaturdays(onMatch string) record.Rule {
	r := record.Rule{Frequency: "week", WeekDays: []time.Weekday{time.Saturday}, Hours: []int{12},
		Uses: []record.Use{{Name: "A", OnMatch: onMatch}}}
	for m := range 60 {
		r.Minutes = append(r.Minutes, m)
	}
	return r
}

// off adds entries of what the calendar A drops.
func (s *scenario) off(version int, day string, dues ...float64) *scenario {
	for _, due := range dues {
		e := s.entry(due, due+0.1, "Skipped", 0, 0)
		e.Message = fmt.Sprintf("It was skipped: the calendar A (version %d) has %s.", version, day)
		e.Calendars = []record.CalendarDay{{Name: "A", Version: version, Day: day}}
	}
	return s
}

// moved adds executions of what the calendar A moves by a day.
func (s *scenario) moved(version int, day string, dues ...float64) *scenario {
	for _, due := range dues {
		s.ran(due)
		e := &s.Reads[0].Entries[len(s.Reads[0].Entries)-1]
		e.Nominal = e.Due.AddDate(0, 0, -1)
		e.Calendars = []record.CalendarDay{{Name: "A", Version: version, Day: day}}
	}
	return s
}

// last returns the last entry.
func (s *scenario) last() *record.Entry { return &s.Reads[0].Entries[len(s.Reads[0].Entries)-1] }

func calendarCases() []testCase {
	const day = "free 2026-03-01"
	// from 125 s on the day is off
	closed := func(ran ...float64) *scenario {
		s := newDated(byMinutes("skip")).ran(ran...)
		s.put(125, 2, sunday)
		return s
	}
	return []testCase{
		{"a calendar drops what is due", func() *scenario {
			return closed(0, 60, 120).off(2, day, 180, 240, 300)
		}, nil},
		{"what a calendar drops runs by the bare rule", func() *scenario {
			return closed(0, 60, 120, 180).off(2, day, 180, 240, 300)
		}, []string{checker.Calendars}},
		{"what a calendar drops has no entry", func() *scenario {
			return closed(0, 60, 120).off(2, day, 240, 300)
		}, []string{checker.OneEntry}},
		{"what a calendar drops has two entries", func() *scenario {
			return closed(0, 60, 120).off(2, day, 180, 180, 240, 300)
		}, []string{checker.OneEntry}},
		{"what a calendar drops and what ran has an entry", func() *scenario {
			s := newDated(byMinutes("skip")).ran(0, 60, 120)
			s.put(119, 2, sunday)
			return s.off(2, day, 120, 180, 240, 300)
		}, []string{checker.OneEntry}},
		{"what a calendar drops has an entry of a version that has not the day", func() *scenario {
			return closed(0, 60, 120).off(1, day, 180, 240, 300)
		}, []string{checker.Entries}},
		{"what a calendar drops has an entry with another day", func() *scenario {
			return closed(0, 60, 120).off(2, "Sunday", 180, 240, 300)
		}, []string{checker.Entries}},
		{"what a calendar drops has an entry that names none", func() *scenario {
			s := closed(0, 60, 120).off(2, day, 180, 240, 300)
			s.last().Calendars = nil
			return s
		}, []string{checker.Entries}},
		{"an entry says that a calendar dropped what no version drops", func() *scenario {
			return closed(0, 60, 120).off(2, day, 60, 180, 240, 300)
		}, []string{checker.Entries}},
		{"many that a calendar drops have an entry together", func() *scenario {
			s := closed(0, 60, 120).off(2, day, 180, 300)
			s.Reads[0].Entries[3].Message = "2 occurrences, the first of which was due at 2026-03-01T12:03:00Z and the last " +
				"before 2026-03-01T12:05:00Z, were not run: the calendar A (version 2) has free 2026-03-01."
			return s
		}, nil},
		{"an entry of many counts more than there are", func() *scenario {
			s := closed(0, 60, 120).off(2, day, 180, 300)
			s.Reads[0].Entries[3].Message = "3 occurrences, the first of which was due at 2026-03-01T12:03:00Z and the last " +
				"before 2026-03-01T12:05:00Z, were not run: the calendar A (version 2) has free 2026-03-01."
			return s
		}, []string{checker.Entries}},
		{"a calendar was another one for a moment, before a fault was over", func() *scenario {
			s := newDated(byMinutes("skip")).ran(0, 60, 120, 240, 300).fault("pause", 130, 140)
			s.put(125, 2, sunday)
			s.put(185, 3)
			return s.off(2, day, 180)
		}, nil},
		{"what no calendar drops is lost", func() *scenario {
			return newDated(byMinutes("skip")).ran(0, 60, 180, 240, 300)
		}, []string{checker.NoLoss}},
		{"what no calendar drops is missed without need", func() *scenario {
			s := newDated(byMinutes("skip")).ran(0, 60, 180, 240, 300)
			return s.dropped(120, 150, "Missed", "It was missed: nothing could run it when it was due.")
		}, []string{checker.NoLoss}},
		{"what no calendar drops is missed in a fault", func() *scenario {
			s := newDated(byMinutes("skip")).ran(0, 60, 180, 240, 300).fault("kill", 100, 130, everything...)
			return s.dropped(120, 131, "Missed", "It was missed: nothing could run it when it was due.")
		}, nil},
		{"a calendar lets run its days alone", func() *scenario {
			s := newDated(byMinutes("only"), sunday).ran(0, 60, 120)
			s.put(125, 2)
			for _, due := range []float64{180, 240, 300} {
				s.off(2, "", due).last().Message = "It was skipped: the calendar A (version 2) does not have that day."
			}
			return s
		}, nil},
	}
}

func moveCases() []testCase {
	const day = "free 2026-02-28"
	all := func() *scenario {
		return newDated(bySaturdays("nextWorkingDay"), saturday).moved(1, day, 0, 60, 120, 180, 240, 300)
	}
	return []testCase{
		{"what a calendar moves runs on the next day", all, nil},
		{"what a calendar moves has an entry without its nominal time", func() *scenario {
			s := all()
			s.last().Nominal = time.Time{}
			return s
		}, []string{checker.Entries}},
		{"what a calendar moves has an entry without the calendar", func() *scenario {
			s := all()
			s.last().Calendars = nil
			return s
		}, []string{checker.Entries}},
		{"what a calendar moves is lost", func() *scenario {
			return newDated(bySaturdays("nextWorkingDay"), saturday).moved(1, day, 0, 60, 180, 240, 300)
		}, []string{checker.NoLoss}},
		{"what a calendar moves runs at another time", func() *scenario {
			s := newDated(bySaturdays("nextWorkingDay"), saturday).moved(1, day, 0, 60, 120)
			s.put(125, 2, saturday, sunday)
			return s.moved(2, day, 180)
		}, []string{checker.Calendars}},
		{"what a calendar moves further does not run", func() *scenario {
			s := newDated(bySaturdays("nextWorkingDay"), saturday).moved(1, day, 0, 60, 120)
			s.put(125, 2, saturday, sunday)
			return s
		}, nil},
		{"what would be due before a change goes to the first working day", func() *scenario {
			s := newDated(bySaturdays("nextWorkingDay"), saturday).moved(1, day, 0, 60, 120)
			s.put(125, 2)
			s.ran(180, 240, 300)
			for i := range 3 {
				s.Reads[0].Entries[3+i].Nominal = at(180+60*float64(i)).AddDate(0, 0, -1)
			}
			return s
		}, nil},
		{"an occurrence runs twice, once by each version", func() *scenario {
			s := newDated(bySaturdays("nextWorkingDay"), saturday).moved(1, day, 0, 60, 120, 180)
			s.put(175, 2, saturday, sunday)
			s.moved(2, day, 180+24*60*60).last().Nominal = at(180).AddDate(0, 0, -1)
			return s
		}, []string{checker.OneID}},
		{"a working day has another number", func() *scenario {
			r := bySaturdays("skip")
			r.Frequency, r.WeekDays, r.WorkingDays = "month", nil, []int{1}
			s := newDated(r).ran(0, 60, 120)
			s.put(125, 2, sunday)
			return s.ran(180)
		}, []string{checker.Calendars}},
		{"an entry does not say that it is behind the horizon", func() *scenario {
			s := newDated(byMinutes("skip"))
			s.Changes[1].Calendar.CompleteUntil = saturday
			s.ran(0, 60, 120, 180, 240, 300)
			for i := range s.Reads[0].Entries[:5] {
				s.Reads[0].Entries[i].Beyond = []string{"A"}
			}
			return s
		}, []string{checker.Entries}},
	}
}

func calendarChangeCases() []testCase {
	return []testCase{
		{"a calendar cannot be read, and what is planned runs", func() *scenario {
			s := newDated(byMinutes("skip")).ran(0, 60, 120, 180).calendarChange(record.LoseCalendar, 100, 101, 200)
			s.put(200, 1, sunday)
			return s.off(1, "free 2026-03-01", 240, 300)
		}, nil},
		{"a calendar cannot be read, and what is planned does not run", func() *scenario {
			return newDated(byMinutes("skip")).ran(0, 60, 120).calendarChange(record.LoseCalendar, 100, 101, 200)
		}, []string{checker.NoLoss}},
		{"a calendar is deleted that a job uses", func() *scenario {
			return newDated(byMinutes("skip")).ran(0, 60, 120, 180, 240, 300).
				calendarChange(record.DeleteCalendar, 290, 291, 200)
		}, []string{checker.InUse}},
		{"a calendar is not deleted that a job uses", func() *scenario {
			return newDated(byMinutes("skip")).ran(0, 60, 120, 180, 240, 300).
				calendarChange(record.DeleteCalendar, 290, 291, 409)
		}, nil},
		{"a change makes the version two more", func() *scenario {
			s := newDated(byMinutes("skip")).ran(0, 60, 120, 180, 240, 300)
			s.put(100, 3, saturday)
			return s
		}, []string{checker.Entries}},
		{"a change to the same keeps the version", func() *scenario {
			s := newDated(byMinutes("skip")).ran(0, 60, 120, 180, 240, 300)
			s.put(100, 1)
			return s
		}, nil},
	}
}
