package input

import (
	"cmp"

	"almanac/internal/fields"
	"almanac/job"
)

// KeepSecrets returns d with the secrets that it leaves out, taken from old, which may be nil. A secret is
// kept if its identity and its target are the same; retarget lifts the condition on the target. The error is an [*Error] of KindInvalid: it names every
// needed secret that is left out and not kept, or says that the job is too large with its secrets.
func KeepSecrets(d job.Definition, old *job.Definition, retarget bool) (job.Definition, error) {
	if old == nil {
		old = &job.Definition{}
	}
	var bad fields.Errors
	d.Action = d.Action.Clone()
	d.Notifications = job.CloneNotifications(d.Notifications)
	keepActionSecrets(&d.Action, "properties.action", &old.Action, retarget, &bad)
	keepSecrets(d.Notifications, old.Notifications, retarget, &bad)
	if len(bad.List) > 0 {
		return d, invalid("job", &bad)
	}
	return d, checkStored(&d)
}

// keepActionSecrets fills in the secrets that the action at path leaves out, from old, and reports those that are missing.
func keepActionSecrets(a *job.Action, path string, old *job.Action, retarget bool, bad *fields.Errors) {
	eachSecret(a, path, old, func(s secret) {
		k := s.kept.to(retarget)
		if s.absent() && k.may() {
			*s.value = s.stored
			if s.empty != nil {
				*s.empty = s.storedEmpty
			}
		}
		if s.absent() && s.allowed != "" {
			bad.Add(k.missing(s))
		}
	})
}

// A kept says whether a stored secret may replace one that is left out. Two conditions must hold:
//
//   - The identity is the same: the user name, the client ID, the certificate, or the key's name.
//   - The target is the same: scheme, host and port of the uri and the header Host; the tenant and
//     audience of a token; the storage account and queue; the Service Bus namespace; the origin of PagerDuty's uri. The rest of
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

// missing returns the error of a secret that is left out and not kept.
func (k kept) missing(s secret) *job.FieldError {
	e := &job.FieldError{Path: s.path, Code: fields.Required, Allowed: s.allowed}
	if k.identity && k.moved != "" {
		e.Hint = "send it again, because the target changed (" + k.moved + "), and a stored secret is not sent to another one"
	}
	return e
}

// A secret is a secret member of an action, set or not.
type secret struct {
	path    string  // its JSON path
	value   *string // in this action
	stored  string  // in the stored action
	kept    kept
	allowed string // description for errors; "" if the action does not need it

	empty       *bool // says that the secret is there and empty; nil: it cannot be
	storedEmpty bool
}

// absent reports whether the secret is not set.
func (s *secret) absent() bool { return *s.value == "" && (s.empty == nil || !*s.empty) }

const (
	wantPFX      = "a PFX file in base64"
	wantSASToken = "a shared access signature that may add messages"

	wantRoutingKey = "the integration key of a service of PagerDuty with the Events API v2: 32 letters and digits"
)

// eachSecret calls visit with each secret of an action and of its error action. path is the JSON path of a;
// old is the stored action.
func eachSecret(a *job.Action, path string, old *job.Action, visit func(secret)) {
	withErrorAction(a, path, old, func(a *job.Action, path string, old *job.Action) {
		if r := a.Request; r != nil && r.Authentication != nil {
			requestSecrets(r, path+".request.authentication", old.Request, visit)
		}
		if m := a.QueueMessage; m != nil {
			was := cmp.Or(old.QueueMessage, &job.QueueMessage{})
			visit(secret{path: path + ".queueMessage.sasToken", value: &m.SASToken, stored: was.SASToken, kept: keepsToken(m, old.QueueMessage), allowed: wantSASToken})
		}
		if p := a.PagerDuty; p != nil {
			was := cmp.Or(old.PagerDuty, &job.PagerDuty{})
			visit(secret{path: path + ".pagerDuty.routingKey", value: &p.RoutingKey, stored: was.RoutingKey, kept: keepsRoutingKey(p, old.PagerDuty), allowed: wantRoutingKey})
		}
		serviceBusSecret(a.ServiceBusQueueMessage, path+".serviceBusQueueMessage", old.ServiceBusQueueMessage, visit)
		serviceBusSecret(a.ServiceBusTopicMessage, path+".serviceBusTopicMessage", old.ServiceBusTopicMessage, visit)
	})
}

