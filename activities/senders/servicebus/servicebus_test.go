package servicebus_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"almanac/activities/senders/servicebus"
	"almanac/internal/emulators"
	"almanac/internal/iso8601"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

const (
	pollLimit = time.Minute
	pollEvery = 10 * time.Millisecond
)

// busAction returns an action that sends "hello" to a queue of the peer's namespace.
func busAction(queue string) *job.Action {
	return &job.Action{Type: kind.ServiceBusQueue, Content: kind.Content{ServiceBusQueueMessage: &kind.ServiceBusMessage{
		QueueName: queue, Namespace: emulators.ServiceBusNamespace, Message: "hello",
		Authentication: &kind.ServiceBusAuth{Type: "sharedAccessKey", SASKeyName: emulators.ServiceBusKeyName, SASKey: emulators.ServiceBusKey},
	}}}
}

// topicAction returns an action that sends "hello" to a topic of the peer's namespace.
func topicAction(topic string) *job.Action {
	m := busAction("").ServiceBusQueueMessage
	m.TopicPath = topic
	return &job.Action{Type: kind.ServiceBusTopic, Content: kind.Content{ServiceBusTopicMessage: m}}
}

func startBus(t testing.TB) *emulators.ServiceBus {
	t.Helper()
	return emulators.StartServiceBus(t, emulators.ServiceBusOptions{
		Queues: []emulators.ServiceBusQueue{{Name: "orders"}, {Name: "others"}, {Name: "once", DetectDuplicates: true}},
		Topics: []emulators.ServiceBusTopic{{Name: "shop/news", Subscriptions: []string{"all", "some"}}},
	})
}

// busSender returns a sender whose connections lead to a peer.
func busSender(t testing.TB, bus *emulators.ServiceBus, o servicebus.Options) *servicebus.Sender {
	t.Helper()
	o.CustomEndpoint, o.RootCAs = bus.Address, bus.RootCAs
	s := servicebus.New(o)
	t.Cleanup(s.Close)
	return s
}

func TestMessagesArriveInServiceBus(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})

	t.Run("in a queue", func(t *testing.T) {
		message, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
		require.NoError(t, err)
		require.Equal(t, "ServiceBusQueue Action - Message '6ba7b810-9dad-11d1-80b4-00c04fd430c8' accepted by queue 'orders' of namespace 'contoso'", message)
		got := bus.Receive(t, 1, "orders")[0]
		require.Equal(t, "hello", string(got.Body))
		require.Equal(t, sendertest.Execution.ID, got.MessageID)
		require.Nil(t, got.ContentType)
		require.Zero(t, *got.TimeToLive)
		require.Empty(t, got.ApplicationProperties)
	})

	t.Run("with placeholders filled in", func(t *testing.T) {
		a := busAction("orders")
		m := a.ServiceBusQueueMessage
		m.Message, m.Template = `{"job":"{{.Job.Name}}","error":"{{.Failure.Error}}"}`, true
		m.CustomMessageProperties = job.Members{{Name: "error", Value: "{{.Failure.Error}}"}}
		_, err := sender.Send(t.Context(), sendertest.Execution, sendertest.FilledIn(t, a))
		require.NoError(t, err)
		got := bus.Receive(t, 1, "orders")[0]
		require.Equal(t, `{"job":"nightly","error":"\"it\" <failed> & ended"}`, string(got.Body))
		require.Equal(t, map[string]any{"error": `"it" <failed> & ended`}, got.ApplicationProperties)
	})

	t.Run("in every subscription of a topic", func(t *testing.T) {
		message, err := sender.Send(t.Context(), sendertest.Execution, topicAction("shop/news"))
		require.NoError(t, err)
		require.Equal(t, "ServiceBusTopic Action - Message '6ba7b810-9dad-11d1-80b4-00c04fd430c8' accepted by topic 'shop/news' of namespace 'contoso'", message)
		for _, subscription := range []string{"all", "some"} {
			require.Equal(t, "hello", string(bus.Receive(t, 1, "shop/news", subscription)[0].Body))
		}
	})

	t.Run("whatever their text and transport type", func(t *testing.T) {
		for name, text := range map[string]string{
			"nothing":         "",
			"line ends":       "\r\na\nb\rc\r\n",
			"a null and more": "\x00\x01\u007f",
			"other scripts":   "Grüße, 世界, مرحبا, 👩‍👩‍👧‍👦",
			"many frames":     strings.Repeat("0123456789", 20000),
		} {
			for _, transport := range []string{"", "notSpecified", "netMessaging", "amqp"} {
				a := busAction("orders")
				a.ServiceBusQueueMessage.Message, a.ServiceBusQueueMessage.TransportType = text, transport
				_, err := sender.Send(t.Context(), sendertest.Execution, a)
				require.NoError(t, err, name)
				require.Equal(t, text, string(bus.Receive(t, 1, "orders")[0].Body), name)
			}
		}
	})
}

