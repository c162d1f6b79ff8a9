package conformance_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler" //nolint:staticcheck // retired, as is the service
	"github.com/Azure/go-autorest/autorest"
	"github.com/Azure/go-autorest/autorest/date"
	"github.com/stretchr/testify/require"
)

// tomorrow returns a time at which a job is due, but not during a test.
func tomorrow() *date.Time {
	return &date.Time{Time: time.Now().UTC().Add(24 * time.Hour).Truncate(time.Second)}
}

// text returns a model's JSON as the client writes it: without what is
// read-only, and with "authentication":null in a request that has none.
func text(t *testing.T, model any) string {
	t.Helper()
	b, err := json.Marshal(model)
	require.NoError(t, err)
	return string(b)
}

func TestAJobFromCreateToDelete(t *testing.T) {
	t.Parallel()
	c, ctx := newClient(t), t.Context()
	c.create(t, scheduler.Standard)
	p := scheduler.JobProperties{
		Action:     get("http://127.0.0.1/"),
		StartTime:  tomorrow(),
		Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Day},
	}
	created := c.put(t, "Report", p)
	require.Equal(t, http.StatusCreated, created.StatusCode)
	require.Equal(t, "/subscriptions/"+c.subscription+"/resourceGroups/"+group+"/providers/Microsoft.Scheduler/jobCollections/"+collection+"/jobs/Report", *created.ID)
	require.Equal(t, "Microsoft.Scheduler/jobCollections/jobs", *created.Type)
	require.Equal(t, collection+"/Report", *created.Name)
	require.Equal(t, scheduler.JobState("enabled"), created.Properties.State, "the default")
	require.Equal(t, int32(1), *created.Properties.Recurrence.Interval, "the default")
	status := *created.Properties.Status
	require.Equal(t, *p.StartTime, *status.NextExecutionTime)
	require.Nil(t, status.LastExecutionTime)
	require.Equal(t, []int32{0, 0, 0}, []int32{*status.ExecutionCount, *status.FailureCount, *status.FaultedCount})

	got, err := c.jobs.Get(ctx, group, collection, "report")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, created.ID, got.ID, "names compare without case and are shown as first written")
	require.Equal(t, created.Properties, got.Properties)

	p.Recurrence = nil
	replaced := c.put(t, "Report", p)
	require.Equal(t, http.StatusOK, replaced.StatusCode)
	require.Nil(t, replaced.Properties.Recurrence, "what a PUT leaves out is gone")

	deleted, err := c.jobs.Delete(ctx, group, collection, "Report")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, deleted.StatusCode)
	_, err = c.jobs.Get(ctx, group, collection, "Report")
	code, _ := serviceError(t, err)
	require.Equal(t, http.StatusNotFound, code)
}

