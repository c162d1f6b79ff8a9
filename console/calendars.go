package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// A calendarsView is the page of the calendars of days that are off: all of them, and one of them for a year.
type calendarsView struct {
	Link, Path string
	Rows       []calendarRow
	Lost       []string // what could not be read
	MayWrite   bool
	Scopes     []string // in which the caller may write; "" stands for the subscription

	Shown       bool
	Scope, Name string
	Heading     string
	About       []string
	Year        int
	Years       []filterEntry
	Months      []offMonth
	Days        []offDay
	MakeUp      bool // some days are worked although they would be off
	Users       *calendarUsers
	Until       string
	MayDelete   bool
	ETag        string
	Definition  string
	Wrong       string
	Errors      []client.ErrorDetail
}

// A calendarRow is a calendar in the list.
type calendarRow struct {
	Scope, Name, Link, Zone, Until, About string
	Entries                               int
	Current                               bool
}

// An offMonth is a month of a year, small.
type offMonth struct {
	Name  string
	Weeks [][]offCell
}

// An offCell is a day in it; Number is "" for none.
type offCell struct{ Number, Class, Title string }

// An offDay is a row of the table behind the months.
type offDay struct{ Date, Day, Name string }

// calendarCollections is of how many collections the page lists the calendars.
const calendarCollections = 50

func (s *Console) calendars(p *page) error {
	q := p.r.URL.Query()
	v := &calendarsView{Scope: q.Get("scope"), Name: q.Get("name")}
	return s.showCalendars(p, v, q.Get("year"))
}

// showCalendars shows the list, and the calendar that is chosen, or what was written and why it is refused.
func (s *Console) showCalendars(p *page, v *calendarsView, year string) error {
	defer p.limit()()
	v.Link, v.Path = p.Link("/calendars"), "/calendars"
	if err := p.listCalendars(v); err != nil {
		return err
	}
	p.template, p.Title, p.Current, p.Main = "calendars", "Calendars", "Calendars", v
	if v.Name == "" || v.Wrong != "" && v.ETag == "" {
		v.Definition = cmp.Or(v.Definition, newCalendar)
		return nil
	}
	found, err := p.api().CalendarsOf(v.Scope).Get(p.ctx, v.Name)
	if err != nil {
		return err
	}
	v.Name = cmp.Or(found.Name[strings.LastIndex(found.Name, "/")+1:], v.Name)
	p.Title = v.Name
	v.Shown, v.MayDelete = true, p.mayCalendars(access.DeleteCalendars, v.Scope)
	if v.Wrong == "" {
		v.ETag, v.Definition = found.ETag, calendarJSON(&found.Properties)
	}
	at, err := strconv.Atoi(year)
	if now := p.Clock.Now.Year(); err != nil || at < 1 || at > 9998 {
		at = now
	}
	v.describe(&found.Properties)
	v.showYear(p, &found.Properties, at)
	v.Users = p.users(v)
	return nil
}

// newCalendar is what the form of a new calendar has.
const newCalendar = `{
  "properties": {
    "weekendDays": ["saturday", "sunday"],
    "days": [
      {"date": "2027-01-01", "name": "New Year’s Day"}
    ]
  }
}`

func calendarJSON(of *client.CalendarProperties) string {
	as := *of
	as.Version, as.Entries = 0, 0
	text, _ := json.MarshalIndent(map[string]any{"properties": as}, "", "  ") // it came as JSON
	return string(text)
}

// listCalendars adds the calendars of the subscription and of its collections, as far as the caller may read them.
func (p *page) listCalendars(v *calendarsView) error {
	scopes := []string{""}
	for c, err := range p.api().Collections(p.ctx, client.List{Top: calendarCollections}) {
		if _, unread := errors.AsType[*client.UnreadError](err); unread {
			continue
		}
		if err != nil {
			return err
		}
		scopes = append(scopes, c.Name)
	}
	rows := make([][]calendarRow, len(scopes))
	errs := eachOf(len(scopes), func(i int) error {
		for c, err := range p.api().CalendarsOf(scopes[i]).List(p.ctx, client.List{}) {
			if err != nil {
				return err
			}
			name := c.Name[strings.LastIndex(c.Name, "/")+1:]
			rows[i] = append(rows[i], calendarRow{Scope: scopes[i], Name: name, Link: p.Link("/calendars" + escapedQuery("scope", scopes[i], "name", name)), Zone: c.Properties.TimeZone,
				Until: c.Properties.CompleteUntil, About: c.Properties.Description, Entries: c.Properties.Entries, Current: scopes[i] == v.Scope && strings.EqualFold(name, v.Name)})
		}
		return nil
	})
	v.Rows = slices.Concat(rows...)
	for i, err := range errs {
		if err != nil && client.StatusOf(err) != http.StatusForbidden {
			v.Lost = append(v.Lost, "Those of "+cmp.Or(scopes[i], "the subscription")+" could not be read: "+p.lost(err))
		}
	}
	for _, scope := range scopes {
		if p.mayCalendars(access.WriteCalendars, scope) {
			v.Scopes, v.MayWrite = append(v.Scopes, scope), true
		}
	}
	return nil
}

// mayCalendars reports whether the caller may do something to the calendars of a collection, or of the subscription.
func (p *page) mayCalendars(action access.Action, collection string) bool {
	if collection == "" {
		return p.mayInSubscription(action)
	}
	return p.May(action, collection, "")
}

