package job

import (
	"fmt"
	"regexp"
	"strings"
)

// The parts of a blackout beside its name and its policy.
var (
	clocksForm = regexp.MustCompile(`^(\d\d:\d\d)-(\d\d:\d\d)$`)
	datesForm  = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)$`)
	timesForm  = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\S+)\.\.(\d{4}-\d\d-\d\dT\S+)$`)
	daysForm   = regexp.MustCompile(`^(mon|tues|wednes|thurs|fri|satur|sun)day(,[a-z]+day)*$`)
)

const blackoutForm = `such as "night 22:00-06:00 runAtEnd", "freeze 2026-12-18..2027-01-06 skip" or "weekend saturday,sunday skip", or none`

// putBlackouts puts the blackouts that --blackout names, in place of all that the job has.
func (d *definition) putBlackouts(t tree) error {
	s := d.set.Get("blackout")
	if !s.Given() {
		return nil
	}
	if len(d.blackouts) == 1 && strings.EqualFold(strings.TrimSpace(d.blackouts[0]), "none") {
		t.put("properties.blackouts", nil)
		return nil
	}
	var all []any
	for _, text := range d.blackouts {
		one, ok := blackoutOf(text)
		if !ok {
			return fmt.Errorf("--blackout: %q is no blackout; allowed: %s", text, blackoutForm)
		}
		all = append(all, one)
	}
	t.put("properties.blackouts", all)
	return nil
}

// blackoutOf reads a blackout: its name, when it is, and what becomes of an occurrence.
func blackoutOf(text string) (tree, bool) {
	words := strings.Fields(text)
	n := len(words) - 1
	if n < 2 {
		return nil, false
	}
	b := tree{"onMatch": words[n]}
	for n--; n > 0; n-- {
		word := words[n]
		if m := clocksForm.FindStringSubmatch(word); m != nil {
			b["from"], b["until"] = m[1], m[2]
		} else if m := datesForm.FindStringSubmatch(word); m != nil {
			b["first"], b["last"] = m[1], m[2]
		} else if m := timesForm.FindStringSubmatch(word); m != nil {
			b["from"], b["until"] = m[1], m[2]
		} else if daysForm.MatchString(strings.ToLower(word)) {
			b["weekDays"] = strings.Split(strings.ToLower(word), ",")
		} else {
			break
		}
	}
	b["name"] = strings.Join(words[:n+1], " ")
	return b, len(b) > 2
}
