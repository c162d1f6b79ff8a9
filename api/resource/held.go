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

// A HeldOfCollection is what a pause of a collection holds of its jobs, and what becomes of it.
type HeldOfCollection struct {
	Jobs     int       `json:"jobs"`
	Holding  int       `json:"holding"`
	Held     int       `json:"held"`
	Runs     int       `json:"runs"`
	LeftOut  int       `json:"leftOut"`
	More     bool      `json:"more,omitempty"`
	Complete bool      `json:"complete"`
	Most     []HeldJob `json:"most"`
}

// A HeldJob is what is held of a job.
type HeldJob struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Held    int    `json:"held"`
	Runs    int    `json:"runs"`
	LeftOut int    `json:"leftOut"`
	AtOnce  int    `json:"atOnce"`
	More    bool   `json:"more,omitempty"`
}

// NewHeldOfCollection returns the form of what a pause of a collection holds.
func NewHeldOfCollection(h *preview.HeldOfCollection) HeldOfCollection {
	r := HeldOfCollection{
		Jobs: h.Jobs, Holding: h.Holding, Held: h.Held, Runs: h.Runs, LeftOut: h.Held - h.Runs, More: h.More,
		Complete: h.Complete, Most: make([]HeldJob, len(h.Most)),
	}
	for i, j := range h.Most {
		r.Most[i] = HeldJob{ID: j.Key.ARMID(), Name: jobName(j.Key), Held: j.Count, Runs: j.Runs, LeftOut: j.Count - j.Runs,
			AtOnce: j.AtOnce, More: j.More}
	}
	return r
}
