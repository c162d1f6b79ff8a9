package console

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"almanac/access/session"
	"almanac/client"
	"almanac/recurrence"
)

// A clock says when a page is made, and in which zone it shows times.
type clock struct {
	Now  time.Time // in the zone of the page
	Zone string    // its name
	Own  bool      // each job's own zone, where a time is of one job
}

const (
	zoneCookie = "almanac-zone"
	ownZone    = "job" // stands for each job's own zone
)

// clockOf returns the clock of a page. The zone is that of the viewer's choice, UTC without one.
func (s *Console) clockOf(r *http.Request) clock {
	c := clock{Now: s.Now().UTC(), Zone: "UTC"}
	chosen, err := session.ReadCookie(r, zoneCookie, s.isSecure(r))
	if err != nil || chosen == "" {
		return c
	}
	if chosen == ownZone {
		c.Own = true
		return c
	}
	return c.in(chosen)
}

// in returns a clock for a zone; the same if there is no such zone.
func (c clock) in(zone string) clock {
	loc, err := recurrence.LoadLocation(zone)
	if zone == "" || err != nil {
		return c
	}
	c.Now, c.Zone = c.Now.In(loc), zone
	return c
}

// For returns the clock for the times of a job.
func (c clock) For(r *client.Recurrence) clock {
	if c.Own && r != nil {
		return c.in(r.TimeZone)
	}
	return c
}

// Short returns the abbreviation of the zone, such as CET.
func (c clock) Short() string { return c.Now.Format("MST") }

// Time returns the time of day at which the page was made.
func (c clock) Time() string { return c.Now.Format("15:04:05 MST") }

// Day returns the date and the time of day, for people.
func (c clock) Day() string { return c.Now.Format("Monday 2 January 2006, 15:04 MST") }

// A stamp is a time on a page.
type stamp struct {
	UTC, Title, Text string

	Rel string // next, past or end if the text says how far away it is; "" if it does not
}

// at returns the stamp of a time: without its date if that is today, and with its year if that is another one.
func (c clock) at(t time.Time) *stamp { return c.stamped(t, c.text(t, "")) }

// milli returns the stamp of a time with milliseconds.
func (c clock) milli(t time.Time) *stamp { return c.stamped(t, c.text(t, "15:04:05.000")) }

// rel returns the stamp of a time that says how far away it is.
func (c clock) rel(t time.Time) *stamp {
	s := c.stamped(t, c.distance(t))
	if s == nil {
		return nil
	}
	if s.Rel = "past"; t.After(c.Now) {
		s.Rel = "next"
	}
	return s
}

// end returns the stamp of the end of something, as rel does.
func (c clock) end(t time.Time) *stamp {
	s := c.rel(t)
	if s != nil && s.Rel == "next" {
		s.Rel = "end"
	}
	return s
}

func (c clock) stamped(t time.Time, text string) *stamp {
	if t.IsZero() {
		return nil
	}
	local, utc := t.In(c.Now.Location()), t.UTC()
	title := local.Format("2006-01-02 15:04:05 MST")
	if c.Zone != "UTC" {
		title += ", " + c.Zone + " · " + utc.Format("2006-01-02 15:04:05 UTC")
	}
	return &stamp{UTC: utc.Format(time.RFC3339), Title: title, Text: text}
}

func (c clock) text(t time.Time, layout string) string {
	t = t.In(c.Now.Location())
	if layout == "" {
		layout = "15:04"
		if t.Second() != 0 || t.Nanosecond() != 0 {
			layout = "15:04:05"
		}
	}
	y, m, d := c.Now.Date()
	ty, tm, td := t.Date()
	switch {
	case y == ty && m == tm && d == td:
		return t.Format(layout)
	case y == ty, t.Sub(c.Now).Abs() < 7*24*time.Hour:
		return t.Format("Mon 2 Jan " + layout)
	}
	return t.Format("2 Jan 2006 " + layout)
}

// distance returns how far away a time is, such as in 2 min 40 s.
func (c clock) distance(t time.Time) string {
	d := t.Sub(c.Now)
	switch {
	case d.Abs() >= time.Hour:
		d = d.Round(time.Minute)
	case d.Abs() >= time.Second:
		d = d.Round(time.Second)
	}
	switch {
	case d <= -time.Second, d >= time.Second:
	case d < 0:
		return "just now"
	default:
		return "now"
	}
	if d >= 0 {
		return "in " + length(d)
	}
	return length(-d) + " ago"
}

// length returns a duration in two units at most.
func length(d time.Duration) string {
	two := func(a int, unit string, b int, smaller, form string) string {
		if b == 0 {
			return fmt.Sprintf("%d %s", a, unit)
		}
		return fmt.Sprintf("%d %s "+form+" %s", a, unit, b, smaller)
	}
	seconds := int(d / time.Second)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", int(math.Round(float64(d)/float64(time.Millisecond))))
	case d < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < time.Hour:
		return two(seconds/60, "min", seconds%60, "s", "%02d")
	case d < 24*time.Hour:
		return two(seconds/3600, "h", seconds%3600/60, "min", "%d")
	case d < 14*24*time.Hour:
		return two(seconds/86400, "d", seconds%86400/3600, "h", "%d")
	}
	return fmt.Sprintf("%d d", seconds/86400)
}

// setZone keeps the zone that the viewer chose, and returns to the page.
func (s *Console) setZone(p *page) (string, error) {
	zone := strings.TrimSpace(p.r.PostForm.Get("zone"))
	if zone != ownZone {
		if _, err := recurrence.LoadLocation(zone); zone == "" || err != nil {
			return "", &client.Error{Status: http.StatusBadRequest, Code: "BadRequest",
				Message: fmt.Sprintf("The time zone %.60q is not known; allowed: an IANA time zone such as Europe/Stockholm, or a Windows one.", zone)}
		}
	}
	name := zoneCookie
	if s.isSecure(p.r) {
		name = "__Host-" + zoneCookie
	}
	http.SetCookie(p.w, &http.Cookie{
		Name: name, Value: zone, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, Secure: s.isSecure(p.r), SameSite: http.SameSiteLaxMode,
	})
	return cmp.Or(s.cameFrom(p), "/"), nil
}
