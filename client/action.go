package client

import (
	"encoding/json"
	"time"
)

// An Action is what a job does at each occurrence: one of its first four members is set, the one that Type names.
type Action struct {
	Request                *Request           `json:"request,omitempty"`
	QueueMessage           *QueueMessage      `json:"queueMessage,omitempty"`
	ServiceBusQueueMessage *ServiceBusMessage `json:"serviceBusQueueMessage,omitempty"`
	ServiceBusTopicMessage *ServiceBusMessage `json:"serviceBusTopicMessage,omitempty"`
	Type                   string             `json:"type"` // Http, Https, StorageQueue, ServiceBusQueue, ServiceBusTopic
	RetryPolicy            *RetryPolicy       `json:"retryPolicy,omitempty"`
	ErrorAction            *Action            `json:"errorAction,omitempty"` // has none itself
}

// A Request is a web request.
type Request struct {
	URI             string            `json:"uri"`
	Method          string            `json:"method,omitempty"` // GET by default
	Headers         map[string]string `json:"headers,omitempty"`
	Body            string            `json:"body,omitempty"`
	Template        bool              `json:"template,omitempty"`    // it has placeholders
	Traceparent     *bool             `json:"traceparent,omitempty"` // nil: true
	Authentication  *Authentication   `json:"authentication,omitempty"`
	FollowRedirects *bool             `json:"followRedirects,omitempty"` // nil: true
}

// An Authentication proves who sends a [Request]. Type says which members it has: Basic has Username, Password and
// EmptyPassword; ClientCertificate has Password, PFX and those that begin with Certificate; ActiveDirectoryOAuth has
// Secret, Tenant, Audience and ClientID. Password, PFX and Secret are never answered.
type Authentication struct {
	Username              *string `json:"username,omitempty"`
	Password              string  `json:"password,omitempty"`
	EmptyPassword         bool    `json:"emptyPassword,omitempty"`
	PFX                   string  `json:"pfx,omitempty"` // in base64
	CertificateThumbprint string  `json:"certificateThumbprint,omitempty"`
	CertificateExpiration string  `json:"certificateExpiration,omitempty"`
	CertificateSubject    string  `json:"certificateSubjectName,omitempty"`
	Secret                string  `json:"secret,omitempty"`
	Tenant                string  `json:"tenant,omitempty"`
	Audience              string  `json:"audience,omitempty"`
	ClientID              string  `json:"clientId,omitempty"`
	Type                  string  `json:"type"`
}

// A QueueMessage is a message for a queue of Azure Storage.
type QueueMessage struct {
	StorageAccount string `json:"storageAccount"`
	QueueName      string `json:"queueName"`
	SASToken       string `json:"sasToken,omitempty"` // never answered
	Message        string `json:"message,omitempty"`
	MessageFormat  string `json:"messageFormat,omitempty"` // envelope, the default, or raw
	Template       bool   `json:"template,omitempty"`
}

// A ServiceBusMessage is a message for a queue of Azure Service Bus, or for a topic.
type ServiceBusMessage struct {
	QueueName                 string                     `json:"queueName,omitempty"` // of a queue
	TopicPath                 string                     `json:"topicPath,omitempty"` // of a topic
	Namespace                 string                     `json:"namespace"`
	TransportType             string                     `json:"transportType,omitempty"`
	Authentication            *ServiceBusAuthentication  `json:"authentication,omitempty"`
	Message                   string                     `json:"message,omitempty"`
	Template                  bool                       `json:"template,omitempty"`
	Traceparent               *bool                      `json:"traceparent,omitempty"` // nil: true
	BrokeredMessageProperties *BrokeredMessageProperties `json:"brokeredMessageProperties,omitempty"`
	CustomMessageProperties   map[string]string          `json:"customMessageProperties,omitempty"`
}

// A ServiceBusAuthentication is a shared access key.
type ServiceBusAuthentication struct {
	SASKeyName string `json:"sasKeyName,omitempty"`
	SASKey     string `json:"sasKey,omitempty"` // never answered
	Type       string `json:"type,omitempty"`   // sharedAccessKey, the default, or notSpecified
}

// BrokeredMessageProperties are the properties of a message that Service Bus knows.
type BrokeredMessageProperties struct {
	ContentType             string `json:"contentType,omitempty"`
	CorrelationID           string `json:"correlationId,omitempty"`
	ForcePersistence        *bool  `json:"forcePersistence,omitempty"`
	Label                   string `json:"label,omitempty"`
	MessageID               string `json:"messageId,omitempty"`
	PartitionKey            string `json:"partitionKey,omitempty"`
	ReplyTo                 string `json:"replyTo,omitempty"`
	ReplyToSessionID        string `json:"replyToSessionId,omitempty"`
	ScheduledEnqueueTimeUTC Time   `json:"scheduledEnqueueTimeUtc,omitempty"`
	SessionID               string `json:"sessionId,omitempty"`
	TimeToLive              string `json:"timeToLive,omitempty"`
	To                      string `json:"to,omitempty"`
	ViaPartitionKey         string `json:"viaPartitionKey,omitempty"`
}

