package input_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
)

// preview answers a line as the command line and the API do.
func preview(t testing.TB, line string) string {
	t.Helper()
	p, err := input.ParsePreview([]byte(line), now)
	if err != nil {
		complaints(t, err)
		return compactJSON(t, p.Failed(err))
	}
	r := p.Run()
	r.Text, r.Notes = "", nil // they have tests of their own
	return compactJSON(t, r)
}

func TestPreview(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, line, want string }{
		{"a job that runs at once", `{}`, `{"occurrences":["2026-01-10T12:00:00Z"],"done":true}`},
		{"ten are listed", `{"id":null,"properties":{"startTime":"2026-02-01","recurrence":{"frequency":"day","count":11}}}`,
			`{"occurrences":["2026-02-01T00:00:00Z","2026-02-02T00:00:00Z","2026-02-03T00:00:00Z","2026-02-04T00:00:00Z","2026-02-05T00:00:00Z","2026-02-06T00:00:00Z","2026-02-07T00:00:00Z","2026-02-08T00:00:00Z","2026-02-09T00:00:00Z","2026-02-10T00:00:00Z"],"done":false}`},
		{"as many as there are", `{"id":"a<b","take":2,"properties":{"startTime":"2026-02-01","recurrence":{"frequency":"day","count":2}}}`,
			`{"id":"a<b","occurrences":["2026-02-01T00:00:00Z","2026-02-02T00:00:00Z"],"done":true}`},
		{"none", `{"id":1.50,"properties":{"recurrence":{"frequency":"day","endTime":"2026-01-01"}}}`, `{"id":1.50,"occurrences":[],"done":true}`},
		{"at another time, to the second", `{"now":"2020-02-29T23:59:59.9+01:00","take":1,"recurrence":{"frequency":"year"}}`,
			`{"occurrences":["2020-02-29T22:59:59Z"],"done":false}`},
		{"a whole job", `{"id":"/subscriptions/s","name":"c/j","properties":{"startTime":"2026-02-01","action":` + httpAction + `,"state":"disabled","status":{"nextExecutionTime":"?"}}}`,
			`{"id":"/subscriptions/s","occurrences":["2026-02-01T00:00:00Z"],"done":true}`},
		{"a whole job without an envelope", `{"name":"c/j","startTime":"2026-02-01","action":` + httpAction + `,"state":"enabled","status":{}}`,
			`{"occurrences":["2026-02-01T00:00:00Z"],"done":true}`},
		{"an action that a PUT would refuse", `{"id":1,"properties":{"action":{"type":"Htp","request":{"uri":"http://example.com/"}},"state":"on"}}`,
			`{"id":1,"error":{"code":"BadRequest","message":"The preview is not valid (2 fields are wrong): properties.action.type: \"Htp\" is not supported; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic; did you mean \"Http\"?; also properties.state",` +
				`"details":[{"code":"Unsupported","target":"properties.action.type","message":"properties.action.type: \"Htp\" is not supported; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic; did you mean \"Http\"?"},{"code":"Unsupported","target":"properties.state","message":"properties.state: \"on\" is not supported; allowed: enabled or disabled; did you mean \"enabled\"?"}]}}`},
		{"bad fields", `{"id":[],"take":1001,"now":"noon","properties":{"recurrence":{"frequency":"day","hours":[1]}}}`,
			`{"error":{"code":"BadRequest","message":"The preview is not valid (4 fields are wrong): id: a list is not valid; allowed: a string or a number; also take, now and properties.recurrence.hours",` +
				`"details":[{"code":"Invalid","target":"id","message":"id: a list is not valid; allowed: a string or a number"},{"code":"OutOfRange","target":"take","message":"take: 1001 is out of range; allowed: 1 to 1000"},{"code":"Invalid","target":"now","message":"now: \"noon\" is not valid; allowed: a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z"},{"code":"Unknown","target":"properties.recurrence.hours","message":"properties.recurrence.hours: unknown field; it belongs in recurrence.schedule"}]}}`},
		{"the id of a bad question", `{"id":7,"recurrence":{"frequency":"day"},"tke":1}`,
			`{"id":7,"error":{"code":"BadRequest","message":"The preview is not valid: tke: unknown field; allowed: startTime, action, recurrence, state, notifications, disableAfter, flexibleWindow or blackouts","details":[{"code":"Unknown","target":"tke","message":"tke: unknown field; allowed: startTime, action, recurrence, state, notifications, disableAfter, flexibleWindow or blackouts"}]}}`},
		{"properties that are no object", `{"id":7,"properties":[]}`,
			`{"id":7,"error":{"code":"BadRequest","message":"The preview is not valid: properties: a list is not valid; allowed: an object","details":[{"code":"Invalid","target":"properties","message":"properties: a list is not valid; allowed: an object"}]}}`},
		{"no JSON", `{"id":7`, `{"error":{"code":"BadRequest","message":"The body is not valid JSON at line 1, column 7: the text ends before the object does"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, preview(t, tt.line))
		})
	}
}

func TestPreviewSaysInEnglishWhenAJobRepeats(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"startTime":"2026-02-01"}`: "",
		`{"take":1,"startTime":"2026-02-02","recurrence":{"frequency":"week","schedule":{"hours":[9,17],"minutes":[0]}}}`: "every week on Monday at 09:00 and 17:00, from 2026-02-02",
	} {
		p, err := input.ParsePreview([]byte(line), now)
		require.NoError(t, err)
		require.Equal(t, want, p.Run().Text)
	}
}