func requestSecrets(r *job.Request, path string, old *job.Request, visit func(secret)) {
	auth, was := r.Authentication, &job.Authentication{}
	if old != nil {
		was = cmp.Or(old.Authentication, was)
	}
	needed := func(t job.AuthType, allowed string) string { return map[job.AuthType]string{t: allowed}[auth.Type] }
	keeps := keepsAuthentication(r, old)
	password := keeps
	password.identity = keeps.identity && auth.Pfx == "" // a new certificate has its own password
	basic := secret{path: path + ".password", value: &auth.Password, stored: was.Password, kept: password, allowed: needed(job.AuthBasic, "a password")}
	if auth.Type == job.AuthBasic {
		basic.empty, basic.storedEmpty = &auth.EmptyPassword, was.EmptyPassword
	}
	visit(basic)
	visit(secret{path: path + ".pfx", value: &auth.Pfx, stored: was.Pfx, kept: keeps, allowed: needed(job.AuthClientCertificate, wantPFX)})
	visit(secret{path: path + ".secret", value: &auth.Secret, stored: was.Secret, kept: keeps, allowed: needed(job.AuthOAuth, "the client's secret")})
}

func serviceBusSecret(m *job.ServiceBusMessage, path string, old *job.ServiceBusMessage, visit func(secret)) {
	if m == nil || m.Authentication == nil {
		return
	}
	was := &job.ServiceBusAuth{}
	if old != nil {
		was = cmp.Or(old.Authentication, was)
	}
	s := secret{path: path + ".authentication.sasKey", value: &m.Authentication.SASKey, stored: was.SASKey, kept: keepsKey(m, old), allowed: "a shared access key"}
	if m.Authentication.Type == authNotSpecified {
		s.allowed = ""
	}
	visit(s)
}

// keepsAuthentication reports whether the secrets of old, which may be nil, may be kept in r. r must have an
// authentication.
func keepsAuthentication(r, old *job.Request) kept {
	if old == nil || old.Authentication == nil || r.Authentication.Type != old.Authentication.Type {
		return kept{}
	}
	var k kept
	a, o := r.Authentication, old.Authentication
	switch a.Type {
	case job.AuthBasic:
		k.identity = a.Username == o.Username
	case job.AuthClientCertificate:
		k.identity = a.CertificateThumbprint == "" || fields.SameName(a.CertificateThumbprint, o.CertificateThumbprint)
	case job.AuthOAuth:
		k.identity = a.ClientID == o.ClientID
		k.move("tenant", a.Tenant, o.Tenant)
		k.move("audience", a.Audience, o.Audience)
	}
	if r.URI != "" { // an action without a URI sends nothing
		k.move("scheme, host or port of uri", origin(r.URI), origin(old.URI))
	}
	k.move("header Host", r.Headers.Get("Host"), old.Headers.Get("Host"))
	return k
}

// keepsToken reports whether the SAS token of old, which may be nil, may be kept in m.
func keepsToken(m, old *job.QueueMessage) kept {
	if old == nil {
		return kept{}
	}
	k := kept{identity: true}
	k.move("storageAccount", m.StorageAccount, old.StorageAccount)
	k.move("queueName", m.QueueName, old.QueueName)
	return k
}

// keepsRoutingKey reports whether the routing key of old, which may be nil, may be kept in p.
func keepsRoutingKey(p, old *job.PagerDuty) kept {
	if old == nil {
		return kept{}
	}
	k := kept{identity: true}
	k.move("scheme, host or port of uri", origin(p.Address()), origin(old.Address()))
	return k
}

// keepsKey reports whether the key of old, which may be nil, may be kept in m. m must have an authentication.
func keepsKey(m, old *job.ServiceBusMessage) kept {
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
	u, err := job.ParseURI(uri)
	if err != nil {
		return uri
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + fields.Normalize(u.Hostname()) + ":" + port
}
