package checker

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/lab/record"
)

// sameTime is what an entry says of an occurrence when another one is due at the same time.
const sameTime = "is due at the same time"

// checkCalendars checks what became of each occurrence of a job with calendars.
func (c *checker) checkCalendars(j *record.JobLog) {
	m := &calendarModel{JobLog: j, c: c}
	until := m.simulate()
	if until.IsZero() || len(m.all) == 0 {
		return
	}
	seen := m.sightings()
	for _, o := range m.all {
		m.checkDated(o, seen[o], until)
	}
}

// A sighting is what is known of an occurrence.
type sighting struct {
	dues    []time.Time // at which it ran
	first   *record.Request
	entries []*record.Entry // that say that it did not run
}

// sightings finds the occurrence of each execution and of each entry.
func (m *calendarModel) sightings() map[*dated]*sighting {
	found := map[*dated]*sighting{}
	of := func(o *dated) *sighting {
		if found[o] == nil {
			found[o] = &sighting{}
		}
		return found[o]
	}
	ran := func(due time.Time, first *record.Request) {
		if len(m.ManualRunsDue(due)) > 0 {
			return
		}
		o := m.ranAt(due)
		if o == nil {
			m.notPlanned(due)
			return
		}
		s := of(o)
		if !slices.ContainsFunc(s.dues, due.Equal) {
			s.dues = append(s.dues, due)
		}
		if first != nil {
			s.first = first
		}
	}
	for _, a := range m.Actions {
		if a.Action == record.MainAction {
			ran(a.Due, a.First())
		}
	}
	for _, entries := range m.Entries {
		for _, e := range entries {
			switch {
			case e.Action != record.MainAction || len(m.ManualRunsDue(e.Due)) > 0:
			case e.Repeat > 0:
				ran(e.Due, nil)
				m.checkMoved(e)
			default:
				m.leftOut(e, of)
			}
		}
	}
	return found
}

// nominalOf returns the nominal time that an entry says.
func nominalOf(e *record.Entry) time.Time {
	if e.Nominal.IsZero() {
		return e.Due
	}
	return e.Nominal
}

// ranAt returns the occurrence that may run, due at a time; nil if none may. If several may, it is the one that the
// history says, and else the likeliest.
func (m *calendarModel) ranAt(due time.Time) (found *dated) {
	var said time.Time
	for _, e := range m.Entries[due.Unix()] {
		if e.Action == record.MainAction && e.Repeat > 0 {
			said = nominalOf(e)
		}
	}
	for _, o := range m.all {
		i := slices.IndexFunc(o.fates, func(f fate) bool { return f.how == runs && f.at.Equal(due) })
		switch {
		case i < 0:
		case o.fates[i].nominal.Equal(said):
			return o
		case found == nil || len(o.fates) < len(found.fates):
			found = o
		}
	}
	return found
}

// notPlanned reports an execution that no version of the calendars makes due then.
func (m *calendarModel) notPlanned(due time.Time) {
	what := "no version of its calendars makes anything due then"
	if m.planner.rule.Frequency != "month" && m.planner.fires(due) {
		what = "that is when the rule fires, and its calendars do not let it run then: the bare rule"
	}
	m.c.violation(Calendars, m.Job, due, "an execution ran that was due %s: %s", record.Clock(due), what)
}

// several matches the entry of many occurrences.
var several = regexp.MustCompile(`^(\d+) occurrences, the first of which was due at (\S+) and the last before (\S+), were`)

// leftOut notes the entry of what did not run.
func (m *calendarModel) leftOut(e *record.Entry, of func(*dated) *sighting) {
	byCalendars := len(e.Calendars) > 0 || strings.Contains(e.Message, sameTime) ||
		strings.Contains(e.Message, "calendar")
	nominal := nominalOf(e)
	is := func(f fate) bool { return f.how == runs && f.at.Equal(e.Due) }
	if byCalendars {
		is = func(f fate) bool { return f.how == dropped && f.nominal.Equal(nominal) }
	}
	parts := several.FindStringSubmatch(e.Message)
	var before time.Time
	if parts != nil {
		before, _ = time.Parse(time.RFC3339, parts[3])
		within := func(t time.Time) bool { return !t.Before(nominal) && t.Before(before) }
		is = func(f fate) bool {
			return !byCalendars && f.how == runs && within(f.at) || byCalendars && f.how == dropped && within(f.nominal)
		}
	}
	count := 0
	for _, o := range m.all {
		if i := slices.IndexFunc(o.fates, is); i >= 0 {
			count++
			s := of(o)
			s.entries = append(s.entries, e)
		}
	}
	want := 1
	if parts != nil {
		want, _ = strconv.Atoi(parts[1])
	}
	switch {
	case count < want:
		m.c.violation(Entries, m.Job, nominal, "the history says that %d occurrences from %s on did not run, %d were to come "+
			"then that could be so: %s %s", want, record.Clock(nominal), count, e.Status, e.Message)
	case byCalendars && !strings.Contains(e.Message, sameTime):
		m.checkDay(e)
	}
}

