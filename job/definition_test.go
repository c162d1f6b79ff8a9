package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestDefinitionDefaults(t *testing.T) {
	t.Parallel()
	once := mustParse(t, withAction(httpAction))
	require.Equal(t, 1, once.Limit())
	require.Equal(t, job.OverlapBufferOne, once.Recurrence.Overlap())
	require.Zero(t, once.Recurrence.CatchUp())

	often := mustParse(t, withRecurrence(`{"frequency":"day"}`))
	require.Zero(t, often.Limit())
	require.Equal(t, job.OverlapBufferOne, often.Recurrence.Overlap())

	bounded := mustParse(t, withRecurrence(`{"frequency":"day","count":5,"overlapPolicy":"skip","catchUpWindow":"PT90M"}`))
	require.Equal(t, 5, bounded.Limit())
	require.Equal(t, job.OverlapSkip, bounded.Recurrence.Overlap())
	require.Equal(t, 90*time.Minute, bounded.Recurrence.CatchUp())
}

func TestSameSchedule(t *testing.T) {
	t.Parallel()
	base := mustParse(t, withRecurrence(`{"frequency":"week","schedule":{"hours":[8]}}`))
	for _, tt := range []struct {
		name, body string
		same       bool
	}{
		{"said otherwise", withRecurrence(`{"Frequency":"WEEK","interval":1,"schedule":{"Hours":8}}`), true},
		{"another policy", withRecurrence(`{"frequency":"week","schedule":{"hours":[8]},"overlapPolicy":"skip","catchUpWindow":"PT1H"}`), true},
		{"another hour", withRecurrence(`{"frequency":"week","schedule":{"hours":[9]}}`), false},
		{"a count", withRecurrence(`{"frequency":"week","count":2,"schedule":{"hours":[8]}}`), false},
		{"a start", `{"startTime":"2026-02-01","action":` + httpAction + `,"recurrence":{"frequency":"week","schedule":{"hours":[8]}}}`, false},
		{"once", withAction(httpAction), false},
	} {
		other := mustParse(t, tt.body)
		require.Equal(t, tt.same, base.SameSchedule(&other), tt.name)
		require.Equal(t, tt.same, other.SameSchedule(&base), tt.name)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		withAction(httpAction):                "GET http://example.com/, once",
		withRecurrence(`{"frequency":"day"}`): "GET http://example.com/, every day",
		withAction(`{"type":"Http","request":{"uri":"http://h/{{.Job.Name}}/ü?key={{.Attempt}}","template":true}}`):      "GET http://h/{{.Job.Name}}/%C3%BC?…, once",
		withAction(`{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"queue","sasToken":"s"}}`): "message to storage queue acc/queue, once",
		withAction(`{"type":"ServiceBusQueue","serviceBusQueueMessage":{"namespace":"ns","queueName":"q"}}`):             "message to service bus queue ns/q, once",
		withAction(`{"type":"ServiceBusTopic","serviceBusTopicMessage":{"namespace":"ns","topicPath":"t"}}`):             "message to service bus topic ns/t, once",
		withRecurrence(`{"frequency":"month","interval":2,"timeZone":"Europe/Stockholm","schedule":{"monthDays":[-1]}}`): "GET http://example.com/, the last day of every second month, Europe/Stockholm",
		`{"startTime":"2026-02-02T09:00:00Z","action":` + httpAction + `,"recurrence":{"frequency":"week","interval":2,"count":5,"endTime":"2027-01-01"}}`: "GET http://example.com/, " +
			"every 2 weeks on Monday at 09:00, from 2026-02-02 09:00 until 2027-01-01 00:00, 5 times",
	} {
		d := mustParse(t, body)
		require.Equal(t, want, d.Text())
	}
}

func TestTextIsShort(t *testing.T) {
	t.Parallel()
	d := mustParse(t, withRecurrence(`{"frequency":"month","schedule":{"monthDays":[1,3,5,7,9,11,13,15,17,19,21,23,-1,-3,-5,-7,-9]}}`))
	require.Greater(t, len(d.When()), 200)
	require.Less(t, len(d.Text()), 200)
	require.True(t, strings.HasSuffix(d.Text(), "…"))
}

func TestFinalStates(t *testing.T) {
	t.Parallel()
	require.True(t, job.StateCompleted.Final())
	require.True(t, job.StateFaulted.Final())
	require.False(t, job.StateEnabled.Final())
	require.False(t, job.StateDisabled.Final())
}
