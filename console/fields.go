package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fields are the texts of the form of a job, by the names of its fields.
type fields map[string]string

// A member is a field of the form that is one member of a job.
type member struct {
	field string
	path  string // below properties
	kind  string // text, number, numbers, words
}

// members are the fields of the form that are one member of a job each. What has no field is in the JSON only.
var members = []member{
	{"interval", "recurrence.interval", "number"}, {"hours", "recurrence.schedule.hours", "numbers"},
	{"minutes", "recurrence.schedule.minutes", "numbers"}, {"monthDays", "recurrence.schedule.monthDays", "numbers"},
	{"workingDays", "recurrence.schedule.workingDays", "numbers"},
	{"timeZone", "recurrence.timeZone", "text"}, {"endTime", "recurrence.endTime", "text"}, {"count", "recurrence.count", "number"},
	{"overlapPolicy", "recurrence.overlapPolicy", "text"}, {"catchUpWindow", "recurrence.catchUpWindow", "text"},
	{"startTime", "startTime", "text"}, {"uri", "action.request.uri", "text"}, {"method", "action.request.method", "text"},
	{"body", "action.request.body", "text"}, {"retryCount", "action.retryPolicy.retryCount", "number"},
	{"flexibleWindow", "flexibleWindow", "text"}, {"retryInterval", "action.retryPolicy.retryInterval", "text"}, {"disableAfter", "disableAfter", "number"},
	{"username", "action.request.authentication.username", "text"},
}

// fieldOf returns the field of the form that a member of a body is in; the member itself if it is in none.
func fieldOf(target string) string {
	target = strings.TrimPrefix(target, "properties.")
	switch {
	case strings.HasPrefix(target, "recurrence.schedule.weekDays"):
		return "weekDays"
	case strings.HasPrefix(target, "recurrence.schedule.monthlyOccurrences"):
		return "occurrences"
	case strings.HasPrefix(target, "recurrence.calendars[0].onMatch"):
		return "onMatch"
	case strings.HasPrefix(target, "recurrence.calendars"):
		return "calendar"
	case strings.HasPrefix(target, "action.request.headers"):
		return "headers"
	case target == "action.request.authentication.password":
		return "password"
	case target == "recurrence.frequency":
		return "frequency"
	}
	for _, m := range members {
		if target == m.path || strings.HasPrefix(target, m.path+"[") {
			return m.field
		}
	}
	return target
}

// secretMembers are the names of members that the API stores and never shows.
var secretMembers = []string{"password", "pfx", "secret", "sasToken", "sasKey", "routingKey"}

func isSecret(name string) bool {
	return slices.ContainsFunc(secretMembers, func(secret string) bool { return strings.EqualFold(secret, name) })
}

// dropSecrets removes the secrets of a definition, and reports whether there were any.
func dropSecrets(value any) (dropped bool) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			dropped = dropSecrets(one) || dropped
		}
	case map[string]any:
		for name, inner := range v {
			switch {
			case strings.EqualFold(name, "headers"): // the names in it are users' own
			case isSecret(name):
				delete(v, name)
				dropped = true
			default:
				dropped = dropSecrets(inner) || dropped
			}
		}
	}
	return dropped
}

// at returns the object that holds a member, and the name of the member in it. Objects that are missing are made if
// create is set; else it returns nil.
func at(body map[string]any, path string, create bool) (map[string]any, string) {
	parts := strings.Split("properties."+path, ".")
	for _, part := range parts[:len(parts)-1] {
		next, ok := body[part].(map[string]any)
		if !ok {
			if !create {
				return nil, ""
			}
			next = map[string]any{}
			body[part] = next
		}
		body = next
	}
	return body, parts[len(parts)-1]
}

func valueAt(body map[string]any, path string) any {
	object, name := at(body, path, false)
	return object[name]
}

func textAt(body map[string]any, path string) string { return written(valueAt(body, path)) }

// written returns a value as a field shows it.
func written(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = written(one)
		}
		return strings.Join(parts, ", ")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// fieldsOf returns the texts of the form for a body.
func fieldsOf(body map[string]any) fields {
	f := fields{"frequency": "once", "state": "enabled", "isHTTP": ""}
	for _, m := range members {
		f[m.field] = textAt(body, m.path)
	}
	if frequency := textAt(body, "recurrence.frequency"); frequency != "" {
		f["frequency"] = strings.ToLower(frequency)
	}
	f["state"] = textAt(body, "state")
	f["retryType"] = textAt(body, "action.retryPolicy.retryType")
	f["auth"] = textAt(body, "action.request.authentication.type")
	if _, ok := valueAt(body, "action.request").(map[string]any); ok {
		f["isHTTP"] = "yes"
	}
	days, _ := valueAt(body, "recurrence.schedule.weekDays").([]any)
	for _, day := range days {
		f["on-"+strings.ToLower(written(day))] = "yes"
	}
	f["occurrences"] = occurrencesText(valueAt(body, "recurrence.schedule.monthlyOccurrences"))
	calendarFields(body, f)
	headers, _ := valueAt(body, "action.request.headers").(map[string]any)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+": "+written(headers[name]))
	}
	f["headers"] = strings.Join(lines, "\n")
	return f
}

