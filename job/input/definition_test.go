package input_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
)

func TestParseDefinitionStoresWhatTheServiceShowed(t *testing.T) {
	t.Parallel()
	const action = `"action":` + httpAction
	for _, tt := range []struct{ name, body, want string }{
		{
			"the least that a job needs",
			`{"properties":{"action":{"type":"http","request":{"uri":"http://example.com"}}}}`,
			`{"action":{"request":{"uri":"http://example.com","method":"GET"},"type":"http"},"state":"enabled"}`,
		},
		{
			"no envelope, and what stands beside it",
			`{"id":"/a","name":"n","type":"t","location":"l","tags":{},"action":` + httpAction + `,"state":"DISABLED","status":{"executionCount":3}}`,
			`{"action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},"state":"disabled"}`,
		},
		{
			"what an answer holds is sent back",
			`{"id":"/a","etag":5,"properties":{` + action + `,"state":"enabled","status":{"executionCount":3}}}`,
			`{"action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},"state":"enabled"}`,
		},
		{
			"names in any case, and nulls",
			`{"Properties":{"ACTION":` + httpAction + `,"StartTime":null,"bogus":null,"recurrence":{"Frequency":"HOUR","Interval":2,"count":null}}}`,
			`{"action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},"recurrence":{"frequency":"hour","interval":2},"state":"enabled"}`,
		},
		{
			"bare values and lists with gaps",
			`{"properties":{` + action + `,"recurrence":{"frequency":"Month","schedule":{"hours":[5,null,17],"minutes":0,"monthlyOccurrences":{"day":"FRIDAY","Occurrence":-1},"monthDays":[],"months":[1]}}}}`,
			`{"action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},"recurrence":{"frequency":"month","interval":1,"schedule":{"minutes":[0],"hours":[5,17],"monthlyOccurrences":[{"day":"friday","occurrence":-1}],"months":[1]}},"state":"enabled"}`,
		},
		{
			"an empty schedule is none",
			`{"properties":{` + action + `,"recurrence":{"frequency":"week","schedule":{"weekDays":[],"hours":null}}}}`,
			`{"action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},"recurrence":{"frequency":"week","interval":1},"state":"enabled"}`,
		},
		{
			"times with an offset, without one in a zone, and as a date",
			`{"properties":{` + action + `,"startTime":"2026-07-01T08:00:00.5","recurrence":{"frequency":"day","endTime":"2026-08-01","timeZone":"Europe/Stockholm","catchUpWindow":"PT1H","overlapPolicy":"allowall"}}}`,
			`{"startTime":"2026-07-01T06:00:00.5Z","action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},"recurrence":{"frequency":"day","endTime":"2026-07-31T22:00:00Z","interval":1,"timeZone":"Europe/Stockholm","catchUpWindow":"PT1H","overlapPolicy":"AllowAll"},"state":"enabled","local":{"start":"2026-07-01T08:00:00","end":"2026-08-01T00:00:00"}}`,
		},
		{
			"a request with everything",
			withAction(`{"type":"HTTPS","request":{"uri":"https://example.com/a%20b?c=d&e","method":"get","headers":{"ContEnt-TyPe":"text/plain","x-a":"2"},"body":"<ü>","retryPolicy":{"x":1},"authentication":{"type":"NotSpecified"}},"retryPolicy":{"retryType":"None","retryInterval":"PT30S"}}`),
			`{"action":{"request":{"uri":"https://example.com/a%20b?c=d&e","method":"get","headers":{"ContEnt-TyPe":"text/plain","x-a":"2"},"body":"<ü>"},"type":"HTTPS","retryPolicy":{"retryType":"none","retryInterval":"PT30S"}},"state":"enabled"}`,
		},
		{
			"empty headers are shown as they were sent",
			withRequest(`{"uri":"http://example.com/","method":"GET","headers":{}}`),
			`{"action":{"request":{"uri":"http://example.com/","method":"GET","headers":{}},"type":"Http"},"state":"enabled"}`,
		},
		{
			"type Http with an https address",
			withRequest(`{"uri":"https://example.com/","method":"Options"}`),
			`{"action":{"request":{"uri":"https://example.com/","method":"Options"},"type":"Http"},"state":"enabled"}`,
		},
		{
			"a queue message with everything",
			withAction(`{"type":"storagequeue","queueMessage":{"storageAccount":"Acc","queueName":"Orders","sasToken":"?sig=s","message":"<ü>\r\n","messageFormat":"RAW"}}`),
			`{"action":{"queueMessage":{"storageAccount":"Acc","queueName":"Orders","sasToken":"?sig=s","message":"<ü>\r\n","messageFormat":"raw"},"type":"storagequeue"},"state":"enabled"}`,
		},
		{
			"a queue message without a format",
			withAction(`{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"orders","sasToken":"s","messageFormat":null}}`),
			`{"action":{"queueMessage":{"storageAccount":"acc","queueName":"orders","sasToken":"s","message":""},"type":"StorageQueue"},"state":"enabled"}`,
		},
		{
			"templates, and those that are turned off",
			withAction(`{"type":"Http","request":{"uri":"http://h/{{if .Attempt}}{{.Job.Name}}{{end}}","headers":{"X":"{{.Due}}"},"body":"{{.Attempt}}","TEMPLATE":true},"errorAction":{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"orders","sasToken":"s","message":"{{.Failure.Code}}","template":false}}}`),
			`{"action":{"request":{"uri":"http://h/{{if .Attempt}}{{.Job.Name}}{{end}}","method":"GET","headers":{"X":"{{.Due}}"},"body":"{{.Attempt}}","template":true},"type":"Http","errorAction":{"queueMessage":{"storageAccount":"acc","queueName":"orders","sasToken":"s","message":"{{.Failure.Code}}"},"type":"StorageQueue"}},"state":"enabled"}`,
		},
		{
			"a template in the message of an error action",
			withAction(`{"type":"Http","request":{"uri":"http://h"},"errorAction":{"type":"ServiceBusTopic","serviceBusTopicMessage":{"topicPath":"t","namespace":"ns","authentication":{"type":"notSpecified"},"message":"{{.Failure.Message}}","customMessageProperties":{"a":"{{.Failure.Status}}"},"template":true}}}`),
			`{"action":{"request":{"uri":"http://h","method":"GET"},"type":"Http","errorAction":{"serviceBusTopicMessage":{"topicPath":"t","namespace":"ns","authentication":{"type":"notSpecified"},"message":"{{.Failure.Message}}","template":true,"customMessageProperties":{"a":"{{.Failure.Status}}"}},"type":"ServiceBusTopic"}},"state":"enabled"}`,
		},
		{
			"a topic message with everything",
			withAction(`{"type":"servicebustopic","serviceBusTopicMessage":{"topicPath":"a/b","namespace":"ns","transportType":"AMQP","authentication":{"type":"notspecified"},"message":"m","brokeredMessageProperties":{"forcePersistence":false,"timeToLive":"PT5M","scheduledEnqueueTimeUtc":"2026-02-01","messageId":"ID"},"customMessageProperties":{"B":"1","a":"2"}}}`),
			`{"action":{"serviceBusTopicMessage":{"topicPath":"a/b","namespace":"ns","transportType":"amqp","authentication":{"type":"notSpecified"},"message":"m","brokeredMessageProperties":{"forcePersistence":false,"messageId":"ID","scheduledEnqueueTimeUtc":"2026-02-01T00:00:00Z","timeToLive":"PT5M"},"customMessageProperties":{"B":"1","a":"2"}},"type":"servicebustopic"},"state":"enabled"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, compactJSON(t, mustParse(t, tt.body)))
			require.Equal(t, tt.want, compactJSON(t, mustParse(t, "\ufeff"+tt.body)), "with a byte order mark")
		})
	}
}

func TestParseDefinitionReportsBadFields(t *testing.T) {
	t.Parallel()
	const days = "monday, tuesday, wednesday, thursday, friday, saturday or sunday"
	for _, tt := range []struct{ name, body, want string }{
		{"no action", `{"properties":{}}`, "properties.action: required; allowed: an object"},
		{"an empty body", `{}`, "action: required; allowed: an object"},
		{"properties of the wrong type", `{"properties":[]}`, "properties: a list is not valid; allowed: an object"},
		{"an action of the wrong type", `{"properties":{"action":"GET"}}`, "properties.action: a string is not valid; allowed: an object"},
		{
			"an unknown state", `{"properties":{"action":` + httpAction + `,"state":"done"}}`,
			`properties.state: "done" is not supported; allowed: enabled or disabled`,
		},
		{
			"an unknown property", `{"properties":{"action":` + httpAction + `,"recurence":{"frequency":"day"}}}`,
			"properties.recurence: unknown field; did you mean \"recurrence\"?",
		},
		{
			"an unknown property without an envelope", `{"action":` + httpAction + `,"starttimes":1}`,
			"starttimes: unknown field; did you mean \"startTime\"?",
		},
		{
			"a property beside the envelope", `{"properties":{"action":` + httpAction + `},"recurrence":{"frequency":"day"}}`,
			"recurrence: not allowed; allowed: inside properties",
		},
		{
			"unknown fields of a recurrence",
			withRecurrence(`{"frequency":"day","intervall":2,"cron":"0 9 * * *"}`),
			lines("properties.recurrence.intervall: unknown field; did you mean \"interval\"?",
				`properties.recurrence.cron: not allowed; the expression means "every day at 09:00", and frequency, interval and schedule say something else: leave out one of the two`),
		},
		{
			"unknown fields of a schedule, and what is out of range",
			withRecurrence(`{"frequency":"month","schedule":{"minute":[30],"hours":["x",24,null,25],"monthlyOccurrences":[{"day":"friday","occurence":1},{"occurrence":1},{"day":"funday"},{"day":"monday","occurrence":6},7]}}`),
			lines(`properties.recurrence.schedule.hours[0]: "x" is not valid; allowed: an integer from 0 to 23`,
				"properties.recurrence.schedule.hours[1]: 24 is out of range; allowed: 0 to 23",
				"properties.recurrence.schedule.hours[3]: 25 is out of range; allowed: 0 to 23",
				"properties.recurrence.schedule.monthlyOccurrences[0].occurence: unknown field; did you mean \"occurrence\"?",
				"properties.recurrence.schedule.monthlyOccurrences[1].day: required; allowed: "+days,
				`properties.recurrence.schedule.monthlyOccurrences[2].day: "funday" is not supported; allowed: `+days+`; did you mean "sunday"?`,
				"properties.recurrence.schedule.monthlyOccurrences[3].occurrence: 6 is out of range; allowed: 1 to 5 or -5 to -1",
				"properties.recurrence.schedule.monthlyOccurrences[4]: a number is not valid; allowed: an object",
				"properties.recurrence.schedule.minute: unknown field; did you mean \"minutes\"?"),
		},
		{
			"a bare value out of range",
			withRecurrence(`{"frequency":"day","schedule":{"minutes":60}}`),
			"properties.recurrence.schedule.minutes: 60 is out of range; allowed: 0 to 59",
		},
		{
			"integers that are none",
			withRecurrence(`{"frequency":"day","interval":2.0,"count":"1","schedule":{"hours":[1e1,99999999999999999999]}}`),
			lines(`properties.recurrence.count: "1" is not valid; allowed: an integer from 1 to 2147483647; write the number without quotes: 1`,
				"properties.recurrence.interval: 2.0 is not valid; allowed: an integer of 1 or more",
				"properties.recurrence.schedule.hours[0]: 1e1 is not valid; allowed: an integer from 0 to 23",
				"properties.recurrence.schedule.hours[1]: 99999999999999999999 is out of range; allowed: 0 to 23"),
		},
		{
			"integers out of range",
			withRecurrence(`{"frequency":"month","interval":19,"count":0}`),
			lines("properties.recurrence.count: 0 is out of range; allowed: 1 to 2147483647",
				"properties.recurrence.interval: 19 is out of range; allowed: 1 to 18"),
		},
		{
			"bad fields everywhere are reported at once",
			`{"properties":{"startTime":"tomorrow","action":{"type":"Http","request":{"uri":"x"},"retryPolicy":{"retryCount":21}},"recurrence":{"schedule":{"hours":[24]},"timeZone":"Mars/Phobos"},"state":"on"}}`,
			lines(`properties.startTime: "tomorrow" is not valid; allowed: a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z`,
				"properties.action.retryPolicy.retryCount: 21 is out of range; allowed: 1 to 20",
				"properties.recurrence.frequency: required; allowed: minute, hour, day, week, month or year",
				"properties.recurrence.schedule.hours[0]: 24 is out of range; allowed: 0 to 23",
				`properties.recurrence.timeZone: "Mars/Phobos" is not valid; allowed: an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time`,
				`properties.state: "on" is not supported; allowed: enabled or disabled; did you mean "enabled"?`,
				"properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL with a host"),
		},
		{
			"what the frequency does not take",
			withRecurrence(`{"frequency":"Day","schedule":{"weekDays":["monday"]}}`),
			`properties.recurrence.schedule.weekDays: not allowed; allowed: with frequency week; "frequency": "week" runs on each of these days`,
		},
		{
			"a rule that is never due",
			withRecurrence(`{"frequency":"month","schedule":{"monthDays":[31],"months":[2]}}`),
			"properties.recurrence.schedule: the value is not valid; allowed: a schedule that is due within 100 years; there is no 31 February",
		},
		{
			"a start too far ahead",
			`{"startTime":"2027-07-10T12:00:01Z","action":` + httpAction + `}`,
			`startTime: 2027-07-10T12:00:01Z is out of range; allowed: at most 18 months from now, 2027-07-10T12:00:00Z`,
		},
		{
			"empty texts",
			withRecurrence(`{"frequency":"","endTime":"","timeZone":""}`),
			lines(`properties.recurrence.frequency: "" is not supported; allowed: minute, hour, day, week, month or year`,
				`properties.recurrence.endTime: "" is not valid; allowed: a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z`,
				`properties.recurrence.timeZone: "" is not valid; allowed: an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time`),
		},
		{
			"the extensions",
			withRecurrence(`{"frequency":"day","catchUpWindow":"61.00:00:00","overlapPolicy":"queue"}`),
			lines(`properties.recurrence.catchUpWindow: "61.00:00:00" is not valid; allowed: a duration such as PT30S or 00:00:30, from PT0S to P60D`,
				`properties.recurrence.overlapPolicy: "queue" is not supported; allowed: BufferOne, Skip or AllowAll`),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tt.body)
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

func TestParseDefinitionReportsBadActions(t *testing.T) {
	t.Parallel()
	const methods = "GET, PUT, POST, PATCH, DELETE, HEAD or OPTIONS"
	const authTypes = "Basic, ClientCertificate, ActiveDirectoryOAuth or NotSpecified"
	const names = ".Job.Name, .Job.Collection, .Execution.ID, .Due, .Attempt and .LastSuccess, and in an errorAction .Failure.Message and others"
	queue := func(members string) string {
		return withAction(`{"type":"StorageQueue","queueMessage":{` + members + `}}`)
	}
	auth := func(members string) string {
		return withRequest(`{"uri":"http://example.com/","authentication":{` + members + `}}`)
	}
	const ascii = "allowed: a value in ASCII, since HTTP has no encoding for other characters; percent-encode them, or send them in the body"
	for _, tt := range []struct{ name, body, want string }{
		{
			"no type", withAction(`{"request":{"uri":"http://example.com/"}}`),
			"properties.action.type: required; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic",
		},
		{
			"an unknown type", withAction(`{"type":"Smtp"}`),
			`properties.action.type: "Smtp" is not supported; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic`,
		},
		{
			"the parameters of another type", withAction(`{"type":"http","queueMessage":{"storageAccount":"a","queueName":"abc","sasToken":"s"}}`),
			lines("properties.action.request: required; allowed: an object; an action of type Http has one",
				"properties.action.queueMessage: not allowed; an action of type Http has a request"),
		},
		{
			"an error action of an error action", withAction(`{"type":"Http","request":{"uri":"http://example.com/"},"errorAction":{"type":"Http","request":{"uri":"http://example.com/"},"errorAction":{}}}`),
			"properties.action.errorAction.errorAction: not allowed; an error action has no error action of its own",
		},
		{
			"unknown fields",
			withAction(`{"type":"Http","retry":{},"request":{"url":"http://example.com/","uri":"http://example.com/"},"errorAction":{"typ":"Http"}}`),
			lines("properties.action.request.url: unknown field; did you mean \"uri\"?",
				"properties.action.errorAction.type: required; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic",
				"properties.action.errorAction.typ: unknown field; did you mean \"type\"?",
				"properties.action.retry: unknown field; allowed: request, queueMessage, serviceBusQueueMessage, serviceBusTopicMessage, type, retryPolicy or errorAction"),
		},
		{"a user with a colon", auth(`"type":"Basic","username":"a:b","password":"p"`), "properties.action.request.authentication.username: the value is not valid; allowed: a user name without a colon: a receiver would read the rest as the beginning of the password"},
		{"a user with a line break", auth(`"type":"Basic","username":"a\n","password":"p"`), "properties.action.request.authentication.username: the value is not valid; allowed: a user name without control characters"},
		{"a password with a control character", auth(`"type":"Basic","username":"a","password":"p\u007f"`), "properties.action.request.authentication.password: the value is not valid; allowed: a password without control characters"},
		{"a password that is both empty and not", auth(`"type":"Basic","username":"a","password":"p","emptyPassword":true`), "properties.action.request.authentication.emptyPassword: not allowed; there is a password beside it: leave one of them out"},
		{"an empty secret of a client", auth(`"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c","secret":""`), "properties.action.request.authentication.secret: required; allowed: the client's secret"},
		{"a user with a colon in the address", withRequest(`{"uri":"http://a%3Ab:p@example.com/"}`), `properties.action.request.uri: "http://example.com/" is not valid; allowed: a user without a colon, and a password, both without control characters, in front of the host`},
		{"a password with a line break in the address", withRequest(`{"uri":"http://a:p%0A@example.com/"}`), `properties.action.request.uri: "http://example.com/" is not valid; allowed: a user without a colon, and a password, both without control characters, in front of the host`},
		{"no address", withRequest(`{"method":"GET"}`), "properties.action.request.uri: required; allowed: an absolute http or https URL"},
		{"an address without a host", withRequest(`{"uri":"http:///path"}`), "properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL with a host"},
		{"a port that nothing can listen at", withRequest(`{"uri":"http://h:0/"}`), `properties.action.request.uri: "http://h:0/" is not valid; allowed: an absolute http or https URL with a host, whose port is 1 to 65535`},
		{"a port that is no number", withRequest(`{"uri":"http://h:8o/"}`), `properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL with a host, whose port is 1 to 65535`},
		{"a user outside ASCII", withRequest(`{"uri":"http://ü:p@h/"}`), `properties.action.request.uri: the value is not valid; allowed: a user and a password in front of the host whose characters outside ASCII, and those such as / and |, are percent-encoded`},
		{"a port of several zeros", withRequest(`{"uri":"http://[::1]:00/"}`), `properties.action.request.uri: "http://[::1]:00/" is not valid; allowed: an absolute http or https URL with a host, whose port is 1 to 65535`},
		{"a header outside ASCII", withRequest(`{"uri":"http://h/","headers":{"X-Ort":"Köln"}}`), "properties.action.request.headers.X-Ort: the value is not valid; " + ascii},
		{"a header outside ASCII in a template", withRequest(`{"uri":"http://h/","headers":{"X-Ort":"{{if .Due}}Köln{{end}}"},"template":true}`), "properties.action.request.headers.X-Ort: the value is not valid; " + ascii},
		{"a header with a control character outside ASCII", withRequest(`{"uri":"http://h/","headers":{"X":"a\u0085b"}}`), "properties.action.request.headers.X: the value is not valid; " + ascii},
		{"a percent sign in the path", withRequest(`{"uri":"http://h/100%/?sig=s"}`), `properties.action.request.uri: the value is not valid; allowed: %25 for a percent sign in the path, and escapes such as %2F`},
		{"a percent sign before a placeholder", withRequest(`{"uri":"http://h/?q=%2{{.Attempt}}","template":true}`), `properties.action.request.uri: the value is not valid; allowed: placeholders in the path and the query only, without a % in them`},
		{"a port that is none", withRequest(`{"uri":"http://h:65536/"}`), `properties.action.request.uri: "http://h:65536/" is not valid; allowed: an absolute http or https URL with a host, whose port is 1 to 65535`},
		{"another scheme", withRequest(`{"uri":"ftp://example.com/"}`), "properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL with a host"},
		{"a blank in the address", withRequest(`{"uri":"http://example.com/a b?sig=s"}`), `properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL in which blanks and control characters are percent-encoded, such as %20`},
		{"a long address", withRequest(`{"uri":"http://example.com/?` + strings.Repeat("a", 2029) + `"}`), `properties.action.request.uri: too long; allowed: at most 2048 bytes`},
		{"an http address where https is meant", withAction(`{"type":"https","request":{"uri":"http://example.com/"}}`), `properties.action.request.uri: "http://example.com/" is not valid; allowed: an https URL, as the action is of type Https`},
		{"a method that is none", withRequest(`{"uri":"http://example.com/","method":"GET /"}`), `properties.action.request.method: "GET /" is not supported; allowed: ` + methods + `; did you mean "GET"?`},
		{"a method that is misspelt", withRequest(`{"uri":"http://example.com/","method":"GETT"}`), `properties.action.request.method: "GETT" is not supported; allowed: ` + methods + `; did you mean "GET"?`},
		{"a method for proxies", withRequest(`{"uri":"http://example.com/","method":"CONNECT"}`), `properties.action.request.method: "CONNECT" is not supported; allowed: ` + methods},
		{"a method that sends credentials back", withRequest(`{"uri":"http://example.com/","method":"trace"}`), `properties.action.request.method: "trace" is not supported; allowed: ` + methods},
		{"the preface of HTTP/2", withRequest(`{"uri":"http://example.com/","method":"PRI"}`), `properties.action.request.method: "PRI" is not supported; allowed: ` + methods},
		{"a long body", withRequest(`{"uri":"http://example.com/","body":"` + strings.Repeat("ü", 8193) + `"}`), "properties.action.request.body: too long; allowed: at most 8192 characters"},
		{"a body that is no string", withRequest(`{"uri":"http://example.com/","body":{"a":1}}`), `properties.action.request.body: an object is not valid; allowed: a string; write the JSON as a text, with its quotes escaped, such as "{\"id\":1}"`},
		{
			"templates that are none",
			withAction(`{"type":"Http","request":{"uri":"http://h/{{.Nmae}}","headers":{"X":"a\n{{.Job}}","{{.Job.Name}}":"a"},"body":"{{.Failure.Message}}","template":true},"errorAction":{"type":"Http","request":{"uri":"http://h/","body":"{{.Failure.Code}}","template":true}}}`),
			lines("properties.action.request.uri: \".Nmae\" is not valid; allowed: "+names+"; see line 1, column 10",
				"properties.action.request.body: \".Failure.Message\" is not valid; allowed: "+names+"; see line 1, column 1",
				"properties.action.request.headers.X: \".Job\" is not valid; allowed: "+names+"; see line 2, column 1",
				"properties.action.request.headers.X: the value is not valid; allowed: a value without line breaks and control characters",
				"properties.action.request.headers.{{.Job.Name}}: the value is not valid; allowed: the name of an HTTP header: letters, digits and hyphens",
				`properties.action.errorAction.request.body: ".Failure.Code" is not valid; allowed: .Job.Name, .Job.Collection, .Execution.ID, .Due, .Attempt, .LastSuccess, .Failure.Message, .Failure.Error, .Failure.Attempts and .Failure.Status; see line 1, column 1`),
		},
		{"a template that is no boolean", withRequest(`{"uri":"http://h/","template":"yes"}`), `properties.action.request.template: "yes" is not valid; allowed: true or false`},
		{"a template in the host", withRequest(`{"uri":"http://{{.Job.Name}}.example.com/","template":true}`), "properties.action.request.uri: the value is not valid; allowed: placeholders in the path and the query only, without a % in them"},
		{"a template for the whole address", withRequest(`{"uri":"{{.Job.Name}}","template":true}`), "properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL with a host"},
		{"a template between scheme and host", withRequest(`{"uri":"http:{{.Job.Name}}//h/","template":true}`), "properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL with a host"},
		{"a template in the Host header", withRequest(`{"uri":"http://h/","headers":{"Host":"{{.Job.Name}}"},"template":true}`), "properties.action.request.headers.Host: the value is not valid; allowed: a host name such as www.example.com, with or without a port, but neither an address nor localhost"},
		{"a blank beside a template in the address", withRequest(`{"uri":"http://h/a b/{{if .Due}}c{{end}}","template":true}`), `properties.action.request.uri: the value is not valid; allowed: an absolute http or https URL in which blanks and control characters are percent-encoded, such as %20`},
		{"a long address with a template", withRequest(`{"uri":"http://example.com/{{/*` + strings.Repeat("a", 2029) + `*/}}","template":true}`), `properties.action.request.uri: too long; allowed: at most 2048 bytes`},
		{
			"headers that cannot be sent",
			withRequest(`{"uri":"http://example.com/","headers":{"a b":"1","content-length":"5","X":"a\r\nb","Y":1}}`),
			lines("properties.action.request.headers.Y: a number is not valid; allowed: a string",
				"properties.action.request.headers.a b: the value is not valid; allowed: the name of an HTTP header: letters, digits and hyphens",
				"properties.action.request.headers.content-length: not allowed; this header is set for each connection as it needs it",
				"properties.action.request.headers.X: the value is not valid; allowed: a value without line breaks and control characters"),
		},
		{"large headers", withRequest(`{"uri":"http://example.com/","headers":{"a":"` + strings.Repeat("b", 4096) + `"}}`), "properties.action.request.headers: too long; allowed: names and values of at most 4096 bytes in all, not 4097"},
		{"no authentication type", auth(`"username":"u"`), "properties.action.request.authentication.type: required; allowed: " + authTypes},
		{
			"authentication without what its type needs", auth(`"type":"basic","pfx":"x"`),
			lines("properties.action.request.authentication.username: required",
				"properties.action.request.authentication.pfx: unknown field; allowed: type, password, emptyPassword or username",
				"properties.action.request.authentication.password: required; allowed: a password (\"\" is an empty one)"),
		},
		{
			"a client without what it needs", auth(`"type":"activedirectoryoauth","tenant":"t"`),
			lines("properties.action.request.authentication.audience: required",
				"properties.action.request.authentication.clientId: required",
				"properties.action.request.authentication.secret: required; allowed: the client's secret"),
		},
		{"a certificate that is none", auth(`"type":"ClientCertificate","pfx":"not base64"`), "properties.action.request.authentication.pfx: the value is not valid; allowed: a PFX file in base64"},
		{
			"a queue message without anything", queue(``),
			lines("properties.action.queueMessage.storageAccount: required; allowed: the name of a storage account: at most 63 letters, digits and hyphens",
				"properties.action.queueMessage.queueName: required; allowed: the name of a storage queue: 3 to 63 letters, digits and hyphens, not a hyphen first",
				"properties.action.queueMessage.sasToken: required; allowed: a shared access signature that may add messages"),
		},
		{
			"names that are none, which are not shown: people paste connection strings", queue(`"storageAccount":"a.evil.example/","queueName":"-q","sasToken":"s"`),
			lines(`properties.action.queueMessage.storageAccount: the value is not valid; allowed: the name of a storage account: at most 63 letters, digits and hyphens`,
				`properties.action.queueMessage.queueName: the value is not valid; allowed: the name of a storage queue: 3 to 63 letters, digits and hyphens, not a hyphen first`),
		},
		{
			"a message that XML cannot hold", queue(`"storageAccount":"a","queueName":"abc","sasToken":"s","message":"\u0001"`),
			"properties.action.queueMessage.message: the value is not valid; allowed: at most 8192 characters, all of which XML can hold",
		},
		{
			"a raw message that XML cannot hold, which it is sent in all the same",
			queue(`"storageAccount":"a","queueName":"abc","sasToken":"s","message":"\ufffe","messageFormat":"raw"`),
			"properties.action.queueMessage.message: the value is not valid; allowed: at most 8192 characters, all of which XML can hold",
		},
		{
			"a message format that is none", queue(`"storageAccount":"a","queueName":"abc","sasToken":"s","messageFormat":"base64"`),
			`properties.action.queueMessage.messageFormat: "base64" is not supported; allowed: envelope or raw`,
		},
		{
			"a queue of Service Bus that is half said",
			withAction(`{"type":"ServiceBusQueue","serviceBusQueueMessage":{"namespace":"n/s","topicPath":"t","transportType":"tcp","authentication":{"type":"SharedAccessKey"},"brokeredMessageProperties":{"ttl":1,"timeToLive":"soon","forcePersistence":"yes"}}}`),
			lines("properties.action.serviceBusQueueMessage.queueName: required; allowed: the name of a Service Bus queue or topic: 1 to 260 characters without blanks and control characters",
				`properties.action.serviceBusQueueMessage.namespace: the value is not valid; allowed: the name of a Service Bus namespace, without the rest of its host name: at most 63 letters, digits and hyphens`,
				`properties.action.serviceBusQueueMessage.transportType: "tcp" is not supported; allowed: notSpecified, netMessaging or amqp`,
				`properties.action.serviceBusQueueMessage.brokeredMessageProperties.forcePersistence: "yes" is not valid; allowed: true or false`,
				`properties.action.serviceBusQueueMessage.brokeredMessageProperties.timeToLive: "soon" is not valid; allowed: a duration such as PT30S or 00:00:30, or a date and time`,
				"properties.action.serviceBusQueueMessage.brokeredMessageProperties.ttl: unknown field; allowed: contentType, correlationId, forcePersistence, label, messageId, partitionKey, replyTo, replyToSessionId, scheduledEnqueueTimeUtc, sessionId, timeToLive, to or viaPartitionKey",
				"properties.action.serviceBusQueueMessage.topicPath: unknown field; allowed: queueName, namespace, transportType, authentication, message, template, traceparent, brokeredMessageProperties or customMessageProperties",
				"properties.action.serviceBusQueueMessage.authentication.sasKeyName: required; allowed: the name of a shared access key",
				"properties.action.serviceBusQueueMessage.authentication.sasKey: required; allowed: a shared access key"),
		},
		{
			"a retry policy beyond the limits",
			withAction(`{"type":"Http","request":{"uri":"http://example.com/"},"retryPolicy":{"retryType":"exponential","retryInterval":"00:00:14","retryCount":0,"retries":3}}`),
			lines(`properties.action.retryPolicy.retryType: "exponential" is not supported; allowed: none or fixed`,
				`properties.action.retryPolicy.retryInterval: "00:00:14" is not valid; allowed: a duration such as PT30S or 00:00:30, from PT15S to P558D`,
				`properties.action.retryPolicy.retryCount: 0 is out of range; allowed: 1 to 20; for no retries send "retryType": "none"`,
				`properties.action.retryPolicy.retries: unknown field; did you mean "retryCount"?`),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := input.ParseDefinition([]byte(tt.body), input.ParseOptions{Now: now, Limits: roomy()})
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

// roomy returns limits that are too high to be reached.
func roomy() *input.Limits {
	l := input.DefaultLimits()
	l.JobBytes = 1 << 20
	return &l
}

func TestBodiesThatAreNoJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"nothing", "", "The body is empty: send a JSON object"},
		{"nothing but blanks behind a byte order mark", "\ufeff \r\n", "The body is empty: send a JSON object"},
		{"half of an object", `{"a":`, "The body is not valid JSON at line 1, column 5: the text ends before the object does"},
		{"a list", "[]", "The body must be a JSON object, not a list"},
		{"null", "null", "The body must be a JSON object, not null"},
		{"a comma too many", "{\n \"ü\": 1,\n}", "The body is not valid JSON at line 2, column 8: nothing follows this comma but }; leave the comma out"},
		{"a comma too many in a list", `{"a":[1, ]}`, "The body is not valid JSON at line 1, column 8: nothing follows this comma but ]; leave the comma out"},
		{"a comma alone", `{,}`, "The body is not valid JSON at line 1, column 2: invalid character ',' looking for beginning of object key string"},
		{"a name in single quotes", `{'a': 1}`, "The body is not valid JSON at line 1, column 2: names and strings stand in double quotes, not in single ones"},
		{"a string in single quotes", `{"a": 'b'}`, "The body is not valid JSON at line 1, column 7: names and strings stand in double quotes, not in single ones"},
		{"an escaped single quote", `{"a": "it\'s"}`, `The body is not valid JSON at line 1, column 10: \' is no escape; write a backslash as two`},
		{"a path of Windows", `{"a": "C:\queue"}`, `The body is not valid JSON at line 1, column 10: \q is no escape; write a backslash as two`},
		{"a wide letter behind a backslash", `{"a": "\ü"}`, `The body is not valid JSON at line 1, column 8: \ü is no escape; write a backslash as two`},
		{"a letter behind wide ones", `{"äöü": x}`, "The body is not valid JSON at line 1, column 9: invalid character 'x' looking for beginning of value"},
		{"something behind the end", "{}\n{}", "The body is not valid JSON at line 2, column 1: invalid character '{' after top-level value"},
		{"Latin-1", "{\n\"a\":\"\xfc\"}", "The body is not valid JSON at line 2, column 6: the text is not UTF-8"},
		{"a bottomless pit", `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "The body is not valid JSON at line 1, column 38: more than 32 levels"},
		{"too much", `{"a":"` + strings.Repeat("a", 16384) + `"}`, "The body is 16392 bytes long; the limit is 16384 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tt.body)
			require.Equal(t, tt.want, complaints(t, err))
			_, err = input.MergeDefinition(job.Definition{}, []byte(tt.body), input.ParseOptions{Now: now})
			require.Equal(t, tt.want, complaints(t, err))
			_, err = input.ParseCollection([]byte(tt.body), nil)
			require.Equal(t, tt.want, complaints(t, err))
			_, err = input.MergeCollection(job.Collection{}, []byte(tt.body), nil)
			require.Equal(t, tt.want, complaints(t, err))
			_, err = input.ParsePreview([]byte(tt.body), now)
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

func TestAMemberThatIsThereTwiceIsRefusedByItsPath(t *testing.T) {
	t.Parallel()
	const once = ": repeated; allowed: once"
	same := func(name string) string {
		return once + `; "` + name + `" is the same field, as case makes no difference`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"the envelope", `{"properties":{},"Properties":{}}`, "Properties" + same("properties")},
		{"beside the envelope", `{"id":"a","ID":"b","properties":{}}`, "ID" + same("id")},
		{"without an envelope", `{"state":"Enabled","state":"Disabled"}`, "state" + once},
		{"one of them null", `{"properties":{"state":"Enabled","state":null}}`, "properties.state" + once},
		{
			"three times", withRecurrence(`{"frequency":"hour","interval":9,"Interval":2,"interval":8}`),
			lines("properties.recurrence.Interval"+same("interval"), "properties.recurrence.interval"+same("Interval")),
		},
		{
			"in a list", withRecurrence(`{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday"},{"day":"friday","day":"monday"}]}}`),
			"properties.recurrence.schedule.monthlyOccurrences[1].day" + once,
		},
		{"headers, whose names compare without case", withRequest(`{"uri":"http://example.com/","headers":{"X-A":"1","x-a":"2"}}`), "properties.action.request.headers.x-a" + same("X-A")},
		{"tags, whose names compare without case in a patch", `{"tags":{"Team":"a","team":"b"},"properties":{"sku":{"name":"Free"}}}`, "tags.team" + same("Team")},
		{
			"properties of a message, whose names compare with case", withAction(`{"type":"ServiceBusTopic","serviceBusTopicMessage":{"customMessageProperties":{"a":"1","A":"2","a":"3"}}}`),
			"properties.action.serviceBusTopicMessage.customMessageProperties.a" + once,
		},
		{"written with an escape", `{"state":"Enabled","st\u0061te":"Disabled"}`, "state" + once},
		{"where nothing is known", `{"etag":[{"a":1,"a":2}],"properties":{}}`, "etag[0].a" + once},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for reader, err := range readings(tt.body) {
				require.Equal(t, tt.want, complaints(t, err), reader)
			}
		})
	}
}

// readings returns the error of every function that parses a body.
func readings(body string) map[string]error {
	o := input.ParseOptions{Now: now}
	_, put := input.ParseDefinition([]byte(body), o)
	_, patched := input.MergeDefinition(job.Definition{}, []byte(body), o)
	_, collection := input.ParseCollection([]byte(body), nil)
	_, patchedCollection := input.MergeCollection(job.Collection{}, []byte(body), nil)
	_, previewed := input.ParsePreview([]byte(body), now)
	return map[string]error{
		"a job": put, "a patch of a job": patched, "a collection": collection, "a patch of a collection": patchedCollection, "a preview": previewed,
	}
}

func TestPropertiesOfAMessageMayDifferInCaseAlone(t *testing.T) {
	t.Parallel()
	message := func(custom string) string {
		return withAction(`{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","customMessageProperties":` + custom + `}}`)
	}
	d := mustParse(t, message(`{"a":"1","A":"2"}`))
	require.Equal(t, job.Members{{Name: "a", Value: "1"}, {Name: "A", Value: "2"}}, d.Action.ServiceBusQueueMessage.CustomMessageProperties)

	patched, err := input.MergeDefinition(d, []byte(message(`{"A":null,"b":"3"}`)), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Equal(t, job.Members{{Name: "a", Value: "1"}, {Name: "b", Value: "3"}}, patched.Action.ServiceBusQueueMessage.CustomMessageProperties)
}

func TestEveryCharacterOfABodyIsKeptOrRefused(t *testing.T) {
	t.Parallel()
	const half = " is one half of a pair of surrogates, which is no character by itself"
	for _, tt := range []struct{ name, text, want string }{
		{"a first half alone", `\ud800`, `The body is not valid JSON at line 1, column 10: \ud800` + half},
		{"a second half alone", `\uDFFF`, `The body is not valid JSON at line 1, column 10: \uDFFF` + half},
		{"two first halves", `\ud83d\ud83d`, `The body is not valid JSON at line 1, column 10: \ud83d` + half},
		{"the halves in the wrong order", `\ude00\ud83d`, `The body is not valid JSON at line 1, column 10: \ude00` + half},
		{"a half before other characters", `\ud83dabcdefg`, `The body is not valid JSON at line 1, column 10: \ud83d` + half},
		{"a half behind a pair and a backslash", `\ud83d\ude00\\\ud83d`, `The body is not valid JSON at line 1, column 24: \ud83d` + half},
		{"a byte that is no UTF-8", "\xff", "The body is not valid JSON at line 1, column 10: the text is not UTF-8"},
		{"a surrogate in UTF-8", "\xed\xa0\x80", "The body is not valid JSON at line 1, column 10: the text is not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, body := range []string{`{"body":"` + tt.text + `"}`, `{"abc":{"` + tt.text + `":1}}`} {
				for reader, err := range readings(body) {
					require.Equal(t, tt.want, complaints(t, err), reader)
				}
			}
		})
	}
	d := mustParse(t, withRequest(`{"uri":"http://example.com/","body":"\ud83d\uDE00 \\ud800 \\\ud83d\ude00 \ufffd"}`))
	require.Equal(t, `😀 \ud800 \😀 `+"\ufffd", d.Action.Request.Body)
}

