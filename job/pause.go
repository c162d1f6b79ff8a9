package job

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Recover says what becomes of the occurrences that were held while a job was disabled, when it is enabled.
type Recover string

// What becomes of held occurrences. The zero value says nothing; then they are left out.
const (
	RecoverNone   Recover = "none"   // they are left out
	RecoverLatest Recover = "latest" // the one that was due last runs
	RecoverAll    Recover = "all"    // all run, oldest first
)

// Recovers are all of them.
var Recovers = []Recover{RecoverNone, RecoverLatest, RecoverAll}

// Limits of a [Promise].
const (
	MaxHeld   = 1000 // occurrences that are recovered at most, the newest
	MaxAtOnce = 100  // recovered occurrences of a job that run at once
	MaxNote   = 200  // characters of a note
)

// A Promise is what a request to disable a job or a job collection says of its end.
type Promise struct {
	Note    string    `json:"note,omitempty"`
	Until   time.Time `json:"until,omitzero"` // when it is enabled by itself; zero: never
	Recover Recover   `json:"recover,omitempty"`
	AtOnce  int       `json:"atOnce,omitempty"` // recovered occurrences of a job that run at once; 0: one
}

// Holds reports whether what comes due is held: each occurrence then runs, or has an entry that says why not.
func (p *Promise) Holds() bool { return !p.Until.IsZero() || p.Recover != "" }

// Ends reports whether the time of the promise has come.
func (p *Promise) Ends(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// Keep returns how many of the held occurrences run, the newest.
func (p *Promise) Keep() int {
	switch p.Recover {
	case RecoverLatest:
		return 1
	case RecoverAll:
		return MaxHeld
	}
	return 0
}

// Paused reports whether what comes due is held, unlike in a job that somebody has disabled, or disableAfter has.
func (d *Disabling) Paused() bool { return d != nil && d.Holds() }

// Promised returns the promise with which the job was disabled; nil if it was not.
func (d *Disabling) Promised() *Promise {
	if d == nil {
		return nil
	}
	return &d.Promise
}

// AllowedNotes says which notes there are.
const AllowedNotes = "a text without control characters that is not blank"

// IsNote reports whether a text can be a note: it is shown in a line.
func IsNote(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsFunc(text, unicode.IsControl)
}

// Check returns what is wrong with a promise that a request makes now; "" if nothing is.
func (p *Promise) Check(now time.Time) string {
	switch {
	case utf8.RuneCountInString(p.Note) > MaxNote:
		return fmt.Sprintf("note: must have at most %d characters", MaxNote)
	case p.Note != "" && !IsNote(p.Note):
		return "note: must be " + AllowedNotes
	case !p.Until.IsZero() && !p.Until.After(now):
		return "until: must be a time to come"
	case p.Recover != "" && p.Recover != RecoverNone && p.Recover != RecoverLatest && p.Recover != RecoverAll:
		return "recover: must be none, latest or all"
	case p.AtOnce < 0 || p.AtOnce > MaxAtOnce:
		return fmt.Sprintf("atOnce: must be between 1 and %d", MaxAtOnce)
	}
	return ""
}

// Text says what the promise is, for people; "" if it says nothing.
func (p *Promise) Text() string {
	var parts []string
	then := "when it is enabled"
	if !p.Until.IsZero() {
		parts = append(parts, "until "+NewTime(p.Until).String())
		then = "then"
	}
	switch p.Recover {
	case RecoverNone:
		parts = append(parts, "what comes due is left out")
	case RecoverLatest:
		parts = append(parts, then+" the latest held occurrence runs")
	case RecoverAll:
		parts = append(parts, fmt.Sprintf("%s all held occurrences run, %d at once", then, max(1, p.AtOnce)))
	}
	if p.Note != "" {
		parts = append(parts, "note: "+p.Note)
	}
	return strings.Join(parts, "; ")
}

// A DisabledStatus says by whom and until when a job or its collection is disabled, in the form of the REST API.
type DisabledStatus struct {
	Time       *Time   `json:"time"`
	Caller     string  `json:"caller,omitempty"`
	Note       string  `json:"note,omitempty"`
	Until      *Time   `json:"until,omitempty"`
	Recover    Recover `json:"recover,omitempty"`
	AtOnce     int     `json:"atOnce,omitempty"`
	Collection bool    `json:"collection,omitempty"` // it is the collection that is disabled
}

// Status returns the form of a disabling; nil for none.
func (d *Disabling) Status(collection bool) *DisabledStatus {
	if d == nil {
		return nil
	}
	return &DisabledStatus{
		Time: NewTime(d.At), Caller: d.By, Note: d.Note, Until: NewTime(d.Until), Recover: d.Recover, AtOnce: d.AtOnce,
		Collection: collection,
	}
}

// disabledAs returns the pause that the status of a job shows; nil if there is none.
func (j *Job) disabledAs() *DisabledStatus {
	switch {
	case j.Definition.State == StateDisabled && j.DisabledBy != nil && j.DisabledBy.Promise != (Promise{}):
		return j.DisabledBy.Status(false)
	case j.CollectionDisabled:
		return j.CollectionPause.Status(true)
	}
	return nil
}
