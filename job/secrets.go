package job

import "slices"

// Redacted returns a copy of the definition without secrets.
func (d Definition) Redacted() Definition {
	d.Action = d.Action.Clone()
	d.Action.redact()
	d.Notifications = redacted(d.Notifications)
	return d
}

// HasSecret reports whether any secret is set.
func (d *Definition) HasSecret() bool {
	hasSecret := func(n Notification) bool { return len(values(n.Target.secrets())) > 0 }
	return len(d.Action.Secrets()) > 0 || slices.ContainsFunc(d.Notifications, hasSecret)
}

// redacted returns a copy of notifications without secrets.
func redacted(list []Notification) []Notification {
	copied := CloneNotifications(list)
	for i := range copied {
		erase(copied[i].Target.secrets())
	}
	return copied
}

// Redacted returns a copy of the properties without secrets.
func (p CollectionProperties) Redacted() CollectionProperties {
	p.Notifications = redacted(p.Notifications)
	return p
}
