package input

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"almanac/internal/certificate"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input/request"
	"almanac/job/template"
)

// parameter returns the name of the parameter member for the type; "" for an unknown type.
func parameter(t job.ActionType) string {
	switch t.Kind() {
	case job.ActionHTTP, job.ActionHTTPS:
		return "request"
	case job.ActionStorageQueue:
		return "queueMessage"
	case job.ActionServiceBusQueue:
		return "serviceBusQueueMessage"
	case job.ActionServiceBusTopic:
		return "serviceBusTopicMessage"
	case job.ActionEmail:
		return "email"
	case job.ActionPagerDuty:
		return "pagerDuty"
	default:
		return ""
	}
}

var parameters = []string{"request", "queueMessage", "serviceBusQueueMessage", "serviceBusTopicMessage", "email", "pagerDuty"}

// withErrorAction calls do with the action and its error action, each with its path and the action that it
// replaces.
func withErrorAction(a *job.Action, path string, stored *job.Action, do func(a *job.Action, path string, stored *job.Action)) {
	do(a, path, stored)
	if a.ErrorAction != nil {
		old := stored.ErrorAction
		if old == nil {
			old = &job.Action{}
		}
		do(a.ErrorAction, path+".errorAction", old)
	}
}

// action checks a job's action and its error action, and adds descriptions of their certificates. stored is
// the action to be replaced; secrets that may be kept from it need not be sent.
func (p *parser) action(a *job.Action, path string, stored *job.Action) {
	main := a
	withErrorAction(a, path, stored, func(a *job.Action, path string, _ *job.Action) {
		p.parameters(a, path)
		for _, e := range template.Check(a, a != main) {
			p.addAt(path+"."+e.Path, e)
		}
		p.request(a.Request, path+".request", a.Type.Kind())
		p.serviceBus(a.ServiceBusQueueMessage, path+".serviceBusQueueMessage")
		p.serviceBus(a.ServiceBusTopicMessage, path+".serviceBusTopicMessage")
	})
	eachSecret(a, path, stored, func(s secret) {
		k := s.kept.to(p.limits.AllowSecretRetargeting)
		if s.empty != nil && !k.identity && slices.Contains(p.Emptied, s.path) {
			*s.empty = true
		}
		if s.absent() && s.allowed != "" && !k.may() && !p.Has(s.path) && !p.secretsLater {
			p.Add(k.missing(s))
		}
	})
	withErrorAction(a, path, stored, func(a *job.Action, path string, stored *job.Action) {
		if a.Request != nil && a.Request.Authentication != nil && a.Request.Authentication.Type == job.AuthClientCertificate {
			p.certificate(a.Request.Authentication, path+".request.authentication", stored.Request)
		}
	})
}

// checkActions reports an error of check for a job's action and for its error action. It calls check only if
// there are no errors yet.
func (p *parser) checkActions(a *job.Action, check func(*job.Action) error) {
	if check == nil || len(p.List) > 0 {
		return
	}
	withErrorAction(a, p.pathOf("action"), &job.Action{}, func(a *job.Action, path string, _ *job.Action) {
		if err := check(a); err != nil {
			p.fail(path, fields.Forbidden, "", err.Error())
		}
	})
}

// parameters reports the type's parameter member if it is missing, and those of other types if they are
// present.
func (p *parser) parameters(a *job.Action, path string) {
	wanted := parameter(a.Type)
	if wanted == "" {
		return // an error already
	}
	given := map[string]bool{
		"request": a.Request != nil, "queueMessage": a.QueueMessage != nil,
		"serviceBusQueueMessage": a.ServiceBusQueueMessage != nil, "serviceBusTopicMessage": a.ServiceBusTopicMessage != nil,
		"email": a.Email != nil, "pagerDuty": a.PagerDuty != nil,
	}
	for _, name := range parameters {
		at := path + "." + name
		switch {
		case given[name] && name != wanted:
			p.fail(at, fields.Forbidden, "", fmt.Sprintf("an action of type %s has %s", a.Type.Kind(), withArticle(wanted)))
		case !given[name] && name == wanted && !p.Has(at):
			p.fail(at, fields.Required, "an object", fmt.Sprintf("an action of type %s has one", a.Type.Kind()))
		}
	}
}

// withArticle returns the name of a parameter member with its article.
func withArticle(name string) string {
	if strings.HasPrefix(name, "e") {
		return "an " + name
	}
	return "a " + name
}

