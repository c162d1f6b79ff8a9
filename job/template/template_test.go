package template_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
	"almanac/job/template"
)

var values = template.Values{
	Execution: job.Execution{
		ID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", Due: time.Date(2026, 7, 31, 22, 30, 0, 0, time.UTC), Job: `nightly "A&B"`, Collection: "reports/ü",
	},
	Attempt: 2,
	Facts: template.Facts{
		LastSuccess: time.Date(2026, 7, 30, 22, 30, 1, 0, time.UTC),
		Failure:     &template.Failure{Message: "Response: 'NotFound'\r\nBody: <none>", Error: "the host answered 404 NotFound", Attempts: 5, Status: 404},
	},
}

// request returns an action whose request has a body.
func request(body, contentType string) *job.Action {
	r := &kind.Request{URI: "http://h/", Body: body, Template: true}
	if contentType != "" {
		r.Headers = job.Members{{Name: "content-type", Value: contentType}}
	}
	return &job.Action{Type: kind.HTTP, Content: kind.Content{Request: r}}
}

func render(t testing.TB, a *job.Action) *job.Action {
	t.Helper()
	require.Empty(t, template.Check(a, true))
	rendered, err := template.Render(a, values)
	require.NoError(t, err)
	return rendered
}

func TestPlaceholdersStandForValuesOfTheAttempt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "",
		"no placeholder } {":                 "no placeholder } {",
		"{{.Job.Name}}":                      `nightly "A&B"`,
		"{{ .Job.Collection }}":              "reports/ü",
		"{{.Execution.ID}}":                  "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"{{.Due}}":                           "2026-07-31T22:30:00Z",
		"attempt {{.Attempt}}":               "attempt 2",
		"{{.LastSuccess}}":                   "2026-07-30T22:30:01Z",
		`{{date "2006-01-02" .LastSuccess}}`: "2026-07-30",
		"{{.Failure.Error}}":                 "the host answered 404 NotFound",
		"{{.Failure.Message}}":               "Response: 'NotFound'\r\nBody: <none>",
		"{{.Failure.Attempts}} attempts, {{.Failure.Status}}":                           "5 attempts, 404",
		`{{date "2006-01-02" .Due}}`:                                                    "2026-07-31",
		`{{.Due | date "2006-01-02 15:04" "Europe/Stockholm"}}`:                         "2026-08-01 00:30",
		`{{date "2 Jan" "W. Europe Standard Time" .Due}}`:                               "1 Aug",
		"{{if .Failure.Status}}yes{{else}}no{{end}}":                                    "yes",
		"{{if not .Failure.Status}}yes{{else if eq .Attempt 2}}second{{else}}no{{end}}": "second",
		`{{if and (ge .Failure.Status 400) (lt .Failure.Status 500)}}4xx{{end}}`:        "4xx",
		`{{if or false (ne .Execution.ID "a")}}yes{{end}}`:                              "yes",
		`{{if gt .Attempt 2}}yes{{end}}{{if le .Attempt 2}}no{{end}}`:                   "no",
		"a {{- /* a comment */ -}} b":                                                   "ab",
		`{{"{{"}}`:                                                                      "{{",
	} {
		require.Equal(t, want, render(t, request(text, "text/plain")).Request.Body, text)
	}
}

func TestNothingIsKnownOfAFailureThatIsNotSaid(t *testing.T) {
	t.Parallel()
	a := request("{{.Failure.Message}}|{{.Failure.Status}}|{{if .Failure.Error}}yes{{else}}no{{end}}", "text/plain")
	rendered, err := template.Render(a, template.Values{})
	require.NoError(t, err)
	require.Equal(t, "|0|no", rendered.Request.Body)
}

