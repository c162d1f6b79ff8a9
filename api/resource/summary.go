package resource

import (
	"fmt"
	"strconv"
	"time"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/listing"
)

// A Summary is a job as a list of thousands shows it.
type Summary struct {
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	ETag       string            `json:"etag,omitempty"`
	Properties SummaryProperties `json:"properties"`
}

// SummaryProperties are what a list shows of a job.
type SummaryProperties struct {
	State              job.State           `json:"state"`
	CollectionDisabled bool                `json:"collectionDisabled,omitempty"`
	When               string              `json:"when"`
	ActionType         kind.Type           `json:"actionType,omitempty"`
	Host               string              `json:"host,omitempty"`
	NextExecutionTime  *job.Time           `json:"nextExecutionTime,omitempty"`
	LastOutcome        job.Outcome         `json:"lastOutcome,omitempty"`
	Lateness           *string             `json:"lateness,omitempty"`
	Disabled           *job.DisabledStatus `json:"disabled,omitempty"`
	PruneAt            *job.Time           `json:"pruneAt,omitempty"`
	Retry              *NextTry            `json:"retry,omitempty"`
	Recent             []Mark              `json:"recent"`
	LastDay            *Day                `json:"lastDay,omitempty"`
}

// A NextTry is the next attempt of an execution that failed so far.
type NextTry struct {
	Attempt         int       `json:"attempt"`
	MaxAttempts     int       `json:"maxAttempts"`
	NextAttemptTime *job.Time `json:"nextAttemptTime"`
}

// A Mark is what became of an occurrence or a manual run.
type Mark struct {
	ExpectedExecutionTime *job.Time   `json:"expectedExecutionTime"`
	Status                job.Outcome `json:"status"`
	Manual                bool        `json:"manual,omitempty"`
	Lateness              *string     `json:"lateness,omitempty"`
	Assumed               bool        `json:"assumed,omitempty"`
}

// A Day counts what was out of the ordinary in a day.
type Day struct {
	Late       int `json:"late,omitempty"`
	LateMinute int `json:"lateMinute,omitempty"`
	Failed     int `json:"failed,omitempty"`
	Missed     int `json:"missed,omitempty"`
	Skipped    int `json:"skipped,omitempty"`
	Cancelled  int `json:"cancelled,omitempty"`
	Manual     int `json:"manual,omitempty"`
}

// SummaryEntry returns an entry of a list of summaries.
func SummaryEntry(s listing.Summary) any {
	if s.Unread != "" {
		return unreadEntry(s.Key, s.Unread)
	}
	r := Summary{ID: s.Key.ARMID(), Type: typeJob, Name: jobName(s.Key), Properties: SummaryProperties{
		State: s.State, CollectionDisabled: s.CollectionDisabled, When: s.When, ActionType: s.Type, Host: s.Host,
		NextExecutionTime: job.NewTime(s.Next), LastOutcome: s.Last, Recent: make([]Mark, len(s.Recent)),
	}}
	r.ETag = changeTag(s.Generation)
	if d := s.DisabledBy; d != nil {
		r.Properties.Disabled = d.Status(false)
	}
	if s.Pruning != nil {
		r.Properties.PruneAt = job.NewTime(s.Pruning.Until())
	}
	if t := s.Retry; t != nil {
		r.Properties.Retry = &NextTry{t.Attempt, t.Max, job.NewTime(t.Next)}
	}
	if s.Late > 0 {
		r.Properties.Lateness = duration(s.Late)
	}
	for i, m := range s.Recent {
		r.Properties.Recent[i] = Mark{
			ExpectedExecutionTime: job.NewTime(m.Due), Status: m.Outcome, Manual: m.Manual, Lateness: duration(m.Late), Assumed: m.Assumed,
		}
	}
	if s.Day != (listing.DayCounts{}) {
		r.Properties.LastDay = new(Day(s.Day))
	}
	return r
}

// changeTag returns an entity tag for a change of a job of that generation; "" if it is not known.
func changeTag(generation int) string {
	if generation == 0 {
		return ""
	}
	return fmt.Sprintf(`"%x-%016x"`, generation, 0)
}

// duration returns a duration in ISO 8601 that is not negative; nil for others, which are not known.
func duration(d time.Duration) *string {
	if d < 0 {
		return nil
	}
	return new("PT" + strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "S")
}

// Counts count all jobs that a list of summaries covers.
type Counts struct {
	States       map[job.State]int   `json:"states"`
	LastOutcomes map[job.Outcome]int `json:"lastOutcomes"`
	Hosts        []HostCount         `json:"hosts"`
	NextHour     int                 `json:"nextHour"`
	NextDay      int                 `json:"nextDay"`
	NoNext       int                 `json:"noNext"`
	Unread       int                 `json:"unread"`
	LastDay      *Day                `json:"lastDay,omitempty"`
	Collections  []CollectionCount   `json:"collections"`
}

// A CollectionCount says what is in a job collection.
type CollectionCount struct {
	Name              string    `json:"name"`
	Jobs              int       `json:"jobs"`
	Failing           int       `json:"failing"`
	NextExecutionTime *job.Time `json:"nextExecutionTime,omitempty"`
}

// A HostCount says how many jobs send to a host.
type HostCount struct {
	Host string `json:"host"`
	Jobs int    `json:"jobs"`
}

// NewCounts returns the form of counts.
func NewCounts(c listing.Counts) Counts {
	r := Counts{
		States: c.States, LastOutcomes: map[job.Outcome]int{}, Hosts: make([]HostCount, len(c.Hosts)),
		NextHour: c.Hour, NextDay: c.Day, NoNext: c.None, Unread: c.Unread,
		Collections: make([]CollectionCount, len(c.Collections)),
	}
	if c.LastDay != (listing.DayCounts{}) {
		r.LastDay = new(Day(c.LastDay))
	}
	for i, of := range c.Collections {
		r.Collections[i] = CollectionCount{
			Name: of.Key.ResourceGroup + "/" + of.Key.Name, Jobs: of.Jobs, Failing: of.Failing,
			NextExecutionTime: job.NewTime(of.Next),
		}
	}
	for outcome, n := range c.Outcomes {
		if outcome == "" {
			outcome = "None"
		}
		r.LastOutcomes[outcome] = n
	}
	for i, h := range c.Hosts {
		r.Hosts[i] = HostCount(h)
	}
	return r
}
