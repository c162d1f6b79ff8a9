package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"

	names "almanac/job"
	"almanac/lab/client"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// Jobs of collections of their own run by calendars, whose days around the run come and go. Calendars have days, and a
// run takes minutes: so these jobs are due in each minute of some hours, and what is moved moves from yesterday or
// tomorrow into the run, or out of it.

const calendarCollections = 2

func calendarCollection(i int) string { return fmt.Sprintf("calendars%d", i) }

// usedCalendars are the calendars that jobs use; freeCalendar is one that none does.
var usedCalendars = []string{"A", "B", "C"}

const freeCalendar = "free"

// steadyZones are zones without daylight saving time, some of which have their midnight at other quarters of an hour.
var steadyZones = []string{"UTC", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Eucla", "Asia/Yangon", "Pacific/Marquesas",
	"Australia/Darwin", "Asia/Kabul", "Etc/GMT+12", "Etc/GMT+11", "Etc/GMT+10", "Etc/GMT+9", "Etc/GMT+8", "Etc/GMT+7",
	"Etc/GMT+6", "Etc/GMT+5", "Etc/GMT+4", "Etc/GMT+3", "Etc/GMT+2", "Etc/GMT+1", "Etc/GMT-1", "Etc/GMT-2", "Etc/GMT-3",
	"Etc/GMT-4", "Etc/GMT-5", "Etc/GMT-6", "Etc/GMT-7", "Etc/GMT-8", "Etc/GMT-9", "Etc/GMT-10", "Etc/GMT-11",
	"Etc/GMT-12", "Etc/GMT-13", "Etc/GMT-14"}

// midnightSoon is how long after its creation midnight comes in the zone of some jobs.
const midnightSoon = 40 * time.Minute

// zone returns a zone: one of three jobs has one in which it is midnight soon, if there is such one.
func zone(now time.Time, random *rand.Rand) string {
	soon := slices.DeleteFunc(slices.Clone(steadyZones), func(name string) bool {
		until := 24*time.Hour - clock(now, name)
		return until < 2*time.Minute || until > midnightSoon
	})
	if random.IntN(3) == 0 && len(soon) > 0 {
		return soon[random.IntN(len(soon))]
	}
	return steadyZones[random.IntN(len(steadyZones))]
}

// in returns a time in a zone.
func in(t time.Time, name string) time.Time {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err) //nolint:forbidigo // each machine with Go has these
	}
	return t.In(zone)
}

// clock returns the time of day in a zone.
func clock(t time.Time, name string) time.Duration {
	local := in(t, name)
	return time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute
}

// NewDated returns n jobs with calendars, due from begin on.
func NewDated(n int, begin time.Time, random *rand.Rand) []*Job {
	var all []*Job
	for i := range n {
		j := &Job{ID: record.Job{Collection: calendarCollection(i % calendarCollections), Name: fmt.Sprintf("k%05d", i),
			Incarnation: 1}, Definition: newDated(i/calendarCollections, begin, random)}
		all = append(all, j)
	}
	return all
}

// daysAround is how long before its creation the nominal times of a job begin. Of a rule with many times a day all are
// looked at that may move, so that these jobs have not more of them than the run needs.
const daysAround = 6 * 24 * time.Hour

// newDated returns the definition of a job with calendars; each kind in turn.
func newDated(kind int, now time.Time, random *rand.Rand) record.Definition {
	r := &record.Rule{Zone: zone(now, random)}
	d := record.Definition{Version: 1, Start: newStart(now.Add(-daysAround), random), Overlap: "allowAll",
		CatchUp: random.IntN(3) == 0, Behaviour: []string{"ok", "ok", "ok", "slow-1", "flaky-30"}[random.IntN(5)], Rule: r}
	if random.IntN(2) == 0 {
		d.Retries, d.RetryInterval = 1, retryInterval
	}
	today := in(now, r.Zone)
	other := []int{-1, 1}[random.IntN(2)]
	for hour := range 2 {
		r.Hours = append(r.Hours, (today.Hour()+hour)%24)
	}
	near := []time.Weekday{today.AddDate(0, 0, other).Weekday()}
	if random.IntN(2) == 0 {
		near = append(near, today.Weekday())
	}
	switch kind % 8 {
	case 0:
		r.Frequency = "minute"
	case 1:
		r.Frequency = "minute"
	case 2:
		r.Frequency = "day"
	case 3, 4, 5, 6:
		r.Frequency, r.WeekDays = "week", near
	default:
		r.Frequency = "month"
		for n := max(1, today.Day()-4); n <= today.Day(); n++ {
			r.WorkingDays = append(r.WorkingDays, n)
		}
	}
	r.Minutes = minutes(map[string]int{"day": 3}[r.Frequency], random)
	r.Uses = uses(r, kind, other, random)
	if r.Frequency != "minute" {
		d.Start = d.Start.Truncate(time.Minute) // as these are due
	}
	return d
}