func TestAJobThatHasNeverSucceededHasNoLastSuccess(t *testing.T) {
	t.Parallel()
	const never = "{{if .LastSuccess}}{{date \"2006\" .LastSuccess}}{{else}}never{{end}}"
	a := request(`["{{.LastSuccess}}", "{{date "2006" .LastSuccess}}", "`+never+`"]`, "application/json")
	require.Empty(t, template.Check(a, false))
	rendered, err := template.Render(a, template.Values{})
	require.NoError(t, err)
	require.Equal(t, `["", "", "never"]`, rendered.Request.Body)
	require.Equal(t, `["2026-07-30T22:30:01Z", "2026", "2026"]`, render(t, a).Request.Body)
}

func TestValuesAreEscapedForWhereTheyStand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"JSON", "application/json; charset=utf-8", `{"job":"{{.Job.Name}}","n":{{.Attempt}}}`, `{"job":"nightly \"A&B\"","n":2}`},
		{"a format in JSON", "application/cloudevents+json", `{"m":"{{.Failure.Message}}"}`, `{"m":"Response: 'NotFound'\r\nBody: <none>"}`},
		{"JSON without a content type", "", ` ["{{.Job.Name}}"]`, ` ["nightly \"A&B\""]`},
		{"JSON in one part of an if", "", `{{if .Failure.Status}}{{else}}"{{.Job.Name}}"{{end}}`, ""},
		{"text that begins like JSON", "", `[{{.Job.Name}}] failed`, `[nightly "A&B"] failed`},
		{"a text in brackets, which is no JSON", "", `[{{.Job.Name}}]`, `[nightly "A&B"]`},
		{"JSON that is sent as text", "text/plain", `"{{.Job.Name}}"`, `"nightly "A&B""`},
		{"XML", "application/xml", `<a b="{{.Job.Name}}">{{.Failure.Message}}</a>`, `<a b="nightly &#34;A&amp;B&#34;">Response: &#39;NotFound&#39;&#xD;&#xA;Body: &lt;none&gt;</a>`},
		{"HTML", "text/html", `<b>{{.Job.Name}}</b>`, `<b>nightly &#34;A&amp;B&#34;</b>`},
		{"a format in XML", "application/soap+xml", `<b>{{.Job.Name}}</b>`, `<b>nightly &#34;A&amp;B&#34;</b>`},
		{"a form", "application/x-www-form-urlencoded", `job={{.Job.Name}}&in={{.Job.Collection}}`, `job=nightly%20%22A%26B%22&in=reports%2F%C3%BC`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, render(t, request(tt.body, tt.contentType)).Request.Body)
		})
	}
}

func TestAURIAndHeadersAreFilledIn(t *testing.T) {
	t.Parallel()
	a := &job.Action{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{
		URI: `https://me:pw@h:8443/{{.Job.Collection}}/{{if .Failure.Status}}failed{{end}}?job={{.Job.Name}}&due={{date "15:04" .Due}}#{{.Attempt}}`,
		Headers: job.Members{
			{Name: "X-Job", Value: "{{.Job.Name}}"}, {Name: "X-Error", Value: "a {{.Failure.Message}}"}, {Name: "X-Text", Value: "{{.Job.Name}} {{\"t\u00e4glich…\"}}"}, {Name: "Host", Value: "www.example.com"},
		},
		Template: true,
	}}}
	r := render(t, a).Request
	require.Equal(t, "https://me:pw@h:8443/reports%2F%C3%BC/failed?job=nightly%20%22A%26B%22&due=22%3A30#2", r.URI)
	require.Equal(t, job.Members{
		{Name: "X-Job", Value: `nightly "A&B"`}, {Name: "X-Error", Value: "a Response: 'NotFound'  Body: <none>"}, {Name: "X-Text", Value: `nightly "A&B" t%C3%A4glich%E2%80%A6`}, {Name: "Host", Value: "www.example.com"},
	}, r.Headers)
	require.Equal(t, "{{.Job.Name}}", a.Request.Headers[0].Value, "the action itself is not changed")
}

