package console

import (
	"cmp"
	"strings"

	"almanac/client"
)

// calendarUsers are the jobs that use a calendar, as a page of a calendar shows them.
type calendarUsers struct {
	Rows  []calendarUser
	Lost  string   // why none could be read
	Some  []string // the jobs that could not be read, with the reason
	First string   // the link of the first page; "" on it
	More  string   // the link of the next page
}

// A calendarUser is a job that uses a calendar.
type calendarUser struct {
	Collection, Name, Link string
	OnMatch                string
	Stopped                string // why nothing is planned
	Moved, Skipped         int
	Lines                  []string // the first runs that the calendar moves or skips
	More                   int      // how many adjustments are behind them
	Until                  *stamp   // up to here runs were looked at, if that is less than 90 days
}

// adjustmentsShown is how many of the runs of a job are shown.
const adjustmentsShown = 3

// users reads a page of the jobs that use a calendar. Those that fail hide nothing else of the page.
func (p *page) users(v *calendarsView) *calendarUsers {
	token := p.r.URL.Query().Get("users")
	link := p.Link("/calendars" + escapedQuery("scope", v.Scope, "name", v.Name))
	u := new(calendarUsers)
	if token != "" {
		u.First = link + "#users"
	}
	found, err := p.api().CalendarsOf(v.Scope).UsagePage(p.ctx, v.Name, client.List{Token: token})
	if err != nil {
		u.Lost = p.lost(err)
		return u
	}
	for _, unread := range found.Unread {
		u.Some = append(u.Some, unread.Error())
	}
	for i := range found.Value {
		u.Rows = append(u.Rows, p.user(&found.Value[i]))
	}
	if found.Next != "" {
		u.More = pageLink(link, "users", found.Next) + "#users"
	}
	return u
}

func (p *page) user(found *client.CalendarUser) calendarUser {
	of := &found.Properties
	collection, name, _ := strings.Cut(found.Name, "/")
	row := calendarUser{Collection: collection, Name: name, Link: p.linkTo(found.ID, jobPath(collection, name)), OnMatch: matched(of.OnMatch)}
	row.Stopped = of.Reason
	for i := range of.Adjustments {
		a := &of.Adjustments[i]
		if a.Change == "moved" {
			row.Moved++
		} else {
			row.Skipped += max(1, a.Count)
		}
		if i < adjustmentsShown {
			row.Lines = append(row.Lines, p.Clock.adjustment(a))
		}
	}
	row.More = max(0, len(of.Adjustments)-adjustmentsShown)
	if of.Until.Before(p.Clock.Now.AddDate(0, 0, 89)) {
		row.Until = p.Clock.at(of.Until)
	}
	return row
}

// adjustment says what a calendar makes of a run: "Fri 25 Dec → Wed 23 Dec, Juldagen".
func (c clock) adjustment(a *client.Adjustment) string {
	why := a.Reason
	if len(a.Calendars) > 0 {
		why = cmp.Or(a.Calendars[0].Day, why)
	}
	switch {
	case a.Change == "moved":
		return c.nominal(a) + " → " + c.nominal(&client.Adjustment{NominalTime: a.ExpectedExecutionTime, ExpectedExecutionTime: a.NominalTime}) + ", " + why
	case a.Count > 1:
		return c.nominal(a) + ": " + count(a.Count) + " skipped, " + why
	}
	return c.nominal(a) + " skipped, " + why
}

// matched says what becomes of a run on a day that a calendar matches.
func matched(onMatch string) string {
	if strings.EqualFold(onMatch, "skip") {
		onMatch = ""
	}
	for _, o := range onMatches() {
		if strings.EqualFold(o.Value, onMatch) {
			return strings.TrimSuffix(o.Short, " (default)")
		}
	}
	return onMatch
}

// linkTo returns a path of the console in the resource group of an ID, for browsers.
func (p *page) linkTo(id, path string) string {
	parts := strings.SplitN(id, "/", 6) // "", subscriptions, S, resourceGroups, G, rest
	shown := p.at.Shown()
	if len(parts) < 6 || strings.EqualFold(parts[2], shown.Subscription) && strings.EqualFold(parts[4], shown.Name) {
		return p.Link(path)
	}
	return p.Base(group{Subscription: parts[2], Name: parts[4]}.path() + path)
}
