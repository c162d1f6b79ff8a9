package job

import (
	"cmp"
	"net/url"
)

// Redacted returns a copy of the definition without secrets.
func (d Definition) Redacted() Definition {
	d.Action = d.Action.mapSecrets("", &d.Action, func(s secret) { *s.value = "" })
	return d
}

// KeepSecrets fills the secrets that d leaves out from old, which may be nil, as far as [kept] allows.
// retarget lifts the condition on the target. The error is an [*Error] of KindInvalid: it names every
// needed secret that is left out and not kept, or says that the job is too large with its secrets.
func (d Definition) KeepSecrets(old *Definition, retarget bool) (Definition, error) {
	if old == nil {
		old = &Definition{}
	}
	b := newBinder(nil)
	d.Action = d.Action.mapSecrets("properties.action", &old.Action, func(s secret) {
		k := s.kept.to(retarget)
		if *s.value == "" && k.may() {
			*s.value = *s.stored
		}
		if *s.value == "" && s.want != "" {
			b.fail(s.path, nil, cmp.Or(k.missing(s.want), s.want))
		}
	})
	if err := b.err("job"); err != nil {
		return d, err
	}
	return d, d.checkStored()
}

// A kept says whether a stored secret may replace one that is left out. Two conditions must hold:
//
//   - The identity is the same: the user name, the client ID, the certificate, or the key's name.
//   - The target is the same: scheme, host and port of the uri and the header Host; the tenant and
//     audience of a token; the storage account and queue; the Service Bus namespace. The rest of
//     the uri may change.
//
// Otherwise everyone who may change a job could have its secrets sent to a host of their own.
type kept struct {
	identity bool
	moved    string // the part that makes the target another one; "" if it is the same
}

// to returns k, without the condition on the target if retarget is true.
func (k kept) to(retarget bool) kept {
	if retarget {
		k.moved = ""
	}
	return k
}

func (k kept) may() bool { return k.identity && k.moved == "" }

// missing returns what is needed if the secret is left out; "" if the stored one is kept.
func (k kept) missing(secret string) string {
	switch {
	case k.may():
		return ""
	case k.identity:
		return secret + ", sent again: the target changed (" + k.moved + "), and a stored secret is not sent to another one"
	}
	return secret
}

// HasSecret reports whether any secret is set.
func (d *Definition) HasSecret() bool { return len(d.Action.Secrets()) > 0 }

// Secrets returns the secrets of the action and of its error action.
func (a *Action) Secrets() []string {
	var all []string
	a.mapSecrets("", a, func(s secret) {
		if *s.value != "" {
			all = append(all, *s.value)
		}
	})
	return all
}

// A secret is a secret member of an action, set or not.
type secret struct {
	path          string  // its JSON path
	value, stored *string // in this action, and in the stored one; never nil
	kept          kept
	want          string // description for errors; "" if the action does not need it
}

const (
	wantPassword     = "a password"
	wantPFX          = "a PFX file in base64"
	wantClientSecret = "the client's secret"
	wantSASToken     = "a shared access signature that may add messages"
	wantSASKey       = "a shared access key"
)

// mapSecrets returns a copy of a, in which it has called visit with each secret. path is the JSON path of
// a. The copy is deep enough for visit to change the secrets.
func (a Action) mapSecrets(path string, old *Action, visit func(secret)) Action {
	if old == nil {
		old = &Action{}
	}
	a.Request = a.Request.mapSecrets(path+".request.authentication", old.Request, visit)
	if m := a.QueueMessage; m != nil {
		copied, was := *m, QueueMessage{}
		if old.QueueMessage != nil {
			was = *old.QueueMessage
		}
		visit(secret{path + ".queueMessage.sasToken", &copied.SASToken, &was.SASToken, m.keeps(old.QueueMessage), wantSASToken})
		a.QueueMessage = &copied
	}
	a.ServiceBusQueueMessage = a.ServiceBusQueueMessage.mapSecrets(path+".serviceBusQueueMessage", old.ServiceBusQueueMessage, visit)
	a.ServiceBusTopicMessage = a.ServiceBusTopicMessage.mapSecrets(path+".serviceBusTopicMessage", old.ServiceBusTopicMessage, visit)
	if a.ErrorAction != nil {
		e := a.ErrorAction.mapSecrets(path+".errorAction", old.ErrorAction, visit)
		a.ErrorAction = &e
	}
	return a
}

