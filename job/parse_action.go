package job

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"almanac/recurrence"
)

// parameter returns the name of the parameter member for the type; "" for an unknown type.
func (t ActionType) parameter() string {
	switch t.Kind() {
	case ActionHTTP, ActionHTTPS:
		return "request"
	case ActionStorageQueue:
		return "queueMessage"
	case ActionServiceBusQueue:
		return "serviceBusQueueMessage"
	case ActionServiceBusTopic:
		return "serviceBusTopicMessage"
	default:
		return ""
	}
}

var parameters = []string{"request", "queueMessage", "serviceBusQueueMessage", "serviceBusTopicMessage"}

// action parses a job's action and its error action. stored is the action to be replaced; secrets that may
// be kept from it need not be sent.
func (b *binder) action(o *object, stored *Action) Action {
	a := b.plainAction(o, stored)
	if inner, ok := o.object("errorAction"); ok {
		old := stored.ErrorAction
		if old == nil {
			old = &Action{}
		}
		e := b.plainAction(inner, old)
		if inner.node.member("errorAction") != nil {
			b.fail(inner.at("errorAction"), nil, "none: an error action has no error action of its own")
			inner.ignore("errorAction")
		}
		inner.done()
		a.ErrorAction = &e
	}
	o.done()
	return a
}

// checkActions reports an error of check for a job's action, at path, and for its error action. It calls
// check only if there are no errors yet.
func (b *binder) checkActions(path string, a *Action, check func(*Action) error) {
	if check == nil || len(b.fields) > 0 {
		return
	}
	const want = "an action that can be performed: "
	if err := check(a); err != nil {
		b.fail(path, nil, want+err.Error())
	}
	if a.ErrorAction == nil {
		return
	}
	if err := check(a.ErrorAction); err != nil {
		b.fail(memberPath(path, "errorAction"), nil, want+err.Error())
	}
}

// plainAction parses an action without its error action.
func (b *binder) plainAction(o *object, stored *Action) Action {
	var a Action
	if kind := o.requiredEnum("type", actionTypeNames...); kind != "" {
		a.Type = ActionType(o.get("type").text)
	}
	b.checkParameters(o, a.Type)
	if inner, ok := o.object("request"); ok {
		a.Request = b.request(inner, stored.Request, a.Type.Kind())
	}
	if inner, ok := o.object("queueMessage"); ok {
		a.QueueMessage = b.queueMessage(inner, stored.QueueMessage)
	}
	if inner, ok := o.object("serviceBusQueueMessage"); ok {
		a.ServiceBusQueueMessage = b.serviceBusMessage(inner, "queueName", stored.ServiceBusQueueMessage)
	}
	if inner, ok := o.object("serviceBusTopicMessage"); ok {
		a.ServiceBusTopicMessage = b.serviceBusMessage(inner, "topicPath", stored.ServiceBusTopicMessage)
	}
	if inner, ok := o.object("retryPolicy"); ok {
		a.RetryPolicy = b.retryPolicy(inner)
	}
	return a
}

// checkParameters reports the type's parameter member if it is missing, and those of other types if they
// are present.
func (b *binder) checkParameters(o *object, t ActionType) {
	wanted := t.parameter()
	if wanted == "" {
		return // an error already
	}
	for _, name := range parameters {
		switch given := o.get(name) != nil; {
		case given && name != wanted:
			b.fail(o.at(name), nil, fmt.Sprintf("none: an action of type %s has a %s", t.Kind(), wanted))
		case !given && name == wanted:
			b.fail(o.at(name), nil, fmt.Sprintf("an object: an action of type %s has one", t.Kind()))
		}
	}
}

// request parses the request of an action of type Http or Https.
func (b *binder) request(o *object, stored *Request, kind ActionType) *Request {
	r := &Request{
		URI:     b.uri(o, kind),
		Method:  o.text("method", textRule{want: wantMethod, valid: IsMethod}),
		Headers: b.headers(o),
		Body:    o.text("body", atMost(b.limits.BodyBytes)),
	}
	if r.Method == "" {
		r.Method = "GET"
	}
	if inner, ok := o.object("authentication"); ok {
		r.Authentication = b.authentication(inner, r, stored)
	}
	o.ignore("retryPolicy") // a published quickstart sends it here; the service ignored it
	o.done()
	return r
}

