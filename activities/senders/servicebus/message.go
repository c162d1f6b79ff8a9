package servicebus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/Azure/go-amqp"

	"almanac/internal/iso8601"
	"almanac/internal/telemetry"
	"almanac/job"
	"almanac/job/kind"
	"almanac/recurrence"
)

// maxIdentifier is Service Bus's limit, in characters, of message ids, session ids and partition keys.
const maxIdentifier = 128

// maxHeaderTTL is the limit of the message header: 32 bits of milliseconds.
const maxHeaderTTL = math.MaxUint32 * time.Millisecond

// busMessage converts a job's message to AMQP; the names are from "AMQP 1.0 in Azure Service Bus protocol
// guide". The default message id is the execution's id, the same for all attempts, for duplicate detection.
func busMessage(m *kind.ServiceBusMessage, e job.Execution, now time.Time) (*amqp.Message, error) {
	p := m.BrokeredMessageProperties
	if p == nil {
		p = &kind.BrokeredProperties{}
	}
	if err := checkProperties(p); err != nil {
		return nil, err
	}
	message := &amqp.Message{
		// 4 is AMQP's default priority
		Header: &amqp.MessageHeader{Durable: p.ForcePersistence != nil && *p.ForcePersistence, Priority: 4},
		Properties: &amqp.MessageProperties{
			MessageID:      cmp.Or(p.MessageID, e.ID),
			To:             optional(p.To),
			Subject:        optional(p.Label),
			ReplyTo:        optional(p.ReplyTo),
			ContentType:    optional(p.ContentType),
			GroupID:        optional(p.SessionID),
			ReplyToGroupID: optional(p.ReplyToSessionID),
		},
		Annotations:           annotations(p),
		ApplicationProperties: make(map[string]any, len(m.CustomMessageProperties)),
		Data:                  [][]byte{[]byte(m.Message)},
	}
	if p.CorrelationID != "" {
		message.Properties.CorrelationID = p.CorrelationID
	}
	for _, custom := range m.CustomMessageProperties {
		message.ApplicationProperties[custom.Name] = custom.Value
	}
	if p.TimeToLive != "" && !kind.IsForEver(p.TimeToLive) {
		expires, err := expiry(p.TimeToLive, now)
		if err != nil {
			return nil, err
		}
		message.Header.TTL = min(expires.Sub(now), maxHeaderTTL)
		message.Properties.CreationTime, message.Properties.AbsoluteExpiryTime = &now, &expires
	}
	return message, nil
}

// propagateTrace adds the trace in the context to a message, unless the job has set such properties.
func propagateTrace(ctx context.Context, message *amqp.Message) {
	for name, value := range telemetry.Headers(ctx) {
		if _, set := message.ApplicationProperties[name]; !set {
			message.ApplicationProperties[name] = value
		}
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func annotations(p *kind.BrokeredProperties) amqp.Annotations {
	a := amqp.Annotations{}
	if p.PartitionKey != "" {
		a["x-opt-partition-key"] = p.PartitionKey
	}
	if p.ViaPartitionKey != "" {
		a["x-opt-via-partition-key"] = p.ViaPartitionKey
	}
	if p.ScheduledEnqueueTimeUTC != nil {
		a["x-opt-scheduled-enqueue-time"] = p.ScheduledEnqueueTimeUTC.Time
	}
	return a
}

// checkProperties rejects properties that the service would refuse, with a more helpful error.
func checkProperties(p *kind.BrokeredProperties) error {
	for _, id := range []struct{ name, value string }{
		{"messageId", p.MessageID}, {"sessionId", p.SessionID}, {"replyToSessionId", p.ReplyToSessionID},
		{"partitionKey", p.PartitionKey}, {"viaPartitionKey", p.ViaPartitionKey},
	} {
		if n := utf8.RuneCountInString(id.value); n > maxIdentifier {
			return fmt.Errorf("brokeredMessageProperties.%s has %d characters, and Service Bus takes %d", id.name, n, maxIdentifier)
		}
	}
	if p.SessionID != "" && p.PartitionKey != "" && p.SessionID != p.PartitionKey {
		return errors.New("brokeredMessageProperties has a partitionKey other than its sessionId: " +
			"a session is in one partition, so leave the partitionKey out or make them equal")
	}
	// It is sent as an AMQP symbol, and an invalid one would break the connection, which other jobs share.
	if strings.ContainsFunc(p.ContentType, func(r rune) bool { return r > unicode.MaxASCII }) {
		return errors.New("brokeredMessageProperties.contentType has to be of ASCII characters")
	}
	return nil
}

// expiry returns when a message with the given time to live expires. timeToLive is a duration or, as in
// older versions of the API, a date and time.
func expiry(timeToLive string, now time.Time) (time.Time, error) {
	expires, err := recurrence.ParseTime(timeToLive, time.UTC)
	if err != nil {
		d, err := iso8601.ParseDuration(timeToLive)
		if err != nil {
			return time.Time{}, fmt.Errorf("brokeredMessageProperties.timeToLive: %w", err)
		}
		expires = now.Add(d)
	}
	if expires.Sub(now) < time.Millisecond {
		return time.Time{}, fmt.Errorf("brokeredMessageProperties.timeToLive is %s: the message would expire before it is sent", timeToLive)
	}
	return expires, nil
}
