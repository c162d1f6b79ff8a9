package output

import (
	"fmt"
	"time"
)

// Time returns a point in time as people read it: by the clock of the user's zone, with how far away it is.
func (p *Printer) Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	form := "2006-01-02 15:04:05"
	local, now := t.In(p.Zone), p.Now.In(p.Zone)
	if local.Format(time.DateOnly) == now.Format(time.DateOnly) {
		form = "15:04:05"
	}
	if p.Format.Wide() {
		form = "2006-01-02 15:04:05 -07:00"
	}
	return local.Format(form) + " (" + Away(t.Sub(p.Now)) + ")"
}

// Away returns how far away a time is, in words: "in 5m", or "2h ago".
func Away(d time.Duration) string {
	switch {
	case d > -time.Second && d < time.Second:
		return "now"
	case d < 0:
		return Length(-d) + " ago"
	}
	return "in " + Length(d)
}

// Length returns a duration in at most two units.
func Length(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(of, unit time.Duration, a, b string) string {
		if rest := d % of / unit; rest > 0 {
			return fmt.Sprintf("%d%s%d%s", d/of, a, rest, b)
		}
		return fmt.Sprintf("%d%s", d/of, a)
	}
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d < 10*time.Second && d%time.Second >= 100*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return two(time.Minute, time.Second, "m", "s")
	case d < day:
		return two(time.Hour, time.Minute, "h", "m")
	case d < 100*day:
		return two(day, time.Hour, "d", "h")
	}
	return fmt.Sprintf("%dd", d/day)
}
