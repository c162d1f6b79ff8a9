package servicebus_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders/servicebus"
	"almanac/internal/egress"
	"almanac/internal/emulators"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

func TestRefusalsOfServiceBus(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	const (
		unauthorized = "the shared access key 'send' is not accepted: check sasKeyName and sasKey, and that the key has the right to send"
		missing      = "there is no such queue in the namespace"
	)
	reject := func(condition, description string) *emulators.ServiceBusFailure {
		return &emulators.ServiceBusFailure{At: "transfer", How: "reject", Condition: condition, Description: description}
	}
	for _, tt := range []struct {
		name      string
		fail      *emulators.ServiceBusFailure // nil if it fails without one
		change    func(*kind.ServiceBusMessage)
		want      string
		permanent bool
		transfers int
	}{
		{name: "a wrong key", change: func(m *kind.ServiceBusMessage) { m.Authentication.SASKey = "another" },
			want: unauthorized + " (401 InvalidSignature: The token has an invalid signature.)"},
		{name: "a wrong name of a key", change: func(m *kind.ServiceBusMessage) { m.Authentication.SASKeyName = "receive & send" },
			want: strings.Replace(unauthorized, "send", "receive & send", 1) + " (401 InvalidSignature: The key name is not known.)"},
		{name: "a queue that is missing", change: func(m *kind.ServiceBusMessage) { m.QueueName = "nowhere" },
			want: missing + " (amqp:not-found The messaging entity 'nowhere' could not be found.)"},
		{name: "a queue that is missing for the tokens' service", fail: &emulators.ServiceBusFailure{At: "token", Status: 404, Description: "Not found."},
			want: missing + " (404 Not found.)"},
		{name: "a tokens' service that fails", fail: &emulators.ServiceBusFailure{At: "token", Status: 500, Description: "Internal error."},
			want: "the service did not take the token (500 Internal error.)"},
		{name: "a key without the right", fail: &emulators.ServiceBusFailure{At: "attach", Condition: "amqp:unauthorized-access", Description: "'Send' claim(s) are required."},
			want: unauthorized + " (amqp:unauthorized-access 'Send' claim(s) are required.)"},
		{name: "a right that was taken away", fail: reject("amqp:unauthorized-access", "'Send' claim(s) are required."), transfers: 1,
			want: unauthorized + " (amqp:unauthorized-access 'Send' claim(s) are required.)"},
		{name: "a namespace that is busy", fail: reject("com.microsoft:server-busy", "The request was throttled."), transfers: 1,
			want: "the namespace is busy and takes no message now: let attempts be further apart, or raise its capacity (com.microsoft:server-busy The request was throttled.)"},
		{name: "a namespace that is busy before it takes a message", fail: &emulators.ServiceBusFailure{At: "attach", Condition: "com.microsoft:server-busy"},
			want: "the namespace is busy and takes no message now: let attempts be further apart, or raise its capacity (com.microsoft:server-busy)"},
		{name: "an answer that has the key", fail: reject("com.microsoft:timeout", "The key "+url.QueryEscape(emulators.ServiceBusKey)+" is slow."), transfers: 1,
			want: "the service was not done in time; the message may have been accepted (com.microsoft:timeout The key …%3D%3D is slow.)"},
		{name: "an answer that has the token", fail: &emulators.ServiceBusFailure{At: "token", Status: 500, Description: "SharedAccessSignature sr=a&sig=topsecret%3D&skn=send is bad."},
			want: "the service did not take the token (500 SharedAccessSignature … is bad.)"},
		{name: "a queue that is full", fail: reject("amqp:resource-limit-exceeded", ""), transfers: 1,
			want: "the queue is full: have messages received, or raise its size (amqp:resource-limit-exceeded)"},
		{name: "a queue that is disabled", fail: &emulators.ServiceBusFailure{At: "attach", Condition: "com.microsoft:entity-disabled"},
			want: "the queue is disabled for sending (com.microsoft:entity-disabled)"},
		{name: "a service that was not done", fail: reject("com.microsoft:timeout", ""), transfers: 1,
			want: "the service was not done in time; the message may have been accepted (com.microsoft:timeout)"},
		{name: "a message that the queue does not take", fail: reject("amqp:not-allowed", "A session is required."), transfers: 1,
			want: "the queue does not take such a message (amqp:not-allowed A session is required.)"},
		{name: "a refusal of another kind", fail: reject("amqp:precondition-failed", "line\x00break"), transfers: 1,
			want: "the service refused the message (amqp:precondition-failed line\ufffdbreak)"},
		{name: "a refusal that is long", fail: reject("amqp:precondition-failed", strings.Repeat("x", 1000)), transfers: 1,
			want: "the service refused the message (amqp:precondition-failed " + strings.Repeat("x", 239) + "…"},
		{name: "a refusal without a reason", fail: &emulators.ServiceBusFailure{At: "transfer", How: "release"}, transfers: 1,
			want: "the service refused the message (amqp:released)"},
		{name: "a message that is too large", change: func(m *kind.ServiceBusMessage) { m.Message = strings.Repeat("x", 256<<10) }, permanent: true,
			want: "amqp:link:message-size-exceeded: the message with its properties is larger than the queue takes"},
		{name: "a message that is too large for the service", fail: reject("amqp:link:message-size-exceeded", ""), transfers: 1, permanent: true,
			want: "amqp:link:message-size-exceeded: the message with its properties is larger than the queue takes"},
		{name: "a link that is detached instead of an answer", fail: &emulators.ServiceBusFailure{At: "transfer", How: "detach", Condition: "amqp:internal-error", Description: "Try again."}, transfers: 1,
			want: "the service detached the link before it answered; the message may have been accepted (amqp:internal-error Try again.)"},
		{name: "a connection that breaks before the message is sent", fail: &emulators.ServiceBusFailure{At: "attach", How: "drop"},
			want: "the connection was lost before the service answered; the message was not sent"},
		{name: "a connection that breaks instead of an answer", fail: &emulators.ServiceBusFailure{At: "transfer", How: "drop"}, transfers: 1,
			want: "the connection was lost before the service answered; the message may have been accepted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := busAction("orders")
			if tt.change != nil {
				tt.change(a.ServiceBusQueueMessage)
			}
			if tt.fail != nil {
				tt.fail.Entity, tt.fail.Times = "others", 1
				a.ServiceBusQueueMessage.QueueName = "others"
				bus.Fail(t, *tt.fail)
			}
			sender := busSender(t, bus, servicebus.Options{})
			_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
			require.NoError(t, err)
			before := bus.Stats(t).Transfers
			message, err := sender.Send(t.Context(), sendertest.Execution, a)
			require.EqualError(t, err, tt.want)
			require.Equal(t, "ServiceBusQueue Action - Message to queue '"+a.ServiceBusQueueMessage.QueueName+"' of namespace 'contoso' failed: "+tt.want, message)
			require.NotContains(t, message, a.ServiceBusQueueMessage.Authentication.SASKey)
			sendertest.RequirePermanent(t, tt.permanent, err)
			require.Equal(t, tt.transfers, bus.Stats(t).Transfers-before, "retries are the job's")

			_, err = sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
			require.NoError(t, err, "other messages are not affected")
		})
	}
}

func TestServiceBusThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	bus.Fail(t, emulators.ServiceBusFailure{Entity: "orders", At: "transfer", How: "ignore", Times: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := sender.Send(ctx, sendertest.Execution, busAction("orders"))
		failed <- err
	}()
	require.Eventually(t, func() bool { return bus.Stats(t).Transfers == 1 }, pollLimit, pollEvery)
	cancel(errors.New("timed out: not complete after 60 s"))
	require.EqualError(t, <-failed, "timed out: not complete after 60 s")

	_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
	require.NoError(t, err)
	require.Equal(t, 2, bus.Stats(t).Connections, "one that does not answer is not used again")
}

func TestServiceBusThatCannotBeReached(t *testing.T) {
	t.Parallel()
	failing := func(err error) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: err}
		}
	}
	to := func(address string) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) { return net.Dial("tcp", address) }
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(secure.Certificate())
	web := accepting(t, func(c net.Conn) {
		_, _ = io.WriteString(tls.Server(c, secure.TLS), "HTTP/1.1 400 Bad Request\r\n\r\n")
		_, _ = c.Read(make([]byte, 1)) // until the client has read that
	})
	hangUp := accepting(t, func(c net.Conn) {
		c = tls.Server(c, secure.TLS)
		_, _ = io.ReadFull(c, make([]byte, 8)) // the protocol header
		c.Close()
	})
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came without TLS") }))
	t.Cleanup(plain.Close)
	refused := &egress.RefusedError{Target: "contoso.servicebus.windows.net", Rule: "it has a private address"}

	const none = "no connection to contoso.servicebus.windows.net: "
	for _, tt := range []struct {
		name      string
		options   servicebus.Options
		want      string
		permanent bool
	}{
		{"refused", servicebus.Options{Dial: to("127.0.0.1:1")}, none + "the connection was refused: nothing listens at this port", false},
		{"a name that DNS does not know", servicebus.Options{Dial: failing(&net.DNSError{Name: "contoso.servicebus.windows.net", IsNotFound: true})},
			none + "the name 'contoso.servicebus.windows.net' is not known to DNS; is 'contoso' the name of a namespace?", false},
		{"DNS that fails", servicebus.Options{Dial: failing(&net.DNSError{Name: "contoso.servicebus.windows.net", Server: "10.1.2.3:53", IsTemporary: true})},
			none + "DNS could not answer for 'contoso.servicebus.windows.net'", false},
		{"a certificate that is not trusted", servicebus.Options{Dial: to(secure.Listener.Addr().String()), Host: "{namespace}.example.com"},
			"no connection to contoso.example.com: TLS: the certificate is signed by an authority that is not trusted here", false},
		{"a certificate for another name", servicebus.Options{Dial: to(secure.Listener.Addr().String()), RootCAs: trusted},
			none + "TLS: the certificate is not accepted: certificate is valid for example.com, *.example.com, not contoso.servicebus.windows.net", false},
		{"no TLS", servicebus.Options{Dial: to(plain.Listener.Addr().String())}, none + "TLS: the host does not speak TLS at this port", false},
		{"no AMQP", servicebus.Options{Dial: to(web), RootCAs: trusted, Host: "{namespace}.example.com"},
			`no connection to contoso.example.com: unexpected protocol "HTTP"`, false},
		{"a host that hangs up", servicebus.Options{Dial: to(hangUp), RootCAs: trusted, Host: "{namespace}.example.com"},
			"no connection to contoso.example.com: the host closed the connection before its answer was complete", false},
		{"the guard", servicebus.Options{Dial: failing(refused)}, refused.Error(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sender := servicebus.New(tt.options)
			t.Cleanup(sender.Close)
			message, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
			require.EqualError(t, err, tt.want)
			require.Equal(t, "ServiceBusQueue Action - Message to queue 'orders' of namespace 'contoso' failed: "+tt.want, message)
			sendertest.RequirePermanent(t, tt.permanent, err)
		})
	}
}