func TestErrorsNameTheMembersThatWereSent(t *testing.T) {
	t.Parallel()
	o := input.ParseOptions{Now: now, CheckTarget: func(_ kind.Type, p kind.Parameters) error {
		return fmt.Errorf("no way to %s", p.(*kind.Request).URI)
	}}
	action := strings.TrimSuffix(httpAction, "}") + `,"errorAction":{"type":"Http","request":{"uri":"http://example.org/"}}}`
	const main, other = ": not allowed; no way to http://example.com/", ": not allowed; no way to http://example.org/"
	for _, tt := range []struct{ name, body, want string }{
		{"within properties", `{"properties":{"action":` + action + `}}`, lines("properties.action"+main, "properties.action.errorAction"+other)},
		{"without an envelope", `{"action":` + action + `}`, lines("action"+main, "action.errorAction"+other)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := input.ParseDefinition([]byte(tt.body), o)
			require.Equal(t, tt.want, complaints(t, err))
			_, err = input.MergeDefinition(mustParse(t, stored), []byte(tt.body), o)
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
	_, err := input.MergeDefinition(mustParse(t, stored), []byte(`{"state":"disabled"}`), o)
	require.NoError(t, err, "a patch that leaves the action alone")
	_, err = input.ParseDefinition([]byte(`{"action":{"type":"Http"}}`), o)
	require.Equal(t, "action.request: required; allowed: an object; an action of type Http has one", complaints(t, err), "half an action is not checked")
}

func TestErrorsStayReadable(t *testing.T) {
	t.Parallel()
	var hours []string
	for n := range 1000 {
		hours = append(hours, strconv.Itoa(n+24))
	}
	_, err := parse(withRecurrence(`{"frequency":"day","schedule":{"hours":[` + strings.Join(hours, ",") + `]}}`))
	require.ErrorContains(t, err, "The job is not valid, the first 50 of 1000 errors: properties.recurrence.schedule.hours[0]: 24 is out of range; allowed: 0 to 23; ")
	require.Less(t, len(err.Error()), 5000)

	_, err = parse(withRecurrence(`{"frequency":"` + strings.Repeat("x", 5000) + `","` + strings.Repeat("y\\n", 2000) + `":1}`))
	require.Less(t, len(err.Error()), 1000)
	require.NotContains(t, err.Error(), "\n")
}

func TestAHostHeaderIsAHostName(t *testing.T) {
	t.Parallel()
	parse := func(value string) error {
		_, err := input.ParseDefinition([]byte(withRequest(`{"uri":"http://10.1.2.3/","headers":{"hOST":"`+value+`"}}`)), input.ParseOptions{Now: now})
		return err
	}
	for _, good := range []string{"example.com", "Example.COM.", "example.com:8080", "intranet", "my_service", "1st.example", "xn--mnchen-3ya.example", "0x.example"} {
		require.NoError(t, parse(good), good)
	}
	for _, bad := range []string{
		"127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8080", "::1", "10.1.2.3", "2130706433", "0x7f.1", "0X7F000001", "127.1.", "localhost", "LocalHost:8080", "db.localhost",
		"", ":80", "example.com:0", "a b", "example.com/path", "user@example.com", "http://example.com", "example.com:x", "example.com:80:80", "example..com", "münchen.example",
	} {
		err := parse(bad)
		require.ErrorContains(t, err, "properties.action.request.headers.hOST: the value is not valid; allowed: a host name such as www.example.com, with or without a port, "+
			"but neither an address nor localhost", bad)
	}
}

func TestWhatTheAPIReadPassesTheCheckOfWhatCameByAnotherWay(t *testing.T) {
	t.Parallel()
	body := withAction(`{"type":"Http","request":{"uri":"http://example.com/?a=1&b=<2>","method":"post","body":"` + strings.Repeat("<", 3_000) + `"}}`)
	d := mustParse(t, body)
	require.NoError(t, input.CheckDefinition(&d, now, now))

	for name, change := range map[string]func(*job.Definition){
		"properties.action.type":          func(d *job.Definition) { d.Action.Type = "" },
		"properties.action.request.uri":   func(d *job.Definition) { d.Action.Request.URI = "nowhere" },
		"properties.action.request":       func(d *job.Definition) { d.Action.Request = nil },
		"properties.state":                func(d *job.Definition) { d.State = "over" },
		"properties.recurrence.frequency": func(d *job.Definition) { d.Recurrence = &job.Recurrence{Frequency: "second", Interval: 1} },
		"properties.recurrence.catchUpWindow": func(d *job.Definition) {
			d.Recurrence = &job.Recurrence{Frequency: "day", Interval: 1, CatchUpWindow: "soon"}
		},
	} {
		d := mustParse(t, body)
		change(&d)
		require.ErrorContains(t, input.CheckDefinition(&d, now, now), strings.TrimPrefix(name, "properties."), name)
	}
}

func TestWhatIsBuiltInGoIsCheckedAsABody(t *testing.T) {
	t.Parallel()
	o := input.ParseOptions{Now: now}
	d := job.Definition{
		Action:     job.Action{Type: "Http", Content: kind.Content{Request: &kind.Request{URI: "https://example.com/", Method: "GET"}}},
		Recurrence: &job.Recurrence{Frequency: "day", Interval: 1},
		State:      job.StateEnabled,
	}
	require.NoError(t, input.ValidateDefinition(&d, o))
	d.Action.Request.Body = strings.Repeat("a", 8193)
	d.Recurrence = &job.Recurrence{Frequency: "day", Interval: 1000, TimeZone: "Mars/Phobos"}
	require.Equal(t, lines("action.request.body: too long; allowed: at most 8192 characters",
		`recurrence.timeZone: "Mars/Phobos" is not valid; allowed: an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard Time`,
		"recurrence.interval: 1000 is out of range; allowed: 1 to 548"), complaints(t, input.ValidateDefinition(&d, o)))

	c := job.Collection{Properties: job.CollectionProperties{SKU: job.SKU{Name: "Free"}, State: job.CollectionEnabled}}
	require.NoError(t, input.ValidateCollection(&c, nil))
	c.Properties.Quota = &job.Quota{MaxJobCount: -1}
	require.Equal(t, "properties.quota.maxJobCount: -1 is out of range; allowed: 1 to 2147483647", complaints(t, input.ValidateCollection(&c, nil)))
}

// What comes by another way is stored as it is, and compared with the constants of package job.
func TestWhatIsNotAsTheAPIStoresItIsRefused(t *testing.T) {
	t.Parallel()
	const (
		topic = `{"type":"serviceBusTopic","serviceBusTopicMessage":{"topicPath":"t","namespace":"n","transportType":"amqp",` +
			`"authentication":{"type":"sharedAccessKey","sasKeyName":"k","sasKey":"s"},"customMessageProperties":{"a":"1","A":"2"}}}`
		request = `{"type":"HTTP","request":{"uri":"http://example.com/","method":"post","authentication":{"type":"Basic","username":"u","password":"p"}},` +
			`"errorAction":` + topic + `}`
		queue   = `{"type":"storagequeue","queueMessage":{"storageAccount":"a","queueName":"abc","sasToken":"t","messageFormat":"raw"}}`
		monthly = `{"frequency":"Month","interval":1,"overlapPolicy":"skip","schedule":{"monthlyOccurrences":[{"day":"Monday","occurrence":1},{"day":"Friday","occurrence":-1}]}}`
		weekly  = `{"frequency":"week","schedule":{"weekDays":["Monday","friday"]}}`
	)
	body := func(action, recurrence string) string {
		return `{"properties":{"action":` + action + `,"recurrence":` + recurrence + `,"state":"ENABLED"}}`
	}
	both := body(request, monthly)
	for _, tt := range []struct {
		name, body string
		change     func(*job.Definition)
		want       string // path and value; and what is allowed
		allowed    string
	}{
		{"state", both, func(d *job.Definition) { d.State = "Disabled" }, `state: "Disabled"`, "disabled"},
		{"frequency", both, func(d *job.Definition) { d.Recurrence.Frequency = "MONTH" }, `recurrence.frequency: "MONTH"`, "month"},
		{"overlap policy", both, func(d *job.Definition) { d.Recurrence.OverlapPolicy = "allowall" }, `recurrence.overlapPolicy: "allowall"`, "AllowAll"},
		{"day of a month", both, func(d *job.Definition) { d.Recurrence.Schedule.MonthlyOccurrences[1].Day = "Friday" },
			`recurrence.schedule.monthlyOccurrences[1].day: "Friday"`, "friday"},
		{"day of a week", body(queue, weekly), func(d *job.Definition) { d.Recurrence.Schedule.WeekDays[0] = "MONDAY" }, `recurrence.schedule.weekDays[0]: "MONDAY"`, "monday"},
		{"authentication", both, func(d *job.Definition) { d.Action.Request.Authentication.Type = "basic" }, `action.request.authentication.type: "basic"`, "Basic"},
		{"message format", body(queue, weekly), func(d *job.Definition) { d.Action.QueueMessage.MessageFormat = "RAW" }, `action.queueMessage.messageFormat: "RAW"`, "raw"},
		{"transport", both, func(d *job.Definition) { d.Action.ErrorAction.ServiceBusTopicMessage.TransportType = "AMQP" },
			`action.errorAction.serviceBusTopicMessage.transportType: "AMQP"`, "amqp"},
		{"key", both, func(d *job.Definition) {
			d.Action.ErrorAction.ServiceBusTopicMessage.Authentication.Type = "SharedAccessKey"
		},
			`action.errorAction.serviceBusTopicMessage.authentication.type: "SharedAccessKey"`, "sharedAccessKey"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, tt.body)
			require.NoError(t, input.CheckDefinition(&d, now, now), "actions, methods and names of properties keep their spelling")
			require.NoError(t, input.CheckSpelling(&d))
			tt.change(&d)
			want := tt.want + " is not supported; allowed: " + tt.allowed + "; here case makes a difference"
			require.Equal(t, want, complaints(t, input.CheckDefinition(&d, now, now)))
			require.Equal(t, want, complaints(t, input.CheckSpelling(&d)))
		})
	}
	d := mustParse(t, both)
	d.Action.Request.Authentication = &kind.Authentication{Type: "NotSpecified"}
	d.Recurrence.Schedule = &job.Schedule{}
	require.Equal(t, lines("recurrence.schedule: not allowed; leave it out: it is empty",
		"action.request.authentication: not allowed; leave it out: its type says that there is none"), complaints(t, input.CheckDefinition(&d, now, now)))
}

