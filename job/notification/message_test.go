package notification_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

var collection = job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "Reports"}

func failed(name string) notification.Alert {
	a := notification.Alert{Event: job.EventFailed, Job: collection.Job(name), Time: noon, Failures: 3, Attempts: 5, Error: "500 Internal Server Error: <none>", Execution: "e1", Due: noon.Add(-time.Second)}
	a.Identify("run", "e1")
	a.Describe("")
	return a
}

func message(alerts ...notification.Alert) *notification.Message {
	m := &notification.Message{ID: "m1", Collection: collection}
	for i := range alerts {
		m.Add(&alerts[i])
	}
	return m
}

// sent returns the action that sends a message to a target in JSON.
func sent(t *testing.T, m *notification.Message, target string) job.Action {
	t.Helper()
	return posted(t, m, target).Action
}

// posted returns what is sent of a message to a target in JSON.
func posted(t *testing.T, m *notification.Message, target string) notification.Post {
	t.Helper()
	var to job.Target
	require.NoError(t, json.Unmarshal([]byte(target), &to))
	posts, err := m.Posts(&to)
	require.NoError(t, err)
	require.Len(t, posts, 1)
	require.Equal(t, m.ID, posts[0].ID)
	return posts[0]
}

const hook = `{"type":"Https","request":{"uri":"https://example.com/","method":"POST"}}`

func TestAnAlertIsSentAsACloudEvent(t *testing.T) {
	t.Parallel()
	a := sent(t, message(failed("a täglich")), hook)
	require.Equal(t, "application/cloudevents+json; charset=utf-8", a.Request.Headers.Get("content-type"))
	require.JSONEq(t, `{"specversion":"1.0","id":"m1","type":"io.almanac.job.failed","subject":"a täglich","time":"2026-01-01T12:00:00Z","datacontenttype":"application/json",
		"source":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/Reports/jobs/a%20t%C3%A4glich",
		"data":{"event":"failed","job":"a täglich","jobCollection":"Reports","text":"Job 'a täglich' failed 3 times in a row: 500 Internal Server Error: <none>",
			"jobId":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/Reports/jobs/a täglich","time":"2026-01-01T12:00:00Z",
			"executionId":"e1","due":"2026-01-01T11:59:59Z","attempts":5,"failures":3,"error":"500 Internal Server Error: <none>"}}`, a.Request.Body)
}

