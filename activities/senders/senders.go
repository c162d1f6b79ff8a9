// Package senders performs actions of all kinds: web requests and messages on storage queues
// here, Service Bus messages in its sub-package.
package senders

import (
	"cmp"
	"context"
	"crypto/x509"
	"net"

	"almanac/activities"
	"almanac/activities/senders/servicebus"
	"almanac/internal/egress"
	"almanac/job"
)

// Options configure connections for all kinds of action. The zero Options reach the public
// internet, in Azure's public cloud.
type Options struct {
	Version string         // Almanac's version, sent to receivers
	Guard   *egress.Guard  // decides on every connection; nil means [egress.ModePublic]
	RootCAs *x509.CertPool // trusted for TLS; nil means the system's

	PropagateTrace bool // a receiver gets the trace of its attempt, in traceparent, unless the action says otherwise

	Authority     string // base URL of the tenants' token endpoints; "" means DefaultAuthority
	QueueEndpoint string // of storage queues, for another cloud or an emulator; "" means DefaultQueueEndpoint, whose form it has
	BusHost       string // as Host of [servicebus.Options]
	BusEndpoint   string // as CustomEndpoint of [servicebus.Options]

	SMTP SMTP // sends notifications by mail

	// Dial connects in place of the guard; nil means that the guard does. If its error wraps an
	// [egress.RefusedError], the action fails permanently.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o *Options) dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial
	}
	return cmp.Or(o.Guard, new(egress.Guard)).DialContext
}

// Senders are the senders of all kinds of action.
type Senders struct {
	outbound Options
	http     *HTTP
	queue    *StorageQueue
	bus      *servicebus.Sender
}

// New returns the senders of all kinds of action. The caller closes them. An error names the
// invalid setting.
func New(o Options) (*Senders, error) {
	o.Guard = cmp.Or(o.Guard, new(egress.Guard))
	queue, err := NewStorageQueue(o)
	if err != nil {
		return nil, err
	}
	return &Senders{
		outbound: o,
		http:     NewHTTP(o),
		queue:    queue,
		bus: servicebus.New(servicebus.Options{
			Version: o.Version, Host: o.BusHost, CustomEndpoint: o.BusEndpoint, RootCAs: o.RootCAs, Dial: o.dial(), PropagateTrace: o.PropagateTrace,
		}),
	}, nil
}

// ByType returns the sender of each action type. There is none of mail without a mail server.
func (s *Senders) ByType() map[job.ActionType]activities.Sender {
	all := map[job.ActionType]activities.Sender{
		job.ActionHTTP: s.http, job.ActionHTTPS: s.http,
		job.ActionStorageQueue:    s.queue,
		job.ActionServiceBusQueue: s.bus, job.ActionServiceBusTopic: s.bus,
	}
	if s.outbound.SMTP.Server != "" {
		all[job.ActionEmail] = &Email{s.outbound}
	}
	return all
}

// Close closes the connections once requests in flight are done.
func (s *Senders) Close() { s.bus.Close() }

// Check returns an error, such as an [egress.RefusedError], if the action can never be sent, as far as that is certain
// without DNS.
func (s *Senders) Check(a *job.Action) error {
	if a.Email != nil {
		return s.outbound.SMTP.Domains.Check(a.Email.To)
	}
	if address := s.address(a); address != "" {
		return s.outbound.Guard.Check(address)
	}
	return nil
}

// address returns the host and port of an action; "" if unknown.
func (s *Senders) address(a *job.Action) string {
	address := ""
	switch {
	case a.Request != nil:
		address = a.Request.URI
	case a.QueueMessage != nil:
		address = s.queue.url(a.QueueMessage)
	case a.PagerDuty != nil:
		address = a.PagerDuty.Address()
	default:
		return s.bus.Address(a)
	}
	u, err := job.ParseURI(address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), port(u))
}