// ordinals are the words of occurrences in the month.
var ordinals = map[string]float64{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "every": 0}

func occurrencesText(value any) string {
	list, _ := value.([]any)
	var parts []string
	for _, one := range list {
		o, _ := one.(map[string]any)
		n, _ := o["occurrence"].(float64)
		word := written(o["occurrence"])
		for name, number := range ordinals {
			if number == n {
				word = name
			}
		}
		parts = append(parts, word+" "+written(o["day"]))
	}
	return strings.Join(parts, ", ")
}

// occurrencesOf is the inverse of occurrencesText. What it does not know it leaves to the API.
func occurrencesOf(text string) (list []any) {
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(strings.ToLower(part))
		if len(words) == 0 {
			continue
		}
		o := map[string]any{"day": words[len(words)-1]}
		if len(words) > 1 {
			if n, ok := ordinals[words[0]]; !ok {
				o["occurrence"] = numberOr(words[0])
			} else if n != 0 {
				o["occurrence"] = n
			}
		}
		list = append(list, o)
	}
	return list
}

// numberOr returns the number that a text is, or the text, about which the API says what is wrong.
func numberOr(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return text
}

// applyFields sets in a body what the fields of a form say.
func applyFields(body map[string]any, form url.Values) {
	set := func(path string, value any, absent bool) {
		if absent {
			if object, name := at(body, path, false); object != nil {
				delete(object, name)
			}
			return
		}
		object, name := at(body, path, true)
		object[name] = value
	}
	isHTTP := valueAt(body, "action.request") != nil
	if form.Get("frequency") == "once" {
		set("recurrence", nil, true)
	} else {
		set("recurrence.frequency", form.Get("frequency"), false)
		applyDays(form, set)
		applyCalendar(body, form, set)
	}
	for _, m := range members {
		text := strings.TrimSpace(form.Get(m.field))
		switch {
		case m.field == "username", strings.HasPrefix(m.path, "recurrence.") && form.Get("frequency") == "once",
			strings.HasPrefix(m.path, "action.request.") && !isHTTP:
			continue
		case m.field == "body":
			if text = lineEnds.Replace(form.Get("body")); text == lineEnds.Replace(textAt(body, m.path)) {
				continue // browsers change line ends, also of what nobody touches
			}
		}
		set(m.path, valueOf(m.kind, text), text == "")
	}
	applyRetries(form, set)
	if isHTTP {
		applyRequest(body, form, set)
	}
	set("state", map[bool]string{true: "enabled", false: "disabled"}[form.Get("state") != "disabled"], false)
	tidy(body)
}

// lineEnds makes all line ends those of a text area.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func valueOf(kind, text string) any {
	switch kind {
	case "number":
		return numberOr(text)
	case "numbers":
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, numberOr(part))
			}
		}
		return list
	}
	return text
}

func applyDays(form url.Values, set func(string, any, bool)) {
	days := []any{}
	for _, day := range form["weekDays"] {
		days = append(days, day)
	}
	set("recurrence.schedule.weekDays", days, len(days) == 0)
	occurrences := occurrencesOf(form.Get("occurrences"))
	set("recurrence.schedule.monthlyOccurrences", occurrences, len(occurrences) == 0)
}

func applyRetries(form url.Values, set func(string, any, bool)) {
	if form.Get("retryType") == "none" {
		set("action.retryPolicy", map[string]any{"retryType": "none"}, false)
		return
	}
	set("action.retryPolicy.retryType", form.Get("retryType"), form.Get("retryType") == "")
}

// applyRequest sets headers and authentication of a request.
func applyRequest(body map[string]any, form url.Values, set func(string, any, bool)) {
	headers := map[string]any{}
	for line := range strings.SplitSeq(form.Get("headers"), "\n") {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "" {
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	set("action.request.headers", headers, len(headers) == 0)
	switch kind := form.Get("auth"); {
	case kind == "":
		set("action.request.authentication", nil, true)
	case strings.EqualFold(kind, "Basic"):
		if !strings.EqualFold(textAt(body, "action.request.authentication.type"), "Basic") {
			set("action.request.authentication", nil, true)
		}
		set("action.request.authentication.type", kind, false)
		set("action.request.authentication.username", form.Get("username"), false)
		set("action.request.authentication.password", form.Get("password"), form.Get("password") == "")
	}
}

// tidy removes objects that are empty.
func tidy(body map[string]any) {
	for _, path := range []string{"recurrence.schedule", "action.retryPolicy"} {
		object, name := at(body, path, false)
		if inner, ok := object[name].(map[string]any); ok && len(inner) == 0 {
			delete(object, name)
		}
	}
}