func TestACollectionThatIsNotAsTheAPIStoresItIsRefused(t *testing.T) {
	t.Parallel()
	parse := func() job.Collection {
		c, err := input.ParseCollection([]byte(`{"properties":{"sku":{"name":"standard"},"state":"enabled","quota":{"maxJobCount":5,"maxRecurrence":{"frequency":"HOUR","interval":2}}}}`), nil)
		require.NoError(t, err)
		require.NoError(t, input.CheckCollection(&c))
		return c
	}
	for want, change := range map[string]func(*job.CollectionProperties){
		`state: "disabled" is not supported; allowed: Disabled`:                      func(p *job.CollectionProperties) { p.State = "disabled" },
		`sku.name: "free" is not supported; allowed: Free`:                           func(p *job.CollectionProperties) { p.SKU.Name, p.Quota = "free", nil },
		`quota.maxRecurrence.frequency: "Day" is not supported; allowed: day`:        func(p *job.CollectionProperties) { p.Quota.MaxRecurrence.Frequency = "Day" },
		`state: "over" is not supported; allowed: Enabled, Disabled or Suspended`:    func(p *job.CollectionProperties) { p.State = "over" },
		`quota.maxJobCount: 10001 is out of range; allowed: at most 10000, which is`: func(p *job.CollectionProperties) { p.Quota.MaxJobCount = 10_001 },
	} {
		c := parse()
		change(&c.Properties)
		require.ErrorContains(t, input.CheckCollection(&c), "properties."+want)
	}
}