// checkDay checks that the calendar which an entry names objects to the nominal time.
func (m *calendarModel) checkDay(e *record.Entry) {
	nominal := nominalOf(e)
	at := record.Clock(nominal)
	if len(e.Calendars) != 1 {
		m.c.violation(Entries, m.Job, nominal, "the entry of the occurrence of %s names %d calendars: %s %s", at,
			len(e.Calendars), e.Status, e.Message)
		return
	}
	named := e.Calendars[0]
	onMatch := ""
	for _, d := range m.Definitions() {
		for _, u := range d.Rule.Uses {
			if u.Name == named.Name {
				onMatch = u.OnMatch
			}
		}
	}
	isTrue := func(c *record.Change) bool {
		if c.Kind != record.PutCalendar || c.Calendar.Name != named.Name || c.Calendar.Version != named.Version ||
			c.Issued().After(e.End.Add(time.Second)) {
			return false
		}
		days := reasons(c.Calendar, dateFor(c.Calendar, nominal, m.planner.zone))
		if onMatch == "only" {
			return len(days) == 0 && named.Day == ""
		}
		return slices.Contains(days, named.Day)
	}
	if onMatch == "" || !slices.ContainsFunc(m.Calendars, isTrue) {
		m.c.violation(Entries, m.Job, nominal, "the entry of the occurrence of %s names version %d of the calendar %s and "+
			"the day %q, which is not so: %s %s", at, named.Version, named.Name, named.Day, e.Status, e.Message)
	} else if e.Repeat == 0 && !strings.Contains(e.Message, fmt.Sprintf("%s (version %d)", named.Name, named.Version)) {
		m.c.violation(Entries, m.Job, nominal, "the reason of the occurrence of %s does not name version %d of the calendar "+
			"%s: %s %s", at, named.Version, named.Name, e.Status, e.Message)
	}
}

// checkMoved checks what the entry of an execution says of calendars.
func (m *calendarModel) checkMoved(e *record.Entry) {
	nominal := nominalOf(e)
	var is *fate
	for _, o := range m.all {
		for i := range o.fates {
			if f := &o.fates[i]; f.how == runs && f.at.Equal(e.Due) && f.nominal.Equal(nominal) {
				is = f
			}
		}
	}
	switch {
	case m.ranAt(e.Due) == nil: // reported
	case is == nil:
		m.c.violation(Entries, m.Job, e.Due, "the entry of what ran, due %s, has the nominal time %s, which is not so",
			record.Clock(e.Due), nominal.Format(time.RFC3339))
	case is.object >= 0:
		m.checkDay(e)
	case len(e.Calendars) > 0 && nominal.Equal(e.Due):
		m.c.violation(Entries, m.Job, e.Due, "the entry of what ran at its nominal time, %s, names the calendar %s",
			record.Clock(e.Due), e.Calendars[0].Name)
	}
	m.checkHorizon(e, nominal)
}

// checkHorizon checks which calendars an entry names since the occurrence is behind their horizons.
func (m *calendarModel) checkHorizon(e *record.Entry, nominal time.Time) {
	views := m.views(e.Due.Add(-2*toldAfter), e.Due, nil)
	if m.c.log.LastFault(e.Due.Add(-settling), e.Due) != nil {
		return
	}
	for _, use := range m.planner.rule.Uses {
		must, may := len(views) > 0, false
		for _, v := range views {
			is := slices.Contains(m.planner.beyond(v, nominal, e.Due), use.Name)
			must, may = must && is, may || is
		}
		if said := slices.Contains(e.Beyond, use.Name); said && !may || !said && must {
			m.c.violation(Entries, m.Job, e.Due, "the entry of what was due %s names %q as behind their horizons, and of the "+
				"calendar %s that is %t", record.Clock(e.Due), e.Beyond, use.Name, must)
		}
	}
}

// checkDated checks what became of an occurrence.
func (m *calendarModel) checkDated(o *dated, s *sighting, until time.Time) {
	if len(o.fates) == 0 {
		return
	}
	certain := !slices.ContainsFunc(o.fates, func(f fate) bool {
		return f.how == gone || f.how == unplaced || f.at.Add(lateness).After(until)
	})
	if s == nil {
		if certain {
			m.missing(o)
		}
		return
	}
	f := &o.fates[0]
	at := record.Clock(f.nominal)
	switch {
	case len(s.dues) > 1:
		m.c.violation(OneID, m.Job, s.dues[0], "the occurrence of %s ran twice: due %s and %s", at,
			record.Clock(s.dues[0]), record.Clock(s.dues[1]))
	case len(s.dues) == 1 && len(s.entries) > 0 && certain:
		m.c.violation(OneEntry, m.Job, s.dues[0], "the occurrence of %s ran, due %s, and has an entry that it did not: %s %s",
			at, record.Clock(s.dues[0]), s.entries[0].Status, s.entries[0].Message)
	case len(s.entries) > 1 && certain:
		m.c.violation(OneEntry, m.Job, s.entries[0].Due, "the occurrence of %s has two entries: %s %s; %s %s", at,
			s.entries[0].Status, s.entries[0].Message, s.entries[1].Status, s.entries[1].Message)
	case len(s.entries) == 1 && o.only(runs):
		m.needless(o, s.entries[0])
	case s.first != nil && o.only(runs):
		m.checkPunctual(s.first)
	}
}