// describe adds what a calendar says of itself.
func (v *calendarsView) describe(c *client.CalendarProperties) {
	v.Until = c.CompleteUntil
	weekend := "no day of the week is off"
	if len(c.WeekendDays) > 0 {
		days := make([]string, len(c.WeekendDays))
		for i, day := range c.WeekendDays {
			days[i] = strings.ToUpper(day[:min(1, len(day))]) + strings.ToLower(day[min(1, len(day)):])
		}
		weekend = strings.Join(days, " and ") + " are off"
		if len(days) == 1 {
			weekend = days[0] + " is off"
		}
	}
	zone := "its days are those of each job’s own zone"
	if c.TimeZone != "" {
		zone = "its days are those of " + c.TimeZone
	}
	for _, text := range []string{c.Description, weekend, zone, prefixed("from ", c.Source)} {
		if text != "" {
			v.About = append(v.About, text)
		}
	}
}

// showYear adds a year as twelve months, and its days as a table.
func (v *calendarsView) showYear(p *page, c *client.CalendarProperties, year int) {
	v.Year = year
	for y := max(1, year-1); y <= year+1; y++ {
		link := p.Link("/calendars" + escapedQuery("scope", v.Scope, "name", v.Name, "year", strconv.Itoa(y)))
		v.Years = append(v.Years, filterEntry{Text: strconv.Itoa(y), Link: link, Current: y == year})
	}
	off, work := map[string]string{}, map[string]string{}
	for _, d := range c.Days {
		off[d.Date] = cmp.Or(d.Name, "off")
	}
	for _, d := range c.MakeUpDays {
		work[d.Date] = cmp.Or(d.Name, "a working day")
	}
	inPeriod := func(date string) (string, bool) {
		for _, period := range c.Periods {
			if period.First <= date && date <= period.Last {
				return cmp.Or(period.Name, "off"), true
			}
		}
		return "", false
	}
	today := p.Clock.Now.Format(time.DateOnly)
	for month := time.January; month <= time.December; month++ {
		first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		m := offMonth{Name: month.String()}
		week := make([]offCell, (int(first.Weekday())+6)%7, 7)
		for day := first; day.Month() == month; day = day.AddDate(0, 0, 1) {
			date := day.Format(time.DateOnly)
			cell := offCell{Number: strconv.Itoa(day.Day())}
			name, isOff := off[date]
			if !isOff {
				name, isOff = inPeriod(date)
			}
			made, isMade := work[date]
			switch {
			case isMade:
				cell.Class, cell.Title = "makeup", made
			case isOff:
				cell.Class, cell.Title = "hol", name
			case slices.ContainsFunc(c.WeekendDays, func(d string) bool { return strings.EqualFold(d, day.Weekday().String()) }):
				cell.Class = "wknd"
			}
			if cell.Title != "" {
				row := offDay{day.Format("2 Jan 2006"), day.Weekday().String(), cell.Title}
				if isMade {
					row.Name += ": worked"
					v.MakeUp = true
				}
				v.Days = append(v.Days, row)
			}
			if date == today {
				cell.Class += " today"
			}
			if week = append(week, cell); len(week) == 7 {
				m.Weeks, week = append(m.Weeks, week), nil
			}
		}
		if len(week) > 0 {
			m.Weeks = append(m.Weeks, append(week, make([]offCell, 7-len(week))...))
		}
		v.Months = append(v.Months, m)
	}
}

// saveCalendar creates or replaces a calendar from its JSON.
func (s *Console) saveCalendar(p *page) (string, error) {
	form := p.r.PostForm
	v := &calendarsView{Scope: form.Get("scope"), Name: strings.TrimSpace(form.Get("name")), ETag: form.Get("etag"), Definition: form.Get("json")}
	condition := client.IfAbsent()
	if v.ETag != "" {
		condition = client.IfMatch(v.ETag)
	}
	body, err := objectOf(v.Definition)
	if err == nil && v.Name == "" {
		err = wrongField("name", "name: required, such as SE")
	}
	if err == nil {
		if _, whole := body["properties"]; !whole { // as almanac calendar make prints it
			body = map[string]any{"properties": body}
		}
		_, err = p.api().CalendarsOf(v.Scope).PutBody(p.ctx, v.Name, body, condition)
	}
	if err == nil {
		return "/calendars" + escapedQuery("scope", v.Scope, "name", v.Name), nil
	}
	e := s.told(p, err)
	v.Wrong, v.Errors, p.status = e.Message, e.Details, e.Status
	if client.IsChanged(err) {
		v.Wrong = "There is a calendar of this name already. Nothing was saved."
		if v.ETag != "" {
			v.Wrong = "The calendar was changed while you were editing. Nothing was saved: what you wrote is below."
		}
	}
	return "", s.showCalendars(p, v, "")
}

// deleteCalendar deletes a calendar.
func (s *Console) deleteCalendar(p *page) (string, error) {
	form := p.r.PostForm
	if form.Get("confirm") != form.Get("name") || form.Get("name") == "" {
		return "", badForm("The name that was typed is not that of the calendar.")
	}
	var conditions []client.Condition
	if etag := form.Get("etag"); etag != "" {
		conditions = append(conditions, client.IfMatch(etag))
	}
	return "/calendars", p.api().CalendarsOf(form.Get("scope")).Delete(p.ctx, form.Get("name"), conditions...)
}

// ScopeName returns the name of a scope, for people.
func (v *calendarsView) ScopeName(scope string) string { return cmp.Or(scope, "all job collections") }

// DeletePath is where the form that deletes a calendar is sent to.
func (v *calendarsView) DeletePath() string { return v.Path + "/delete" }
