// Package kind has the kinds of action and of target, a file for each: its members, its words for people, its
// secrets, its placeholders, its host, its checks and its defaults. It is pure.
//
// A new kind of action is a file with a type that implements [ActionParameters], a member of [Content] and a row of
// actions; package activities/senders does not compile without its sender. A new kind of target that is no action is
// a file with a type that implements [Parameters], a member of [Own] and a row of targets; package job/notification
// does not compile without what it sends.
package kind

import (
	"maps"
	"slices"

	"almanac/internal/fields"
)

// A Type names a kind of action or target in the user's spelling. Compare it through [Type.Kind].
type Type string

// The kinds of action.
const (
	HTTP            Type = "Http"
	HTTPS           Type = "Https"
	StorageQueue    Type = "StorageQueue"
	ServiceBusQueue Type = "ServiceBusQueue"
	ServiceBusTopic Type = "ServiceBusTopic"
)

// Content is what an action sends. Exactly one member is set, the one of its type.
type Content struct {
	Request                *Request           `json:"request,omitempty"`
	QueueMessage           *QueueMessage      `json:"queueMessage,omitempty"`
	ServiceBusQueueMessage *ServiceBusMessage `json:"serviceBusQueueMessage,omitempty" field:"as=queue"`
	ServiceBusTopicMessage *ServiceBusMessage `json:"serviceBusTopicMessage,omitempty" field:"as=topic"`
}

// Types that share a member follow each other.
var actions = [...]row[Content]{
	actionOf(HTTP, "request", func(c *Content) **Request { return &c.Request }),
	actionOf(HTTPS, "request", func(c *Content) **Request { return &c.Request }),
	actionOf(StorageQueue, "queueMessage", func(c *Content) **QueueMessage { return &c.QueueMessage }),
	actionOf(ServiceBusQueue, "serviceBusQueueMessage",
		func(c *Content) **ServiceBusMessage { return &c.ServiceBusQueueMessage }),
	actionOf(ServiceBusTopic, "serviceBusTopicMessage",
		func(c *Content) **ServiceBusMessage { return &c.ServiceBusTopicMessage }),
}

// Actions is the number of kinds of action. Arrays of this length have something for each.
const Actions = len(actions)

// Own is what a target has that is no action. At most one member is set.
type Own struct {
	Email     *Email     `json:"email,omitempty"`
	PagerDuty *PagerDuty `json:"pagerDuty,omitempty"`
}

// The kinds of target that are no actions.
const (
	Mail Type = "Email"
	Duty Type = "PagerDuty"
)

var targets = [...]row[Own]{
	rowOf(Mail, "email", func(o *Own) **Email { return &o.Email }),
	rowOf(Duty, "pagerDuty", func(o *Own) **PagerDuty { return &o.PagerDuty }),
}

// Targets is the number of kinds of target that are no actions.
const Targets = len(targets)

// A row is a kind whose parameters are in a member of a C.
type row[C any] struct {
	kind   Type
	member string                // in JSON
	of     func(*C) Parameters   // nil if the member is absent
	clone  func(*C)              // replaces the member by a copy
	rules  func(Limits) ruleList // of the member's fields
}

type ruleList = map[string]fields.Rule

// rowOf returns the row of a kind, whose member is at a place of a C.
func rowOf[C, M any, P interface {
	*M
	Parameters
}](kind Type, member string, at func(*C) *P) row[C] {
	return row[C]{
		kind: kind, member: member,
		of: func(c *C) Parameters {
			if p := *at(c); p != nil {
				return p
			}
			return nil
		},
		clone: func(c *C) {
			if p := *at(c); p != nil {
				*at(c) = p.copied().(P)
			}
		},
		rules: P(new(M)).rules,
	}
}

// actionOf is rowOf for a kind of action.
func actionOf[M any, P interface {
	*M
	ActionParameters
}](kind Type, member string, at func(*Content) *P) row[Content] {
	return rowOf[Content, M, P](kind, member, at)
}

func names[C any](rows []row[C]) (all []string) {
	for _, r := range rows {
		all = append(all, string(r.kind))
	}
	return all
}

// ActionTypes returns the names of the kinds of action.
func ActionTypes() []string { return names(actions[:]) }

// TargetTypes returns the names of the kinds of target, of which every kind of action is one.
func TargetTypes() []string { return append(ActionTypes(), names(targets[:])...) }

// named returns the one of some names that equals t in any case; "" for none.
func (t Type) named(all []string) Type {
	i := slices.IndexFunc(all, func(name string) bool { return fields.SameName(name, string(t)) })
	if i < 0 {
		return ""
	}
	return Type(all[i])
}

// Kind returns the constant that equals t in any case; "" for none.
func (t Type) Kind() Type { return t.named(TargetTypes()) }

// IsAction reports whether jobs have actions of the type.
func (t Type) IsAction() bool { return t.named(ActionTypes()) != "" }

// Member returns the name of the JSON member with the parameters of the type; "" for an unknown type.
func (t Type) Member() string {
	kind := t.Kind()
	for _, r := range actions {
		if r.kind == kind {
			return r.member
		}
	}
	for _, r := range targets {
		if r.kind == kind {
			return r.member
		}
	}
	return ""
}

// Members returns the names of the JSON members with parameters, each once.
func Members() (all []string) {
	for _, r := range actions {
		all = append(all, r.member)
	}
	for _, r := range targets {
		all = append(all, r.member)
	}
	return slices.Compact(all)
}

// Rules returns the rules of the fields of all kinds.
func Rules(l Limits) map[string]fields.Rule {
	all := map[string]fields.Rule{}
	for _, r := range actions {
		maps.Copy(all, r.rules(l))
	}
	for _, r := range targets {
		maps.Copy(all, r.rules(l))
	}
	return all
}

// A Part is a member that is set.
type Part[P Parameters] struct {
	Name       string // of the member in JSON
	Parameters P
}

// Parts returns the members that are set: one of an action that was checked, or none if a newer version has stored it.
func (c *Content) Parts() (all []Part[ActionParameters]) {
	for i, r := range actions {
		if i > 0 && r.member == actions[i-1].member {
			continue
		}
		if p := r.of(c); p != nil {
			all = append(all, Part[ActionParameters]{r.member, p.(ActionParameters)})
		}
	}
	return all
}

// Parts returns the members that are set.
func (o *Own) Parts() (all []Part[Parameters]) {
	for _, r := range targets {
		if p := r.of(o); p != nil {
			all = append(all, Part[Parameters]{r.member, p})
		}
	}
	return all
}

// Sent returns the parameters of the action; nil if it has none that are known.
func (c *Content) Sent() ActionParameters {
	for _, p := range c.Parts() {
		return p.Parameters
	}
	return nil
}

// Clone returns a copy that can be changed without changing c.
func (c Content) Clone() Content {
	for i, r := range actions {
		if i == 0 || r.member != actions[i-1].member {
			r.clone(&c)
		}
	}
	return c
}

// Clone returns a copy that can be changed without changing o.
func (o Own) Clone() Own {
	for _, r := range targets {
		r.clone(&o)
	}
	return o
}