// accepting listens and calls f with the first connection. It returns the address.
func accepting(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		f(c)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func TestServiceBusThatHangs(t *testing.T) {
	t.Parallel()
	arrived, done := make(chan struct{}), make(chan struct{})
	sender := servicebus.New(servicebus.Options{CustomEndpoint: accepting(t, func(net.Conn) {
		close(arrived)
		<-done
	})})
	t.Cleanup(sender.Close)
	t.Cleanup(func() { close(done) })
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(errors.New("timed out: not complete after 60 s"))
	}()
	message, err := sender.Send(ctx, sendertest.Execution, busAction("orders"))
	require.EqualError(t, err, "timed out: not complete after 60 s")
	require.Equal(t, "ServiceBusQueue Action - Message to queue 'orders' of namespace 'contoso' failed: timed out: not complete after 60 s", message)
}

func TestHostsOfNamespaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, host, endpoint, want string }{
		{"Azure's public cloud", "", "", "contoso.servicebus.windows.net:5671"},
		{"another cloud", "{namespace}.servicebus.chinacloudapi.cn", "", "contoso.servicebus.chinacloudapi.cn:5671"},
		{"a proxy", "", "proxy.example:8443", "proxy.example:8443"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dialled := make(chan string, 1)
			sender := servicebus.New(servicebus.Options{
				Host: tt.host, CustomEndpoint: tt.endpoint,
				Dial: func(_ context.Context, network, address string) (net.Conn, error) {
					dialled <- network + " " + address
					return nil, errors.New("no network")
				},
			})
			_, err := sender.Send(t.Context(), sendertest.Execution, busAction("orders"))
			require.ErrorContains(t, err, "no network")
			require.Equal(t, "tcp "+tt.want, <-dialled)
		})
	}
}

