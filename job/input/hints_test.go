package input_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/input"
)

func TestTheFirstMistakesOfANewcomerAreAnsweredWithWhatToSend(t *testing.T) {
	t.Parallel()
	const action = `"action":{"type":"Http","request":{"uri":"http://a.example/","method":"GET"}}`
	request := func(members string) string {
		return `{"properties":{"action":{"type":"Http","request":{"uri":"http://a.example/","method":"POST",` + members + `}}}}`
	}
	retry := func(members string) string {
		return `{"properties":{"action":{"type":"Http","request":{"uri":"http://a.example/","method":"GET"},"retryPolicy":{` + members + `}}}}`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"a cron expression", `{"properties":{` + action + `,"recurrence":"0 9 * * 1-5"}}`,
			`properties.recurrence: "0 9 * * 1-5" is not valid; allowed: an object; that cron expression is "recurrence": ` +
				`{"frequency":"week","schedule":{"minutes":[0],"hours":[9],"weekDays":["monday","tuesday","wednesday","thursday","friday"]}}`},
		{"a member cron", `{"properties":{` + action + `,"recurrence":{"frequency":"day","cron":"*/5 * * * *"}}}`,
			`properties.recurrence.cron: not allowed; the expression means "every hour at minutes 0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50 and 55", and frequency, interval and schedule say something else: leave out one of the two`},
		{"a member cronExpression one level too high", `{"properties":{` + action + `,"cronExpression":"0 9 * * *"}}`,
			`properties.cronExpression: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"a cron expression as schedule", `{"properties":{` + action + `,"recurrence":{"schedule":"0 9 * * *"}}}`,
			`properties.recurrence.schedule: "0 9 * * *" is not valid; allowed: an object; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"a cron expression as frequency", `{"properties":{` + action + `,"recurrence":{"frequency":"0 9 * * *"}}}`,
			`properties.recurrence.frequency: "0 9 * * *" is not supported; allowed: minute, hour, day, week, month or year; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"another word for a frequency", `{"properties":{` + action + `,"recurrence":{"frequency":"Daily"}}}`,
			`properties.recurrence.frequency: "Daily" is not supported; allowed: minute, hour, day, week, month or year; did you mean "day"?`},
		{"seconds for a duration", `{"properties":{` + action + `,"recurrence":{"frequency":"day","catchUpWindow":3600}}}`,
			`properties.recurrence.catchUpWindow: 3600 is not valid; allowed: a duration such as PT30S or 00:00:30, from PT0S to P60D; 3600 seconds are "PT3600S"`},
		{"hours for a duration", `{"properties":{` + action + `,"recurrence":{"frequency":"day","catchUpWindow":"1h"}}}`,
			`properties.recurrence.catchUpWindow: "1h" is not valid; allowed: a duration such as PT30S or 00:00:30, from PT0S to P60D; 1 hours are "PT1H"`},
		{"an expression for a header", request(`"headers":{"Authorization":"[concat('Bearer ', parameters('token'))]"}`),
			"properties.action.request.headers.Authorization: the value is not valid; allowed: the text itself; an expression of a template, such as [parameters('name')], is not evaluated here"},
		{"an expression for a body", request(`"body":"[parameters('body')]"`),
			"properties.action.request.body: the value is not valid; allowed: the text itself; an expression of a template, such as [parameters('name')], is not evaluated here"},
		{"words", `{"properties":{` + action + `,"recurrence":"now and then"}}`,
			`properties.recurrence: a string is not valid; allowed: an object; a recurrence is an object, such as {"frequency":"day","schedule":{"hours":[9],"minutes":[0]}}, and no cron expression`},
		{"a cron expression with an error", `{"properties":{` + action + `,"recurrence":"61 9 * * *"}}`,
			`properties.recurrence: "61 9 * * *" is not valid; that cron expression cannot be translated: minute is "61"; allowed: 0 to 59`},
		{"a member cron with an error", `{"properties":{` + action + `,"recurrence":{"cron":"61 9 * * *"}}}`,
			`properties.recurrence.cron: "61 9 * * *" is not valid; allowed: a cron expression as in docs/cron.md; minute is "61"; allowed: 0 to 59`},
		{"a cron expression with an error as frequency", `{"properties":{` + action + `,"recurrence":{"frequency":"61 9 * * *"}}}`,
			`properties.recurrence.frequency: "61 9 * * *" is not supported; that cron expression cannot be translated: minute is "61"; allowed: 0 to 59`},
		{"a member cron that is no time", `{"properties":{` + action + `,"recurrence":{"cron":"@reboot"}}}`,
			`properties.recurrence.cron: "@reboot" is not valid; allowed: a cron expression as in docs/cron.md; expression is "@reboot"; allowed: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a duration`},
		{"a recurrence in a list", `{"properties":{` + action + `,"recurrence":[{"frequency":"day"}]}}`,
			`properties.recurrence: a list is not valid; allowed: an object; write the object without the brackets, such as "recurrence": {"frequency":"day"}`},
		{"two recurrences", `{"properties":{` + action + `,"recurrence":[{"frequency":"day"},{"frequency":"hour"}]}}`,
			`properties.recurrence: a list is not valid; allowed: an object; a job has one recurrence: make a job for each of them`},
		{"a cron expression in a list", `{"properties":{` + action + `,"recurrence":["0 9 * * *"]}}`,
			`properties.recurrence: a list is not valid; allowed: an object; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"a number", `{"properties":{` + action + `,"recurrence":5}}`,
			`properties.recurrence: a number is not valid; allowed: an object; a recurrence is an object, such as {"frequency":"day","schedule":{"hours":[9],"minutes":[0]}}, and no cron expression`},
		{"an expression", `{"properties":{` + action + `,"recurrence":{"expression":"0 9 * * *"}}}`,
			`properties.recurrence.expression: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"an expression beside a frequency that says cron", `{"properties":{` + action + `,"recurrence":{"frequency":"cron","expression":"0 9 * * *"}}}`,
			`properties.recurrence.expression: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"an expression that is none", `{"properties":{` + action + `,"recurrence":{"frequency":"day","expression":"9"}}}`,
			`properties.recurrence.expression: unknown field; allowed: frequency, count, endTime, interval, schedule, timeZone, catchUpWindow, overlapPolicy, cron, rrule, also, exclusions or calendars`},
		{"a cron expression as schedule one level too high", `{"properties":{` + action + `,"schedule":"0 9 * * *"}}`,
			`properties.schedule: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"an expression in a schedule one level too high", `{"properties":{` + action + `,"schedule":{"type":"cron","expression":"0 9 * * *"}}}`,
			`properties.schedule: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"an expression in a schedule", `{"properties":{` + action + `,"recurrence":{"frequency":"day","schedule":{"expression":"0 9 * * *"}}}}`,
			`properties.recurrence.schedule.expression: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"a list as schedule", `{"properties":{` + action + `,"recurrence":{"schedule":["0 9 * * *"]}}}`,
			`properties.recurrence.schedule: a list is not valid; allowed: an object; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"a trigger", `{"properties":{` + action + `,"trigger":{"cron":"0 9 * * *"}}}`,
			`properties.trigger: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"a word for every day", `{"properties":{` + action + `,"recurrence":"@daily"}}`,
			`properties.recurrence: "@daily" is not valid; allowed: an object; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[0]}}`},
		{"a schedule of AWS", `{"properties":{` + action + `,"schedule":"cron(0 9 * * ? *)"}}`,
			`properties.schedule: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"a rate of AWS", `{"properties":{` + action + `,"schedule":"rate(5 minutes)"}}`,
			`properties.schedule: unknown field; that is "recurrence": {"frequency":"minute","interval":5}`},
		{"words", `{"properties":{` + action + `,"recurrence":"every day"}}`,
			`properties.recurrence: "every day" is not valid; allowed: an object; that is "recurrence": {"frequency":"day"}`},
		{"a rule of RFC 5545", `{"properties":{` + action + `,"recurrence":{"rule":"DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;INTERVAL=2"}}}`,
			`properties.recurrence.rule: unknown field; that rule is "startTime": "2026-01-05T09:00:00Z", "recurrence": {"frequency":"day","interval":2}`},
		{"an interval with a unit", `{"properties":{` + action + `,"recurrence":{"interval":"5m"}}}`,
			`properties.recurrence.interval: "5m" is not valid; allowed: an integer of 1 or more; that is "recurrence": {"frequency":"minute","interval":5}`},
		{"steps for hours", `{"properties":{` + action + `,"recurrence":{"frequency":"day","schedule":{"hours":"*/6"}}}}`,
			`properties.recurrence.schedule.hours: "*/6" is not valid; allowed: an integer from 0 to 23; write "hours": [0,6,12,18]`},
		{"a range of days", `{"properties":{` + action + `,"recurrence":{"frequency":"week","schedule":{"weekDays":"Mon-Wed"}}}}`,
			`properties.recurrence.schedule.weekDays: "Mon-Wed" is not supported; allowed: monday, tuesday, wednesday, thursday, friday, saturday or sunday; write "weekDays": ["monday","tuesday","wednesday"]`},
		{"days with commas", `{"properties":{` + action + `,"recurrence":{"frequency":"week","schedule":{"weekDays":["Monday, Friday"]}}}}`,
			`properties.recurrence.schedule.weekDays[0]: "Monday, Friday" is not supported; allowed: monday, tuesday, wednesday, thursday, friday, saturday or sunday; write "weekDays": ["monday","friday"]`},
		{"a time of day", `{"properties":{` + action + `,"recurrence":{"frequency":"day","at":"09:05"}}}`,
			`properties.recurrence.at: unknown field; a time of day is "recurrence": {"frequency":"day","schedule":{"hours":[9],"minutes":[5]}}`},
		{"a time of day as start", `{"properties":{` + action + `,"startTime":"08:00"}}`,
			`properties.startTime: "08:00" is not valid; allowed: a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z; a time of day is "recurrence": {"frequency":"day","schedule":{"hours":[8],"minutes":[0]}}`},
		{"an offset for a time zone", `{"properties":{` + action + `,"recurrence":{"frequency":"day","timeZone":"UTC+1"}}}`,
			`properties.recurrence.timeZone: "UTC+1" is not valid; allowed: an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time; Etc/GMT-1 is that offset all year, and a zone such as Europe/Paris follows the changes of its clock`},
		{"an offset of half an hour for a time zone", `{"properties":{` + action + `,"recurrence":{"frequency":"day","timeZone":"+05:30"}}}`,
			`properties.recurrence.timeZone: "+05:30" is not valid; allowed: an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time; a time zone such as Europe/Paris follows the changes of its clock; Etc/GMT-1 is UTC+1 all year`},
		{"a cron expression beside the properties", `{"properties":{` + action + `},"cron":"0 9 * * *"}`,
			`cron: unknown field; that cron expression is "recurrence": {"frequency":"day","schedule":{"minutes":[0],"hours":[9]}}`},
		{"several cron expressions", `{"properties":{` + action + `,"recurrence":{"cron":["0 9 * * *","5 5 * * *"]}}}`,
			`properties.recurrence.cron: a list is not valid; allowed: a string`},
		{"a blank for the T", `{"properties":{` + action + `,"startTime":"2026-12-01 09:00"}}`,
			`properties.startTime: "2026-12-01 09:00" is not valid; allowed: a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z; did you mean "2026-12-01T09:00"?`},
		{"another name", `{"properties":{` + action + `,"recurrence":{"frequency":"day","tz":"Europe/Berlin"}}}`, `properties.recurrence.tz: unknown field; did you mean "timeZone"?`},
		{"another name one level too high", `{"properties":{` + action + `,"recurrence":{"frequency":"day"},"tz":"Europe/Berlin"}}`,
			`properties.tz: unknown field; did you mean "timeZone", which belongs in recurrence?`},
		{"another name in an action", `{"properties":{"action":{"type":"Http","url":"http://a.example/","request":{"method":"GET","uri":"http://a.example/"}}}}`,
			`properties.action.url: unknown field; did you mean "uri", which belongs in action.request?`},
		{"a word for a state", `{"properties":{` + action + `,"state":"paused"}}`, `properties.state: "paused" is not supported; allowed: enabled or disabled; did you mean "disabled"?`},
		{"true for a state", `{"properties":{` + action + `,"state":true}}`, `properties.state: true is not supported; allowed: enabled or disabled; did you mean "enabled"?`},
		{"a misspelled state", `{"properties":{` + action + `,"state":"Enable"}}`, `properties.state: "Enable" is not supported; allowed: enabled or disabled; did you mean "enabled"?`},
		{"a member enabled", `{"properties":{` + action + `,"enabled":true}}`, `properties.enabled: unknown field; did you mean "state"?`},
		{"a misspelled type", `{"properties":{"action":{"type":"Htp","request":{"method":"GET","uri":"http://a.example/"}}}}`,
			`properties.action.type: "Htp" is not supported; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic; did you mean "Http"?`},
		{"headers in a list", request(`"headers":[{"name":"a","value":"b"}]`), `properties.action.request.headers: a list is not valid; allowed: an object; write the headers as members, such as {"Accept": "text/plain"}`},
		{"an expression for an address", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"[parameters('address')]"}}}}`,
			"properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL with a host; an expression of a template, such as [parameters('name')], is not evaluated here"},
		{"a number in quotes", `{"properties":{` + action + `,"recurrence":{"frequency":"day","interval":"2"}}}`,
			`properties.recurrence.interval: "2" is not valid; allowed: an integer of 1 or more; write the number without quotes: 2`},
		{"a token", request(`"authentication":{"type":"Bearer","token":"x"}`),
			`properties.action.request.authentication.type: "Bearer" is not supported; allowed: Basic, ClientCertificate, ActiveDirectoryOAuth or NotSpecified; send a token or a key in a header, such as "headers": {"Authorization": "Bearer …"}`},
		{"a misspelled frequency", `{"properties":{` + action + `,"recurrence":{"frequency":"moth"}}}`,
			`properties.recurrence.frequency: "moth" is not supported; allowed: minute, hour, day, week, month or year; did you mean "month"?`},
		{"a misspelled time zone", `{"properties":{` + action + `,"recurrence":{"frequency":"day","timeZone":"Europe/Berln"}}}`,
			`properties.recurrence.timeZone: "Europe/Berln" is not valid; allowed: ` + job.AllowedTimeZones + `; did you mean "Europe/Berlin"?`},
		{"a time zone in another case", `{"properties":{` + action + `,"recurrence":{"frequency":"day","timeZone":"europe/berlin"}}}`,
			`properties.recurrence.timeZone: "europe/berlin" is not valid; allowed: ` + job.AllowedTimeZones + `; did you mean "Europe/Berlin"?`},
		{"a misspelled time zone of Windows", `{"properties":{` + action + `,"recurrence":{"frequency":"day","timeZone":"W. Europ Standard Time"}}}`,
			`properties.recurrence.timeZone: "W. Europ Standard Time" is not valid; allowed: ` + job.AllowedTimeZones + `; did you mean "W. Europe Standard Time"?`},
		{"the beginning of a weekday", `{"properties":{` + action + `,"recurrence":{"frequency":"week","schedule":{"weekDays":["Mon"]}}}}`,
			`properties.recurrence.schedule.weekDays[0]: "Mon" is not supported; allowed: monday, tuesday, wednesday, thursday, friday, saturday or sunday; did you mean "monday"?`},
		{"a misspelled weekday of a month", `{"properties":{` + action + `,"recurrence":{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"Firday","occurrence":1}]}}}}`,
			`properties.recurrence.schedule.monthlyOccurrences[0].day: "Firday" is not supported; allowed: monday, tuesday, wednesday, thursday, friday, saturday or sunday; did you mean "friday"?`},
		{"a time zone one level too high", `{"properties":{` + action + `,"timeZone":"Europe/Stockholm"}}`, "properties.timeZone: unknown field; it belongs in recurrence"},
		{"a schedule one level too high", `{"properties":{` + action + `,"schedule":{"hours":[9]}}}`, "properties.schedule: unknown field; it belongs in recurrence"},
		{"hours one level too high", `{"properties":{` + action + `,"recurrence":{"frequency":"day","hours":[9]}}}`, "properties.recurrence.hours: unknown field; it belongs in recurrence.schedule"},
		{"a time zone beside the properties", `{"properties":{` + action + `},"timeZone":"Europe/Stockholm"}`, "timeZone: unknown field; it belongs in recurrence"},
		{"a start time in the recurrence", `{"properties":{` + action + `,"recurrence":{"frequency":"day","startTime":"2026-01-01"}}}`, "properties.recurrence.startTime: unknown field; it belongs in properties"},
		{"an address one level too high", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"http://a.example/"},"uri":"http://a.example/"}}}`, "properties.action.uri: unknown field; it belongs in action.request"},
		{"a body as an object", request(`"body":{"id":1}`), `properties.action.request.body: an object is not valid; allowed: a string; write the JSON as a text, with its quotes escaped, such as "{\"id\":1}"`},
		{"seconds", retry(`"retryInterval":30`), `properties.action.retryPolicy.retryInterval: 30 is not valid; allowed: a duration such as PT30S or 00:00:30, from PT15S to P558D; 30 seconds are "PT30S"`},
		{"addresses of mail one level too high", `{"properties":{` + action + `,"notifications":[{"on":["failed"],"target":{"type":"Email","to":["a@example.com"],"email":{"to":["a@example.com"]}}}]}}`,
			"properties.notifications[0].target.to: unknown field; it belongs in target.email"},
		{"a method one level too high", `{"properties":{` + action + `,"notifications":[{"on":["failed"],"target":{"type":"Http","method":"POST","request":{"method":"POST","uri":"http://a.example/"}}}]}}`,
			"properties.notifications[0].target.method: unknown field; it belongs in target.request"},
		{"a type of retries", retry(`"type":"fixed"`), `properties.action.retryPolicy.type: unknown field; did you mean "retryType"?`},
		{"an interval of retries", retry(`"interval":"PT30S"`), `properties.action.retryPolicy.interval: unknown field; did you mean "retryInterval"?`},
		{"a number of retries", retry(`"maxAttempts":3`), `properties.action.retryPolicy.maxAttempts: unknown field; did you mean "retryCount"?`},
		{"another name of an interval", `{"properties":{` + action + `,"recurrence":{"frequency":"day","every":2}}}`, `properties.recurrence.every: unknown field; did you mean "interval"?`},
		{"another name of the authentication", request(`"auth":{"type":"Basic","username":"u","password":"p"}`), `properties.action.request.auth: unknown field; did you mean "authentication"?`},
		{"a date of a cron expression that no year has", `{"properties":{` + action + `,"recurrence":{"cron":"0 0 30 2 *"}}}`,
			"properties.recurrence.cron: the value is not valid; allowed: a schedule that is due within 100 years; there is no 30 February"},
		{"no retries", retry(`"retryCount":0`), `properties.action.retryPolicy.retryCount: 0 is out of range; allowed: 1 to 20; for no retries send "retryType": "none"`},
		{"a day that February lacks", `{"properties":{` + action + `,"startTime":"2026-02-30T08:00:00Z"}}`,
			`properties.startTime: "2026-02-30T08:00:00Z" is not valid; allowed: a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z; February 2026 has 28 days`},
		{"a date that no year has", `{"properties":{` + action + `,"recurrence":{"frequency":"month","schedule":{"months":[2],"monthDays":[30]}}}}`,
			"properties.recurrence.schedule: the value is not valid; allowed: a schedule that is due within 100 years; there is no 30 February"},
		{"a date of the month in which it starts", `{"properties":{` + action + `,"startTime":"2027-02-01","recurrence":{"frequency":"month","interval":12,"schedule":{"monthDays":[30]}}}}`,
			"properties.recurrence.schedule: the value is not valid; allowed: a schedule that is due within 100 years; there is no 30 February"},
		{"a day from the end", `{"properties":{` + action + `,"recurrence":{"frequency":"month","schedule":{"months":[2],"monthDays":[-30]}}}}`,
			"properties.recurrence.schedule: the value is not valid; allowed: a schedule that is due within 100 years; there is no day -30 of February, which has at most 29"},
		{"two such dates", `{"properties":{` + action + `,"recurrence":{"frequency":"month","schedule":{"months":[4,6],"monthDays":[31]}}}}`,
			"properties.recurrence.schedule: the value is not valid; allowed: a schedule that is due within 100 years; there is no 31 April, and no 31 June"},
		{"days of the week with days", `{"properties":{` + action + `,"recurrence":{"frequency":"day","schedule":{"weekDays":["monday"]}}}}`,
			`properties.recurrence.schedule.weekDays: not allowed; allowed: with frequency week; "frequency": "week" runs on each of these days`},
		{"a placeholder", request(`"body":"{{ .Job.Name }}"`),
			`properties.action.request: the value is not valid; allowed: "template": true to have placeholders such as {{.Job.Name}} filled in, or "template": false to send them as they are`},
		{"a misspelled placeholder", request(`"body":"{{.Job.Nam}}"`),
			`properties.action.request: the value is not valid; allowed: "template": true to have placeholders such as {{.Job.Name}} filled in, or "template": false to send them as they are`},
		{"an expression with blanks for a password", request(`"authentication":{"type":"Basic","username":"u","password":"[ parameters('pw') ]"}`),
			"properties.action.request.authentication.password: the value is not valid; allowed: the secret itself; an expression of a template, such as [parameters('name')], is not evaluated here"},
		{"a variable of a shell for a password", request(`"authentication":{"type":"Basic","username":"u","password":"${API_PASSWORD}"}`),
			"properties.action.request.authentication.password: the value is not valid; allowed: the secret itself; a placeholder of another tool, such as ${NAME}, is not filled in here"},
		{"a variable of a pipeline for a password", request(`"authentication":{"type":"Basic","username":"u","password":"$(api-password)"}`),
			"properties.action.request.authentication.password: the value is not valid; allowed: the secret itself; a placeholder of another tool, such as ${NAME}, is not filled in here"},
		{"a secret of a workflow for a password", request(`"authentication":{"type":"Basic","username":"u","password":"${{ secrets.PASSWORD }}"}`),
			"properties.action.request.authentication.password: the value is not valid; allowed: the secret itself; a placeholder of another tool, such as ${NAME}, is not filled in here"},
		{"an expression of Logic Apps for a password", request(`"authentication":{"type":"Basic","username":"u","password":"@parameters('pw')"}`),
			"properties.action.request.authentication.password: the value is not valid; allowed: the secret itself; a placeholder of another tool, such as ${NAME}, is not filled in here"},
		{"an expression for a user name", request(`"authentication":{"type":"Basic","username":"[ parameters('user') ]","password":"p"}`),
			"properties.action.request.authentication.username: the value is not valid; allowed: the text itself; an expression of a template, such as [parameters('name')], is not evaluated here"},
		{"an expression for a password", request(`"authentication":{"type":"Basic","username":"u","password":"[parameters('pw')]"}`),
			"properties.action.request.authentication.password: the value is not valid; allowed: the secret itself; an expression of a template, such as [parameters('name')], is not evaluated here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := input.ParseDefinition([]byte(tt.body), input.ParseOptions{Now: now})
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

func TestAPlaceholderMayBeSentAsItIsIfTheWriterSaysSo(t *testing.T) {
	t.Parallel()
	body := func(members string) []byte {
		return []byte(`{"properties":{"action":{"type":"Http","request":{"uri":"http://a.example/","method":"POST","body":"{{.Job.Name}} {{.Values.x}}"` + members + `}}}}`)
	}
	d, err := input.ParseDefinition(body(`,"template":false`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.NoError(t, input.CheckDefinition(&d, now, now))
	_, err = input.ParseDefinition(body(""), input.ParseOptions{Now: now, Stored: &d})
	require.NoError(t, err, "clients send back what they read")
	_, err = input.MergeDefinition(d, []byte(`{"properties":{"state":"disabled"}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
}

func TestSavedAnswersMoveIn(t *testing.T) {
	t.Parallel()
	const own = "/subscriptions/0/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections/c/jobs/j"
	const saved = "/subscriptions/5/resourceGroups/G/providers/microsoft.scheduler/jobCollections/C/jobs/J"
	body := func(id, state string) []byte {
		return []byte(`{"id":"` + id + `","properties":{"action":{"type":"Http","request":{"uri":"http://a.example/","method":"GET"}},"state":"` + state + `","status":{"executionCount":3}}}`)
	}
	for _, state := range []string{"completed", "Faulted"} {
		d, err := input.ParseDefinition(body(saved, state), input.ParseOptions{Now: now, ID: own, Short: true})
		require.NoError(t, err)
		require.Equal(t, job.StateDisabled, d.State, "what had ended does not run again")
		d.State = job.StateCompleted
		require.ErrorContains(t, input.CheckDefinition(&d, now, now), `state: "completed" is not supported; allowed: enabled or disabled`)
	}
	_, err := input.ParseDefinition(body(saved, "enabled"), input.ParseOptions{Now: now, ID: own})
	require.ErrorContains(t, err, "the id of this job")
	_, err = input.ParseDefinition(body(saved+"x", "enabled"), input.ParseOptions{Now: now, ID: own, Short: true})
	require.ErrorContains(t, err, "the id of this job")
}

func TestNumbersMayBeQuotedAndOffsetsShort(t *testing.T) {
	t.Parallel()
	d, err := input.ParseDefinition([]byte(`{"properties":{"startTime":"2026-11-01t08:00:00+0100","action":{"type":"Http","request":{"uri":"http://a.example/","method":"GET"}},`+
		`"recurrence":{"frequency":"Week","schedule":{"hours":["11","12"],"minutes":["0"],"weekDays":["Monday"]}}}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Equal(t, []int{11, 12}, d.Recurrence.Schedule.Hours)
	require.True(t, d.StartTime.Equal(time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC)))
	for _, sent := range []string{"2026-11-01T07:00:00z", "2026-11-01T08:00:00+01", "2026-11-01T03:30:00-0330"} {
		at, err := iso8601.ParseTime(sent, time.UTC)
		require.NoError(t, err, sent)
		require.True(t, at.Equal(time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC)), sent)
	}
}

func TestAMessageMayLiveForEver(t *testing.T) {
	t.Parallel()
	for _, spelled := range []string{"10675199.02:48:05.4775807", "P10675199DT2H48M5.4775807S"} {
		_, err := input.ParseDefinition([]byte(`{"properties":{"action":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n",`+
			`"authentication":{"sasKeyName":"k","sasKey":"s","type":"sharedAccessKey"},"message":"m","brokeredMessageProperties":{"timeToLive":"`+spelled+`"}}}}}`), input.ParseOptions{Now: now})
		require.NoError(t, err)
	}
}

func TestABodyThatLooksLikeAnExpressionIsSent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"[1,2]", "[]", "[a]", "[sum(1)]", "[parameters('x')] and more"} {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		_, err = input.ParseDefinition([]byte(`{"properties":{"action":{"type":"Http","request":{"uri":"http://a.example/","method":"POST","body":`+string(text)+`}}}}`), input.ParseOptions{Now: now})
		require.NoError(t, err, body)
	}
}

func TestNumbersOfSchedulesMayBeStrings(t *testing.T) {
	t.Parallel()
	d, err := input.ParseDefinition([]byte(`{"properties":{"action":{"type":"Http","request":{"uri":"http://a.example/","method":"GET"}},
		"recurrence":{"frequency":"month","interval":2,"count":5,"schedule":{"hours":["11"],"minutes":["0",30],"monthlyOccurrences":[{"day":"Friday","occurrence":"-1"}]}}}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	r := d.Recurrence
	require.Equal(t, []int{2, 5, 11, 0, 30, -1}, []int{r.Interval, r.Count, r.Schedule.Hours[0], r.Schedule.Minutes[0], r.Schedule.Minutes[1], r.Schedule.MonthlyOccurrences[0].Occurrence})
}