// A RetryPolicy says how failed attempts are retried. Nil, and members that are absent, stand for 4 retries, 30 seconds
// apart.
type RetryPolicy struct {
	RetryType     string   `json:"retryType,omitempty"` // fixed, the default, or none
	RetryInterval Duration `json:"retryInterval,omitempty"`
	RetryCount    int      `json:"retryCount,omitempty"`
}

// A Recurrence says when a job repeats.
type Recurrence struct {
	Frequency     string    `json:"frequency,omitempty"` // minute, hour, day, week, month or year
	Count         int       `json:"count,omitempty"`
	EndTime       Time      `json:"endTime,omitempty"`
	Interval      int       `json:"interval,omitempty"` // 1 by default
	Schedule      *Schedule `json:"schedule,omitempty"`
	TimeZone      string    `json:"timeZone,omitempty"` // UTC by default
	CatchUpWindow Duration  `json:"catchUpWindow,omitempty"`
	OverlapPolicy string    `json:"overlapPolicy,omitempty"` // BufferOne, the default, Skip or AllowAll

	// Cron or RRule stands in place of Frequency, Interval and Schedule. An answer has those beside it where they mean the
	// same.
	Cron  string `json:"cron,omitempty"`
	RRule string `json:"rrule,omitempty"`

	Also       []Rule      `json:"also,omitempty"`       // further rules; the job runs when any says so
	Exclusions []Exclusion `json:"exclusions,omitempty"` // when the job does not run although a rule says so

	Calendars []CalendarUse `json:"calendars,omitempty"` // by which the job runs, at most eight
}

// A CalendarUse is a calendar of the job's collection, or else of its subscription, and what becomes of a run on a day
// that it matches.
type CalendarUse struct {
	Name string `json:"name"`
	// skip, the default, only, nextWorkingDay, previousWorkingDay, nextWorkingDayInMonth or previousWorkingDayInMonth
	OnMatch string `json:"onMatch,omitempty"`
}

// A Rule is one beside the first of a recurrence: a frequency with interval and schedule, a cron expression or an RRULE.
type Rule struct {
	Frequency string    `json:"frequency,omitempty"`
	Interval  int       `json:"interval,omitempty"`
	Schedule  *Schedule `json:"schedule,omitempty"`
	Cron      string    `json:"cron,omitempty"`
	RRule     string    `json:"rrule,omitempty"`
}

// An Exclusion is a date or a time (At), the dates from First to Last, the times from From to before Until, or a rule of
// days or longer.
type Exclusion struct {
	At        string    `json:"at,omitempty"`
	First     string    `json:"first,omitempty"`
	Last      string    `json:"last,omitempty"`
	From      string    `json:"from,omitempty"`
	Until     string    `json:"until,omitempty"`
	Frequency string    `json:"frequency,omitempty"`
	Interval  int       `json:"interval,omitempty"`
	Schedule  *Schedule `json:"schedule,omitempty"`
}

// MarshalJSON writes At alone as a text, and else an object.
func (e Exclusion) MarshalJSON() ([]byte, error) {
	type object Exclusion
	if e.At != "" {
		return json.Marshal(e.At)
	}
	return json.Marshal(object(e))
}

// UnmarshalJSON reads a text as At, and else an object.
func (e *Exclusion) UnmarshalJSON(text []byte) error {
	type object Exclusion
	if len(text) > 0 && text[0] == '"' {
		*e = Exclusion{}
		return json.Unmarshal(text, &e.At)
	}
	return json.Unmarshal(text, (*object)(e))
}

// A Schedule narrows a recurrence to parts of the calendar.
type Schedule struct {
	Minutes            []int               `json:"minutes,omitempty"`
	Hours              []int               `json:"hours,omitempty"`
	WeekDays           []string            `json:"weekDays,omitempty"` // monday to sunday
	MonthDays          []int               `json:"monthDays,omitempty"`
	MonthlyOccurrences []MonthlyOccurrence `json:"monthlyOccurrences,omitempty"`
	Months             []int               `json:"months,omitempty"`

	WorkingDays []int `json:"workingDays,omitempty"` // of the month, by the calendars: 1 is the first, -1 the last
}

// A MonthlyOccurrence is a day of the week in the month, such as the last Friday.
type MonthlyOccurrence struct {
	Day        string `json:"day"`
	Occurrence int    `json:"occurrence,omitempty"` // 1 is the first, -1 the last, 0 every one
}

// Attempts returns how many attempts an action has at most.
func (p *RetryPolicy) Attempts() int {
	switch {
	case p == nil:
		return 5
	case p.RetryType == "none":
		return 1
	case p.RetryCount == 0:
		return 5
	}
	return p.RetryCount + 1
}

// Lateness returns how long after its due time an execution began, and whether that is known: retries, error actions and
// occurrences that were not run have none.
func (p HistoryProperties) Lateness() (time.Duration, bool) {
	ran := p.Status == OutcomeCompleted || p.Status == OutcomeFailed
	if !ran || p.RetryCount > 0 || p.ActionName != MainAction || p.StartTime.IsZero() || p.ExpectedExecutionTime.IsZero() {
		return 0, false
	}
	return max(0, p.StartTime.Sub(p.ExpectedExecutionTime)), true
}