func TestMessagesAreFilledIn(t *testing.T) {
	t.Parallel()
	queue := render(t, &job.Action{Content: kind.Content{QueueMessage: &kind.QueueMessage{Message: `{"job":"{{.Job.Name}}"}`, SASToken: "{{.Job.Name}}", Template: true}}}).QueueMessage
	require.Equal(t, kind.QueueMessage{Message: `{"job":"nightly \"A&B\""}`, SASToken: "{{.Job.Name}}", Template: true}, *queue)

	written := &kind.ServiceBusMessage{
		Message: `"{{.Job.Name}}"`, CustomMessageProperties: job.Members{{Name: "job", Value: "{{.Job.Name}}"}},
		BrokeredMessageProperties: &kind.BrokeredProperties{ContentType: "text/plain", Label: "{{.Job.Name}}"}, Template: true,
	}
	for _, a := range []*job.Action{{Content: kind.Content{ServiceBusQueueMessage: written}}, {Content: kind.Content{ServiceBusTopicMessage: written}}} {
		rendered := render(t, a)
		m := rendered.ServiceBusQueueMessage
		if m == nil {
			m = rendered.ServiceBusTopicMessage
		}
		require.Equal(t, `"nightly "A&B""`, m.Message)
		require.Equal(t, `nightly "A&B"`, m.CustomMessageProperties.Get("job"))
		require.Equal(t, "{{.Job.Name}}", m.BrokeredMessageProperties.Label, "no other member has placeholders")
		require.Equal(t, "{{.Job.Name}}", written.CustomMessageProperties.Get("job"))
	}
}

func TestAnActionWithoutTemplatesIsSentAsItIs(t *testing.T) {
	t.Parallel()
	for _, a := range []*job.Action{
		{Content: kind.Content{Request: &kind.Request{URI: "http://h/{{.Job.Name}}", Body: "{{.Nothing}} {{"}}},
		{Content: kind.Content{QueueMessage: &kind.QueueMessage{Message: "{{"}}},
		{Content: kind.Content{ServiceBusQueueMessage: &kind.ServiceBusMessage{Message: "{{"}}},
		{Content: kind.Content{ServiceBusTopicMessage: &kind.ServiceBusMessage{Message: "{{"}}},
	} {
		require.False(t, template.Used(a))
		require.Empty(t, template.Check(a, false))
		rendered, err := template.Render(a, values)
		require.NoError(t, err)
		require.Same(t, a, rendered)
	}
	require.False(t, template.Used(nil))
}

func TestWhatIsNoTemplateIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	const (
		names     = ".Job.Name, .Job.Collection, .Execution.ID, .Due, .Attempt and .LastSuccess, and in an errorAction .Failure.Message and others"
		syntax    = `placeholders such as {{.Job.Name}}, {{date "2006-01-02" .Due}} and {{if .Failure.Status}}…{{end}}`
		functions = "the functions date, eq, ne, lt, le, gt, ge, and, or and not"
		operands  = "names, texts and whole numbers; the names are " + names
		dates     = `date "2006-01-02 15:04" .Due, with a time zone such as "Europe/Stockholm" before .Due if it is not to be UTC`
		zones     = "an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time"
	)
	for _, tt := range []struct{ name, text, want string }{
		{"an unknown name", "ü\n{{.Job.Name}} ü{{.Job.Nmae}}", `".Job.Nmae" is not valid; allowed: ` + names + "; did you mean .Job.Name? see line 2, column 16"},
		{"another case", "{{.job.name}}", `".job.name" is not valid; allowed: ` + names + "; did you mean .Job.Name? see line 1, column 1"},
		{"an object", "{{.Job}}", `".Job" is not valid; allowed: ` + names + "; see line 1, column 1"},
		{"what failed, in the action itself", "{{.Failure.Message}}", `".Failure.Message" is not valid; allowed: ` + names + "; see line 1, column 1"},
		{"a secret", "a {{.Action.Request.Authentication.Password}}", `".Action.Request.Authentication.Password" is not valid; allowed: ` + names + "; see line 1, column 3"},
		{"a method", "{{.Due.Unix}}", `".Due.Unix" is not valid; allowed: ` + names + "; see line 1, column 1"},
		{"everything", "{{.}}", "the value is not valid; allowed: " + operands + "; see line 1, column 1"},
		{"a member of an expression", "{{(.Due).Unix}}", "the value is not valid; allowed: " + operands + "; see line 1, column 1"},
		{"a number with a fraction", "{{1.5}}", "the value is not valid; allowed: " + operands + "; see line 1, column 1"},
		{"an unknown function", `a{{printf "%9999d" .Attempt}}`, `"printf" is not valid; allowed: ` + functions + "; see line 1, column 2"},
		{"a function that calls", "{{call .Due}}", `"call" is not valid; allowed: ` + functions + "; see line 1, column 1"},
		{"a function within another", "{{not (len .Job.Name)}}", `"len" is not valid; allowed: ` + functions + "; see line 1, column 1"},
		{"a function without arguments within another", "{{if not not}}{{end}}", "the value is not valid; allowed: " + operands + "; see line 1, column 1"},
		{"a name with arguments", "{{.Due .Attempt}}", "the value is not valid; allowed: arguments after a function only; " + syntax + "; see line 1, column 1"},
		{"a condition that is printed", "{{not .Attempt}}", "the value is not valid; allowed: a condition in {{if}} only; " + syntax + "; see line 1, column 1"},
		{"not of nothing", "{{if not}}{{end}}", `"not" is not valid; allowed: one value after not; see line 1, column 1`},
		{"and of nothing", "{{if and}}{{end}}", `"and" is not valid; allowed: values after and; see line 1, column 1`},
		{"a comparison of two kinds", `{{if eq .Attempt "1"}}{{end}}`, `"eq" is not valid; allowed: two texts, or two numbers, after eq; see line 1, column 1`},
		{"a comparison of times", `{{if lt .Due .Due}}{{end}}`, `"lt" is not valid; allowed: two texts, or two numbers, after lt; see line 1, column 1`},
		{"a date without a layout", "{{date .Due}}", `"date" is not valid; allowed: ` + dates + "; see line 1, column 1"},
		{"a date of no time", `{{date "2006" .Attempt}}`, `"date" is not valid; allowed: ` + dates + "; see line 1, column 1"},
		{"a date whose layout is a value", `{{date .Job.Name .Due}}`, `"date" is not valid; allowed: ` + dates + "; see line 1, column 1"},
		{"a date in no time zone", `{{date "2006" "Europe/Stokholm" .Due}}`, `"Europe/Stokholm" is not valid; allowed: ` + zones + "; see line 1, column 1"},
		{"a date in the zone of the machine", `{{date "2006" "Local" .Due}}`, `"Local" is not valid; allowed: ` + zones + "; see line 1, column 1"},
		{"a loop", "x{{range .Job.Name}}x{{end}}", "the value is not valid; allowed: values, functions and {{if}}: " + syntax + "; see line 1, column 2"},
		{"with", "{{with .Job.Name}}x{{end}}", "the value is not valid; allowed: values, functions and {{if}}: " + syntax + "; see line 1, column 1"},
		{"a call of a template", `{{template "text"}}`, "the value is not valid; allowed: values, functions and {{if}}: " + syntax + "; see line 1, column 1"},
		{"a definition", `x{{define "a"}}x{{end}}`, "the value is not valid; allowed: values, functions and {{if}}: " + syntax + "; see line 1, column 2"},
		{"a definition of the text itself", `{{define "text"}}x{{end}}`, "the value is not valid; allowed: values, functions and {{if}}: " + syntax + "; see line 1, column 1"},
		{"a block", `{{block "a" .Due}}x{{end}}`, "the value is not valid; allowed: values, functions and {{if}}: " + syntax + "; see line 1, column 1"},
		{"a variable", "{{$x := .Attempt}}", `"$x" is not valid; allowed: values without variables: ` + names + "; see line 1, column 1"},
		{"an unknown variable", "{{.Due}}{{$x}}", "the value is not valid; allowed: " + syntax + "; see line 1, column 9"},
		{"an action that is not closed", "{{.Due}}\nü {{.Due", "the value is not valid; allowed: }} at the end of each action: " + syntax + "; see line 2, column 3"},
		{"an if that is not closed", "{{if .Due}}{{.Due}}", "the value is not valid; allowed: an {{end}} for each {{if}}: " + syntax + "; see line 1, column 12"},
		{"an end too many", "{{.Due}} {{end}}", "the value is not valid; allowed: " + syntax + "; see line 1, column 10"},
		{"the placeholders of another system", `{"text": "{{#each}}"}`, "the value is not valid; allowed: " + syntax + "; see line 1, column 11"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := template.Check(request(tt.text, "text/plain"), false)
			require.Len(t, bad, 1)
			require.Equal(t, "request.body: "+tt.want, bad[0].Error())
		})
	}
}