const wantMethod = "GET, PUT, POST, PATCH, DELETE, HEAD or OPTIONS"

// IsMethod reports whether a request may have a method: one of those that Azure Scheduler names, in any
// case, except CONNECT and TRACE. CONNECT opens a tunnel through a proxy, and TRACE returns credentials.
func IsMethod(name string) bool {
	switch strings.ToUpper(name) {
	case "GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS":
		return true
	}
	return false
}

// atMost is the rule for bodies and messages.
func atMost(characters int) textRule {
	return textRule{
		want:   fmt.Sprintf("at most %d characters", characters),
		valid:  func(s string) bool { return utf8.RuneCountInString(s) <= characters },
		hidden: true,
	}
}

// uri parses a request's URI.
func (b *binder) uri(o *object, kind ActionType) string {
	uri := o.text("uri", needed("an absolute http or https URL"))
	if uri == "" {
		return "" // an error already
	}
	want := wantURI(uri, kind, b.limits.URIBytes)
	if want == "" {
		return uri
	}
	var shown any // redaction is reliable only for a proper URL
	if u, err := url.Parse(uri); err == nil && isHTTP(u) {
		shown = RedactURI(uri)
	}
	b.fail(o.at("uri"), shown, want)
	return ""
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// wantURI returns what is wrong with a URI, as what is allowed instead; "" if nothing is.
func wantURI(uri string, kind ActionType, most int) string {
	if len(uri) > most {
		return fmt.Sprintf("at most %d bytes", most)
	}
	u, err := url.Parse(uri)
	if err != nil || strings.ContainsFunc(uri, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "an absolute http or https URL without blanks and control characters"
	}
	_, err = strconv.ParseUint("0"+u.Port(), 10, 16)
	switch {
	case !isHTTP(u), err != nil:
		return "an absolute http or https URL with a host"
	case u.Scheme != "https" && kind == ActionHTTPS:
		return "an https URL, as the action is of type Https"
	}
	return ""
}

// connectionHeaders concern a single connection, so the HTTP client sets them.
var connectionHeaders = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
}

// headers parses a request's headers.
func (b *binder) headers(o *object) Members {
	headers := o.strings("headers")
	size := 0
	for _, h := range headers {
		b.checkHeader(memberPath(o.at("headers"), shorten(h.Name)), h)
		size += len(h.Name) + len(h.Value)
	}
	if len(headers) > b.limits.Headers {
		b.fail(o.at("headers"), nil, fmt.Sprintf("at most %d headers, not %d", b.limits.Headers, len(headers)))
	}
	if size > b.limits.HeaderBytes {
		b.fail(o.at("headers"), nil, fmt.Sprintf("names and values of at most %d bytes in all, not %d", b.limits.HeaderBytes, size))
	}
	return headers
}

func (b *binder) checkHeader(path string, h Member) {
	belongsToConnection := slices.ContainsFunc(connectionHeaders, func(name string) bool { return sameName(name, h.Name) })
	badInValue := func(r rune) bool { return r != '\t' && (r < ' ' || r == 0x7f) }
	switch {
	case !isToken(h.Name):
		b.fail(path, nil, "the name of an HTTP header: letters, digits and hyphens")
	case belongsToConnection:
		b.fail(path, nil, "none: this header is set for each connection as it needs it")
	case strings.ContainsFunc(h.Value, badInValue):
		b.fail(path, nil, "a value without line breaks and control characters")
	case strings.EqualFold(h.Name, "Host") && !isVirtualHost(h.Value):
		b.fail(path, nil, "a host name such as www.example.com, with or without a port; an address and localhost are not allowed here")
	}
}

var (
	virtualHost = regexp.MustCompile(`^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$`)
	// numericLabel matches a last label that makes some parsers take a name for an IPv4 address.
	numericLabel = regexp.MustCompile(`(?i)(^|\.)([0-9]+|0x[0-9a-f]*)\.?$`)
	localhost    = regexp.MustCompile(`(?i)(^|\.)localhost\.?$`)
)

// isVirtualHost reports whether a value is allowed in a Host header. Addresses and localhost are not:
// servers meant for their own machine or network rely on the Host header to detect requests from web pages
// of other sites.
func isVirtualHost(value string) bool {
	host := value
	if name, port, ok := strings.Cut(value, ":"); ok {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		host = name
	}
	return virtualHost.MatchString(host) && len(host) <= 253 && !numericLabel.MatchString(host) && !localhost.MatchString(host)
}

