package job

import (
	"slices"
	"strings"
)

// Redacted returns a copy of the definition without secrets.
func (d Definition) Redacted() Definition {
	d.Action = d.Action.Clone()
	for _, secret := range d.Action.secrets() {
		*secret = ""
	}
	d.Notifications = redacted(d.Notifications)
	return d
}

// HasSecret reports whether any secret is set.
func (d *Definition) HasSecret() bool {
	hasSecret := func(n Notification) bool { return len(n.Target.Secrets()) > 0 }
	return len(d.Action.Secrets()) > 0 || slices.ContainsFunc(d.Notifications, hasSecret)
}

// Secrets returns the secrets of the action and of its error action.
func (a *Action) Secrets() []string {
	var all []string
	for _, secret := range a.secrets() {
		if *secret != "" {
			all = append(all, *secret)
		}
	}
	return all
}

// secrets returns the secret members of the action and of its error action, set or not.
func (a *Action) secrets() (all []*string) {
	if r := a.Request; r != nil && r.Authentication != nil {
		all = append(all, &r.Authentication.Password, &r.Authentication.Pfx, &r.Authentication.Secret)
	}
	if m := a.QueueMessage; m != nil {
		all = append(all, &m.SASToken)
	}
	for _, m := range []*ServiceBusMessage{a.ServiceBusQueueMessage, a.ServiceBusTopicMessage} {
		if m != nil && m.Authentication != nil {
			all = append(all, &m.Authentication.SASKey)
		}
	}
	if a.PagerDuty != nil {
		all = append(all, &a.PagerDuty.RoutingKey)
	}
	if a.ErrorAction != nil {
		all = append(all, a.ErrorAction.secrets()...)
	}
	return all
}

// Clone returns a copy of the action whose secrets can be changed without changing a.
func (a Action) Clone() Action {
	a.Request, a.QueueMessage = cloned(a.Request), cloned(a.QueueMessage)
	if a.Request != nil {
		a.Request.Authentication = cloned(a.Request.Authentication)
	}
	a.ServiceBusQueueMessage, a.ServiceBusTopicMessage = cloned(a.ServiceBusQueueMessage), cloned(a.ServiceBusTopicMessage)
	for _, m := range []*ServiceBusMessage{a.ServiceBusQueueMessage, a.ServiceBusTopicMessage} {
		if m != nil {
			m.Authentication = cloned(m.Authentication)
		}
	}
	a.PagerDuty = cloned(a.PagerDuty)
	if a.ErrorAction != nil {
		a.ErrorAction = new(a.ErrorAction.Clone())
	}
	return a
}

// cloned returns a shallow copy of a value; nil for nil.
func cloned[T any](v *T) *T {
	if v == nil {
		return nil
	}
	return new(*v)
}

// placeholders restores the braces of an escaped path.
var placeholders = strings.NewReplacer("%7B%7B", "{{", "%7D%7D", "}}")

// RedactURI returns an absolute URI without its user info, query and fragment, which may hold secrets.
func RedactURI(uri string) string {
	u, err := ParseURI(uri)
	if err != nil {
		return "(a URI that cannot be read)"
	}
	text := u.Scheme + "://" + u.Host + placeholders.Replace(u.EscapedPath())
	if u.RawQuery != "" {
		text += "?…"
	}
	return text
}
