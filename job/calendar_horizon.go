package job

import (
	"fmt"
	"time"
)

// horizonWarnings are how many days before its horizon a calendar warns that its days are not known any further.
var horizonWarnings = []int{90, 30, 7}

// A HorizonWarned is the last warning of a calendar: how many days before which horizon.
type HorizonWarned struct {
	Horizon string `json:"horizon,omitempty"`
	Days    int    `json:"days,omitempty"`
}

// horizon returns the horizon of the calendar, as the beginning of that date in UTC; false if it has none.
func (c *Calendar) horizon() (time.Time, bool) {
	at, err := time.Parse(time.DateOnly, c.CompleteUntil)
	return at, err == nil
}

// NextWarning returns when the calendar warns of its horizon next, and how many days before that; false for never. The
// time is past if the warning is due. Of several that are due the last one counts, and behind the horizon none is.
func (c *Calendar) NextWarning(now time.Time, last HorizonWarned) (at time.Time, days int, ok bool) {
	horizon, known := c.horizon()
	if !known || !now.Before(horizon.AddDate(0, 0, 1)) {
		return time.Time{}, 0, false
	}
	for _, n := range horizonWarnings {
		if last.Horizon == c.CompleteUntil && n >= last.Days {
			continue
		}
		next := horizon.AddDate(0, 0, -n)
		if ok && next.After(now) {
			break
		}
		at, days, ok = next, n, true
	}
	return at, days, ok
}

// A CalendarStatus says that the horizon of a calendar is near, or past.
type CalendarStatus struct {
	DaysLeft int    `json:"daysLeft"` // up to the horizon; less than 0 behind it
	Reason   string `json:"reason"`
}

// Status returns that of the calendar at a time; nil if its horizon is farther than the first warning.
func (c *Calendar) Status(now time.Time) *CalendarStatus {
	horizon, known := c.horizon()
	left := int(horizon.Sub(now.UTC().Truncate(24*time.Hour)) / (24 * time.Hour))
	if !known || left > horizonWarnings[0] {
		return nil
	}
	return &CalendarStatus{
		DaysLeft: left, Reason: "The days off are known until " + c.horizonText(left) + " Behind that date the calendar applies as it is.",
	}
}

// horizonText names the horizon, and how far it is.
func (c *Calendar) horizonText(left int) string {
	text := c.CompleteUntil
	switch {
	case left < -1:
		return fmt.Sprintf("%s, which was %d days ago.", text, -left)
	case left == -1:
		return text + ", which was yesterday."
	case left == 0:
		return text + ", which is today."
	case left == 1:
		return text + ", which is tomorrow."
	}
	return fmt.Sprintf("%s, in %d days.", text, left)
}

// HorizonText says, to those whose jobs use a calendar, that its horizon is near.
func (k CalendarKey) HorizonText(horizon string, left, jobs int) string {
	of := "the subscription"
	if k.Scope.Name != "" {
		of = "the job collection"
	}
	use := fmt.Sprintf("%d jobs use", jobs)
	if jobs == 1 {
		use = "a job uses"
	}
	c := Calendar{CompleteUntil: horizon}
	known := c.horizonText(left)
	return fmt.Sprintf("The days of calendar '%s' of %s, which %s, are known until %s", k.Name, of, use, known[:len(known)-1])
}