// isToken reports whether s is an HTTP token.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letterOrDigit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

const maxPfxPassword = 256

// authentication parses the authentication of r; nil for type NotSpecified. stored is the redacted request
// to be replaced, or nil.
func (b *binder) authentication(o *object, r, stored *Request) *Authentication {
	kind := o.requiredEnum("type", string(AuthBasic), string(AuthClientCertificate), string(AuthOAuth), "NotSpecified")
	a := &Authentication{Type: AuthType(kind)}
	keeps := func() kept {
		with := *r
		with.Authentication = a
		return with.keeps(stored).to(b.limits.AllowSecretRetargeting)
	}
	switch a.Type {
	case AuthBasic:
		a.Username = o.text("username", needed("a user name"))
		a.Password = o.secret("password", wantPassword, keeps().missing(wantPassword), nil)
	case AuthClientCertificate:
		a.CertificateThumbprint = o.text("certificateThumbprint", textRule{})
		b.certificate(o, a, keeps(), stored)
	case AuthOAuth:
		a.Tenant = o.text("tenant", needed("a tenant"))
		a.Audience = o.text("audience", needed("an audience"))
		a.ClientID = o.text("clientId", needed("a client id"))
		a.Secret = o.secret("secret", wantClientSecret, keeps().missing(wantClientSecret), nil)
	default:
		return nil // NotSpecified, or an error already
	}
	o.done()
	return a
}

// certificate parses a client certificate. The members that describe it are never taken from the body: they
// come from stored if the stored certificate is kept, and from the certificate otherwise.
func (b *binder) certificate(o *object, a *Authentication, k kept, stored *Request) {
	o.ignore("certificateExpiration", "certificateExpirationDate", "certificateSubjectName")
	bad := len(b.fields)
	a.Password = o.secret("password", fmt.Sprintf("at most %d characters", maxPfxPassword), "", func(s string) bool {
		return utf8.RuneCountInString(s) <= maxPfxPassword
	})
	// A password belongs to the PFX file sent with it. Whether it opens the stored file cannot be checked
	// here.
	missing := k.missing(wantPFX)
	if a.Password != "" {
		missing = cmp.Or(missing, wantPFX)
	}
	a.Pfx = o.secret("pfx", wantPFX, missing, func(s string) bool {
		_, err := decodePFX(s)
		return err == nil
	})
	switch {
	case len(b.fields) > bad: // errors already
	case a.Pfx == "":
		was := stored.Authentication
		a.CertificateThumbprint = was.CertificateThumbprint
		a.CertificateExpiration = was.CertificateExpiration
		a.CertificateSubjectName = was.CertificateSubjectName
	default:
		if err := a.describe(); errors.Is(err, errPFXPassword) {
			b.fail(o.at("password"), nil, err.Error())
		} else if err != nil {
			b.fail(o.at("pfx"), nil, err.Error())
		}
	}
}

// needed is the rule for a member that must not be empty.
func needed(want string) textRule {
	return textRule{want: want, valid: func(s string) bool { return s != "" }, required: true}
}

var (
	hostLabel      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,62}$`)
	queueName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{2,62}$`)
	storageAccount = textRule{want: "the name of a storage account: at most 63 letters, digits and hyphens", valid: hostLabel.MatchString, required: true}
	storageQueue   = textRule{want: "the name of a storage queue: 3 to 63 letters, digits and hyphens, not a hyphen first", valid: queueName.MatchString, required: true}
	namespace      = textRule{want: "the name of a Service Bus namespace, without the rest of its host name: at most 63 letters, digits and hyphens", valid: hostLabel.MatchString, required: true}
	entity         = textRule{want: "the name of a Service Bus queue or topic: 1 to 260 characters without blanks and control characters", valid: isEntity, required: true}
)

