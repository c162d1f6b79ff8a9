package client

import (
	"context"
	"net/http"
)

// A RecurrenceText is a recurrence in English.
type RecurrenceText struct {
	Text     string `json:"text"`
	TimeZone string `json:"timeZone,omitempty"` // of a text that names none

	Calendars []string `json:"calendars,omitempty"` // names of those that a text may mean which names none
}

// RecurrenceReadings are what a text means as a recurrence: one reading, or several if it is ambiguous.
type RecurrenceReadings struct {
	Ambiguous string              `json:"ambiguous,omitempty"` // the words that can be meant in several ways
	Readings  []RecurrenceReading `json:"readings"`
}

// A RecurrenceReading is one meaning of a text.
type RecurrenceReading struct {
	Sentence   string     `json:"sentence"`            // a text that means this and nothing else
	Text       string     `json:"text"`                // the same in the words of answers
	StartTime  string     `json:"startTime,omitempty"` // without an offset in the time zone
	Recurrence Recurrence `json:"recurrence"`
}

// ReadRecurrence returns what a text in English means as a recurrence. Nothing is stored.
func (c *Client) ReadRecurrence(ctx context.Context, text RecurrenceText) (RecurrenceReadings, error) {
	found, _, err := send[RecurrenceReadings](ctx, c, http.MethodPost, c.group("readRecurrence"), text, nil)
	return found, err
}