func TestPreviewSaysWhatMaySurprise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, line, want string }{
		{"no start time", `{"recurrence":{"frequency":"day","schedule":{"hours":[18]}}}`,
			"The first occurrence is the creation of the job itself, because startTime is absent. Give a startTime to begin at another time."},
		{"no start time, with a cron expression", `{"recurrence":{"cron":"0 18 * * *"}}`, ""},
		{"exclusions that leave nothing", `{"startTime":"2026-02-01","recurrence":{"frequency":"day","exclusions":[{"frequency":"day"}]}}`,
			"The job would never run, because its exclusions leave out every time of the next 100 years. It would be accepted, and be completed at once."},
		{"neither start time nor recurrence", `{}`, "The job runs once, as soon as it is created, because startTime is absent."},
		{"a start time that is past, without a recurrence", `{"startTime":"2026-01-10T13:59:59+02:00"}`,
			"The job runs once, as soon as it is created, because its startTime, 2026-01-10T11:59:59Z, is past."},
		{"a start time that is now, without a recurrence", `{"startTime":"2026-01-10T12:00:00Z","now":"2026-01-10T12:00:00.9Z"}`, ""},
		{"a start time that is past, with a recurrence", `{"startTime":"2026-01-01","recurrence":{"frequency":"day"}}`, ""},
		{"placeholders that are not filled in", `{"startTime":"2026-02-01","action":{"type":"Http","request":{"uri":"http://h/","body":"{{.Job.Name}}","template":true},"errorAction":{"type":"Http","request":{"uri":"http://h/","body":"{{.Failure.Error}}"}}}}`,
			"The placeholders in action.errorAction are sent unchanged, because its template is not true."},
		{"a uri that is encoded", `{"startTime":"2026-02-01","action":{"type":"Http","request":{"uri":"http://h/a%2Fb/ä?q=100%&r=%41"},"errorAction":{"type":"Http","request":{"uri":"http://h/[x]/{{.Attempt}}","template":true}}}}`,
			"The uri of action is sent as http://h/a%2Fb/%C3%A4?q=100%25&r=%41, because a request target may not have all of its characters.\n" +
				"The uri of action.errorAction is sent as http://h/%5Bx%5D/1, because a request target may not have all of its characters."},
		{"a uri that is sent as it is written", `{"startTime":"2026-02-01","action":{"type":"Http","request":{"uri":"http://h/a%2Fb?q=%C3%A4#ä"}}}`, ""},
		{"a disabled job", `{"recurrence":{"frequency":"day"},"state":"disabled"}`, "The state is disabled: nothing runs until the job is enabled."},
		{"an end that is past", `{"startTime":"2026-02-01","recurrence":{"frequency":"day","endTime":"2026-01-10T11:59:59Z"}}`,
			"The job would never run, because its endTime, 2026-01-10T11:59:59Z, is past. It would be accepted, and be completed at once."},
		{"an end that is now", `{"recurrence":{"frequency":"day","endTime":"2026-01-10T12:00:00Z"}}`,
			"The first occurrence is the creation of the job itself, because startTime is absent. Give a startTime to begin at another time."},
		{"an end before the start", `{"startTime":"2026-02-02","recurrence":{"frequency":"day","endTime":"2026-02-01"}}`,
			"The job would never run, because its endTime, 2026-02-01T00:00:00Z, is before its startTime, 2026-02-02T00:00:00Z. It would be accepted, and be completed at once."},
		{"an end before the first occurrence", `{"startTime":"2026-02-01","recurrence":{"frequency":"day","schedule":{"hours":[18]},"endTime":"2026-02-01T17:00:00Z"}}`,
			"The job would never run, because its endTime, 2026-02-01T17:00:00Z, is before the first occurrence, 2026-02-01T18:00:00Z. It would be accepted, and be completed at once."},
		{"no end, at the end of time", `{"now":"9999-12-31T23:59:59Z","startTime":"2026-02-01","recurrence":{"frequency":"minute","interval":5}}`,
			"The job would never run, because no time is left before the end of the year 9999. It would be accepted, and be completed at once."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := input.ParsePreview([]byte(tt.line), now)
			require.NoError(t, err)
			require.Equal(t, tt.want, strings.Join(p.Run().Notes, "\n"))
		})
	}
}

func TestPreviewOfTheRecurrenceVectors(t *testing.T) {
	t.Parallel()
	type answer struct {
		ID          string
		Occurrences []string
		Done        bool
		Error       json.RawMessage
	}
	questions := linesOf(t, "../../recurrence/testdata/recurrence-input.jsonl")
	answers := linesOf(t, "../../recurrence/testdata/recurrence-expected.jsonl")
	require.NotEmpty(t, questions)
	require.Len(t, answers, len(questions))
	for i, question := range questions {
		var want, got answer
		require.NoError(t, json.Unmarshal([]byte(answers[i]), &want))
		require.NoError(t, json.Unmarshal([]byte(preview(t, question)), &got))
		require.Equal(t, want.Error != nil, got.Error != nil, "%s: %s", question, got.Error)
		want.Error, got.Error = nil, nil // the vectors do not fix the text of errors
		require.Equal(t, want, got, question)
	}
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var all []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		all = append(all, s.Text())
	}
	require.NoError(t, s.Err())
	return all
}