func isEntity(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= 260 &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

func (b *binder) queueMessage(o *object, stored *QueueMessage) *QueueMessage {
	m := &QueueMessage{
		StorageAccount: o.text("storageAccount", storageAccount),
		QueueName:      o.text("queueName", storageQueue),
	}
	m.SASToken = o.secret("sasToken", wantSASToken, m.keeps(stored).to(b.limits.AllowSecretRetargeting).missing(wantSASToken), nil)
	rule := atMost(b.limits.BodyBytes)
	m.Message = o.text("message", textRule{
		want:   rule.want + ", all of which XML can hold",
		valid:  func(s string) bool { return rule.valid(s) && !strings.ContainsFunc(s, notInXML) },
		hidden: true,
	})
	m.MessageFormat = MessageFormat(o.enum("messageFormat", string(MessageEnvelope), string(MessageRaw)))
	o.done()
	return m
}

// notInXML reports whether XML 1.0 cannot represent r. Messages are sent as XML, in which such a character
// would arrive as another one.
func notInXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
}

const authNotSpecified = "notSpecified"

// serviceBusMessage parses a message to a queue or topic, named by the member target.
func (b *binder) serviceBusMessage(o *object, target string, stored *ServiceBusMessage) *ServiceBusMessage {
	m := &ServiceBusMessage{}
	if name := o.text(target, entity); target == "queueName" {
		m.QueueName = name
	} else {
		m.TopicPath = name
	}
	m.Namespace = o.text("namespace", namespace)
	m.TransportType = o.enum("transportType", authNotSpecified, "netMessaging", "amqp")
	if inner, ok := o.object("authentication"); ok {
		m.Authentication = b.serviceBusAuth(inner, m, stored)
	}
	m.Message = o.text("message", atMost(b.limits.BodyBytes))
	if inner, ok := o.object("brokeredMessageProperties"); ok {
		m.BrokeredMessageProperties = b.brokeredProperties(inner)
	}
	m.CustomMessageProperties = o.strings("customMessageProperties")
	o.done()
	return m
}

// serviceBusAuth parses the authentication of m. Without a type it is a shared access key.
func (b *binder) serviceBusAuth(o *object, m, stored *ServiceBusMessage) *ServiceBusAuth {
	a := &ServiceBusAuth{Type: o.enum("type", "sharedAccessKey", authNotSpecified)}
	name := textRule{}
	if a.Type != authNotSpecified {
		name = needed("the name of a shared access key")
	}
	a.SASKeyName = o.text("sasKeyName", name)
	missing := ""
	if a.Type != authNotSpecified {
		missing = (&ServiceBusMessage{Namespace: m.Namespace, Authentication: a}).keeps(stored).to(b.limits.AllowSecretRetargeting).missing(wantSASKey)
	}
	a.SASKey = o.secret("sasKey", wantSASKey, missing, nil)
	o.done()
	return a
}

func (b *binder) brokeredProperties(o *object) *BrokeredProperties {
	var free textRule
	p := &BrokeredProperties{
		ContentType:             o.text("contentType", free),
		CorrelationID:           o.text("correlationId", free),
		ForcePersistence:        o.boolean("forcePersistence"),
		Label:                   o.text("label", free),
		MessageID:               o.text("messageId", free),
		PartitionKey:            o.text("partitionKey", free),
		ReplyTo:                 o.text("replyTo", free),
		ReplyToSessionID:        o.text("replyToSessionId", free),
		ScheduledEnqueueTimeUTC: o.time("scheduledEnqueueTimeUtc", time.UTC),
		SessionID:               o.text("sessionId", free),
		TimeToLive: o.text("timeToLive", textRule{
			want:  "a duration such as PT30S or 00:00:30, or a date and time",
			valid: isTimeToLive,
		}),
		To:              o.text("to", free),
		ViaPartitionKey: o.text("viaPartitionKey", free),
	}
	o.done()
	return p
}

func isTimeToLive(s string) bool {
	if _, err := ParseDuration(s); err == nil {
		return true
	}
	_, err := recurrence.ParseTime(s, time.UTC)
	return err == nil
}

func (b *binder) retryPolicy(o *object) *RetryPolicy {
	p := &RetryPolicy{
		RetryType:     RetryType(o.enum("retryType", string(RetryNone), string(RetryFixed))),
		RetryInterval: o.duration("retryInterval", b.limits.MinRetryInterval, b.limits.MaxRetryInterval),
	}
	p.RetryCount, _ = o.integer("retryCount", 1, b.limits.MaxRetryCount)
	o.done()
	return p
}
