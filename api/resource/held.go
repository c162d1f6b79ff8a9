package resource

import (
	"almanac/job"
	"almanac/job/preview"
)

// A Held is what a pause holds, and what becomes of it.
type Held struct {
	Held        int              `json:"held"`
	Runs        int              `json:"runs"`
	LeftOut     int              `json:"leftOut"`
	AtOnce      int              `json:"atOnce"`
	More        bool             `json:"more,omitempty"`
	Occurrences []HeldOccurrence `json:"occurrences"`
}

// A HeldOccurrence is an occurrence that is held.
type HeldOccurrence struct {
	ExpectedExecutionTime *job.Time `json:"expectedExecutionTime"`
	Runs                  bool      `json:"runs"`
}

// NewHeld returns the form of what a pause holds.
func NewHeld(h *preview.Held) Held {
	r := Held{Held: h.Count, Runs: h.Runs, LeftOut: h.Count - h.Runs, AtOnce: h.AtOnce, More: h.More, Occurrences: []HeldOccurrence{}}
	for _, o := range h.Occurrences {
		r.Occurrences = append(r.Occurrences, HeldOccurrence{job.NewTime(o.Due), o.Runs})
	}
	return r
}