// request checks the request of an action of type Http or Https. It removes an authentication of type
// NotSpecified.
func (p *parser) request(r *job.Request, path string, kind job.ActionType) {
	if r == nil {
		return
	}
	if at := path + ".uri"; p.Has(at) || r.URI != "" && p.addAt(at, p.uri(r, kind)) {
		r.URI = ""
	}
	size := 0
	for _, h := range r.Headers {
		p.addAt(path+".headers."+fields.Shorten(h.Name), request.CheckHeader(h))
		size += len(h.Name) + len(h.Value)
	}
	if n := len(r.Headers); n > p.limits.Headers {
		p.fail(path+".headers", fields.TooMany, fmt.Sprintf("at most %d headers, not %d", p.limits.Headers, n), "")
	}
	if size > p.limits.HeaderBytes {
		p.fail(path+".headers", fields.TooLong, fmt.Sprintf("names and values of at most %d bytes in all, not %d", p.limits.HeaderBytes, size), "")
	}
	if auth := r.Authentication; auth != nil && auth.Type == job.AuthBasic {
		p.basic(auth, path+".authentication")
	}
	if auth := r.Authentication; auth != nil && (auth.Type == "" || auth.Type == "NotSpecified") {
		r.Authentication = nil
	}
}

// basic checks the credentials of basic authentication (RFC 7617).
func (p *parser) basic(a *job.Authentication, path string) {
	p.addAt(path+".username", request.CheckUser(a.Username))
	if strings.ContainsFunc(a.Password, unicode.IsControl) {
		p.fail(path+".password", fields.Invalid, "a password without control characters", "")
	}
	if a.EmptyPassword && a.Password != "" {
		p.fail(path+".emptyPassword", fields.Forbidden, "", "there is a password beside it: leave one of them out")
	}
}

// uri returns what is wrong with the URI of a request, without its path; nil if nothing is.
func (p *parser) uri(r *job.Request, kind job.ActionType) *job.FieldError {
	switch most := p.limits.URIBytes; {
	case len(r.URI) > most:
		return &job.FieldError{Code: fields.TooLong, Allowed: fmt.Sprintf("at most %d bytes", most)}
	case r.Template:
		return request.CheckURI(template.Filled(r.URI), kind)
	}
	return request.CheckURI(r.URI, kind)
}

const maxPfxPassword = 256

// certificate checks a client certificate and sets the members that describe it: they come from stored if
// the stored certificate is kept, and from the certificate otherwise.
func (p *parser) certificate(a *job.Authentication, path string, stored *job.Request) {
	if utf8.RuneCountInString(a.Password) > maxPfxPassword {
		p.fail(path+".password", fields.TooLong, fmt.Sprintf("at most %d characters", maxPfxPassword), "")
	}
	switch {
	case p.Has(path + ".pfx"), p.Has(path + ".password"): // errors already
	case a.Pfx == "" && a.Password != "": // whether it opens the stored file cannot be checked here
		p.fail(path+".pfx", fields.Required, wantPFX, "a password belongs to the file that is sent with it")
	case a.Pfx == "":
		was := stored.Authentication
		a.CertificateThumbprint = was.CertificateThumbprint
		a.CertificateExpiration = was.CertificateExpiration
		a.CertificateSubjectName = was.CertificateSubjectName
	default:
		if err := describe(a); errors.Is(err, certificate.ErrPassword) {
			p.fail(path+".password", fields.Invalid, err.Error(), "")
		} else if err != nil {
			p.fail(path+".pfx", fields.Invalid, err.Error(), "")
		}
	}
}

// describe sets the members that describe the certificate in the PFX file.
func describe(a *job.Authentication) error {
	c, err := certificate.Read(a.Pfx, a.Password)
	if err != nil {
		return err
	}
	a.CertificateThumbprint = fmt.Sprintf("%X", sha1.Sum(c.Leaf.Raw))
	a.CertificateExpiration = job.Time{Time: c.Leaf.NotAfter}.String()
	a.CertificateSubjectName = certificate.Subject(c.Leaf)
	return nil
}

const authNotSpecified = "notSpecified"

// serviceBus checks the authentication of a message. Without a type it is a shared access key.
func (p *parser) serviceBus(m *job.ServiceBusMessage, path string) {
	if m == nil || m.Authentication == nil || m.Authentication.Type == authNotSpecified {
		return
	}
	if at := path + ".authentication.sasKeyName"; m.Authentication.SASKeyName == "" && !p.Has(at) {
		p.fail(at, fields.Required, "the name of a shared access key", "")
	}
}
