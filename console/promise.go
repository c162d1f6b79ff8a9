package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"almanac/client"
)

// A promiseForm is what a form says of a pause, and what it offers.
type promiseForm struct {
	Ends    bool
	Note    string
	Until   string // a local time, as the field has it
	Zone    string
	Recover string
	AtOnce  string
	Choices []choice
	Presets []choice
	Wrong   string // why what is written is not a promise
	Listed  string // the promise of which the page says what it holds
	Other   bool   // that is another one than the form had listed before

	promise          client.Pause
	promised         client.Recover // of the pause that is ended
	zone             clock
	asked, unchecked bool // the form asks what it holds, or does not say what was listed
}

// localTime is a time of a field, which is in the zone of its page.
const localTime = "2006-01-02T15:04"

// localTimes are the forms in which such a time may be written.
var localTimes = []string{localTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", time.DateOnly}

// moment returns the time that a field has; the zero time for none. A time that the clock skips is refused.
func (c clock) moment(text string) (time.Time, error) {
	if text = strings.TrimSpace(text); text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	for _, layout := range localTimes {
		at, err := time.ParseInLocation(layout, text, c.Now.Location())
		if err != nil {
			continue
		}
		if wall, _ := time.Parse(layout, text); at.Format(layout) != wall.Format(layout) {
			return time.Time{}, fmt.Errorf("the clock of %s skips %.40s", c.Zone, text)
		}
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time; write one such as %s, in %s", text, c.Now.Format("2006-01-02 15:04"), c.Zone)
}

// promiseOf reads the fields of a pause. What is wrong with them is said in the form.
func (p *page) promiseOf(form url.Values, zone clock, ends bool) promiseForm {
	f := promiseForm{Ends: ends, Note: strings.TrimSpace(form.Get("note")), Until: form.Get("until"), Zone: zone.Zone,
		Recover: form.Get("recover"), AtOnce: strings.TrimSpace(form.Get("atOnce")), zone: zone}
	if preset := form.Get("preset"); preset != "" {
		f.Until, f.asked = preset, true
	}
	f.asked = f.asked || form.Get("do") == "check"
	f.promise = client.Pause{Note: f.Note, Recover: client.Recover(f.Recover)}
	at, err := zone.moment(f.Until)
	switch {
	case err != nil:
		f.Wrong = "Until: " + err.Error() + "."
	case !at.IsZero() && !at.After(zone.Now):
		f.Wrong = "Until: " + zone.text(at, "") + " is over; choose a time to come."
	}
	f.promise.Until = at
	if f.AtOnce != "" {
		n, err := strconv.Atoi(f.AtOnce)
		if err != nil || n < 1 || n > 100 {
			f.Wrong = "At once: write a number from 1 to 100."
		}
		f.promise.AtOnce = n
	}
	if ends {
		f.promise.Note, f.promise.Until = "", time.Time{}
	}
	f.Listed = strings.Join([]string{string(client.At(f.promise.Until)), f.Recover, strconv.Itoa(f.promise.AtOnce)}, " ")
	f.Other = !f.asked && form.Has("listed") && form.Get("listed") != f.Listed
	f.unchecked = !form.Has("listed")
	return f
}

// mayGoOn reports whether a form may be done: it is right, and its page has said what it holds.
func (f *promiseForm) mayGoOn() bool { return f.Wrong == "" && !f.asked && !f.Other && !f.unchecked }

// offer adds the choices of the form.
func (f *promiseForm) offer() {
	none := choice{"", "none of them"}
	if f.Ends && f.promised != "" {
		none.Short = "as was promised: " + thens[f.promised]
	}
	f.Choices = []choice{none, {string(client.RecoverLatest), "the latest"}, {string(client.RecoverAll), "all, oldest first"}}
	if f.Ends {
		f.Choices = append(f.Choices, choice{string(client.RecoverNone), "none, whatever was promised"})
		return
	}
	now := f.zone.Now
	six := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, 6, 0, 0, 0, now.Location())
	}
	monday := (int(time.Monday)-int(now.Weekday())+6)%7 + 1
	for _, one := range []struct {
		at   time.Time
		text string
	}{{now.Add(time.Hour), "In an hour"}, {six(1), "Tomorrow 06:00"}, {six(monday), "Monday 06:00"}} {
		f.Presets = append(f.Presets, choice{one.at.Format(localTime), one.text})
	}
}
