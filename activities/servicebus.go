package activities

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

	"almanac/internal/pool"
	"almanac/internal/redact"
	"almanac/job"
)

// ServiceBusOptions configure [NewServiceBus]. The zero value is for Azure's
// public cloud.
type ServiceBusOptions struct {
	Version string // of Almanac, which the service is told

	// Host is the host name of a namespace, with {namespace} in place of the
	// namespace's own. "" means "{namespace}.servicebus.windows.net"; other
	// clouds have other ones, such as "{namespace}.servicebus.chinacloudapi.cn".
	Host string

	// CustomEndpoint is the address, host and port, that all connections are made
	// to; "" means port 5671 of the namespace's host. It is for a proxy that
	// passes TLS on: the certificate and the claims are those of the namespace.
	CustomEndpoint string

	RootCAs *x509.CertPool // nil means the system's

	// Dial connects to a target; nil means a [net.Dialer] that gives up after 10 s.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// IdleTimeout is how long a connection, and within it the link to an entity,
	// is kept when nothing is sent; 0 means 4 minutes. The service cuts links off
	// after 10.
	IdleTimeout time.Duration

	// MaxConnections is how many connections are kept, one for each shared access
	// key of a namespace; 0 means 256. Those in use are not counted out: there may
	// be more for as long as they are needed.
	MaxConnections int
}

const namespacePlaceholder = "{namespace}"

// DefaultServiceBusHost is the host name of namespaces in Azure's public cloud.
const DefaultServiceBusHost = namespacePlaceholder + ".servicebus.windows.net"

const (
	amqpsPort = "5671"

	defaultIdleTimeout    = 4 * time.Minute
	defaultMaxConnections = 256
	maxLinks              = 256 // that one connection keeps
)

// ServiceBus sends messages to Service Bus queues and topics, over AMQP 1.0
// whatever the action's transport type. It is safe for concurrent use and
// shares connections, so one serves all jobs. Close it.
//
// A message is transferred once for each attempt. That is why this is made of
// go-amqp, the protocol layer of Azure's SDK, and not of azservicebus above it:
// where a link is detached after the transfer the SDK transfers the message
// again by itself, even with its retries turned off, and where the service
// releases a message, which means that it did not take it, the SDK reports
// success.
type ServiceBus struct {
	options     ServiceBusOptions
	connections *pool.Pool[busIdentity, *busConnection]
}

// A busIdentity is whose connection it is. Jobs that know the same name of a key
// but not the same key do not share one.
type busIdentity struct {
	host    string
	keyName string
	keyHash [sha256.Size]byte
}

// NewServiceBus returns a sender for actions of type ServiceBusQueue and ServiceBusTopic.
func NewServiceBus(o ServiceBusOptions) *ServiceBus {
	o.Host = cmp.Or(o.Host, DefaultServiceBusHost)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTimeout)
	o.MaxConnections = cmp.Or(o.MaxConnections, defaultMaxConnections)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: connectTimeout}).DialContext
	}
	return &ServiceBus{options: o, connections: pool.New[busIdentity, *busConnection](o.MaxConnections, o.IdleTimeout)}
}

// Close closes the connections, once what is being sent is done. Nothing can
// be sent afterwards.
func (s *ServiceBus) Close() { s.connections.Close() }

// Send sends the message once. Success is that the service accepted it.
func (s *ServiceBus) Send(ctx context.Context, e job.Execution, a *job.Action) (string, error) {
	kind := a.Type.Kind()
	t, message, err := s.prepare(e, a)
	if err != nil {
		return fmt.Sprintf("%s Action - Message cannot be sent: %s", kind, err), &PermanentError{err}
	}
	if err := s.send(ctx, t, message); err != nil {
		err = busFailure(ctx, t, err)
		return fmt.Sprintf("%s Action - Message to %s failed: %s", kind, t, err), err
	}
	return fmt.Sprintf("%s Action - Message '%s' accepted by %s", kind, message.Properties.MessageID, t), nil
}

// prepare returns what is to be sent, and where.
func (s *ServiceBus) prepare(e job.Execution, a *job.Action) (*busTarget, *amqp.Message, error) {
	t, err := s.target(a)
	if err != nil {
		return nil, nil, err
	}
	message, err := busMessage(t.ServiceBusMessage, e, time.Now())
	return t, message, err
}

// send transfers the message over a shared connection and link.
func (s *ServiceBus) send(ctx context.Context, t *busTarget, message *amqp.Message) error {
	connection, err := s.connections.Acquire(ctx, t.identity(), func(ctx context.Context) (*busConnection, error) {
		return s.connect(ctx, t)
	})
	if err != nil {
		return &unsentError{err}
	}
	defer connection.Release()
	link, err := connection.Value.links.Acquire(ctx, job.Fold(t.entity), func(ctx context.Context) (*busLink, error) {
		return connection.Value.attach(ctx, t)
	})
	if err != nil {
		connection.RetireUnless(isRefusal(err))
		return &unsentError{err}
	}
	defer link.Release()
	err = link.Value.send(ctx, message)
	// A link that was detached is not alive, and so replaced. Of a connection
	// that says nothing any more that is not known.
	connection.RetireUnless(err == nil || isRefusal(err) || isDetached(err) || errors.Is(err, errLeaseOver))
	return err
}

// A busTarget is where a message goes, and by whose right.
type busTarget struct {
	*job.ServiceBusMessage
	kind   string // queue or topic
	host   string
	entity string

	secrets redact.Secrets
}

// target returns where the action's message goes.
func (s *ServiceBus) target(a *job.Action) (*busTarget, error) {
	t := &busTarget{ServiceBusMessage: a.ServiceBusQueueMessage, kind: "queue", secrets: secretsOf(a)}
	if a.Type.Kind() == job.ActionServiceBusTopic {
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

// String names the target for people.
func (t *busTarget) String() string {
	return fmt.Sprintf("%s '%s' of namespace '%s'", t.kind, t.entity, t.Namespace)
}

func (t *busTarget) identity() busIdentity {
	return busIdentity{t.host, t.Authentication.SASKeyName, sha256.Sum256([]byte(t.Authentication.SASKey))}
}
