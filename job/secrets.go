package job

import "net/url"

// Redacted returns a copy of the definition without secrets.
func (d Definition) Redacted() Definition {
	d.Action = d.Action.mapSecrets(&d.Action, func(secret, _ *string, _ bool) { *secret = "" })
	return d
}

// KeepSecrets fills the secrets that d leaves out from old, wherever the
// identity that the secret belongs to is unchanged: the user name; the tenant,
// audience and client; the certificate; the storage account and queue; the
// Service Bus namespace and the name of the key. old may be nil.
func (d Definition) KeepSecrets(old *Definition) Definition {
	if old == nil {
		return d
	}
	d.Action = d.Action.mapSecrets(&old.Action, func(secret, stored *string, same bool) {
		if *secret == "" && same {
			*secret = *stored
		}
	})
	return d
}

// HasSecret reports whether any secret is set.
func (d *Definition) HasSecret() bool { return len(d.Action.Secrets()) > 0 }

// Secrets returns the secrets of the action, and of its error action.
func (a *Action) Secrets() []string {
	var all []string
	a.mapSecrets(a, func(secret, _ *string, _ bool) {
		if *secret != "" {
			all = append(all, *secret)
		}
	})
	return all
}

// mapSecrets returns a deep enough copy of a in which visit has been called
// with each secret, its counterpart in old (never nil), and whether both
// belong to the same identity.
func (a Action) mapSecrets(old *Action, visit func(secret, stored *string, same bool)) Action {
	if old == nil {
		old = &Action{}
	}
	if r := a.Request; r != nil && r.Authentication != nil {
		copied, auth, was := *r, *r.Authentication, Authentication{}
		if old.Request != nil && old.Request.Authentication != nil {
			was = *old.Request.Authentication
		}
		same := auth.sameIdentity(&was)
		visit(&auth.Password, &was.Password, same && auth.Pfx == "") // a new certificate has its own password
		visit(&auth.Pfx, &was.Pfx, same)
		visit(&auth.Secret, &was.Secret, same)
		copied.Authentication = &auth
		a.Request = &copied
	}
	if m := a.QueueMessage; m != nil {
		copied, was := *m, QueueMessage{}
		if old.QueueMessage != nil {
			was = *old.QueueMessage
		}
		visit(&copied.SASToken, &was.SASToken, copied.sameIdentity(&was))
		a.QueueMessage = &copied
	}
	a.ServiceBusQueueMessage = a.ServiceBusQueueMessage.mapSecrets(old.ServiceBusQueueMessage, visit)
	a.ServiceBusTopicMessage = a.ServiceBusTopicMessage.mapSecrets(old.ServiceBusTopicMessage, visit)
	if a.ErrorAction != nil {
		e := a.ErrorAction.mapSecrets(old.ErrorAction, visit)
		a.ErrorAction = &e
	}
	return a
}

func (m *ServiceBusMessage) mapSecrets(old *ServiceBusMessage, visit func(secret, stored *string, same bool)) *ServiceBusMessage {
	if m == nil || m.Authentication == nil {
		return m
	}
	copied, auth, was := *m, *m.Authentication, ServiceBusAuth{}
	if old != nil && old.Authentication != nil {
		was = *old.Authentication
	}
	visit(&auth.SASKey, &was.SASKey, m.sameIdentity(old))
	copied.Authentication = &auth
	return &copied
}

// sameIdentity reports whether both prove the same identity: the user name;
// tenant, audience and client; or the thumbprint.
func (a *Authentication) sameIdentity(o *Authentication) bool {
	if a.Type != o.Type {
		return false
	}
	switch a.Type {
	case AuthBasic:
		return a.Username == o.Username
	case AuthOAuth:
		return a.Tenant == o.Tenant && a.Audience == o.Audience && a.ClientID == o.ClientID
	case AuthClientCertificate:
		return a.CertificateThumbprint == "" || sameName(a.CertificateThumbprint, o.CertificateThumbprint)
	default:
		return false
	}
}

// sameIdentity reports whether both messages go to the same queue.
func (m *QueueMessage) sameIdentity(o *QueueMessage) bool {
	return o != nil && m.StorageAccount == o.StorageAccount && m.QueueName == o.QueueName
}

// sameIdentity reports whether both messages are authenticated by the same key.
func (m *ServiceBusMessage) sameIdentity(o *ServiceBusMessage) bool {
	return o != nil && m.Authentication != nil && o.Authentication != nil &&
		m.Namespace == o.Namespace && m.Authentication.SASKeyName == o.Authentication.SASKeyName
}

// RedactURI returns an absolute URI without what may be secret in it: user
// info, the query and the fragment.
func RedactURI(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "(a URI that cannot be read)"
	}
	text := u.Scheme + "://" + u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		text += "?…"
	}
	return text
}
