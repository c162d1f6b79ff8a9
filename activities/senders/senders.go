// Package senders performs actions of all kinds, and sends mail: a file or more for each kind, and a sub-package for
// Service Bus.
package senders

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net"

	"almanac/activities"
	"almanac/activities/notify"
	"almanac/activities/senders/servicebus"
	"almanac/internal/egress"
	"almanac/job/kind"
)

// Options configure connections for all kinds of action. The zero Options reach the public
// internet, in Azure's public cloud.
type Options struct {
	Version string         // Almanac's version, sent to receivers
	Guard   *egress.Guard  // decides on every connection; nil means [egress.ModePublic]
	RootCAs *x509.CertPool // trusted for TLS; nil means the system's

	PropagateTrace bool // a receiver gets the trace of its attempt, in traceparent, unless the action says otherwise

	Authority string // base URL of the tenants' token endpoints; "" means DefaultAuthority
	// of storage queues, for another cloud or an emulator; "" means DefaultQueueEndpoint, whose form it has
	QueueEndpoint string
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

// Senders are the senders of all kinds of action and target.
type Senders struct {
	guard   *egress.Guard
	actions [kind.Actions]actionSender
	targets [kind.Targets]targetSender
	close   func()
}

// An actionSender performs actions of a kind.
type actionSender struct {
	kind kind.Type
	sender
}

type sender interface {
	activities.Sender
	// Address returns the host and port to which an action goes, as far as they are known without DNS; "" if they are
	// not.
	Address(p kind.Parameters) string
}

// A targetSender sends to targets of a kind that is no action.
type targetSender struct {
	kind   kind.Type
	sender notify.Sender                 // nil: what is sent are actions
	check  func(p kind.Parameters) error // returns an error if nothing can ever be sent
}

// New returns the senders of all kinds of action and target. The caller closes them. An error names the
// invalid setting.
func New(o Options) (*Senders, error) {
	o.Guard = cmp.Or(o.Guard, new(egress.Guard))
	web, mail := NewHTTP(o), &Email{o}
	queue, err := NewStorageQueue(o)
	if err != nil {
		return nil, err
	}
	bus := servicebus.New(servicebus.Options{
		Version: o.Version, Host: o.BusHost, CustomEndpoint: o.BusEndpoint, RootCAs: o.RootCAs, Dial: o.dial(),
		PropagateTrace: o.PropagateTrace,
	})
	return &Senders{
		guard: o.Guard,
		close: bus.Close,
		// A kind that is left out does not compile.
		actions: [...]actionSender{
			{kind.HTTP, web}, {kind.HTTPS, web},
			{kind.StorageQueue, queue},
			{kind.ServiceBusQueue, bus}, {kind.ServiceBusTopic, bus},
		},
		targets: [...]targetSender{
			{kind.Mail, mail, mail.Check},
			{kind.Duty, nil, func(p kind.Parameters) error {
				return o.Guard.Check(addressOf(p.(*kind.PagerDuty).Address()))
			}},
		},
	}, nil
}

// ByType returns the sender of each type of action.
func (s *Senders) ByType() map[kind.Type]activities.Sender {
	all := map[kind.Type]activities.Sender{}
	for _, r := range s.actions {
		all[r.kind] = r.sender
	}
	return all
}

// Notifications returns the sender of each type of post of notifications.
func (s *Senders) Notifications() map[kind.Type]notify.Sender {
	all := notify.Actions(s.ByType())
	for _, r := range s.targets {
		if r.sender != nil {
			all[r.kind] = r.sender
		}
	}
	return all
}

// Close closes the connections once requests in flight are done.
func (s *Senders) Close() { s.close() }

// Check returns an error, such as an [egress.RefusedError], if an action or a target of a type can never be sent, as
// far as that is certain without DNS.
func (s *Senders) Check(t kind.Type, p kind.Parameters) error {
	for _, r := range s.actions {
		if r.kind != t.Kind() {
			continue
		}
		if address := r.Address(p); address != "" {
			return s.guard.Check(address)
		}
		return nil
	}
	for _, r := range s.targets {
		if r.kind == t.Kind() {
			return r.check(p)
		}
	}
	return fmt.Errorf("nothing is sent to targets of type %q", t)
}

// addressOf returns the host and port of a URI; "" if it has none.
func addressOf(uri string) string {
	u, err := kind.ParseURI(uri)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), port(u))
}
