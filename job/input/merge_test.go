package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

const jobID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j"

// stored is the job to which the patches are applied.
const stored = `{"startTime":"2026-02-01T00:00:00Z","action":{"request":{"uri":"http://example.com/","method":"POST","headers":{"Accept":"text/plain","X-A":"1"},"body":"b","authentication":{"username":"u","password":"p","type":"Basic"}},"type":"Http","retryPolicy":{"retryType":"fixed","retryCount":2},"errorAction":{"queueMessage":{"storageAccount":"acc","queueName":"queue","sasToken":"s","message":"m"},"type":"StorageQueue"}},"recurrence":{"frequency":"week","count":10,"interval":2,"schedule":{"hours":[8,9],"weekDays":["monday"]}},"state":"enabled"}`

func merge(t testing.TB, patch string) (job.Definition, error) {
	t.Helper()
	current := mustParse(t, stored).Redacted()
	return input.MergeDefinition(current, []byte(patch), input.ParseOptions{Now: now, ID: jobID})
}

func TestMergeDefinition(t *testing.T) {
	t.Parallel()
	redacted := strings.NewReplacer(`,"password":"p"`, "", `,"sasToken":"s"`, "").Replace(stored)
	for _, tt := range []struct {
		name, patch string
		replace     []string // pairs: a part of the stored job, and its replacement
	}{
		{"nothing", `{}`, nil},
		{"nothing, in an envelope, with the names of the job", `{"id":"` + strings.ToUpper(jobID) + `","name":"c/j","type":"t","properties":{}}`, nil},
		{"a plain value", `{"properties":{"state":"Disabled"}}`, []string{`"state":"enabled"`, `"state":"disabled"`}},
		{"without an envelope", `{"id":"` + jobID + `","name":"x","type":"y","state":"Disabled"}`, []string{`"state":"enabled"`, `"state":"disabled"`}},
		{"one member of many", `{"properties":{"recurrence":{"INTERVAL":3}}}`, []string{`"interval":2`, `"interval":3`}},
		{"a list is replaced", `{"properties":{"recurrence":{"schedule":{"hours":[7]}}}}`, []string{`[8,9]`, `[7]`}},
		{"a list is removed", `{"properties":{"recurrence":{"schedule":{"hours":null}}}}`, []string{`"hours":[8,9],`, ``}},
		{"an object is removed", `{"properties":{"Recurrence":null}}`, []string{`"recurrence":{"frequency":"week","count":10,"interval":2,"schedule":{"hours":[8,9],"weekDays":["monday"]}},`, ``}},
		{"authentication is removed", `{"properties":{"action":{"request":{"authentication":null}}}}`, []string{`,"authentication":{"username":"u","type":"Basic"}`, ``}},
		{"a removed default comes back", `{"properties":{"recurrence":{"interval":null}}}`, []string{`"interval":2`, `"interval":1`}},
		{"headers by their names in any case", `{"properties":{"action":{"request":{"headers":{"accept":"*/*","x-a":null,"X-B":"2"}}}}}`, []string{`"Accept":"text/plain","X-A":"1"`, `"accept":"*/*","X-B":"2"`}},
		{"the casing of the type", `{"properties":{"action":{"type":"https","request":{"uri":"https://example.com/","authentication":{"password":"q"}}}}}`, []string{`"type":"Http"`, `"type":"https"`, `http://`, `https://`, `"username":"u"`, `"username":"u","password":"q"`}},
		{
			"another type drops the parameters of the old one",
			`{"properties":{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"abc","sasToken":"s","message":"m"}}}}`,
			[]string{`"request":{"uri":"http://example.com/","method":"POST","headers":{"Accept":"text/plain","X-A":"1"},"body":"b","authentication":{"username":"u","type":"Basic"}},"type":"Http"`, `"queueMessage":{"storageAccount":"a","queueName":"abc","sasToken":"s","message":"m"},"type":"StorageQueue"`},
		},
		{
			"another type of the error action",
			`{"properties":{"action":{"errorAction":{"type":"Http","request":{"uri":"http://example.com/e"}}}}}`,
			[]string{`"queueMessage":{"storageAccount":"acc","queueName":"queue","message":"m"},"type":"StorageQueue"`, `"request":{"uri":"http://example.com/e","method":"GET"},"type":"Http"`},
		},
		{
			"another type of authentication drops the old one",
			`{"properties":{"action":{"request":{"authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c","secret":"s"}}}}}`,
			[]string{`{"username":"u","type":"Basic"}`, `{"secret":"s","tenant":"t","audience":"a","clientId":"c","type":"ActiveDirectoryOAuth"}`},
		},
		{"all headers are removed", `{"properties":{"action":{"request":{"headers":null}}}}`, []string{`"headers":{"Accept":"text/plain","X-A":"1"},`, ``}},
		{"a body and a method are removed", `{"properties":{"action":{"request":{"body":null,"method":null}}}}`, []string{`"method":"POST"`, `"method":"GET"`, `"body":"b",`, ``}},
		{"the format of the error action's message", `{"properties":{"action":{"errorAction":{"queueMessage":{"messageFormat":"raw"}}}}}`, []string{`"message":"m"},"type":"StorageQueue"`, `"message":"m","messageFormat":"raw"},"type":"StorageQueue"`}},
		{"the error action's message gets placeholders", `{"properties":{"action":{"errorAction":{"queueMessage":{"message":"{{.Failure.Error}}","template":true}}}}}`, []string{`"message":"m"},"type":"StorageQueue"`, `"message":"{{.Failure.Error}}","template":true},"type":"StorageQueue"`}},
		{"the error action is removed", `{"properties":{"action":{"errorAction":null}}}`, []string{`,"errorAction":{"queueMessage":{"storageAccount":"acc","queueName":"queue","message":"m"},"type":"StorageQueue"}`, ``}},
		{"the retry policy is removed", `{"properties":{"action":{"RetryPolicy":null}}}`, []string{`,"retryPolicy":{"retryType":"fixed","retryCount":2}`, ``}},
		{"a part of the retry policy is removed", `{"properties":{"action":{"retryPolicy":{"retryCount":null,"retryInterval":"PT1M"}}}}`, []string{`"retryType":"fixed","retryCount":2`, `"retryType":"fixed","retryInterval":"PT1M"`}},
		{"the schedule is removed", `{"properties":{"recurrence":{"schedule":null}}}`, []string{`,"schedule":{"hours":[8,9],"weekDays":["monday"]}`, ``}},
		{"the last list of the schedule is removed", `{"properties":{"recurrence":{"schedule":{"hours":null,"weekDays":[]}}}}`, []string{`,"schedule":{"hours":[8,9],"weekDays":["monday"]}`, ``}},
		{"the count and the start are removed", `{"properties":{"startTime":null,"recurrence":{"count":null}}}`, []string{`"startTime":"2026-02-01T00:00:00Z",`, ``, `"count":10,`, ``}},
		{"nulls within what is new", `{"properties":{"action":{"errorAction":{"retryPolicy":{"retryType":"none","retryCount":null}}}}}`, []string{`"message":"m"},"type":"StorageQueue"`, `"message":"m"},"type":"StorageQueue","retryPolicy":{"retryType":"none"}`}},
		{"nothing is removed by a null that is not there", `{"properties":{"recurrence":{"endTime":null,"timeZone":null}}}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := strings.NewReplacer(tt.replace...).Replace(redacted)
			got, err := merge(t, tt.patch)
			require.NoError(t, err)
			require.Equal(t, want, compactJSON(t, got))
		})
	}
}

func TestMergeDefinitionReportsBadFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, patch, want string }{
		{"another job's id", `{"id":"/x","state":"disabled"}`, `id: "/x" is not valid; allowed: the id of this job, ` + jobID + `, or none`},
		{"an id that is no text", `{"id":5,"properties":{}}`, `id: 5 is not valid; allowed: the id of this job, ` + jobID + `, or none`},
		{"a final state", `{"properties":{"state":"Faulted"}}`, `properties.state: "Faulted" is not supported; allowed: enabled or disabled`},
		{"an unknown field", `{"properties":{"recurrence":{"schedule":{"hour":[1]}}}}`, "properties.recurrence.schedule.hour: unknown field; did you mean \"hours\"?"},
		{"the type of the action removed", `{"properties":{"action":{"type":null}}}`, "properties.action.type: required; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic"},
		{"the request removed", `{"properties":{"action":{"request":null}}}`, "properties.action.request: required; allowed: an object; an action of type Http has one"},
		{"the URI removed", `{"properties":{"action":{"request":{"uri":null}}}}`, "properties.action.request.uri: required; allowed: an absolute http or https URL"},
		{"the type of the authentication removed", `{"properties":{"action":{"request":{"authentication":{"type":null}}}}}`, "properties.action.request.authentication.type: required; allowed: Basic, ClientCertificate, ActiveDirectoryOAuth or NotSpecified"},
		{"the queue of the error action removed", `{"properties":{"action":{"errorAction":{"queueMessage":{"queueName":null}}}}}`, lines("properties.action.errorAction.queueMessage.queueName: required; allowed: the name of a storage queue: 3 to 63 letters, digits and hyphens, not a hyphen first", "properties.action.errorAction.queueMessage.sasToken: required; allowed: a shared access signature that may add messages; send it again, because the target changed (queueName), and a stored secret is not sent to another one")},
		{"a template that is none", `{"properties":{"action":{"errorAction":{"queueMessage":{"message":"{{.Failure.Code}}","template":true}}}}}`, `properties.action.errorAction.queueMessage.message: ".Failure.Code" is not valid; allowed: .Job.Name, .Job.Collection, .Execution.ID, .Due, .Attempt, .LastSuccess, .Failure.Message, .Failure.Error, .Failure.Attempts and .Failure.Status; see line 1, column 1`},
		{"the action removed", `{"action":null}`, "action: required; allowed: an object"},
		{"a required member removed", `{"properties":{"recurrence":{"frequency":null}}}`, "properties.recurrence.frequency: required; allowed: minute, hour, day, week, month or year"},
		{"what no longer fits", `{"properties":{"recurrence":{"frequency":"day"}}}`, `properties.recurrence.schedule.weekDays: not allowed; allowed: with frequency week; "frequency": "week" runs on each of these days`},
		{"the parameters of another type", `{"properties":{"action":{"queueMessage":{"storageAccount":"a","queueName":"abc","sasToken":"s"}}}}`, "properties.action.queueMessage: not allowed; an action of type Http has a request"},
		{"another type without its parameters", `{"properties":{"action":{"type":"StorageQueue"}}}`, "properties.action.queueMessage: required; allowed: an object; an action of type StorageQueue has one"},
		{"another user without a password", `{"properties":{"action":{"request":{"authentication":{"username":"v"}}}}}`, "properties.action.request.authentication.password: required; allowed: a password (\"\" is an empty one)"},
		{"a member of the wrong type", `{"properties":{"recurrence":[]}}`, "properties.recurrence: a list is not valid; allowed: an object; a job without a recurrence runs once"},
		{"properties of the wrong type", `{"properties":7}`, "properties: a number is not valid; allowed: an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := merge(t, tt.patch)
			require.Equal(t, tt.want, complaints(t, err))
		})
	}
}

func TestABodyOfAnotherJobIsRefused(t *testing.T) {
	t.Parallel()
	put := func(id string) error {
		_, err := input.ParseDefinition([]byte(`{"id":`+id+`,"properties":{"action":`+httpAction+`,"status":{"executionCount":3}}}`), input.ParseOptions{Now: now, ID: jobID})
		return err
	}
	for _, own := range []string{`"` + jobID + `"`, `"` + strings.ToLower(jobID) + `"`, `null`} {
		require.NoError(t, put(own))
	}
	require.Equal(t, `id: "`+jobID+`2" is not valid; allowed: the id of this job, `+jobID+`, or none`, complaints(t, put(`"`+jobID+`2"`)))
	require.Equal(t, "id: an object is not valid; allowed: the id of this job, "+jobID+", or none", complaints(t, put(`{}`)))
}

func TestPatchesCannotGrowAJobWithoutEnd(t *testing.T) {
	t.Parallel()
	d := mustParse(t, withAction(`{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"abc","sasToken":"s","message":"`+strings.Repeat("m", 8000)+`"}}`))
	_, err := input.MergeDefinition(d, []byte(`{"properties":{"action":{"errorAction":{"type":"Http","request":{"uri":"http://example.com/","body":"`+strings.Repeat("b", 8192)+`"}}}}}`), input.ParseOptions{Now: now})
	require.Equal(t, "The job would be 16408 bytes long with this patch; the limit is 16384 bytes", complaints(t, err))
}

// Each attempt has a copy of its action in the workflow's history, in which Go's JSON takes six bytes for
// each of <, > and &.
func TestAJobThatTakesTooMuchInTemporalIsRefused(t *testing.T) {
	t.Parallel()
	sent := func(members string) []byte {
		return []byte(withAction(`{"type":"Http","request":{"uri":"http://example.com/","method":"POST",` + members + `}}`))
	}
	const limit = "The job must be at most 24576 bytes as Temporal stores it, with stored secrets (got "
	const advice = "Shorten the body or headers; <, > and & take 6 bytes each"
	page := strings.Repeat("<", 8192)
	o := input.ParseOptions{Now: now}
	_, err := input.ParseDefinition(sent(`"body":"`+page+`"`), o)
	require.EqualError(t, err, limit+"49262). "+advice)
	require.Equal(t, job.KindInvalid, job.KindOf(err))
	_, err = input.MergeDefinition(mustParse(t, string(sent(`"body":""`))), sent(`"body":"`+page+`"`), o)
	require.ErrorContains(t, err, limit)
	_, err = input.ParsePreview(sent(`"body":"`+page+`"`), now)
	require.ErrorContains(t, err, limit)

	html := `"body":"` + strings.Repeat("<p>It is so & so.</p>", 300) + `"`
	_, err = input.ParseDefinition(sent(html), o)
	require.NoError(t, err, "a page of the web")

	secret := `"authentication":{"type":"Basic","username":"u","password":"` + strings.Repeat("s", 14_000) + `"}`
	old := mustParse(t, string(sent(secret)))
	o.Stored = new(old.Redacted())
	keeping, err := input.ParseDefinition(sent(`"body":"`+strings.Repeat("<", 2000)+`","authentication":{"type":"Basic","username":"u"}`), o)
	require.NoError(t, err)
	_, err = input.KeepSecrets(keeping, &old, false)
	require.ErrorContains(t, err, limit)
}