// minutes returns all minutes of an hour, or some that are not evenly apart: one of so many, or for 0 perhaps one of two.
func minutes(oneOf int, random *rand.Rand) (all []int) {
	if oneOf == 0 {
		oneOf = 1 + random.IntN(2)
	}
	for m := range 60 {
		if random.IntN(oneOf) == 0 {
			all = append(all, m)
		}
	}
	return all
}

// uses returns the calendars of a rule, which moves occurrences from yesterday if other is -1, and else from tomorrow.
func uses(r *record.Rule, kind, other int, random *rand.Rand) []record.Use {
	one := func(name, onMatch string) record.Use { return record.Use{Name: name, OnMatch: onMatch} }
	policies := []string{"nextWorkingDay", "nextWorkingDayInMonth"}
	if other > 0 {
		policies = []string{"previousWorkingDay", "previousWorkingDayInMonth"}
	}
	moves := policies[random.IntN(2)]
	switch {
	case r.Frequency == "month":
		return []record.Use{one("A", "skip")}
	case r.Frequency == "minute" && kind%2 == 1:
		return []record.Use{one("B", "only")}
	case r.Frequency == "minute" && random.IntN(2) == 0:
		return []record.Use{one("A", "skip"), one("C", "skip")}
	case r.Frequency == "minute":
		return []record.Use{one("C", "skip")}
	case random.IntN(3) == 0:
		return []record.Use{one("C", []string{"skip", moves}[random.IntN(2)]), one("A", moves)}
	}
	return []record.Use{one([]string{"A", "B", "C"}[random.IntN(3)], moves)}
}

// newCalendar returns a calendar of the days around a time.
func newCalendar(name string, now time.Time, random *rand.Rand) record.Calendar {
	c := record.Calendar{Name: name, WeekendDays: []time.Weekday{}}
	date := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	switch random.IntN(4) {
	case 0:
		c.WeekendDays = []time.Weekday{time.Saturday, time.Sunday}
	case 1:
		c.WeekendDays = []time.Weekday{now.AddDate(0, 0, -1).Weekday()}
	}
	listed := map[string]bool{}
	for n := -3; n <= 5; n++ {
		off := map[int]int{-1: 6, 0: 4, 1: 6}[n]
		if random.IntN(10) >= max(3, off) {
			continue
		}
		listed[date(n)] = true
		switch random.IntN(4) {
		case 0:
			c.Days = append(c.Days, record.DayOff{Date: date(n)})
		case 1:
			c.Periods = append(c.Periods, record.Period{First: date(n), Last: date(n + random.IntN(2)),
				Name: fmt.Sprintf("period %d", n)})
		default:
			c.Days = append(c.Days, record.DayOff{Date: date(n), Name: fmt.Sprintf("day %d", n)})
		}
	}
	for n := -2; n <= 2; n++ {
		if random.IntN(6) == 0 && !listed[date(n)] {
			c.MakeUpDays = append(c.MakeUpDays, date(n))
		}
	}
	if name == "B" && random.IntN(2) == 0 {
		c.TimeZone = zone(now, random)
	}
	if n := random.IntN(6); n < 4 {
		c.CompleteUntil = date([]int{-1, 0, 1, 30}[n])
	}
	return c
}

// calendarBody returns the body of the request that puts a calendar.
func calendarBody(c *record.Calendar) object {
	weekend := []string{}
	for _, d := range c.WeekendDays {
		weekend = append(weekend, strings.ToLower(d.String()))
	}
	p := object{"weekendDays": weekend}
	named := func(of object, name string) object {
		if name != "" {
			of["name"] = name
		}
		return of
	}
	var days, periods, makeUp []object
	for _, d := range c.Days {
		days = append(days, named(object{"date": d.Date}, d.Name))
	}
	for _, d := range c.Periods {
		periods = append(periods, named(object{"first": d.First, "last": d.Last}, d.Name))
	}
	for _, d := range c.MakeUpDays {
		makeUp = append(makeUp, object{"date": d})
	}
	for name, list := range map[string][]object{"days": days, "periods": periods, "makeUpDays": makeUp} {
		if len(list) > 0 {
			p[name] = list
		}
	}
	for name, text := range map[string]string{"timeZone": c.TimeZone, "completeUntil": c.CompleteUntil} {
		if text != "" {
			p[name] = text
		}
	}
	return client.Properties(p)
}