func TestAnErrorActionKnowsMoreNames(t *testing.T) {
	t.Parallel()
	bad := template.Check(request("{{.Failure.Code}}", ""), true)
	require.Len(t, bad, 1)
	require.Equal(t, `request.body: ".Failure.Code" is not valid; allowed: .Job.Name, .Job.Collection, .Execution.ID, .Due, .Attempt, `+
		".LastSuccess, .Failure.Message, .Failure.Error, .Failure.Attempts and .Failure.Status; see line 1, column 1", bad[0].Error())
}

func TestErrorsNameTheMember(t *testing.T) {
	t.Parallel()
	bus := &kind.ServiceBusMessage{Message: "{{", CustomMessageProperties: job.Members{{Name: "A", Value: "{{"}}, Template: true}
	a := &job.Action{
		Content: kind.Content{Request: &kind.Request{URI: "http://h/{{", Headers: job.Members{{Name: "X-A", Value: "{{"}, {Name: "X-B", Value: "b"}}, Body: "{{", Template: true},
			QueueMessage: &kind.QueueMessage{Message: "{{", Template: true}, ServiceBusQueueMessage: bus, ServiceBusTopicMessage: bus},
	}
	var paths []string
	for _, e := range template.Check(a, false) {
		paths = append(paths, e.Path)
	}
	require.Equal(t, []string{
		"request.uri", "request.body", "request.headers.X-A", "queueMessage.message",
		"serviceBusQueueMessage.message", "serviceBusQueueMessage.customMessageProperties.A",
		"serviceBusTopicMessage.message", "serviceBusTopicMessage.customMessageProperties.A",
	}, paths)
}

func TestATemplateCannotChangeTheTarget(t *testing.T) {
	t.Parallel()
	const want = "request.uri: the value is not valid; allowed: placeholders in the path and the query only, without a % in them"
	for uri, ok := range map[string]bool{
		"http://h/{{.Job.Name}}":                         true,
		"http://h?{{.Job.Name}}":                         true,
		"http://h#{{.Job.Name}}":                         true,
		"http://h/{{if .Attempt}}//evil.example/{{end}}": true, // a path
		"http://h/?u=http://{{.Job.Name}}":               true,
		"{{.Job.Name}}":                                  true, // likewise
		"{{.Job.Name}}://h/":                             false,
		"htt{{/* */}}p://h/":                             false,
		"http{{if .Attempt}}s{{end}}://h/":               false,
		"http:{{.Job.Name}}//h/":                         true, // without a host, which is another error
		"http://{{.Job.Name}}/":                          false,
		"http://{{.Job.Name}}.h/":                        false,
		"http://{{/**/}}h/":                              false,
		"http://h{{.Job.Name}}/":                         false,
		"http://h{{.Job.Name}}":                          false,
		"http://h{{/* / */}}.evil.example/":              false,
		"http://h{{- /* / */ -}}.evil.example/":          false,
		"http://h{{if .Attempt}}/a{{end}}":               false,
		"http://h:{{.Attempt}}/":                         false,
		"http://h:80{{.Attempt}}/":                       false,
		"http://{{.Job.Name}}@h/":                        false,
		"http://u:{{.Job.Name}}@h/":                      false,
		"http://[::{{.Attempt}}]/":                       false,
		"http://[fe80::1%25{{.Attempt}}]/":               false,
		`http://h/{{date "%zz" .Due}}`:                   false,
	} {
		bad := template.Check(&job.Action{Content: kind.Content{Request: &kind.Request{URI: uri, Template: true}}}, false)
		if ok {
			require.Empty(t, bad, uri)
			continue
		}
		require.Len(t, bad, 1, uri)
		require.Equal(t, want, bad[0].Error(), uri)
	}
}

