// Package senders performs actions of all kinds: web requests and messages on storage queues
// here, Service Bus messages in its sub-package.
package senders

import (
	"crypto/x509"
	"net"
	"net/url"

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

	Authority     string // as in [HTTPOptions]
	QueueEndpoint string // as Endpoint of [StorageQueueOptions]
	BusHost       string // as Host of [servicebus.Options]
	BusEndpoint   string // as CustomEndpoint of [servicebus.Options]
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
		bus: servicebus.New(servicebus.Options{
			Version: o.Version, Host: o.BusHost, CustomEndpoint: o.BusEndpoint, RootCAs: o.RootCAs, Dial: dial,
		}),
	}, nil
}

// ByType returns the sender of each action type.
func (s *Senders) ByType() map[job.ActionType]activities.Sender {
	return map[job.ActionType]activities.Sender{
		job.ActionHTTP: s.http, job.ActionHTTPS: s.http,
		job.ActionStorageQueue:    s.queue,
		job.ActionServiceBusQueue: s.bus, job.ActionServiceBusTopic: s.bus,
	}
}

// Close closes the connections once requests in flight are done.
func (s *Senders) Close() { s.bus.Close() }

// Check returns an [egress.RefusedError] if the action can never be sent, as far as that is certain
// without DNS.
func (s *Senders) Check(a *job.Action) error {
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
	default:
		return s.bus.Address(a)
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), port(u))
}