// missing reports an occurrence of which nothing says what became of it.
func (m *calendarModel) missing(o *dated) {
	f := &o.fates[0]
	if m.Read == nil || m.Read.Status != 200 || len(m.ManualRunsDue(f.at)) > 0 {
		return
	}
	if !m.Read.Final && (!o.only(runs) || f.at.Add(lateness).After(m.Read.Issued) ||
		m.c.log.LastFault(f.at.Add(-settling), m.Read.Issued) != nil) {
		return // what calendars drop may have its entry later
	}
	law, what := NoLoss, "was never sent, and the history does not mention it"
	if o.only(dropped) {
		law, what = OneEntry, "was left out by calendars, and has no entry that says so"
	}
	m.c.violation(law, m.Job, f.at, "the occurrence of %s, due %s, %s", record.Clock(f.nominal), record.Clock(f.at), what)
}

// needless checks that something kept an occurrence from running that calendars let run.
func (m *calendarModel) needless(o *dated, e *record.Entry) {
	from, decided := o.fates[0].at, later(e.Start, o.fates[0].at)
	const text = "the occurrence of %s was dropped without need: %s, %s"
	at := record.Clock(o.fates[0].nominal)
	if m.c.log.LastFault(from.Add(-settling), decided) != nil || m.Changing(from.Add(-5*time.Second), decided.Add(5*time.Second)) {
		return
	}
	if m.c.overloaded(from, e.Start) && e.Status == "Missed" {
		m.c.excused(NoLoss, m.Job, from, nil, text, at, e.Status, e.Message)
		return
	}
	m.c.violation(NoLoss, m.Job, from, text, at, e.Status, e.Message)
}

// checkPunctual checks that an occurrence was sent soon.
func (m *calendarModel) checkPunctual(r *record.Request) {
	late := r.Arrived.Sub(r.Due)
	if late <= lateness || m.Changing(r.Due.Add(-10*time.Second), r.Arrived) {
		return
	}
	f := m.c.log.LastFault(r.Due.Add(-settling), r.Arrived)
	if f != nil || m.c.overloaded(r.Due, r.Arrived) {
		m.c.excused(NoLoss, m.Job, r.Due, f, "the occurrence due %s arrived %s late", record.Clock(r.Due), late)
		return
	}
	m.c.violation(NoLoss, m.Job, r.Due, "the occurrence due %s arrived %s late", record.Clock(r.Due), late)
}

// checkVersions checks that each change of a calendar makes its version one more, and that none is deleted that a job
// uses.
func (c *checker) checkVersions() {
	type key struct{ collection, name string }
	last := map[key]*record.Calendar{} // nil: it is not known
	for i := range c.log.Changes {
		change := &c.log.Changes[i]
		calendar := change.Calendar
		if calendar == nil {
			continue
		}
		k := key{change.Collection, calendar.Name}
		outcome, _ := change.Outcome()
		switch before, known := last[k]; {
		case outcome == record.Refused:
			continue
		case outcome == record.Unknown:
			last[k] = nil
		case change.Kind != record.PutCalendar:
			c.checkUnused(change)
			last[k] = &record.Calendar{}
		default:
			want := 1
			if known && before != nil && before.Version > 0 {
				want = before.Version
				if !sameDays(before, calendar) {
					want++
				}
			}
			if calendar.Version != want && (!known || before != nil) {
				c.violation(Entries, change.Job, change.Issued(), "the calendar %s has version %d after a change, and not %d",
					calendar.Name, calendar.Version, want)
			}
			last[k] = calendar
		}
	}
}

// sameDays reports whether two calendars are the same but for their versions.
func sameDays(a, b *record.Calendar) bool {
	one, other := *a, *b
	one.Version, other.Version = 0, 0
	return fmt.Sprint(one) == fmt.Sprint(other)
}

// checkUnused checks that no job used a calendar that was deleted.
func (c *checker) checkUnused(change *record.Change) {
	if change.Kind != record.DeleteCalendar {
		return
	}
	_, answered := change.Outcome()
	for _, j := range c.jobs {
		created := j.Created()
		if j.Collection != change.Collection || created == nil || created.Definition == nil || created.Definition.Rule == nil {
			continue
		}
		uses := func(d record.Definition) bool {
			return slices.ContainsFunc(d.Rule.Uses, func(u record.Use) bool { return u.Name == change.Calendar.Name })
		}
		outcome, since := j.Outcome(created)
		deleted := j.Deleted()
		if outcome == record.Applied && since.Add(visible).Before(change.Issued()) &&
			(deleted == nil || deleted.Issued().After(answered)) &&
			!slices.ContainsFunc(j.Definitions(), func(d record.Definition) bool { return !uses(d) }) {
			c.violation(InUse, j.Job, change.Issued(), "the calendar %s was deleted, and the job uses it", change.Calendar.Name)
		}
	}
}

// visible is how long after its creation a job may be missing in Temporal's lists.
const visible = 10 * time.Second