func TestABodyOfTypeJSONIsJSONOnceItIsFilledIn(t *testing.T) {
	t.Parallel()
	for body, ok := range map[string]bool{
		"":                                  true,
		`{"job": "{{.Job.Name}}"}`:          true,
		`{"attempt": {{.Attempt}}}`:         true,
		`{"due": "{{.Due}}"}`:               true,
		`{"job": {{.Job.Name}}}`:            false,
		`{"due": {{.Due}}}`:                 false,
		`{"jobs": [{{.Job.Name}}]}`:         false,
		`{{if .Attempt}}{}{{else}}x{{end}}`: true,
		`{"job": "{{.Job.Name}}"`:           false,
	} {
		bad := template.Check(request(body, "application/json"), false)
		if ok {
			require.Empty(t, bad, body)
			continue
		}
		require.Len(t, bad, 1, body)
		require.Equal(t, "request.body: the value is not valid; allowed: JSON once the placeholders are filled in, as the content type says; "+
			`a placeholder for a text belongs in quotes: "{{.Job.Name}}"`, bad[0].Error())
	}
}

func TestWhatIsSentHasALimit(t *testing.T) {
	t.Parallel()
	long := values
	long.Failure = &template.Failure{Message: strings.Repeat("x", 2048)}
	for _, tt := range []struct {
		action kind.Request
		want   string
	}{
		{kind.Request{Body: strings.Repeat("{{.Failure.Message}}", 32)}, ""},
		{kind.Request{Body: strings.Repeat("{{.Failure.Message}}", 32) + "x"}, "request.body is longer than 65536 bytes with its placeholders filled in"},
		{kind.Request{URI: strings.Repeat("{{.Failure.Message}}", 5)}, "request.uri is longer than 8192 bytes with its placeholders filled in"},
		{kind.Request{Headers: job.Members{{Name: "X", Value: strings.Repeat("{{.Failure.Message}}", 5)}}}, "request.headers.X is longer than 8192 bytes with its placeholders filled in"},
	} {
		tt.action.Template = true
		_, err := template.Render(&job.Action{Content: kind.Content{Request: &tt.action}}, long)
		if tt.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, tt.want)
		}
	}
}

// A worker that is older than the API may get such a job.
func TestATemplateThatThisVersionDoesNotKnowIsNotSent(t *testing.T) {
	t.Parallel()
	_, err := template.Render(request("{{.Later.Name}}", ""), values)
	require.EqualError(t, err, "the template in request.body cannot be read by this worker; the job is kept as it is")
}

func TestALongTextIsNoTemplate(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{{if .Due}}", 100_000) + strings.Repeat("{{end}}", 100_000)
	bad := template.Check(request(deep, ""), false)
	require.Len(t, bad, 1)
	require.Equal(t, "request.body: the value is not valid; allowed: at most 65536 bytes; see line 1, column 1", bad[0].Error())
}