func (r *Request) mapSecrets(path string, old *Request, visit func(secret)) *Request {
	if r == nil || r.Authentication == nil {
		return r
	}
	copied, auth, was := *r, *r.Authentication, Authentication{}
	if old != nil && old.Authentication != nil {
		was = *old.Authentication
	}
	keeps := r.keeps(old)
	needed := func(t AuthType, want string) string {
		if auth.Type == t {
			return want
		}
		return ""
	}
	password := keeps
	password.identity = keeps.identity && auth.Pfx == "" // a new certificate has its own password
	visit(secret{path + ".password", &auth.Password, &was.Password, password, needed(AuthBasic, wantPassword)})
	visit(secret{path + ".pfx", &auth.Pfx, &was.Pfx, keeps, needed(AuthClientCertificate, wantPFX)})
	visit(secret{path + ".secret", &auth.Secret, &was.Secret, keeps, needed(AuthOAuth, wantClientSecret)})
	copied.Authentication = &auth
	return &copied
}

func (m *ServiceBusMessage) mapSecrets(path string, old *ServiceBusMessage, visit func(secret)) *ServiceBusMessage {
	if m == nil || m.Authentication == nil {
		return m
	}
	copied, auth, was := *m, *m.Authentication, ServiceBusAuth{}
	if old != nil && old.Authentication != nil {
		was = *old.Authentication
	}
	s := secret{path + ".authentication.sasKey", &auth.SASKey, &was.SASKey, m.keeps(old), wantSASKey}
	if auth.Type == authNotSpecified {
		s.want = ""
	}
	visit(s)
	copied.Authentication = &auth
	return &copied
}

// keeps reports whether the secrets of old, which may be nil, may be kept in r. r must have an
// authentication.
func (r *Request) keeps(old *Request) kept {
	if old == nil || old.Authentication == nil || r.Authentication.Type != old.Authentication.Type {
		return kept{}
	}
	var k kept
	a, o := r.Authentication, old.Authentication
	switch a.Type {
	case AuthBasic:
		k.identity = a.Username == o.Username
	case AuthClientCertificate:
		k.identity = a.CertificateThumbprint == "" || sameName(a.CertificateThumbprint, o.CertificateThumbprint)
	case AuthOAuth:
		k.identity = a.ClientID == o.ClientID
		k.move("tenant", a.Tenant, o.Tenant)
		k.move("audience", a.Audience, o.Audience)
	}
	if r.URI != "" { // an action without a URI sends nothing
		k.move("scheme, host or port of uri", origin(r.URI), origin(old.URI))
	}
	k.move("header Host", r.Headers.get("Host"), old.Headers.get("Host"))
	return k
}

// keeps reports whether the SAS token of old, which may be nil, may be kept in m.
func (m *QueueMessage) keeps(old *QueueMessage) kept {
	if old == nil {
		return kept{}
	}
	k := kept{identity: true}
	k.move("storageAccount", m.StorageAccount, old.StorageAccount)
	k.move("queueName", m.QueueName, old.QueueName)
	return k
}

// keeps reports whether the key of old, which may be nil, may be kept in m. m must have an authentication.
func (m *ServiceBusMessage) keeps(old *ServiceBusMessage) kept {
	if old == nil || old.Authentication == nil {
		return kept{}
	}
	k := kept{identity: m.Authentication.SASKeyName == old.Authentication.SASKeyName}
	k.move("namespace", m.Namespace, old.Namespace)
	return k
}

// move records a change of a part of the target.
func (k *kept) move(part, now, was string) {
	if k.moved == "" && now != was {
		k.moved = part
	}
}

// origin returns the scheme, host and port of a URI, normalized for comparison.
func origin(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + NormalizeName(u.Hostname()) + ":" + port
}

// RedactURI returns an absolute URI without its user info, query and fragment, which may hold secrets.
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
