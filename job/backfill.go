package job

import (
	"fmt"
	"regexp"
	"time"
)

// Limits of a backfill.
const (
	MaxBackfill       = 10_000 // occurrences
	OperatorBackfill  = 100    // occurrences that an operator may have run; more take a contributor
	MaxBackfillAtOnce = 10     // executions of it at once
	MaxBackfillPause  = 24 * time.Hour
	KeptBackfills     = 5 // that have ended
)

// A BackfillRequest asks for the occurrences of a time to be run, whether or not they were run before.
type BackfillRequest struct {
	Name   string        `json:"name"`
	From   time.Time     `json:"from"`  // the first instant
	Until  time.Time     `json:"until"` // and the first one after it
	AtOnce int           `json:"atOnce,omitempty"`
	Every  time.Duration `json:"every,omitempty"` // the least time between two starts
	Most   int           `json:"most"`            // how many occurrences the caller may have run
}

var backfillName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// AllowedBackfillNames describes the names of backfills, for errors.
const AllowedBackfillNames = "1 to 40 letters, digits, '.', '_' and '-', the first a letter or a digit"

// Check returns what is wrong with a request that is made now; "" if nothing is.
func (r *BackfillRequest) Check(now time.Time) string {
	switch {
	case !backfillName.MatchString(r.Name):
		return "name: must be " + AllowedBackfillNames
	case !r.From.Before(r.Until):
		return "until: must be after from"
	case r.Until.After(now):
		return "until: must not be after now"
	case r.AtOnce < 0 || r.AtOnce > MaxBackfillAtOnce:
		return fmt.Sprintf("atOnce: must be between 1 and %d", MaxBackfillAtOnce)
	case r.Every < 0 || r.Every > MaxBackfillPause:
		return "every: must be at most a day"
	}
	return ""
}

// A BackfillState is how far a backfill is.
type BackfillState string

// The states of a backfill. The last two are final.
const (
	BackfillRunning BackfillState = "running"
	BackfillPaused  BackfillState = "paused"
	BackfillDone    BackfillState = "done"
	BackfillEnded   BackfillState = "ended" // before all were run
)

// Final reports whether nothing of the backfill is begun any more.
func (s BackfillState) Final() bool { return s == BackfillDone || s == BackfillEnded }

// A Backfill is a backfill and its progress.
type Backfill struct {
	BackfillRequest

	State     BackfillState `json:"state"`
	Total     int           `json:"total"` // occurrences
	Begun     int           `json:"begun,omitempty"`
	Succeeded int           `json:"succeeded,omitempty"`
	Failed    int           `json:"failed,omitempty"`
	At        time.Time     `json:"at"`
	By        string        `json:"by,omitempty"` // at most 512 bytes
	EndedAt   time.Time     `json:"endedAt,omitzero"`
	Why       string        `json:"why,omitempty"` // it ended before all were run
}

// Left returns how many occurrences have not ended.
func (b *Backfill) Left() int { return b.Total - b.Succeeded - b.Failed }

// A BackfillPreview is which occurrences a backfill would run.
type BackfillPreview struct {
	Total       int
	More        bool        // there are more than MaxBackfill
	Occurrences []time.Time // the first few
	Last        time.Time
}

// A BackfillAction changes a backfill.
type BackfillAction string

// The actions.
const (
	BackfillPause  BackfillAction = "pause"
	BackfillResume BackfillAction = "resume"
	BackfillEnd    BackfillAction = "end"
)
