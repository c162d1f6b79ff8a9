package activities

import (
	"crypto/x509"
	"net"
	"net/url"
	"strings"

	"almanac/internal/egress"
	"almanac/job"
)

// Outbound says how actions of all kinds reach the world. The zero Outbound
// reaches what is on the public internet, in Azure's public cloud.
type Outbound struct {
	Version string         // of Almanac, which receivers are told
	Guard   *egress.Guard  // decides about every connection; nil means one of [egress.ModePublic]
	RootCAs *x509.CertPool // trusted for TLS; nil means the system's

	Authority     string // as in [HTTPOptions]
	QueueEndpoint string // as Endpoint of [StorageQueueOptions]
	BusHost       string // as Host of [ServiceBusOptions]
	BusEndpoint   string // as CustomEndpoint of [ServiceBusOptions]
}

// Senders perform actions of all kinds.
type Senders struct {
	outbound Outbound
	http     *HTTP
	queue    *StorageQueue
	bus      *ServiceBus
}

// NewSenders returns the senders of all kinds of action. Close them. The error
// says which setting cannot be used.
func NewSenders(o Outbound) (*Senders, error) {
	if o.Guard == nil {
		o.Guard = new(egress.Guard)
	}
	dial := o.Guard.DialContext
	queue, err := NewStorageQueue(StorageQueueOptions{Version: o.Version, Endpoint: o.QueueEndpoint, RootCAs: o.RootCAs, Dial: dial})
	if err != nil {
		return nil, err
	}
	return &Senders{
		outbound: o,
		http:     NewHTTP(HTTPOptions{Version: o.Version, Authority: o.Authority, RootCAs: o.RootCAs, Dial: dial}),
		queue:    queue,
		bus: NewServiceBus(ServiceBusOptions{
			Version: o.Version, Host: o.BusHost, CustomEndpoint: o.BusEndpoint, RootCAs: o.RootCAs, Dial: dial,
		}),
	}, nil
}

// ByType returns the sender of each kind of action.
func (s *Senders) ByType() map[job.ActionType]Sender {
	return map[job.ActionType]Sender{
		job.ActionHTTP: s.http, job.ActionHTTPS: s.http,
		job.ActionStorageQueue:    s.queue,
		job.ActionServiceBusQueue: s.bus, job.ActionServiceBusTopic: s.bus,
	}
}

// Close closes connections, once what is being sent is done.
func (s *Senders) Close() { s.bus.Close() }

// Check returns an [egress.RefusedError] where it is certain, without a look at
// DNS, that an action cannot be sent whenever it is tried.
func (s *Senders) Check(a *job.Action) error {
	if address := s.address(a); address != "" {
		return s.outbound.Guard.Check(address)
	}
	return nil
}

// address returns which host and port an action goes to; "" where none can be told.
func (s *Senders) address(a *job.Action) string {
	address := ""
	switch {
	case a.Request != nil:
		address = a.Request.URI
	case a.QueueMessage != nil:
		address = s.queue.url(a.QueueMessage)
	default:
		return s.busAddress(a)
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), port(u))
}

func (s *Senders) busAddress(a *job.Action) string {
	m := a.ServiceBusQueueMessage
	if m == nil {
		m = a.ServiceBusTopicMessage
	}
	if m == nil {
		return ""
	}
	if s.bus.options.CustomEndpoint != "" {
		return s.bus.options.CustomEndpoint
	}
	return net.JoinHostPort(strings.ReplaceAll(s.bus.options.Host, namespacePlaceholder, m.Namespace), amqpsPort)
}