func TestPlaceholdersThatAreSentAsTheyAreWrittenAreNoticed(t *testing.T) {
	t.Parallel()
	for _, a := range []*job.Action{
		{Content: kind.Content{Request: &kind.Request{URI: "http://h/{{.Job.Name}}"}}},
		{Content: kind.Content{QueueMessage: &kind.QueueMessage{Message: "{{.Failure.Message}}"}}},
		{Content: kind.Content{QueueMessage: &kind.QueueMessage{Message: "{{ .Job.Name }}"}}},
		{Content: kind.Content{QueueMessage: &kind.QueueMessage{Message: "{{.Job.Nam}}"}}},
		{Content: kind.Content{Request: &kind.Request{Body: `{{date "2006" .Due}}`}}},
		{Content: kind.Content{Request: &kind.Request{Body: "{{if eq .Failure.Status 404}}missing{{end}}"}}},
		{Content: kind.Content{Request: &kind.Request{Body: "{{(.Due)}}"}}},
		{Content: kind.Content{Request: &kind.Request{Body: "{{.job.name}}"}}},
		{Content: kind.Content{Request: &kind.Request{Body: `{{date "2006" .DUE}} {{ .EXECUTION.id }}`}}},
		{Content: kind.Content{Request: &kind.Request{Body: "{{- $x := .Attempt -}}"}}},
		{Content: kind.Content{ServiceBusQueueMessage: &kind.ServiceBusMessage{Message: "at {{.Due}}"}}},
		{Content: kind.Content{ServiceBusTopicMessage: &kind.ServiceBusMessage{CustomMessageProperties: job.Members{{Name: "a", Value: "{{.Attempt}}"}}}}},
	} {
		require.True(t, template.Forgotten(a))
		require.False(t, template.Used(a), "it is not changed")
	}
	require.False(t, template.Forgotten(request("{{.Job.Name}}", "")))
	require.False(t, template.Forgotten(&job.Action{Content: kind.Content{Request: &kind.Request{Body: `{{name}} {{.Values.name}} {{order.Due}} {{f(x).Due}} {{job.name}} {{.due}} {{.job.title}} {{.order.due}} {{"{{"}} {{#each items}}.Due`}}}), "placeholders of the receiver")
}

// The example, and the action that the page shows, are filled in as the page says.
func TestTheExamplePostsWhatFailed(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/tell-failures.json")
	require.NoError(t, err)
	d, err := input.ParseDefinition(example, input.ParseOptions{Now: values.Execution.Due})
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:9000/reports/2026-07-31", render(t, &d.Action).Request.URI)
	page, err := os.ReadFile("../../docs/actions.md")
	require.NoError(t, err)
	var shown job.Action
	_, block, _ := strings.Cut(string(page), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	require.NoError(t, json.Unmarshal([]byte(block), &shown))
	for _, a := range []*job.Action{d.Action.ErrorAction, &shown} {
		r := render(t, a).Request
		require.True(t, strings.HasSuffix(r.URI, "?job=nightly%20%22A%26B%22"), r.URI)
		require.JSONEq(t, `{"text": "nightly \"A&B\", due 2026-07-31T22:30:00Z, failed after 5 attempts: the host answered 404 NotFound"}`, r.Body)
	}
}

func BenchmarkRender(b *testing.B) {
	for name, a := range map[string]*job.Action{
		"without placeholders": {Content: kind.Content{Request: &kind.Request{URI: "http://h/", Body: "{}"}}},
		"with placeholders":    request(`{"text": "{{.Job.Name}}, due {{.Due}}, failed after {{.Failure.Attempts}} attempts: {{.Failure.Error}}"}`, "application/json"),
		"with 8 KiB of them":   request(strings.Repeat("{{.Job.Name}}", 630), ""),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := template.Render(a, values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAFilledBodyOfTypeJSONHoldsTheValues(t *testing.T) {
	t.Parallel()
	var body map[string]string
	filled := render(t, request(`{"job":"{{.Job.Name}}","message":"{{.Failure.Message}}"}`, "application/json")).Request.Body
	require.NoError(t, json.Unmarshal([]byte(filled), &body))
	require.Equal(t, map[string]string{"job": values.Execution.Job, "message": values.Failure.Message}, body)
}