func TestPropertiesArriveInServiceBus(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	due := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	properties := &kind.BrokeredProperties{
		ContentType: "text/plain; charset=utf-8", CorrelationID: "correlation", ForcePersistence: new(true), Label: "a label", MessageID: "message-1",
		PartitionKey: "session-1", ReplyTo: "answers", ReplyToSessionID: "session-2", ScheduledEnqueueTimeUTC: &job.Time{Time: due},
		SessionID: "session-1", TimeToLive: "PT1H", To: "somewhere", ViaPartitionKey: "transfer",
	}
	custom := job.Members{{Name: "color", Value: "grün"}, {Name: "Color", Value: ""}}
	queue, topic := busAction("orders"), topicAction("shop/news")
	for _, m := range []*kind.ServiceBusMessage{queue.ServiceBusQueueMessage, topic.ServiceBusTopicMessage} {
		m.BrokeredMessageProperties, m.CustomMessageProperties = properties, custom
	}
	for _, tt := range []struct {
		name         string
		action       *job.Action
		entity       string
		subscription []string
	}{
		{"to a queue", queue, "orders", nil},
		{"to a topic", topic, "shop/news", []string{"some"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			message, err := sender.Send(t.Context(), sendertest.Execution, tt.action)
			require.NoError(t, err)
			require.Contains(t, message, "Message 'message-1' accepted")
			got := bus.Receive(t, 1, tt.entity, tt.subscription...)[0]
			require.Equal(t, "text/plain; charset=utf-8", *got.ContentType)
			require.Equal(t, "correlation", *got.CorrelationID)
			require.Equal(t, "a label", *got.Subject)
			require.Equal(t, "message-1", got.MessageID)
			require.Equal(t, "session-1", *got.PartitionKey)
			require.Equal(t, "answers", *got.ReplyTo)
			require.Equal(t, "session-2", *got.ReplyToSessionID)
			require.True(t, due.Equal(*got.ScheduledEnqueueTime), "%s", got.ScheduledEnqueueTime)
			require.Equal(t, "session-1", *got.SessionID)
			require.Equal(t, time.Hour, *got.TimeToLive)
			require.Equal(t, "somewhere", *got.To)
			require.Equal(t, map[string]any{"color": "grün", "Color": ""}, got.ApplicationProperties)
			require.True(t, got.RawAMQPMessage.Header.Durable)
			require.Equal(t, "transfer", got.RawAMQPMessage.MessageAnnotations["x-opt-via-partition-key"])
		})
	}
}