func TestAThousandAlertsAreOneDigestOfBoundedSize(t *testing.T) {
	t.Parallel()
	m := message()
	for i := range 1000 {
		a := failed(strings.Repeat("ä", 200) + fmt.Sprint(i))
		if i%100 == 0 {
			a.Event = job.EventMissed
		}
		m.Add(&a)
	}
	require.Equal(t, 1000, m.Total())
	require.Equal(t, "1000 events in job collection 'Reports': 10 missed, 990 failed", m.Subject())
	require.True(t, strings.HasSuffix(m.Text(), "\n- and 980 more"), m.Text())
	body := sent(t, m, hook).Request.Body
	require.Less(t, len(body), 64<<10, "what a storage queue takes")
	var e struct {
		Type, Subject string
		Data          struct {
			Total  int
			Counts []notification.Count
			Alerts []map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	require.Equal(t, "io.almanac.digest", e.Type)
	require.Equal(t, "Reports", e.Subject)
	require.Equal(t, 1000, e.Data.Total)
	require.Equal(t, []notification.Count{{Event: job.EventMissed, Number: 10}, {Event: job.EventFailed, Number: 990}}, e.Data.Counts)
	require.Len(t, e.Data.Alerts, notification.MaxListed)
}

func TestEachTargetGetsItsOwnForm(t *testing.T) {
	t.Parallel()
	m := message(failed("a"))
	slack := sent(t, m, `{"type":"Https","format":"slack","request":{"uri":"https://hooks.slack.com/x","method":"POST"}}`)
	require.JSONEq(t, `{"text":"Job 'a' failed 3 times in a row: 500 Internal Server Error: &lt;none&gt;\nJob collection 'Reports', due 2026-01-01T11:59:59Z, 5 attempts","mrkdwn":false}`, slack.Request.Body)
	require.Equal(t, "application/json; charset=utf-8", slack.Request.Headers.Get("Content-Type"))

	teams := sent(t, m, `{"type":"Https","format":"teams","request":{"uri":"https://example.com/"}}`)
	require.Contains(t, teams.Request.Body, `"contentType":"application/vnd.microsoft.card.adaptive"`)
	require.Contains(t, teams.Request.Body, `"text":"Job 'a' failed 3 times in a row: 500 Internal Server Error: <none>"`)
	require.Contains(t, teams.Request.Body, `"text":"Job collection 'Reports', due 2026-01-01T11:59:59Z, 5 attempts"`)

	email := posted(t, m, `{"type":"Email","email":{"to":["team@example.com"]}}`)
	require.Equal(t, "Almanac: Job 'a' failed 3 times in a row: 500 Internal Server Error: <none>", email.Mail.Subject)

	queue := sent(t, m, `{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"q","sasToken":"s"}}`)
	require.Equal(t, kind.MessageRaw, queue.QueueMessage.MessageFormat)
	require.Contains(t, queue.QueueMessage.Message, `"specversion":"1.0"`)

	topic := sent(t, m, `{"type":"ServiceBusTopic","serviceBusTopicMessage":{"namespace":"n","topicPath":"t"}}`)
	require.Contains(t, topic.ServiceBusTopicMessage.Message, `"specversion":"1.0"`)
	require.Equal(t, "application/cloudevents+json; charset=utf-8", topic.ServiceBusTopicMessage.BrokeredMessageProperties.ContentType)
}

func TestEveryFormSaysWhatFailedAndWhyAndLinksToTheHistory(t *testing.T) {
	t.Parallel()
	const history = "https://jobs.example.com/almanac/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/Reports/jobs/a%20t%C3%A4glich/history?api-version=2016-03-01"
	for name, target := range map[string]string{
		"a web hook": hook,
		"Slack":      `{"type":"Https","format":"slack","request":{"uri":"https://hooks.slack.com/x","method":"POST"}}`,
		"Teams":      `{"type":"Https","format":"teams","request":{"uri":"https://example.com/"}}`,
		"mail":       `{"type":"Email","email":{"to":["team@example.com"]}}`,
		"a queue":    `{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"q","sasToken":"s"}}`,
		"a topic":    `{"type":"ServiceBusTopic","serviceBusTopicMessage":{"namespace":"n","topicPath":"t"}}`,
	} {
		for form, m := range map[string]*notification.Message{
			"one alert": message(failed("a täglich")),
			"a digest":  message(failed("a täglich"), failed("b"), failed("c")),
		} {
			text := func(m *notification.Message) string {
				p := posted(t, m, target)
				a := p.Action
				switch {
				case p.Type == kind.Mail:
					return p.Mail.Text
				case a.Request != nil:
					return a.Request.Body
				case a.QueueMessage != nil:
					return a.QueueMessage.Message
				}
				return a.ServiceBusTopicMessage.Message
			}
			require.NotContains(t, text(m), "/history", "%s, %s: nobody knows where the API is", name, form)
			m.PublicURL = "https://jobs.example.com/almanac"
			got := strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(text(m))
			for _, part := range []string{"a täglich", "Reports", "2026-01-01T11:59:59Z", "5", "500 Internal Server Error: <none>", history} {
				require.Contains(t, got, part, "%s, %s", name, form)
			}
		}
	}
}

func TestAnAlertAboutAWholeCollectionLinksToIt(t *testing.T) {
	t.Parallel()
	a := notification.Alert{Event: notification.EventTest, Job: collection.Job(""), Time: noon}
	a.Describe("")
	m := message(a)
	m.PublicURL = "https://jobs.example.com"
	require.Equal(t, "This is a test of the notifications of job collection 'Reports'\n"+
		"https://jobs.example.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/Reports?api-version=2016-03-01", m.Text())
}

func TestTheErrorOfAnAlertIsCutInWholeCharacters(t *testing.T) {
	t.Parallel()
	a := notification.Alert{Event: job.EventFailed, Job: collection.Job("a"), Time: noon, Error: "500 Internal Server Error: " + strings.Repeat("ä", 300)}
	a.Describe("")
	require.Equal(t, "Job 'a' failed: 500 Internal Server Error: "+strings.Repeat("ä", 235)+"…", a.Sentence())
}

func TestAHeaderOfTheTargetIsKept(t *testing.T) {
	t.Parallel()
	a := sent(t, message(failed("a")), `{"type":"Https","request":{"uri":"https://example.com/","headers":{"content-type":"application/json","x-token":"t"}}}`)
	require.Equal(t, job.Members{{Name: "content-type", Value: "application/json"}, {Name: "x-token", Value: "t"}}, a.Request.Headers)
}

func TestAnAlertHasTheSameIDHoweverOftenItIsRaised(t *testing.T) {
	t.Parallel()
	first, again := failed("a"), failed("a")
	require.Equal(t, first.ID, again.ID)
	require.NotEqual(t, failed("a").ID, failed("b").ID)
	other := failed("a")
	other.Identify("run", "e2")
	require.NotEqual(t, failed("a").ID, other.ID)
}

// Names of jobs and what hosts answer are written by others than those who read a chat.
func TestChatsTakeNoMarkupFromNamesAndAnswers(t *testing.T) {
	t.Parallel()
	hostile := "[pay here](https://evil.example) **bold** <!channel> <https://evil.example|click> @channel @Everyone <at>all</at> {{DATE(2026-01-01)}} ${secret}\r\n# Heading\n- item"
	m := &notification.Message{ID: "m", Collection: job.CollectionKey{Name: "c"}}
	m.Add(&notification.Alert{ID: "a", Event: job.EventFailed, Text: hostile})

	slack := sent(t, m, `{"type":"Https","format":"slack","request":{"uri":"https://hooks.slack.com/x"}}`).Request.Body
	var message struct {
		Text   string
		Mrkdwn *bool
	}
	require.NoError(t, json.Unmarshal([]byte(slack), &message))
	require.NotNil(t, message.Mrkdwn)
	require.False(t, *message.Mrkdwn, "Slack reads no asterisks")
	require.NotContains(t, message.Text, "<")
	require.NotRegexp(t, "(?i)@(channel|everyone)", message.Text)

	teams := sent(t, m, `{"type":"Https","format":"teams","request":{"uri":"https://example.com/"}}`).Request.Body
	require.NotContains(t, teams, `"TextBlock"`, "a TextBlock has Markdown")
	require.NotContains(t, teams, "{{")
	require.NotContains(t, teams, "${")
	require.Contains(t, teams, `"text":"# Heading"`, "a line for each")
	require.Contains(t, teams, `[pay here](https://evil.example)`, "as text")

	mail := posted(t, m, `{"type":"Email","email":{"to":["a@example.com"]}}`).Mail
	require.NotContains(t, mail.Subject, "\n")
}
