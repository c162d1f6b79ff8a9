// Package servicebus sends messages to queues and topics of Azure Service Bus.
package servicebus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/Azure/go-amqp"

	"almanac/activities"
	"almanac/activities/lease"
	"almanac/internal/egress"
	"almanac/internal/pool"
	"almanac/internal/redact"
	"almanac/job"
	"almanac/job/kind"
)

// Options configure [New]. The zero value is for Azure's public cloud.
type Options struct {
	Version string // Almanac's version, sent to the service

	// Host is the host name of a namespace, with {namespace} for its name; "" means
	// "{namespace}.servicebus.windows.net". Other clouds differ, for example
	// "{namespace}.servicebus.chinacloudapi.cn".
	Host string

	// CustomEndpoint is the host:port to connect to; "" means port 5671 of the namespace's host. It is
	// for a proxy that passes TLS through: certificate and claims are those of the namespace.
	CustomEndpoint string

	RootCAs *x509.CertPool // nil means the system's

	// Dial connects to a target; nil means a [net.Dialer] with a timeout of 10 s.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// IdleTimeout is how long an idle connection, or link to an entity, is kept; 0 means 4 minutes. The
	// service detaches links that are idle for 10 minutes.
	IdleTimeout time.Duration

	// MaxConnections is how many connections are kept, one per shared access key of a namespace; 0
	// means 256. It does not limit those in use.
	MaxConnections int

	// PropagateTrace adds the trace of the attempt to a message, as the application property traceparent, unless the
	// message says otherwise.
	PropagateTrace bool
}

const namespacePlaceholder = "{namespace}"

// DefaultHost is the host name of namespaces in Azure's public cloud.
const DefaultHost = namespacePlaceholder + ".servicebus.windows.net"

const (
	amqpsPort = "5671"

	defaultIdleTimeout    = 4 * time.Minute
	defaultMaxConnections = 256
	maxLinks              = 256 // kept per connection
)

// A Sender sends messages to Service Bus queues and topics by AMQP 1.0, whatever the action's transport
// type. It is safe for concurrent use and shares connections, so use one for all jobs. Close it.
//
// A message is transferred once per attempt. That requires go-amqp, the protocol layer of Azure's SDK:
// azservicebus above it transfers a message again if the link is detached after the transfer, even with
// retries off, and reports success if the service releases a message, that is, does not take it.
type Sender struct {
	options     Options
	connections *pool.Pool[busIdentity, *busConnection]
}

// A busIdentity identifies a connection. Jobs with the same key name but different keys share none.
type busIdentity struct {
	host    string
	keyName string
	keyHash [sha256.Size]byte
}

// New returns a sender for actions of type ServiceBusQueue and ServiceBusTopic.
func New(o Options) *Sender {
	o.Host = cmp.Or(o.Host, DefaultHost)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTimeout)
	o.MaxConnections = cmp.Or(o.MaxConnections, defaultMaxConnections)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: egress.ConnectTimeout}).DialContext
	}
	return &Sender{options: o, connections: pool.New[busIdentity, *busConnection](o.MaxConnections, o.IdleTimeout)}
}

// Close closes the connections once sends in flight are done. Later sends fail.
func (s *Sender) Close() { s.connections.Close() }

// Send sends the message once. It succeeds if the service accepts the message.
func (s *Sender) Send(ctx context.Context, e job.Execution, a *job.Action) (string, error) {
	kind := a.Type.Kind()
	t, message, err := s.prepare(e, a)
	if err != nil {
		return activities.Fail(kind, "Message cannot be sent: "+err.Error(), &activities.PermanentError{Err: err})
	}
	if m := cmp.Or(a.ServiceBusQueueMessage, a.ServiceBusTopicMessage); s.options.PropagateTrace && (m.Traceparent == nil || *m.Traceparent) {
		propagateTrace(ctx, message)
	}
	if err := s.send(ctx, t, message); err != nil {
		err = busFailure(ctx, t, err)
		return activities.Fail(kind, fmt.Sprintf("Message to %s failed: %s", t, err), err)
	}
	return fmt.Sprintf("%s Action - Message '%s' accepted by %s", kind, message.Properties.MessageID, t), nil
}

// Address returns the host and port to which a message is sent.
func (s *Sender) Address(p kind.Parameters) string {
	m, ok := p.(*kind.ServiceBusMessage)
	if !ok {
		return ""
	}
	host := strings.ReplaceAll(s.options.Host, namespacePlaceholder, m.Namespace)
	return cmp.Or(s.options.CustomEndpoint, net.JoinHostPort(host, amqpsPort))
}

// prepare returns what is to be sent, and where.
func (s *Sender) prepare(e job.Execution, a *job.Action) (*busTarget, *amqp.Message, error) {
	t, err := s.target(a)
	if err != nil {
		return nil, nil, err
	}
	message, err := busMessage(t.ServiceBusMessage, e, time.Now())
	return t, message, err
}

// send transfers the message over a shared connection and link.
func (s *Sender) send(ctx context.Context, t *busTarget, message *amqp.Message) error {
	connection, err := s.connections.Acquire(ctx, t.identity(), func(ctx context.Context) (*busConnection, error) {
		return s.connect(ctx, t)
	})
	if err != nil {
		return &unsentError{err}
	}
	defer connection.Release()
	link, err := connection.Value.links.Acquire(ctx, job.NormalizeName(t.entity), func(ctx context.Context) (*busLink, error) {
		return connection.Value.attach(ctx, t)
	})
	if err != nil {
		connection.RetireUnless(isRefusal(err))
		return &unsentError{err}
	}
	defer link.Release()
	err = link.Value.send(ctx, message)
	// A detached link fails Alive and is replaced. A connection that no longer answers is not noticed
	// otherwise, so it is retired here.
	connection.RetireUnless(err == nil || isRefusal(err) || isDetached(err) || errors.Is(err, lease.ErrOver))
	return err
}

// A busTarget is a message's destination, with its credentials.
type busTarget struct {
	*kind.ServiceBusMessage
	kind   string // "queue" or "topic"
	host   string
	entity string

	secrets redact.Secrets
}

// target returns where the action's message goes.
func (s *Sender) target(a *job.Action) (*busTarget, error) {
	t := &busTarget{ServiceBusMessage: a.ServiceBusQueueMessage, kind: "queue"}
	t.secrets.Add(a.Secrets()...)
	if a.Type.Kind() == kind.ServiceBusTopic {
		t.ServiceBusMessage, t.kind = a.ServiceBusTopicMessage, "topic"
	}
	if t.ServiceBusMessage == nil {
		return nil, errors.New("the action has no message")
	}
	t.entity = cmp.Or(t.QueueName, t.TopicPath)
	t.host = strings.ReplaceAll(s.options.Host, namespacePlaceholder, t.Namespace)
	if auth := t.Authentication; auth == nil || auth.SASKeyName == "" || auth.SASKey == "" {
		return nil, fmt.Errorf("the %s asks for a shared access key: give the action an authentication of type sharedAccessKey, with sasKeyName and sasKey", t)
	}
	return t, nil
}

// String describes the target for messages.
func (t *busTarget) String() string {
	return fmt.Sprintf("%s '%s' of namespace '%s'", t.kind, t.entity, t.Namespace)
}

func (t *busTarget) identity() busIdentity {
	return busIdentity{t.host, t.Authentication.SASKeyName, sha256.Sum256([]byte(t.Authentication.SASKey))}
}