// recurrenceOf returns the recurrence of a job with calendars.
func recurrenceOf(d *record.Definition) object {
	r := d.Rule
	o := object{"frequency": r.Frequency, "interval": 1, "overlapPolicy": d.Overlap, "timeZone": r.Zone,
		"calendars": usesBody(r)}
	schedule := object{"hours": r.Hours, "minutes": r.Minutes}
	if len(r.WeekDays) > 0 {
		var names []string
		for _, day := range r.WeekDays {
			names = append(names, strings.ToLower(day.String()))
		}
		schedule["weekDays"] = names
	}
	if len(r.WorkingDays) > 0 {
		schedule["workingDays"] = r.WorkingDays
	}
	if r.Frequency != "minute" {
		o["schedule"] = schedule
	}
	if d.CatchUp {
		o["catchUpWindow"] = "PT1H"
	}
	return o
}

func usesBody(r *record.Rule) (all []object) {
	for _, u := range r.Uses {
		all = append(all, object{"name": u.Name, "onMatch": u.OnMatch})
	}
	return all
}

func calendarPath(collection, name string) string {
	return client.CollectionPath(collection) + "/calendars/" + name
}

// putCalendar puts a calendar, and notes the version that it gets.
func (w *Workload) putCalendar(ctx context.Context, collection string, c record.Calendar) record.Outcome {
	said := c
	change := &record.Change{Job: record.Job{Collection: collection}, Kind: record.PutCalendar, Calendar: &said}
	version := 0
	outcome := w.repeat(ctx, change, maxTries, func(n int) record.Try {
		t, a := try(ctx, w.client, n+len(c.Name), http.MethodPut, calendarPath(collection, c.Name), calendarBody(&c))
		var answer struct{ Properties struct{ Version int } }
		if t.Status/100 == 2 && json.Unmarshal(a.Body, &answer) == nil {
			version = answer.Properties.Version
		}
		return t
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	said.Version = version
	return outcome
}

// createCalendars puts all calendars for the first time.
func (w *Workload) createCalendars(ctx context.Context) {
	for i := range calendarCollections {
		for _, name := range usedCalendars {
			w.putCalendar(ctx, calendarCollection(i), w.newCalendar(name))
		}
	}
}

func (w *Workload) newCalendar(name string) record.Calendar {
	w.mu.Lock()
	defer w.mu.Unlock()
	return newCalendar(name, time.Now().UTC(), w.random)
}

// runCalendars starts to change calendars, and the jobs that use them.
func (w *Workload) runCalendars(ctx, base context.Context) {
	for i := range calendarCollections {
		for _, name := range usedCalendars {
			w.open.Go(func() { w.changeCalendars(ctx, base, calendarCollection(i), name) })
		}
		w.open.Go(func() { w.changeFreeCalendar(ctx, base, calendarCollection(i)) })
	}
	for _, j := range w.Dated {
		w.open.Go(func() {
			for wait.For(ctx, w.between(10*time.Second, 3*time.Minute)) == nil {
				j.Lock()
				w.changeDated(base, j)
				j.Unlock()
			}
		})
	}
}

// changeCalendars changes a calendar that jobs use, tries to delete it, and has it lost for a while.
func (w *Workload) changeCalendars(ctx, base context.Context, collection, name string) {
	for wait.For(ctx, w.between(15*time.Second, 80*time.Second)) == nil {
		if w.intN(2) == 0 { // around a minute, when jobs are due
			next := time.Now().Truncate(time.Minute).Add(time.Minute)
			_ = wait.For(ctx, time.Until(next)+w.between(-12*time.Second, 2*time.Second))
		}
		switch n := w.intN(20); {
		case n < 2:
			w.deleteCalendar(base, collection, name)
		case n < 4:
			w.loseCalendar(ctx, base, collection, name)
		default:
			c := w.newCalendar(name)
			w.putCalendar(base, collection, c)
			if n == 4 { // again the same
				w.putCalendar(base, collection, c)
			}
		}
	}
}

// deleteCalendar tries to delete a calendar. One that is used stays.
func (w *Workload) deleteCalendar(ctx context.Context, collection, name string) record.Outcome {
	change := &record.Change{Job: record.Job{Collection: collection}, Kind: record.DeleteCalendar,
		Calendar: &record.Calendar{Name: name}}
	return w.repeat(ctx, change, maxTries, func(n int) record.Try {
		return makeChange(ctx, w.client, n, http.MethodDelete, calendarPath(collection, name), nil)
	})
}

// loseCalendar ends the workflow of a calendar, as an operator of Temporal can do by mistake, and puts the calendar again
// after a while.
func (w *Workload) loseCalendar(ctx, base context.Context, collection, name string) {
	if w.Terminate == nil {
		return
	}
	scope := names.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default",
		Name: collection}
	change := &record.Change{Job: record.Job{Collection: collection}, Kind: record.LoseCalendar,
		Calendar: &record.Calendar{Name: name}}
	w.repeat(base, change, maxTries, func(int) record.Try {
		t := record.Try{Issued: time.Now().UTC()}
		err := w.Terminate(base, scope.Calendar(name).WorkflowID())
		t.Answered, t.Status = time.Now().UTC(), http.StatusOK
		if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
			t.Status = http.StatusNotFound
		} else if err != nil {
			t.Status, t.Error = 0, err.Error()
		}
		return t
	})
	_ = wait.For(ctx, w.between(5*time.Second, 70*time.Second))
	w.putCalendar(base, collection, w.newCalendar(name))
}

