package console

import (
	"html/template"
	"strconv"
	"strings"

	"almanac/client"
)

// words are those of the marks.
var words = map[string]string{
	"ok": "Succeeded", "fail": "Failed", "retry": "Waits for a retry", "miss": "Missed", "skip": "Skipped", "off": "Disabled",
	"run": "Running", "cancel": "Cancelled", "next": "To come", "done": "Completed", "warn": "Warning", "edit": "Changed",
}

// mark returns a mark. Without a label, a word stands beside it.
func mark(kind string, label ...string) template.HTML {
	if words[kind] == "" {
		return ""
	}
	var out svg
	out.add(`<svg class="m m-%[1]s" aria-hidden="true"><use href="#m-%[1]s"/></svg>`, kind)
	for _, word := range label {
		out.add(`<span class="vh">%s</span>`, escape(word))
	}
	return out.html()
}

// markOf returns the mark of an outcome.
func markOf(o client.Outcome) string {
	return map[client.Outcome]string{
		client.OutcomeCompleted: "ok", client.OutcomeFailed: "fail", client.OutcomeMissed: "miss", client.OutcomeSkipped: "skip",
		client.OutcomeCancelled: "cancel",
	}[o]
}

// count returns a number with commas.
func count(n int) string {
	text := strconv.Itoa(n)
	var out strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 && text[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}

// plural returns a number and its word, such as 1 job and 2 jobs.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// args returns values as one, for a template.
func args(values ...any) []any { return values }
