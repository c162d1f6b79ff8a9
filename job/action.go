package job

import (
	"encoding/json"
	"strings"
	"time"

	"almanac/internal/fields"
)

// An Action is what a job does at each occurrence, or the target of a notification. Exactly one of the parameter
// members is set, the one for Type. Email, PagerDuty and Format exist in a target only.
type Action struct {
	Request                *Request           `json:"request,omitempty"`
	QueueMessage           *QueueMessage      `json:"queueMessage,omitempty"`
	ServiceBusQueueMessage *ServiceBusMessage `json:"serviceBusQueueMessage,omitempty" field:"as=queue"`
	ServiceBusTopicMessage *ServiceBusMessage `json:"serviceBusTopicMessage,omitempty" field:"as=topic"`
	Type                   ActionType         `json:"type" field:"required,rule=actionType"`
	Email                  *Email             `json:"email,omitempty" field:"in=target"`
	PagerDuty              *PagerDuty         `json:"pagerDuty,omitempty" field:"in=target"`
	Format                 Format             `json:"format,omitempty" field:"in=target,enum=cloudEvents|slack|teams"`
	RetryPolicy            *RetryPolicy       `json:"retryPolicy,omitempty"`
	ErrorAction            *Action            `json:"errorAction,omitempty"` // runs after the last attempt failed; has no error action itself
}

// An ActionType names a kind of action in the user's spelling. Compare it through [ActionType.Kind].
type ActionType string

// The kinds of action.
const (
	ActionHTTP            ActionType = "Http"
	ActionHTTPS           ActionType = "Https"
	ActionStorageQueue    ActionType = "StorageQueue"
	ActionServiceBusQueue ActionType = "ServiceBusQueue"
	ActionServiceBusTopic ActionType = "ServiceBusTopic"
	ActionEmail           ActionType = "Email"     // of notifications only
	ActionPagerDuty       ActionType = "PagerDuty" // of notifications only
)

var actionTypes = []ActionType{ActionHTTP, ActionHTTPS, ActionStorageQueue, ActionServiceBusQueue, ActionServiceBusTopic, ActionEmail, ActionPagerDuty}

// Kind returns the constant that equals t in any case; "" for none.
func (t ActionType) Kind() ActionType {
	for _, k := range actionTypes {
		if fields.SameName(string(k), string(t)) {
			return k
		}
	}
	return ""
}

// Text describes the action for people, without secrets, in at most 200 characters.
func (a *Action) Text() string {
	return limit(a.text(), 200)
}