func TestAnActionComesBackAsItWasSentButForSecrets(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	request := func(a scheduler.BasicHTTPAuthentication) *scheduler.HTTPRequest {
		return &scheduler.HTTPRequest{Method: new("GET"), URI: new("http://127.0.0.1/"), Authentication: a}
	}
	pfx, err := os.ReadFile("testdata/client.pfx.base64")
	require.NoError(t, err)
	brokered := &scheduler.ServiceBusBrokeredMessageProperties{
		ContentType: new("text/plain"), CorrelationID: new("c1"), ForcePersistence: new(true), Label: new("L"), MessageID: new("m1"),
		PartitionKey: new("s1"), ReplyTo: new("answers"), ReplyToSessionID: new("s2"), SessionID: new("s1"), TimeToLive: new("PT10M"),
		To: new("there"), ViaPartitionKey: new("v1"),
		ScheduledEnqueueTimeUtc: &date.Time{Time: time.Date(2030, 1, 2, 3, 4, 5, 600_000_000, time.UTC)},
	}
	sharedKey := &scheduler.ServiceBusAuthentication{Type: scheduler.SharedAccessKey, SasKeyName: new("send"), SasKey: new(canary + "key")}

	const web = `"request":{"method":"GET","uri":"http://127.0.0.1/","authentication":null}`

	for _, tt := range []struct {
		name string
		sent scheduler.JobAction
		want string
	}{
		{
			"Http with all that a request has",
			scheduler.JobAction{Type: scheduler.HTTP, Request: &scheduler.HTTPRequest{
				Method: new("post"), URI: new("http://127.0.0.1/a%20b?c=d&e=%2F"), Body: new(`{"a":"<é>"}`),
				Headers: map[string]*string{"Content-Type": new("application/json"), "x-mine": new("yes")},
			}},
			`{"type":"Http","request":{"method":"post","uri":"http://127.0.0.1/a%20b?c=d&e=%2F","body":"{\"a\":\"<é>\"}",
				"headers":{"Content-Type":"application/json","x-mine":"yes"},"authentication":null}}`,
		},
		{
			"Https",
			scheduler.JobAction{Type: scheduler.HTTPS, Request: &scheduler.HTTPRequest{Method: new("HEAD"), URI: new("https://127.0.0.1")}},
			`{"type":"Https","request":{"method":"HEAD","uri":"https://127.0.0.1","authentication":null}}`,
		},
		{
			"Http with a password",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(scheduler.BasicAuthentication{Username: new("ada"), Password: new(canary + "password")})},
			`{"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1/","authentication":{"type":"Basic","username":"ada"}}}`,
		},
		{
			"Http with a client certificate",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(scheduler.ClientCertAuthentication{
				Pfx: new(strings.TrimSpace(string(pfx))), Password: new(canary + "pfx-password"),
			})},
			`{"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1/","authentication":{"type":"ClientCertificate",
				"certificateThumbprint":"2289C1716C677D04D1993FECC489DCB6769EABE5","certificateSubjectName":"CN=conformance"}}}`,
		},
		{
			"Http with Active Directory",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(scheduler.OAuthAuthentication{
				Tenant: new("contoso.example"), Audience: new("https://api.example/"), ClientID: new("c-1"), Secret: new(canary + "secret"),
			})},
			`{"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1/","authentication":{"type":"ActiveDirectoryOAuth",
				"tenant":"contoso.example","audience":"https://api.example/","clientId":"c-1"}}}`,
		},
		{
			"StorageQueue",
			scheduler.JobAction{Type: scheduler.StorageQueue, QueueMessage: &scheduler.StorageQueueMessage{
				StorageAccount: new("account"), QueueName: new("queue"), SasToken: new("?sv=1&sig=" + canary + "sas"), Message: new("hello"),
			}},
			`{"type":"StorageQueue","queueMessage":{"storageAccount":"account","queueName":"queue","message":"hello"}}`,
		},
		{
			"ServiceBusQueue with all that a message has",
			scheduler.JobAction{Type: scheduler.ServiceBusQueue, ServiceBusQueueMessage: &scheduler.ServiceBusQueueMessage{
				QueueName: new("orders/new"), Namespace: new("contoso"), TransportType: scheduler.ServiceBusTransportTypeNetMessaging, Authentication: sharedKey,
				Message: new("hello"), BrokeredMessageProperties: brokered, CustomMessageProperties: map[string]*string{"Colour": new("blue"), "n": new("1")},
			}},
			`{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"orders/new","namespace":"contoso","transportType":"netMessaging",
				"authentication":{"type":"sharedAccessKey","sasKeyName":"send"},"message":"hello",
				"brokeredMessageProperties":{"contentType":"text/plain","correlationId":"c1","forcePersistence":true,"label":"L","messageId":"m1",
					"partitionKey":"s1","replyTo":"answers","replyToSessionId":"s2","scheduledEnqueueTimeUtc":"2030-01-02T03:04:05.6Z","sessionId":"s1",
					"timeToLive":"PT10M","to":"there","viaPartitionKey":"v1"},
				"customMessageProperties":{"Colour":"blue","n":"1"}}}`,
		},
		{
			"ServiceBusTopic over AMQP",
			scheduler.JobAction{Type: scheduler.ServiceBusTopic, ServiceBusTopicMessage: &scheduler.ServiceBusTopicMessage{
				TopicPath: new("orders"), Namespace: new("contoso"), TransportType: scheduler.ServiceBusTransportTypeAMQP, Authentication: sharedKey, Message: new("hello"),
			}},
			`{"type":"ServiceBusTopic","serviceBusTopicMessage":{"topicPath":"orders","namespace":"contoso","transportType":"amqp",
				"authentication":{"type":"sharedAccessKey","sasKeyName":"send"},"message":"hello"}}`,
		},
		{
			"ServiceBusTopic that leaves open how",
			scheduler.JobAction{Type: scheduler.ServiceBusTopic, ServiceBusTopicMessage: &scheduler.ServiceBusTopicMessage{
				TopicPath: new("orders"), Namespace: new("contoso"), TransportType: scheduler.ServiceBusTransportTypeNotSpecified,
				Authentication: &scheduler.ServiceBusAuthentication{Type: scheduler.NotSpecified}, Message: new("hello"),
			}},
			`{"type":"ServiceBusTopic","serviceBusTopicMessage":{"topicPath":"orders","namespace":"contoso","transportType":"notSpecified",
				"authentication":{"type":"notSpecified"},"message":"hello"}}`,
		},
		{
			"no retries",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(nil), RetryPolicy: &scheduler.RetryPolicy{RetryType: scheduler.None}},
			`{"type":"Http",` + web + `,"retryPolicy":{"retryType":"none"}}`,
		},
		{
			"retries after a .NET time span",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(nil), RetryPolicy: &scheduler.RetryPolicy{
				RetryType: scheduler.Fixed, RetryInterval: new("1.02:00:30"), RetryCount: new(int32(7)),
			}},
			`{"type":"Http",` + web + `,
				"retryPolicy":{"retryType":"fixed","retryInterval":"1.02:00:30","retryCount":7}}`,
		},
		{
			"retries after an ISO 8601 duration",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(nil), RetryPolicy: &scheduler.RetryPolicy{
				RetryType: scheduler.Fixed, RetryInterval: new("PT1M30S"), RetryCount: new(int32(20)),
			}},
			`{"type":"Http",` + web + `,
				"retryPolicy":{"retryType":"fixed","retryInterval":"PT1M30S","retryCount":20}}`,
		},
		{
			"an error action to a storage queue",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(nil), ErrorAction: &scheduler.JobErrorAction{
				Type: scheduler.StorageQueue, RetryPolicy: &scheduler.RetryPolicy{RetryType: scheduler.None},
				QueueMessage: &scheduler.StorageQueueMessage{StorageAccount: new("a"), QueueName: new("queue"), SasToken: new(canary + "sas"), Message: new("m")},
			}},
			`{"type":"Http",` + web + `,"errorAction":{"type":"StorageQueue",
				"queueMessage":{"storageAccount":"a","queueName":"queue","message":"m"},"retryPolicy":{"retryType":"none"}}}`,
		},
		{
			"an error action to a web service with a password",
			scheduler.JobAction{
				Type: scheduler.StorageQueue,
				QueueMessage: &scheduler.StorageQueueMessage{
					StorageAccount: new("a"), QueueName: new("queue"), SasToken: new(canary + "sas"), Message: new("m"),
				},
				ErrorAction: &scheduler.JobErrorAction{
					Type: scheduler.HTTP, Request: request(scheduler.BasicAuthentication{Username: new("ada"), Password: new(canary + "password")}),
				},
			},
			`{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"queue","message":"m"},"errorAction":{"type":"Http",
				"request":{"method":"GET","uri":"http://127.0.0.1/","authentication":{"type":"Basic","username":"ada"}}}}`,
		},
		{
			"an error action to a service bus queue",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(nil), ErrorAction: &scheduler.JobErrorAction{
				Type:                   scheduler.ServiceBusQueue,
				ServiceBusQueueMessage: &scheduler.ServiceBusQueueMessage{QueueName: new("q"), Namespace: new("n"), Authentication: sharedKey, Message: new("m")},
			}},
			`{"type":"Http",` + web + `,"errorAction":{"type":"ServiceBusQueue",
				"serviceBusQueueMessage":{"queueName":"q","namespace":"n","authentication":{"type":"sharedAccessKey","sasKeyName":"send"},"message":"m"}}}`,
		},
		{
			"an error action to a service bus topic",
			scheduler.JobAction{Type: scheduler.HTTP, Request: request(nil), ErrorAction: &scheduler.JobErrorAction{
				Type:                   scheduler.ServiceBusTopic,
				ServiceBusTopicMessage: &scheduler.ServiceBusTopicMessage{TopicPath: new("t"), Namespace: new("n"), Authentication: sharedKey, Message: new("m")},
			}},
			`{"type":"Http",` + web + `,"errorAction":{"type":"ServiceBusTopic",
				"serviceBusTopicMessage":{"topicPath":"t","namespace":"n","authentication":{"type":"sharedAccessKey","sasKeyName":"send"},"message":"m"}}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			put := c.put(t, "job", scheduler.JobProperties{Action: &tt.sent, State: scheduler.JobStateDisabled})
			require.JSONEq(t, tt.want, text(t, put.Properties.Action))
			require.JSONEq(t, tt.want, text(t, c.get(t, "job").Action))
			page, err := c.jobs.List(t.Context(), group, collection, nil, nil, "")
			require.NoError(t, err)
			require.JSONEq(t, tt.want, text(t, page.Values()[0].Properties.Action))
		})
	}
}

// What Azure Scheduler did not have is sent in a body of one's own, and stays when the client changes the job.
func TestAnExtensionIsSentInARawBody(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	const request = `{"uri":"http://127.0.0.1/{{.Job.Name}}","method":"POST","body":"{{.Due}}","template":true}`
	put, err := c.jobs.CreateOrUpdatePreparer(t.Context(), group, collection, "job", scheduler.JobDefinition{})
	require.NoError(t, err)
	put, err = autorest.Prepare(put, autorest.WithString(`{"properties":{"state":"disabled","action":{"type":"Http","request":`+request+`}}}`))
	require.NoError(t, err)
	answer, err := c.jobs.CreateOrUpdateSender(put)
	require.NoError(t, err)
	created, err := c.jobs.CreateOrUpdateResponder(answer)
	require.NoError(t, err)
	require.Equal(t, "{{.Due}}", *created.Properties.Action.Request.Body)

	_, err = c.jobs.Patch(t.Context(), group, collection, "job", scheduler.JobDefinition{Properties: &scheduler.JobProperties{
		Action: &scheduler.JobAction{RetryPolicy: &scheduler.RetryPolicy{RetryType: scheduler.None}},
	}})
	require.NoError(t, err)
	get, err := c.jobs.GetPreparer(t.Context(), group, collection, "job")
	require.NoError(t, err)
	answer, err = c.jobs.GetSender(get)
	require.NoError(t, err)
	defer answer.Body.Close()
	var got struct {
		Properties struct {
			Action struct{ Request json.RawMessage }
		}
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&got))
	require.JSONEq(t, request, string(got.Properties.Action.Request))
}

func TestARecurrenceComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	for _, tt := range []struct {
		name string
		sent scheduler.JobRecurrence
		want string
	}{
		{"every minute", scheduler.JobRecurrence{Frequency: scheduler.Minute}, `{"frequency":"minute","interval":1}`},
		{
			"every six hours, ten times, for ten years",
			scheduler.JobRecurrence{
				Frequency: scheduler.Hour, Interval: new(int32(6)), Count: new(int32(10)),
				EndTime: &date.Time{Time: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)},
			},
			`{"frequency":"hour","interval":6,"count":10,"endTime":"2036-01-01T00:00:00Z"}`,
		},
		{
			"at times of the day",
			scheduler.JobRecurrence{Frequency: scheduler.Day, Schedule: &scheduler.JobRecurrenceSchedule{
				Hours: &[]int32{5, 10}, Minutes: &[]int32{0, 30},
			}},
			`{"frequency":"day","interval":1,"schedule":{"hours":[5,10],"minutes":[0,30]}}`,
		},
		{
			"on days of the week",
			scheduler.JobRecurrence{Frequency: scheduler.Week, Interval: new(int32(2)), Schedule: &scheduler.JobRecurrenceSchedule{
				WeekDays: new(scheduler.PossibleDayOfWeekValues()),
			}},
			`{"frequency":"week","interval":2,"schedule":{"weekDays":["friday","monday","saturday","sunday","thursday","tuesday","wednesday"]}}`,
		},
		{
			"on days of the month",
			scheduler.JobRecurrence{Frequency: scheduler.Month, Schedule: &scheduler.JobRecurrenceSchedule{
				MonthDays: &[]int32{1, 31, -1}, Hours: &[]int32{23}, Minutes: &[]int32{59},
			}},
			`{"frequency":"month","interval":1,"schedule":{"hours":[23],"minutes":[59],"monthDays":[1,31,-1]}}`,
		},
		{
			"on certain weekdays of the month",
			scheduler.JobRecurrence{Frequency: scheduler.Month, Schedule: &scheduler.JobRecurrenceSchedule{
				MonthlyOccurrences: &[]scheduler.JobRecurrenceScheduleMonthlyOccurrence{
					{Day: scheduler.JobScheduleDayMonday, Occurrence: new(int32(1))},
					{Day: scheduler.JobScheduleDayTuesday, Occurrence: new(int32(2))},
					{Day: scheduler.JobScheduleDayWednesday, Occurrence: new(int32(3))},
					{Day: scheduler.JobScheduleDayThursday, Occurrence: new(int32(5))},
					{Day: scheduler.JobScheduleDayFriday, Occurrence: new(int32(-1))},
					{Day: scheduler.JobScheduleDaySaturday, Occurrence: new(int32(-5))},
					{Day: scheduler.JobScheduleDaySunday},
				},
			}},
			`{"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[
				{"day":"monday","Occurrence":1},{"day":"tuesday","Occurrence":2},{"day":"wednesday","Occurrence":3},{"day":"thursday","Occurrence":5},
				{"day":"friday","Occurrence":-1},{"day":"saturday","Occurrence":-5},{"day":"sunday"}]}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			put := c.put(t, "job", scheduler.JobProperties{Action: get("http://127.0.0.1/"), State: scheduler.JobStateDisabled, Recurrence: &tt.sent})
			require.JSONEq(t, tt.want, text(t, put.Properties.Recurrence))
			require.JSONEq(t, tt.want, text(t, c.get(t, "job").Recurrence))
		})
	}
}