func TestAMessageHasTheTraceOfTheAttempt(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	traced := trace.ContextWithSpanContext(t.Context(), span)
	for _, propagate := range []bool{true, false} {
		sender := busSender(t, bus, servicebus.Options{PropagateTrace: propagate})
		for _, wanted := range []*bool{nil, new(true), new(false)} {
			a := busAction("orders")
			a.ServiceBusQueueMessage.Traceparent = wanted
			_, err := sender.Send(traced, sendertest.Execution, a)
			require.NoError(t, err)
			got := bus.Receive(t, 1, "orders")[0].ApplicationProperties
			if propagate && (wanted == nil || *wanted) {
				require.Equal(t, map[string]any{"traceparent": "00-01000000000000000000000000000000-0200000000000000-01"}, got)
			} else {
				require.Empty(t, got)
			}
		}
	}
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	const most = 1<<32 - 1 // milliseconds in a header's ttl: 49 days
	far := time.Date(2999, 12, 31, 23, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, timeToLive string
		ttl              time.Duration
		expires          time.Time // for a date; zero for a duration, which determines it
	}{
		{"an ISO 8601 duration", "P1DT2H", 26 * time.Hour, time.Time{}},
		{"a TimeSpan", "00:00:30", 30 * time.Second, time.Time{}},
		{"more than a header holds", "P90D", most * time.Millisecond, time.Time{}},
		{"a date and time", "2999-12-31T23:00:00Z", most * time.Millisecond, far},
		{"a date and time with an offset", "2999-12-31T22:00:00-01:00", most * time.Millisecond, far},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := busAction("orders")
			a.ServiceBusQueueMessage.BrokeredMessageProperties = &kind.BrokeredProperties{TimeToLive: tt.timeToLive}
			_, err := sender.Send(t.Context(), sendertest.Execution, a)
			require.NoError(t, err)
			got := bus.Receive(t, 1, "orders")[0]
			require.Equal(t, tt.ttl, *got.TimeToLive)
			properties := got.RawAMQPMessage.Properties
			if tt.expires.IsZero() {
				d, err := iso8601.ParseDuration(tt.timeToLive)
				require.NoError(t, err)
				require.Equal(t, d, properties.AbsoluteExpiryTime.Sub(*properties.CreationTime))
			} else {
				require.True(t, tt.expires.Equal(*properties.AbsoluteExpiryTime), "%s", properties.AbsoluteExpiryTime)
			}
		})
	}
}

func TestSendsAtTheSameTimeShareAConnection(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	const each = 100
	var group sync.WaitGroup
	for i := range each {
		// Entity names compare without case.
		for _, queue := range []string{"orders", []string{"others", "Others", "OTHERS"}[i%3]} {
			group.Go(func() {
				e := sendertest.Execution
				e.ID = fmt.Sprintf("%s-%d", strings.ToLower(queue), i)
				if _, err := sender.Send(t.Context(), e, busAction(queue)); err != nil {
					t.Errorf("Send() = %v", err)
				}
			})
		}
	}
	group.Wait()
	require.Equal(t, emulators.ServiceBusStats{Connections: 1, Open: 1, Links: 2, Tokens: 2, Transfers: 2 * each}, bus.Stats(t))
	for _, queue := range []string{"orders", "others"} {
		var want, got []string
		for i, m := range bus.Receive(t, each, queue) {
			want, got = append(want, fmt.Sprintf("%s-%d", queue, i)), append(got, m.MessageID)
		}
		require.ElementsMatch(t, want, got)
	}
}

func TestConnectionIsClosedWhenItIsIdle(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{IdleTimeout: 50 * time.Millisecond})
	for n := range 2 {
		_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
		require.NoError(t, err)
		require.Equal(t, n+1, bus.Stats(t).Connections)
		require.Eventually(t, func() bool { return bus.Stats(t).Open == 0 }, pollLimit, pollEvery)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{MaxConnections: 2})
	send := func(namespace string) {
		t.Helper()
		a := busAction("orders")
		a.ServiceBusQueueMessage.Namespace = namespace
		_, err := sender.Send(t.Context(), sendertest.Execution, a)
		require.NoError(t, err)
	}
	for _, namespace := range []string{"contoso", "fabrikam", "contoso", "northwind"} {
		send(namespace)
	}
	require.Equal(t, 3, bus.Stats(t).Connections)
	require.Eventually(t, func() bool { return bus.Stats(t).Open == 2 }, pollLimit, pollEvery)
	send("contoso")
	require.Equal(t, 3, bus.Stats(t).Connections, "the one that was used before is kept")
	send("fabrikam")
	require.Equal(t, 4, bus.Stats(t).Connections, "the one that was not used for longest is not")
}

