package kind

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/recurrence"
)

// A ServiceBusMessage is sent to a queue (QueueName) or a topic (TopicPath).
type ServiceBusMessage struct {
	QueueName      string          `json:"queueName,omitempty" field:"in=queue,required,rule=entity"`
	TopicPath      string          `json:"topicPath,omitempty" field:"in=topic,required,rule=entity"`
	Namespace      string          `json:"namespace" field:"required,rule=namespace"`
	TransportType  string          `json:"transportType,omitempty" field:"enum=notSpecified|netMessaging|amqp"`
	Authentication *ServiceBusAuth `json:"authentication,omitempty"`
	Message        string          `json:"message" field:"rule=body,secret"`
	Template       bool            `json:"template,omitempty"`    // message and custom properties have placeholders
	Traceparent    *bool           `json:"traceparent,omitempty"` // as in a Request

	BrokeredMessageProperties *BrokeredProperties `json:"brokeredMessageProperties,omitempty"`
	CustomMessageProperties   fields.Members      `json:"customMessageProperties,omitzero"`
}

// ServiceBusAuth is a shared access key. SASKey is a secret.
type ServiceBusAuth struct {
	SASKeyName string `json:"sasKeyName,omitempty"`
	SASKey     string `json:"sasKey,omitempty" field:"secret"`
	Type       string `json:"type,omitempty" field:"enum=sharedAccessKey|notSpecified"`
}

// BrokeredProperties are the message's brokered properties, as the user sent them.
type BrokeredProperties struct {
	ContentType             string        `json:"contentType,omitempty"`
	CorrelationID           string        `json:"correlationId,omitempty"`
	ForcePersistence        *bool         `json:"forcePersistence,omitempty"`
	Label                   string        `json:"label,omitempty"`
	MessageID               string        `json:"messageId,omitempty"`
	PartitionKey            string        `json:"partitionKey,omitempty"`
	ReplyTo                 string        `json:"replyTo,omitempty"`
	ReplyToSessionID        string        `json:"replyToSessionId,omitempty"`
	ScheduledEnqueueTimeUTC *iso8601.Time `json:"scheduledEnqueueTimeUtc,omitempty" field:"rule=utcTime"`
	SessionID               string        `json:"sessionId,omitempty"`
	// or a time, in old versions
	TimeToLive      string `json:"timeToLive,omitempty" field:"rule=timeToLive"`
	To              string `json:"to,omitempty"`
	ViaPartitionKey string `json:"viaPartitionKey,omitempty"`
}

// IsForEver reports whether a timeToLive is .NET's longest TimeSpan, by which clients of Service Bus say that a message
// does not expire.
func IsForEver(timeToLive string) bool {
	return timeToLive == "10675199.02:48:05.4775807" || timeToLive == "P10675199DT2H48M5.4775807S"
}

// Names are hidden where people paste a connection string.
func (m *ServiceBusMessage) rules(l Limits) map[string]fields.Rule {
	return map[string]fields.Rule{
		"namespace": {
			Allowed: "the name of a Service Bus namespace, without the rest of its host name: at most 63 letters, " +
				"digits and hyphens",
			Valid: hostLabel.MatchString, Hidden: true,
		},
		"entity": {
			Allowed: "the name of a Service Bus queue or topic: 1 to 260 characters without blanks and control characters",
			Valid:   isEntity, Hidden: true,
		},
		"timeToLive": {
			Allowed: "a duration such as PT30S or 00:00:30, or a date and time",
			Valid:   isTimeToLive,
		},
		"body": bodyRule(l),
	}
}

func isEntity(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= 260 && !strings.ContainsFunc(s, fields.IsBlankOrControl)
}

func isTimeToLive(s string) bool {
	if _, err := iso8601.ParseDuration(s); err == nil || IsForEver(s) {
		return true
	}
	_, err := recurrence.ParseTime(s, time.UTC)
	return err == nil
}

// Text implements [Parameters].
func (m *ServiceBusMessage) Text() string {
	entity := "queue"
	if m.TopicPath != "" {
		entity = "topic"
	}
	return "message to service bus " + entity + " " + m.Namespace + "/" + cmp.Or(m.QueueName, m.TopicPath)
}

// TargetText implements [ActionParameters].
func (m *ServiceBusMessage) TargetText() string { return m.Text() }

// Host implements [ActionParameters].
func (m *ServiceBusMessage) Host() string { return strings.ToLower(m.Namespace) }

// HostKey implements [ActionParameters].
func (m *ServiceBusMessage) HostKey() string { return "namespace " + m.Host() }

// Templated implements [ActionParameters].
func (m *ServiceBusMessage) Templated() *bool { return &m.Template }

// Texts implements [ActionParameters].
func (m *ServiceBusMessage) Texts() []Text {
	content := Text{Path: "message", Value: &m.Message}
	if p := m.BrokeredMessageProperties; p != nil {
		content.MediaType = p.ContentType
	}
	return append([]Text{content}, inMembers(m.CustomMessageProperties, "customMessageProperties", InProperty)...)
}

func (m *ServiceBusMessage) copied() Parameters {
	c := cloned(m)
	c.Authentication, c.CustomMessageProperties = cloned(m.Authentication), slices.Clone(m.CustomMessageProperties)
	return c
}

const sharedKeyNone = "notSpecified"

// Check implements [Parameters]. Without a type the authentication is a shared access key.
func (m *ServiceBusMessage) Check(c *Checker) {
	const name = "authentication.sasKeyName"
	if a := m.Authentication; a != nil && a.Type != sharedKeyNone && a.SASKeyName == "" && !c.Has(name) {
		c.Fail(name, fields.Required, "the name of a shared access key", "")
	}
}

// Secrets implements [Parameters].
func (m *ServiceBusMessage) Secrets(old Parameters) []Secret {
	if m.Authentication == nil {
		return nil
	}
	s := Secret{Path: "authentication.sasKey", Value: &m.Authentication.SASKey, Allowed: "a shared access key"}
	if was, _ := old.(*ServiceBusMessage); was != nil && was.Authentication != nil {
		s.Stored, s.Kept.Identity = was.Authentication.SASKey, m.Authentication.SASKeyName == was.Authentication.SASKeyName
		s.Kept.move("namespace", m.Namespace, was.Namespace)
	}
	if m.Authentication.Type == sharedKeyNone {
		s.Allowed = ""
	}
	return []Secret{s}
}

// Target implements [ActionParameters].
func (m *ServiceBusMessage) Target(c *Checker) {
	c.own("message", m.Message != "")
	c.own("template", m.Template)
	m.Template = false
}

// Carry implements [ActionParameters].
func (m *ServiceBusMessage) Carry(content, mediaType string) {
	m.Message = content
	properties := BrokeredProperties{}
	if m.BrokeredMessageProperties != nil {
		properties = *m.BrokeredMessageProperties
	}
	properties.ContentType = cmp.Or(properties.ContentType, mediaType)
	m.BrokeredMessageProperties = &properties
}