// changeFreeCalendar puts and deletes a calendar that no job uses.
func (w *Workload) changeFreeCalendar(ctx, base context.Context, collection string) {
	for wait.For(ctx, w.between(20*time.Second, 90*time.Second)) == nil {
		w.putCalendar(base, collection, w.newCalendar(freeCalendar))
		_ = wait.For(ctx, w.between(0, 10*time.Second))
		w.deleteCalendar(base, collection, freeCalendar)
	}
}

// changeDated makes a random change of a job with calendars.
func (w *Workload) changeDated(base context.Context, j *Job) {
	switch n := w.intN(100); {
	case n < 30:
		w.changeAction(base, j)
	case n < 50:
		if w.change(base, record.Disable, j.ID, nil, client.Properties(object{"state": "disabled"})) != record.Refused {
			_ = wait.For(base, w.between(0, 90*time.Second))
			w.change(base, record.Enable, j.ID, nil, client.Properties(object{"state": "enabled"}))
		}
	case n < 70:
		w.changeUses(base, j)
	case n < 85:
		w.recreateDated(base, j)
	default:
		// not in the second in which it is due
		if second := time.Duration(time.Now().Second()) * time.Second; second > 50*time.Second || second < 5*time.Second {
			_ = wait.For(base, 15*time.Second)
		}
		w.change(base, record.ManualRun, j.ID, nil, nil)
	}
}

// changeUses has a job use other calendars, or other policies.
func (w *Workload) changeUses(base context.Context, j *Job) {
	d, r := j.Definition, *j.Definition.Rule
	w.mu.Lock()
	r.Uses = uses(&r, w.random.IntN(2), []int{-1, 1}[w.random.IntN(2)], w.random)
	w.mu.Unlock()
	d.Rule = &r
	if slices.Equal(r.Uses, j.Definition.Rule.Uses) {
		return
	}
	body := client.Properties(object{"recurrence": object{"calendars": usesBody(&r)}})
	if w.change(base, record.ChangeRecurrence, j.ID, &d, body) != record.Refused {
		j.Definition = d
	}
}

// recreateDated deletes a job with calendars and creates its next incarnation.
func (w *Workload) recreateDated(base context.Context, j *Job) {
	before := readJob(base, w.client, j.ID)
	w.mu.Lock()
	w.reads = append(w.reads, before)
	w.mu.Unlock()
	if w.change(base, record.Delete, j.ID, nil, nil) != record.Applied {
		return
	}
	w.mu.Lock()
	j.Definition = newDated(w.random.IntN(8), time.Now().UTC(), w.random)
	w.mu.Unlock()
	j.ID.Incarnation++
	for range maxTries { // a calendar may be lost
		if w.create(base, j, maxTries) != record.Refused || wait.For(base, 2*time.Second) != nil {
			return
		}
	}
}