// Clients send back what they read of a job in a final state, changed or not.
func TestAFinalStateThatIsSentBackIsThatOfAnEnabledJob(t *testing.T) {
	t.Parallel()
	read := mustParse(t, stored).Redacted()
	for _, state := range []job.State{job.StateCompleted, job.StateFaulted} {
		read.State = state
		for sent, want := range map[string]job.State{
			"completed": job.StateEnabled, "Faulted": job.StateEnabled, "enabled": job.StateEnabled, "disabled": job.StateDisabled,
		} {
			back := read
			back.State = job.State(sent)
			put, err := input.ParseDefinition([]byte(compactJSON(t, back)), input.ParseOptions{Now: now, Stored: &read})
			require.NoError(t, err, sent)
			require.Equal(t, want, put.State, sent)
			patched, err := input.MergeDefinition(read, []byte(`{"properties":{"state":"`+sent+`"}}`), input.ParseOptions{Now: now})
			require.NoError(t, err, sent)
			require.Equal(t, want, patched.State, sent)
		}
		patched, err := input.MergeDefinition(read, []byte(`{"properties":{"recurrence":{"count":20}}}`), input.ParseOptions{Now: now})
		require.NoError(t, err)
		require.Equal(t, job.StateEnabled, patched.State, "a patch that leaves the state alone")
	}
	_, err := input.MergeDefinition(read, []byte(`{"state":"on"}`), input.ParseOptions{Now: now})
	require.Equal(t, `state: "on" is not supported; allowed: enabled, disabled, completed or faulted; did you mean "enabled"?`, complaints(t, err))
}