func TestConnectionsAreNotSharedBetweenKeys(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
	require.NoError(t, err)

	stranger := busAction("orders")
	stranger.ServiceBusQueueMessage.Authentication.SASKey = "another"
	_, err = sender.Send(t.Context(), sendertest.Execution, stranger)
	require.ErrorContains(t, err, "is not accepted", "a connection that may send does not help who may not")

	_, err = sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
	require.NoError(t, err)
	stats := bus.Stats(t)
	require.Equal(t, 2, stats.Connections)
	require.Equal(t, 2, stats.Transfers)
}

func TestNamespaceThatRestarts(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	send := func() error {
		_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
		sendertest.RequirePermanent(t, false, err)
		return err
	}
	require.NoError(t, send())

	require.NoError(t, bus.Stop())
	const refused = "no connection to contoso.servicebus.windows.net: the connection was refused: nothing listens at this port"
	// The first one may be sent before the loss of the connection is noticed.
	require.Eventually(t, func() bool { err := send(); return err != nil && err.Error() == refused }, pollLimit, pollEvery)

	bus.Start(t)
	require.NoError(t, send())
	require.Len(t, bus.Receive(t, 1, "orders"), 1)
}

// Service Bus detaches links of entities that are idle or moved.
func TestLinkThatWasDetachedIsReplaced(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
	require.NoError(t, err)
	bus.Detach(t)
	crossed := false // a message was sent before the detach arrived
	var stats emulators.ServiceBusStats
	require.Eventually(t, func() bool { // a message sent before the detach arrives may still be accepted
		_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
		crossed = crossed || err != nil
		stats = bus.Stats(t)
		return err == nil && stats.Links >= 2
	}, pollLimit, pollEvery)
	if !crossed {
		require.Equal(t, 1, stats.Connections)
		require.Equal(t, 2, stats.Links)
	}
}

func TestDuplicatesOfAnExecutionAreDetected(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	// The namespace stores the message, and its answer is lost.
	bus.Fail(t, emulators.ServiceBusFailure{Entity: "once", At: "transfer", How: "drop", Stored: true, Times: 1})
	message, err := sender.Send(t.Context(), sendertest.Execution, busAction("once"))
	require.EqualError(t, err, "the connection was lost before the service answered; the message may have been accepted")
	require.Equal(t, "ServiceBusQueue Action - Message to queue 'once' of namespace 'contoso' failed: "+err.Error(), message)
	sendertest.RequirePermanent(t, false, err)
	require.Equal(t, 1, bus.Stats(t).Transfers, "it is the job that repeats it")

	_, err = sender.Send(t.Context(), sendertest.Execution, busAction("once"))
	require.NoError(t, err)
	next := sendertest.Execution
	next.ID = "the next execution"
	_, err = sender.Send(t.Context(), next, busAction("once"))
	require.NoError(t, err)

	got := bus.Receive(t, 2, "once")
	require.Equal(t, []string{sendertest.Execution.ID, next.ID}, []string{got[0].MessageID, got[1].MessageID})
}

func TestClosedServiceBus(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
	require.NoError(t, err)
	sender.Close()
	require.Eventually(t, func() bool { return bus.Stats(t).Open == 0 }, pollLimit, pollEvery)
	_, err = sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
	require.EqualError(t, err, "the worker was stopped; nothing was sent")
	sendertest.RequirePermanent(t, false, err)
	sender.Close()
}
