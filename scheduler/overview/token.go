package overview

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"almanac/scheduler/core"
)

// A token is where a page ended, and what the pages after it have in common with it. Its text is opaque to callers.
type token struct {
	// From and Until are the bounds of the first page, which had them from the time at which it was read.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`

	// The last entry: its time, the workflow ID of its job, and its place among those of the job that start at the
	// same time. All are zero if the page had no entry but unread ones.
	At      time.Time `json:"at,omitzero"`
	ID      string    `json:"id,omitempty"`
	Ordinal int64     `json:"n,omitempty"`

	// Unread is the last of the entries that could not be read, if the page ended among them.
	Unread string `json:"unread,omitempty"`
}

func (t token) String() string {
	text, _ := json.Marshal(t) // it has no value that JSON lacks
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseToken is the inverse of String. The zero token, for "", is before all entries.
func parseToken(text string) (t token, err error) {
	if text == "" {
		return t, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(plain, &t)
	}
	if err != nil || t.From.IsZero() {
		return t, core.BadToken()
	}
	return t, nil
}
