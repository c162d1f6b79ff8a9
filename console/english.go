package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"almanac/client"
)

// mostNames is how many names of calendars a field offers.
const mostNames = 100

// calendarNames returns the names of the calendars that a job of a collection may have, as far as they can be listed.
func (p *page) calendarNames(collection string) (names []string) {
	scopes := []string{collection, ""}
	found := make([][]string, len(scopes))
	_ = eachOf(len(scopes), func(i int) error {
		if i == 0 && collection == "" {
			return nil
		}
		for c, err := range p.api().CalendarsOf(scopes[i]).List(p.ctx, client.List{}) {
			if err != nil {
				return err
			}
			found[i] = append(found[i], c.Name[strings.LastIndex(c.Name, "/")+1:])
		}
		return nil
	})
	for _, name := range slices.Concat(found...) {
		same := func(n string) bool { return strings.EqualFold(n, name) }
		if len(names) < mostNames && !slices.ContainsFunc(names, same) {
			names = append(names, name)
		}
	}
	return names
}

// isRead reports whether a form asks for a text in English to be read.
func isRead(form map[string][]string) bool {
	has := func(name string) bool { return len(form[name]) > 0 && strings.TrimSpace(form[name][0]) != "" }
	return has("reading") || len(form["do"]) > 0 && form["do"][0] == "read" && has("english")
}

// readEnglish puts what a text in English means into a definition, and shows that; or what it may mean.
func (s *Console) readEnglish(p *page, v *editView, text string) error {
	form := p.r.PostForm
	said := strings.TrimSpace(cmp.Or(form.Get("reading"), form.Get("english")))
	body, err := objectOf(text)
	if err != nil {
		return err
	}
	found, err := p.api().ReadRecurrence(p.ctx, client.RecurrenceText{
		Text: said, TimeZone: textAt(body, "recurrence.timeZone"), Calendars: p.calendarNames(v.Collection),
	})
	v.English = said
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusBadRequest {
		v.Errors = map[string][]string{}
		for _, d := range e.Details {
			v.Errors["english"] = append(v.Errors["english"], strings.TrimPrefix(d.Message, "text: "))
		}
		if e.Details == nil {
			v.Errors["english"] = []string{e.Message}
		}
		return s.showEdit(p, v, text)
	}
	if err != nil {
		return err
	}
	if found.Ambiguous != "" || len(found.Readings) != 1 {
		v.Ambiguous, v.Candidates = found.Ambiguous, found.Readings
		return s.showEdit(p, v, text)
	}
	v.ReadAs, v.English = found.Readings[0].Text, ""
	if err := applyReading(body, &found.Readings[0]); err != nil {
		return err
	}
	return s.showEdit(p, v, indented(body))
}

// applyReading puts what was read into a definition. What a text does not say stays, but for how often it runs.
func applyReading(body map[string]any, r *client.RecurrenceReading) error {
	text, err := json.Marshal(r.Recurrence)
	if err != nil {
		return err
	}
	var read map[string]any
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	for _, member := range []string{"frequency", "interval", "schedule", "cron", "rrule", "also"} {
		object, name := at(body, "recurrence."+member, true)
		_, was := object[name]
		if delete(object, name); was && slices.Contains([]string{"cron", "rrule", "also"}, member) {
			object[name] = nil // a PUT without it would keep it
		}
	}
	for member, value := range read {
		object, name := at(body, "recurrence."+member, true)
		object[name] = value
	}
	if r.StartTime != "" {
		object, name := at(body, "startTime", true)
		object[name] = r.StartTime
	}
	return nil
}