func TestMessagesThatServiceBusCannotTake(t *testing.T) {
	t.Parallel()
	sender := servicebus.New(servicebus.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a connection was made")
		return nil, errors.New("no network")
	}})
	const keyless = "the queue 'orders' of namespace 'contoso' asks for a shared access key: give the action an authentication of type sharedAccessKey, with sasKeyName and sasKey"
	brokered := func(p kind.BrokeredProperties) func(*kind.ServiceBusMessage) {
		return func(m *kind.ServiceBusMessage) { m.BrokeredMessageProperties = &p }
	}
	for _, tt := range []struct {
		name   string
		change func(*kind.ServiceBusMessage)
		want   string
	}{
		{"no authentication", func(m *kind.ServiceBusMessage) { m.Authentication = nil }, keyless},
		{"an authentication that is not specified", func(m *kind.ServiceBusMessage) {
			m.Authentication = &kind.ServiceBusAuth{Type: "notSpecified"}
		}, keyless},
		{"a key without a name", func(m *kind.ServiceBusMessage) { m.Authentication.SASKeyName = "" }, keyless},
		{"two partitions", brokered(kind.BrokeredProperties{SessionID: "a", PartitionKey: "b"}),
			"brokeredMessageProperties has a partitionKey other than its sessionId: a session is in one partition, so leave the partitionKey out or make them equal"},
		{"an id that is too long", brokered(kind.BrokeredProperties{MessageID: strings.Repeat("ü", 129)}),
			"brokeredMessageProperties.messageId has 129 characters, and Service Bus takes 128"},
		{"a session that is too long", brokered(kind.BrokeredProperties{SessionID: strings.Repeat("x", 129)}),
			"brokeredMessageProperties.sessionId has 129 characters, and Service Bus takes 128"},
		{"a content type that is not ASCII", brokered(kind.BrokeredProperties{ContentType: "text/grün"}),
			"brokeredMessageProperties.contentType has to be of ASCII characters"},
		{"a time to live that is over", brokered(kind.BrokeredProperties{TimeToLive: "2020-01-01T00:00:00Z"}),
			"brokeredMessageProperties.timeToLive is 2020-01-01T00:00:00Z: the message would expire before it is sent"},
		{"a time to live of nothing", brokered(kind.BrokeredProperties{TimeToLive: "PT0S"}),
			"brokeredMessageProperties.timeToLive is PT0S: the message would expire before it is sent"},
		{"a time to live that is none", brokered(kind.BrokeredProperties{TimeToLive: "soon"}),
			`brokeredMessageProperties.timeToLive: "soon" is not a duration such as PT30S or 00:00:30`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := busAction("orders")
			tt.change(a.ServiceBusQueueMessage)
			message, err := sender.Send(t.Context(), sendertest.Execution, a)
			require.EqualError(t, err, tt.want)
			require.Equal(t, "ServiceBusQueue Action - Message cannot be sent: "+tt.want, message)
			sendertest.RequirePermanent(t, true, err)
		})
	}
	t.Run("no message", func(t *testing.T) {
		t.Parallel()
		message, err := sender.Send(t.Context(), sendertest.Execution, &job.Action{Type: "servicebustopic"})
		require.EqualError(t, err, "the action has no message")
		require.Equal(t, "ServiceBusTopic Action - Message cannot be sent: the action has no message", message)
		sendertest.RequirePermanent(t, true, err)
	})
}
