package kind

import (
	"regexp"
	"strings"

	"almanac/internal/fields"
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
	MessageEnvelope MessageFormat = "envelope" // as Azure Scheduler: in base64, XML that names the execution
	MessageRaw      MessageFormat = "raw"      // the text unchanged
)

const wantSASToken = "a shared access signature that may add messages"

var (
	hostLabel = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,62}$`)
	queueName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{2,62}$`)
)

// Names are hidden where people paste a connection string.
func (m *QueueMessage) rules(l Limits) map[string]fields.Rule {
	short := bodyRule(l)
	return map[string]fields.Rule{
		"storageAccount": {
			Allowed: "the name of a storage account: at most 63 letters, digits and hyphens",
			Valid:   hostLabel.MatchString, Hidden: true,
		},
		"storageQueue": {
			Allowed: "the name of a storage queue: 3 to 63 letters, digits and hyphens, not a hyphen first",
			Valid:   queueName.MatchString, Hidden: true,
		},
		"queueMessage": {
			Allowed: short.Allowed + ", all of which XML can hold",
			Valid:   func(s string) bool { return short.Valid(s) && !strings.ContainsFunc(s, notInXML) },
		},
	}
}

// notInXML reports whether XML 1.0 cannot represent r. Messages are sent as XML, in which such a character
// would arrive as another one.
func notInXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
}

// Text implements [Parameters].
func (m *QueueMessage) Text() string {
	return "message to storage queue " + m.StorageAccount + "/" + m.QueueName
}

// TargetText implements [ActionParameters].
func (m *QueueMessage) TargetText() string { return m.Text() }

// Host implements [ActionParameters].
func (m *QueueMessage) Host() string { return strings.ToLower(m.StorageAccount) }

// HostKey implements [ActionParameters].
func (m *QueueMessage) HostKey() string { return "storage account " + m.Host() }

// Templated implements [ActionParameters].
func (m *QueueMessage) Templated() *bool { return &m.Template }

// Texts implements [ActionParameters].
func (m *QueueMessage) Texts() []Text { return []Text{{Path: "message", Value: &m.Message}} }

func (m *QueueMessage) copied() Parameters { return cloned(m) }

// Check implements [Parameters].
func (m *QueueMessage) Check(*Checker) {}

// Secrets implements [Parameters].
func (m *QueueMessage) Secrets(old Parameters) []Secret {
	s := Secret{Path: "sasToken", Value: &m.SASToken, Allowed: wantSASToken}
	if was, _ := old.(*QueueMessage); was != nil {
		s.Stored, s.Kept.Identity = was.SASToken, true
		s.Kept.move("storageAccount", m.StorageAccount, was.StorageAccount)
		s.Kept.move("queueName", m.QueueName, was.QueueName)
	}
	return []Secret{s}
}

// Target implements [ActionParameters].
func (m *QueueMessage) Target(c *Checker) {
	c.own("message", m.Message != "")
	c.own("template", m.Template)
	m.Template = false
}

// Carry implements [ActionParameters].
func (m *QueueMessage) Carry(content, _ string) {
	m.Message = content
	if m.MessageFormat == "" {
		m.MessageFormat = MessageRaw
	}
}