// limit returns a text of at most so many characters.
func limit(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func (a *Action) text() string {
	switch {
	case a.Request != nil:
		return a.Request.Method + " " + RedactURI(a.Request.URI)
	case a.QueueMessage != nil:
		return "message to storage queue " + a.QueueMessage.StorageAccount + "/" + a.QueueMessage.QueueName
	case a.ServiceBusQueueMessage != nil:
		return "message to service bus queue " + a.ServiceBusQueueMessage.Namespace + "/" + a.ServiceBusQueueMessage.QueueName
	case a.ServiceBusTopicMessage != nil:
		return "message to service bus topic " + a.ServiceBusTopicMessage.Namespace + "/" + a.ServiceBusTopicMessage.TopicPath
	case a.Email != nil:
		return "mail to " + strings.Join(a.Email.To, ", ")
	case a.PagerDuty != nil:
		return "event of PagerDuty to " + RedactURI(a.PagerDuty.Address())
	}
	return string(a.Type)
}

// A Request is a web request.
type Request struct {
	URI            string          `json:"uri" field:"required,rule=uri"`
	Method         string          `json:"method" field:"rule=method,default=GET"`
	Headers        Members         `json:"headers,omitzero"`
	Body           string          `json:"body,omitempty" field:"rule=body,secret"`
	Template       bool            `json:"template,omitempty"`    // uri, headers and body have placeholders; see package template
	Traceparent    *bool           `json:"traceparent,omitempty"` // whether the receiver gets the trace of the attempt; nil means true
	Authentication *Authentication `json:"authentication,omitempty"`

	FollowRedirects *bool `json:"followRedirects,omitempty"` // whether redirects to the same scheme, host and port are followed; nil means true

	_ struct{} `ignore:"retryPolicy"` // a published quickstart sends it here; the service ignored it
}

// IsMethod reports whether a request may have a method: one of those that Azure Scheduler names, in any
// case, except CONNECT and TRACE. CONNECT opens a tunnel through a proxy, and TRACE returns credentials.
func IsMethod(name string) bool {
	switch strings.ToUpper(name) {
	case "GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS":
		return true
	}
	return false
}

// Authentication authenticates a request. Type decides which members are used. Password, Pfx and Secret are
// secrets.
type Authentication struct {
	Username string `json:"username,omitempty" field:"in=Basic,required,empty"`           // Basic
	Password string `json:"password,omitempty" field:"in=Basic|ClientCertificate,secret"` // Basic, ClientCertificate

	EmptyPassword bool `json:"emptyPassword,omitempty" field:"in=Basic"` // Basic: the password is empty; otherwise an empty Password means a stored one

	Pfx                    string `json:"pfx,omitempty" field:"in=ClientCertificate,secret,rule=pfx"` // ClientCertificate, base64
	CertificateThumbprint  string `json:"certificateThumbprint,omitempty" field:"in=ClientCertificate"`
	CertificateExpiration  string `json:"certificateExpiration,omitempty" field:"in=ClientCertificate,readonly"`
	CertificateSubjectName string `json:"certificateSubjectName,omitempty" field:"in=ClientCertificate,readonly"`

	Secret   string `json:"secret,omitempty" field:"in=ActiveDirectoryOAuth,secret"` // ActiveDirectoryOAuth
	Tenant   string `json:"tenant,omitempty" field:"in=ActiveDirectoryOAuth,required"`
	Audience string `json:"audience,omitempty" field:"in=ActiveDirectoryOAuth,required"`
	ClientID string `json:"clientId,omitempty" field:"in=ActiveDirectoryOAuth,required"`

	Type AuthType `json:"type" field:"variant,required,enum=Basic|ClientCertificate|ActiveDirectoryOAuth|NotSpecified"`

	_ struct{} `ignore:"certificateExpirationDate"`
}

// MarshalJSON implements [json.Marshaler]. An empty user of basic authentication is shown, since the member is required.
func (a Authentication) MarshalJSON() ([]byte, error) {
	type plain Authentication
	if a.Type != AuthBasic || a.Username != "" {
		return json.Marshal(plain(a))
	}
	return json.Marshal(struct {
		Username string `json:"username"`
		plain
	}{plain: plain(a)})
}

// An AuthType names a way to authenticate a request.
type AuthType string

// The ways to authenticate.
const (
	AuthBasic             AuthType = "Basic"
	AuthClientCertificate AuthType = "ClientCertificate"
	AuthOAuth             AuthType = "ActiveDirectoryOAuth"
)

// A QueueMessage is put on an Azure storage queue. SASToken is a secret.
type QueueMessage struct {
	StorageAccount string        `json:"storageAccount" field:"required,rule=storageAccount"`
	QueueName      string        `json:"queueName" field:"required,rule=storageQueue"`
	SASToken       string        `json:"sasToken,omitempty" field:"secret"`
	Message        string        `json:"message" field:"rule=queueMessage,secret"`
	MessageFormat  MessageFormat `json:"messageFormat,omitempty" field:"enum=envelope|raw"`
	Template       bool          `json:"template,omitempty"` // the message has placeholders
}

// A MessageFormat defines how the text of a message is put on a storage queue. It is an extension: Azure
// Scheduler has only the envelope.
type MessageFormat string

// The message formats. The zero value means MessageEnvelope.
const (
	MessageEnvelope MessageFormat = "envelope" // as Azure Scheduler: the text in an XML envelope that names the execution, in base64
	MessageRaw      MessageFormat = "raw"      // the text unchanged
)

// A ServiceBusMessage is sent to a queue (QueueName) or a topic (TopicPath).
type ServiceBusMessage struct {
	QueueName                 string              `json:"queueName,omitempty" field:"in=queue,required,rule=entity"`
	TopicPath                 string              `json:"topicPath,omitempty" field:"in=topic,required,rule=entity"`
	Namespace                 string              `json:"namespace" field:"required,rule=namespace"`
	TransportType             string              `json:"transportType,omitempty" field:"enum=notSpecified|netMessaging|amqp"`
	Authentication            *ServiceBusAuth     `json:"authentication,omitempty"`
	Message                   string              `json:"message" field:"rule=body,secret"`
	Template                  bool                `json:"template,omitempty"`    // the message and the values of custom properties have placeholders
	Traceparent               *bool               `json:"traceparent,omitempty"` // as in a Request
	BrokeredMessageProperties *BrokeredProperties `json:"brokeredMessageProperties,omitempty"`
	CustomMessageProperties   Members             `json:"customMessageProperties,omitzero"`
}

// ServiceBusAuth is a shared access key. SASKey is a secret.
type ServiceBusAuth struct {
	SASKeyName string `json:"sasKeyName,omitempty"`
	SASKey     string `json:"sasKey,omitempty" field:"secret"`
	Type       string `json:"type,omitempty" field:"enum=sharedAccessKey|notSpecified"`
}

// BrokeredProperties are the message's brokered properties, as the user sent them.
type BrokeredProperties struct {
	ContentType             string `json:"contentType,omitempty"`
	CorrelationID           string `json:"correlationId,omitempty"`
	ForcePersistence        *bool  `json:"forcePersistence,omitempty"`
	Label                   string `json:"label,omitempty"`
	MessageID               string `json:"messageId,omitempty"`
	PartitionKey            string `json:"partitionKey,omitempty"`
	ReplyTo                 string `json:"replyTo,omitempty"`
	ReplyToSessionID        string `json:"replyToSessionId,omitempty"`
	ScheduledEnqueueTimeUTC *Time  `json:"scheduledEnqueueTimeUtc,omitempty" field:"rule=utcTime"`
	SessionID               string `json:"sessionId,omitempty"`
	TimeToLive              string `json:"timeToLive,omitempty" field:"rule=timeToLive"` // a duration; a date-time in older versions of the API
	To                      string `json:"to,omitempty"`
	ViaPartitionKey         string `json:"viaPartitionKey,omitempty"`
}

// A RetryPolicy defines how often and at what interval a failed attempt is retried. A nil policy, and every
// absent member, means the service's default: 4 retries, 30 s apart.
type RetryPolicy struct {
	RetryType     RetryType `json:"retryType,omitempty" field:"enum=none|fixed"`
	RetryInterval Duration  `json:"retryInterval,omitempty" field:"rule=retryInterval"`
	RetryCount    int       `json:"retryCount,omitempty" field:"min=1,rule=retryCount,quoted"`
}

// A RetryType turns retries on or off.
type RetryType string

// The retry types. The zero value means RetryFixed.
const (
	RetryNone  RetryType = "none"
	RetryFixed RetryType = "fixed"
)

const (
	defaultRetryCount    = 4
	defaultRetryInterval = 30 * time.Second
)

// Attempts returns the maximum number of attempts, including the first: 5 by default, 1 without retries.
func (p *RetryPolicy) Attempts() int {
	switch {
	case p == nil:
		return defaultRetryCount + 1
	case p.RetryType == RetryNone:
		return 1
	case p.RetryCount == 0:
		return defaultRetryCount + 1
	}
	return p.RetryCount + 1
}

// Interval returns the minimum time between the end of an attempt and the start of the next; 30 s by
// default.
func (p *RetryPolicy) Interval() time.Duration {
	if p == nil || p.RetryInterval == "" {
		return defaultRetryInterval
	}
	return p.RetryInterval.Value()
}

// IsForEver reports whether a timeToLive is .NET's longest TimeSpan, by which clients of Service Bus say that a message does not expire.
func IsForEver(timeToLive string) bool {
	return timeToLive == "10675199.02:48:05.4775807" || timeToLive == "P10675199DT2H48M5.4775807S"
}
