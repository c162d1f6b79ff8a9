package template_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/template"
)

// FuzzTemplate requires of any text, and any values, that what is rendered keeps its limits, its target and its form.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"", "{{.Job.Name}}", `{"a":"{{.Job.Name}}","b":{{.Attempt}}}`, `{{if eq .Attempt 1}}{{.Due}}{{else}}{{date "2006" "Europe/Stockholm" .Due}}{{end}}`,
		"{{- .Failure.Message -}}", "{{/* a */}}", `{{"a" | eq .Job.Name | not}}`, "{{if and .Due (or .Attempt (ne 1 2))}}{{end}}", "{{range .}}", `{{define "text"}}{{end}}`, "{{",
	} {
		f.Add(text, "a\"\r\n/?#&%", "x")
	}
	f.Fuzz(func(t *testing.T, text, value, message string) {
		v := template.Values{
			Execution: job.Execution{ID: value, Due: time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC), Job: value, Collection: value},
			Attempt:   len(value), Facts: template.Facts{Failure: &template.Failure{Message: message, Error: message, Attempts: 1, Status: 500}},
		}
		requireJSON(t, text, v)
		a := &job.Action{Content: kind.Content{Request: &kind.Request{
			URI: "http://u:p@h:8080/" + text, Body: text, Headers: job.Members{{Name: "X", Value: text}}, Template: true,
		}}}
		for _, e := range template.Check(a, true) {
			require.NotContains(t, e.Error(), "\n")
		}
		r, err := template.Render(a, v)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(r.Request.Body), 64<<10)
		if !strings.ContainsAny(text, "\r\n\x00") { // of the text itself, which is refused in headers
			require.False(t, strings.ContainsAny(r.Request.Headers[0].Value, "\r\n"), "%q", r.Request.Headers[0].Value)
		}
		if len(template.Check(a, true)) > 0 {
			return
		}
		if to, err := url.Parse(r.Request.URI); err == nil {
			require.Equal(t, "http://u:p@h:8080", to.Scheme+"://"+to.User.String()+"@"+to.Host)
		}
	})
}

// requireJSON requires that a body which is accepted as JSON is JSON, unless a condition chooses another part of it.
func requireJSON(t *testing.T, text string, v template.Values) {
	t.Helper()
	a := request(text, "application/json")
	if len(template.Check(a, true)) > 0 || strings.Contains(text, "if") || text == "" {
		return
	}
	r, err := template.Render(a, v)
	if err != nil {
		return
	}
	require.True(t, json.Valid([]byte(r.Request.Body)), "%q became %q", text, r.Request.Body)
}
