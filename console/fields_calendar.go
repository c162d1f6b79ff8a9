package console

import (
	"net/url"
	"strings"
)

// onMatches are what becomes of a run on a day that a calendar matches.
func onMatches() []choice {
	return []choice{
		{"", "it is skipped (default)"}, {"only", "only then it runs"}, {"nextWorkingDay", "it moves to the next working day"}, {"previousWorkingDay", "it moves to the working day before"},
		{"nextWorkingDayInMonth", "to the next working day, in the month"}, {"previousWorkingDayInMonth", "to the working day before, in the month"},
	}
}

// calendarFields are those of the first calendar of a job. Others are in the JSON.
func calendarFields(body map[string]any, f fields) {
	uses, _ := valueAt(body, "recurrence.calendars").([]any)
	if len(uses) == 0 {
		return
	}
	first, _ := uses[0].(map[string]any)
	f["calendar"], f["onMatch"] = written(first["name"]), written(first["onMatch"])
	if strings.EqualFold(f["onMatch"], "skip") {
		f["onMatch"] = ""
	}
	if len(uses) > 1 {
		f["calendarsMore"] = count(len(uses) - 1)
	}
}

// applyCalendar sets the first calendar of a job.
func applyCalendar(body map[string]any, form url.Values, set func(string, any, bool)) {
	if !form.Has("calendar") {
		return
	}
	uses, _ := valueAt(body, "recurrence.calendars").([]any)
	rest := uses[min(1, len(uses)):]
	name := strings.TrimSpace(form.Get("calendar"))
	switch {
	case name == "" && len(uses) == 1:
		set("recurrence.calendars", nil, false) // a PUT without them would keep them
		return
	case name == "" && len(rest) > 0:
		set("recurrence.calendars", rest, false)
		return
	case name == "":
		return
	}
	use := map[string]any{"name": name}
	if on := form.Get("onMatch"); on != "" {
		use["onMatch"] = on
	}
	set("recurrence.calendars", append([]any{use}, rest...), false)
}