func TestPatchOfAJobMergesDeeply(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.create(t, scheduler.Standard)
	before := scheduler.JobProperties{
		State: scheduler.JobStateDisabled,
		Action: &scheduler.JobAction{
			Type: scheduler.HTTP,
			Request: &scheduler.HTTPRequest{
				Method: new("POST"), URI: new("http://127.0.0.1/"), Body: new("b"), Headers: map[string]*string{"a": new("1"), "b": new("2")},
				Authentication: scheduler.BasicAuthentication{Username: new("ada"), Password: new(canary + "password")},
			},
			RetryPolicy: &scheduler.RetryPolicy{RetryType: scheduler.Fixed, RetryInterval: new("00:01:00"), RetryCount: new(int32(2))},
		},
		Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Week, Interval: new(int32(3)), Count: new(int32(9)), Schedule: &scheduler.JobRecurrenceSchedule{
			WeekDays: &[]scheduler.DayOfWeek{scheduler.Monday}, Hours: &[]int32{9},
		}},
	}
	const (
		request    = `"request":{"method":"POST","uri":"http://127.0.0.1/","body":"b","headers":{"a":"1","b":"2"},"authentication":{"type":"Basic","username":"ada"}}`
		retries    = `"retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":2}`
		action     = `"action":{"type":"Http",` + request + `,` + retries + `}`
		recurrence = `"recurrence":{"frequency":"week","interval":3,"count":9,"schedule":{"weekDays":["monday"],"hours":[9]}}`
	)
	for _, tt := range []struct {
		name  string
		patch scheduler.JobProperties
		want  string
	}{
		{"nothing", scheduler.JobProperties{}, `{"state":"disabled",` + action + `,` + recurrence + `}`},
		{
			"a member of a member",
			scheduler.JobProperties{Recurrence: &scheduler.JobRecurrence{Schedule: &scheduler.JobRecurrenceSchedule{Hours: &[]int32{17, 18}}}},
			`{"state":"disabled",` + action + `,"recurrence":{"frequency":"week","interval":3,"count":9,"schedule":{"weekDays":["monday"],"hours":[17,18]}}}`,
		},
		{
			"one number",
			scheduler.JobProperties{Action: &scheduler.JobAction{RetryPolicy: &scheduler.RetryPolicy{RetryCount: new(int32(5))}}},
			`{"state":"disabled","action":{"type":"Http",` + request + `,"retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":5}},` + recurrence + `}`,
		},
		{
			"the request, with which this client always sends authentication: null",
			scheduler.JobProperties{Action: &scheduler.JobAction{Request: &scheduler.HTTPRequest{Headers: map[string]*string{"b": new("3")}}}},
			`{"state":"disabled","action":{"type":"Http","request":{"method":"POST","uri":"http://127.0.0.1/","body":"b","headers":{"a":"1","b":"3"},
				"authentication":null},` + retries + `},` + recurrence + `}`,
		},
		{
			"the type of the action",
			scheduler.JobProperties{Action: &scheduler.JobAction{Type: scheduler.StorageQueue, QueueMessage: &scheduler.StorageQueueMessage{
				StorageAccount: new("account"), QueueName: new("queue"), SasToken: new(canary + "sas"), Message: new("m"),
			}}},
			`{"state":"disabled","action":{"type":"StorageQueue","queueMessage":{"storageAccount":"account","queueName":"queue","message":"m"},` + retries + `},` + recurrence + `}`,
		},
		{
			"an error action",
			scheduler.JobProperties{Action: &scheduler.JobAction{ErrorAction: &scheduler.JobErrorAction{Type: scheduler.HTTP, Request: get("http://127.0.0.1/alarm").Request}}},
			`{"state":"disabled","action":{"type":"Http",` + request + `,` + retries + `,"errorAction":{"type":"Http",
				"request":{"method":"GET","uri":"http://127.0.0.1/alarm","authentication":null}}},` + recurrence + `}`,
		},
		{
			"the state",
			scheduler.JobProperties{State: scheduler.JobStateEnabled},
			`{"state":"enabled",` + action + `,` + recurrence + `}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.put(t, "job", before)
			got, err := c.jobs.Patch(t.Context(), group, collection, "job", scheduler.JobDefinition{Properties: &tt.patch})
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, got.StatusCode)
			require.JSONEq(t, tt.want, text(t, got.Properties))
			require.JSONEq(t, tt.want, text(t, c.get(t, "job")))
		})
	}
}
