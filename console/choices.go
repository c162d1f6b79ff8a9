package console

import "strings"

// A choice is an option of a field.
type choice struct{ Value, Short string }

// weekDays are the days of the week.
func weekDays() (all []choice) {
	for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		all = append(all, choice{strings.ToLower(day), day[:3]})
	}
	return all
}

// overlaps are what happens while an occurrence still runs.
func overlaps() []choice {
	return []choice{
		{"", "the next one waits, further ones are missed (default)"}, {"BufferOne", "BufferOne: the next one waits, further ones are missed"},
		{"Skip", "Skip: it is skipped"}, {"AllowAll", "AllowAll: it runs beside the other"},
	}
}

// methods are those of a request. The one that a job has is among them, as it is written there.
func methods(now string) []choice {
	return with(now, choice{"", "GET (default)"}, same("GET"), same("PUT"), same("POST"), same("PATCH"), same("DELETE"), same("HEAD"), same("OPTIONS"))
}

// auths are the ways to authenticate that a form has, and the one that the job has.
func auths(now string) []choice { return with(now, choice{"", "nothing"}, same("Basic")) }

func same(text string) choice { return choice{text, text} }

// with returns choices among which is the value of now.
func with(now string, all ...choice) []choice {
	for _, one := range all {
		if one.Value == now {
			return all
		}
	}
	return append(all, same(now))
}
